//! The flags of the service and of what works on its database and its keys, and what they come to.
//!
//! `…Args` are what clap reads; `…Settings` are what they come to once they have been checked.
//! A wrong value is refused with the setting's name, the value unless it may hold a secret, and
//! what to write instead.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::builder::{OsStringValueParser, TypedValueParser as _};
use clap::{ArgAction, Args};
use ipnet::IpNet;

use super::SettingError;
use super::value::{
    ByteCount, parse_boolean, parse_duration, parse_listen, parse_memory, parse_network,
    parse_positive_duration,
};
use crate::auth::{PublicKeyFile, SecretPath, TokenSettings};
use crate::dashboard::UrlPattern;
use crate::http::Origin;
use crate::store::{DatabaseUrl, redact};

const DATABASE_URL_NAME: &str = "--database-url (PERF_TRACKING_DATABASE_URL)";

const PASSWORD_FILE_NAME: &str = "--database-password-file (PERF_TRACKING_DATABASE_PASSWORD_FILE)";

/// The secret's name in the data folder.
const SECRET_FILE_NAME: &str = "token-secret";

/// The database's name in the data folder.
const DATABASE_FILE_NAME: &str = "perf-tracking.db";

const DATA: &str = "Data folder";
const CLIENTS: &str = "Who may connect";
const PAGES: &str = "Pages";
const DATABASE: &str = "Database";
const TOKENS: &str = "Tokens";
const LIMITS: &str = "Limits";

const SERVE_EXAMPLES: &str = "\
Examples:
  A first look, on http://127.0.0.1:8080:
    perf-tracking serve

  For a team, with MariaDB and readers without tokens:
    PERF_TRACKING_DATABASE_URL=mysql://perf:PASSWORD@db.example.org/perf \\
      perf-tracking serve --listen 0.0.0.0:8080 --public-read

  With a new token secret, while tokens of the old one still count:
    perf-tracking serve --token-secret-file new --former-token-secret-file old";

/// Where the service keeps what it makes.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = DATA)]
pub(in crate::commands) struct DataDirArgs {
    /// Folder for what the service makes: the database and the token secret
    ///
    /// Made at the first start, for its owner alone.
    #[arg(
        long,
        env = "PERF_TRACKING_DATA_DIR",
        value_name = "FOLDER",
        default_value = "./perf-tracking-data"
    )]
    pub(in crate::commands) data_dir: PathBuf,
}

/// The database, as the command line has it.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = DATABASE)]
pub(in crate::commands) struct DatabaseArgs {
    /// Where runs are kept [default: a SQLite file in the data folder]
    ///
    /// sqlite://FILE                         one machine, no set-up
    /// mysql://USER:PASSWORD@HOST/DATABASE   MySQL, MariaDB, Galera, TiDB
    /// drizzle://USER@HOST/SCHEMA            Drizzle; no prepared statements
    ///
    /// Drizzle's protocol asks for no password: who may connect is up to the
    /// network there.
    ///
    /// Other users of the machine can read a command line, so a password
    /// belongs in --database-password-file, or with the address in the
    /// environment variable. It is never shown or logged.
    #[arg(
        long,
        env = "PERF_TRACKING_DATABASE_URL",
        value_name = "URL",
        hide_env_values = true,
        verbatim_doc_comment,
        value_parser = OsStringValueParser::new().map(RawDatabaseUrl)
    )]
    database_url: Option<RawDatabaseUrl>,

    /// File with the password of the database, for an address that holds none
    ///
    /// Its bytes, without a line end, are the password, just as it is: nothing in it is encoded.
    #[arg(
        long,
        env = "PERF_TRACKING_DATABASE_PASSWORD_FILE",
        value_name = "FILE"
    )]
    database_password_file: Option<PathBuf>,

    /// Connections to the database at a time
    #[arg(
        long,
        env = "PERF_TRACKING_DATABASE_CONNECTIONS",
        value_name = "COUNT",
        default_value = "16",
        value_parser = clap::value_parser!(u32).range(1..=10_000)
    )]
    pub(in crate::commands) database_connections: u32,

    /// How long to wait for the database before a request is told to come back
    #[arg(
        long,
        env = "PERF_TRACKING_DATABASE_TIMEOUT",
        value_name = "DURATION",
        default_value = "10s",
        value_parser = parse_positive_duration
    )]
    pub(in crate::commands) database_timeout: Duration,
}

/// The address as it stands on the command line. Clap would show an address that it refuses, with
/// the password, so clap takes any text and [`RawDatabaseUrl::check`] reads it.
#[derive(Clone)]
struct RawDatabaseUrl(OsString);

impl RawDatabaseUrl {
    fn check(self) -> Result<DatabaseUrl, SettingError> {
        let fault = SettingError::of(DATABASE_URL_NAME);
        let Ok(text) = self.0.into_string() else {
            return Err(fault("the value is not UTF-8"));
        };
        text.parse::<DatabaseUrl>()
            .map_err(SettingError::of(DATABASE_URL_NAME))
    }
}

impl fmt::Debug for RawDatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = redact(&self.0.to_string_lossy());
        write!(f, "RawDatabaseUrl({shown})")
    }
}

/// The secret that signs tokens, as the command line has it.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = TOKENS)]
pub(in crate::commands) struct SecretArgs {
    /// File with the secret that signs tokens [default: `token-secret` in the data folder]
    ///
    /// Its bytes, without a line end, are the secret; at least 32 of them. Without this setting
    /// the first start of the service makes one.
    #[arg(long, env = "PERF_TRACKING_TOKEN_SECRET_FILE", value_name = "FILE")]
    pub(in crate::commands) token_secret_file: Option<PathBuf>,
}

/// The keys that tokens are checked with, as the command line has them.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = TOKENS)]
pub(in crate::commands) struct TokenArgs {
    #[command(flatten)]
    pub(in crate::commands) secret: SecretArgs,

    /// File with a secret that signed tokens until it was replaced; repeatable, or commas between
    ///
    /// Tokens that it signed are accepted until they expire. To rotate: name the old file here and
    /// the new one with --token-secret-file, and leave the old one out once its tokens are gone.
    #[arg(
        long = "former-token-secret-file",
        env = "PERF_TRACKING_FORMER_TOKEN_SECRET_FILE",
        value_name = "FILE",
        value_delimiter = ','
    )]
    pub(in crate::commands) former_token_secret_files: Vec<PathBuf>,

    /// Ed25519 public key in PEM form, for tokens made elsewhere; repeatable, or commas between
    ///
    /// A token names its key in its header (`kid`): KID here is that name.
    #[arg(
        long = "token-public-key",
        env = "PERF_TRACKING_TOKEN_PUBLIC_KEY",
        value_name = "KID=FILE",
        value_delimiter = ','
    )]
    pub(in crate::commands) token_public_keys: Vec<PublicKeyFile>,

    /// File with the ids (`jti`) of tokens that are refused, one a line, comments after `#`
    #[arg(long, env = "PERF_TRACKING_REVOKED_TOKENS_FILE", value_name = "FILE")]
    pub(in crate::commands) revoked_tokens_file: Option<PathBuf>,
}

/// The limits that keep one client from costing the others anything.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = LIMITS)]
pub(in crate::commands) struct Limits {
    /// Largest body of a request, in bytes or with KiB, MiB or GiB; a larger one is answered 413
    #[arg(
        long = "max-body-bytes",
        env = "PERF_TRACKING_MAX_BODY_BYTES",
        value_name = "SIZE",
        default_value = "4MiB"
    )]
    pub(in crate::commands) max_body: ByteCount,

    /// Memory that the service stays below, whatever clients do; at least 64MiB
    ///
    /// Three eighths are for uploads, three eighths for reads, an eighth for answers that clients
    /// have not taken yet, and an eighth for the program itself. A request that finds no memory
    /// free waits, and is answered 503 with `Retry-After` once it has waited for too long.
    #[arg(
        long,
        env = "PERF_TRACKING_MAX_MEMORY",
        value_name = "SIZE",
        default_value = "256MiB",
        value_parser = parse_memory
    )]
    pub(in crate::commands) max_memory: ByteCount,

    /// How long a request may take to arrive, its head and its body each, and an answer to be made
    ///
    /// A body that is slower is answered 408, an answer that is slower 503. A client that reads
    /// nothing of its answer for as long is disconnected.
    #[arg(
        long,
        env = "PERF_TRACKING_REQUEST_TIMEOUT",
        value_name = "DURATION",
        default_value = "30s",
        value_parser = parse_positive_duration
    )]
    pub(in crate::commands) request_timeout: Duration,

    /// How long a client may take to receive a whole answer; a slower one is disconnected
    #[arg(
        long,
        env = "PERF_TRACKING_ANSWER_TIMEOUT",
        value_name = "DURATION",
        default_value = "60s",
        value_parser = parse_positive_duration
    )]
    pub(in crate::commands) answer_timeout: Duration,

    /// Requests worked on at a time; one more is answered 503 with `Retry-After`
    #[arg(
        long,
        env = "PERF_TRACKING_MAX_CONCURRENT_REQUESTS",
        value_name = "COUNT",
        default_value = "256",
        value_parser = clap::value_parser!(u32).range(1..=1_000_000)
    )]
    pub(in crate::commands) max_concurrent_requests: u32,

    /// Connections open at a time
    ///
    /// When all places are taken, a new connection takes the place of an idle one, of the client
    /// address that holds the most. Where none is idle, it takes the place of the oldest connection
    /// of an address that holds more than its share, or waits.
    #[arg(
        long,
        env = "PERF_TRACKING_MAX_CONNECTIONS",
        value_name = "COUNT",
        default_value = "1024",
        value_parser = clap::value_parser!(u32).range(1..=1_000_000)
    )]
    pub(in crate::commands) max_connections: u32,

    /// How long a stopping service waits for the requests that it has; 0s waits for none
    #[arg(
        long,
        env = "PERF_TRACKING_SHUTDOWN_GRACE",
        value_name = "DURATION",
        default_value = "30s",
        value_parser = parse_duration
    )]
    pub(in crate::commands) shutdown_grace: Duration,
}

/// Start the service: store runs, answer history, guard both
///
/// Needs no setting for a first look: it makes its data folder with a SQLite database and a secret
/// for tokens, and says where it listens. Every setting can be given as a flag or as an environment
/// variable; the flag wins.
///
/// Waits for a database that is not there yet. Stops on SIGTERM or SIGINT once it has answered what
/// it has. Reads its token files anew on SIGHUP.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = SERVE_EXAMPLES)]
pub(in crate::commands) struct ServeArgs {
    /// Address and port to listen on; port 0 takes a free one
    #[arg(
        long,
        env = "PERF_TRACKING_LISTEN",
        value_name = "ADDRESS",
        default_value = "127.0.0.1:8080",
        value_parser = parse_listen
    )]
    pub(in crate::commands) listen: SocketAddr,

    #[command(flatten)]
    pub(in crate::commands) data: DataDirArgs,

    #[command(flatten)]
    pub(in crate::commands) database: DatabaseArgs,

    #[command(flatten)]
    pub(in crate::commands) tokens: TokenArgs,

    /// Let everyone read; writes need a token as ever
    #[arg(
        long,
        env = "PERF_TRACKING_PUBLIC_READ",
        action = ArgAction::SetTrue,
        value_parser = parse_boolean,
        help_heading = CLIENTS
    )]
    pub(in crate::commands) public_read: bool,

    /// Web origin whose pages may read from the service, such as `https://perf.example.org`;
    /// repeatable, or commas between
    #[arg(
        long = "cors-origin",
        env = "PERF_TRACKING_CORS_ORIGIN",
        value_name = "ORIGIN",
        value_delimiter = ',',
        help_heading = CLIENTS
    )]
    pub(in crate::commands) cors_origins: Vec<Origin>,

    /// Address of a commit for the links of the pages, such as `https://example.org/{repo}/commit/{commit}`
    ///
    /// `{repo}` and `{commit}` are filled with the names of the run.
    #[arg(
        long,
        env = "PERF_TRACKING_COMMIT_URL",
        value_name = "PATTERN",
        help_heading = PAGES
    )]
    commit_url: Option<UrlPattern>,

    /// Address of a change under review for the links of the pages, with `{change}` and, where wanted,
    /// `{patchset}` and `{repo}`
    #[arg(
        long,
        env = "PERF_TRACKING_CHANGE_URL",
        value_name = "PATTERN",
        help_heading = PAGES
    )]
    change_url: Option<UrlPattern>,

    /// Address or network of a proxy in front of the service, such as 10.0.0.0/8; repeatable, or
    /// commas between
    ///
    /// Requests from there are counted for the client that the proxy names in `Forwarded` or
    /// `X-Forwarded-For`, and one client may have a quarter of `--max-connections` under way. From
    /// anywhere else these headers are ignored.
    #[arg(
        long = "trusted-proxy",
        env = "PERF_TRACKING_TRUSTED_PROXY",
        value_name = "CIDR",
        value_delimiter = ',',
        value_parser = parse_network,
        help_heading = CLIENTS
    )]
    pub(in crate::commands) trusted_proxies: Vec<IpNet>,

    #[command(flatten)]
    pub(in crate::commands) limits: Limits,
}

/// Bring the database to the form that this version needs, and stop
///
/// The service does this itself when it starts. A database that a newer version has changed is
/// refused.
#[derive(Args, Clone, Debug)]
pub(in crate::commands) struct MigrateArgs {
    #[command(flatten)]
    pub(in crate::commands) data: DataDirArgs,

    #[command(flatten)]
    pub(in crate::commands) database: DatabaseArgs,
}

/// The database and how it is used.
#[derive(Clone, Debug)]
pub(in crate::commands) struct DatabaseSettings {
    /// Where it is.
    pub(in crate::commands) url: DatabaseUrl,
    /// The file with its password, if `url` has none.
    pub(in crate::commands) password_file: Option<PathBuf>,
    /// The most connections at a time.
    pub(in crate::commands) connections: u32,
    /// How long to wait for it.
    pub(in crate::commands) timeout: Duration,
}

/// All of `perf-tracking serve`, checked.
#[derive(Clone, Debug)]
pub(in crate::commands) struct ServeSettings {
    /// Where to listen.
    pub(in crate::commands) listen: SocketAddr,
    /// The folder of what the service makes.
    pub(in crate::commands) data_dir: PathBuf,
    /// The database.
    pub(in crate::commands) database: DatabaseSettings,
    /// The keys.
    pub(in crate::commands) tokens: TokenSettings,
    /// Whether reads need no token.
    pub(in crate::commands) public_read: bool,
    /// The web origins whose pages may call.
    pub(in crate::commands) cors_origins: Vec<Origin>,
    /// Where the pages link for commits and changes.
    pub(in crate::commands) url_patterns: Vec<UrlPattern>,
    /// The proxies whose word is taken for who the client is.
    pub(in crate::commands) trusted_proxies: Vec<IpNet>,
    /// The limits.
    pub(in crate::commands) limits: Limits,
}

impl SecretArgs {
    /// Where the secret is, given the data folder.
    pub(in crate::commands) fn check(self, data: &DataDirArgs) -> SecretPath {
        match self.token_secret_file {
            Some(path) => SecretPath::Named(path),
            None => SecretPath::InDataDir(data.data_dir.join(SECRET_FILE_NAME)),
        }
    }
}

impl TokenArgs {
    /// The files, given the data folder.
    pub(in crate::commands) fn check(self, data: &DataDirArgs) -> TokenSettings {
        TokenSettings {
            secret: self.secret.check(data),
            former_secrets: self.former_token_secret_files,
            public_keys: self.token_public_keys,
            revoked_tokens: self.revoked_tokens_file,
        }
    }
}

impl DatabaseArgs {
    /// The database, given the data folder.
    ///
    /// # Errors
    /// If the URL is none that the store can open, the default file's name cannot be written in
    /// one, or a password's file is named that the URL has no place for.
    pub(in crate::commands) fn check(
        self,
        data: &DataDirArgs,
    ) -> Result<DatabaseSettings, SettingError> {
        let url = match self.database_url {
            Some(raw) => raw.check()?,
            None => DatabaseUrl::sqlite_file(&data.data_dir.join(DATABASE_FILE_NAME))
                .map_err(SettingError::of("--data-dir (PERF_TRACKING_DATA_DIR)"))?,
        };
        if self.database_password_file.is_some() {
            url.check_takes_password()
                .map_err(SettingError::of(PASSWORD_FILE_NAME))?;
        }
        Ok(DatabaseSettings {
            url,
            password_file: self.database_password_file,
            connections: self.database_connections,
            timeout: self.database_timeout,
        })
    }
}

impl DatabaseSettings {
    /// The address to open, with the password that `read` finds in the password's file.
    ///
    /// # Errors
    /// If there is such a file and it cannot be read or does not hold a password.
    pub(in crate::commands) fn whole_url(
        &self,
        read: impl FnOnce(&Path) -> io::Result<String>,
    ) -> Result<DatabaseUrl, SettingError> {
        let Some(path) = &self.password_file else {
            return Ok(self.url.clone());
        };
        let fault = |what: &str| SettingError {
            name: PASSWORD_FILE_NAME,
            detail: format!("`{}` {what}", path.display()),
        };
        let text = read(path).map_err(|error| fault(&format!("cannot be read: {error}")))?;
        match text.trim_end_matches(['\r', '\n']) {
            "" => Err(fault("is empty; write the password into it")),
            password if password.contains(['\r', '\n', '\0']) => Err(fault(
                "has more than one line; write the password alone into it",
            )),
            password => (self.url.with_password(password))
                .ok_or_else(|| fault("is for an address with a host, and there is none")),
        }
    }
}

impl TryFrom<ServeArgs> for ServeSettings {
    type Error = SettingError;

    fn try_from(args: ServeArgs) -> Result<Self, SettingError> {
        Ok(Self {
            listen: args.listen,
            database: args.database.check(&args.data)?,
            tokens: args.tokens.check(&args.data),
            data_dir: args.data.data_dir,
            public_read: args.public_read,
            cors_origins: args.cors_origins,
            url_patterns: args.commit_url.into_iter().chain(args.change_url).collect(),
            trusted_proxies: args.trusted_proxies,
            limits: args.limits,
        })
    }
}

impl TryFrom<MigrateArgs> for DatabaseSettings {
    type Error = SettingError;

    fn try_from(args: MigrateArgs) -> Result<Self, SettingError> {
        args.database.check(&args.data)
    }
}

#[cfg(test)]
#[path = "serve_tests.rs"]
mod tests;

//! Every flag and environment variable of the service and of the commands that call it. Opens
//! nothing.
//!
//! `…Args` are what clap reads; `…Settings` are what they come to once they have been checked.
//! A wrong value is refused with the setting's name, the value unless it may hold a secret, and
//! what to write instead.

mod client;
mod database_url;
mod value;

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::builder::{OsStringValueParser, TypedValueParser as _};
use clap::{ArgAction, Args, ValueEnum};

pub use client::{ClientArgs, ClientTokenError, ServerArgs, ServerUrl, TOKEN_VARIABLE, Token};
pub use database_url::{DatabaseScheme, DatabaseUrl};
pub use value::{ByteCount, LogFilter, Origin, PublicKeyFile, parse_duration};

use database_url::{PASSWORD_FILE_NAME, RawDatabaseUrl};
use value::{parse_boolean, parse_listen, parse_positive_duration};

/// The secret's name in the data folder.
const SECRET_FILE_NAME: &str = "token-secret";

/// The database's name in the data folder.
const DATABASE_FILE_NAME: &str = "perf-tracking.db";

const DATA: &str = "Data folder";
const CLIENTS: &str = "Who may connect";
const DATABASE: &str = "Database";
const TOKENS: &str = "Tokens";
const LIMITS: &str = "Limits";
const LOGS: &str = "Logs";

const SERVE_EXAMPLES: &str = "\
Examples:
  A first look, on http://127.0.0.1:8080:
    perf-tracking serve

  For a team, with MariaDB and readers without tokens:
    PERF_TRACKING_DATABASE_URL=mysql://perf:PASSWORD@db.example.org/perf \\
      perf-tracking serve --listen 0.0.0.0:8080 --public-read

  With a new token secret, while tokens of the old one still count:
    perf-tracking serve --token-secret-file new --former-token-secret-file old";

/// A setting whose value does not fit. Holds no secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name}: {detail}")]
pub struct SettingError {
    /// The flag and its environment variable.
    pub name: &'static str,
    /// The value, what is wrong with it, and what to write instead.
    pub detail: String,
}

/// Where the service keeps what it makes.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = DATA)]
pub struct DataDirArgs {
    /// Folder for what the service makes: the database and the token secret
    ///
    /// Made at the first start, for its owner alone.
    #[arg(
        long,
        env = "PERF_TRACKING_DATA_DIR",
        value_name = "FOLDER",
        default_value = "./perf-tracking-data"
    )]
    pub data_dir: PathBuf,
}

/// The database, as the command line has it.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = DATABASE)]
pub struct DatabaseArgs {
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
        value_parser = OsStringValueParser::new().map(RawDatabaseUrl::new)
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
    pub database_connections: u32,

    /// How long to wait for the database before a request is told to come back
    #[arg(
        long,
        env = "PERF_TRACKING_DATABASE_TIMEOUT",
        value_name = "DURATION",
        default_value = "10s",
        value_parser = parse_positive_duration
    )]
    pub database_timeout: Duration,
}

/// The secret that signs tokens, as the command line has it.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = TOKENS)]
pub struct SecretArgs {
    /// File with the secret that signs tokens [default: `token-secret` in the data folder]
    ///
    /// Its bytes, without a line end, are the secret; at least 32 of them. Without this setting
    /// the first start of the service makes one.
    #[arg(long, env = "PERF_TRACKING_TOKEN_SECRET_FILE", value_name = "FILE")]
    pub token_secret_file: Option<PathBuf>,
}

/// The keys that tokens are checked with, as the command line has them.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = TOKENS)]
pub struct TokenArgs {
    #[command(flatten)]
    #[expect(
        missing_docs,
        reason = "a doc comment here would replace the help of the command"
    )]
    pub secret: SecretArgs,

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
    pub former_token_secret_files: Vec<PathBuf>,

    /// Ed25519 public key in PEM form, for tokens made elsewhere; repeatable, or commas between
    ///
    /// A token names its key in its header (`kid`): KID here is that name.
    #[arg(
        long = "token-public-key",
        env = "PERF_TRACKING_TOKEN_PUBLIC_KEY",
        value_name = "KID=FILE",
        value_delimiter = ','
    )]
    pub token_public_keys: Vec<PublicKeyFile>,

    /// File with the ids (`jti`) of tokens that are refused, one a line, comments after `#`
    #[arg(long, env = "PERF_TRACKING_REVOKED_TOKENS_FILE", value_name = "FILE")]
    pub revoked_tokens_file: Option<PathBuf>,
}

/// The limits that keep one client from costing the others anything.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = LIMITS)]
pub struct Limits {
    /// Largest body of a request, in bytes or with KiB, MiB or GiB; a larger one is answered 413
    #[arg(
        long = "max-body-bytes",
        env = "PERF_TRACKING_MAX_BODY_BYTES",
        value_name = "SIZE",
        default_value = "4MiB"
    )]
    pub max_body: ByteCount,

    /// How long a request may take to arrive, its head and its body each, and an answer to be made
    ///
    /// A body that is slower is answered 408, an answer that is slower 503. A client that reads
    /// nothing of its answer for as long is let go.
    #[arg(
        long,
        env = "PERF_TRACKING_REQUEST_TIMEOUT",
        value_name = "DURATION",
        default_value = "30s",
        value_parser = parse_positive_duration
    )]
    pub request_timeout: Duration,

    /// Requests worked on at a time; one more is answered 503 with `Retry-After`
    #[arg(
        long,
        env = "PERF_TRACKING_MAX_CONCURRENT_REQUESTS",
        value_name = "COUNT",
        default_value = "256",
        value_parser = clap::value_parser!(u32).range(1..=1_000_000)
    )]
    pub max_concurrent_requests: u32,

    /// Connections open at a time; one more waits until another closes
    #[arg(
        long,
        env = "PERF_TRACKING_MAX_CONNECTIONS",
        value_name = "COUNT",
        default_value = "1024",
        value_parser = clap::value_parser!(u32).range(1..=1_000_000)
    )]
    pub max_connections: u32,

    /// How long a stopping service waits for the requests that it has; 0s waits for none
    #[arg(
        long,
        env = "PERF_TRACKING_SHUTDOWN_GRACE",
        value_name = "DURATION",
        default_value = "30s",
        value_parser = parse_duration
    )]
    pub shutdown_grace: Duration,
}

/// How a log line looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// Text if standard error is a terminal, JSON otherwise.
    #[default]
    Auto,
    /// Lines for people.
    Text,
    /// One JSON object a line.
    Json,
}

/// What is logged, to standard error, and how. The same for every command.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = LOGS)]
pub struct LogSettings {
    /// What to log: error, warn, info, debug, trace or off, or `part=level` with commas between
    // A global argument is found by its id in every command, so no flag of one may have it.
    #[arg(
        id = "log",
        long = "log",
        env = "PERF_TRACKING_LOG",
        value_name = "FILTER",
        default_value = "info",
        global = true
    )]
    pub filter: LogFilter,

    /// How log lines look
    #[arg(
        id = "log-format",
        long = "log-format",
        env = "PERF_TRACKING_LOG_FORMAT",
        value_name = "FORMAT",
        default_value = "auto",
        global = true
    )]
    pub format: LogFormat,
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
pub struct ServeArgs {
    /// Address and port to listen on; port 0 takes a free one
    #[arg(
        long,
        env = "PERF_TRACKING_LISTEN",
        value_name = "ADDRESS",
        default_value = "127.0.0.1:8080",
        value_parser = parse_listen
    )]
    pub listen: SocketAddr,

    #[command(flatten)]
    #[expect(
        missing_docs,
        reason = "a doc comment here would replace the help of the command"
    )]
    pub data: DataDirArgs,

    #[command(flatten)]
    #[expect(
        missing_docs,
        reason = "a doc comment here would replace the help of the command"
    )]
    pub database: DatabaseArgs,

    #[command(flatten)]
    #[expect(
        missing_docs,
        reason = "a doc comment here would replace the help of the command"
    )]
    pub tokens: TokenArgs,

    /// Let everyone read; writes need a token as ever
    #[arg(
        long,
        env = "PERF_TRACKING_PUBLIC_READ",
        action = ArgAction::SetTrue,
        value_parser = parse_boolean,
        help_heading = CLIENTS
    )]
    pub public_read: bool,

    /// Web origin whose pages may read from the service, such as `https://perf.example.org`;
    /// repeatable, or commas between
    #[arg(
        long = "cors-origin",
        env = "PERF_TRACKING_CORS_ORIGIN",
        value_name = "ORIGIN",
        value_delimiter = ',',
        help_heading = CLIENTS
    )]
    pub cors_origins: Vec<Origin>,

    #[command(flatten)]
    #[expect(
        missing_docs,
        reason = "a doc comment here would replace the help of the command"
    )]
    pub limits: Limits,
}

/// Bring the database to the form that this version needs, and stop
///
/// The service does this itself when it starts. A database that a newer version has changed is
/// refused.
#[derive(Args, Clone, Debug)]
pub struct MigrateArgs {
    #[command(flatten)]
    #[expect(
        missing_docs,
        reason = "a doc comment here would replace the help of the command"
    )]
    pub data: DataDirArgs,

    #[command(flatten)]
    #[expect(
        missing_docs,
        reason = "a doc comment here would replace the help of the command"
    )]
    pub database: DatabaseArgs,
}

/// Where the secret is that signs tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecretPath {
    /// In the data folder, where the service makes it.
    InDataDir(PathBuf),
    /// Where a setting says, which must be there.
    Named(PathBuf),
}

impl SecretPath {
    /// The file.
    pub fn path(&self) -> &Path {
        match self {
            Self::InDataDir(path) | Self::Named(path) => path,
        }
    }
}

/// The files that a key ring is read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenSettings {
    /// The secret that signs.
    pub secret: SecretPath,
    /// Secrets that signed before.
    pub former_secrets: Vec<PathBuf>,
    /// Public keys of others.
    pub public_keys: Vec<PublicKeyFile>,
    /// The ids of tokens that are refused.
    pub revoked_tokens: Option<PathBuf>,
}

/// The database and how it is used.
#[derive(Clone, Debug)]
pub struct DatabaseSettings {
    /// Where it is.
    pub url: DatabaseUrl,
    /// The file with its password, if `url` has none.
    pub password_file: Option<PathBuf>,
    /// The most connections at a time.
    pub connections: u32,
    /// How long to wait for it.
    pub timeout: Duration,
}

/// All of `perf-tracking serve`, checked.
#[derive(Clone, Debug)]
pub struct ServeSettings {
    /// Where to listen.
    pub listen: SocketAddr,
    /// The folder of what the service makes.
    pub data_dir: PathBuf,
    /// The database.
    pub database: DatabaseSettings,
    /// The keys.
    pub tokens: TokenSettings,
    /// Whether reads need no token.
    pub public_read: bool,
    /// The web origins whose pages may call.
    pub cors_origins: Vec<Origin>,
    /// The limits.
    pub limits: Limits,
}

impl SecretArgs {
    /// Where the secret is, given the data folder.
    pub fn check(self, data: &DataDirArgs) -> SecretPath {
        match self.token_secret_file {
            Some(path) => SecretPath::Named(path),
            None => SecretPath::InDataDir(data.data_dir.join(SECRET_FILE_NAME)),
        }
    }
}

impl TokenArgs {
    /// The files, given the data folder.
    pub fn check(self, data: &DataDirArgs) -> TokenSettings {
        TokenSettings {
            secret: self.secret.check(data),
            former_secrets: self.former_token_secret_files,
            public_keys: self.token_public_keys,
            revoked_tokens: self.revoked_tokens_file,
        }
    }
}

impl From<SecretPath> for TokenSettings {
    /// One secret and no other key.
    fn from(secret: SecretPath) -> Self {
        Self {
            secret,
            former_secrets: Vec::new(),
            public_keys: Vec::new(),
            revoked_tokens: None,
        }
    }
}

impl DatabaseArgs {
    /// The database, given the data folder.
    ///
    /// # Errors
    /// If the URL is none that the store can open, the default file's name cannot be written in
    /// one, or a password's file is named that the URL has no place for.
    pub fn check(self, data: &DataDirArgs) -> Result<DatabaseSettings, SettingError> {
        let url = match self.database_url {
            Some(raw) => raw.check()?,
            None => DatabaseUrl::sqlite_file(&data.data_dir.join(DATABASE_FILE_NAME))?,
        };
        if self.database_password_file.is_some() {
            url.check_takes_password()?;
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
    pub fn whole_url(
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
mod tests;

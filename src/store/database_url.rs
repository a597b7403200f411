//! The database's address, which may hold a password.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use url::Url;

const FORMS: &str = "write sqlite://FILE, mysql://USER:PASSWORD@HOST/DATABASE or \
                     drizzle://USER@HOST/SCHEMA";

/// Why a text is not a database's address. Holds no password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DatabaseUrlError(String);

/// What speaks to the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatabaseScheme {
    /// A SQLite file.
    Sqlite,
    /// A MySQL-protocol server, with prepared statements.
    MySql,
    /// A MySQL-protocol server, with plain text.
    Drizzle,
}

/// The database's address. `Debug` and `Display` never show a password.
#[derive(Clone, PartialEq, Eq)]
pub struct DatabaseUrl {
    scheme: DatabaseScheme,
    text: String,
    frozen: bool,
}

impl DatabaseUrl {
    /// The address of a SQLite file.
    ///
    /// # Errors
    /// If the path is no UTF-8, which no URL can hold.
    pub fn sqlite_file(path: &Path) -> Result<Self, DatabaseUrlError> {
        let Some(path) = path.to_str() else {
            let detail = format!("`{}` is not UTF-8; name one that is", path.display());
            return Err(DatabaseUrlError(detail));
        };
        // The rest of the path stands as it is; a URL would end it at these.
        let path = path
            .replace('%', "%25")
            .replace('?', "%3F")
            .replace('#', "%23");
        Ok(Self {
            scheme: DatabaseScheme::Sqlite,
            text: format!("sqlite://{path}"),
            frozen: false,
        })
    }

    /// The address of a SQLite file that is read as it is: nobody writes it meanwhile.
    ///
    /// # Errors
    /// If the path is not UTF-8.
    pub fn frozen_sqlite_file(path: &Path) -> Result<Self, DatabaseUrlError> {
        let mut url = Self::sqlite_file(path)?;
        url.text.push_str("?mode=ro&immutable=1");
        url.frozen = true;
        Ok(url)
    }

    /// Whether the file is read as it is and never written.
    pub(super) fn is_frozen(&self) -> bool {
        self.frozen
    }

    /// Checks that a password can be added.
    ///
    /// # Errors
    /// Why the address has no place for one.
    pub fn check_takes_password(&self) -> Result<(), DatabaseUrlError> {
        let why = if self.scheme == DatabaseScheme::Sqlite {
            "is a file, which takes no password; leave the setting out"
        } else if Url::parse(&self.text).is_ok_and(|url| url.password().is_some()) {
            "holds a password already; leave out that one or this setting"
        } else {
            return Ok(());
        };
        Err(DatabaseUrlError(format!("`{self}` {why}")))
    }

    /// The address with `password`, which may hold any character; `None` where it has no host that
    /// would ask for one.
    pub fn with_password(&self, password: &str) -> Option<Self> {
        let encoded = utf8_percent_encode(password, NON_ALPHANUMERIC).to_string();
        let mut url = Url::parse(&self.text).ok()?;
        url.set_password(Some(&encoded)).ok()?;
        Some(Self {
            scheme: self.scheme,
            text: url.into(),
            frozen: false,
        })
    }

    /// What speaks to the database.
    pub fn scheme(&self) -> DatabaseScheme {
        self.scheme
    }

    /// The whole address with the password, for opening the database and nothing else.
    pub fn expose(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&redact(&self.text))
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DatabaseUrl({self})")
    }
}

impl FromStr for DatabaseUrl {
    type Err = DatabaseUrlError;

    fn from_str(text: &str) -> Result<Self, DatabaseUrlError> {
        let shown = redact(text);
        let fault = |detail: String| DatabaseUrlError(detail);
        let scheme = match text.split_once("://") {
            Some(("sqlite", file)) => {
                check_file(file).map_err(|what| fault(format!("`{shown}` {what}")))?;
                DatabaseScheme::Sqlite
            }
            Some(("mysql", _)) => DatabaseScheme::MySql,
            Some(("drizzle", _)) => DatabaseScheme::Drizzle,
            Some(("mariadb", _)) => {
                return Err(fault(format!(
                    "`{shown}`: MariaDB is reached with mysql://"
                )));
            }
            _ => return Err(fault(format!("`{shown}` is no database address; {FORMS}"))),
        };
        if scheme != DatabaseScheme::Sqlite {
            check_server(text, scheme).map_err(|what| fault(format!("`{shown}` {what}")))?;
        }
        Ok(Self {
            scheme,
            text: text.to_owned(),
            frozen: false,
        })
    }
}

fn check_file(file: &str) -> Result<(), &'static str> {
    let (file, parameters) = file.split_once('?').unwrap_or((file, ""));
    let file = percent_decode_str(file).decode_utf8_lossy();
    if file.is_empty() {
        return Err("names no file; write sqlite://FILE");
    }
    if file == ":memory:" {
        return Err("keeps nothing: runs must outlive the process; write sqlite://FILE");
    }
    // SQLite would read it as an address of its own, with parameters of its own.
    if file.starts_with("file:") {
        return Err(
            "names a file that starts with `file:`; write sqlite://FILE or sqlite://./FILE",
        );
    }
    // Others keep the runs in memory, or let two processes write at once.
    if !matches!(parameters, "" | "mode=rw" | "mode=rwc") {
        return Err("has parameters other than `mode=rw` or `mode=rwc`; leave them out");
    }
    Ok(())
}

fn check_server(text: &str, scheme: DatabaseScheme) -> Result<(), &'static str> {
    let url = Url::parse(text).ok().filter(|_| !is_shifted(text));
    let url = url.ok_or({
        "cannot be read; in a user name and a password write `@`, `/`, `?`, `#`, `%` and `:` \
         as %40, %2F, %3F, %23, %25 and %3A"
    })?;
    if url.host_str().is_none_or(str::is_empty) {
        return Err("names no host; write SCHEME://USER:PASSWORD@HOST/DATABASE");
    }
    // Drizzle refuses a login without a name, and the driver would make one up.
    if scheme == DatabaseScheme::Drizzle && url.username().is_empty() {
        return Err("names no user, which Drizzle wants; write drizzle://USER@HOST/SCHEMA");
    }
    let database = url.path().trim_matches('/');
    if database.is_empty() || database.contains('/') {
        return Err(
            "names no database; write its name after the host: SCHEME://USER:PASSWORD@HOST/DATABASE",
        );
    }
    Ok(())
}

/// Whether an `@` stands after the host. Then the password was not encoded, and what looks like
/// host, path or query is a part of it.
fn is_shifted(text: &str) -> bool {
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
    rest.split_once(['/', '?', '#'])
        .is_some_and(|(_, after_host)| after_host.contains('@'))
}

/// `text` without anything that may be a password.
pub fn redact(text: &str) -> String {
    const HIDDEN: &str = "(not shown: it may hold a password)";
    let Some((scheme, rest)) = text.split_once("://") else {
        return HIDDEN.to_owned();
    };
    if !scheme.chars().all(|c| c.is_ascii_alphanumeric()) {
        return HIDDEN.to_owned();
    }
    let is_file = scheme == "sqlite" && !rest.contains('@');
    if is_shifted(text) || (!is_file && Url::parse(text).is_err()) {
        return format!("{scheme}://{HIDDEN}");
    }
    let (address, query) = match rest.split_once(['?', '#']) {
        Some((address, _)) => (address, "?…"),
        None => (rest, ""),
    };
    let (authority, path) = address.split_at(address.find('/').unwrap_or(address.len()));
    let authority = match authority.rsplit_once('@') {
        None => authority.to_owned(),
        Some((user_info, host)) => match user_info.split_once(':') {
            None => format!("{user_info}@{host}"),
            Some((user, _)) => format!("{user}:***@{host}"),
        },
    };
    format!("{scheme}://{authority}{path}{query}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Result<DatabaseUrl, DatabaseUrlError> {
        text.parse()
    }

    #[test]
    fn three_schemes_are_known() {
        for (text, scheme) in [
            ("sqlite://runs.db", DatabaseScheme::Sqlite),
            ("sqlite:///srv/runs.db?mode=rwc", DatabaseScheme::Sqlite),
            ("mysql://u:p@db:3306/perf", DatabaseScheme::MySql),
            ("mysql://db/perf", DatabaseScheme::MySql),
            ("drizzle://perf@[::1]:4427/perf", DatabaseScheme::Drizzle),
        ] {
            let url = check(text).unwrap();
            assert_eq!((url.scheme(), url.expose()), (scheme, text));
        }
    }

    #[test]
    fn what_does_not_fit_is_refused_without_its_password() {
        for (text, said) in [
            (
                "postgres://u:hunter2@db/perf",
                "`postgres://u:***@db/perf` is no database address",
            ),
            ("mariadb://u:hunter2@db/perf", "reached with mysql://"),
            ("u:hunter2@db/perf", "is no database address"),
            ("hunter2", "is no database address"),
            ("", "is no database address"),
            ("mysql:/u:hunter2@db/perf", "is no database address"),
            (
                "mysql://u:hunter2@db",
                "`mysql://u:***@db` names no database",
            ),
            ("mysql://u:hunter2@db/", "names no database"),
            ("mysql://u:hunter2@/perf", "mysql://"),
            ("mysql://u:hunt/hunter2@db/perf", "mysql://"),
            ("mysql://u:12/hunter2@db/a/b", "mysql://"),
            ("mysql://u:12/hunter2@db", "cannot be read"),
            ("mysql://db/perf?password=hunter2@", "cannot be read"),
            ("mysql://u:12?hunter2@db", "mysql://"),
            ("mysql://u:12#hunter2@db", "mysql://"),
            (
                "mysql://u:hunter2@db/?password=hunter2",
                "mysql://u:***@db/?…",
            ),
            (
                "mysql://u:hunter2:hunter2@hunter2@db:port/perf",
                "cannot be read",
            ),
            ("drizzle://db/perf", "names no user"),
            ("drizzle://:hunter2@db/perf", "names no user"),
            ("sqlite://", "names no file"),
            ("sqlite://:memory:", "keeps nothing"),
        ] {
            let error = check(text).unwrap_err();
            let shown = format!("{error} {error:?} {}", redact(text));
            assert!(shown.contains(said), "{text}: {shown}");
            assert!(!shown.contains("hunter2"), "{text}: {shown}");
        }
    }

    #[test]
    fn a_checked_address_does_not_show_its_password_either() {
        for text in [
            "mysql://u:hunter2@db:3306/perf?ssl-mode=REQUIRED",
            "mysql://u:hunter2@hunter2@db/perf",
            "drizzle://u:hunter2@db/perf",
            "sqlite://a:hunter2@b/runs.db",
        ] {
            let url = check(text).unwrap();
            let shown = format!("{url} {url:?}");
            assert!(!shown.contains("hunter2"), "{shown}");
        }
        assert_eq!(
            check("mysql://u:p@db/perf").unwrap().to_string(),
            "mysql://u:***@db/perf"
        );
    }

    #[test]
    fn a_password_from_a_file_survives_in_an_address() {
        let password = "p@ss:w/rd#%41?&+ é`";
        for text in [
            "mysql://perf@db/perf?ssl-mode=REQUIRED",
            "drizzle://perf@[::1]:4427/perf",
        ] {
            let bare = check(text).unwrap();
            bare.check_takes_password().unwrap();
            let whole = bare.with_password(password).unwrap();
            let url = Url::parse(whole.expose()).unwrap();
            let read = percent_encoding::percent_decode_str(url.password().unwrap());
            assert_eq!(read.decode_utf8().unwrap(), password);
            assert_eq!(whole.scheme(), bare.scheme());
            let without = whole
                .expose()
                .replace(&format!(":{}", url.password().unwrap()), "");
            assert_eq!(without, text);
            assert!(!format!("{whole} {whole:?}").contains("p%40ss"), "{whole}");
        }
    }

    #[test]
    fn an_address_without_a_place_for_a_password_takes_none() {
        for (text, said) in [
            ("sqlite://runs.db", "takes no password"),
            ("mysql://perf:hunter2@db/perf", "holds a password already"),
        ] {
            let error = check(text)
                .unwrap()
                .check_takes_password()
                .unwrap_err()
                .to_string();
            assert!(error.contains(said), "{error}");
            assert!(!error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn a_file_that_would_keep_nothing_is_refused() {
        for file in [
            ":memory:",
            "%3Amemory%3A",
            ":memory:?mode=rwc",
            "file::memory:",
            "file:runs.db?mode=memory",
            "%66ile:runs.db",
            "runs.db?mode=memory",
            "runs.db?mode=%6demory",
            "runs.db?mode=rwc&mode=memory",
            "runs.db?vfs=memdb",
            "runs.db?immutable=1",
            "?mode=rwc",
            "",
        ] {
            check(&format!("sqlite://{file}")).unwrap_err();
        }
        for file in ["./file:runs.db", "runs.db?", "runs.db?mode=rw", "a:memory:"] {
            check(&format!("sqlite://{file}")).unwrap();
        }
    }

    #[test]
    fn a_file_name_survives_in_an_address() {
        let url = DatabaseUrl::sqlite_file(Path::new("/srv/100% #1?/runs.db")).unwrap();
        assert_eq!(url.expose(), "sqlite:///srv/100%25 %231%3F/runs.db");
    }
}

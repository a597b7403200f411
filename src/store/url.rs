//! Which database, and in which of the three ways it is spoken to.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use url::Url;

/// The address of a database.
///
/// Neither `Debug` nor `Display` shows the password.
#[derive(Clone, PartialEq, Eq)]
pub enum DatabaseUrl {
    /// `sqlite://FILE`: an embedded file.
    Sqlite(PathBuf),
    /// `mysql://USER:PASSWORD@HOST:PORT/SCHEMA`: prepared statements.
    MySql(Url),
    /// `drizzle://USER@HOST:PORT/SCHEMA`: plain text, for a server that has no prepared statements.
    Drizzle(Url),
}

/// Why a text is not the address of a database. Never repeats the text, which may hold a password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DatabaseUrlError {
    /// Another scheme, or none.
    #[error("must start with sqlite://, mysql:// or drizzle://")]
    Scheme,
    /// `sqlite://` alone, or a database that dies with its connection.
    #[error("must name a file, such as sqlite://./perf-tracking.db")]
    File,
    /// Not a URL.
    #[error(
        "is not a URL ({0}); characters such as @ : / # in a password are written as %40 %3A %2F %23"
    )]
    Format(#[from] url::ParseError),
    /// A server without a host.
    #[error("must name a host, such as mysql://user:password@127.0.0.1:3306/perf")]
    Host,
    /// A server without a schema.
    #[error("must name a schema after the host, such as mysql://user:password@127.0.0.1:3306/perf")]
    Schema,
    /// Drizzle refuses an empty user name (its error 1045).
    #[error("must name a user, such as drizzle://perf@127.0.0.1:3306/perf")]
    User,
}

impl DatabaseUrl {
    /// The file `path` as a SQLite database.
    pub fn sqlite(path: impl AsRef<Path>) -> Self {
        Self::Sqlite(path.as_ref().to_path_buf())
    }
}

impl FromStr for DatabaseUrl {
    type Err = DatabaseUrlError;

    fn from_str(text: &str) -> Result<Self, DatabaseUrlError> {
        let (scheme, rest) = text.split_once("://").ok_or(DatabaseUrlError::Scheme)?;
        match scheme {
            "sqlite" if rest.is_empty() || rest.contains(":memory:") => Err(DatabaseUrlError::File),
            "sqlite" => Ok(Self::Sqlite(PathBuf::from(rest))),
            "mysql" => server(text).map(Self::MySql),
            "drizzle" => server(text).map(Self::Drizzle),
            _ => Err(DatabaseUrlError::Scheme),
        }
    }
}

fn server(text: &str) -> Result<Url, DatabaseUrlError> {
    let url = Url::parse(text)?;
    if url.host_str().is_none_or(str::is_empty) {
        return Err(DatabaseUrlError::Host);
    }
    if url.path().trim_matches('/').is_empty() {
        return Err(DatabaseUrlError::Schema);
    }
    if url.scheme() == "drizzle" && url.username().is_empty() {
        return Err(DatabaseUrlError::User);
    }
    Ok(url)
}

impl fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => write!(f, "sqlite://{}", path.display()),
            Self::MySql(url) | Self::Drizzle(url) => {
                let host = url.host_str().unwrap_or_default();
                write!(f, "{}://{host}", url.scheme())?;
                if let Some(port) = url.port() {
                    write!(f, ":{port}")?;
                }
                f.write_str(url.path())
            }
        }
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DatabaseUrl({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scheme_says_how_it_is_spoken_to() {
        assert_eq!(
            "sqlite://./a/b.db".parse(),
            Ok(DatabaseUrl::sqlite("./a/b.db"))
        );
        assert!(matches!(
            "mysql://u:p@h/s".parse(),
            Ok(DatabaseUrl::MySql(_))
        ));
        assert!(matches!(
            "drizzle://u@h/s".parse(),
            Ok(DatabaseUrl::Drizzle(_))
        ));
    }

    #[test]
    fn no_form_shows_the_password() {
        let url: DatabaseUrl = "mysql://user:hunter2@db:3306/perf?ssl-mode=DISABLED"
            .parse()
            .unwrap();
        assert_eq!(format!("{url}"), "mysql://db:3306/perf");
        assert!(!format!("{url:?}").contains("hunter2"));
        let error = "mysql://user:hunter2@:x/"
            .parse::<DatabaseUrl>()
            .unwrap_err();
        assert!(!format!("{error} {error:?}").contains("hunter2"));
    }

    #[test]
    fn what_cannot_be_a_database_is_refused() {
        for (text, error) in [
            ("perf.db", DatabaseUrlError::Scheme),
            ("postgres://h/s", DatabaseUrlError::Scheme),
            ("sqlite://", DatabaseUrlError::File),
            ("sqlite://:memory:", DatabaseUrlError::File),
            ("mysql://u@h", DatabaseUrlError::Schema),
            ("drizzle://h/s", DatabaseUrlError::User),
        ] {
            assert_eq!(text.parse::<DatabaseUrl>(), Err(error), "{text}");
        }
    }
}

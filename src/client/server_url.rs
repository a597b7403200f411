//! The address of a service.

use std::fmt;
use std::str::FromStr;

use url::Url;

const SERVER_FORM: &str = "write scheme, host and maybe a port and a path, such as \
                           https://perf.example.org";

/// The service's address: a scheme, a host, and maybe a port and a path. Holds no secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerUrl(Url);

impl FromStr for ServerUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Ok(url) = Url::parse(text) else {
            let shown = if text.contains('@') {
                "the address"
            } else {
                text
            };
            return Err(format!("`{shown}` cannot be read; {SERVER_FORM}"));
        };
        if !url.username().is_empty() || url.password().is_some() || text.contains('@') {
            return Err(
                "the address holds a user or a password, which the service does not take; \
                 leave out what stands before the `@`, and give a token"
                    .to_owned(),
            );
        }
        let speaks_http = matches!(url.scheme(), "http" | "https");
        if !speaks_http || url.query().is_some() || url.fragment().is_some() {
            return Err(format!(
                "`{text}` is no address of a service; {SERVER_FORM}"
            ));
        }
        Ok(Self(url))
    }
}

impl ServerUrl {
    /// The address that stands for this process.
    pub(super) fn local() -> Self {
        Self(Url::parse("http://localhost").expect("the address is one"))
    }

    /// The address of a path of the service, which may itself live under a path.
    pub fn join(&self, path: &str) -> Url {
        let mut url = self.0.clone();
        let base = self.0.path().trim_end_matches('/');
        url.set_path(&format!("{base}{path}"));
        url
    }

    /// Whether the connection is one of TLS.
    pub fn is_https(&self) -> bool {
        self.0.scheme() == "https"
    }

    /// Whether the service is on this very machine, where no proxy stands between.
    pub fn is_loopback(&self) -> bool {
        match self.0.host() {
            Some(url::Host::Domain(name)) => name == "localhost",
            Some(url::Host::Ipv4(ip)) => ip.is_loopback(),
            Some(url::Host::Ipv6(ip)) => ip.is_loopback(),
            None => false,
        }
    }
}

impl fmt::Display for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str().trim_end_matches('/'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_go_below_the_address() {
        for (server, joined) in [
            ("http://h:81", "http://h:81/v1/runs"),
            ("http://h:81/", "http://h:81/v1/runs"),
            ("https://h/perf", "https://h/perf/v1/runs"),
            ("https://h/perf/", "https://h/perf/v1/runs"),
        ] {
            let url: ServerUrl = server.parse().unwrap();
            assert_eq!(url.join("/v1/runs").as_str(), joined);
        }
    }
}

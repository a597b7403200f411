//! Where the commands find the service, and how long they try.
//!
//! The token is no flag: other users of the machine can read a command line. It comes from a file
//! or from the environment variable that [`TOKEN_VARIABLE`] names, and the file wins where both
//! are given. An empty variable counts as none: CI gives a job that may not see a secret an empty
//! one.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser as _};

use super::SettingError;
use super::value::{parse_duration, parse_positive_duration};
use crate::client::Server;

/// The environment variable that holds the token itself.
pub(in crate::commands) const TOKEN_VARIABLE: &str = "PERF_TRACKING_TOKEN";

const SERVICE: &str = "Service";
const SERVER_NAME: &str = "--server (PERF_TRACKING_URL)";

/// Where the service is, as the command line has it.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = SERVICE)]
pub(in crate::commands) struct ServerArgs {
    /// Address of the service, or `sqlite:FILE` for a file that needs no service
    ///
    /// A file is made by the first upload, and needs no token. A service is reached through the proxy that HTTP_PROXY, HTTPS_PROXY and NO_PROXY name, if any, except on
    /// this machine. Redirects are not followed.
    #[arg(
        long,
        env = "PERF_TRACKING_URL",
        value_name = "URL",
        default_value = "http://127.0.0.1:8080",
        hide_env_values = true,
        value_parser = OsStringValueParser::new().map(RawServerUrl)
    )]
    server: RawServerUrl,
}

/// How to reach the service, as the command line has it.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = SERVICE)]
pub(in crate::commands) struct ClientArgs {
    #[command(flatten)]
    pub(in crate::commands) server: ServerArgs,

    /// File with the token [default: the token in the variable PERF_TRACKING_TOKEN, if it is set]
    ///
    /// The token itself is never an argument, which other users of the machine could read. The
    /// file wins over the variable. A service that lets everyone read takes reads without a token.
    #[arg(long, env = "PERF_TRACKING_TOKEN_FILE", value_name = "FILE")]
    pub(in crate::commands) token_file: Option<PathBuf>,

    /// How long to try again while the service cannot be reached or cannot answer; 0s tries once
    ///
    /// The last try begins when the time is over, and may take its own --timeout.
    ///
    /// Tried again: no connection, a connection that broke, no answer in time, and the answers 408,
    /// 429, 500, 502, 503 and 504. The pauses grow, and are as long as the service asks for where
    /// it does (`Retry-After`). Any other answer stands.
    #[arg(
        long,
        env = "PERF_TRACKING_RETRY_FOR",
        value_name = "DURATION",
        default_value = "2m",
        value_parser = parse_duration
    )]
    pub(in crate::commands) retry_for: Duration,

    /// How long one try may take, from the connection to the last byte of the answer
    #[arg(
        long,
        env = "PERF_TRACKING_TIMEOUT",
        value_name = "DURATION",
        default_value = "75s",
        value_parser = parse_positive_duration
    )]
    pub(in crate::commands) timeout: Duration,
}

/// Whatever stands on the command line. Taken as it is, since clap would show what it refuses.
#[derive(Clone)]
struct RawServerUrl(OsString);

impl ServerArgs {
    /// The address.
    ///
    /// # Errors
    /// If it is none that requests can be sent to.
    pub(in crate::commands) fn check(self) -> Result<Server, SettingError> {
        let text = self.server.0.to_string_lossy().into_owned();
        text.parse().map_err(|detail| SettingError {
            name: SERVER_NAME,
            detail,
        })
    }
}

impl fmt::Debug for RawServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = self.0.to_string_lossy().parse::<Server>();
        match url {
            Ok(url) => write!(f, "RawServerUrl({url})"),
            Err(_) => f.write_str("RawServerUrl(not shown)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory as _, Parser};

    use super::*;

    #[derive(Parser, Debug)]
    struct Client {
        #[command(flatten)]
        args: ClientArgs,
    }

    #[test]
    fn the_defaults_are_as_designed() {
        let args = Client::try_parse_from(["client"]).unwrap().args;
        let server = args.server.check().unwrap();
        assert_eq!(server.to_string(), "http://127.0.0.1:8080");
        assert_eq!(args.token_file, None);
        assert_eq!(args.retry_for, Duration::from_secs(120));
        assert_eq!(args.timeout, Duration::from_secs(75));
    }

    #[test]
    fn every_flag_has_a_variable_of_the_project() {
        for arg in Client::command().get_arguments() {
            let Some(flag) = arg.get_long().filter(|flag| *flag != "help") else {
                continue;
            };
            let variable = arg.get_env().expect(flag).to_string_lossy();
            assert!(variable.starts_with("PERF_TRACKING_"), "{flag}: {variable}");
        }
    }

    #[test]
    fn an_address_that_does_not_fit_is_refused_without_its_password() {
        for (text, said) in [
            ("perf.example.org", "cannot be read; write scheme"),
            ("", "cannot be read"),
            ("http://", "cannot be read"),
            ("localhost:8080", "is no address of a service"),
            ("ftp://h", "is no address of a service"),
            ("http://h?token=x", "is no address of a service"),
            ("http://h#x", "is no address of a service"),
            ("http://u:hunter2@h", "leave out what stands before the `@`"),
            ("http://hunter2@h", "leave out what stands before the `@`"),
            ("http://u:hunter2@", "`the address` cannot be read"),
            (
                "http://u:12/hunter2@h",
                "leave out what stands before the `@`",
            ),
        ] {
            let args = Client::try_parse_from(["client", "--server", text]);
            let args = args.unwrap().args;
            let debug = format!("{args:?}");
            let error = args.server.check().unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
            assert!(error.starts_with("--server (PERF_TRACKING_URL): "));
            assert!(
                !error.contains("hunter2") && !debug.contains("hunter2"),
                "{debug}"
            );
        }
    }
}

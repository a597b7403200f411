use clap::{CommandFactory, Parser};

use super::*;
use crate::terminal::logging::LogSettings;

#[derive(Parser, Debug)]
struct Serve {
    #[command(flatten)]
    args: ServeArgs,
    #[command(flatten)]
    log: LogSettings,
}

fn settings(args: &[&str]) -> ServeSettings {
    let args = ["serve"].iter().chain(args);
    ServeSettings::try_from(Serve::try_parse_from(args).unwrap().args).unwrap()
}

fn refusal(args: &[&str]) -> String {
    let args = ["serve"].iter().chain(args);
    Serve::try_parse_from(args).unwrap_err().to_string()
}

#[test]
fn the_defaults_are_as_designed() {
    let settings = settings(&[]);
    assert_eq!(settings.listen.to_string(), "127.0.0.1:8080");
    assert_eq!(settings.data_dir, Path::new("./perf-tracking-data"));
    assert_eq!(
        settings.database.url.expose(),
        "sqlite://./perf-tracking-data/perf-tracking.db"
    );
    assert_eq!(settings.database.connections, 16);
    assert_eq!(settings.database.timeout, Duration::from_secs(10));
    assert_eq!(
        settings.tokens.secret,
        SecretPath::InDataDir("./perf-tracking-data/token-secret".into())
    );
    assert!(!settings.public_read);
    assert!(settings.cors_origins.is_empty());
    assert_eq!(settings.limits.max_body.get(), 4 << 20);
    assert!(settings.trusted_proxies.is_empty());
    assert_eq!(settings.limits.max_memory.get(), 256 << 20);
    assert_eq!(settings.limits.request_timeout, Duration::from_secs(30));
    assert_eq!(settings.limits.answer_timeout, Duration::from_secs(60));
    assert_eq!(settings.limits.max_concurrent_requests, 256);
    assert_eq!(settings.limits.max_connections, 1024);
    assert_eq!(settings.limits.shutdown_grace, Duration::from_secs(30));
}

#[test]
fn lists_are_repeated_or_split_at_commas() {
    let settings = settings(&[
        "--former-token-secret-file=a,b",
        "--former-token-secret-file=c",
        "--token-public-key=k1=a.pem,k2=b.pem",
        "--cors-origin=https://a.example",
        "--cors-origin=http://localhost:3000",
        "--trusted-proxy=10.1.2.3/8,::1",
    ]);
    let former: Vec<_> = settings.tokens.former_secrets;
    assert_eq!(former, ["a", "b", "c"].map(PathBuf::from));
    assert_eq!(settings.tokens.public_keys.len(), 2);
    let proxies: Vec<String> = settings
        .trusted_proxies
        .iter()
        .map(IpNet::to_string)
        .collect();
    assert_eq!(proxies, ["10.0.0.0/8", "::1/128"]);
    let origins: Vec<_> = settings.cors_origins.iter().map(Origin::as_str).collect();
    assert_eq!(origins, ["https://a.example", "http://localhost:3000"]);
}

#[test]
fn a_wrong_value_is_refused_with_its_flag_its_value_and_the_fix() {
    for (flag, value, fix) in [
        ("--listen", "localhost:8080", "127.0.0.1:8080"),
        ("--listen", ":8080", "127.0.0.1:8080"),
        ("--database-connections", "0", "1..=10000"),
        ("--database-timeout", "10", "30s"),
        ("--database-timeout", "0s", "30s"),
        ("--request-timeout", "-1s", "30s"),
        ("--max-body-bytes", "4MB", "4MiB"),
        ("--max-body-bytes", "0", "4MiB"),
        ("--max-body-bytes", "99999999999999999999", "1GiB"),
        ("--max-concurrent-requests", "many", "digit"),
        ("--max-memory", "1MiB", "at least 64MiB"),
        ("--trusted-proxy", "proxy.example.org", "10.0.0.0/8"),
        ("--token-public-key", "ci.pem", "ci-2026=/etc"),
        ("--cors-origin", "*", "no wildcard"),
        ("--cors-origin", "https://a.example/", "`https://a.example`"),
        (
            "--cors-origin",
            "HTTPS://A.example:443",
            "`https://a.example`",
        ),
        ("--cors-origin", "a.example", "https://perf.example.org"),
        ("--log", "verbose", "info, debug"),
        ("--log", "perf_tracking=loud", "info, debug"),
        ("--log-format", "xml", "auto, text, json"),
    ] {
        let said = refusal(&[&format!("{flag}={value}")]);
        for part in [flag, value, fix] {
            assert!(said.contains(part), "{flag}={value}: no {part:?} in {said}");
        }
    }
}

#[test]
fn every_flag_has_its_environment_variable() {
    for arg in Serve::command().get_arguments() {
        let Some(flag) = arg.get_long() else { continue };
        let expected = format!("PERF_TRACKING_{}", flag.to_uppercase().replace('-', "_"));
        let variable = arg
            .get_env()
            .map(|name| name.to_string_lossy().into_owned());
        assert_eq!(variable, Some(expected), "{flag}");
    }
}

#[test]
fn a_password_shows_in_no_debug_text_of_the_settings() {
    let args = ["serve", "--database-url=mysql://u:hunter2@db/perf"];
    let parsed = Serve::try_parse_from(args).unwrap();
    assert!(!format!("{parsed:?}").contains("hunter2"));
    let settings = ServeSettings::try_from(parsed.args).unwrap();
    assert!(!format!("{settings:?}").contains("hunter2"));
}

#[test]
fn a_password_comes_out_of_its_file() {
    let database = settings(&[
        "--database-url=mysql://perf@db/perf",
        "--database-password-file=/run/secrets/password",
    ])
    .database;
    let whole = |text: &str| database.whole_url(|_| Ok(text.to_owned()));
    assert_eq!(
        whole("hunter2\r\n").unwrap().expose(),
        "mysql://perf:hunter2@db/perf"
    );
    assert_eq!(database.url.expose(), "mysql://perf@db/perf");
    let missing = database.whole_url(|_| Err(io::ErrorKind::NotFound.into()));
    for (refused, said) in [
        (whole("\n"), "is empty"),
        (whole("hunter2\nhunter3\n"), "has more than one line"),
        (missing, "cannot be read"),
    ] {
        let error = refused.unwrap_err().to_string();
        assert!(error.contains("`/run/secrets/password`"), "{error}");
        assert!(error.contains(said) && !error.contains("hunter"), "{error}");
    }
}

#[test]
fn without_a_password_file_an_address_is_whole() {
    let database = settings(&["--database-url=mysql://perf:p@db/perf"]).database;
    let whole = database.whole_url(|_| panic!("there is nothing to read"));
    assert_eq!(whole.unwrap().expose(), "mysql://perf:p@db/perf");
}

#[test]
fn a_password_file_beside_a_sqlite_file_is_refused() {
    let args = ["serve", "--database-password-file=p"];
    let args = Serve::try_parse_from(args).unwrap().args;
    let error = ServeSettings::try_from(args).unwrap_err().to_string();
    assert!(error.contains("takes no password"), "{error}");
}

//! What the service says once it is ready: where it is, and lines to paste for a first look.

use std::env;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::flags::ServeSettings;
use crate::auth::SecretPath;

const SAMPLE: &str = r#"{"workload": "perf", "repo": "sample", "branch": "main", "commit_sha": "0123456789abcdef0123456789abcdef01234567", "pipeline": "promote", "distro": "trixie", "arch": "amd64", "host_class": "callgrind", "run_date": "2026-11-30T09:00:00Z", "succeeded": true, "metrics": [{"metric_key": "callgrind.ir", "value": 1234567890}]}"#;

/// The text for standard output.
pub(super) fn text(settings: &ServeSettings, address: SocketAddr) -> String {
    let url = format!("http://{}", reachable(address));
    let program = quoted(
        &env::args()
            .next()
            .unwrap_or_else(|| "perf-tracking".to_owned()),
    );
    let secret = secret_flag(&settings.tokens.secret);
    format!(
        "\
perf-tracking {version} is ready

  address   {url}
  docs      {url}/docs
  database  {database}

A first look, in another terminal of this folder: a token, a run, and the run read back.

  export PERF_TRACKING_URL={url}
  export PERF_TRACKING_TOKEN=\"$({program} token issue --subject first-look --expires 1d --scope runs:read --scope runs:write{secret})\"
  echo '{SAMPLE}' | {program} upload -
  {program} history --workload perf --branch main --arch amd64 --distro trixie

",
        version = env!("CARGO_PKG_VERSION"),
        database = settings.database.url,
    )
}

/// A service that listens on all addresses is reached on the loopback one.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

/// The secret's file wherever it is: the other terminal may lack this one's variables.
fn secret_flag(secret: &SecretPath) -> String {
    format!(
        " --token-secret-file {}",
        quoted(&secret.path().to_string_lossy())
    )
}

/// `word` as a shell reads it; one that no shell can read stands as it is.
fn quoted(word: &str) -> String {
    shlex::try_quote(word).map_or_else(|_| word.to_owned(), std::borrow::Cow::into_owned)
}

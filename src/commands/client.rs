//! What the commands that call a service share: the token out of its file, and the client.

use std::env;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;

use super::flags::{ClientArgs, TOKEN_VARIABLE};
use crate::auth::MAX_TOKEN_BYTES;
use crate::client::{Client, ClientError, ClientSettings, Server, Token};
use crate::terminal::{note, shown};

/// The client that `args` name.
pub(super) fn open(args: ClientArgs) -> anyhow::Result<Client> {
    open_with(args, note_retry)
}

/// The client that `args` name, which tells `on_retry` of every try that it will make again.
pub(super) fn open_with(
    args: ClientArgs,
    on_retry: fn(&ClientError, Duration),
) -> anyhow::Result<Client> {
    let server = args.server.check()?;
    let token = token(args.token_file.as_deref())?;
    if token.is_some() {
        warn_of_plain_http(&server);
    }
    let client = Client::new(ClientSettings {
        server,
        token,
        timeout: args.timeout,
        retry_for: args.retry_for,
        on_retry,
        clock: crate::clock::now,
    })?;
    Ok(client)
}

/// Whoever is on the way to another machine can read a token that is not encrypted, and use it.
fn warn_of_plain_http(server: &Server) {
    let Server::Service(url) = server else {
        return;
    };
    if !url.is_https() && !url.is_loopback() {
        note(format_args!(
            "warning: the token goes to {server} without encryption; use https://"
        ));
    }
}

/// One line for a person who waits, whatever the log's form: it is no log of a service.
fn note_retry(error: &ClientError, pause: Duration) {
    let seconds = pause.as_secs_f64();
    note(format_args!(
        "{}; trying again in {seconds:.1} s",
        error.reason()
    ));
}

/// The token: out of the file if one is named, else out of the variable if it holds anything.
fn token(file: Option<&Path>) -> anyhow::Result<Option<Token>> {
    let (text, source) = match file {
        Some(path) => {
            let shown = shown::path(path);
            let file = File::open(path).and_then(|file| {
                warn_if_writable_by_others(&file, path)?;
                token_text(file)
            });
            let text = file.with_context(|| format!("cannot read the token file {shown}"))?;
            (text, format!("the token file {shown}"))
        }
        None => match env::var(TOKEN_VARIABLE) {
            Ok(text) if text.is_empty() => return Ok(None),
            Ok(text) => (text, TOKEN_VARIABLE.to_owned()),
            Err(env::VarError::NotPresent) => return Ok(None),
            Err(env::VarError::NotUnicode(_)) => anyhow::bail!("{TOKEN_VARIABLE} is not UTF-8"),
        },
    };
    let token = text
        .parse()
        .map_err(|error| anyhow::anyhow!("{source} {error}"))?;
    Ok(Some(token))
}

/// Whoever can write a token file can have this command act for someone else.
fn warn_if_writable_by_others(file: &File, path: &Path) -> io::Result<()> {
    let found = file.metadata()?;
    if found.is_file() && found.permissions().mode() & 0o022 != 0 {
        note(format_args!(
            "warning: others than its owner can write the token file {}; `chmod 600 {}` ends that",
            shown::path(path),
            path.display()
        ));
    }
    Ok(())
}

/// The text where a token should be; a little more than the longest token is enough to refuse what
/// is longer.
pub(super) fn token_text(source: impl Read) -> io::Result<String> {
    let mut bytes = Vec::new();
    source
        .take(2 * MAX_TOKEN_BYTES as u64)
        .read_to_end(&mut bytes)?;
    // A text that is no UTF-8 is no token, and is refused as one.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

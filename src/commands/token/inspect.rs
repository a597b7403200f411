//! `perf-tracking token inspect`.

use std::env;
use std::fmt::Write as _;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use chrono::{DateTime, SecondsFormat, SubsecRound as _, TimeDelta, Utc};
use clap::Args;
use serde_json::{Value as Json, json};

use crate::auth::TokenSettings;
use crate::auth::{KeyRing, Peek, TokenError, peek};
use crate::clock;
use crate::commands::client::token_text;
use crate::commands::flags::{DataDirArgs, TOKEN_VARIABLE, TokenArgs};
use crate::commands::{Outcome, print};
use crate::terminal::shown::looks_like_token;

/// Show what a token says and whether the keys here accept it
///
/// Exits with 0 if the token is accepted and with 2 if it is not, or if there are no keys here. The
/// token is read from a file, from the environment variable PERF_TRACKING_TOKEN or from standard
/// input, never from the command line, which other users of the machine can read.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(in crate::commands) struct InspectArgs {
    /// File with the token, `-` for standard input [default: PERF_TRACKING_TOKEN if it is set,
    /// else standard input]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,

    /// Print one JSON object: `valid` (null if it could not be checked), `reason`, `algorithm`,
    /// `key_id`, `claims`
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    data: DataDirArgs,
    #[command(flatten)]
    tokens: TokenArgs,
}

const EXAMPLES: &str = "\
Examples:
  perf-tracking token inspect promote.token
  perf-tracking token inspect --json - < promote.token";

/// What the keys here say of a token.
enum Judged {
    Accepted,
    /// And why.
    Refused(TokenError),
    /// There are no keys here, and why.
    Unchecked(String),
}

pub(super) fn run(args: InspectArgs) -> anyhow::Result<Outcome> {
    let token = read(args.file.as_deref())?;
    let now = clock::now();
    let peek = peek(&token);
    let judged = match &peek {
        Ok(_) => judge(&token, &args.tokens.check(&args.data), now),
        // What is no token needs no key to be told as none.
        Err(error) => Judged::Refused(*error),
    };
    let peek = peek.ok();
    let text = if args.json {
        as_json(peek.as_ref(), &judged)
    } else {
        as_lines(peek.as_ref(), &judged, now)
    };
    print(&text)?;
    Ok(match judged {
        Judged::Accepted => Outcome::Passed,
        Judged::Refused(_) | Judged::Unchecked(_) => Outcome::Refused,
    })
}

fn read(file: Option<&Path>) -> anyhow::Result<String> {
    let text = match file {
        Some(path) if path == Path::new("-") => from_stdin()?,
        Some(path) => read_file(path)?,
        None => match env::var(TOKEN_VARIABLE) {
            Ok(token) => token,
            Err(env::VarError::NotPresent) => from_stdin()?,
            Err(env::VarError::NotUnicode(_)) => anyhow::bail!("{TOKEN_VARIABLE} is not UTF-8"),
        },
    };
    let token = text.trim_ascii();
    anyhow::ensure!(
        !token.is_empty(),
        "there is no token: name a file, set {TOKEN_VARIABLE}, or write the token to standard input"
    );
    Ok(token.to_owned())
}

fn read_file(path: &Path) -> anyhow::Result<String> {
    let file = File::open(path);
    if file.is_err() && looks_like_token(&path.to_string_lossy()) {
        anyhow::bail!(
            "the argument is a token, and a token on the command line can be read by others: \
             name a file, set {TOKEN_VARIABLE}, or write the token to standard input"
        );
    }
    file.and_then(token_text)
        .with_context(|| format!("cannot read the token file `{}`", path.display()))
}

fn from_stdin() -> anyhow::Result<String> {
    token_text(io::stdin()).context("the token cannot be read from standard input")
}

fn judge(token: &str, settings: &TokenSettings, now: DateTime<Utc>) -> Judged {
    let keys = match KeyRing::load(settings) {
        Ok(keys) => keys,
        Err(error) => return Judged::Unchecked(error.to_string()),
    };
    for warning in keys.warnings {
        tracing::warn!("{warning}");
    }
    match keys.ring.verify(token, now) {
        Ok(_) => Judged::Accepted,
        Err(error) => Judged::Refused(error),
    }
}

impl Judged {
    /// Why the token is not known to be accepted.
    fn reason(&self) -> Option<String> {
        match self {
            Self::Accepted => None,
            Self::Refused(error) => Some(error.to_string()),
            Self::Unchecked(cause) => Some(format!(
                "who signed it, and whether it was revoked, could not be checked here: {cause}"
            )),
        }
    }
}

fn as_json(peek: Option<&Peek>, judged: &Judged) -> String {
    let valid = match judged {
        Judged::Accepted => Some(true),
        Judged::Refused(_) => Some(false),
        Judged::Unchecked(_) => None,
    };
    let object = json!({
        "valid": valid,
        "reason": judged.reason(),
        "algorithm": peek.map(|peek| &peek.algorithm),
        "key_id": peek.map(|peek| &peek.key_id),
        "claims": peek.map(|peek| &peek.claims),
    });
    format!("{object:#}\n")
}

fn as_lines(peek: Option<&Peek>, judged: &Judged, now: DateTime<Utc>) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        // A token is a stranger's text, and a terminal obeys control characters.
        let name: String = name.chars().map(shown).collect();
        let value: String = value.chars().map(shown).collect();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name:<10} {value}");
    };
    let reason = judged.reason().unwrap_or_default();
    match judged {
        Judged::Accepted => line("valid", "yes"),
        Judged::Refused(_) => line("valid", &format!("no: {reason}")),
        Judged::Unchecked(_) => line("valid", &format!("not known: {reason}")),
    }
    if let Some(peek) = peek {
        line("algorithm", &peek.algorithm);
        line("key", peek.key_id.as_deref().unwrap_or("not named"));
        for (name, value) in &peek.claims {
            line(name, &claim(name, value, now));
        }
    }
    text
}

/// A character as a terminal may have it.
fn shown(c: char) -> String {
    match c {
        '"' | '\'' => c.to_string(),
        _ => c.escape_debug().to_string(),
    }
}

fn claim(name: &str, value: &Json, now: DateTime<Utc>) -> String {
    match (name, value) {
        ("exp" | "nbf" | "iat", Json::Number(number)) => number
            .as_i64()
            .and_then(|seconds| DateTime::from_timestamp(seconds, 0))
            .map_or_else(|| value.to_string(), |time| when(time, now)),
        (_, Json::String(text)) => text.clone(),
        (_, Json::Array(items)) if items.iter().all(Json::is_string) => {
            let items: Vec<&str> = items.iter().filter_map(Json::as_str).collect();
            if items.is_empty() {
                "nothing".to_owned()
            } else {
                items.join(", ")
            }
        }
        _ => value.to_string(),
    }
}

/// A time, and how far away it is: in days, or to the second where it is less than two.
fn when(time: DateTime<Utc>, now: DateTime<Utc>) -> String {
    let ahead = time - now.trunc_subsecs(0);
    let distance = match ahead.abs() {
        far if far.num_days() >= 2 => format!("{} days", far.num_days()),
        near => humantime::format_duration(near.to_std().unwrap_or_default()).to_string(),
    };
    let stamp = time.to_rfc3339_opts(SecondsFormat::Secs, true);
    if ahead > TimeDelta::zero() {
        format!("{stamp} (in {distance})")
    } else {
        format!("{stamp} ({distance} ago)")
    }
}

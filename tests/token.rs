//! `perf-tracking token`, as a shell sees it.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on ends; helpers of tests do not count as tests yet"
)]

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value as Json, json};

const SECRET: &str = "a secret for tests alone: 0123456789abcdef\n";

/// A folder of its own, and the binary run in it with a clean environment.
struct Place(tempfile::TempDir);

/// What a command left.
struct Left {
    code: i32,
    stdout: String,
    stderr: String,
}

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn with_secret() -> Self {
        let place = Self::new();
        place.secret("perf-tracking-data/token-secret", SECRET);
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn file(&self, name: &str, content: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn secret(&self, name: &str, content: &str) {
        use std::os::unix::fs::PermissionsExt;
        self.file(name, content);
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(0o600)).unwrap();
    }

    fn run(&self, args: &[&str]) -> Left {
        self.run_with(args, &[], "")
    }

    fn run_with(&self, args: &[&str], variables: &[(&str, &str)], stdin: &str) -> Left {
        let mut child = Command::new(env!("CARGO_BIN_EXE_perf-tracking"))
            .args(args)
            .current_dir(self.0.path())
            .env_clear()
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A command that reads no input may be gone before it is written.
        let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
        Left::from(child.wait_with_output().unwrap())
    }

    /// A token of 90 days with these flags more.
    fn issue(&self, more: &[&str]) -> String {
        let args = ["token", "issue", "--subject=gate-job", "--expires=90d"];
        let left = self.run(&[&args, more].concat());
        assert_eq!((left.code, left.stderr.as_str()), (0, ""));
        left.stdout.trim_end().to_owned()
    }

    fn inspect(&self, token: &str) -> (i32, Json) {
        let left = self.run_with(&["token", "inspect", "--json"], &[], token);
        (left.code, serde_json::from_str(&left.stdout).unwrap())
    }
}

impl From<Output> for Left {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Left {
    fn assert_refused(&self, said: &[&str]) {
        assert_eq!(
            (self.code, self.stdout.as_str()),
            (2, ""),
            "{}",
            self.stderr
        );
        for part in said {
            assert!(self.stderr.contains(part), "no {part:?} in {}", self.stderr);
        }
    }
}

#[test]
fn the_token_stands_alone_on_standard_output() {
    let place = Place::with_secret();
    let left = place.run(&[
        "token",
        "issue",
        "--scope",
        "runs:read",
        "--subject",
        "gate-job",
        "--expires",
        "90d",
    ]);
    assert_eq!((left.code, left.stderr.as_str()), (0, ""));
    let lines: Vec<&str> = left.stdout.lines().collect();
    assert_eq!(lines.len(), 1);
    assert!(left.stdout.ends_with('\n'));
    assert_eq!(lines[0].matches('.').count(), 2);
}

#[test]
fn a_token_says_what_was_asked_for() {
    let place = Place::with_secret();
    let token = place.issue(&[
        "--scope=runs:write runs:read",
        "--branch=main",
        "--branch=7.2",
        "--repo=drizzle",
        "--workload=perf",
        "--pipeline=promote",
    ]);
    let (code, said) = place.inspect(&token);
    assert_eq!(code, 0);
    assert_eq!(said["valid"], json!(true));
    assert_eq!(said["reason"], json!(null));
    assert_eq!(said["algorithm"], json!("HS256"));
    assert_eq!(said["key_id"].as_str().unwrap().len(), 16);
    let claims = &said["claims"];
    for (name, value) in [
        ("iss", json!("perf-tracking")),
        ("aud", json!("perf-tracking")),
        ("sub", json!("gate-job")),
        ("scope", json!("runs:read runs:write")),
        ("branch", json!(["7.2", "main"])),
        ("repo", json!(["drizzle"])),
        ("workload", json!(["perf"])),
        ("pipeline", json!(["promote"])),
    ] {
        assert_eq!(claims[name], value, "{name}");
    }
    let times = ["exp", "iat"].map(|name| claims[name].as_i64().unwrap());
    assert_eq!(times[0] - times[1], 90 * 86_400);
    assert_ne!(
        place.issue(&["--scope=runs:read"]),
        place.issue(&["--scope=runs:read"])
    );
}

#[test]
fn scopes_may_be_repeated() {
    let place = Place::with_secret();
    let token = place.issue(&["--scope=runs:read", "--scope", "runs:write"]);
    assert_eq!(
        place.inspect(&token).1["claims"]["scope"],
        json!("runs:read runs:write")
    );
}

#[test]
fn a_wrong_flag_is_refused_with_its_value_and_the_fix() {
    let place = Place::with_secret();
    let issue = |flags: &[&str]| {
        let given = |name: &str| flags.iter().any(|flag| flag.starts_with(name));
        let rest = ["--scope=runs:read", "--subject=s", "--expires=1d"]
            .into_iter()
            .filter(|flag| !given(flag.split('=').next().unwrap()));
        let args: Vec<&str> = ["token", "issue"]
            .into_iter()
            .chain(rest)
            .chain(flags.iter().copied())
            .collect();
        place.run(&args)
    };
    issue(&["--scope=runs:*"]).assert_refused(&[
        "--scope",
        "`runs:*` is no scope",
        "`runs:read`, `runs:write` and `runs:void`",
    ]);
    issue(&["--subject="]).assert_refused(&["--subject"]);
    issue(&["--subject=a\nb"]).assert_refused(&["--subject", "control characters"]);
    issue(&["--expires=90"]).assert_refused(&["--expires", "'90'", "90d"]);
    issue(&["--expires=0s"]).assert_refused(&["--expires", "90d"]);
    issue(&["--expires=9000y"]).assert_refused(&["--expires", "after the year 9999"]);
    issue(&["--expires=500000000000y"]).assert_refused(&["--expires", "year 9999"]);
    issue(&["--expires=99999999999999999999y"]).assert_refused(&["--expires"]);
    issue(&["--branch= main"]).assert_refused(&["--branch", "white space"]);
    issue(&["--brunch=main"]).assert_refused(&["'--brunch'", "--branch"]);
    place
        .run(&["token", "issue"])
        .assert_refused(&["--scope", "--subject", "--expires"]);
    place
        .run(&["tokens"])
        .assert_refused(&["'tokens'", "token"]);
    place.run(&[]).assert_refused(&["Usage:"]);
    assert_eq!(issue(&["--expires=7900y"]).code, 0);
}

#[test]
fn without_a_secret_the_way_to_one_is_told() {
    let place = Place::new();
    let args = [
        "token",
        "issue",
        "--scope=runs:read",
        "--subject=s",
        "--expires=1d",
    ];
    let left = place.run(&args);
    left.assert_refused(&[
        "./perf-tracking-data/token-secret",
        "perf-tracking serve",
        "--token-secret-file",
    ]);
    assert!(!place.path("perf-tracking-data").exists());

    let named = place.run(&[&args[..], &["--token-secret-file=gone"]].concat());
    named.assert_refused(&["--token-secret-file", "`gone`"]);

    place.secret("short", "hunter2\n");
    let short = place.run(&[&args[..], &["--token-secret-file=short"]].concat());
    short.assert_refused(&["`short` is too short", "32 bytes"]);
    assert!(!short.stderr.contains("hunter2"));
}

#[test]
fn settings_come_from_the_environment_too_and_a_flag_wins() {
    let place = Place::new();
    place.secret("data/token-secret", SECRET);
    place.secret("other", "another secret for tests alone: 0123456789\n");
    let args = [
        "token",
        "issue",
        "--scope=runs:read",
        "--subject=s",
        "--expires=1d",
    ];
    let key_of = |variables: &[(&str, &str)], more: &[&str]| {
        let left = place.run_with(&[&args[..], more].concat(), variables, "");
        assert_eq!(left.code, 0, "{}", left.stderr);
        place.inspect(&left.stdout).1["key_id"].clone()
    };
    let data = key_of(&[("PERF_TRACKING_DATA_DIR", "data")], &[]);
    let other = key_of(&[("PERF_TRACKING_TOKEN_SECRET_FILE", "other")], &[]);
    assert_ne!(data, other);
    let flag = key_of(
        &[("PERF_TRACKING_TOKEN_SECRET_FILE", "gone")],
        &["--token-secret-file=other"],
    );
    assert_eq!(flag, other);
}

#[test]
fn a_warning_goes_to_standard_error_in_the_form_that_is_asked_for() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::with_secret();
    let secret = place.path("perf-tracking-data/token-secret");
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o644)).unwrap();
    let args = [
        "token",
        "issue",
        "--scope=runs:read",
        "--subject=s",
        "--expires=1d",
    ];
    let left = place.run(&args);
    assert_eq!(left.code, 0);
    assert_eq!(left.stdout.lines().count(), 1);
    let line: Json = serde_json::from_str(&left.stderr).unwrap();
    assert_eq!(line["level"], json!("WARN"));
    assert!(line["message"].as_str().unwrap().contains("chmod 600"));
    let text = place.run(&[&args[..], &["--log-format=text"]].concat());
    assert!(text.stderr.contains(" WARN "), "{}", text.stderr);
    let quiet = place.run_with(&args, &[("PERF_TRACKING_LOG", "error")], "");
    assert_eq!(quiet.stderr, "");
}

#[test]
fn narrowing_a_token_that_cannot_write_is_warned_of() {
    let place = Place::with_secret();
    let left = place.run(&[
        "token",
        "issue",
        "--scope=runs:read",
        "--subject=s",
        "--expires=1d",
        "--branch=main",
    ]);
    assert_eq!(left.code, 0);
    assert!(
        left.stderr.contains("neither `runs:write` nor `runs:void`"),
        "{}",
        left.stderr
    );
}

#[test]
fn a_token_is_inspected_from_a_file_standard_input_or_the_environment() {
    let place = Place::with_secret();
    let token = place.issue(&["--scope=runs:read"]);
    place.file("token", &format!("{token}\r\n"));
    let variable = [("PERF_TRACKING_TOKEN", token.as_str())];
    for left in [
        place.run(&["token", "inspect", "token"]),
        place.run_with(&["token", "inspect", "-"], &[], &format!("{token}\n")),
        place.run_with(&["token", "inspect"], &[], &token),
        place.run_with(&["token", "inspect"], &variable, ""),
        place.run_with(
            &["token", "inspect", "token"],
            &[("PERF_TRACKING_TOKEN", "x")],
            "",
        ),
    ] {
        assert_eq!((left.code, left.stderr.as_str()), (0, ""));
        assert!(
            left.stdout.starts_with("valid      yes\n"),
            "{}",
            left.stdout
        );
        assert!(
            left.stdout.contains("\nscope      runs:read\n"),
            "{}",
            left.stdout
        );
        assert!(
            left.stdout.contains("\nsub        gate-job\n"),
            "{}",
            left.stdout
        );
        assert!(left.stdout.contains(" days)\n"), "{}", left.stdout);
        assert!(!left.stdout.contains(token.rsplit('.').next().unwrap()));
    }
    place
        .run(&["token", "inspect", "gone"])
        .assert_refused(&["`gone`"]);
    place
        .run(&["token", "inspect"])
        .assert_refused(&["there is no token", "PERF_TRACKING_TOKEN"]);
}

#[test]
fn a_token_that_is_not_accepted_is_shown_with_the_reason() {
    let place = Place::with_secret();
    let token = place.issue(&["--scope=runs:read"]);
    let forged = format!("{}.AAAA", token.rsplit_once('.').unwrap().0);
    let (code, said) = place.inspect(&forged);
    assert_eq!(code, 2);
    assert_eq!(said["valid"], json!(false));
    assert_eq!(
        said["reason"],
        json!("the token's signature does not match")
    );
    assert_eq!(said["claims"]["sub"], json!("gate-job"));

    let id = place.inspect(&token).1["claims"]["jti"]
        .as_str()
        .unwrap()
        .to_owned();
    place.file("revoked", &format!("# lost\n{id}\n"));
    let left = place.run_with(
        &["token", "inspect", "--revoked-tokens-file=revoked"],
        &[],
        &token,
    );
    assert_eq!(left.code, 2);
    assert!(
        left.stdout
            .starts_with("valid      no: the token has been revoked\n"),
        "{}",
        left.stdout
    );

    let (code, said) = place.inspect("hello");
    assert_eq!((code, &said["claims"]), (2, &json!(null)));
    let (code, said) = place.inspect(&"a.".repeat(60_000));
    assert_eq!(code, 2);
    assert!(said["reason"].as_str().unwrap().contains("8192 bytes"));
}

#[test]
fn without_a_secret_it_is_said_what_could_not_be_checked() {
    let token = Place::with_secret().issue(&["--scope=runs:read"]);
    let place = Place::new();
    let (code, said) = place.inspect(&token);
    assert_eq!((code, &said["claims"]["sub"]), (2, &json!("gate-job")));
    assert_eq!(said["valid"], json!(null));
    let left = place.run_with(&["token", "inspect"], &[], &token);
    assert_eq!(left.code, 2);
    let expected = "valid      not known: who signed it, and whether it was revoked, could not be \
                    checked here: there is no token secret at ";
    assert!(left.stdout.starts_with(expected), "{}", left.stdout);
    assert!(left.stdout.contains("\nscope      runs:read\n"));
    // That it is no token at all needs no secret.
    let (code, said) = place.inspect("hello");
    assert_eq!((code, &said["valid"]), (2, &json!(false)));
}

#[test]
fn a_former_secret_still_counts_where_it_is_named() {
    let place = Place::with_secret();
    let token = place.issue(&["--scope=runs:read"]);
    place.secret("new", "the next secret for tests alone: 0123456789\n");
    let args = ["token", "inspect", "--token-secret-file=new"];
    assert_eq!(place.run_with(&args, &[], &token).code, 2);
    let former = "--former-token-secret-file=perf-tracking-data/token-secret";
    let left = place.run_with(&[&args[..], &[former]].concat(), &[], &token);
    assert_eq!(left.code, 0, "{}", left.stdout);
    let list = "new,perf-tracking-data/token-secret";
    let variables = [("PERF_TRACKING_FORMER_TOKEN_SECRET_FILE", list)];
    assert_eq!(place.run_with(&args, &variables, &token).code, 0);
}

#[test]
fn a_strangers_token_cannot_write_to_the_terminal() {
    let place = Place::with_secret();
    // {"alg":"HS256"} and {"sub":"\u001b[2J\n"}
    let left = place.run_with(
        &["token", "inspect"],
        &[],
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJcdTAwMWJbMkpcbiJ9.AAAA",
    );
    assert_eq!(left.code, 2);
    assert!(!left.stdout.contains('\u{1b}'));
    assert!(
        left.stdout.ends_with("sub        \\u{1b}[2J\\n\n"),
        "{}",
        left.stdout
    );
}

#[test]
fn no_message_repeats_a_token_or_a_password() {
    let place = Place::with_secret();
    let token = place.issue(&["--scope=runs:read"]);
    let url = "mysql://u:hunter2@db/perf";
    let url_flag = format!("--database-url={url}");
    let token_flag = format!("--token={token}");
    for args in [
        &["token", "inspect", &token][..],
        &["token", "inspect", "token", &token],
        &["token", "inspect", &token_flag],
        &["token", &token],
        &[&token],
        &[url],
        &["token", "issue", url],
        &["token", "issue", &url_flag],
        &["token", "issue", "--database-url", url],
        &["token", "issue", "--scope", url],
        &["token", "issue", "--expires", &token],
        &["token", "inspect", "--token-public-key", url],
        &["--log", &url_flag, "version"],
        &["--log-format", url, "version"],
    ] {
        let left = place.run(args);
        left.assert_refused(&["error: "]);
        for secret in ["hunter2", token.rsplit('.').next().unwrap()] {
            assert!(!left.stderr.contains(secret), "{args:?}: {}", left.stderr);
        }
    }
    let left = place.run_with(&["version"], &[("PERF_TRACKING_LOG_FORMAT", url)], "");
    left.assert_refused(&["--log-format"]);
    assert!(!left.stderr.contains("hunter2"), "{}", left.stderr);
}

#[test]
fn help_and_version_are_no_failure() {
    let place = Place::new();
    let version = concat!("perf-tracking ", env!("CARGO_PKG_VERSION"), "\n");
    for args in [&["version"][..], &["--version"]] {
        let left = place.run(args);
        assert_eq!(
            (left.code, left.stdout.as_str(), left.stderr.as_str()),
            (0, version, "")
        );
    }
    for (args, said) in [
        (&["--help"][..], "Exit codes:"),
        (&["token", "issue", "--help"], "--expires 90d"),
        (&["token", "inspect", "--help"], "PERF_TRACKING_TOKEN"),
    ] {
        let left = place.run(args);
        assert_eq!((left.code, left.stderr.as_str()), (0, ""));
        assert!(left.stdout.contains(said), "{}", left.stdout);
    }
}

#[test]
fn nothing_is_made_by_looking() {
    let place = Place::new();
    place.run_with(&["token", "inspect"], &[], "a.b.c");
    let entries = fs::read_dir(place.0.path() as &Path).unwrap().count();
    assert_eq!(entries, 0);
}

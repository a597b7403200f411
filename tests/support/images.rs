//! The images of the tests: the official ones where they can be pulled, else stand-ins built from Debian's packages.
//!
//! Either way the image ends up under a tag of our own, so a test names one image and never asks where it came from.
//! A stand-in has no entry point; what starts a container says the whole command.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use rustix::fs::{FlockOperation, flock};

/// Long enough for an image on a slow line; a registry that cannot be reached mostly says so at once.
const PULL_SECONDS: &str = "180";

/// What this machine trusts; a network may have an authority of its own.
const CERTIFICATES: &str = "/etc/ssl/certs/ca-certificates.crt";

/// An image, and the two ways to come by it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Image {
    /// What the tests call it.
    pub(crate) tag: &'static str,
    /// What its makers publish it as.
    pub(crate) official: &'static str,
    /// The Debian release that packages the same version.
    pub(crate) suite: &'static str,
    /// The package to install.
    pub(crate) package: &'static str,
}

/// Makes sure that `image` is there; blocks while it is pulled or built.
///
/// # Errors
/// Where it can neither be pulled nor built, with what the tools said.
pub(crate) fn ensure_image(image: Image) -> Result<()> {
    ensure_tag(image.tag, || {
        pull(image.official, image.tag).or_else(|pull| {
            build(image.suite, &[image.package], image.tag).with_context(|| {
                format!(
                    "could not build a stand-in for {} ({pull:#})",
                    image.official
                )
            })
        })
    })
}

/// Makes sure that a plain Debian of `suite` with `packages` is there under `tag`; blocks while it is pulled or built.
///
/// # Errors
/// Where it can neither be pulled nor built, with what the tools said.
pub(crate) fn ensure_debian(suite: &str, packages: &[&str], tag: &str) -> Result<()> {
    ensure_tag(tag, || match packages {
        [] => pull(&format!("debian:{suite}-slim"), tag).or_else(|_| build(suite, packages, tag)),
        _ => build(suite, packages, tag),
    })
}

/// Makes sure that an image is there which compiles what this machine compiles, and answers its tag; blocks while it is
/// pulled or built. A stand-in has this machine's own toolchain, and trusts what this machine trusts.
///
/// # Errors
/// Where it can neither be pulled nor built, with what the tools said.
pub(crate) fn ensure_rust() -> Result<String> {
    const PLAIN: &str = "perf-tracking-test/debian-gcc:trixie";
    let version = output(Command::new("rustc").arg("--version"))?;
    let version = version
        .split_whitespace()
        .nth(1)
        .context("`rustc --version` names a version")?;
    let tag = format!("perf-tracking-test/rust:{version}-trixie");
    ensure_tag(&tag, || {
        pull(&format!("rust:{version}-trixie"), &tag).or_else(|_| {
            ensure_debian("trixie", &["gcc", "libc6-dev", "ca-certificates"], PLAIN)?;
            let sysroot = output(Command::new("rustc").args(["--print", "sysroot"]))?;
            let sysroot = Path::new(&sysroot);
            let (programs, libraries) = (sysroot.join("bin"), sysroot.join("lib"));
            let mut files = vec![
                (programs.as_path(), "/usr/local/"),
                (libraries.as_path(), "/usr/local/"),
            ];
            if Path::new(CERTIFICATES).exists() {
                files.push((Path::new(CERTIFICATES), CERTIFICATES));
            }
            let scratch = tempfile::tempdir()?;
            let cargo = scratch.path().join(".cargo");
            if let Some(settings) = cargo_settings() {
                fs::create_dir(&cargo)?;
                fs::copy(settings, cargo.join("config.toml"))?;
                files.push((&cargo, "/root/"));
            }
            derive(
                PLAIN,
                &files,
                &["ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
                &tag,
            )
        })
    })?;
    Ok(tag)
}

/// Makes sure that a MariaDB is there which sets itself up from the variables of the official image, and answers its
/// tag; blocks while it is pulled or built.
///
/// # Errors
/// Where it can neither be pulled nor built, with what the tools said.
pub(crate) fn ensure_mariadb_with_entry_point(image: Image) -> Result<String> {
    ensure_image(image)?;
    let entry_point = output(Command::new("docker").args([
        "image",
        "inspect",
        "--format={{.Config.Entrypoint}}",
        image.tag,
    ]))?;
    if entry_point != "[]" {
        return Ok(image.tag.to_owned());
    }
    let tag = format!("{}-entry-point", image.tag);
    let script = Path::new(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/support/mariadb-entry-point"
    ));
    // The script may have changed since, and it is a small file.
    derive(
        image.tag,
        &[(script, "/usr/local/bin/mariadb-entry-point")],
        &[r#"ENTRYPOINT ["mariadb-entry-point"]"#],
        &tag,
    )?;
    Ok(tag)
}

/// `base` with files of this machine in it, links followed.
fn derive(base: &str, files: &[(&Path, &str)], changes: &[&str], tag: &str) -> Result<()> {
    let container = output(Command::new("docker").args(["create", base, "true"]))?;
    let made = (|| {
        for (from, to) in files {
            let to = format!("{container}:{to}");
            run(Command::new("docker")
                .args(["cp", "--follow-link"])
                .arg(from)
                .arg(to))?;
        }
        let mut commit = Command::new("docker");
        commit.arg("commit");
        for change in changes {
            commit.args(["--change", change]);
        }
        run(commit.args([&container, tag]))
    })();
    let removed = run(Command::new("docker").args(["rm", &container]));
    made.and(removed)
}

/// How this machine's cargo reaches its packages, if not by default.
fn cargo_settings() -> Option<PathBuf> {
    let home = match std::env::var_os("CARGO_HOME") {
        Some(home) => PathBuf::from(home),
        None => Path::new(&std::env::var_os("HOME")?).join(".cargo"),
    };
    let settings = home.join("config.toml");
    settings.exists().then_some(settings)
}

/// Runs `make` unless the tag is there, one process at a time.
fn ensure_tag(tag: &str, make: impl FnOnce() -> Result<()>) -> Result<()> {
    if is_present(tag) {
        return Ok(());
    }
    let _lock = lock(tag)?;
    if is_present(tag) {
        return Ok(());
    }
    make()
}

fn is_present(tag: &str) -> bool {
    Command::new("docker")
        .args(["image", "inspect", tag])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Held until dropped; the kernel releases it should the process die.
fn lock(tag: &str) -> Result<File> {
    let path = std::env::temp_dir().join(format!("{}.lock", tag.replace(['/', ':'], "-")));
    let file = File::create(&path).with_context(|| format!("cannot open {}", path.display()))?;
    flock(&file, FlockOperation::LockExclusive)?;
    Ok(file)
}

fn pull(official: &str, tag: &str) -> Result<()> {
    run(Command::new("timeout").args([PULL_SECONDS, "docker", "pull", "--quiet", official]))?;
    run(Command::new("docker").args(["tag", official, tag]))
}

fn build(suite: &str, packages: &[&str], tag: &str) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let archive = folder.path().join("image.tar");
    run(bootstrap(suite, packages, &archive).current_dir(folder.path()))
        .context("`tests/setup` installs what building an image needs")?;
    run(Command::new("docker").arg("import").arg(&archive).arg(tag))
}

fn bootstrap(suite: &str, packages: &[&str], archive: &Path) -> Command {
    let mut command = Command::new("mmdebstrap");
    command
        .args(["--quiet", "--variant=minbase"])
        // A mirror may stand still, and the release file of an unstable suite is valid for a week only.
        .arg(r#"--aptopt=Acquire::Check-Valid-Until "false""#)
        .arg("--dpkgopt=force-unsafe-io")
        .args((!packages.is_empty()).then(|| format!("--include={}", packages.join(","))))
        .arg(suite)
        .arg(archive)
        .args(debian_mirror());
    command
}

fn run(command: &mut Command) -> Result<()> {
    output(command).map(drop)
}

/// What a command prints, without the white space around it.
fn output(command: &mut Command) -> Result<String> {
    let output = command
        .output()
        .with_context(|| format!("cannot run {command:?}"))?;
    ensure!(
        output.status.success(),
        "{command:?}: {}\n{}",
        output.status,
        tail(&output.stderr)
    );
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

/// The end of what a tool said, where its reason stands.
fn tail(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let lines: Vec<_> = text.lines().collect();
    lines[lines.len().saturating_sub(20)..].join("\n")
}

/// The mirror that this machine's own packages come from; without one the tool's default is used.
fn debian_mirror() -> Option<String> {
    let release = fs::read_to_string("/etc/os-release").ok()?;
    let is_debian = release.lines().any(|line| line == "ID=debian");
    let codename = release
        .lines()
        .find_map(|line| line.strip_prefix("VERSION_CODENAME="))?;
    if !is_debian {
        return None;
    }
    source_files()
        .iter()
        .find_map(|text| mirror_in(text, codename))
}

fn source_files() -> Vec<String> {
    let listed = fs::read_dir("/etc/apt/sources.list.d")
        .into_iter()
        .flatten()
        .flatten();
    listed
        .map(|entry| entry.path())
        .chain(["/etc/apt/sources.list".into()])
        .filter_map(|path| fs::read_to_string(path).ok())
        .collect()
}

/// The first address in `text` that serves the suite `codename`, in either format of apt.
pub(crate) fn mirror_in(text: &str, codename: &str) -> Option<String> {
    text.lines()
        .find_map(|line| one_line_mirror(line, codename))
        .or_else(|| {
            text.replace('\r', "")
                .split("\n\n")
                .find_map(|stanza| stanza_mirror(stanza, codename))
        })
}

/// `deb [options] URI SUITE COMPONENT...`
fn one_line_mirror(line: &str, codename: &str) -> Option<String> {
    let rest = line.trim().strip_prefix("deb ")?.trim_start();
    let rest = match rest.strip_prefix('[') {
        Some(options) => options.split_once(']')?.1,
        None => rest,
    };
    let mut words = rest.split_whitespace();
    let uri = words.next()?;
    (words.next()? == codename).then(|| uri.to_owned())
}

/// `Types:`, `URIs:`, `Suites:`, `Components:`, one a line.
fn stanza_mirror(stanza: &str, codename: &str) -> Option<String> {
    let field = |name: &str| {
        stanza
            .lines()
            .find_map(|line| line.strip_prefix(name))
            .map(str::split_whitespace)
    };
    let serves = field("Types:")?.any(|word| word == "deb")
        && field("Suites:")?.any(|word| word == codename);
    serves
        .then(|| field("URIs:")?.next().map(str::to_owned))
        .flatten()
}

//! What a document says beside its numbers: flags, and what the machine says where they are left out.

use std::env::consts;
use std::fs;
use std::str::FromStr;

use anyhow::Context as _;
use clap::Args;

use crate::domain::{
    Arch, Distro, Document, DocumentContent, HostClass, Measured, Metric, Metrics, Parameter,
    ParameterName, Parameters, Workload,
};

/// What was measured.
#[derive(Args, Debug)]
#[command(next_help_heading = "What was measured")]
pub(super) struct AboutArgs {
    /// What was run, such as perf
    #[arg(long, value_name = "NAME")]
    workload: Workload,
    /// The processor architecture, such as amd64; this machine's where left out
    #[arg(long, value_name = "NAME")]
    arch: Option<Arch>,
    /// The distribution that compiled and ran the code, such as trixie; this machine's where left out
    #[arg(long, value_name = "NAME")]
    distro: Option<Distro>,
    /// What the workload was told; a number, true, false or else a text. Repeatable
    #[arg(long = "parameter", value_name = "NAME=VALUE")]
    parameters: Vec<NamedParameter>,
}

/// A parameter as the command line has it.
#[derive(Clone, Debug)]
struct NamedParameter(ParameterName, Parameter);

impl FromStr for NamedParameter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) = text
            .split_once('=')
            .ok_or("must be NAME=VALUE, such as threads=1")?;
        let name = name.parse().map_err(|error| format!("the name {error}"))?;
        Ok(Self(name, Parameter::from_words(value)))
    }
}

/// All that a document holds but its numbers.
pub(super) struct About {
    workload: Workload,
    arch: Arch,
    distro: Distro,
    host_class: HostClass,
    parameters: Parameters,
}

impl AboutArgs {
    /// Fills in what was left out, so that a fault is known before anything is measured.
    ///
    /// # Errors
    /// A parameter that is given twice; a machine that does not say what it is.
    pub(super) fn of(self, host_class: HostClass) -> anyhow::Result<About> {
        Ok(About {
            parameters: parameters(self.parameters)?,
            workload: self.workload,
            arch: self.arch.map_or_else(own_arch, Ok)?,
            distro: self.distro.map_or_else(own_distro, Ok)?,
            host_class,
        })
    }
}

impl About {
    /// The document of these numbers. A workload that did not succeed may have left none.
    ///
    /// # Errors
    /// What does not fit.
    pub(super) fn document(
        self,
        succeeded: bool,
        measured: Measured,
        metrics: Vec<Metric>,
    ) -> anyhow::Result<Document> {
        let content = DocumentContent {
            workload: self.workload,
            arch: self.arch,
            distro: self.distro,
            host_class: self.host_class,
            succeeded,
            parameters: self.parameters,
            measured,
            metrics: Metrics::new(metrics).context(DOES_NOT_FIT)?,
        };
        Document::new(content).context(DOES_NOT_FIT)
    }
}

const DOES_NOT_FIT: &str = "the document does not fit";

fn parameters(named: Vec<NamedParameter>) -> anyhow::Result<Parameters> {
    let mut parameters = Parameters::new();
    for NamedParameter(name, value) in named {
        if parameters.insert(name.clone(), value).is_some() {
            anyhow::bail!("--parameter {name} is given twice; give it once");
        }
    }
    Ok(parameters)
}

/// The architecture of this machine.
pub(super) fn own_arch() -> anyhow::Result<Arch> {
    Ok(debian_arch(consts::ARCH).parse()?)
}

/// What Debian calls an architecture; another keeps the name that the compiler gives it.
fn debian_arch(arch: &str) -> &str {
    match arch {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "x86" => "i386",
        "arm" => "armhf",
        "powerpc64" if cfg!(target_endian = "little") => "ppc64el",
        other => other,
    }
}

/// Where a distribution says what it is, by os-release(5).
const OS_RELEASE: [&str; 2] = ["/etc/os-release", "/usr/lib/os-release"];

fn own_distro() -> anyhow::Result<Distro> {
    let text = OS_RELEASE
        .iter()
        .find_map(|path| fs::read_to_string(path).ok())
        .context("there is no /etc/os-release that names the distribution; say --distro")?;
    let name = codename(&text)
        .context("/etc/os-release has no VERSION_CODENAME; name the distribution with --distro")?;
    name.parse()
        .with_context(|| format!("the VERSION_CODENAME `{name}` of /etc/os-release"))
}

/// The value of `VERSION_CODENAME`, which is written as a shell would read it.
fn codename(os_release: &str) -> Option<String> {
    let value = os_release
        .lines()
        .find_map(|line| line.trim().strip_prefix("VERSION_CODENAME="))?;
    let name = shlex::split(value)?.into_iter().next()?;
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_codename_is_read_as_a_shell_reads_it() {
        for (text, name) in [
            ("ID=debian\nVERSION_CODENAME=trixie\n", Some("trixie")),
            ("VERSION_CODENAME=\"noble\"", Some("noble")),
            ("VERSION_CODENAME='noble' # comment", Some("noble")),
            ("VERSION_CODENAME=\"\"\nID=fedora\n", None),
            ("VERSION_CODENAME=\nID=fedora\n", None),
            ("VERSION_CODENAME=\"open\n", None),
            ("MY_VERSION_CODENAME=x\n", None),
            ("", None),
        ] {
            assert_eq!(codename(text).as_deref(), name, "{text:?}");
        }
    }

    #[test]
    fn architectures_have_the_names_of_debian() {
        let found = ["x86_64", "aarch64", "riscv64"].map(debian_arch);
        assert_eq!(found, ["amd64", "arm64", "riscv64"]);
    }
}

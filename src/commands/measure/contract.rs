//! `perf-tracking measure --contract`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;

use crate::commands::{Outcome, about};
use crate::domain::Document;
use crate::files::input::{Input, MAX_CONFIG_BYTES, lines};
use crate::files::whole_file;
use crate::measure::contract::{self, Contract, Engine, Numbers, Progress, Step, Tools};
use crate::terminal::note;
use crate::terminal::shown;

/// Measures what the contract in `path` says, and writes the document to `output`.
pub(super) fn run(
    path: &Path,
    numbers: Numbers,
    engine: Option<Engine>,
    output: &Path,
) -> anyhow::Result<Outcome> {
    let contract = read(path)?;
    let arch = about::own_arch()?;
    let checked_out = super::checked_out();
    let folder = path.parent().map_or_else(PathBuf::new, Path::to_owned);
    let document = crate::commands::runtime()?.block_on(async {
        let tools = Tools::find(engine.or(contract.engine)).await?;
        let measured = contract::measure(&contract, numbers, &folder, arch, &tools, &tell).await?;
        Ok::<Document, anyhow::Error>(measured)
    })?;
    let document = document.with_checkout(checked_out.commit_sha, checked_out.clean);
    whole_file::write(output, &document.to_string())?;
    for metric in &document.metrics {
        note(format_args!("{} {}", metric.name.metric_key, metric.value));
    }
    Ok(Outcome::Passed)
}

fn read(path: &Path) -> anyhow::Result<Contract> {
    let shown = shown::path(path);
    let text = Input::of(path)
        .text(MAX_CONFIG_BYTES)
        .with_context(|| format!("cannot read the contract in {shown}"))?;
    Contract::parse(&text).map_err(|faults| {
        let faults = faults
            .lines()
            .map(|fault| format!("{}:{fault}", path.display()));
        anyhow::anyhow!("{shown} is no contract{}", lines(faults))
    })
}

fn tell(progress: Progress<'_>) {
    let (pass, doing) = (progress.pass.name(), progress.step.words());
    match (progress.step, progress.elapsed) {
        (Step::Start, Duration::ZERO) => {
            note(format_args!(
                "{pass}: {doing}, project {}",
                progress.project
            ));
        }
        (_, Duration::ZERO) => note(format_args!("{pass}: {doing}")),
        (_, elapsed) => note(format_args!("{pass}: {doing}, {} s", elapsed.as_secs())),
    }
}

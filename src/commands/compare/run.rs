//! `perf-tracking compare run`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;

use super::progress::Teller;
use super::sides::SideArgs;
use super::{DEFAULT_CONTRACT, Read, outcome, read_contract, stages};
use crate::commands::{Outcome, print};
use crate::judge::comparison::contract::Start;
use crate::judge::comparison::record::Provenance;
use crate::measure::comparison::{self, Layout, Plan, Side};
use crate::measure::contract::{Engine, Tools};

/// Run both sides under a contract, judge the candidate, and write the reports
///
/// Writes the contract's SHA-256 first, then runs every cell on both sides in turn, and leaves all
/// files in a folder: the trials, record.json, verdict.json, report.md and report.html.
#[derive(Args, Debug)]
pub(in crate::commands) struct RunArgs {
    /// File with the contract
    #[arg(long, value_name = "FILE", default_value = DEFAULT_CONTRACT)]
    contract: PathBuf,
    /// A new folder for all files
    #[arg(long, short, value_name = "DIR")]
    output: PathBuf,
    /// The container engine; the first that answers where left out
    #[arg(long, value_name = "NAME", value_enum)]
    engine: Option<Engine>,
    /// A setting for the record, such as the type of the machine; repeatable
    #[arg(long = "setting", value_name = "NAME=VALUE", value_parser = setting)]
    settings: Vec<(String, String)>,
    #[command(flatten)]
    sides: SideArgs,
}

/// A name and a value.
pub(super) fn setting(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), value.to_owned()))
        }
        _ => Err("must be NAME=VALUE".to_owned()),
    }
}

impl RunArgs {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        let read = read_contract(&self.contract)?;
        let (reference, candidate) = self.sides.sides()?;
        let run = Running {
            read: &read,
            path: &self.contract,
            output: &self.output,
            engine: self.engine,
            settings: self.settings.into_iter().collect(),
        };
        let layout = run.trials(reference, candidate)?;
        stages::assemble(&layout)?;
        let verdict = stages::judge(&layout.record(), &read, &layout.verdict())?;
        print(&stages::report(&layout.record(), &layout.verdict())?)?;
        Ok(outcome(verdict.result))
    }
}

/// A run of trials, of a comparison or of a calibration.
pub(super) struct Running<'a> {
    pub(super) read: &'a Read,
    pub(super) path: &'a Path,
    pub(super) output: &'a Path,
    pub(super) engine: Option<Engine>,
    pub(super) settings: BTreeMap<String, String>,
}

impl Running<'_> {
    /// Runs every trial of both sides.
    pub(super) fn trials(self, reference: Side, candidate: Side) -> anyhow::Result<Layout> {
        let contract = &self.read.contract;
        let teller = Teller::start(contract.trials());
        let ran = crate::commands::runtime()?.block_on(async {
            let needs_engine = contract
                .subject
                .as_ref()
                .is_some_and(|subject| matches!(subject.start, Start::Compose { .. }));
            let tools = match needs_engine {
                true => Some(Tools::find(self.engine).await?),
                false => None,
            };
            let mut settings = self.settings;
            if let Some(tools) = &tools {
                settings.insert("engine".to_owned(), tools.engine.to_string());
            }
            let folder = self
                .path
                .parent()
                .filter(|path| !path.as_os_str().is_empty());
            let plan = Plan {
                contract,
                text: &self.read.text,
                folder: folder.unwrap_or(Path::new(".")).canonicalize()?,
                output: self.output.to_owned(),
                reference,
                candidate,
                tools,
                provenance: Provenance {
                    tool: format!("perf-tracking {}", env!("CARGO_PKG_VERSION")),
                    started: crate::clock::now().to_rfc3339_opts(chrono::SecondsFormat::Secs, true),
                    settings,
                },
            };
            let ran = comparison::run(&plan, &|event| teller.tell(event)).await;
            ran.map_err(anyhow::Error::from)
        });
        teller.finish();
        ran
    }
}

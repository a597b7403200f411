//! `perf-tracking migrate`: brings the database up to date and ends.

use anyhow::Context as _;

use super::{Outcome, print};

use crate::commands::flags::{DatabaseSettings, MigrateArgs};

pub(super) fn run(args: MigrateArgs) -> anyhow::Result<Outcome> {
    let settings = DatabaseSettings::try_from(args)?;
    let shown = settings.url.to_string();
    super::runtime()?
        .block_on(async { anyhow::Ok(super::serve::open(&settings)?.migrate().await?) })
        .with_context(|| format!("cannot migrate {shown}"))?;
    print(&format!("{shown} is up to date\n"))
}

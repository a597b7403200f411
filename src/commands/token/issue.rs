//! `perf-tracking token issue`.

use std::collections::BTreeSet;
use std::time::Duration;

use clap::Args;

use crate::auth::TokenSettings;
use crate::auth::{KeyRing, LoadedKeys, Narrow, Subject, TokenRequest};
use crate::clock;
use crate::commands::flags::{DataDirArgs, SecretArgs, parse_duration};
use crate::commands::{Outcome, print};
use crate::domain::{Branch, Pipeline, Repo, Scope, Workload};

/// Make a token and print it, alone, on standard output
///
/// The token is signed with the secret of the service: run this where the service keeps its data
/// folder, or name the file with the secret. The service need not run. A token cannot be changed;
/// to take one back, write its id (see `token inspect`) into the service's --revoked-tokens-file.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(in crate::commands) struct IssueArgs {
    /// What the token lets its bearer do: `runs:read`, `runs:write` or `runs:void`; none implies
    /// another; repeatable, or spaces between
    #[arg(
        long = "scope",
        value_name = "SCOPE",
        required = true,
        value_delimiter = ' '
    )]
    scopes: Vec<Scope>,

    /// Who the token is for; stands in the service's log
    #[arg(long, value_name = "NAME")]
    subject: Subject,

    /// How long the token counts from now on, such as 12h or 90d
    ///
    /// It is accepted five seconds longer, for clocks that differ.
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    expires: Duration,

    #[command(flatten)]
    data: DataDirArgs,
    #[command(flatten)]
    secret: SecretArgs,
    #[command(flatten)]
    narrow: NarrowArgs,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "Narrow what may be written or voided (each repeatable)")]
struct NarrowArgs {
    /// Runs of this repository alone
    #[arg(long, value_name = "NAME")]
    repo: Vec<Repo>,
    /// Runs of this branch alone
    #[arg(long, value_name = "NAME")]
    branch: Vec<Branch>,
    /// Runs of this workload alone
    #[arg(long, value_name = "NAME")]
    workload: Vec<Workload>,
    /// Runs of this pipeline alone
    #[arg(long, value_name = "NAME")]
    pipeline: Vec<Pipeline>,
}

const EXAMPLES: &str = "\
Examples:
  A gate job reads history for three months:
    perf-tracking token issue --scope runs:read --subject gate-job --expires 90d

  A promote pipeline uploads runs of one branch:
    perf-tracking token issue --scope runs:write --subject promote --expires 365d \\
      --branch main --pipeline promote > promote.token

  An operator takes back a wrong run of one repository:
    perf-tracking token issue --scope runs:read --scope runs:void --subject alice \\
      --expires 1h \
      --repo owner/project > void.token";

impl NarrowArgs {
    fn narrow(self) -> Narrow {
        Narrow {
            repo: names(self.repo),
            branch: names(self.branch),
            workload: names(self.workload),
            pipeline: names(self.pipeline),
        }
    }
}

pub(super) fn run(args: IssueArgs) -> anyhow::Result<Outcome> {
    anyhow::ensure!(
        !args.expires.is_zero(),
        "--expires: the token would have expired already; write how long it counts, such as 90d"
    );
    let settings = TokenSettings::from(args.secret.check(&args.data));
    let LoadedKeys { ring, warnings, .. } = KeyRing::load(&settings)?;
    for warning in warnings {
        tracing::warn!("{warning}");
    }
    let request = TokenRequest {
        subject: args.subject,
        scopes: args.scopes.into_iter().collect(),
        narrow: args.narrow.narrow(),
        expires_in: args.expires,
    };
    let changes = [Scope::RunsWrite, Scope::RunsVoid];
    if !request.narrow.is_wide() && !changes.iter().any(|scope| request.scopes.contains(scope)) {
        tracing::warn!(
            "the token has neither `runs:write` nor `runs:void`, and reads are never narrowed: it \
             reads everything"
        );
    }
    let token = ring
        .issue(request, clock::now())
        .map_err(|error| anyhow::anyhow!("--expires: {error}"))?;
    print(&format!("{token}\n"))
}

/// A flag that is not there narrows nothing.
fn names<T: Into<String>>(names: Vec<T>) -> Option<BTreeSet<String>> {
    (!names.is_empty()).then(|| names.into_iter().map(Into::into).collect())
}

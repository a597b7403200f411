//! What a comparison comes to.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::contract::{CellName, Mode, Sha};
use super::quantity::Quantity;
use super::record::{ContractId, SideName, Sides};

/// The format that is written, and the only one that is read.
pub const FORMAT_VERSION: u32 = 1;

/// The verdict on a record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Verdict {
    /// The format; another one is refused.
    #[schema(minimum = 1, maximum = 1)]
    pub format_version: u32,
    /// The contract that it was judged by.
    pub contract: ContractId,
    /// The seal of the record that was judged.
    pub record: Sha,
    /// What was compared with what.
    pub sides: Sides,
    /// What a difference in performance means.
    pub mode: Mode,
    /// What it all comes to.
    pub result: ResultKind,
    /// The same in one sentence.
    pub summary: String,
    /// Why the comparison is no valid one; empty where it is.
    pub rejections: Vec<Rejection>,
    /// What a reader should know before believing a number.
    pub warnings: Vec<String>,
    /// Every cell, in the contract's order.
    pub cells: Vec<CellVerdict>,
}

/// What a comparison comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResultKind {
    /// Every budget was kept.
    WithinBudget,
    /// There are material differences, and the contract does not gate them.
    Different,
    /// A metric is worse than its budget allows.
    Regressed,
    /// Trials lie too far apart to say.
    Inconclusive,
    /// A trial went wrong, or is missing.
    Rejected,
}

impl ResultKind {
    /// For people.
    pub fn words(self) -> &'static str {
        match self {
            Self::WithinBudget => "within budget",
            Self::Different => "material difference, not gating",
            Self::Regressed => "regressed",
            Self::Inconclusive => "inconclusive",
            Self::Rejected => "rejected",
        }
    }
}

/// Why a comparison is no valid one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Rejection {
    /// The kind of reason.
    pub kind: RejectionKind,
    /// In which cell; of all of them where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cell: Option<CellName>,
    /// On which side.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub side: Option<SideName>,
    /// In which round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round: Option<u32>,
    /// The reason, in one sentence.
    pub reason: String,
    /// The last lines that the program printed.
    pub output: Vec<String>,
}

/// The kinds of reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RejectionKind {
    /// A trial is not in the record.
    Missing,
    /// A trial did not end well.
    Failed,
    /// A count came out wrong.
    Count,
    /// A process of the subject ended or was restarted.
    Restart,
    /// A metric is missing.
    Metric,
    /// Two rounds in a row began with the same side.
    Order,
    /// The trials of a side lie too far apart.
    Variance,
    /// Chance alone would give differences beyond the floor.
    Unstable,
}

/// One cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CellVerdict {
    /// Its name.
    pub name: CellName,
    /// The worst of its metrics; of a cell without a judged metric, `within`.
    pub status: Status,
    /// What is judged, in the contract's order; nothing of a rejected cell.
    pub metrics: Vec<MetricVerdict>,
    /// What was recorded and is not judged; nothing of a rejected cell.
    pub recorded: Vec<Recorded>,
}

/// How a metric or a cell stands, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// A trial went wrong, so no number is shown.
    Rejected,
    /// Worse than the budget allows.
    Regressed,
    /// The trials of a side lie too far apart.
    Inconclusive,
    /// Chance alone would give differences beyond the floor.
    Unstable,
    /// Material, and the contract does not gate it.
    MaterialDifference,
    /// Beyond the floor, and within noise.
    Noisy,
    /// Better by more than noise.
    Improved,
    /// No material change.
    Within,
}

impl Status {
    /// For people.
    pub fn words(self) -> &'static str {
        match self {
            Self::Rejected => "rejected",
            Self::Regressed => "regressed",
            Self::Inconclusive => "inconclusive",
            Self::Unstable => "unstable",
            Self::MaterialDifference => "material difference (not gating)",
            Self::Noisy => "noisy",
            Self::Improved => "improved",
            Self::Within => "within",
        }
    }
}

/// Which direction is the bad one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum WorseDirection {
    /// Times, memory.
    Higher,
    /// Throughput.
    Lower,
}

/// Which rule judged a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum RuleName {
    /// The medians against a floor and the spread.
    Budget,
    /// The difference of the medians against what chance would give.
    Randomization,
}

/// One metric of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MetricVerdict {
    /// Its name.
    pub name: String,
    /// How it stands.
    pub status: Status,
    /// The same in one sentence.
    pub reason: String,
    /// Which direction is the bad one.
    pub worse: WorseDirection,
    /// Which rule judged it.
    pub rule: RuleName,
    /// The reference in numbers.
    pub reference: SideNumbers,
    /// The candidate in numbers.
    pub candidate: SideNumbers,
    /// The change of the median, as a share of the reference's, positive where it is worse; absent
    /// where the reference's median is zero and the candidate's is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worse_change: Option<Quantity>,
    /// The change that matters, as a share.
    pub floor: Quantity,
    /// The largest change that passes, as a share; absent where it has no end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed: Option<Quantity>,
    /// The largest spread that can be judged, as a share; the rule "budget" has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variance: Option<Quantity>,
    /// The randomization distribution; the rule "randomization" has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub randomization: Option<Randomization>,
    /// Two tests that decide nothing.
    pub second_opinions: SecondOpinions,
}

/// A side in numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SideNumbers {
    /// The median.
    pub median: Quantity,
    /// The median absolute deviation, as a share of the median; absent around a median of zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<Quantity>,
}

/// The randomization distribution in numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Randomization {
    /// Its 95th percentile, as a share of the reference's median; absent around zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percentile_95: Option<Quantity>,
    /// The share of splits whose difference is as large as the observed one.
    pub p: Quantity,
    /// How many splits were counted.
    pub splits: u64,
    /// How many distinct differences they give.
    pub distinct: u64,
    /// Whether all splits were counted, or some were drawn.
    pub is_exact: bool,
}

/// Tests that look at all values and decide nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SecondOpinions {
    /// The p-value of the Mann-Whitney test, two-sided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mann_whitney_p: Option<Quantity>,
    /// The share of splits whose means differ as much; of up to ten trials a side.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permutation_of_means_p: Option<Quantity>,
}

/// A metric that is recorded and not judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Recorded {
    /// Its name.
    pub name: String,
    /// The reference's median.
    pub reference: Quantity,
    /// The candidate's median.
    pub candidate: Quantity,
    /// The change, as a share of the reference's median; absent from zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<Quantity>,
}

/// Why a verdict cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum VerdictFault {
    /// It is no JSON, or other JSON.
    #[error("it is no verdict of a comparison: {0}")]
    Json(#[from] serde_json::Error),
    /// It has a format of a later version.
    #[error("it has format {0}, and format {FORMAT_VERSION} is read; use a newer perf-tracking")]
    Format(u32),
    /// It judges another record.
    #[error(
        "it judges the record with the seal {judged}, and the record beside it has {given}; \
         `perf-tracking compare judge` makes it anew"
    )]
    OtherRecord {
        /// Which one it judges.
        judged: Sha,
        /// Which one is there.
        given: Sha,
    },
}

impl Verdict {
    /// Reads the verdict on the record with this seal.
    ///
    /// # Errors
    /// Why it is none.
    pub fn parse(text: &str, record: &Sha) -> Result<Self, VerdictFault> {
        let verdict: Self = serde_json::from_str(text)?;
        if verdict.format_version != FORMAT_VERSION {
            return Err(VerdictFault::Format(verdict.format_version));
        }
        if verdict.record != *record {
            return Err(VerdictFault::OtherRecord {
                judged: verdict.record,
                given: record.clone(),
            });
        }
        Ok(verdict)
    }

    /// Its text; equal verdicts have equal texts.
    ///
    /// # Errors
    /// If it cannot be written as JSON.
    pub fn to_text(&self) -> Result<String, serde_json::Error> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }
}

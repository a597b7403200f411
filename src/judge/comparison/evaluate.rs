//! Holds a record to its contract.

use std::collections::{BTreeMap, BTreeSet};

use super::budget::{self, Budget, Found};
use super::contract::{
    Cell, CellName, Contract, Interleave, MetricRule, Mode, OnUnstable, Rule, Sha,
};
use super::quantity::Quantity;
use super::randomization::{self, FEW_DISTINCT};
use super::ranks;
use super::record::{Record, RecordFault, SideName, Trial};
use super::sample::{median, relative_change};
use super::verdict::{
    CellVerdict, FORMAT_VERSION, MetricVerdict, Randomization, Recorded, Rejection, RejectionKind,
    ResultKind, RuleName, SecondOpinions, SideNumbers, Status, Verdict, WorseDirection,
};
use super::words;
use crate::judge::Worse;

/// The verdict on a record under its contract.
///
/// # Errors
/// That the record is none of this contract.
pub fn evaluate(record: &Record, contract: &Contract, sha: &Sha) -> Result<Verdict, RecordFault> {
    record.check(contract, sha)?;
    let order = order_faults(record, contract);
    let mut rejections = order.clone();
    let mut warnings = Vec::new();
    let mut cells = Vec::new();
    for cell in &contract.cells {
        let trials = Trials::of(record, cell);
        let mut faults = trials.faults(contract.rounds);
        let is_out_of_order = order
            .iter()
            .any(|fault| fault.cell.as_ref().is_none_or(|name| *name == cell.name));
        if faults.is_empty() && !is_out_of_order {
            let judged = judge_cell(&trials, contract.mode);
            rejections.extend(judged.rejections);
            warnings.extend(judged.warnings);
            cells.push(judged.verdict);
        } else {
            rejections.append(&mut faults);
            cells.push(rejected(&cell.name));
        }
    }
    let result = result(&rejections, &cells);
    Ok(Verdict {
        format_version: FORMAT_VERSION,
        contract: record.contract.clone(),
        record: record.seal.clone(),
        sides: record.sides.clone(),
        mode: contract.mode,
        result,
        summary: words::summary(result, &cells, &rejections),
        rejections,
        warnings,
        cells,
    })
}

fn result(rejections: &[Rejection], cells: &[CellVerdict]) -> ResultKind {
    let is_noise = |rejection: &Rejection| {
        matches!(
            rejection.kind,
            RejectionKind::Variance | RejectionKind::Unstable
        )
    };
    let has = |status: Status| {
        let mut metrics = cells.iter().flat_map(|cell| &cell.metrics);
        metrics.any(|metric| metric.status == status)
    };
    if rejections.iter().any(|rejection| !is_noise(rejection)) {
        ResultKind::Rejected
    } else if !rejections.is_empty() {
        ResultKind::Inconclusive
    } else if has(Status::Regressed) {
        ResultKind::Regressed
    } else if has(Status::MaterialDifference) {
        ResultKind::Different
    } else {
        ResultKind::WithinBudget
    }
}

fn rejected(name: &CellName) -> CellVerdict {
    CellVerdict {
        name: name.clone(),
        status: Status::Rejected,
        metrics: Vec::new(),
        recorded: Vec::new(),
    }
}

/// Two rounds in a row that began with the same side, by the positions of their trials.
fn order_faults(record: &Record, contract: &Contract) -> Vec<Rejection> {
    let of_cell = |cell: &Cell| {
        let trials = record.trials.iter().filter(|trial| trial.cell == cell.name);
        order_fault(trials, Some(&cell.name))
    };
    let mut faults = contract.cells.iter().filter_map(of_cell);
    match contract.interleave {
        Interleave::Trial => faults.collect(),
        // All cells of a round run on one side before the other, so one of them tells for all.
        Interleave::Round => {
            let fault = faults.next();
            let of_all = |fault| Rejection {
                cell: None,
                ..fault
            };
            fault.map(of_all).into_iter().collect()
        }
    }
}

/// A round without a trial of both sides is left out: it is rejected for what is missing.
fn order_fault<'r>(
    trials: impl Iterator<Item = &'r Trial>,
    cell: Option<&CellName>,
) -> Option<Rejection> {
    let mut positions: BTreeMap<u32, BTreeMap<SideName, u32>> = BTreeMap::new();
    for trial in trials {
        let round = positions.entry(trial.round).or_default();
        round.insert(trial.side, trial.position);
    }
    let first = |(round, sides): (&u32, &BTreeMap<SideName, u32>)| {
        let reference = sides.get(&SideName::Reference)?;
        let candidate = sides.get(&SideName::Candidate)?;
        Some(match reference < candidate {
            true => (*round, SideName::Reference),
            false => (*round, SideName::Candidate),
        })
    };
    let rounds: Vec<(u32, SideName)> = positions.iter().filter_map(first).collect();
    let same = rounds
        .windows(2)
        .find(|pair| pair[0].1 == pair[1].1 && pair[0].0 + 1 == pair[1].0)?;
    let (round, side) = same[1];
    Some(Rejection {
        kind: RejectionKind::Order,
        cell: cell.cloned(),
        side: Some(side),
        round: Some(round),
        reason: format!(
            "rounds {} and {round} both began with the {side}, so a drift of the machine falls on \
             one side",
            round - 1
        ),
        output: Vec::new(),
    })
}

/// The trials of one cell.
struct Trials<'r> {
    record: &'r Record,
    cell: &'r Cell,
    trials: Vec<&'r Trial>,
}

impl<'r> Trials<'r> {
    fn of(record: &'r Record, cell: &'r Cell) -> Self {
        let of_cell = record.trials.iter().filter(|trial| trial.cell == cell.name);
        Self {
            record,
            cell,
            trials: of_cell.collect(),
        }
    }

    /// Everything that makes the cell's numbers worthless, round by round.
    fn faults(&self, rounds: u32) -> Vec<Rejection> {
        let mut faults = Vec::new();
        for round in 1..=rounds {
            for side in SideName::BOTH {
                let is_it = |trial: &&&Trial| trial.round == round && trial.side == side;
                let fault = match self.trials.iter().find(is_it) {
                    Some(trial) => self.fault(trial),
                    None => Some((
                        RejectionKind::Missing,
                        format!("the {side} has no trial in round {round}"),
                        Vec::new(),
                    )),
                };
                faults.extend(fault.map(|(kind, reason, output)| Rejection {
                    kind,
                    cell: Some(self.cell.name.clone()),
                    side: Some(side),
                    round: Some(round),
                    reason,
                    output,
                }));
            }
        }
        faults
    }

    fn fault(&self, trial: &Trial) -> Option<(RejectionKind, String, Vec<String>)> {
        let output = || trial.output.clone();
        if let Some(reason) = &trial.failure {
            return Some((RejectionKind::Failed, reason.clone(), output()));
        }
        if let Some(reason) = restart(trial) {
            return Some((RejectionKind::Restart, reason, output()));
        }
        if trial.exit_code != Some(0) {
            let code = trial.exit_code.map_or("no exit code".to_owned(), |code| {
                format!("exit code {code}")
            });
            let reason = format!("the program ended with {code}");
            return Some((RejectionKind::Failed, reason, output()));
        }
        for (name, expected) in &self.cell.expect {
            let found = trial.count(name);
            if found == Some(*expected) {
                continue;
            }
            let reason = match found {
                Some(found) => format!("`{name}` is {found}, and must be {expected}"),
                None => format!("`{name}` was not counted, and must be {expected}"),
            };
            return Some((RejectionKind::Count, reason, output()));
        }
        let measured = trial.numbers();
        let missing = |rule: &&MetricRule| !measured.contains_key(rule.name.as_str());
        let missing = self.cell.metrics.iter().find(missing)?;
        let reason = format!("`{}` was not measured", missing.name);
        Some((RejectionKind::Metric, reason, output()))
    }

    /// The values of one metric on one side, in the order of the rounds.
    fn values(&self, side: SideName, name: &str) -> Vec<f64> {
        let points = self.record.points(&self.cell.name, name, side);
        points.into_iter().map(|(_, value)| value).collect()
    }

    /// The names of everything that was measured.
    fn names(&self) -> BTreeSet<String> {
        let trials = self.trials.iter();
        let names = trials.flat_map(|trial| trial.numbers().into_keys());
        names.map(str::to_owned).collect()
    }
}

/// A process that was there before a trial and is not the same after it.
fn restart(trial: &Trial) -> Option<String> {
    let is_there = |process| trial.processes_after.contains(process);
    let gone = trial
        .processes_before
        .iter()
        .find(|process| !is_there(process))?;
    let again = trial
        .processes_after
        .iter()
        .find(|process| process.name == gone.name && !trial.processes_before.contains(process));
    Some(match again {
        Some(again) => format!(
            "`{}` (process {}) ended during the trial and was started again as process {}",
            gone.name, gone.pid, again.pid
        ),
        None => format!(
            "`{}` (process {}) ended during the trial",
            gone.name, gone.pid
        ),
    })
}

struct JudgedCell {
    verdict: CellVerdict,
    rejections: Vec<Rejection>,
    warnings: Vec<String>,
}

fn judge_cell(trials: &Trials<'_>, mode: Mode) -> JudgedCell {
    let cell = trials.cell;
    let mut rejections = Vec::new();
    let mut warnings = Vec::new();
    let mut metrics = Vec::new();
    for rule in &cell.metrics {
        let reference = trials.values(SideName::Reference, &rule.name);
        let candidate = trials.values(SideName::Candidate, &rule.name);
        let Some(judged) = judge_metric(rule, mode, &reference, &candidate) else {
            continue;
        };
        if let Some(few) = too_few_steps(&judged) {
            warnings.push(format!("{}, {}: {few}", cell.name, rule.name));
        }
        rejections.extend(rejection(&cell.name, rule, &judged));
        metrics.push(judged);
    }
    let status = metrics.iter().map(|metric| metric.status).min();
    JudgedCell {
        verdict: CellVerdict {
            name: cell.name.clone(),
            status: status.unwrap_or(Status::Within),
            metrics,
            recorded: recorded(trials),
        },
        rejections,
        warnings,
    }
}

fn recorded(trials: &Trials<'_>) -> Vec<Recorded> {
    let is_judged = |name: &str| trials.cell.metrics.iter().any(|rule| rule.name == name);
    let record = |name: String| {
        let of = |side| median(&trials.values(side, &name));
        let (reference, candidate) = (of(SideName::Reference)?, of(SideName::Candidate)?);
        Some(Recorded {
            reference: Quantity::new(reference)?,
            candidate: Quantity::new(candidate)?,
            change: Quantity::new(relative_change(reference, candidate)),
            name,
        })
    };
    let names = trials.names().into_iter().filter(|name| !is_judged(name));
    names.filter_map(record).collect()
}

fn judge_metric(
    rule: &MetricRule,
    mode: Mode,
    reference: &[f64],
    candidate: &[f64],
) -> Option<MetricVerdict> {
    let verdict = match rule.rule {
        Rule::Budget { floor, variance } => {
            let budget = Budget {
                floor: floor.to_f64(),
                variance: variance.to_f64(),
            };
            let judged = budget::judge(reference, candidate, rule.worse, &budget)?;
            let status = status(judged.found, mode, Status::Inconclusive);
            MetricVerdict {
                name: rule.name.clone(),
                status,
                reason: words::budget(&judged, &budget),
                worse: direction(rule.worse),
                rule: RuleName::Budget,
                reference: side_numbers(&judged.reference)?,
                candidate: side_numbers(&judged.candidate)?,
                worse_change: Quantity::new(judged.worse_change),
                floor: Quantity::new(budget.floor)?,
                allowed: Quantity::new(judged.tolerance),
                variance: Quantity::new(budget.variance),
                randomization: None,
                second_opinions: second_opinions(reference, candidate),
            }
        }
        Rule::Randomization { floor, .. } => {
            let floor = floor.to_f64();
            let judged = randomization::judge(reference, candidate, rule.worse, floor)?;
            MetricVerdict {
                name: rule.name.clone(),
                status: status(judged.found, mode, Status::Unstable),
                reason: words::randomization(&judged, floor),
                worse: direction(rule.worse),
                rule: RuleName::Randomization,
                reference: side_numbers(&judged.reference)?,
                candidate: side_numbers(&judged.candidate)?,
                worse_change: Quantity::new(judged.worse_change),
                floor: Quantity::new(floor)?,
                allowed: Quantity::new(floor.max(judged.percentile)),
                variance: None,
                randomization: Some(Randomization {
                    percentile_95: Quantity::new(judged.percentile),
                    p: Quantity::new(judged.p)?,
                    splits: judged.distribution.splits(),
                    distinct: judged.distribution.distinct() as u64,
                    is_exact: judged.distribution.is_exact(),
                }),
                second_opinions: second_opinions(reference, candidate),
            }
        }
    };
    Some(verdict)
}

fn status(found: Found, mode: Mode, varied: Status) -> Status {
    match (found, mode) {
        (Found::TooVaried, _) => varied,
        (Found::Within, _) => Status::Within,
        (Found::Noisy, _) => Status::Noisy,
        (Found::Better | Found::Worse, Mode::Difference) => Status::MaterialDifference,
        (Found::Better, Mode::Regression) => Status::Improved,
        (Found::Worse, Mode::Regression) => Status::Regressed,
    }
}

fn direction(worse: Worse) -> WorseDirection {
    match worse {
        Worse::Higher => WorseDirection::Higher,
        Worse::Lower => WorseDirection::Lower,
    }
}

fn side_numbers(side: &budget::Side) -> Option<SideNumbers> {
    Some(SideNumbers {
        median: Quantity::new(side.median)?,
        spread: Quantity::new(side.spread),
    })
}

fn second_opinions(reference: &[f64], candidate: &[f64]) -> SecondOpinions {
    let test = ranks::mann_whitney(reference, candidate);
    let means = ranks::permutation_of_means(reference, candidate);
    SecondOpinions {
        mann_whitney_p: test.and_then(|test| Quantity::new(test.p)),
        permutation_of_means_p: means.and_then(Quantity::new),
    }
}

fn too_few_steps(judged: &MetricVerdict) -> Option<String> {
    let randomization = judged.randomization.as_ref()?;
    // All values alike is one step, and says all there is to say.
    let is_few = (2..FEW_DISTINCT as u64).contains(&randomization.distinct);
    is_few.then(|| {
        format!(
            "the randomization distribution has only {} distinct values, so its percentiles are \
             coarse; more rounds give it more",
            randomization.distinct
        )
    })
}

fn rejection(cell: &CellName, rule: &MetricRule, judged: &MetricVerdict) -> Option<Rejection> {
    let is_shown = matches!(
        rule.rule,
        Rule::Randomization {
            unstable: OnUnstable::Show,
            ..
        }
    );
    let kind = match judged.status {
        Status::Inconclusive => RejectionKind::Variance,
        Status::Unstable if !is_shown => RejectionKind::Unstable,
        _ => return None,
    };
    Some(Rejection {
        kind,
        cell: Some(cell.clone()),
        side: None,
        round: None,
        reason: format!("`{}`: {}", judged.name, judged.reason),
        output: Vec::new(),
    })
}

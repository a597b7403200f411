//! A history as the gate would have judged it, and the rules that fit it.

use super::verdict::label;
use super::{number, words, wrap};
use crate::domain::Series;
use crate::judge::accept::quoted;
use crate::judge::calibrate::Proposal;
use crate::judge::replay::{Replay, Replayed, smallest_steps};
use crate::judge::{Conclusion, Gating, K, Policy};
use crate::terminal::tame;

/// One line a run, oldest first, by one rule file or by two.
pub fn replay(series: &Series, one: (&str, &Replay), other: Option<(&str, &Replay)>) -> String {
    let mut text = format!("{}\n\n", words::series_line(series, None));
    let others = other.map(|(_, replay)| replay.runs.as_slice());
    for (index, run) in one.1.runs.iter().enumerate() {
        text += &line(run, others.and_then(|runs| runs.get(index)));
    }
    text.push('\n');
    text += &format!("{}: {}\n", tame(one.0), share(one.1));
    if let Some((name, replay)) = other {
        text += &format!("{}: {}\n", tame(name), share(replay));
        let pairs = one.1.runs.iter().zip(&replay.runs);
        let differ = pairs.filter(|(a, b)| a.conclusion != b.conclusion).count();
        text += &format!("they differ in {differ} of {} commits\n", replay.runs.len());
    }
    text
}

fn line(run: &Replayed, other: Option<&Replayed>) -> String {
    let commit = words::short(run.commit.as_str());
    let mut line = format!(
        "{}  {commit}  {}",
        words::day(run.run_date),
        padded(word(run))
    );
    if let Some(other) = other {
        line += &format!("  {}", padded(word(other)));
        if other.conclusion != run.conclusion {
            line += "  differs";
        }
    }
    let worse = match other {
        Some(other) if run.worse.is_empty() => &other.worse,
        _ => &run.worse,
    };
    if let Some((name, change)) = worse.first() {
        line += &format!("  {} {}", label(name), number::percent(*change));
        if worse.len() > 1 {
            line += &format!(" and {} more", worse.len() - 1);
        }
    } else if run.undecided > 0 {
        line += &format!("  {} not judged", words::metrics(run.undecided));
    }
    line.trim_end().to_owned() + "\n"
}

fn padded(word: &str) -> String {
    wrap::padded(word, "not judged".len(), false)
}

fn word(run: &Replayed) -> &'static str {
    match run.conclusion {
        Conclusion::Regression => "failed",
        _ if run.judged == 0 => "not judged",
        Conclusion::Undecided => "undecided",
        Conclusion::Passed => "passed",
    }
}

/// `2 of 60 commits would have failed (3.3 %)`
fn share(replay: &Replay) -> String {
    let (failed, judged) = (replay.failed(), replay.judged());
    format!(
        "{failed} of {judged} judged commits would have failed ({})",
        part(failed, judged)
    )
}

fn part(some: usize, all: usize) -> String {
    if all == 0 {
        return "-".to_owned();
    }
    format!("{:.1} %", some as f64 / all as f64 * 100.0)
}

/// The rules that a calibration proposes, as text of `gate.toml`: the windows and the hosts as they
/// are, and one rule a metric.
pub fn proposed_rules(policy: &Policy, proposals: &[Proposal]) -> String {
    let windows = &policy.windows;
    let sizes: Vec<String> = windows.sizes.iter().map(ToString::to_string).collect();
    let k = match windows.k {
        K::Fixed(k) => k.to_string(),
        K::Auto => "\"auto\"".to_owned(),
    };
    let mut text = format!(
        "[window]\nsizes = [{}]\nk = {k}\nmin_runs = {}\n",
        sizes.join(", "),
        windows.min_runs
    );
    if !policy.wallclock_host_classes.is_empty() {
        let classes = policy.wallclock_host_classes.iter();
        let classes: Vec<String> = classes.map(|class| quoted(class.as_str())).collect();
        text += &format!("\n[wallclock]\nhost_classes = [{}]\n", classes.join(", "));
    }
    for proposal in proposals {
        text += &rule(policy, proposal);
    }
    text
}

fn rule(policy: &Policy, proposal: &Proposal) -> String {
    let at = proposal
        .run
        .as_ref()
        .map_or_else(String::new, |(commit, date)| {
            format!(
                " ({}, {})",
                words::short(commit.as_str()),
                words::day(*date)
            )
        });
    let harmless = match proposal.harmless {
        0.0 => format!("of {} runs none got worse and came back", proposal.runs),
        harmless => format!(
            "largest change of {} runs that came back: {}{at}",
            proposal.runs,
            number::percent(Some(harmless))
        ),
    };
    let passes = proposal.passes.map_or_else(String::new, |passes| {
        format!(
            "; passes of one commit differ by {}",
            number::percent(Some(passes))
        )
    });
    let name = crate::domain::MetricName {
        metric_key: proposal.metric_key.clone(),
        dim_key: crate::domain::DimKey::scalar(),
    };
    let gate = match policy.terms(&name).gating {
        Gating::Warn => "gate = \"warn\"\n",
        Gating::Fail | Gating::Show => "",
    };
    format!(
        "\n# {}\n[[metric]]\npattern = {}\nfloor = \"{} %\"\n{gate}",
        tame(&format!("{harmless}{passes}")),
        quoted(&crate::judge::accept::as_pattern(
            proposal.metric_key.as_str()
        )),
        proposal.floor
    )
}

/// What a calibration found.
#[derive(Debug)]
pub struct Calibration<'a> {
    /// The series.
    pub series: &'a Series,
    /// What the rules of now were read from.
    pub config: &'a str,
    /// The rules that are proposed.
    pub rules: &'a str,
    /// The history by the rules of now.
    pub now: Replay,
    /// The history by the proposed rules.
    pub fixed: Replay,
    /// The history by the proposed rules, with an automatic k.
    pub automatic: Replay,
    /// The k of the proposed rules.
    pub k: K,
}

impl Calibration<'_> {
    /// The proposed rules, with what they would have cost before them.
    pub fn text(&self) -> String {
        let k = match self.k {
            K::Fixed(k) => format!("k = {k}"),
            K::Auto => "k = \"auto\"".to_owned(),
        };
        let mut rows = vec![
            (format!("{} as it is", tame(self.config)), &self.now),
            (format!("these rules, {k}"), &self.fixed),
        ];
        if self.k != K::Auto {
            rows.push(("these rules, k = \"auto\"".to_owned(), &self.automatic));
        }
        let width = rows.iter().map(|(name, _)| name.chars().count()).max();
        let lines = rows.iter().map(|(name, replay)| {
            let name = wrap::padded(name, width.unwrap_or_default(), false);
            format!("#   {name}  {}\n", cost(replay))
        });
        format!(
            "# Floors for {}. Keep your [parameters], [[accepted]] and [[renamed]] entries.\n#\n# What would have failed, and the smallest step that would be seen \
             now (in half of\n# the metrics, and in all):\n#\n{}\n{}",
            words::series_line(self.series, None),
            lines.collect::<String>(),
            self.rules
        )
    }
}

/// `2 of 60 commits (3.3 %); steps of +1.5 %, +4.8 %`
fn cost(replay: &Replay) -> String {
    let (failed, judged) = (replay.failed(), replay.judged());
    let steps = replay
        .newest
        .as_ref()
        .map(smallest_steps)
        .unwrap_or_default();
    let seen = match (steps.get(steps.len() / 2), steps.last()) {
        (Some(middle), Some(largest)) => {
            let shown = |step: &f64| number::percent(Some(*step));
            format!("steps of {}, {}", shown(middle), shown(largest))
        }
        _ => "no metric gates".to_owned(),
    };
    format!(
        "{failed} of {judged} commits ({}); {seen}",
        part(failed, judged)
    )
}

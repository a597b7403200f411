//! A verdict for a terminal of 80 columns.

use super::{Row, Subject, build, number, place};
use crate::judge::comparison::verdict::{ResultKind, Status};
use crate::terminal::tame;

const WIDTH: usize = 80;
/// The columns: status, metric, reference, candidate, change, allowed.
const COLUMNS: [usize; 6] = [12, 24, 12, 12, 8, 7];
/// Of a program's last lines, as many as a terminal has room for.
const OUTPUT_LINES: usize = 5;

/// The whole verdict; `colour` where the reader sees colours.
pub fn text(subject: &Subject<'_>, colour: bool) -> String {
    let verdict = subject.verdict;
    let mut text = wrapped(
        &format!("{}: {}", verdict.contract.name, verdict.result.words()),
        0,
    );
    text += &format!("contract   {}\n", verdict.contract.sha256);
    for (name, side) in [
        ("reference", &verdict.sides.reference),
        ("candidate", &verdict.sides.candidate),
    ] {
        text += &wrapped(&format!("{name}  {}", tame(&build(side))), 11);
    }
    text += &rejections(subject);
    text += &table(subject, colour);
    for warning in &verdict.warnings {
        text += &wrapped(&format!("Warning: {}", tame(warning)), 2);
    }
    text + "\n" + &wrapped(&verdict.summary, 0)
}

fn rejections(subject: &Subject<'_>) -> String {
    let mut text = String::new();
    for rejection in &subject.verdict.rejections {
        let line = format!("{}: {}", place(rejection), tame(&rejection.reason));
        text += &wrapped(&line, 2);
        let skipped = rejection.output.len().saturating_sub(OUTPUT_LINES);
        for line in &rejection.output[skipped..] {
            text += &format!("    | {}\n", cut(&tame(line), WIDTH - 6));
        }
    }
    match text.is_empty() {
        true => text,
        false => format!("\nRejected:\n{text}"),
    }
}

fn table(subject: &Subject<'_>, colour: bool) -> String {
    let rows = subject.worst_first();
    if rows.is_empty() {
        return String::new();
    }
    let heads = [
        "status",
        "metric",
        "reference",
        "candidate",
        "worse by",
        "allowed",
    ];
    let mut text = format!("\n{}\n", line(&heads.map(str::to_owned)));
    let mut cell = None;
    for row in rows {
        // The worst come first, so a cell may be named more than once.
        if cell != Some(row.cell) {
            text += &format!("{}\n", row.cell);
            cell = Some(row.cell);
        }
        text += &shown(&row, colour);
        if row.metric.status != Status::Within {
            text += &wrapped(&format!("    {}", row.metric.reason), 4);
        }
    }
    text
}

fn shown(row: &Row<'_>, colour: bool) -> String {
    let metric = row.metric;
    let median = |side: &crate::judge::comparison::verdict::SideNumbers| {
        number::value(&metric.name, side.median.get())
    };
    let columns = [
        short(metric.status).to_owned(),
        metric.name.clone(),
        median(&metric.reference),
        median(&metric.candidate),
        number::change(metric.worse_change),
        number::share(metric.allowed),
    ];
    let text = line(&columns);
    match colour.then(|| ansi(metric.status)).flatten() {
        Some(code) => {
            let (status, rest) = text.split_at(COLUMNS[0]);
            format!("\u{1b}[{code}m{status}\u{1b}[0m{rest}\n")
        }
        None => text + "\n",
    }
}

/// The first two columns stand at the left, the numbers at the right.
fn line(columns: &[String; 6]) -> String {
    let mut text = String::new();
    for (index, (column, width)) in columns.iter().zip(COLUMNS).enumerate() {
        let column = cut(column, width);
        let space = " ".repeat(width.saturating_sub(column.chars().count()));
        if index > 0 {
            text.push(' ');
        }
        text += &if index < 2 {
            column + &space
        } else {
            space + &column
        };
    }
    text.trim_end().to_owned()
}

fn short(status: Status) -> &'static str {
    match status {
        Status::MaterialDifference => "differs",
        other => other.words(),
    }
}

fn ansi(status: Status) -> Option<&'static str> {
    match status {
        Status::Rejected | Status::Regressed => Some("31"),
        Status::Inconclusive | Status::Unstable | Status::MaterialDifference => Some("33"),
        Status::Improved => Some("32"),
        Status::Noisy | Status::Within => None,
    }
}

fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width - 1).collect();
    kept + "…"
}

/// Lines of at most 80 columns; those after the first begin with `indent` spaces.
fn wrapped(text: &str, indent: usize) -> String {
    let lead: String = text.chars().take_while(|c| *c == ' ').collect();
    let mut lines = vec![lead.clone()];
    let mut is_first = true;
    for word in text
        .split_whitespace()
        .flat_map(|word| pieces(word, WIDTH - indent))
    {
        let line = lines.last().map_or(0, |line| line.chars().count());
        let space = usize::from(!is_first);
        if !is_first && line + space + word.chars().count() > WIDTH {
            lines.push(" ".repeat(indent));
            is_first = true;
        }
        if let Some(line) = lines.last_mut() {
            if !is_first {
                line.push(' ');
            }
            line.push_str(&word);
        }
        is_first = false;
    }
    lines.join("\n") + "\n"
}

/// A word that fits into no line, in pieces that do.
fn pieces(word: &str, width: usize) -> Vec<String> {
    let letters: Vec<char> = word.chars().collect();
    letters
        .chunks(width)
        .map(|piece| piece.iter().collect())
        .collect()
}

/// What a result is to a reader in a hurry.
pub(super) fn mark(result: ResultKind) -> &'static str {
    match result {
        ResultKind::WithinBudget => "good",
        ResultKind::Different | ResultKind::Inconclusive => "unsure",
        ResultKind::Regressed | ResultKind::Rejected => "bad",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_wrapped_at_their_words() {
        let text = wrapped(&"word ".repeat(40), 2);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines.len() > 2);
        assert!(lines.iter().all(|line| line.chars().count() <= WIDTH));
        assert!(lines[1].starts_with("  word"));
        assert_eq!(wrapped("    a b", 4), "    a b\n");
        let long = wrapped(&"x".repeat(200), 2);
        assert!(
            long.lines().all(|line| line.chars().count() <= WIDTH),
            "{long}"
        );
    }

    #[test]
    fn a_line_fits_whatever_stands_in_it() {
        let long = "x".repeat(100);
        let columns = std::array::from_fn(|_| long.clone());
        assert_eq!(line(&columns).chars().count(), WIDTH);
    }
}

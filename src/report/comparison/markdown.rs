//! A verdict as Markdown, for a review or a page.

use super::{Subject, build, number, place};
use crate::judge::comparison::verdict::{MetricVerdict, SideNumbers};
use crate::terminal::tame;

/// The whole verdict.
pub fn markdown(subject: &Subject<'_>) -> String {
    let (record, verdict) = (subject.record, subject.verdict);
    let mut text = format!(
        "# {}: {}\n\n{}\n\n| | |\n| --- | --- |\n",
        escape(&verdict.contract.name),
        verdict.result.words(),
        verdict.summary
    );
    let host = &record.host;
    let facts = [
        ("Contract", format!("`{}`", verdict.contract.sha256)),
        ("Reference", escape(&build(&verdict.sides.reference))),
        ("Candidate", escape(&build(&verdict.sides.candidate))),
        (
            "Host",
            escape(&format!(
                "{}, {} CPUs, {}, {}",
                host.cpu_model,
                host.logical_cpus,
                number::value("memory_bytes", host.memory_bytes as f64),
                host.kernel
            )),
        ),
        (
            "Run",
            format!(
                "{} rounds, begun {}, by {}",
                record.rounds,
                escape(&record.provenance.started),
                escape(&record.provenance.tool)
            ),
        ),
    ];
    for (name, value) in facts {
        text += &format!("| {name} | {value} |\n");
    }
    text += &rejections(subject);
    text += &metrics(subject);
    text += &recorded(subject);
    if !verdict.warnings.is_empty() {
        text += "\n## Warnings\n\n";
    }
    for warning in &verdict.warnings {
        text += &format!("- {}\n", escape(warning));
    }
    text + "\nThe numbers hold for this contract on this host. A change is positive where it is \
            worse. A spread is the median absolute deviation as a share of the median.\n"
}

fn rejections(subject: &Subject<'_>) -> String {
    let rejections = &subject.verdict.rejections;
    if rejections.is_empty() {
        return String::new();
    }
    let mut text = "\n## Why it is not valid\n\n".to_owned();
    for rejection in rejections {
        text += &format!("- {}: {}\n", place(rejection), escape(&rejection.reason));
        if rejection.output.is_empty() {
            continue;
        }
        text += "\n";
        for line in &rejection.output {
            text += &format!("      {}\n", tame(line));
        }
        text += "\n";
    }
    text
}

fn metrics(subject: &Subject<'_>) -> String {
    let rows = subject.worst_first();
    if rows.is_empty() {
        return String::new();
    }
    let mut text = "\n## Metrics, worst first\n\n\
        | status | cell | metric | reference | candidate | change | allowed | why |\n\
        | --- | --- | --- | ---: | ---: | ---: | ---: | --- |\n"
        .to_owned();
    for row in rows {
        let metric = row.metric;
        text += &format!(
            "| {} | {} | {} | {} | {} | {} | {} | {} |\n",
            metric.status.words(),
            row.cell,
            escape(&metric.name),
            side(metric, &metric.reference),
            side(metric, &metric.candidate),
            number::change(metric.worse_change),
            number::share(metric.allowed),
            escape(&metric.reason)
        );
    }
    for cell in subject.rejected_cells() {
        text += &format!("| rejected | {} | | | | | | |\n", cell.name);
    }
    text
}

fn side(metric: &MetricVerdict, side: &SideNumbers) -> String {
    format!(
        "{} ± {}",
        number::value(&metric.name, side.median.get()),
        number::share(side.spread)
    )
}

fn recorded(subject: &Subject<'_>) -> String {
    let cells = subject.verdict.cells.iter();
    let lines: Vec<String> = cells
        .flat_map(|cell| cell.recorded.iter().map(move |recorded| (cell, recorded)))
        .map(|(cell, recorded)| {
            format!(
                "| {} | {} | {} | {} | {} |\n",
                cell.name,
                escape(&recorded.name),
                number::value(&recorded.name, recorded.reference.get()),
                number::value(&recorded.name, recorded.candidate.get()),
                number::change(recorded.change)
            )
        })
        .collect();
    if lines.is_empty() {
        return String::new();
    }
    "\n<details><summary>Recorded and not judged</summary>\n\n\
     | cell | metric | reference | candidate | change |\n| --- | --- | ---: | ---: | ---: |\n"
        .to_owned()
        + &lines.concat()
        + "\n</details>\n"
}

/// A stranger's text in a line of Markdown: it formats nothing, names nobody and ends no table.
fn escape(text: &str) -> String {
    let mut escaped = String::new();
    for c in tame(text).chars() {
        if matches!(
            c,
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#' | '~'
        ) {
            escaped.push('\\');
        }
        escaped.push(c);
        if c == '@' {
            // A mention would call people who have nothing to do with it.
            escaped.push('\u{200b}');
        }
    }
    escaped
}

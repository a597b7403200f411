//! A judgement as a comment of a review.
//!
//! GitHub takes comments of 65,536 characters and GitLab of 1,000,000. Past [`MARKDOWN_LIMIT`]
//! rows are left out and counted, those that say least first.

use super::{Subject, label, number, telling, words};
use crate::judge::{MetricJudgement, Status};

/// The most bytes of a comment, with room for what a job wraps around it.
pub const MARKDOWN_LIMIT: usize = 60_000;
/// Room for the ends of lists and for what is said of what was left out.
const ENDS: usize = 600;
/// The part of the room for sentences, which the rows must not use up.
const SENTENCES: usize = MARKDOWN_LIMIT / 2;

const HEADER: &str = "| status | metric | candidate | change | % | limit | mean ± deviation (runs) |\n\
                      | --- | --- | ---: | ---: | ---: | ---: | ---: |\n";

/// The comment.
pub fn markdown(subject: &Subject<'_>) -> String {
    let mut text = format!(
        "### Performance {}\n\n{}\n",
        escaped(&words::conclusion(subject)),
        escaped(&words::series_line(subject.series, subject.commit))
    );
    let (quiet, loud): (Vec<_>, Vec<_>) = subject
        .worst_first()
        .into_iter()
        .partition(|metric| matches!(metric.finding.status(), Status::Pass | Status::Skipped));
    let obstacles = subject.judgement.obstacles.iter();
    let obstacles: Vec<String> = obstacles
        .map(|obstacle| words::obstacle(obstacle, subject.config))
        .collect();
    push_list(
        &mut text,
        obstacles
            .iter()
            .map(|line| format!("- {}\n", escaped(line))),
    );
    if !loud.is_empty() {
        text.push('\n');
        push_rows(&mut text, &loud, MARKDOWN_LIMIT - SENTENCES);
    }
    let sentences = loud.iter().filter_map(|metric| {
        let why = words::why(subject, metric)?;
        Some(format!(
            "- **{}** {}\n",
            escaped(&label(&metric.name)),
            escaped(&why)
        ))
    });
    let steps = subject.judgement.unknown_steps.iter();
    let steps = steps.map(|step| {
        format!(
            "- {}\n",
            escaped(&words::unknown_step(step, subject.config))
        )
    });
    push_list(&mut text, sentences.chain(steps));
    if !quiet.is_empty() {
        text += &format!(
            "\n<details><summary>{} unchanged or not judged</summary>\n\n",
            quiet.len()
        );
        push_rows(&mut text, &quiet, MARKDOWN_LIMIT - ENDS / 2);
        text += "\n</details>\n";
    }
    text
}

/// A list, as far as there is room for it.
fn push_list(text: &mut String, mut items: impl Iterator<Item = String>) {
    let mut first = true;
    while let Some(item) = items.next() {
        if text.len() + item.len() > MARKDOWN_LIMIT - ENDS {
            *text += &format!("- and {} more\n", 1 + items.count());
            return;
        }
        if first {
            text.push('\n');
        }
        first = false;
        *text += &item;
    }
}

/// A table, as far as `limit` has room for it.
fn push_rows(text: &mut String, metrics: &[&MetricJudgement], limit: usize) {
    if text.len() + HEADER.len() > limit {
        *text += "No room for the table here.\n";
        return;
    }
    *text += HEADER;
    for (index, metric) in metrics.iter().enumerate() {
        let row = row(metric);
        if text.len() + row.len() + ENDS / 4 > limit {
            *text += &format!(
                "\n…and {} more, left out for their length.\n",
                metrics.len() - index
            );
            return;
        }
        *text += &row;
    }
}

fn row(metric: &MetricJudgement) -> String {
    let status = metric.finding.status();
    let strong = if status == Status::Regression {
        "**"
    } else {
        ""
    };
    let candidate = metric.candidate.map_or_else(number::dash, number::value);
    let [change, percent, limit, mean] = match telling(metric) {
        None => std::array::from_fn(|_| number::dash()),
        Some(window) => {
            let deviation = window
                .standard_deviation
                .map_or_else(number::dash, number::computed);
            [
                number::change(window.change),
                // A narrow page must not part a number from its sign.
                number::percent(window.change_percent).replace(' ', "\u{a0}"),
                number::computed(window.limit),
                format!(
                    "{} ± {deviation} ({})",
                    number::computed(window.mean),
                    window.n
                ),
            ]
        }
    };
    format!(
        "| {strong}{}{strong} | {} | {candidate} | {change} | {percent} | {limit} | {mean} |\n",
        words::status(status),
        escaped(&label(&metric.name)),
    )
}

/// Of no width, and part of no name: nobody is called, and no other change is linked.
const WORD_JOINER: char = '\u{2060}';

/// Text that Markdown shows as it is: names and reasons are strangers' text.
fn escaped(text: &str) -> String {
    const SPECIAL: &str = "|<>*_[]\\~`#&";
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if SPECIAL.contains(c) {
            escaped.push('\\');
        }
        escaped.push(c);
        // Who is mentioned is looked for in what was rendered: there a `\@` is an `@` again.
        if matches!(c, '@' | '#') {
            escaped.push(WORD_JOINER);
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strangers_text_stays_text() {
        assert_eq!(
            escaped("<img src=x> [a](b) `c` **d** e_f | &lt; #1 \\"),
            "\\<img src=x\\> \\[a\\](b) \\`c\\` \\*\\*d\\*\\* e\\_f \\| \\&lt; \\#\u{2060}1 \\\\"
        );
        assert_eq!(escaped("@all"), "@\u{2060}all");
    }
}

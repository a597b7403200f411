//! Where the reports go.

use std::env;
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};

use clap::Args;

use crate::commands::print;
use crate::files::whole_file;
use crate::report::{self, NothingMeasured, TextForm, Verdict};
use crate::terminal::shown;

/// The forms that are asked for.
#[derive(Args, Debug)]
#[command(next_help_heading = "Reports (several at once; without FILE in place of the table)")]
pub(super) struct Reports {
    /// A comment for a review
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    markdown: Option<PathBuf>,

    /// All there is to know, for programs
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    json: Option<PathBuf>,

    /// JUnit XML, a test case a metric
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    junit: Option<PathBuf>,

    /// The numbers of the document as OpenMetrics text, which GitLab compares
    #[arg(long, value_name = "FILE")]
    openmetrics: Option<PathBuf>,
}

impl Reports {
    /// Refuses reports of which one would take the place of another, or of one of `inputs`.
    pub(super) fn check(&self, inputs: &[&Path]) -> anyhow::Result<()> {
        let targets = [&self.markdown, &self.json, &self.junit, &self.openmetrics];
        let targets: Vec<&Path> = targets
            .into_iter()
            .flatten()
            .map(PathBuf::as_path)
            .collect();
        for (index, target) in targets.iter().enumerate() {
            let is_taken = targets[..index].iter().any(|other| is_same(target, other));
            anyhow::ensure!(
                !is_taken || !is_stdout(target),
                "two reports on standard output would be one text that nothing reads; name a file \
                 for all but one of them"
            );
            anyhow::ensure!(
                !is_taken,
                "two reports in {} would leave one of them; name a file for each",
                shown::path(target)
            );
            let is_input = inputs.iter().any(|input| is_same(target, input));
            anyhow::ensure!(
                is_stdout(target) || !is_input,
                "a report in {} would take the place of what is judged; name another file",
                shown::path(target)
            );
        }
        Ok(())
    }

    /// Whether a report for programs is asked for.
    pub(super) fn has_json(&self) -> bool {
        self.json.is_some()
    }

    /// Writes every report, the one for standard output last.
    pub(super) fn write(&self, verdict: &Verdict<'_>, form: TextForm) -> anyhow::Result<()> {
        self.write_each(&Forms {
            markdown: &|| Ok(report::markdown(verdict)),
            json: &|| Ok(report::json(verdict)?),
            junit: &|| Ok(report::junit(verdict)?),
            openmetrics: &|| Ok(report::openmetrics(verdict)),
            text: &|| Ok(report::text(verdict, form)),
        })
    }

    /// Writes every report of a job that was told that nothing was measured.
    pub(super) fn write_nothing(&self, nothing: &NothingMeasured) -> anyhow::Result<()> {
        self.write_each(&Forms {
            markdown: &|| Ok(report::markdown_of_nothing(nothing)),
            json: &|| Ok(report::json_of_nothing(nothing)?),
            junit: &|| Ok(report::junit_of_nothing(nothing)?),
            openmetrics: &|| Ok("# EOF\n".to_owned()),
            text: &|| Ok(nothing.text()),
        })
    }

    fn write_each(&self, forms: &Forms<'_>) -> anyhow::Result<()> {
        let mut on_stdout = None;
        let targets = [
            (&self.markdown, forms.markdown),
            (&self.json, forms.json),
            (&self.junit, forms.junit),
            (&self.openmetrics, forms.openmetrics),
        ];
        for (target, form) in targets {
            match target {
                None => {}
                Some(path) if is_stdout(path) => on_stdout = Some(form()?),
                Some(path) => whole_file::write(path, &form()?)?,
            }
        }
        let text = match on_stdout {
            Some(text) => text,
            None => (forms.text)()?,
        };
        print(&text)?;
        Ok(())
    }
}

/// A form of a report, made when it is wanted.
type Form<'a> = &'a dyn Fn() -> anyhow::Result<String>;

/// The forms that a report can have.
struct Forms<'a> {
    markdown: Form<'a>,
    json: Form<'a>,
    junit: Form<'a>,
    openmetrics: Form<'a>,
    text: Form<'a>,
}

/// Whether both name one file, as far as can be told before it is there.
fn is_same(one: &Path, other: &Path) -> bool {
    let whole = |path: &Path| path.canonicalize().or_else(|_| std::path::absolute(path));
    one == other || matches!((whole(one), whole(other)), (Ok(one), Ok(other)) if one == other)
}

fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// Colour is for a terminal whose reader has not said no to it (<https://no-color.org>).
pub(super) fn has_colour() -> bool {
    let refused = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    !refused && io::stdout().is_terminal()
}

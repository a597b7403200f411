//! What a person hears while a comparison runs: a bar on a terminal, else a line for each trial.

use std::io::{self, IsTerminal as _};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::measure::comparison::Event;
use crate::terminal::{note, shown, tame};

/// Who tells it.
pub(super) struct Teller {
    bar: Option<ProgressBar>,
}

impl Teller {
    /// A teller for this process's standard error.
    pub(super) fn start(trials: usize) -> Self {
        let bar = io::stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template("{bar:20} {pos}/{len} {msg}");
            ProgressBar::new(trials as u64)
                .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        });
        Self { bar }
    }

    /// Tells one event.
    pub(super) fn tell(&self, event: Event) {
        match event {
            Event::Written(folder) => {
                self.line(format!(
                    "the contract is written; files in {}",
                    shown::path(&folder)
                ));
            }
            Event::Building(side) => self.line(format!("building the {side}")),
            Event::Starting(side, round) => {
                self.passing(format!("round {round}: starting the {side}"), None);
            }
            Event::Failed(why) => self.line(format!("failed: {}", tame(&why))),
            Event::Trial {
                cell,
                side,
                round,
                rounds,
                position,
                of,
                left,
            } => {
                let left = left.map_or(String::new(), |left| format!(", {} left", about(left)));
                let what = format!("round {round} of {rounds}: {side}, {cell}");
                match &self.bar {
                    Some(_) => self.passing(format!("{what}{left}"), Some(position)),
                    None => note(format_args!("{what} (trial {position} of {of}{left})")),
                }
            }
        }
    }

    /// Takes the bar away.
    pub(super) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn line(&self, text: String) {
        match &self.bar {
            Some(bar) => bar.suspend(|| note(text)),
            None => note(text),
        }
    }

    /// Something that the next thing takes the place of.
    fn passing(&self, text: String, position: Option<u32>) {
        let Some(bar) = &self.bar else {
            return note(text);
        };
        if let Some(position) = position {
            bar.set_position(u64::from(position - 1));
        }
        bar.set_message(text);
    }
}

/// A time as people say it.
fn about(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..=99 => format!("about {seconds} s"),
        seconds @ 100..=5999 => format!("about {} min", seconds.div_ceil(60)),
        seconds => format!("about {:.1} h", seconds as f64 / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_in_a_unit_that_fits() {
        for (seconds, text) in [
            (0, "about 0 s"),
            (99, "about 99 s"),
            (100, "about 2 min"),
            (9000, "about 2.5 h"),
        ] {
            assert_eq!(about(Duration::from_secs(seconds)), text);
        }
    }
}

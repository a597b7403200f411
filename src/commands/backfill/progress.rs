//! The bar that a person watches; where nobody can, there is none.

use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::client::ClientError;
use crate::terminal::note;

/// The one bar of this process.
static BAR: OnceLock<ProgressBar> = OnceLock::new();

/// Many uploads fail together; a person needs to hear of it once in a while.
const BETWEEN_NOTES: Duration = Duration::from_secs(5);

/// A bar over `bytes`; without a size, it only shows that something goes on.
pub(super) fn start(bytes: Option<u64>) -> ProgressBar {
    let (bar, form) = match bytes {
        Some(bytes) => (
            ProgressBar::new(bytes),
            "{wide_bar} {percent}%, {msg}, {eta} left",
        ),
        None => (ProgressBar::new_spinner(), "{spinner} {msg}, {elapsed}"),
    };
    let style = ProgressStyle::with_template(form).unwrap_or_else(|_| ProgressStyle::default_bar());
    let bar = bar.with_style(style);
    BAR.get_or_init(|| bar).clone()
}

/// Says that an upload is tried again, above the bar.
pub(super) fn note_retry(error: &ClientError, pause: Duration) {
    static LAST: Mutex<Option<Instant>> = Mutex::new(None);
    // Whoever panicked with the lock left an old time in it, which does no harm.
    let mut last = LAST.lock().unwrap_or_else(|broken| broken.into_inner());
    if last.is_some_and(|last| last.elapsed() < BETWEEN_NOTES) {
        return;
    }
    *last = Some(Instant::now());
    let text = format!(
        "{}; trying again in {:.1} s",
        error.reason(),
        pause.as_secs_f64()
    );
    match BAR.get() {
        Some(bar) => bar.suspend(|| note(text)),
        None => note(text),
    }
}

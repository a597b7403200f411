//! The one place that looks at the clock on the wall; everyone else is told the time.

use chrono::{DateTime, Utc};

/// The time of day.
#[expect(
    clippy::disallowed_methods,
    reason = "the place that the rule points to"
)]
pub(crate) fn now() -> DateTime<Utc> {
    Utc::now()
}

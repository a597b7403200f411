//! When a request is sent again, and how long it waits before.
//!
//! Tried again: no connection, a connection that broke, no answer in time, and the answers 408,
//! 429, 500, 502, 503 and 504. A 500 is one of them: the service says it for what its database
//! never said before, too, such as a node in the middle of a failover, and a run that is lost for
//! a passing fault costs more than a fault that is told late. Never tried again: every other
//! answer, a redirect, and a certificate that does not hold.
//!
//! Sending again is safe for every request of the client: reads change nothing, and an upload is
//! stored once however often it arrives.

use std::time::Duration;

use chrono::{DateTime, Utc};
use reqwest::StatusCode;

/// The first pause; the next ones double, each with a random part on top that is as long again at
/// most, so that jobs that failed together do not come back together.
pub(super) const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// The pauses grow no further than this, the random part left out.
pub(super) const LONGEST_PAUSE: Duration = Duration::from_secs(8);
/// What a service asks for is honoured up to this; then it is asked anew.
const LONGEST_ASKED_PAUSE: Duration = Duration::from_secs(300);

/// Whether an answer of this status may be another one later.
pub(super) fn may_pass(status: StatusCode) -> bool {
    matches!(status.as_u16(), 408 | 429 | 500 | 502 | 503 | 504)
}

/// The pause before the next try, if there is time `left` for one.
///
/// No shorter than the service `asked` for. The last pause is cut so that one more try is made
/// when the time is over.
pub(super) fn pause(
    backoff: Duration,
    asked: Option<Duration>,
    left: Duration,
) -> Option<Duration> {
    let asked = asked.unwrap_or_default().min(LONGEST_ASKED_PAUSE);
    if left.is_zero() || asked > left {
        return None;
    }
    Some(backoff.min(left).max(asked))
}

/// What `Retry-After` asks for: seconds, or a date (RFC 9110, section 10.2.3). A date that has
/// passed asks for nothing; what cannot be read is as if it were not there.
pub(super) fn after(text: &str, now: DateTime<Utc>) -> Option<Duration> {
    let text = text.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // More digits than a number holds ask for longer than anyone waits.
        return Some(Duration::from_secs(text.parse().unwrap_or(u64::MAX)));
    }
    let date = DateTime::<Utc>::from(httpdate::parse_http_date(text).ok()?);
    Some((date - now).to_std().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn what_may_pass_is_tried_again_and_nothing_else() {
        let passing: Vec<u16> = (100..=599)
            .filter(|&status| may_pass(StatusCode::from_u16(status).unwrap()))
            .collect();
        assert_eq!(passing, [408, 429, 500, 502, 503, 504]);
    }

    #[test]
    fn a_pause_is_as_long_as_asked_and_ends_in_time() {
        for (backoff, asked, left, expected) in [
            (seconds(1), None, seconds(60), Some(seconds(1))),
            (seconds(1), Some(seconds(7)), seconds(60), Some(seconds(7))),
            (seconds(9), Some(seconds(7)), seconds(60), Some(seconds(9))),
            // Once more when the time is over, unless the service asked for more.
            (seconds(9), None, seconds(5), Some(seconds(5))),
            (seconds(9), Some(seconds(5)), seconds(5), Some(seconds(5))),
            (seconds(1), Some(seconds(6)), seconds(5), None),
            (seconds(1), None, seconds(0), None),
            (seconds(1), Some(seconds(0)), seconds(0), None),
            // An hour is not waited for at once.
            (
                seconds(1),
                Some(seconds(3600)),
                seconds(9000),
                Some(seconds(300)),
            ),
            (seconds(1), Some(Duration::MAX), seconds(299), None),
        ] {
            assert_eq!(
                pause(backoff, asked, left),
                expected,
                "{backoff:?} {asked:?} {left:?}"
            );
        }
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let now = "2026-11-30T09:00:00Z".parse().unwrap();
        for (text, expected) in [
            ("0", Some(seconds(0))),
            (" 120 ", Some(seconds(120))),
            ("99999999999999999999999", Some(seconds(u64::MAX))),
            ("Mon, 30 Nov 2026 09:00:30 GMT", Some(seconds(30))),
            ("Monday, 30-Nov-26 09:00:30 GMT", Some(seconds(30))),
            ("Mon Nov 30 09:00:30 2026", Some(seconds(30))),
            ("Mon, 30 Nov 2026 08:00:00 GMT", Some(seconds(0))),
            ("", None),
            ("-1", None),
            ("1.5", None),
            ("soon", None),
            ("2026-11-30T09:00:30Z", None),
        ] {
            assert_eq!(after(text, now), expected, "{text:?}");
        }
    }
}

//! Where a run stands in history.

use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, Datelike, NaiveDateTime, TimeDelta, Timelike, Utc};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, SchemaFormat, Type};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use super::text;

/// The commit's date in UTC, whole seconds, in a year from 1970 to 9999.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunDate(DateTime<Utc>);

/// Why a text is not a run's date.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunDateError {
    /// Not RFC 3339, or without an offset.
    #[error("must be a date and time as in RFC 3339, such as 2026-11-30T09:00:00Z")]
    Format,
    /// A year that the stores do not hold alike.
    #[error("must be in a year from 1970 to 9999, in UTC")]
    Year,
}

impl RunDate {
    /// The run's date at `date`, cut to whole seconds.
    ///
    /// # Errors
    /// A year before 1970 or after 9999.
    pub fn new(date: DateTime<Utc>) -> Result<Self, RunDateError> {
        if !(1970..=9999).contains(&date.year()) {
            return Err(RunDateError::Year);
        }
        Ok(Self(cut(date)))
    }

    /// As the stores keep it, without a zone.
    pub fn naive(self) -> NaiveDateTime {
        self.0.naive_utc()
    }

    /// Seconds since 1970.
    pub fn timestamp(self) -> i64 {
        self.0.timestamp()
    }
}

/// A bound on run dates: it parts those before it from those on or after it.
///
/// Runs are dated in whole seconds, so a bound is kept as the last second that is before it. Any
/// date of RFC 3339 is one: a bound before the first date that a run may have has all runs after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DateBound(NaiveDateTime);

impl RunDate {
    /// The last date that a run can have.
    pub const LATEST: Self = Self(END);
}

impl DateBound {
    /// The last second before the bound, without a zone: `run_date > this` is on or after the bound.
    pub fn last_second_before(self) -> NaiveDateTime {
        self.0
    }
}

impl FromStr for DateBound {
    type Err = RunDateError;

    fn from_str(text: &str) -> Result<Self, RunDateError> {
        let exact = parse(text)?;
        let second = cut(exact);
        let before = if second == exact {
            second - TimeDelta::seconds(1)
        } else {
            second
        };
        // Every store holds the second before 1970 and that before the year 10000.
        let date = match before.year() {
            ..1970 => DateTime::UNIX_EPOCH - TimeDelta::seconds(1),
            1970..=9999 => before,
            10_000.. => END,
        };
        Ok(Self(date.naive_utc()))
    }
}

/// The last second of the year 9999.
const END: DateTime<Utc> = DateTime::from_timestamp(253_402_300_799, 0).expect("is a date");

/// Without its fraction; a leap second counts as the one before it, as `chrono` holds it.
fn cut(date: DateTime<Utc>) -> DateTime<Utc> {
    date.with_nanosecond(0).unwrap_or(date)
}

fn parse(text: &str) -> Result<DateTime<Utc>, RunDateError> {
    DateTime::parse_from_rfc3339(text)
        .map(|date| date.with_timezone(&Utc))
        .map_err(|_| RunDateError::Format)
}

impl FromStr for RunDate {
    type Err = RunDateError;

    fn from_str(text: &str) -> Result<Self, RunDateError> {
        Self::new(parse(text)?)
    }
}

impl TryFrom<NaiveDateTime> for RunDate {
    type Error = RunDateError;

    fn try_from(date: NaiveDateTime) -> Result<Self, RunDateError> {
        Self::new(date.and_utc())
    }
}

impl<'de> Deserialize<'de> for RunDate {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        text::parsed(source)
    }
}

impl Serialize for RunDate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl From<RunDate> for String {
    fn from(date: RunDate) -> Self {
        date.to_string()
    }
}

/// A date and time of RFC 3339.
fn date_schema() -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)))
}

impl PartialSchema for RunDate {
    fn schema() -> RefOr<Schema> {
        date_schema()
            .max_length(Some(64))
            .pattern(Some("^(19[7-9][0-9]|[2-9][0-9]{3})-"))
            .into()
    }
}

impl ToSchema for RunDate {}

impl PartialSchema for DateBound {
    fn schema() -> RefOr<Schema> {
        date_schema().into()
    }
}

impl ToSchema for DateBound {}

impl fmt::Display for RunDate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // As RFC 3339 has it. A window writes this for each point, where chrono's general way is felt.
        let (date, time) = (self.0.date_naive(), self.0.time());
        write!(
            f,
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z",
            date.year(),
            date.month(),
            date.day(),
            time.hour(),
            time.minute(),
            time.second()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn date(text: &str) -> String {
        text.parse::<RunDate>().unwrap().to_string()
    }

    #[test]
    fn an_offset_becomes_utc_and_fractions_are_cut() {
        assert_eq!(date("2026-11-30T01:02:03+02:00"), "2026-11-29T23:02:03Z");
        assert_eq!(date("2026-11-30T01:02:03.999999Z"), "2026-11-30T01:02:03Z");
        assert_eq!(date("2016-12-31T23:59:60Z"), "2016-12-31T23:59:59Z");
    }

    #[test]
    fn the_year_is_that_of_utc() {
        assert_eq!(date("1969-12-31T23:00:00-01:00"), "1970-01-01T00:00:00Z");
        assert_eq!(
            "1970-01-01T00:00:00+01:00".parse::<RunDate>(),
            Err(RunDateError::Year)
        );
        assert_eq!(
            "9999-12-31T23:59:59-01:00".parse::<RunDate>(),
            Err(RunDateError::Year)
        );
    }

    #[test]
    fn a_date_without_offset_or_out_of_the_calendar_is_refused() {
        for text in ["2026-11-30T01:02:03", "2026-02-30T00:00:00Z", "today", ""] {
            assert_eq!(text.parse::<RunDate>(), Err(RunDateError::Format), "{text}");
        }
    }

    #[test]
    fn a_bound_parts_whole_seconds() {
        let bound = |text: &str| {
            let bound: DateBound = text.parse().unwrap();
            bound.last_second_before().to_string()
        };
        assert_eq!(bound("2026-11-30T01:02:03.5Z"), "2026-11-30 01:02:03");
        assert_eq!(bound("2026-11-30T01:02:03Z"), "2026-11-30 01:02:02");
        assert_eq!(bound("1970-01-01T00:00:00Z"), "1969-12-31 23:59:59");
        assert_eq!(bound("0000-01-01T00:00:00Z"), "1969-12-31 23:59:59");
        assert_eq!(bound("9999-12-31T23:59:59.5Z"), "9999-12-31 23:59:59");
        assert_eq!(bound("9999-12-31T23:59:59-23:00"), "9999-12-31 23:59:59");
    }
}

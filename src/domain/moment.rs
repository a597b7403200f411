//! A time at which something was done to a run.

use std::fmt;

use chrono::{DateTime, NaiveDateTime, Utc};
use serde::{Deserialize, Serialize};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use super::{RunDate, RunDateError};

/// When a run was uploaded or taken back: UTC, in whole seconds.
///
/// It says nothing about where the run stands in history; [`RunDate`] does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Moment(RunDate);

impl Moment {
    /// The time `now`, cut to whole seconds.
    ///
    /// # Errors
    /// A clock that is set before 1970 or after 9999.
    pub fn new(now: DateTime<Utc>) -> Result<Self, RunDateError> {
        RunDate::new(now).map(Self)
    }

    /// As the stores keep it, without a zone.
    pub fn naive(self) -> NaiveDateTime {
        self.0.naive()
    }
}

impl TryFrom<NaiveDateTime> for Moment {
    type Error = RunDateError;

    fn try_from(date: NaiveDateTime) -> Result<Self, RunDateError> {
        date.try_into().map(Self)
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl PartialSchema for Moment {
    fn schema() -> RefOr<Schema> {
        RunDate::schema()
    }
}

impl ToSchema for Moment {}

//! Axes: which part of the numbers they show, and at which numbers they have a tick.

use chrono::{DateTime, Datelike, Days, Months, NaiveDate, TimeDelta, Timelike};

use crate::judge::Unit;
use crate::report::number::{Magnitude, magnitude};

/// What a vertical axis counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counts {
    /// Values of a metric.
    Unit(Unit),
    /// Differences in percent.
    Percent,
}

/// The vertical axis.
pub(super) struct ValueAxis {
    pub(super) low: f64,
    pub(super) high: f64,
    step: f64,
    magnitude: Magnitude,
    signed: bool,
}

/// A value is far from the others where it is further out than so many times their spread.
const FAR: f64 = 4.0;

impl ValueAxis {
    /// An axis with about `ticks` ticks for `values`, all of them or those that are not far from the rest.
    pub(super) fn new(values: &[f64], whole: bool, ticks: usize, counts: Counts) -> Self {
        let (low, high) = range(values, whole);
        let magnitude = match counts {
            Counts::Unit(unit) => magnitude(low.abs().max(high.abs()), unit),
            Counts::Percent => Magnitude {
                factor: 1.0,
                suffix: " %".to_owned(),
            },
        };
        let step = nice((high - low) / magnitude.factor / ticks as f64) * magnitude.factor;
        Self {
            low: (low / step).floor() * step,
            high: (high / step).ceil() * step,
            step,
            magnitude,
            signed: counts == Counts::Percent,
        }
    }

    /// Where a value stands: 0 at the bottom, 1 at the top; one outside stands at the edge.
    pub(super) fn share(&self, value: f64) -> f64 {
        ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }

    pub(super) fn holds(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// The ticks with their labels.
    pub(super) fn ticks(&self) -> Vec<(f64, String)> {
        let count = ((self.high - self.low) / self.step).round() as usize;
        let values = (0..=count.min(40)).map(|index| self.low + index as f64 * self.step);
        values.map(|value| (value, self.label(value))).collect()
    }

    /// Characters of the longest label.
    pub(super) fn widest(&self) -> usize {
        let lengths = self
            .ticks()
            .into_iter()
            .map(|(_, label)| label.chars().count());
        lengths.max().unwrap_or(0)
    }

    fn label(&self, value: f64) -> String {
        let step = self.step / self.magnitude.factor;
        let decimals = decimals(step);
        let number = value / self.magnitude.factor;
        // The sum of steps misses zero by a rounding.
        let number = if number.abs() < step / 1e6 {
            0.0
        } else {
            number
        };
        let sign = if self.signed && number > 0.0 { "+" } else { "" };
        format!("{sign}{number:.decimals$}{}", self.magnitude.suffix)
    }
}

/// The fewest decimals that tell the steps of a nice axis apart: 1 of 2.5, 3 of 0.025.
fn decimals(step: f64) -> usize {
    let is_told = |decimals: &i32| {
        let shifted = step * 10_f64.powi(*decimals);
        shifted >= 0.999 && (shifted - shifted.round()).abs() < 1e-6 * shifted
    };
    (0..9).find(is_told).unwrap_or(9) as usize
}

/// The lowest and the highest value to show, with some room around them.
fn range(values: &[f64], whole: bool) -> (f64, f64) {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (Some(&first), Some(&last)) = (sorted.first(), sorted.last()) else {
        return (0.0, 1.0);
    };
    let (mut low, mut high) = (first, last);
    if !whole && sorted.len() >= 10 {
        // At most one value in twenty lies outside of these on each side.
        let cut = sorted.len().div_ceil(20).min(sorted.len() / 2 - 1);
        let (near_low, near_high) = (sorted[cut], sorted[sorted.len() - 1 - cut]);
        let spread = (near_high - near_low).max(near_high.abs() * 1e-3);
        let is_near = |value: &&f64| {
            **value >= near_low - FAR * spread && **value <= near_high + FAR * spread
        };
        low = sorted.iter().find(is_near).copied().unwrap_or(low);
        high = sorted.iter().rev().find(is_near).copied().unwrap_or(high);
    }
    let room = match high - low {
        spread if spread > 0.0 => spread * 0.08,
        _ => (high.abs() * 0.01).max(1e-4),
    };
    // An axis of numbers that are none below zero does not go below it.
    let bottom = if low >= 0.0 {
        (low - room).max(0.0)
    } else {
        low - room
    };
    (bottom, high + room)
}

/// The smallest of 1, 2, 2.5 and 5 times a power of ten that is not below `step`.
fn nice(step: f64) -> f64 {
    let power = 10_f64.powf(step.log10().floor());
    let nice = [1.0, 2.0, 2.5, 5.0].into_iter().map(|part| part * power);
    nice.into_iter()
        .find(|nice| *nice >= step * 0.999_999)
        .unwrap_or(10.0 * power)
}

/// The horizontal axis, in seconds since 1970.
pub(super) struct TimeAxis {
    pub(super) first: i64,
    pub(super) last: i64,
}

/// The distance of two ticks.
#[derive(Clone, Copy)]
enum Every {
    Hours(i64),
    Days(u64),
    Months(u32),
    Years(i32),
}

const EVERY: [Every; 16] = [
    Every::Hours(1),
    Every::Hours(3),
    Every::Hours(6),
    Every::Hours(12),
    Every::Days(1),
    Every::Days(2),
    Every::Days(7),
    Every::Days(14),
    Every::Months(1),
    Every::Months(2),
    Every::Months(3),
    Every::Months(6),
    Every::Years(1),
    Every::Years(2),
    Every::Years(5),
    Every::Years(10),
];

impl Every {
    fn seconds(self) -> i64 {
        match self {
            Self::Hours(hours) => hours * 3600,
            Self::Days(days) => days as i64 * 86_400,
            Self::Months(months) => i64::from(months) * 2_629_800,
            Self::Years(years) => i64::from(years) * 31_557_600,
        }
    }
}

impl TimeAxis {
    pub(super) fn new(times: impl Iterator<Item = i64>) -> Self {
        let (first, last) = times.fold((i64::MAX, i64::MIN), |(first, last), at| {
            (first.min(at), last.max(at))
        });
        if first > last {
            return Self { first: 0, last: 1 };
        }
        if first == last {
            return Self {
                first: first - 43_200,
                last: last + 43_200,
            };
        }
        Self { first, last }
    }

    pub(super) fn share(&self, at: i64) -> f64 {
        let share = (at - self.first) as f64 / (self.last - self.first) as f64;
        share.clamp(0.0, 1.0)
    }

    pub(super) fn holds(&self, at: i64) -> bool {
        (self.first..=self.last).contains(&at)
    }

    /// At most about `most` ticks with their labels, at round dates.
    pub(super) fn ticks(&self, most: usize) -> Vec<(i64, String)> {
        let fits = |every: &&Every| (self.last - self.first) / every.seconds() <= most as i64;
        let every = EVERY.iter().find(fits).copied().unwrap_or(Every::Years(50));
        let Some(mut at) = DateTime::from_timestamp(self.first, 0).map(|date| date.naive_utc())
        else {
            return Vec::new();
        };
        at = floor(at.date(), at.hour(), every);
        let mut ticks = Vec::new();
        let mut year = None;
        while at.and_utc().timestamp() <= self.last && ticks.len() < 100 {
            if at.and_utc().timestamp() >= self.first {
                let shows_year = year != Some(at.year());
                year = Some(at.year());
                ticks.push((at.and_utc().timestamp(), label(at, every, shows_year)));
            }
            let next = match every {
                Every::Hours(hours) => at.checked_add_signed(TimeDelta::hours(hours)),
                Every::Days(days) => at.checked_add_days(Days::new(days)),
                Every::Months(months) => at.checked_add_months(Months::new(months)),
                Every::Years(years) => at.checked_add_months(Months::new(years as u32 * 12)),
            };
            match next {
                Some(next) => at = next,
                None => break,
            }
        }
        ticks
    }
}

/// The round date at or before a date.
fn floor(date: NaiveDate, hour: u32, every: Every) -> chrono::NaiveDateTime {
    let round = match every {
        Every::Hours(hours) => {
            let hour = hour - hour % hours as u32;
            return date.and_hms_opt(hour, 0, 0).unwrap_or_default();
        }
        Every::Days(7 | 14) => date
            .checked_sub_days(Days::new(date.weekday().num_days_from_monday().into()))
            .unwrap_or(date),
        Every::Days(_) => date,
        Every::Months(months) => {
            let month = date.month0() - date.month0() % months;
            NaiveDate::from_ymd_opt(date.year(), month + 1, 1).unwrap_or(date)
        }
        Every::Years(years) => {
            let year = date.year() - date.year() % years;
            NaiveDate::from_ymd_opt(year, 1, 1).unwrap_or(date)
        }
    };
    round.and_hms_opt(0, 0, 0).unwrap_or_default()
}

/// A date as short as the distance of the ticks allows.
fn label(at: chrono::NaiveDateTime, every: Every, shows_year: bool) -> String {
    let format = match every {
        Every::Hours(_) if at.hour() == 0 => "%-d %b",
        Every::Hours(_) => "%H:%M",
        Every::Days(_) if shows_year => "%-d %b %Y",
        Every::Days(_) => "%-d %b",
        Every::Months(_) if shows_year => "%b %Y",
        Every::Months(_) => "%b",
        Every::Years(_) => "%Y",
    };
    at.format(format).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(values: &[f64], counts: Counts) -> Vec<String> {
        let axis = ValueAxis::new(values, false, 5, counts);
        axis.ticks().into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn ticks_are_round_in_the_unit_that_they_are_read_in() {
        let bytes = Counts::Unit(Unit::Bytes);
        assert_eq!(
            labels(&[60.0 * 1_048_576.0, 64.0 * 1_048_576.0], bytes),
            [
                "59 MiB", "60 MiB", "61 MiB", "62 MiB", "63 MiB", "64 MiB", "65 MiB"
            ]
        );
        assert_eq!(
            labels(&[-2.0, 3.0], Counts::Percent),
            ["-4 %", "-2 %", "0 %", "+2 %", "+4 %"]
        );
        for (step, expected) in [
            (2.5, 1),
            (0.025, 3),
            (0.5, 1),
            (1.0, 0),
            (20.0, 0),
            (0.25, 2),
        ] {
            assert_eq!(decimals(step), expected, "{step}");
        }
    }

    #[test]
    fn dates_are_round_and_few() {
        let axis = |first: &str, last: &str| {
            let seconds = |text: &str| DateTime::parse_from_rfc3339(text).unwrap().timestamp();
            TimeAxis::new([seconds(first), seconds(last)].into_iter())
        };
        let labels = |axis: TimeAxis, most| -> Vec<String> {
            axis.ticks(most)
                .into_iter()
                .map(|(_, label)| label)
                .collect()
        };
        assert_eq!(
            labels(axis("2025-11-20T10:00:00Z", "2026-03-02T00:00:00Z"), 6),
            ["Dec 2025", "Jan 2026", "Feb", "Mar"]
        );
        assert_eq!(
            labels(axis("2026-11-29T22:10:00Z", "2026-11-30T03:00:00Z"), 6),
            ["23:00", "30 Nov", "01:00", "02:00", "03:00"]
        );
    }
}

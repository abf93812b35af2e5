//! Calendar dates and times of day.
//!
//! Both are plain numbers underneath, so that they order, compare and copy for free. Neither ever
//! meets a time zone. A date may be infinite, as PostgreSQL's can; a time may be 24:00:00, as
//! PostgreSQL's can.

use core::fmt;

use super::{
    calendar::{civil_from_days, days_from_civil},
    parse::{Cursor, infinity},
    text::Text,
};

/// A date of the proleptic Gregorian calendar, or one of the two infinities beyond all dates.
///
/// Dates reach from the year -5877641 to the year 5881580. Text form: `2024-03-01`; outside the
/// years 0001 to 9999 with a signed year of at least six digits (`+099999-12-31`, `-004712-01-01`;
/// `+000000` is the year before 0001); `infinity`, `-infinity`.
#[derive(Clone, Copy, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Date(i32);

impl Date {
    /// Later than every date.
    pub const INFINITY: Self = Self(i32::MAX);
    /// Earlier than every date.
    pub const NEG_INFINITY: Self = Self(i32::MIN);

    /// The date a number of days after 1970-01-01. `i32::MAX` and `i32::MIN` are the infinities.
    #[must_use]
    pub const fn from_days(days: i32) -> Self {
        Self(days)
    }

    /// The date of a year (0 is the year before 1), month (1–12) and day (1–31); `None` where the
    /// calendar has no such day or it is out of range.
    #[must_use]
    pub const fn from_ymd(year: i32, month: u8, day: u8) -> Option<Self> {
        match days_from_civil(year, month, day) {
            // Those two stand for the infinities.
            None | Some(i32::MIN | i32::MAX) => None,
            Some(days) => Some(Self(days)),
        }
    }

    /// Reads the text form. A year of four digits or a signed one of at least six; the infinity
    /// words in any case.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if let Some(negative) = infinity(text) {
            return Some(if negative { Self::NEG_INFINITY } else { Self::INFINITY });
        }
        let mut cursor = Cursor::new(text);
        let date = cursor.date()?;
        cursor.end()?;
        Some(date)
    }

    /// Days since 1970-01-01; `i32::MAX` and `i32::MIN` for the infinities.
    #[must_use]
    pub const fn days(self) -> i32 {
        self.0
    }

    /// Year, month and day; `None` for the infinities.
    #[must_use]
    pub const fn ymd(self) -> Option<(i32, u8, u8)> {
        if self.is_finite() { Some(civil_from_days(self.0)) } else { None }
    }

    /// Whether this is a date and not an infinity.
    #[must_use]
    pub const fn is_finite(self) -> bool {
        !matches!(self.0, i32::MIN | i32::MAX)
    }

    /// The text form, for an encoder.
    pub(crate) fn text(self) -> Text {
        Text::of_date(self)
    }
}

impl fmt::Debug for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Date({self})")
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.text().as_str())
    }
}

/// A time of day in nanoseconds, from 00:00:00 to 24:00:00, both included.
///
/// Text form: `12:34:56`, with a fraction only where it is not zero (`12:34:56.789`). There are no
/// leap seconds.
#[derive(Clone, Copy, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Time(u64);

impl Time {
    /// 00:00:00.
    pub const MIDNIGHT: Self = Self(0);
    /// 24:00:00, the end of a day. PostgreSQL's `time` has it as a value of its own.
    pub const END_OF_DAY: Self = Self(86_400 * NANOS);

    /// The time a number of nanoseconds after midnight; `None` after 24:00:00.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Option<Self> {
        if nanos <= Self::END_OF_DAY.0 { Some(Self(nanos)) } else { None }
    }

    /// The time of an hour, minute and second.
    #[must_use]
    pub const fn from_hms(hour: u8, minute: u8, second: u8) -> Option<Self> {
        Self::from_hms_nano(hour, minute, second, 0)
    }

    /// The time of an hour, minute, second and nanosecond. Each in its own range, except that
    /// 24:00:00 sharp is one, too.
    #[must_use]
    pub const fn from_hms_nano(hour: u8, minute: u8, second: u8, nanos: u32) -> Option<Self> {
        if minute > 59 || second > 59 || nanos as u64 >= NANOS {
            return None;
        }
        let seconds = hour as u64 * 3600 + minute as u64 * 60 + second as u64;
        Self::from_nanos(seconds * NANOS + nanos as u64)
    }

    /// Reads the text form. Seconds are required; a fraction has one to nine digits.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut cursor = Cursor::new(text);
        let time = cursor.time()?;
        cursor.end()?;
        Some(time)
    }

    /// Nanoseconds since midnight.
    #[must_use]
    pub const fn nanos(self) -> u64 {
        self.0
    }

    /// The text form, for an encoder.
    pub(crate) fn text(self) -> Text {
        Text::of_time(self)
    }

    /// Whole seconds since midnight, and the rest.
    pub(super) const fn seconds_and_nanos(self) -> (u32, u32) {
        ((self.0 / NANOS) as u32, (self.0 % NANOS) as u32)
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Time({self})")
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.text().as_str())
    }
}

const NANOS: u64 = 1_000_000_000;

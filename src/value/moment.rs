//! Date and time together: [`Timestamp`], which has no zone, and [`Instant`], which is in UTC.
//!
//! Two types, because a naive time never meets a zone: nothing here turns the one into the other.
//! Both are the same pair of numbers underneath. The finite ones are exactly those whose day a
//! finite [`Date`] can name, so [`Timestamp::date`] is total; the pair is ordered as it stands.

use core::fmt;

use super::{
    parse::{Cursor, infinity},
    temporal::{Date, Time},
    text::Text,
};

/// Seconds and nanoseconds since 1970-01-01T00:00:00. Nanoseconds always count forward.
#[derive(Clone, Copy, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(super) struct Moment {
    seconds: i64,
    nanos: u32,
}

impl Moment {
    pub(super) const INFINITY: Self = Self { seconds: i64::MAX, nanos: 0 };
    const NEG_INFINITY: Self = Self { seconds: i64::MIN, nanos: 0 };

    /// The first second of the first day and of the day that a [`Date`] can no longer name.
    const RANGE: core::ops::Range<i64> = (i32::MIN as i64 + 1) * DAY..i32::MAX as i64 * DAY;

    const fn new(seconds: i64, nanos: u32) -> Option<Self> {
        if seconds < Self::RANGE.start || seconds >= Self::RANGE.end || nanos >= 1_000_000_000 {
            return None;
        }
        Some(Self { seconds, nanos })
    }

    const fn from_date_time(date: Date, time: Time) -> Option<Self> {
        if !date.is_finite() {
            return Some(if date.days() > 0 { Self::INFINITY } else { Self::NEG_INFINITY });
        }
        let (seconds, nanos) = time.seconds_and_nanos();
        Self::new(date.days() as i64 * DAY + seconds as i64, nanos)
    }

    fn parse(text: &str, utc: bool) -> Option<Self> {
        if let Some(negative) = infinity(text) {
            return Some(if negative { Self::NEG_INFINITY } else { Self::INFINITY });
        }
        let mut cursor = Cursor::new(text);
        let date = cursor.date()?;
        cursor.separator()?;
        let time = cursor.time()?;
        let offset = if utc { cursor.offset()? } else { 0 };
        cursor.end()?;
        let local = Self::from_date_time(date, time)?;
        Self::new(local.seconds.checked_sub(offset)?, local.nanos)
    }

    const fn is_finite(self) -> bool {
        !matches!(self.seconds, i64::MIN | i64::MAX)
    }

    const fn date(self) -> Date {
        match self.split() {
            Some((days, ..)) => Date::from_days(days),
            None if self.seconds > 0 => Date::INFINITY,
            None => Date::NEG_INFINITY,
        }
    }

    const fn time(self) -> Option<Time> {
        match self.split() {
            Some((_, seconds, nanos)) => {
                Time::from_nanos(seconds as u64 * 1_000_000_000 + nanos as u64)
            }
            None => None,
        }
    }

    /// Days since 1970-01-01, seconds of the day and nanoseconds of the second, if finite.
    #[inline]
    pub(super) const fn split(self) -> Option<(i32, u32, u32)> {
        if !self.is_finite() {
            return None;
        }
        // Unsigned division by a constant is the cheaper one; the range keeps the sum positive.
        let shifted = self.seconds.wrapping_sub(Self::RANGE.start).cast_unsigned();
        let days = (shifted / DAY.cast_unsigned()).cast_signed() + (i32::MIN as i64 + 1);
        Some((days as i32, (shifted % DAY.cast_unsigned()) as u32, self.nanos))
    }
}

/// Seconds in a day.
const DAY: i64 = 86_400;

/// A date and time of day in no zone, or one of the two infinities beyond all of them.
///
/// It reaches as far as [`Date`] does, in nanoseconds. Text form: `2024-03-01T12:34:56.789`, the
/// parts as [`Date`] and [`Time`] write them and never a zone; `infinity`, `-infinity`.
#[derive(Clone, Copy, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Timestamp(Moment);

/// A point in time, in UTC, or one of the two infinities beyond all of them.
///
/// It reaches as far as [`Date`] does, in nanoseconds. Text form: RFC 3339 with `Z`,
/// `2024-03-01T12:34:56.789Z`, the parts as [`Date`] and [`Time`] write them; `infinity`,
/// `-infinity`.
#[derive(Clone, Copy, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Instant(Moment);

impl Timestamp {
    /// Reads the text form. `T`, `t` or one space between date and time; a zone is refused;
    /// 24:00:00 is the next day's midnight; the infinity words in any case.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Moment::parse(text, false).map(Self)
    }

    /// The text form, for an encoder.
    #[inline]
    pub(crate) fn text(self) -> Text {
        Text::of_moment(self.0, false)
    }
}

impl Instant {
    /// Reads the text form. `T`, `t` or one space between date and time; an offset is required
    /// (`Z`, `z`, `+02:00`, `-0330`, `+02`) and taken off; 24:00:00 is the next day's midnight;
    /// the infinity words, without an offset, in any case.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Moment::parse(text, true).map(Self)
    }

    /// The text form, for an encoder.
    #[inline]
    pub(crate) fn text(self) -> Text {
        Text::of_moment(self.0, true)
    }
}

/// What the two types share; they differ only in how they are read and written.
macro_rules! moment {
    ($name:ident) => {
        impl $name {
            /// Later than every other.
            pub const INFINITY: Self = Self(Moment::INFINITY);
            /// Earlier than every other.
            pub const NEG_INFINITY: Self = Self(Moment::NEG_INFINITY);

            /// From seconds since 1970-01-01T00:00:00 and the nanoseconds after them (below one
            /// thousand million, counting forward also before 1970); `None` out of range. Never an
            /// infinity.
            #[must_use]
            pub const fn new(seconds: i64, nanos: u32) -> Option<Self> {
                match Moment::new(seconds, nanos) {
                    Some(moment) => Some(Self(moment)),
                    None => None,
                }
            }

            /// A date and a time of it; 24:00:00 is the next day's midnight, an infinite date is
            /// an infinity whatever the time. `None` out of range.
            #[must_use]
            pub const fn from_date_time(date: Date, time: Time) -> Option<Self> {
                match Moment::from_date_time(date, time) {
                    Some(moment) => Some(Self(moment)),
                    None => None,
                }
            }

            /// Whole seconds since 1970-01-01T00:00:00, rounded down; `i64::MAX` and `i64::MIN`
            /// for the infinities.
            #[must_use]
            pub const fn seconds(self) -> i64 {
                self.0.seconds
            }

            /// Nanoseconds after [`seconds`](Self::seconds), below one thousand million.
            #[must_use]
            pub const fn nanos(self) -> u32 {
                self.0.nanos
            }

            /// The date; an infinity has an infinite one.
            #[must_use]
            pub const fn date(self) -> Date {
                self.0.date()
            }

            /// The time of day; `None` for the infinities.
            #[must_use]
            pub const fn time(self) -> Option<Time> {
                self.0.time()
            }

            /// Whether this is not an infinity.
            #[must_use]
            pub const fn is_finite(self) -> bool {
                self.0.is_finite()
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.text().as_str())
            }
        }
    };
}

moment!(Timestamp);
moment!(Instant);

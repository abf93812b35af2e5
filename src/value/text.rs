//! The text form of dates, times and moments, written without allocation and without `core::fmt`.
//!
//! ISO 8601 / RFC 3339. A year outside 0001–9999 is written in the expanded form of ECMA-262
//! ("Date Time String Format"): a sign and at least six digits. A fraction is there only when it
//! is not zero and has no trailing zeros. This runs once per cell of an encoder.

use super::{
    calendar::civil_from_days,
    moment::Moment,
    temporal::{Date, Time},
};

/// The longest is an instant in a seven-digit year: `-5877641-06-24T12:34:56.123456789Z`.
const CAPACITY: usize = 34;

/// `00` to `99`, so that two digits cost one look-up.
const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[b'0'; 2]; 100];
    let mut n = 0;
    while n < 100 {
        pairs[n] = [b'0' + n as u8 / 10, b'0' + n as u8 % 10];
        n += 1;
    }
    pairs
};

/// A short ASCII text on the stack.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Text {
    bytes: [u8; CAPACITY],
    len: u8,
}

impl Text {
    /// The text with what is behind it, and its length, for an encoder.
    #[inline]
    pub(crate) fn in_block(&self) -> (&[u8; CAPACITY], usize) {
        (&self.bytes, self.len.into())
    }

    /// The text, for a formatter.
    pub(crate) fn as_str(&self) -> &str {
        let bytes = self.bytes.get(..usize::from(self.len)).unwrap_or_default();
        str::from_utf8(bytes).unwrap_or_default()
    }

    pub(super) fn of_date(date: Date) -> Self {
        if !date.is_finite() {
            return Self::of_infinity(date < Date::INFINITY);
        }
        let mut text = Self::new();
        text.push_date(date.days());
        text
    }

    pub(super) fn of_time(time: Time) -> Self {
        let mut text = Self::new();
        let (seconds, nanos) = time.seconds_and_nanos();
        text.push_time(seconds, nanos);
        text
    }

    #[inline]
    pub(super) fn of_moment(moment: Moment, utc: bool) -> Self {
        let Some((days, seconds, nanos)) = moment.split() else {
            return Self::of_infinity(moment < Moment::INFINITY);
        };
        let mut text = Self::new();
        text.push_date(days);
        text.push(*b"T");
        text.push_time(seconds, nanos);
        if utc {
            text.push(*b"Z");
        }
        text
    }

    fn of_infinity(negative: bool) -> Self {
        let mut text = Self::new();
        if negative {
            text.push(*b"-");
        }
        text.push(*b"infinity");
        text
    }

    #[inline]
    const fn new() -> Self {
        Self { bytes: [0; CAPACITY], len: 0 }
    }

    /// Appends a part of fixed size. `CAPACITY` holds every text, so the part always fits.
    #[inline]
    fn push<const N: usize>(&mut self, part: [u8; N]) {
        let place = self.bytes.get_mut(usize::from(self.len)..);
        if let Some(place) = place.and_then(<[u8]>::first_chunk_mut) {
            *place = part;
            self.len += N as u8;
        }
    }

    #[inline]
    fn push_date(&mut self, days: i32) {
        let (year, month, day) = civil_from_days(days);
        let [m1, m2] = pair(u32::from(month));
        let [d1, d2] = pair(u32::from(day));
        if matches!(year, 1..=9999) {
            let [y1, y2] = pair(year.unsigned_abs() / 100);
            let [y3, y4] = pair(year.unsigned_abs() % 100);
            self.push([y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2]);
        } else {
            self.push_expanded_year(year);
            self.push([b'-', m1, m2, b'-', d1, d2]);
        }
    }

    #[cold]
    fn push_expanded_year(&mut self, year: i32) {
        self.push(if year < 0 { *b"-" } else { *b"+" });
        let year = year.unsigned_abs();
        // No date that fits a day number has an eighth digit.
        let millions = year / 1_000_000;
        if millions > 0 {
            self.push([b'0' + (millions % 10) as u8]);
        }
        self.push(pair(year / 10_000 % 100));
        self.push(pair(year / 100 % 100));
        self.push(pair(year % 100));
    }

    #[inline]
    fn push_time(&mut self, seconds: u32, nanos: u32) {
        let [h1, h2] = pair(seconds / 3600);
        let [m1, m2] = pair(seconds / 60 % 60);
        let [s1, s2] = pair(seconds % 60);
        self.push([h1, h2, b':', m1, m2, b':', s1, s2]);
        if nanos != 0 {
            self.push_fraction(nanos);
        }
    }

    #[inline]
    fn push_fraction(&mut self, nanos: u32) {
        let [b, c] = pair(nanos / 1_000_000 % 100);
        let [d, e] = pair(nanos / 10_000 % 100);
        let [f, g] = pair(nanos / 100 % 100);
        let [h, i] = pair(nanos % 100);
        let digits = [b'.', b'0' + (nanos / 100_000_000 % 10) as u8, b, c, d, e, f, g, h, i];
        let zeros = digits.iter().rev().take_while(|&&digit| digit == b'0').count();
        self.push(digits);
        self.len -= zeros as u8;
    }
}

/// The two digits of a number.
#[inline]
pub(crate) fn pair(n: u32) -> [u8; 2] {
    // Callers pass numbers below one hundred; the look-up is total all the same.
    PAIRS.get(n as usize).copied().unwrap_or(*b"00")
}

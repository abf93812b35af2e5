//! Reading the text form of dates, times and moments.
//!
//! Strict: the forms that the types document and nothing else; no white space, nothing left over,
//! no field out of its range, no fraction that nanoseconds cannot hold. Every step is an `Option`.

use super::temporal::{Date, Time};

/// The rest of a text that is being read from its front.
pub(super) struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    pub(super) const fn new(text: &'a str) -> Self {
        Self(text.as_bytes())
    }

    /// Succeeds only where everything has been read.
    pub(super) const fn end(&self) -> Option<()> {
        if self.0.is_empty() { Some(()) } else { None }
    }

    /// A date in the plain form (four-digit year) or the expanded form (signed year).
    pub(super) fn date(&mut self) -> Option<Date> {
        let year = self.year()?;
        self.eat(b"-")?;
        let month = self.two_digits()?;
        self.eat(b"-")?;
        let day = self.two_digits()?;
        Date::from_ymd(year, month, day)
    }

    /// A time of day with seconds and, optionally, a fraction.
    pub(super) fn time(&mut self) -> Option<Time> {
        let hour = self.two_digits()?;
        self.eat(b":")?;
        let minute = self.two_digits()?;
        self.eat(b":")?;
        let second = self.two_digits()?;
        let nanos = if self.eat(b".").is_some() { self.fraction()? } else { 0 };
        Time::from_hms_nano(hour, minute, second, nanos)
    }

    /// What stands between a date and a time: `T`, `t` or one space.
    pub(super) fn separator(&mut self) -> Option<()> {
        self.eat(b"T").or_else(|| self.eat(b"t")).or_else(|| self.eat(b" "))
    }

    /// An offset from UTC in seconds: `Z`, `z`, `+hh:mm`, `-hhmm` or `+hh`.
    pub(super) fn offset(&mut self) -> Option<i64> {
        if self.eat(b"Z").or_else(|| self.eat(b"z")).is_some() {
            return Some(0);
        }
        let negative = self.sign()?;
        let hours = self.two_digits()?;
        let minutes = match self.0 {
            [] => 0,
            _ => {
                let _ = self.eat(b":");
                self.two_digits()?
            }
        };
        if hours > 23 || minutes > 59 {
            return None;
        }
        let seconds = i64::from(hours) * 3600 + i64::from(minutes) * 60;
        Some(if negative { -seconds } else { seconds })
    }

    fn year(&mut self) -> Option<i32> {
        let Some(negative) = self.sign() else {
            return Some(i32::from(self.two_digits()?) * 100 + i32::from(self.two_digits()?));
        };
        let digits = self.digits();
        if digits.len() < 6 {
            return None;
        }
        let year = decimal(digits)?;
        match (negative, year) {
            // Year zero has one spelling, as in ECMA-262.
            (true, 0) => None,
            (true, _) => Some(-year),
            (false, _) => Some(year),
        }
    }

    fn fraction(&mut self) -> Option<u32> {
        let digits = self.digits();
        if digits.is_empty() || digits.len() > 9 {
            return None;
        }
        let scale = 10_i32.checked_pow(9 - digits.len() as u32)?;
        u32::try_from(decimal(digits)?.checked_mul(scale)?).ok()
    }

    /// Whether the sign that comes next is a minus; `None` where there is no sign.
    fn sign(&mut self) -> Option<bool> {
        if self.eat(b"-").is_some() {
            return Some(true);
        }
        self.eat(b"+").map(|()| false)
    }

    fn two_digits(&mut self) -> Option<u8> {
        let (&[tens, ones], rest) = self.0.split_first_chunk()?;
        if !tens.is_ascii_digit() || !ones.is_ascii_digit() {
            return None;
        }
        self.0 = rest;
        Some((tens - b'0') * 10 + (ones - b'0'))
    }

    fn digits(&mut self) -> &'a [u8] {
        let len = self.0.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (digits, rest) = self.0.split_at_checked(len).unwrap_or_default();
        self.0 = rest;
        digits
    }

    fn eat(&mut self, expected: &[u8]) -> Option<()> {
        self.0 = self.0.strip_prefix(expected)?;
        Some(())
    }
}

/// Whether a text is one of the infinity words, in any case, and then whether it is the negative.
pub(super) fn infinity(text: &str) -> Option<bool> {
    if text.eq_ignore_ascii_case("infinity") || text.eq_ignore_ascii_case("+infinity") {
        return Some(false);
    }
    text.eq_ignore_ascii_case("-infinity").then_some(true)
}

fn decimal(digits: &[u8]) -> Option<i32> {
    digits.iter().try_fold(0_i32, |n, digit| {
        n.checked_mul(10)?.checked_add(i32::from(digit.wrapping_sub(b'0')))
    })
}

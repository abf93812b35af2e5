//! Exact decimal numbers, held as text.
//!
//! Kept true here:
//!
//! - A finite decimal's text *is* a JSON number (RFC 8259, section 6), so that it can be written
//!   out as it stands; the others are `NaN`, `Infinity` and `-Infinity`.
//! - Nothing is rounded and the scale is kept: `1.0` and `1.00` are two texts of one number.
//! - Work is bounded by the length of the text. An exponent is never expanded: `1e999999999` costs
//!   what `1e9` costs.

use alloc::{boxed::Box, string::String};
use core::{cmp::Ordering, fmt, fmt::Write as _};

/// An exact decimal number of any length and scale, or NaN, or an infinity.
///
/// `==` compares the texts (`1.0` is not `1.00`); [`compare`](Self::compare) compares the numbers.
#[derive(Clone, Eq, Hash, PartialEq)]
pub struct Decimal(Box<str>);

impl Decimal {
    /// Reads a number: digits with an optional sign, point and exponent, at least one digit before
    /// the exponent. What JSON does not know is rewritten without changing the number or its
    /// scale: `+1` is `1`, `007` is `7`, `.5` is `0.5`, `5.` is `5`. `NaN`, `Infinity` and `inf`
    /// are read in any case, the last two with an optional sign.
    ///
    /// `None` for anything else, white space included, and for an exponent that an `i64` cannot
    /// hold: no database has such numbers, and the order of two of them could not be told.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (sign, unsigned) = match text.as_bytes() {
            [b'-', ..] => text.split_at_checked(1)?,
            [b'+', ..] => ("", text.split_at_checked(1)?.1),
            _ => ("", text),
        };
        if !unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
            return Self::parse_special(text, sign, unsigned);
        }
        let (mantissa, exponent) = match unsigned.find(['e', 'E']) {
            Some(at) => unsigned.split_at_checked(at)?,
            None => (unsigned, ""),
        };
        let (int, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        if int.is_empty() && fraction.is_empty()
            || !all_digits(int)
            || !all_digits(fraction)
            || !exponent.is_empty() && parse_exponent(exponent).is_none()
        {
            return None;
        }
        let int = match int.trim_start_matches('0') {
            "" => "0",
            int => int,
        };
        let point = if fraction.is_empty() { "" } else { "." };
        Some(Self([sign, int, point, fraction, exponent].concat().into()))
    }

    /// The text: a JSON number, `NaN`, `Infinity` or `-Infinity`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this is a number: neither NaN nor an infinity.
    #[must_use]
    pub fn is_finite(&self) -> bool {
        self.0.ends_with(|c: char| c.is_ascii_digit())
    }

    /// The order of the numbers, exact for any length and exponent. Total: -Infinity is below and
    /// Infinity above every finite number; NaN is above everything and equals itself, as in
    /// PostgreSQL's `numeric`.
    #[must_use]
    pub fn compare(&self, other: &Self) -> Ordering {
        self.magnitude().compare(&other.magnitude())
    }

    pub(super) fn magnitude(&self) -> Magnitude<'_> {
        match &*self.0 {
            "NaN" => Magnitude::NaN,
            "Infinity" => Magnitude::Infinity,
            "-Infinity" => Magnitude::NegInfinity,
            number => Magnitude::Finite(Digits::of(number)),
        }
    }

    fn parse_special(text: &str, sign: &str, unsigned: &str) -> Option<Self> {
        if text.eq_ignore_ascii_case("nan") {
            return Some(Self("NaN".into()));
        }
        if !unsigned.eq_ignore_ascii_case("infinity") && !unsigned.eq_ignore_ascii_case("inf") {
            return None;
        }
        Some(Self(if sign.is_empty() { "Infinity" } else { "-Infinity" }.into()))
    }
}

impl fmt::Debug for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Decimal({self})")
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

macro_rules! from_integer {
    ($($source:ty)+) => {$(
        impl From<$source> for Decimal {
            fn from(value: $source) -> Self {
                let mut text = Ascii::<40>::new();
                // Forty bytes hold every `i128` with its sign.
                let _ = write!(text, "{value}");
                Self(text.as_str().into())
            }
        }
    )+};
}

from_integer!(i64 u64 i128);

/// What a number is made of, for comparing and converting it.
#[derive(Clone, Copy)]
pub(super) enum Magnitude<'a> {
    NegInfinity,
    Finite(Digits<'a>),
    Infinity,
    NaN,
}

impl Magnitude<'_> {
    pub(super) fn compare(&self, other: &Magnitude<'_>) -> Ordering {
        match (self, other) {
            (Self::Finite(a), Magnitude::Finite(b)) => a.compare(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }

    const fn rank(&self) -> u8 {
        match self {
            Self::NegInfinity => 0,
            Self::Finite(_) => 1,
            Self::Infinity => 2,
            Self::NaN => 3,
        }
    }
}

/// A finite number as its significant digits and the power of ten of the first of them.
///
/// The digits are `head` followed by `tail`, without leading or trailing zeros; zero has none.
#[derive(Clone, Copy)]
pub(super) struct Digits<'a> {
    negative: bool,
    head: &'a [u8],
    tail: &'a [u8],
    /// Wide, because a text's length is added to an `i64`.
    exponent: i128,
}

impl<'a> Digits<'a> {
    /// Takes a JSON number apart.
    pub(super) fn of(number: &'a str) -> Self {
        let (negative, number) = match number.strip_prefix('-') {
            Some(number) => (true, number),
            None => (false, number),
        };
        let (mantissa, exponent) = match number.find(['e', 'E']) {
            Some(at) => number.split_at_checked(at).unwrap_or((number, "")),
            None => (number, ""),
        };
        let mut exponent = i128::from(parse_exponent(exponent).unwrap_or(0));
        let (int, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let mut head = int.trim_start_matches('0');
        let mut tail = fraction;
        if head.is_empty() {
            tail = fraction.trim_start_matches('0');
            exponent -= (fraction.len() - tail.len()) as i128 + 1;
        } else {
            exponent += head.len() as i128 - 1;
        }
        tail = tail.trim_end_matches('0');
        if tail.is_empty() {
            head = head.trim_end_matches('0');
        }
        Self { negative, head: head.as_bytes(), tail: tail.as_bytes(), exponent }
    }

    /// Negative zero included.
    pub(super) const fn is_negative(&self) -> bool {
        self.negative
    }

    pub(super) const fn is_zero(&self) -> bool {
        self.head.is_empty() && self.tail.is_empty()
    }

    /// The power of ten of the first significant digit; of no meaning for zero.
    pub(super) const fn exponent(&self) -> i128 {
        self.exponent
    }

    /// The number as an integer, if it is one and fits.
    pub(super) fn to_integer(self) -> Option<i128> {
        if self.is_zero() {
            return Some(0);
        }
        let len = (self.head.len() + self.tail.len()) as i128;
        // 39 digits are the most that an `i128` has.
        let zeros = u32::try_from(self.exponent.checked_add(1)?.checked_sub(len)?).ok()?;
        if self.exponent > 38 {
            return None;
        }
        let magnitude = self.iter().try_fold(0_i128, |n, digit| {
            n.checked_mul(10)?.checked_sub(i128::from(digit.wrapping_sub(b'0')))
        })?;
        let magnitude = magnitude.checked_mul(10_i128.checked_pow(zeros)?)?;
        if self.negative { Some(magnitude) } else { magnitude.checked_neg() }
    }

    /// The number in scientific notation, for a parser of floats. The caller has looked at the
    /// exponent, so that it is small, however many zeros the decimal itself was written with.
    pub(super) fn to_scientific(self) -> String {
        let mut text = String::with_capacity(self.head.len() + self.tail.len() + 8);
        if self.negative {
            text.push('-');
        }
        if self.is_zero() {
            text.push('0');
            return text;
        }
        for (at, digit) in self.iter().enumerate() {
            if at == 1 {
                text.push('.');
            }
            text.push(char::from(digit));
        }
        // Writing to a string cannot fail.
        let _ = write!(text, "e{}", self.exponent);
        text
    }

    fn iter(&self) -> impl Iterator<Item = u8> + use<'a> {
        self.head.iter().chain(self.tail).copied()
    }

    fn compare(&self, other: &Digits<'_>) -> Ordering {
        match (self.sign(), other.sign()) {
            (1, 1) => self.compare_absolute(other),
            (-1, -1) => self.compare_absolute(other).reverse(),
            (a, b) => a.cmp(&b),
        }
    }

    fn compare_absolute(&self, other: &Digits<'_>) -> Ordering {
        // Without trailing zeros a proper prefix is the smaller number, as in the order of texts.
        self.exponent.cmp(&other.exponent).then_with(|| self.iter().cmp(other.iter()))
    }

    const fn sign(&self) -> i8 {
        match (self.is_zero(), self.negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        }
    }
}

/// A text of at most `N` bytes on the stack; what does not fit is an error.
pub(super) struct Ascii<const N: usize> {
    bytes: [u8; N],
    len: usize,
}

impl<const N: usize> Ascii<N> {
    pub(super) const fn new() -> Self {
        Self { bytes: [0; N], len: 0 }
    }

    pub(super) fn as_str(&self) -> &str {
        let bytes = self.bytes.get(..self.len).unwrap_or_default();
        str::from_utf8(bytes).unwrap_or_default()
    }
}

impl<const N: usize> fmt::Write for Ascii<N> {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        let end = self.len + part.len();
        let place = self.bytes.get_mut(self.len..end).ok_or(fmt::Error)?;
        place.copy_from_slice(part.as_bytes());
        self.len = end;
        Ok(())
    }
}

fn all_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Reads `e` or `E`, an optional sign and digits.
fn parse_exponent(text: &str) -> Option<i64> {
    // The standard parser takes the sign, and wants a digit after it.
    text.strip_prefix(['e', 'E'])?.parse().ok()
}

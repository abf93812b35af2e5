//! Numbers to text: integers, and floats in their shortest form that reads back, laid out as Go
//! does it. Keeps true: the text parses back to the same bits.

use core::fmt::Write;

use super::buffer::Buffer;
use crate::value::pair;

/// A number of eight digits is less than that.
const EIGHT: u64 = 100_000_000;

/// A number below that has room for a sign before its seven digits.
const SEVEN: u64 = EIGHT / 10;

pub(super) fn i64(out: &mut Buffer, value: i64) {
    match short_i64(value) {
        Some((text, width)) => out.put_word(text, width),
        None => {
            if value.is_negative() {
                out.put_array(b"-");
            }
            u64(out, value.unsigned_abs());
        }
    }
}

/// The text of a number of at most seven digits, its first byte in the lowest, and how long it is.
#[inline]
pub(super) fn short_i64(value: i64) -> Option<(u64, usize)> {
    let (is_negative, value) = (value.is_negative(), value.unsigned_abs());
    if value >= SEVEN {
        return None;
    }
    let (text, width) = short(value);
    // Without a branch: signs are hard to foresee.
    let sign = u32::from(is_negative);
    let text = (text << (8 * sign)) | (u64::from(b'-') * u64::from(sign));
    Some((text, width + sign as usize))
}

pub(super) fn u64(out: &mut Buffer, value: u64) {
    if value < EIGHT {
        let (text, width) = short(value);
        return out.put_word(text, width);
    }
    u64(out, value / EIGHT);
    padded(out, value % EIGHT, 8);
}

/// The text of a number below [`EIGHT`], its first byte in the lowest, and how long it is.
#[inline]
fn short(value: u64) -> (u64, usize) {
    // Most numbers have no more than four digits.
    let text = if value < 10_000 { four_digits(value) << 32 } else { eight_digits(value) };
    // Zero has one digit, too.
    let leading = ((text & DIGIT_BITS) | 1 << 56).trailing_zeros() & !7;
    (text >> leading, 8 - leading as usize / 8)
}

/// Exactly `width` digits, with leading zeros; more are cut off on the left.
#[inline]
fn padded(out: &mut Buffer, value: u64, width: usize) {
    if width > 8 {
        padded(out, value / EIGHT, width - 8);
        return padded(out, value % EIGHT, 8);
    }
    let text = eight_digits(value).unbounded_shr(64 - 8 * width as u32);
    out.put_word(text, width);
}

/// What tells the digits of a text apart.
const DIGIT_BITS: u64 = 0x0F0F_0F0F_0F0F_0F0F;

/// The digits of a number below [`EIGHT`] as text, the first in the lowest byte.
#[inline]
fn eight_digits(value: u64) -> u64 {
    four_digits(value / 10_000) | (four_digits(value % 10_000) << 32)
}

/// The same for a number below 10,000, in the lower half.
#[inline]
fn four_digits(value: u64) -> u64 {
    let two = |value: u64| u64::from(u16::from_le_bytes(pair(value as u32)));
    two(value / 100) | (two(value % 100) << 16)
}

/// Powers of ten that are exact in an `f64`, as far as they are needed.
const POWERS: [f64; 10] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9];

pub(super) fn f64(out: &mut Buffer, value: f64) {
    if !value.is_finite() {
        return special(out, value.is_nan(), value > 0.0);
    }
    if value.is_sign_negative() {
        out.put_array(b"-");
    }
    let magnitude = value.abs();
    if let Some((digits, scale)) = short_decimal(magnitude, 1e15) {
        return fixed(out, digits, scale);
    }
    let mut digits = Digits::default();
    // PROOF: writing to `Digits` does not fail, and neither does formatting a float.
    let _ = write!(digits, "{magnitude:e}");
    digits.settle_tie(magnitude, f64::MANTISSA_DIGITS);
    digits.layout(out, (1e-6..1e21).contains(&magnitude));
}

pub(super) fn f32(out: &mut Buffer, value: f32) {
    if !value.is_finite() {
        return special(out, value.is_nan(), value > 0.0);
    }
    if value.is_sign_negative() {
        out.put_array(b"-");
    }
    let magnitude = value.abs();
    let mut digits = Digits::default();
    // PROOF: as above.
    let _ = write!(digits, "{magnitude:e}");
    digits.settle_tie(f64::from(magnitude), f32::MANTISSA_DIGITS);
    digits.layout(out, magnitude == 0.0 || (1e-6..1e21).contains(&magnitude));
}

/// NaN and the infinities have no JSON number: they are strings, so that one cell kills no run.
fn special(out: &mut Buffer, nan: bool, positive: bool) {
    out.put(match (nan, positive) {
        (true, _) => b"\"NaN\"",
        (false, true) => b"\"Infinity\"",
        (false, false) => b"\"-Infinity\"",
    });
}

/// The number as `digits / 10^scale`, if it is that for few digits.
///
/// Why this is exact and shortest: both operands of the division are exact, so it is rounded once,
/// which is what reading the decimal does. And no two decimals of at most fifteen digits read as
/// the same `f64`, so no shorter one can be found.
fn short_decimal(magnitude: f64, below: f64) -> Option<(u64, usize)> {
    for scale in [0, 2, 4, 6, 9] {
        let power = POWERS[scale];
        let scaled = magnitude * power;
        if scaled >= below {
            return None;
        }
        // The nearest integer without `round`, which `core` does not have.
        let digits = (scaled + 0.5) as u64;
        if digits as f64 / power == magnitude {
            return (magnitude >= 1e-6 || digits == 0).then_some((digits, scale));
        }
    }
    None
}

/// Writes `digits / 10^scale` without trailing zeros.
fn fixed(out: &mut Buffer, mut digits: u64, mut scale: usize) {
    while scale > 0 && digits.is_multiple_of(10) {
        digits /= 10;
        scale -= 1;
    }
    let power = 10_u64.pow(scale as u32);
    u64(out, digits / power);
    if scale > 0 {
        out.put_array(b".");
        padded(out, digits % power, scale);
    }
}

/// The digits and the exponent of `d.ddde±x`, as the standard library writes it.
#[derive(Default)]
struct Digits {
    /// Without the point.
    digits: [u8; 24],
    len: usize,
    exponent: i32,
    negative_exponent: bool,
    in_exponent: bool,
}

impl Write for Digits {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        for byte in text.bytes() {
            match byte {
                b'e' => self.in_exponent = true,
                b'-' => self.negative_exponent = true,
                b'0'..=b'9' if self.in_exponent => {
                    self.exponent = self.exponent * 10 + i32::from(byte - b'0');
                }
                b'0'..=b'9' => {
                    // A shortest form has at most seventeen digits.
                    if let Some(digit) = self.digits.get_mut(self.len) {
                        *digit = byte;
                        self.len += 1;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}

impl Digits {
    /// Makes the last digit even where two numbers of this many digits are equally near, as Go
    /// does; the standard library rounds up there. The float is `magnitude`, which has `precision`
    /// bits.
    fn settle_tie(&mut self, magnitude: f64, precision: u32) {
        let exponent = if self.negative_exponent { -self.exponent } else { self.exponent };
        let decimals = self.len as i32 - 1 - exponent;
        let bits = magnitude.to_bits();
        let (fraction, biased) = (bits & ((1 << 52) - 1), (bits >> 52) as i32);
        let (mantissa, power) = match biased {
            0 => (fraction, -1074),
            _ => (fraction | 1 << 52, biased - 1075),
        };
        let zeros = mantissa.trailing_zeros();
        // The number is an odd one times a power of two. Half a unit of the last digit is left over
        // only if twice the number, times ten to the decimals, is odd.
        let (odd, power) = (mantissa.unbounded_shr(zeros), power + zeros as i32);
        if decimals < 0 || power + decimals + 1 != 0 {
            return;
        }
        // Below a power of two floats are twice as dense, and the lower number may be another's.
        let fives = 5_u64.checked_pow(decimals.unsigned_abs());
        if odd == 1 && fives.is_some_and(|fives| fives < 1 << (precision + 1)) {
            return;
        }
        if let Some(last) = self.len.checked_sub(1).and_then(|at| self.digits.get_mut(at)) {
            *last &= !1;
        }
    }

    fn layout(&self, out: &mut Buffer, plain: bool) {
        let digits = self.digits.get(..self.len).unwrap_or_default();
        let exponent = if self.negative_exponent { -self.exponent } else { self.exponent };
        if plain {
            Self::plain(out, digits, exponent);
        } else {
            Self::scientific(out, digits, exponent);
        }
    }

    /// `123.45`, `0.0012`, `1200`.
    fn plain(out: &mut Buffer, digits: &[u8], exponent: i32) {
        if exponent < 0 {
            out.put_array(b"0.");
            zeros(out, exponent.unsigned_abs() - 1);
            out.put(digits);
            return;
        }
        let before = exponent.unsigned_abs() as usize + 1;
        match digits.split_at_checked(before) {
            Some((whole, [])) => out.put(whole),
            Some((whole, fraction)) => {
                out.put(whole);
                out.put_array(b".");
                out.put(fraction);
            }
            None => {
                out.put(digits);
                zeros(out, (before - digits.len()) as u32);
            }
        }
    }

    /// `1.5e-9`, `1e+21`: a sign always, and no leading zero in the exponent.
    fn scientific(out: &mut Buffer, digits: &[u8], exponent: i32) {
        if let Some((first, rest)) = digits.split_first() {
            out.put_array(&[*first]);
            if !rest.is_empty() {
                out.put_array(b".");
                out.put(rest);
            }
        }
        out.put_array(if exponent < 0 { b"e-" } else { b"e+" });
        u64(out, u64::from(exponent.unsigned_abs()));
    }
}

fn zeros(out: &mut Buffer, count: u32) {
    for _ in 0..count {
        out.put_array(b"0");
    }
}

//! Bringing a filter's operand to the kind of the column that it is compared with.
//!
//! Done once per filter, before the first row. What cannot be converted is refused, so that a
//! connector can refuse the filter; nothing is ever converted to something that is merely close,
//! except to a float, where the column's own type has no better.

use alloc::{format, vec::Vec};

use super::{
    Date, Decimal, Instant, Time, Timestamp, Uuid, Value, ValueKind,
    decimal::{Digits, Magnitude},
};

impl Value {
    /// This value as the given kind, or `None`. Null stays null; a value of that kind stays as it
    /// is, whatever the kind.
    ///
    /// | to | from |
    /// | --- | --- |
    /// | `i64`, `u64` | the other integers, floats and decimals, if integral and in range |
    /// | `decimal` | integers; floats, by their shortest text (0.1 is `0.1`) |
    /// | `f32`, `f64` | integers, decimals and the other float, rounded to nearest; what is finite and would overflow is refused |
    /// | `timestamp`, `instant` | a date, at its midnight (in UTC) |
    /// | any scalar but `json` | a string that is exactly the text of such a value |
    ///
    /// A string is read without leniency: integers as digits with an optional sign, other numbers
    /// as [`Decimal::parse`] does, `true` and `false`, padded standard base64 (RFC 4648, section
    /// 4), the rest as the type's own `parse`. For a timestamp or an instant it may also be the
    /// text of a date. So with dates as operands, `between` on a timestamp column ends at the last
    /// day's midnight, inclusive by the column's own type.
    ///
    /// Nothing else converts: nothing becomes a string or a boolean, and a timestamp does not
    /// become an instant, since its zone is not known.
    #[must_use]
    pub fn convert_to(&self, kind: ValueKind) -> Option<Self> {
        if self.kind().is_none_or(|own| own == kind) {
            return Some(self.clone());
        }
        if let Self::String(text) = self {
            return from_text(text, kind);
        }
        match kind {
            ValueKind::I64 => i64::try_from(to_integer(self)?).ok().map(Self::I64),
            ValueKind::U64 => u64::try_from(to_integer(self)?).ok().map(Self::U64),
            ValueKind::F32 => to_f32(self).map(Self::F32),
            ValueKind::F64 => to_f64(self).map(Self::F64),
            ValueKind::Decimal => to_decimal(self).map(Self::Decimal),
            ValueKind::Timestamp => midnight(self).map(Self::Timestamp),
            ValueKind::Instant => midnight_utc(self).map(Self::Instant),
            _ => None,
        }
    }
}

fn from_text(text: &str, kind: ValueKind) -> Option<Value> {
    let date = || Date::parse(text).map(Value::Date);
    match kind {
        ValueKind::Bool => match text {
            "true" => Some(Value::Bool(true)),
            "false" => Some(Value::Bool(false)),
            _ => None,
        },
        ValueKind::I64 => text.parse().ok().map(Value::I64),
        ValueKind::U64 => text.parse().ok().map(Value::U64),
        ValueKind::Decimal => Decimal::parse(text).map(Value::Decimal),
        ValueKind::F32 | ValueKind::F64 => {
            Decimal::parse(text).map(Value::Decimal)?.convert_to(kind)
        }
        ValueKind::Bytes => decode_base64(text.as_bytes()).map(Value::Bytes),
        ValueKind::Uuid => Uuid::parse(text).map(Value::Uuid),
        ValueKind::Date => date(),
        ValueKind::Time => Time::parse(text).map(Value::Time),
        ValueKind::Timestamp => match Timestamp::parse(text) {
            Some(timestamp) => Some(Value::Timestamp(timestamp)),
            None => date()?.convert_to(kind),
        },
        ValueKind::Instant => match Instant::parse(text) {
            Some(instant) => Some(Value::Instant(instant)),
            None => date()?.convert_to(kind),
        },
        _ => None,
    }
}

fn to_integer(value: &Value) -> Option<i128> {
    match value {
        Value::I64(n) => Some(i128::from(*n)),
        Value::U64(n) => Some(i128::from(*n)),
        Value::F32(x) => integral(f64::from(*x)),
        Value::F64(x) => integral(*x),
        Value::Decimal(decimal) => match decimal.magnitude() {
            Magnitude::Finite(digits) => digits.to_integer(),
            _ => None,
        },
        _ => None,
    }
}

/// The float as an integer, if that is what it is. The cast saturates far outside 64 bits.
fn integral(x: f64) -> Option<i128> {
    let whole = x as i128;
    (whole as f64 == x).then_some(whole)
}

fn to_f64(value: &Value) -> Option<f64> {
    match value {
        Value::I64(n) => Some(*n as f64),
        Value::U64(n) => Some(*n as f64),
        Value::F32(x) => Some(f64::from(*x)),
        Value::Decimal(decimal) => match decimal.magnitude() {
            Magnitude::NaN => Some(f64::NAN),
            Magnitude::Infinity => Some(f64::INFINITY),
            Magnitude::NegInfinity => Some(f64::NEG_INFINITY),
            Magnitude::Finite(digits) => parse_nearest(digits, f64::is_finite),
        },
        _ => None,
    }
}

/// Straight from the source, never by way of a double: rounding twice is not rounding to nearest.
fn to_f32(value: &Value) -> Option<f32> {
    match value {
        Value::I64(n) => Some(*n as f32),
        Value::U64(n) => Some(*n as f32),
        Value::F64(x) => {
            let nearest = *x as f32;
            (nearest.is_finite() || !x.is_finite()).then_some(nearest)
        }
        Value::Decimal(decimal) => match decimal.magnitude() {
            Magnitude::NaN => Some(f32::NAN),
            Magnitude::Infinity => Some(f32::INFINITY),
            Magnitude::NegInfinity => Some(f32::NEG_INFINITY),
            Magnitude::Finite(digits) => parse_nearest(digits, f32::is_finite),
        },
        _ => None,
    }
}

fn parse_nearest<F>(digits: Digits<'_>, is_finite: fn(F) -> bool) -> Option<F>
where
    F: Copy + core::str::FromStr,
{
    // Beyond the range of a double by far: what is this large overflows, this small is zero.
    const FAR: i128 = 400;
    if digits.is_zero() || digits.exponent() < -FAR {
        return if digits.is_negative() { "-0" } else { "0" }.parse().ok();
    }
    if digits.exponent() > FAR {
        return None;
    }
    let nearest = digits.to_scientific().parse().ok()?;
    is_finite(nearest).then_some(nearest)
}

fn to_decimal(value: &Value) -> Option<Decimal> {
    match value {
        Value::I64(n) => Some(Decimal::from(*n)),
        Value::U64(n) => Some(Decimal::from(*n)),
        // The shortest text that reads back as the same float.
        Value::F32(x) => parse_float_text(&format!("{x:?}")),
        Value::F64(x) => parse_float_text(&format!("{x:?}")),
        _ => None,
    }
}

/// `1.0`, as a float is printed, is the number `1`: a float has no scale.
fn parse_float_text(text: &str) -> Option<Decimal> {
    Decimal::parse(text.strip_suffix(".0").unwrap_or(text))
}

fn midnight(value: &Value) -> Option<Timestamp> {
    match value {
        Value::Date(date) => Timestamp::from_date_time(*date, Time::MIDNIGHT),
        _ => None,
    }
}

fn midnight_utc(value: &Value) -> Option<Instant> {
    match value {
        Value::Date(date) => Instant::from_date_time(*date, Time::MIDNIGHT),
        _ => None,
    }
}

/// Padded, in the standard alphabet, nothing between; unused bits must be zero, so that every byte
/// string has exactly one text.
fn decode_base64(text: &[u8]) -> Option<Vec<u8>> {
    let (quads, []) = text.as_chunks::<4>() else {
        return None;
    };
    let mut bytes = Vec::with_capacity(quads.len() * 3);
    let last = quads.len().saturating_sub(1);
    for (at, quad) in quads.iter().enumerate() {
        let padding = match quad {
            [_, _, b'=', b'='] if at == last => 2,
            [_, _, _, b'='] if at == last => 1,
            _ => 0,
        };
        let (digits, _) = quad.split_at_checked(4 - padding)?;
        let mut bits = 0_u32;
        for digit in digits {
            bits = (bits << 6) | u32::from(base64_digit(*digit)?);
        }
        bits <<= 6 * padding;
        let [_, decoded @ ..] = bits.to_be_bytes();
        let (decoded, unused) = decoded.split_at_checked(3 - padding)?;
        if unused.iter().any(|&byte| byte != 0) {
            return None;
        }
        bytes.extend_from_slice(decoded);
    }
    Some(bytes)
}

fn base64_digit(digit: u8) -> Option<u8> {
    match digit {
        b'A'..=b'Z' => Some(digit - b'A'),
        b'a'..=b'z' => Some(digit - b'a' + 26),
        b'0'..=b'9' => Some(digit - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}

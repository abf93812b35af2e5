//! The order of values that filters use.
//!
//! Numbers compare by value across all five kinds and are never rounded to do so: an integer or a
//! decimal meets the float's exact value, not its printed one.

use core::{cmp::Ordering, fmt::Write as _};

use super::{
    Decimal, Value,
    decimal::{Ascii, Digits, Magnitude},
};

/// How two values order, as SQL sees it; `None` where that is unknown.
///
/// - Null compares with nothing, not even with null.
/// - Integers, floats and decimals compare by exact value across kinds. NaN sorts above every
///   number, Infinity included, and equals itself, as in PostgreSQL ("Numeric Types"); negative
///   zero equals zero.
/// - Strings, byte strings and identifiers compare by their bytes; false sorts before true.
/// - Dates, times, timestamps and instants compare within their own kind only.
/// - JSON, lists and maps compare with nothing, not even with themselves.
#[must_use]
pub fn compare(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::I64(a), Value::I64(b)) => Some(a.cmp(b)),
        (Value::String(a), Value::String(b)) => Some(a.cmp(b)),
        (Value::Bool(a), Value::Bool(b)) => Some(a.cmp(b)),
        (Value::Bytes(a), Value::Bytes(b)) => Some(a.cmp(b)),
        (Value::Uuid(a), Value::Uuid(b)) => Some(a.cmp(b)),
        (Value::Date(a), Value::Date(b)) => Some(a.cmp(b)),
        (Value::Time(a), Value::Time(b)) => Some(a.cmp(b)),
        (Value::Timestamp(a), Value::Timestamp(b)) => Some(a.cmp(b)),
        (Value::Instant(a), Value::Instant(b)) => Some(a.cmp(b)),
        _ => Some(compare_numbers(Number::of(a)?, Number::of(b)?)),
    }
}

/// The five kinds of number in three representations, each of them exact.
#[derive(Clone, Copy)]
enum Number<'a> {
    Integer(i128),
    Float(f64),
    Decimal(&'a Decimal),
}

impl<'a> Number<'a> {
    fn of(value: &'a Value) -> Option<Self> {
        Some(match value {
            Value::I64(n) => Self::Integer(i128::from(*n)),
            Value::U64(n) => Self::Integer(i128::from(*n)),
            Value::F32(x) => Self::Float(f64::from(*x)),
            Value::F64(x) => Self::Float(*x),
            Value::Decimal(d) => Self::Decimal(d),
            _ => return None,
        })
    }
}

fn compare_numbers(a: Number<'_>, b: Number<'_>) -> Ordering {
    use Number::{Decimal, Float, Integer};
    match (a, b) {
        (Integer(a), Integer(b)) => a.cmp(&b),
        (Float(a), Float(b)) => floats(a, b),
        (Decimal(a), Decimal(b)) => a.compare(b),
        (Integer(a), Float(b)) => integer_with_float(a, b),
        (Float(a), Integer(b)) => integer_with_float(b, a).reverse(),
        (Decimal(a), Integer(b)) => decimal_with_integer(a, b),
        (Integer(a), Decimal(b)) => decimal_with_integer(b, a).reverse(),
        (Decimal(a), Float(b)) => decimal_with_float(a, b),
        (Float(a), Decimal(b)) => decimal_with_float(b, a).reverse(),
    }
}

fn floats(a: f64, b: f64) -> Ordering {
    // Only NaN has no order of its own, and then the one that is NaN is the greater.
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

/// `integer` comes from 64 bits.
fn integer_with_float(integer: i128, float: f64) -> Ordering {
    /// Two to the 64th, beyond every 64-bit integer.
    const BEYOND: f64 = 18_446_744_073_709_551_616.0;
    if float.is_nan() || float >= BEYOND {
        return Ordering::Less;
    }
    if float <= -BEYOND {
        return Ordering::Greater;
    }
    // Truncation is exact here, in both directions: the fraction was part of the float.
    let whole = float as i128;
    integer.cmp(&whole).then_with(|| floats(whole as f64, float))
}

fn decimal_with_integer(decimal: &Decimal, integer: i128) -> Ordering {
    let mut text = Ascii::<40>::new();
    // Forty bytes hold every `i128` with its sign.
    let _ = write!(text, "{integer}");
    decimal.magnitude().compare(&Magnitude::Finite(Digits::of(text.as_str())))
}

fn decimal_with_float(decimal: &Decimal, float: f64) -> Ordering {
    let magnitude = decimal.magnitude();
    if float.is_nan() {
        return magnitude.compare(&Magnitude::NaN);
    }
    if float.is_infinite() {
        let infinity = if float > 0.0 { Magnitude::Infinity } else { Magnitude::NegInfinity };
        return magnitude.compare(&infinity);
    }
    // Rounding keeps order: where the nearest float is another one, the answer is known. Short
    // texts only, because only there does the standard parser read any exponent as it should.
    if decimal.as_str().len() <= 64
        && let Ok(nearest) = decimal.as_str().parse::<f64>()
        && let Some(order @ (Ordering::Less | Ordering::Greater)) = nearest.partial_cmp(&float)
    {
        return order;
    }
    // A double has at most 767 significant digits, so this is its exact value; with sign, point
    // and exponent it takes fewer than eight hundred bytes.
    let mut text = Ascii::<800>::new();
    let _ = write!(text, "{float:.766e}");
    magnitude.compare(&Magnitude::Finite(Digits::of(text.as_str())))
}

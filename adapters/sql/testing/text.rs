//! Values and names as texts.

use fetcher_engine::value::{Date, Decimal, Instant, Time, Timestamp, Uuid, Value, ValueKind};

/// An identifier between such marks.
pub(crate) fn quoted(mark: char, name: &str) -> String {
    let doubled = name.replace(mark, &format!("{mark}{mark}"));
    format!("{mark}{doubled}{mark}")
}

/// Hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes of hexadecimal digits.
pub(crate) fn unhex(text: &str) -> Vec<u8> {
    let digit = |digit: u8| char::from(digit).to_digit(16).expect("a digit") as u8;
    text.as_bytes().chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}

/// A value of this kind as a test writes it down, bytes in hexadecimal digits; `None` where it is
/// no text of that kind.
pub(crate) fn value(kind: ValueKind, text: &str) -> Option<Value> {
    match kind {
        ValueKind::String => Some(Value::from(text)),
        ValueKind::Bytes => Some(Value::Bytes(unhex(text))),
        ValueKind::Bool => text.parse().ok().map(Value::Bool),
        ValueKind::I64 => text.parse().ok().map(Value::I64),
        ValueKind::U64 => text.parse().ok().map(Value::U64),
        ValueKind::F32 => text.parse().ok().map(Value::F32),
        ValueKind::F64 => text.parse().ok().map(Value::F64),
        ValueKind::Decimal => Decimal::parse(text).map(Value::Decimal),
        ValueKind::Uuid => Uuid::parse(text).map(Value::Uuid),
        ValueKind::Date => Date::parse(text).map(Value::Date),
        ValueKind::Time => Time::parse(text).map(Value::Time),
        ValueKind::Timestamp => Timestamp::parse(text).map(Value::Timestamp),
        ValueKind::Instant => Instant::parse(text).map(Value::Instant),
        _ => None,
    }
}

//! Values that are easily damaged, of every kind; and names that are.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use crate::value::{Date, Decimal, Instant, Time, Timestamp, Uuid, Value, ValueKind};

/// Names of tables and columns that somebody's quoting gets wrong. The first is harmless.
pub(super) const NAMES: [&str; 17] = [
    "plain",
    "select",
    "Order Details",
    "a\"b",
    "a'b",
    "a`b",
    "a]b",
    "a.b.c",
    "na\u{ef}ve",
    "\u{1F980} crab",
    "MiXeD",
    "--",
    "x; drop table plain",
    "%s {} $1 ?",
    "1st",
    "\u{65E5}\u{672C}\u{8A9E}",
    "a_very_long_name_that_goes_on_and_on_until_it_is_sixty_bytes",
];

/// Texts that somebody's quoting, escaping or pattern gets wrong.
pub(super) const TEXTS: [&str; 21] = [
    "",
    "a",
    "A",
    "abc",
    "a%c",
    "a_c",
    "%",
    "_",
    "\\",
    "\\%",
    "NA",
    "null",
    " a ",
    "' or '1'='1",
    "x'); drop table plain; --",
    "\"quoted\"",
    "tab\tline\nreturn\r\n",
    "na\u{ef}ve",
    "nai\u{308}ve",
    "\u{1F980}",
    "zero \0",
];

/// Values of a kind that are easily damaged: the extremes, the empty, the nearly equal.
#[must_use]
pub fn samples(kind: ValueKind) -> Vec<Value> {
    match kind {
        ValueKind::Bool => vec![false.into(), true.into()],
        ValueKind::I64 => [0, 1, -1, 2, 10, 42, i64::MAX, i64::MIN].map(Value::I64).into(),
        ValueKind::U64 => [0, 1, 2, 42, 1 << 63, u64::MAX].map(Value::U64).into(),
        ValueKind::F32 => {
            let plain = [0.0, -0.0, 1.0, -1.5, 0.1, f32::MAX, f32::MIN_POSITIVE, 1e-45];
            let special = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY];
            plain.into_iter().chain(special).map(Value::F32).collect()
        }
        ValueKind::F64 => {
            let plain = [0.0, -0.0, 1.0, -1.5, 0.1, 0.1 + 0.2, f64::MAX, 5e-324, 1e23, 4.35];
            let special = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
            plain.into_iter().chain(special).map(Value::F64).collect()
        }
        ValueKind::Decimal => parsed(DECIMALS, Decimal::parse, Value::Decimal),
        ValueKind::String => TEXTS.map(Value::from).into(),
        ValueKind::Bytes => {
            let all: Vec<u8> = (0..=u8::MAX).collect();
            let few = [vec![], vec![0], vec![0xff, 0xfe], b"abc".to_vec(), all];
            few.map(Value::Bytes).into()
        }
        ValueKind::Uuid => parsed(UUIDS, Uuid::parse, Value::Uuid),
        ValueKind::Date => parsed(DATES, Date::parse, Value::Date),
        ValueKind::Time => parsed(TIMES, Time::parse, Value::Time),
        ValueKind::Timestamp => parsed(TIMESTAMPS, Timestamp::parse, Value::Timestamp),
        ValueKind::Instant => parsed(INSTANTS, Instant::parse, Value::Instant),
        ValueKind::Json => JSON.map(|text| Value::Json(text.to_owned())).into(),
        ValueKind::List => vec![
            Value::List(vec![]),
            Value::List(vec!["a".into(), Value::Null, "b\"c".into()]),
            Value::List(vec![Value::I64(1), Value::I64(-2)]),
            Value::List(vec![Value::List(vec![true.into()]), Value::List(vec![])]),
        ],
        ValueKind::Map => {
            let inner = Value::Map([("x".into(), "y".into())].into());
            let entries = [("", Value::Null), ("b\"c", Value::I64(i64::MAX)), ("inner", inner)];
            let entries = entries.map(|(key, value)| (String::from(key), value));
            vec![Value::Map(BTreeMap::new()), Value::Map(entries.into())]
        }
    }
}

const DECIMALS: &[&str] = &[
    "0",
    "1",
    "1.0",
    "1.00",
    "-0.10",
    "42",
    "0.000000000000000001",
    "12345678901234567890.123456789",
    "-79228162514264337593543950335",
    "9007199254740993",
    "NaN",
    "Infinity",
];

const UUIDS: &[&str] = &[
    "00000000-0000-0000-0000-000000000000",
    "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
    "ffffffff-ffff-ffff-ffff-ffffffffffff",
];

const DATES: &[&str] = &[
    "1970-01-01",
    "2024-02-29",
    "1900-03-01",
    "1582-10-10",
    "0001-01-01",
    "9999-12-31",
    "infinity",
];

const TIMES: &[&str] =
    &["00:00:00", "12:34:56", "12:34:56.789", "23:59:59.999999", "23:59:59.999999999"];

const TIMESTAMPS: &[&str] = &[
    "1970-01-01T00:00:00",
    "2024-02-29T12:34:56.789",
    "2024-02-29T12:34:56.789001",
    "1969-12-31T23:59:59.999999999",
    "0001-01-01T00:00:00",
    "-infinity",
];

const INSTANTS: &[&str] = &[
    "1970-01-01T00:00:00Z",
    "2024-03-10T02:30:00.5-05:00",
    "2024-02-29T12:34:56.789001Z",
    "1969-12-31T23:59:59.999999999Z",
    "9999-12-31T23:59:59Z",
    "infinity",
];

const JSON: [&str; 5] = ["{\"a\": 1}", "[1, 2.50, null]", "\"na\\u00efve\"", "true", "null"];

fn parsed<T>(
    texts: &[&str],
    parse: impl Fn(&str) -> Option<T>,
    value: impl Fn(T) -> Value,
) -> Vec<Value> {
    texts.iter().map(|text| value(parse(text).expect("the sample is one"))).collect()
}

//! Values against independent, naive oracles: what they keep exact, how they read and write their
//! text forms, how they compare and what they convert to.

extern crate alloc;

#[path = "value/number.rs"]
mod number;
#[path = "common/rng.rs"]
mod rng;
#[path = "value/temporal.rs"]
mod temporal;

use alloc::collections::BTreeMap;
use core::cmp::Ordering;

use fetcher_engine::value::{
    Date, Decimal, Instant, Time, Timestamp, Uuid, Value, ValueKind, compare,
};
use rng::Rng;

impl Rng {
    fn digits(&mut self, len: u64) -> String {
        // Few distinct digits, so that long common prefixes are common.
        (0..len).map(|_| ["0", "0", "1", "9"][self.below(4) as usize]).collect()
    }
}

fn decimal(text: &str) -> Decimal {
    Decimal::parse(text).unwrap_or_else(|| panic!("not a decimal: {text}"))
}

fn value(text: &str) -> Value {
    Value::Decimal(decimal(text))
}

/// One value of every kind.
fn samples() -> Vec<Value> {
    vec![
        Value::Null,
        true.into(),
        (-7_i8).into(),
        7_u8.into(),
        1.5_f32.into(),
        1.5_f64.into(),
        decimal("1.50").into(),
        "text".into(),
        vec![1_u8, 2].into(),
        Uuid([7; 16]).into(),
        Date::from_days(0).into(),
        Time::MIDNIGHT.into(),
        Timestamp::INFINITY.into(),
        Instant::NEG_INFINITY.into(),
        Value::Json("1".into()),
        vec![Value::Null].into(),
        BTreeMap::from([("a".to_owned(), Value::Null)]).into(),
    ]
}

#[test]
fn other_kinds_compare_within_themselves_or_not_at_all() {
    use Ordering::{Equal, Less};
    let number =
        |value: &Value| (2..=6).contains(&samples().iter().position(|s| s == value).unwrap());
    for (i, a) in samples().iter().enumerate() {
        for (j, b) in samples().iter().enumerate() {
            let comparable = i == j && !matches!(i, 0 | 14 | 15 | 16) || number(a) && number(b);
            assert_eq!(compare(a, b).is_some(), comparable, "{a:?} {b:?}");
            assert_eq!(a == b, i == j, "structurally: {a:?} {b:?}");
        }
    }
    let table: [(Value, Value, Ordering); 9] = [
        (false.into(), true.into(), Less),
        ("Z".into(), "a".into(), Less),
        ("a".into(), "aa".into(), Less),
        ("z".into(), "é".into(), Less),
        (vec![1_u8, 255].into(), vec![2_u8].into(), Less),
        (Uuid([1; 16]).into(), Uuid([2; 16]).into(), Less),
        (Date::from_days(-1).into(), Date::INFINITY.into(), Less),
        (Time::MIDNIGHT.into(), Time::END_OF_DAY.into(), Less),
        (Instant::INFINITY.into(), Instant::INFINITY.into(), Equal),
    ];
    for (a, b, order) in table {
        assert_eq!(compare(&a, &b), Some(order), "{a:?} {b:?}");
        assert_eq!(compare(&b, &a), Some(order.reverse()));
    }
    assert_eq!(Value::F64(f64::NAN), Value::F64(f64::NAN));
    assert_ne!(Value::F64(0.0), Value::F64(-0.0));
    assert_ne!(Value::from("1"), Value::Json("1".into()));
    assert_eq!(Value::from(None::<i64>), Value::Null);
    assert_eq!(Value::from(Some("x")), Value::String("x".into()));
}

#[test]
fn kinds_have_their_names() {
    let names = [
        "bool",
        "i64",
        "u64",
        "f32",
        "f64",
        "decimal",
        "string",
        "bytes",
        "uuid",
        "date",
        "time",
        "timestamp",
        "instant",
        "json",
        "list",
        "map",
    ];
    let kinds: Vec<_> = samples().iter().filter_map(Value::kind).map(ValueKind::as_str).collect();
    assert_eq!(kinds, names);
    assert_eq!(Value::Null.kind(), None);
}

// ---- conversions

#[test]
fn values_convert_exactly_or_are_refused() {
    use ValueKind as K;
    let date = Date::from_ymd(2024, 3, 31).unwrap();
    let midnight = 1_711_843_200;
    let same: [(Value, ValueKind, Value); 31] = [
        (u64::MAX.into(), K::Decimal, value("18446744073709551615")),
        (7_u64.into(), K::I64, Value::I64(7)),
        (7_i64.into(), K::U64, Value::U64(7)),
        (7.0_f64.into(), K::U64, Value::U64(7)),
        ((-0.0_f32).into(), K::I64, Value::I64(0)),
        ((i64::MIN as f64).into(), K::I64, Value::I64(i64::MIN)),
        (value("1.20e1"), K::I64, Value::I64(12)),
        (value("-9223372036854775808.000"), K::I64, Value::I64(i64::MIN)),
        (value("0e999999"), K::U64, Value::U64(0)),
        (0.1_f64.into(), K::Decimal, value("0.1")),
        (0.1_f32.into(), K::Decimal, value("0.1")),
        (10.0_f64.into(), K::Decimal, value("10")),
        (1e300_f64.into(), K::Decimal, value("1e300")),
        (f64::NEG_INFINITY.into(), K::Decimal, value("-Infinity")),
        (9_007_199_254_740_993_i64.into(), K::F64, Value::F64(9_007_199_254_740_992.0)),
        (0.1_f64.into(), K::F32, Value::F32(0.1)),
        (f64::INFINITY.into(), K::F32, Value::F32(f32::INFINITY)),
        (0.1_f32.into(), K::F64, Value::F64(f64::from(0.1_f32))),
        // Rounded by way of a double, this would end on the even neighbour.
        (value("1.000000059604644775390626"), K::F32, Value::F32(1.000_000_1)),
        (value("1e-400"), K::F64, Value::F64(0.0)),
        (value("-1e-99999999"), K::F32, Value::F32(-0.0)),
        (value("NaN"), K::F64, Value::F64(f64::NAN)),
        (date.into(), K::Timestamp, Timestamp::new(midnight, 0).into()),
        (date.into(), K::Instant, Instant::new(midnight, 0).into()),
        (Date::INFINITY.into(), K::Timestamp, Timestamp::INFINITY.into()),
        ("-5".into(), K::I64, Value::I64(-5)),
        ("2024-03-31".into(), K::Instant, Instant::new(midnight, 0).into()),
        ("2024-03-31 02:00:00+02".into(), K::Instant, Instant::new(midnight, 0).into()),
        ("-infinity".into(), K::F32, Value::F32(f32::NEG_INFINITY)),
        ("1.10".into(), K::Decimal, value("1.10")),
        ("true".into(), K::Bool, true.into()),
    ];
    for (from, kind, to) in same {
        assert_eq!(from.convert_to(kind), Some(to), "{from:?} to {kind}");
    }
    let refused: [(Value, ValueKind); 29] = [
        (u64::MAX.into(), K::I64),
        ((-1).into(), K::U64),
        (1.5.into(), K::I64),
        (f64::NAN.into(), K::I64),
        (9.3e18.into(), K::I64),
        (1e300.into(), K::U64),
        (f64::INFINITY.into(), K::U64),
        (value("0.5"), K::I64),
        (value("1e30"), K::U64),
        (value("1e9223372036854775807"), K::I64),
        (value("NaN"), K::I64),
        (value("1e309"), K::F64),
        (value("1e9223372036854775807"), K::F64),
        (value("4e38"), K::F32),
        (1e300.into(), K::F32),
        (1.into(), K::Bool),
        (1.into(), K::String),
        (Uuid([0; 16]).into(), K::String),
        (Timestamp::INFINITY.into(), K::Instant),
        (Timestamp::INFINITY.into(), K::Date),
        ("abc".into(), K::I64),
        ("1.0".into(), K::I64),
        (" 1".into(), K::I64),
        ("1e400".into(), K::F64),
        ("TRUE".into(), K::Bool),
        ("x".into(), K::Uuid),
        ("2024-03-31T00:00:00".into(), K::Instant),
        ("2024-03-31T00:00:00Z".into(), K::Timestamp),
        ("{}".into(), K::Json),
    ];
    for (from, kind) in refused {
        assert_eq!(from.convert_to(kind), None, "{from:?} to {kind}");
    }
    let kinds: Vec<_> = samples().iter().filter_map(Value::kind).collect();
    for (sample, kind) in samples().iter().flat_map(|s| kinds.iter().map(move |&k| (s, k))) {
        match sample.convert_to(kind) {
            Some(converted) if sample.is_null() => assert_eq!(converted, Value::Null),
            Some(converted) => assert_eq!(converted.kind(), Some(kind)),
            None => assert_ne!(sample.kind(), Some(kind)),
        }
    }
}

#[test]
fn every_scalar_is_read_back_from_its_own_text() {
    let table: [(&str, Value); 10] = [
        ("18446744073709551615", u64::MAX.into()),
        ("0.1", 0.1_f32.into()),
        ("1e-7", 1e-7.into()),
        ("-0.00", decimal("-0.00").into()),
        ("07070707-0707-0707-0707-070707070707", Uuid([7; 16]).into()),
        ("+012024-02-29", Date::from_ymd(12024, 2, 29).into()),
        ("24:00:00", Time::END_OF_DAY.into()),
        ("1969-12-31T23:59:59.5", Timestamp::new(-1, 500_000_000).into()),
        ("1970-01-01T00:00:01Z", Instant::new(1, 0).into()),
        ("AP/+", vec![0_u8, 255, 254].into()),
    ];
    for (text, value) in table {
        assert_eq!(Value::from(text).convert_to(value.kind().unwrap()), Some(value), "{text}");
    }
}

/// Base64 bit by bit.
fn naive_base64(bytes: &[u8]) -> String {
    let bits: String = bytes.iter().map(|byte| format!("{byte:08b}")).collect();
    let alphabet: Vec<char> =
        ('A'..='Z').chain('a'..='z').chain('0'..='9').chain(['+', '/']).collect();
    let digit = |six: &[u8]| {
        let six = format!("{:0<6}", str::from_utf8(six).unwrap());
        alphabet[usize::from_str_radix(&six, 2).unwrap()]
    };
    let text: String = bits.as_bytes().chunks(6).map(digit).collect();
    let padding = (4 - text.len() % 4) % 4;
    text + &"=".repeat(padding)
}

#[test]
fn bytes_are_read_from_base64_and_from_nothing_like_it() {
    let mut rng = Rng(4);
    for len in 0..100 {
        let bytes: Vec<u8> = (0..len).map(|_| rng.next() as u8).collect();
        let text = Value::from(naive_base64(&bytes));
        assert_eq!(text.convert_to(ValueKind::Bytes), Some(bytes.into()), "{text:?}");
    }
    for refused in [
        "A", "AA", "AAA", "A===", "====", "AA=A", "AA==AAAA", "AB==", "AAB=", "AA-_", "AA A",
        "AAAA\n", "AAAA=", "=AAA", "ÀAA",
    ] {
        assert_eq!(Value::from(refused).convert_to(ValueKind::Bytes), None, "{refused:?}");
    }
}

// ---- identifiers

#[test]
fn identifiers_are_read_in_four_forms_and_written_in_one() {
    let text = "00112233-4455-6677-8899-aabbccddeeff";
    let bytes: [u8; 16] = core::array::from_fn(|at| (at * 0x11) as u8);
    let uuid = Uuid::from_bytes(bytes);
    let simple = text.replace('-', "");
    let braces = [format!("{{{text}}}"), format!("{{{simple}}}")];
    for form in [text, &text.to_uppercase(), &simple, &braces[0], &braces[1].to_uppercase()] {
        assert_eq!(Uuid::parse(form), Some(uuid), "{form}");
    }
    assert_eq!(uuid.to_string(), text);
    assert_eq!(&uuid.write_text(), text.as_bytes());
    assert_eq!(uuid.as_bytes(), &bytes);
    for at in 0..text.len() {
        for other in ["", "g", "-", "é", " ", "00"] {
            let mut broken = text.to_owned();
            broken.replace_range(at..=at, other);
            if broken != text {
                assert_eq!(Uuid::parse(&broken), None, "{broken}");
            }
        }
    }
    for refused in ["", "{", "}", "{}", "{00112233-4455-6677-8899-aabbccddeeff"] {
        assert_eq!(Uuid::parse(refused), None, "{refused}");
    }
}

//! Filters: no values and no cell make them panic, and the laws of three-valued logic hold.
#![no_main]

use fetcher_engine::filter::{Filter, Operator};
use fetcher_engine::value::{Decimal, Instant, Timestamp, Value, ValueKind, compare};
use libfuzzer_sys::fuzz_target;

const KINDS: [ValueKind; 10] = [
    ValueKind::Bool,
    ValueKind::I64,
    ValueKind::U64,
    ValueKind::F32,
    ValueKind::F64,
    ValueKind::Decimal,
    ValueKind::String,
    ValueKind::Uuid,
    ValueKind::Timestamp,
    ValueKind::Instant,
];

/// A value from the input's next bytes.
fn value(data: &mut &[u8]) -> Value {
    let Some((&kind, rest)) = data.split_first() else { return Value::Null };
    let take = (kind as usize >> 4).min(rest.len());
    let (bytes, rest) = rest.split_at(take);
    *data = rest;
    let text = String::from_utf8_lossy(bytes).into_owned();
    let mut word = [0; 8];
    word[..bytes.len().min(8)].copy_from_slice(&bytes[..bytes.len().min(8)]);
    let word = u64::from_le_bytes(word);
    match kind & 0xF {
        0 => Value::Null,
        1 => Value::Bool(word & 1 == 1),
        2 => Value::I64(word as i64),
        3 => Value::U64(word),
        4 => Value::F64(f64::from_bits(word)),
        5 => Value::F32(f32::from_bits(word as u32)),
        6 => Decimal::parse(&text).map_or(Value::Null, Value::Decimal),
        7 => Value::Bytes(bytes.to_vec()),
        8 => Timestamp::new(word as i64 >> 8, word as u32 & 0xFF)
            .map_or(Value::Null, Value::Timestamp),
        9 => Instant::parse(&text).map_or(Value::Null, Value::Instant),
        10 => Value::List(vec![Value::String(text)]),
        _ => Value::String(text),
    }
}

fuzz_target!(|data: &[u8]| {
    let mut data = data;
    let Some((&operator, rest)) = data.split_first() else { return };
    data = rest;
    let operator = Operator::ALL[operator as usize % Operator::ALL.len()];
    let cell = value(&mut data);
    let values: Vec<Value> = (0..data.len().min(4)).map(|_| value(&mut data)).collect();
    let filter = Filter::new("f", operator, values);
    let answer = filter.evaluate(&cell);
    assert_eq!(filter.matches(&cell), answer == Some(true));
    if filter.check().is_err() || cell == Value::Null {
        assert_eq!(answer, None);
    }
    if let [one] = filter.values() {
        // A total order where there is one at all.
        assert_eq!(compare(&cell, one).map(|order| order.reverse()), compare(one, &cell));
        let eq = Filter::eq("f", one.clone()).evaluate(&cell);
        let ne = Filter::ne("f", one.clone()).evaluate(&cell);
        assert_eq!(eq.map(|eq| !eq), ne);
    }
    for kind in KINDS {
        // What was brought to a column's kind stays as it is when it is brought there again.
        if let Some(converted) = filter.for_column(kind) {
            assert_eq!(converted.for_column(kind).as_ref(), Some(&converted));
        }
    }
});

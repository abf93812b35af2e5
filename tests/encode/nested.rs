//! Lists and maps in a cell, as values and step by step, in both formats.

use std::collections::BTreeMap;

use fetcher_engine::encode::{Document, Format, RowBatch, RowFault};
use fetcher_engine::value::Value;

use super::{Rng, encoded, naive, open};

const FORMATS: [Format; 2] = [Format::Json, Format::Ndjson];

fn list(items: impl IntoIterator<Item = Value>) -> Value {
    Value::List(items.into_iter().collect())
}

fn map<const N: usize>(entries: [(&str, Value); N]) -> Value {
    Value::Map(entries.map(|(key, value)| (key.to_owned(), value)).into())
}

/// The same, step by step.
fn write_steps(batch: &mut RowBatch, value: &Value) {
    match value {
        Value::List(items) => {
            batch.begin_list();
            items.iter().for_each(|item| write_steps(batch, item));
            batch.end();
        }
        Value::Map(entries) => {
            batch.begin_map();
            for (key, item) in entries {
                batch.key(key);
                write_steps(batch, item);
            }
            batch.end();
        }
        scalar => batch.value(scalar),
    }
}

/// Some steps, and the innermost as a value.
fn write_mixed(batch: &mut RowBatch, value: &Value) {
    match value {
        Value::List(items) if items.len() % 2 == 1 => {
            batch.begin_list();
            items.iter().for_each(|item| write_mixed(batch, item));
            batch.end();
        }
        value => batch.value(value),
    }
}

fn any_value(rng: &mut Rng, depth: u64) -> Value {
    let kinds = if depth == 0 { 3 } else { 6 };
    match rng.below(kinds) {
        0 => Value::Null,
        1 => Value::I64(rng.next() as i64 >> rng.below(64)),
        2 => Value::from(
            ["", "plain", "<&\u{2028}\"", "a text of more than thirty-two bytes, plain"]
                [rng.below(4) as usize],
        ),
        3 | 4 => list((0..rng.below(4)).map(|_| any_value(rng, depth - 1)).collect::<Vec<_>>()),
        _ => {
            let entry =
                |rng: &mut Rng| (format!("k\"{}", rng.below(100)), any_value(rng, depth - 1));
            Value::Map((0..rng.below(4)).map(|_| entry(rng)).collect::<BTreeMap<_, _>>())
        }
    }
}

fn check(value: &Value) {
    let writes: [fn(&mut RowBatch, &Value); 3] =
        [|batch, value| batch.value(value), write_steps, write_mixed];
    for format in FORMATS {
        let text = naive::value(value, format, 0);
        for columns in [["a", "b"], ["b", "a"]] {
            for write in writes {
                let mut batch = open(format);
                batch.table("t", &columns).expect("the table is new");
                for column in columns {
                    if column == "a" { write(&mut batch, value) } else { batch.i64(7) }
                }
                batch.end_row().expect("the row is whole");
                let expected = naive::row(format, "d", "t", &[("a", &text), ("b", "7")]);
                assert_eq!(encoded(&batch), expected);
            }
        }
    }
}

#[test]
fn lists_and_maps_in_both_formats() {
    let one = || Value::from(1);
    check(&list([]));
    check(&map([]));
    check(&list([one()]));
    check(&list([one(), Value::from("x"), Value::Null]));
    check(&map([("a", one())]));
    check(&map([("a", one()), ("b<", Value::from("\n")), ("", Value::Null)]));
    check(&list([list([]), map([]), list([one()]), map([("a", one())])]));
    check(&map([("l", list([list([one(), one()]), list([])])), ("m", map([("n", map([]))]))]));
    let mut rng = Rng(4);
    for _ in 0..150 {
        check(&any_value(&mut rng, 5));
    }
}

#[test]
fn known_nesting() {
    let value = map([("a", list([Value::from(1), map([]), list([])])), ("b", map([]))]);
    let mut batch = open(Format::Json);
    batch.table("t", &["v"]).expect("the table is new");
    batch.value(&value);
    batch.end_row().expect("the row is whole");
    let expected = r#"{
  "d": {
    "t": [
      {
        "v": {
          "a": [
            1,
            {},
            []
          ],
          "b": {}
        }
      }
    ]
  }
}"#;
    let document = Document::from_batches([batch]).expect("nothing is wrong");
    assert_eq!(String::from_utf8(document.into_vec()).expect("UTF-8"), expected);
}

/// Keys come out as they are written, twice too.
#[test]
fn keys_keep_their_order() {
    let mut batch = super::one_column();
    batch.begin_map();
    for key in ["b", "a", "b"] {
        batch.key(key);
        batch.null();
    }
    batch.end();
    batch.end_row().expect("the row is whole");
    assert_eq!(super::cells_of(&batch), [r#"{"b":null,"a":null,"b":null}"#]);
}

/// A value of lists and maps this many levels deep.
fn deep(levels: usize, map_at: impl Fn(usize) -> bool) -> Value {
    (0..levels).fold(Value::from(1), |inner, level| {
        if map_at(level) { map([("k", inner)]) } else { list([inner]) }
    })
}

#[test]
fn depth_is_bounded() {
    let kinds: [fn(usize) -> bool; 3] = [|_| false, |_| true, |level| level % 2 == 0];
    for kind in kinds {
        for levels in [1, 2, 127, 128] {
            check(&deep(levels, kind));
        }
        for levels in [129, 130, 400] {
            let value = deep(levels, kind);
            let writes: [fn(&mut RowBatch, &Value); 3] =
                [|batch, value| batch.value(value), write_steps, write_mixed];
            for (format, write) in FORMATS.iter().flat_map(|format| writes.map(|w| (*format, w))) {
                let mut batch = open(format);
                batch.table("t", &["v"]).expect("the table is new");
                write(&mut batch, &value);
                assert_eq!(batch.fault(), Some(RowFault::TooDeep));
                assert_eq!(batch.end_row(), Err(RowFault::TooDeep));
                assert_eq!(encoded(&batch), "");
            }
        }
    }
    // Inside steps, a value has the levels that are left; an empty one counts.
    for (steps, levels, fits) in [(100, 28, true), (100, 29, false), (128, 0, true), (127, 1, true)]
    {
        let mut batch = super::one_column();
        (0..steps).for_each(|_| batch.begin_list());
        batch.value(&deep(levels, |_| false));
        (0..steps).for_each(|_| batch.end());
        assert_eq!(batch.end_row().is_ok(), fits, "{steps} {levels}");
    }
    for empty in [list([]), map([])] {
        let mut batch = super::one_column();
        (0..128).for_each(|_| batch.begin_list());
        assert_eq!(batch.fault(), None);
        batch.value(&empty);
        assert_eq!(batch.fault(), Some(RowFault::TooDeep));
    }
}

/// What is out of order is a fault at once, and no bytes come of it.
#[test]
fn disorder_is_a_fault() {
    type Steps = fn(&mut RowBatch);
    let table: [(&str, Steps); 13] = [
        ("a key outside", |batch| batch.key("k")),
        ("an end outside", |batch| batch.end()),
        ("an end after a value", |batch| {
            batch.null();
            batch.end();
        }),
        ("a key after a value", |batch| {
            batch.null();
            batch.key("k");
        }),
        ("a key in a list", |batch| {
            batch.begin_list();
            batch.key("k");
        }),
        ("two keys", |batch| {
            batch.begin_map();
            batch.key("k");
            batch.key("l");
        }),
        ("a value without a key", |batch| {
            batch.begin_map();
            batch.null();
        }),
        ("a second value", |batch| {
            batch.begin_map();
            batch.key("k");
            batch.null();
            batch.null();
        }),
        ("a list without a key", |batch| {
            batch.begin_map();
            batch.begin_list();
        }),
        ("a map without a key", |batch| {
            batch.begin_map();
            batch.begin_map();
        }),
        ("a value of a map without a key", |batch| {
            batch.begin_map();
            batch.value(&Value::List(Vec::new()));
        }),
        ("an end after a key", |batch| {
            batch.begin_map();
            batch.key("k");
            batch.end();
        }),
        ("one end too many", |batch| {
            batch.begin_list();
            batch.begin_map();
            (0..3).for_each(|_| batch.end());
        }),
    ];
    for (name, steps) in table {
        for columns in [["a", "b"], ["b", "a"]] {
            let mut batch = open(Format::Ndjson);
            batch.table("t", &columns).expect("the table is new");
            steps(&mut batch);
            assert_eq!(batch.fault(), Some(RowFault::Nesting), "{name}");
            assert_eq!(batch.end_row(), Err(RowFault::Nesting), "{name}");
            assert!(batch.is_full() && batch.encoded().is_empty());
        }
    }
}

//! Sequences of row batch calls, legal or not: no panic, no half row, and in the end either a fault
//! or lines that each hold one whole row.
#![no_main]

use fetcher_engine::encode::{Format, RowBatch, StepShape};
use libfuzzer_sys::fuzz_target;

const TABLES: [(&str, &[&str]); 4] =
    [("t", &["b", "a"]), ("t", &["a", "b"]), ("u", &[]), ("v\"", &["x", "x\u{2028}", "y"])];

fuzz_target!(|data: &[u8]| {
    let format = if data.first().is_some_and(|first| first & 1 == 1) {
        Format::Json
    } else {
        Format::Ndjson
    };
    let mut batch = RowBatch::new(StepShape::open(format, "c<"));
    let mut rows = 0;
    for &byte in data.iter().skip(1) {
        let number = i64::from(byte);
        match byte % 24 {
            0..=3 => drop(batch.table(TABLES[byte as usize % 4].0, TABLES[byte as usize % 4].1)),
            4 => batch.null(),
            5 => batch.bool(true),
            6 => batch.i64(number * -7_777_777),
            7 => batch.f64(f64::from(byte) / 8.0),
            8 => batch.str("plain text that is longer than a block of thirty-two bytes"),
            9 => batch.str("\"<\u{2028}\n"),
            10 => batch.bytes(&[byte; 7]),
            11 => batch.begin_list(),
            12 => batch.begin_map(),
            13 => batch.key("k"),
            14 => batch.end(),
            15 => batch.abandon_row(),
            16 => batch.json(" [1 , {\"a\" : 2}] "),
            17 => drop(batch.decimal_str("1.50")),
            18 => batch.f32(0.1),
            19 => batch.u64(u64::MAX - u64::from(byte)),
            _ => rows += u64::from(batch.end_row().is_ok()),
        }
    }
    assert_eq!(batch.rows(), rows, "a row counts when its end was well");
    let text = std::str::from_utf8(batch.encoded()).expect("UTF-8");
    if format == Format::Ndjson {
        assert_eq!(text.lines().count() as u64, rows);
        let whole =
            |line: &str| line.starts_with("{\"config\":\"c\\u003c\"") && line.ends_with("}}");
        assert!(text.lines().all(whole));
    }
});

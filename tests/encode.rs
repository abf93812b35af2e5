//! The encoder through its public face: row batches and documents against naive oracles and tables
//! of known texts.
//!
//! Every branch of the encoder is run here at its edges; what the bytes mean to others (vectors of
//! another engine, other libraries) is tested elsewhere.

#![cfg(feature = "std")]

extern crate alloc;

#[path = "encode/ahead.rs"]
mod ahead;
#[path = "encode/along.rs"]
mod along;
#[path = "encode/batch.rs"]
mod batch;
#[path = "encode/engine.rs"]
mod engine;
#[path = "encode/json.rs"]
mod json;
#[path = "encode/naive.rs"]
mod naive;
#[path = "encode/nested.rs"]
mod nested;
#[path = "encode/number.rs"]
mod number;
#[path = "common/rng.rs"]
mod rng;
#[path = "encode/text.rs"]
mod text;

use fetcher_engine::encode::{Format, RowBatch, StepShape};
use rng::Rng;

/// A batch that takes anything.
fn open(format: Format) -> RowBatch {
    RowBatch::new(StepShape::open(format, "d"))
}

/// A batch in which `t(v)` is declared.
fn one_column() -> RowBatch {
    let mut batch = open(Format::Ndjson);
    batch.table("t", &["v"]).expect("the table is new");
    batch
}

fn encoded(batch: &RowBatch) -> &str {
    str::from_utf8(batch.encoded()).expect("UTF-8")
}

/// The cells of `t(v)`, as they went out.
fn cells_of(batch: &RowBatch) -> Vec<String> {
    const HEAD: &str = r#"{"config":"d","table":"t","row":{"v":"#;
    let cell = |line: &str| {
        let rest = line.strip_prefix(HEAD).and_then(|rest| rest.strip_suffix("}}"));
        rest.unwrap_or_else(|| panic!("the envelope is fixed: {line}")).to_owned()
    };
    encoded(batch).lines().map(cell).collect()
}

/// The texts of these values, each in a row of its own.
fn cells<T>(values: &[T], write: impl Fn(&mut RowBatch, &T)) -> Vec<String> {
    let mut batch = one_column();
    for value in values {
        write(&mut batch, value);
        batch.end_row().expect("one value for one column");
    }
    let cells = cells_of(&batch);
    assert_eq!(cells.len(), values.len(), "one line per row");
    cells
}

fn cell(write: impl Fn(&mut RowBatch)) -> String {
    cells(&[()], |batch, ()| write(batch)).remove(0)
}

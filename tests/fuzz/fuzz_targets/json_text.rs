//! JSON text of a source: whatever it is, the line stays valid, and what is kept is kept token for
//! token: writing the result again changes nothing.
#![no_main]

use fetcher_engine::encode::{Format, RowBatch, StepShape};
use libfuzzer_sys::fuzz_target;

fn written(text: &str) -> String {
    let mut batch = RowBatch::new(StepShape::open(Format::Ndjson, "c"));
    batch.table("t", &["v"]).expect("the table is new");
    batch.json(text);
    batch.end_row().expect("one value for one column");
    let line = String::from_utf8(batch.encoded().to_vec()).expect("UTF-8");
    let value = line.strip_prefix(r#"{"config":"c","table":"t","row":{"v":"#);
    let value = value.and_then(|value| value.strip_suffix("}}\n"));
    value.expect("the envelope is fixed").to_owned()
}

fuzz_target!(|text: &str| {
    let once = written(text);
    assert!(!once.contains('\n'), "one line per row");
    // What went out is JSON, so that it goes through unchanged.
    assert_eq!(written(&once), once);
    // And so it is in the middle of more white space.
    assert_eq!(written(&format!(" \n{once}\t ")), once);
});

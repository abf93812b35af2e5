//! Large results: a cell of 100 MB, wide rows, batches of bounded size.

use fetcher_engine::{Filter, Value};

use crate::support::with_db;
use crate::testing::database::Database as _;
use crate::testing::memory::peak_mb;

#[test]
fn many_rows_come_in_batches_of_bounded_size() {
    with_db(async |db| {
        db.run("CREATE VIEW many AS SELECT n, n::text AS t FROM generate_series(1, 300000) AS n")
            .await;
        for filters in [Vec::new(), vec![Filter::gt("n", Value::from(0_i64))]] {
            let seen = db.count("many", &["n", "t"], filters).await;
            assert_eq!(seen.rows, 300_000);
            assert!(seen.most < 300 << 10, "{}", seen.most);
        }
    });
}

#[test]
fn a_cell_of_100_mb() {
    with_db(async |db| {
        db.run("CREATE TABLE big (id int, t text, b bytea)").await;
        db.run("INSERT INTO big VALUES (1, repeat('x', 100000000), NULL)").await;
        db.run("INSERT INTO big SELECT 2, NULL, decode(repeat('ff', 100000000), 'hex')").await;
        let before = peak_mb();
        let seen = db.count("big", &["b", "id", "t"], Vec::new()).await;
        assert_eq!(seen.rows, 2);
        assert!(seen.bytes > 233_000_000, "{}", seen.bytes);
        if let (Some(before), Some(after)) = (before, peak_mb()) {
            assert!(after - before < 900, "{} MB", after - before);
        }
    });
}

#[test]
fn a_row_of_many_wide_columns() {
    with_db(async |db| {
        let columns: Vec<_> = (0..102).map(|n| format!("c{n:03}")).collect();
        let selected: Vec<_> =
            columns.iter().map(|it| format!("repeat('{it}', 10000) AS {it}")).collect();
        db.run(&format!(
            "CREATE VIEW wide AS SELECT {} FROM generate_series(1, 20)",
            selected.join(", ")
        ))
        .await;
        let fields: Vec<_> = columns.iter().map(String::as_str).collect();
        let seen = db.count("wide", &fields, Vec::new()).await;
        assert_eq!(seen.rows, 20);
        assert!(seen.bytes > 20 * 102 * 40_000);
        assert!(seen.most < 5 << 20, "one row at a time: {}", seen.most);
    });
}

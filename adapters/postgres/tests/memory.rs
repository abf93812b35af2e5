//! Ten million rows in constant memory, against a real server as in the `postgres` tests.
//!
//! In a process of its own: the peak of memory is that of the process, and the tests there hold
//! cells of 100 MB.

#[path = "postgres/server.rs"]
mod server;
#[allow(dead_code, reason = "the other tests use the rest")]
#[path = "postgres/support.rs"]
mod support;
#[path = "../../sql/testing/mod.rs"]
mod testing;

use support::with_db;
use testing::database::Database as _;
use testing::memory::peak_mb;

#[test]
fn ten_million_rows_in_constant_memory() {
    const ROWS: u64 = 10_000_000;
    with_db(async |db| {
        // As a column, the series comes row by row; as a table it would be made in full first.
        let view = |name: &str, rows: u64| {
            format!("CREATE VIEW {name} AS SELECT generate_series(1, {rows}) AS n, 'x' AS t")
        };
        db.run(&view("few", ROWS / 1000)).await;
        db.run(&view("many", ROWS)).await;
        assert_eq!(db.count("few", &["n", "t"], Vec::new()).await.rows, ROWS / 1000);
        let before = peak_mb();
        let seen = db.count("many", &["n", "t"], Vec::new()).await;
        assert_eq!(seen.rows, ROWS);
        assert!(seen.most < 300 << 10, "{}", seen.most);
        if let (Some(before), Some(after)) = (before, peak_mb()) {
            assert!(after - before < 16, "{} MB more than for a thousandth", after - before);
        }
    });
}

//! Large results from SQLite, each in a process that reads nothing else meanwhile: millions of rows
//! in constant memory, a cell of 100 MB, wide rows.

#[expect(dead_code, reason = "not all of it is needed here")]
#[path = "sqlite/support.rs"]
mod support;
#[path = "../../sql/testing/mod.rs"]
mod testing;

use std::sync::Mutex;

use fetcher_engine::{Filter, block_on};

use support::Db;
use testing::memory::{growth_mb, memory_mb};
use testing::reading::{self, Counted, batch, build, drain, narrowed, planned, told};

/// One at a time: memory is the process's.
static ALONE: Mutex<()> = Mutex::new(());

/// Reads without keeping; and how much more memory that takes, in megabytes.
fn count(db: &Db, table: &str, fields: &[&str], filters: Vec<Filter>) -> (Counted, usize) {
    let mut seen = None;
    let growth = growth_mb(|| {
        let connector = db.opened(narrowed(table, fields, filters));
        seen = Some(block_on(reading::count(connector)));
    });
    let seen = seen.expect("it was read");
    println!("{} rows, {} bytes, {growth} MB more", seen.rows, seen.bytes);
    (seen, growth)
}

#[test]
fn five_million_rows_in_constant_memory() {
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let db = Db::with(
        "CREATE VIEW many AS WITH RECURSIVE c(n) AS
           (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 5000000)
           SELECT n, n % 1000 = 0 AS k FROM c;
         CREATE VIEW few AS SELECT n, 'text ' || n AS t FROM many WHERE n <= 300000",
    );
    let (seen, growth) = count(&db, "many", &["n"], Vec::new());
    assert_eq!(seen.rows, 5_000_000);
    assert!(seen.most < 300 << 10, "{}", seen.most);
    assert!(growth < 48, "{growth} MB");
    // Also where the rows are kept or dropped by us.
    let nan = vec![Filter::lt("n", f64::NAN)];
    let (seen, growth) = count(&db, "few", &["n", "t"], nan);
    assert_eq!(seen.rows, 300_000);
    assert!(growth < 48, "{growth} MB");
}

/// What is held of rows of a megabyte each while nobody asks for more.
fn held_mb(db: &Db, rows_ahead: usize) -> usize {
    growth_mb(|| {
        let factory = support::factory().rows_ahead(rows_ahead);
        let mut connector = build(&factory, db.input()).unwrap();
        block_on(connector.connect()).map_err(told).unwrap();
        block_on(connector.open(planned("t", &["b"]))).map_err(told).unwrap();
        let (filled, _) = block_on(connector.fetch(batch())).map_err(told).unwrap();
        // Looks for half a second whether somebody reads ahead without end.
        let first = memory_mb("VmRSS");
        for _ in 0..50 {
            if memory_mb("VmRSS") > first.map(|first| first + 200) {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        drop(filled);
        block_on(connector.close()).map_err(told).unwrap();
    })
}

#[test]
fn a_slow_reader_is_not_overtaken() {
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let db = Db::with(
        "CREATE TABLE t (b BLOB); WITH RECURSIVE c(n) AS
           (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 400)
         INSERT INTO t SELECT zeroblob(1000000) FROM c;
         CREATE VIEW few AS SELECT b FROM t LIMIT 20",
    );
    db.close();
    for (rows_ahead, most) in [(1, 20), (16, 40), (100, 140)] {
        let growth = held_mb(&db, rows_ahead);
        println!("{rows_ahead} rows ahead: {growth} MB more for 400 MB of rows");
        assert!(growth < most, "{rows_ahead} rows ahead: {growth} MB");
    }
    for rows_ahead in [0, 1, 1000] {
        let factory = support::factory().rows_ahead(rows_ahead);
        let mut connector = build(&factory, db.input()).unwrap();
        let rows = block_on(async {
            connector.connect().await?;
            connector.open(planned("few", &["b"])).await?;
            drain(&mut *connector).await
        });
        assert_eq!(rows.map_err(told).unwrap().len(), 20, "{rows_ahead} rows ahead");
        block_on(connector.close()).map_err(told).unwrap();
    }
}

#[test]
fn a_cell_of_100_mb() {
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let db = Db::with(
        "CREATE TABLE big (id INTEGER PRIMARY KEY, t TEXT, b BLOB);
         INSERT INTO big VALUES (1, printf('%.*c', 100000000, 'x'), NULL);
         INSERT INTO big VALUES (2, NULL, zeroblob(100000000)), (3, 'end', x'00')",
    );
    db.close();
    let (seen, growth) = count(&db, "big", &["b", "id", "t"], Vec::new());
    assert_eq!(seen.rows, 3);
    assert!(seen.bytes > 233_000_000, "{}", seen.bytes);
    assert!(growth < 900, "{growth} MB");
}

#[test]
fn rows_of_many_wide_columns() {
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let columns: Vec<_> = (0..102).map(|n| format!("c{n:03}")).collect();
    let cells =
        columns.iter().map(|it| format!("replace(printf('%.*c', 10000, 'x'), 'x', '{it}')"));
    let cells: Vec<_> = cells.collect();
    let db = Db::with(&format!("CREATE TABLE wide ({})", columns.join(" TEXT, ")));
    db.run("BEGIN");
    for _ in 0..20 {
        db.run(&format!("INSERT INTO wide VALUES ({})", cells.join(", ")));
    }
    db.run("COMMIT");
    db.close();
    let fields: Vec<_> = columns.iter().map(String::as_str).collect();
    let (seen, _) = count(&db, "wide", &fields, Vec::new());
    assert_eq!(seen.rows, 20);
    assert!(seen.bytes > 20 * 102 * 40_000);
    assert!(seen.most < 5 << 20, "one row at a time: {}", seen.most);
}

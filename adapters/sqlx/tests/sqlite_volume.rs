//! Large results from SQLite, each in a process that reads nothing else meanwhile: millions of rows
//! in constant memory, a cell of 100 MB, wide rows.

#[expect(dead_code, reason = "not all of it is needed here")]
#[path = "sqlite/support.rs"]
mod support;

use std::fs;
use std::sync::Mutex;

use fetcher_engine::extraction::PlannedTable;
use fetcher_engine::ports::{Fetched, Query};
use fetcher_engine::{Filter, block_on};

use support::{Db, batch, told};

/// One at a time: memory is the process's.
static ALONE: Mutex<()> = Mutex::new(());

/// Reads without keeping; rows, bytes, and the most bytes that one batch held.
fn count(db: &Db, table: &str, fields: &[&str], filters: Vec<Filter>) -> (u64, usize, usize) {
    let planned = PlannedTable::new(table, fields.iter().copied(), filters);
    let mut connector = db.opened(Query::new([planned].into()));
    let mut batch = batch();
    let (mut rows, mut bytes, mut most) = (0, 0, 0);
    block_on(async {
        loop {
            let (filled, fetched) = connector.fetch(batch).await.map_err(told).unwrap();
            batch = filled;
            rows += batch.rows();
            bytes += batch.encoded().len();
            most = most.max(batch.encoded().len());
            batch.clear();
            if fetched == Fetched::End {
                break;
            }
        }
        connector.close().await.map_err(told).unwrap();
    });
    (rows, bytes, most)
}

/// What the system says of this process's memory, in megabytes: `VmHWM` is the most since
/// `forget_peak`, `VmRSS` what there is now.
fn memory_mb(name: &str) -> Option<usize> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with(name))?;
    Some(line.split_whitespace().nth(1)?.parse::<usize>().ok()? / 1024)
}

fn forget_peak() -> Option<()> {
    fs::write("/proc/self/clear_refs", "5").ok()
}

/// How much more memory it takes meanwhile, at its peak.
fn growth_mb(work: impl FnOnce()) -> usize {
    let before = forget_peak().and_then(|()| memory_mb("VmRSS"));
    work();
    match (before, memory_mb("VmHWM")) {
        (Some(before), Some(peak)) => peak.saturating_sub(before),
        _ => 0,
    }
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
    let mut seen = (0, 0, 0);
    let growth = growth_mb(|| seen = count(&db, "many", &["n"], Vec::new()));
    println!("{} rows, {} bytes, {growth} MB more", seen.0, seen.1);
    assert_eq!(seen.0, 5_000_000);
    assert!(seen.2 < 300 << 10, "{}", seen.2);
    assert!(growth < 48, "{growth} MB");
    // Also where the rows are kept or dropped by us.
    let nan = vec![Filter::lt("n", f64::NAN)];
    let growth = growth_mb(|| seen = count(&db, "few", &["n", "t"], nan));
    assert_eq!(seen.0, 300_000);
    assert!(growth < 48, "{growth} MB");
}

/// What is held of rows of a megabyte each while nobody asks for more.
fn held_mb(db: &Db, rows_ahead: usize) -> usize {
    growth_mb(|| {
        let factory = support::factory().rows_ahead(rows_ahead);
        let mut connector = support::build(&factory, db.input()).unwrap();
        block_on(connector.connect()).map_err(told).unwrap();
        block_on(connector.open(support::planned("t", &["b"]))).map_err(told).unwrap();
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
        let mut connector = support::build(&factory, db.input()).unwrap();
        let rows = block_on(async {
            connector.connect().await?;
            connector.open(support::planned("few", &["b"])).await?;
            support::drain(&mut *connector).await
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
    let mut seen = (0, 0, 0);
    let growth = growth_mb(|| seen = count(&db, "big", &["b", "id", "t"], Vec::new()));
    println!("{} bytes, {growth} MB more", seen.1);
    assert_eq!(seen.0, 3);
    assert!(seen.1 > 233_000_000, "{}", seen.1);
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
    let mut seen = (0, 0, 0);
    let growth = growth_mb(|| seen = count(&db, "wide", &fields, Vec::new()));
    println!("{} bytes, {growth} MB more", seen.1);
    assert_eq!(seen.0, 20);
    assert!(seen.1 > 20 * 102 * 40_000);
    assert!(seen.2 < 5 << 20, "one row at a time: {}", seen.2);
}

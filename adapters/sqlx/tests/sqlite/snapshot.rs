//! One snapshot of all tables, while another process writes: this test binary, started again.

use std::future::poll_fn;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fetcher_engine::block_on;
use fetcher_engine::encode::RowBatch;
use fetcher_engine::extraction::PlannedTable;
use fetcher_engine::ports::{Fetched, Query};
use fetcher_engine::{Category, Filter, PortError};
use fetcher_sqlx::SqliteConnectors;
use sqlx::{AssertSqlSafe, Executor as _, Row as _};

use crate::support::{Db, connect, connected, input};
use crate::testing::reading::{batch, build, drain, lines, told};

/// Names the file that the other process writes to.
const WRITER: &str = "FETCHER_TEST_SQLITE_WRITER";

const ROWS: usize = 3000;

/// Two tables that every transaction changes in step.
fn tables(db: &Db, mode: &str) {
    db.run(&format!(
        "PRAGMA page_size = 1024; PRAGMA journal_mode = {mode};
         CREATE TABLE a (id INTEGER PRIMARY KEY, x INT);
         CREATE TABLE b (id INTEGER PRIMARY KEY, x INT);
         CREATE TABLE done (rounds INT); INSERT INTO done VALUES (0);
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {ROWS})
           INSERT INTO a SELECT i, 0 FROM n;
         INSERT INTO b SELECT * FROM a"
    ));
    db.close();
}

/// Not a test of its own: what the other process does, until it is told to end.
#[test]
fn writer() {
    let Some(path) = std::env::var_os(WRITER) else { return };
    let mut connection = connect(Path::new(&path));
    for round in 1.. {
        let sql = format!(
            "BEGIN IMMEDIATE;
             UPDATE a SET x = {round} WHERE id % 97 = {round} % 97;
             INSERT INTO a VALUES ({round} + 100000, {round}); DELETE FROM a WHERE id = {round};
             UPDATE b SET x = {round} WHERE id % 97 = {round} % 97;
             INSERT INTO b VALUES ({round} + 100000, {round}); DELETE FROM b WHERE id = {round};
             UPDATE done SET rounds = {round}; COMMIT"
        );
        // Who reads may be in the way.
        if block_on(connection.execute(AssertSqlSafe(sql))).is_err() {
            let _ = block_on(connection.execute("ROLLBACK"));
        }
    }
}

/// Ends with the test.
struct Writer(Child);

impl Writer {
    fn start(path: &Path) -> Self {
        let own = std::env::current_exe().expect("this binary");
        let child = Command::new(own)
            .args(["--exact", "snapshot::writer", "--nocapture"])
            .env(WRITER, path)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        Self(child)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// How many transactions the writer has done, waiting until there are more than so many.
fn rounds_after(db: &Db, before: i64) -> i64 {
    for _ in 0..2000 {
        let rounds = db.rows("SELECT rounds FROM done")[0].get(0);
        db.close();
        if rounds > before {
            return rounds;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("the writer does not write");
}

/// Reads all three tables in small batches. In between it waits for the writer, where that does
/// not wait itself.
fn extract(db: &Db, waits: bool) -> Result<Vec<(String, String)>, PortError> {
    let factory = SqliteConnectors::new().busy_timeout(Duration::from_secs(20));
    let fields = |table| if table == "done" { vec!["rounds"] } else { vec!["id", "x"] };
    let tables = ["a", "b", "done"].map(|it| PlannedTable::new(it, fields(it), Vec::new()));
    let mut connector = build(&factory, input(&db.path))?;
    block_on(connector.connect())?;
    block_on(connector.open(Query::new(tables.into())))?;
    let (mut rows, mut current): (_, RowBatch) = (Vec::new(), batch());
    for number in 0.. {
        current.full_after(100);
        let (filled, fetched) = block_on(connector.fetch(current))?;
        current = filled;
        rows.extend(lines(&current));
        current.clear();
        if fetched == Fetched::End {
            break;
        }
        if waits && number % 20 == 0 {
            rounds_after(db, rounds_after(db, 0));
        }
    }
    block_on(connector.close())?;
    Ok(rows)
}

fn agrees(mode: &str, waits: bool) {
    let db = Db::new();
    tables(&db, mode);
    let writer = Writer::start(&db.path);
    let mut states = Vec::new();
    for _ in 0..12 {
        rounds_after(&db, states.last().copied().unwrap_or(0));
        let rows = extract(&db, waits).map_err(told).unwrap();
        let of = |table: &str| {
            let rows = rows.iter().filter(|row| row.0 == table);
            let mut rows: Vec<_> = rows.map(|row| row.1.as_str()).collect();
            rows.sort_unstable();
            rows
        };
        let (a, b) = (of("a"), of("b"));
        assert!(a == b, "{mode}: the tables agree");
        assert_eq!(a.len(), ROWS);
        let done = of("done")[0].strip_prefix(r#"{"rounds":"#).unwrap().strip_suffix('}').unwrap();
        // The last round's row is there, and no later one's.
        let last: i64 = done.parse().unwrap();
        assert!(a.contains(&format!(r#"{{"id":{},"x":{last}}}"#, last + 100_000).as_str()));
        let later = format!(r#""x":{}}}"#, last + 1);
        assert!(!a.iter().any(|row| row.ends_with(&later)), "{mode}");
        states.push(last);
    }
    drop(writer);
    states.dedup();
    println!("{mode}: 12 extractions, {} states, {:?} rounds", states.len(), states.last());
    assert!(states.len() > 6, "{mode}: the writer wrote in between: {states:?}");
}

#[test]
fn one_snapshot_under_a_writer_in_wal_mode() {
    agrees("WAL", true);
}

#[test]
fn one_snapshot_under_a_writer_with_a_rollback_journal() {
    agrees("DELETE", false);
    agrees("TRUNCATE", false);
}

/// A writer that changes the schema between `open` and the last table changes nothing, either.
#[test]
fn a_table_that_is_dropped_meanwhile_is_read() {
    let db = Db::new();
    tables(&db, "WAL");
    let mut connector = db.connector();
    let plans = ["a", "b"].map(|it| PlannedTable::new(it, ["id"], Vec::new()));
    block_on(connector.open(Query::new(plans.into()))).map_err(told).unwrap();
    let mut current = batch();
    current.full_after(1);
    let (mut current, _) = block_on(connector.fetch(current)).map_err(told).unwrap();
    db.run("DROP TABLE b; CREATE TABLE b (other TEXT); ALTER TABLE a RENAME TO c");
    current.full_after(u64::MAX);
    loop {
        let (filled, fetched) = block_on(connector.fetch(current)).map_err(told).unwrap();
        current = filled;
        if fetched == Fetched::End {
            break;
        }
    }
    assert_eq!(current.rows(), 2 * ROWS as u64);
    block_on(connector.close()).map_err(told).unwrap();
    let error = db.filtered("a", &["id"], Vec::new()).unwrap_err();
    assert_eq!(error.category(), Category::Validation);
}

/// `open` looks at the tables, may take another connection for large or unknown rows, and looks
/// again: whatever happens in between, it gives the rows of one state, or refuses.
#[test]
fn a_schema_that_changes_at_any_step_of_open() {
    let (mut old, mut new, mut refused) = (0, 0, 0);
    for step in 0..60 {
        let db = Db::with(
            "PRAGMA journal_mode = WAL; CREATE TABLE z (a TEXT PRIMARY KEY) WITHOUT ROWID;
             CREATE TABLE flag (id INTEGER PRIMARY KEY, b BOOLEAN, n INTEGER);
             INSERT INTO flag VALUES (1, 1, 10), (2, 0, 9)",
        );
        let filter = vec![Filter::gte("n", 1_i64)];
        let flag = PlannedTable::new("flag", ["b", "id", "n"], filter);
        let z = PlannedTable::new("z", ["a"], Vec::new());
        let mut connector = connected(db.input());
        let mut opening = connector.open(Query::new([flag, z].into()));
        let mut polls = 0;
        let opened = block_on(poll_fn(|cx| {
            if polls == step {
                db.run(
                    "BEGIN; DROP TABLE flag;
                     CREATE TABLE flag (id INTEGER PRIMARY KEY, b INTEGER, n TEXT);
                     INSERT INTO flag VALUES (1, 1, '10'), (2, 0, '9'), (3, 1, '7'); COMMIT",
                );
            }
            polls += 1;
            opening.as_mut().poll(cx)
        }));
        drop(opening);
        match opened {
            Ok(()) => {
                let rows = block_on(drain(&mut *connector)).map_err(told).unwrap();
                let rows: Vec<_> = rows.into_iter().map(|(_, row)| row).collect();
                let was = [r#"{"b":true,"id":1,"n":10}"#, r#"{"b":false,"id":2,"n":9}"#];
                assert_eq!(rows, was, "step {step}");
                if polls > step { old += 1 } else { new += 1 }
            }
            // Numbers are no operands of text.
            Err(error) => {
                assert_eq!(error.category(), Category::Validation, "{step}: {}", told(error));
                refused += 1;
            }
        }
        block_on(connector.close()).map_err(told).unwrap();
    }
    println!("{old} read the old state, {refused} refused, {new} ended before the change");
    assert!(old > 0 && refused > 0 && new > 0);
}

/// Within one process the library shares locks: a writer that waits for a reader lets no other in,
/// so a reader that takes another connection must have let go of the first.
#[test]
fn a_writer_in_the_same_process_and_a_reader_let_each_other_through() {
    let db = Db::with(
        "CREATE TABLE z (a TEXT PRIMARY KEY, n INT) WITHOUT ROWID; INSERT INTO z VALUES ('x', 0)",
    );
    db.close();
    let path = db.path.clone();
    let done = Arc::new(AtomicBool::new(false));
    let is_done = Arc::clone(&done);
    let writer = std::thread::spawn(move || {
        let mut connection = connect(&path);
        let mut commits = 0;
        while !is_done.load(Ordering::Relaxed) {
            block_on(connection.execute("UPDATE z SET n = n + 1"))?;
            commits += 1;
        }
        Ok::<_, sqlx::Error>(commits)
    });
    for _ in 0..150 {
        assert_eq!(db.read("z", &["a"]), [r#"{"a":"x"}"#]);
    }
    done.store(true, Ordering::Relaxed);
    assert!(writer.join().unwrap().unwrap() > 0);
}

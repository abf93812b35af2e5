//! How things end: snapshots under writers, broken connections, kills, deadlines, drops.

use std::sync::Arc;
use std::time::Duration;

use fetcher_engine::Category;
use fetcher_engine::extraction::PlannedTable;
use fetcher_engine::ports::{Connector, Query};

use crate::support::{Db, factory, with_db};
use crate::testing::database::Database as _;
use crate::testing::ending::{after_one_row, one_snapshot, out_of_order};
use crate::testing::reading::{batch, build, drain, failure, planned, read, told, without_end};

/// At work on a query that reads, as the server sees it.
const READS: &str = "AND COMMAND IN ('Query', 'Execute') AND INFO LIKE 'SELECT t.%'";

/// Rows for longer than any test waits, slowly; and so many that nobody reads them all.
async fn long_views(db: &Db) {
    db.run(
        "CREATE TABLE digits (n bigint PRIMARY KEY);
         INSERT INTO digits VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9);
         CREATE VIEW thousand AS SELECT a.n + 10 * b.n + 100 * c.n AS n
           FROM digits a JOIN digits b JOIN digits c;
         CREATE VIEW slow AS SELECT n, SLEEP(0.05) AS s FROM thousand;
         CREATE VIEW endless AS SELECT a.n, REPEAT('x', 100) AS s FROM thousand a
           JOIN thousand b JOIN thousand c",
    )
    .await;
}

async fn opened(db: &Db, table: &str) -> Box<dyn Connector> {
    let mut connector = db.connector().await;
    connector.open(planned(table, &["n", "s"])).await.map_err(told).unwrap();
    connector
}

#[test]
fn one_snapshot_for_all_tables_under_a_writer() {
    with_db(async |db| {
        db.run(
            "CREATE TABLE a (id int PRIMARY KEY, x int); CREATE TABLE b LIKE a;
             CREATE TABLE digits (n int); INSERT INTO digits VALUES
               (0),(1),(2),(3),(4),(5),(6),(7),(8),(9);
             INSERT INTO a SELECT 1 + a.n + 10 * b.n + 100 * c.n + 1000 * d.n, 0
               FROM digits a, digits b, digits c, digits d; INSERT INTO b SELECT * FROM a",
        )
        .await;
        let writer = Arc::new(db.again().await);
        let write = move |sql: String| {
            let writer = Arc::clone(&writer);
            async move { writer.run(&sql).await }
        };
        let pause = Duration::from_millis(30);
        one_snapshot(write, async || db.connector().await, 10_000, pause).await;
    });
}

#[test]
fn a_connection_that_breaks_is_no_end() {
    with_db(async |db| {
        long_views(db).await;
        for view in ["endless", "slow"] {
            let mut connector = opened(db, view).await;
            let killer = db.again().await;
            let kill = tokio::spawn(async move {
                // The two of the test's own are not at work on a view.
                killer.until(READS, 1).await;
                let sql = format!(
                    "SELECT CAST(ID AS CHAR) FROM information_schema.PROCESSLIST \
                     WHERE DB = DATABASE() AND ID <> CONNECTION_ID() {READS}"
                );
                let id = killer.texts(&sql).await[0].clone().unwrap();
                killer.run(&format!("KILL CONNECTION {id}")).await;
            });
            let error = failure(&mut *connector).await;
            assert_eq!(error.category(), Category::Unavailable, "{}", told(error));
            kill.await.unwrap();
            connector.close().await.map_err(told).unwrap();
            db.until(READS, 0).await;
        }
    });
}

#[test]
fn a_kill_of_the_query_alone_is_no_end_either() {
    with_db(async |db| {
        long_views(db).await;
        let mut connector = opened(db, "endless").await;
        connector.fetch(batch()).await.map_err(told).unwrap();
        let sql = format!(
            "SELECT CAST(ID AS CHAR) FROM information_schema.PROCESSLIST \
             WHERE DB = DATABASE() AND ID <> CONNECTION_ID() {READS}"
        );
        let id = db.texts(&sql).await[0].clone().unwrap();
        db.run(&format!("KILL QUERY {id}")).await;
        let error = failure(&mut *connector).await;
        assert_eq!(error.category(), Category::Unavailable, "{}", told(error));
        connector.close().await.map_err(told).unwrap();
    });
}

#[test]
fn a_dropped_call_is_killed_at_the_server() {
    with_db(async |db| {
        long_views(db).await;
        for view in ["slow", "endless"] {
            let mut connector = opened(db, view).await;
            let short = Duration::from_millis(300);
            let fetching = without_end(&mut *connector);
            assert!(tokio::time::timeout(short, fetching).await.is_err());
            db.until(READS, 1).await;
            connector.close().await.map_err(told).unwrap();
            db.until("", 0).await;
        }
    });
}

#[test]
fn a_cursor_that_is_closed_half_way_stops_the_server() {
    with_db(async |db| {
        long_views(db).await;
        let mut connector = opened(db, "endless").await;
        connector.fetch(batch()).await.map_err(told).unwrap();
        connector.close().await.map_err(told).unwrap();
        db.until("", 0).await;
    });
}

#[test]
fn a_call_dropped_in_open_is_killed_too() {
    with_db(async |db| {
        // Whoever holds this lock makes `open` wait for it.
        db.run("CREATE TABLE t (a int)").await;
        let locker = db.again().await;
        locker.run("LOCK TABLES t WRITE").await;
        let mut connector = db.connector().await;
        let short = Duration::from_millis(300);
        let opening = connector.open(planned("t", &["a"]));
        // Some servers prepare without the lock, and wait when the rows are asked for.
        if let Ok(opened) = tokio::time::timeout(short, opening).await {
            opened.map_err(told).unwrap();
            assert!(tokio::time::timeout(short, connector.fetch(batch())).await.is_err());
        }
        connector.close().await.map_err(told).unwrap();
        db.until("", 1).await;
        locker.run("UNLOCK TABLES").await;
    });
}

#[test]
fn a_connector_that_is_dropped_kills_its_query_and_closes_its_socket() {
    with_db(async |db| {
        long_views(db).await;
        let mut connector = opened(db, "endless").await;
        connector.fetch(batch()).await.map_err(told).unwrap();
        drop(connector);
        db.until("", 0).await;
        // A server that sends nothing does not notice by itself.
        db.run("CREATE VIEW asleep AS SELECT 1 AS n, SLEEP(600) AS s").await;
        let mut connector = opened(db, "asleep").await;
        let short = Duration::from_millis(300);
        assert!(tokio::time::timeout(short, connector.fetch(batch())).await.is_err());
        drop(connector);
        db.until("", 0).await;
        // One that was idle has nothing to kill.
        drop(db.connector().await);
        db.until("", 0).await;
    });
}

#[test]
fn the_deadline_reaches_the_server() {
    with_db(async |db| {
        long_views(db).await;
        let mut connector = db.connector().await;
        let query = planned("slow", &["n", "s"]).time_left(Some(Duration::from_millis(400)));
        connector.open(query).await.map_err(told).unwrap();
        match drain(&mut *connector).await {
            Err(error) => assert_eq!(error.category(), Category::Timeout, "{}", told(error)),
            Ok(rows) => panic!("{} rows", rows.len()),
        }
        connector.close().await.map_err(told).unwrap();
        db.until("", 0).await;
    });
}

#[test]
fn a_deadline_that_passes_in_open_is_one_too() {
    with_db(async |db| {
        db.run("CREATE TABLE t (a int); CREATE VIEW v AS SELECT a FROM t").await;
        let locker = db.again().await;
        locker.run("LOCK TABLES t WRITE").await;
        let query = planned("v", &["a"]).time_left(Some(Duration::from_millis(200)));
        let answer = read(db.connector().await, query).await;
        let error = answer.expect_err("nobody lets it read");
        assert_eq!(error.category(), Category::Timeout, "{}", told(error));
        locker.run("UNLOCK TABLES").await;
    });
}

#[test]
fn what_changes_under_a_reader_is_an_error_or_waits() {
    with_db(async |db| {
        db.run(
            "CREATE TABLE a (x int); INSERT INTO a VALUES (1); CREATE TABLE b (x int);
             INSERT INTO b VALUES (2); CREATE TABLE c (x int); INSERT INTO c VALUES (3);
             CREATE VIEW v AS SELECT x FROM c",
        )
        .await;
        let changes = [
            ("b", "ALTER TABLE b ADD COLUMN y int FIRST, ALGORITHM = COPY"),
            ("b", "ALTER TABLE b MODIFY x varchar(9)"),
            ("b", "DROP TABLE b"),
            ("v", "CREATE OR REPLACE VIEW v AS SELECT 'text' AS x FROM c"),
            ("v", "CREATE OR REPLACE VIEW v AS SELECT 1.5e0 AS x FROM c"),
            ("v", "CREATE OR REPLACE VIEW v AS SELECT 1 AS y FROM c"),
        ];
        for (table, change) in changes {
            let tables = ["a", table].map(|it| PlannedTable::new(it, ["x"], Vec::new()));
            let mut connector = db.connector().await;
            connector.open(Query::new(tables.into())).await.map_err(told).unwrap();
            db.run(change).await;
            let error = drain(&mut *connector).await.expect_err(change);
            assert_eq!(error.table(), Some(table), "{change}: {:?}", error.cause());
            connector.close().await.map_err(told).unwrap();
            db.run(
                "DROP TABLE IF EXISTS b; CREATE TABLE b (x int); INSERT INTO b VALUES (2); \
                 CREATE OR REPLACE VIEW v AS SELECT x FROM c",
            )
            .await;
        }
    });
}

#[test]
fn calls_out_of_order_are_refused_and_close_is_always_legal() {
    with_db(async |db| {
        out_of_order(|| build(&factory(db.server), db.input()).unwrap()).await;
    });
}

#[test]
fn without_a_runtime_it_says_so() {
    with_db(async |db| {
        let mut connector = build(&factory(db.server), db.input()).unwrap();
        let outside = std::thread::spawn(move || {
            let answer = fetcher_engine::block_on(connector.connect());
            fetcher_engine::block_on(connector.close()).map_err(told).unwrap();
            answer
        });
        let error = outside.join().unwrap().unwrap_err();
        assert_eq!(error.category(), Category::Internal, "{}", told(error));
    });
}

#[test]
fn nothing_can_be_written_and_nothing_stays_behind() {
    with_db(async |db| {
        db.run("CREATE TABLE t (a int) ENGINE = InnoDB").await;
        db.run(
            "CREATE FUNCTION writes() RETURNS int NOT DETERMINISTIC MODIFIES SQL DATA \
             BEGIN INSERT INTO t VALUES (1); RETURN 1; END",
        )
        .await;
        db.run("CREATE VIEW sly AS SELECT writes() AS a").await;
        assert!(db.filtered("sly", &["a"], Vec::new()).await.is_err());
        assert_eq!(db.texts("SELECT CAST(COUNT(*) AS CHAR) FROM t").await, [Some("0".into())]);
        assert_eq!(db.read("t", &["a"]).await, [""; 0]);
        db.until("", 0).await;
    });
}

/// The engine has had enough, and the server is still at work.
#[test]
fn a_read_that_ends_by_a_limit_kills_the_query() {
    with_db(async |db: &Db| {
        db.run("CREATE TABLE one (x int PRIMARY KEY)").await;
        db.run("INSERT INTO one VALUES (1), (2), (3)").await;
        db.run(
            "CREATE VIEW slow AS SELECT x, IF(x < 3, x, BENCHMARK(100000000000, MD5(x))) AS y,
               REPEAT('a', 100000) AS z FROM one",
        )
        .await;
        let ended = after_one_row(factory(db.server), db.input(), "slow", &["x", "y", "z"]).await;
        assert_eq!(ended, Category::LimitExceeded);
        db.until("AND INFO LIKE 'SELECT t.%'", 0).await;
    });
}

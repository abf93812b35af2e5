//! How things end: snapshots under writers, broken connections, cancels, deadlines, drops.

use std::time::Duration;

use fetcher_engine::Category;
use fetcher_engine::encode::{Format, RowBatch, StepShape};
use fetcher_engine::extraction::PlannedTable;
use fetcher_engine::ports::{Connector, Fetched, Query};
use tokio_postgres::Client;

use crate::support::{Db, build, drain, factory, told, with_db};

fn planned(table: &str, fields: &[&str]) -> Query {
    Query::new([PlannedTable::new(table, fields.iter().copied(), Vec::new())].into())
}

fn batch() -> RowBatch {
    RowBatch::new(StepShape::open(Format::Ndjson, "pg"))
}

/// A connector that the server shows under a name of its own.
async fn named(db: &Db, name: &str) -> Box<dyn Connector> {
    let factory = factory(db.server).application_name(name);
    let mut connector = build(&factory, db.input()).unwrap();
    connector.connect().await.map_err(told).unwrap();
    connector
}

/// Waits until so many backends of that name are at work, or are there at all.
async fn until(client: &Client, name: &str, condition: &str, count: i64) {
    let sql = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = '{name}' {condition}"
    );
    for _ in 0..100 {
        if client.query_one(&sql, &[]).await.unwrap().get::<_, i64>(0) == count {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{name} {condition}: not {count} after two seconds");
}

/// Rows for longer than any test waits, slowly.
const SLOW: &str = "CREATE VIEW slow AS SELECT n, pg_sleep(0.05)::text AS s FROM \
    generate_series(1, 100000) AS n";

/// Rows without end, fast.
const ENDLESS: &str = "CREATE VIEW endless AS SELECT generate_series(1, 1000000000) AS n, \
    repeat('x', 100) AS s";

#[test]
fn one_snapshot_for_all_tables_under_a_writer() {
    with_db(async |db| {
        db.run(
            "CREATE TABLE a (id int8, x int8); CREATE TABLE b (id int8, x int8);
             INSERT INTO a SELECT n, 0 FROM generate_series(1, 15249) AS n;
             INSERT INTO b SELECT n, 0 FROM generate_series(1, 15249) AS n",
        )
        .await;
        let writer = db.client().await;
        let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        let stopped = std::sync::Arc::clone(&stop);
        let writing = tokio::spawn(async move {
            let mut round = 0;
            while !stopped.load(std::sync::atomic::Ordering::Relaxed) {
                round += 1;
                let sql = format!(
                    "BEGIN; UPDATE a SET x = {round} WHERE id % 97 = {round} % 97;
                     UPDATE b SET x = {round} WHERE id % 97 = {round} % 97;
                     INSERT INTO a VALUES ({round} + 20000, {round});
                     INSERT INTO b VALUES ({round} + 20000, {round});
                     DELETE FROM a WHERE id = {round}; DELETE FROM b WHERE id = {round}; COMMIT"
                );
                writer.batch_execute(&sql).await.unwrap();
            }
            round
        });
        for _ in 0..5 {
            let tables = ["a", "b"].map(|it| PlannedTable::new(it, ["id", "x"], Vec::new()));
            let mut connector = db.connector().await;
            connector.open(Query::new(tables.into())).await.map_err(told).unwrap();
            let rows = drain(&mut *connector).await.map_err(told).unwrap();
            connector.close().await.unwrap();
            let of = |table: &str| {
                let mut rows: Vec<_> =
                    rows.iter().filter(|row| row.0 == table).map(|row| row.1.clone()).collect();
                rows.sort();
                rows
            };
            assert_eq!(of("a").len(), 15249);
            assert!(of("a") == of("b"), "the tables agree");
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(writing.await.unwrap() > 5);
    });
}

#[test]
fn a_connection_that_breaks_is_no_end() {
    with_db(async |db| {
        db.run(ENDLESS).await;
        db.run(
            "CREATE VIEW short AS SELECT n, pg_sleep(CASE WHEN n > 3 THEN 60 ELSE 0 END)::text \
                AS s FROM generate_series(1, 1000) AS n",
        )
        .await;
        for (view, name) in [("endless", "broken_fast"), ("short", "broken_slow")] {
            let mut connector = named(db, name).await;
            connector.open(planned(view, &["n", "s"])).await.map_err(told).unwrap();
            let killer = db.client().await;
            let kill = tokio::spawn(async move {
                until(&killer, name, "AND state = 'active' AND query LIKE 'SELECT%'", 1).await;
                let sql = format!(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                     WHERE application_name = '{name}'"
                );
                killer.batch_execute(&sql).await.unwrap();
            });
            let mut batch = batch();
            let error = loop {
                match connector.fetch(batch).await {
                    Ok((filled, fetched)) => {
                        assert_eq!(fetched, Fetched::More);
                        batch = filled;
                        batch.clear();
                    }
                    Err(error) => break error,
                }
            };
            assert_eq!(error.category(), Category::Unavailable, "{}", told(error));
            kill.await.unwrap();
            connector.close().await.map_err(told).unwrap();
        }
    });
}

#[test]
fn a_dropped_call_is_cancelled_at_the_server() {
    with_db(async |db| {
        db.run(SLOW).await;
        db.run(ENDLESS).await;
        for (view, name) in [("slow", "cancel_slow"), ("endless", "cancel_fast")] {
            let mut connector = named(db, name).await;
            connector.open(planned(view, &["n", "s"])).await.map_err(told).unwrap();
            let fetching = async {
                let mut batch = batch();
                loop {
                    batch = connector.fetch(batch).await.map_err(told).unwrap().0;
                    batch.clear();
                }
            };
            let short = Duration::from_millis(300);
            assert!(tokio::time::timeout(short, fetching).await.is_err());
            until(&db.client, name, "AND state = 'active'", 1).await;
            let closing = std::time::Instant::now();
            connector.close().await.map_err(told).unwrap();
            until(&db.client, name, "", 0).await;
            assert!(closing.elapsed() < Duration::from_secs(1), "{:?}", closing.elapsed());
        }
    });
}

#[test]
fn a_cursor_that_is_closed_half_way_stops_the_server() {
    with_db(async |db| {
        db.run(ENDLESS).await;
        let mut connector = named(db, "half_way").await;
        connector.open(planned("endless", &["n", "s"])).await.map_err(told).unwrap();
        connector.fetch(batch()).await.map_err(told).unwrap();
        connector.close().await.map_err(told).unwrap();
        until(&db.client, "half_way", "", 0).await;
    });
}

#[test]
fn a_call_dropped_in_open_or_discovery_is_cancelled_too() {
    with_db(async |db| {
        // Whoever holds this lock makes `open` wait for it.
        db.run("CREATE TABLE t (a int)").await;
        db.run("BEGIN; LOCK TABLE t IN ACCESS EXCLUSIVE MODE").await;
        let other = db.client().await;
        let mut connector = named(db, "in_open").await;
        let short = Duration::from_millis(300);
        let opening = connector.open(planned("t", &["a"]));
        assert!(tokio::time::timeout(short, opening).await.is_err());
        connector.close().await.map_err(told).unwrap();
        until(&other, "in_open", "", 0).await;
        db.run("ROLLBACK").await;
    });
}

#[test]
fn a_connector_that_is_dropped_closes_its_socket() {
    with_db(async |db| {
        db.run(ENDLESS).await;
        db.run(SLOW).await;
        let mut connector = named(db, "dropped").await;
        connector.open(planned("endless", &["n", "s"])).await.map_err(told).unwrap();
        connector.fetch(batch()).await.map_err(told).unwrap();
        drop(connector);
        until(&db.client, "dropped", "", 0).await;
        // A server that sends nothing notices, too: from PostgreSQL 14 on it looks at the socket.
        db.run("CREATE VIEW asleep AS SELECT pg_sleep(600)::text AS s").await;
        let mut connector = named(db, "dropped_asleep").await;
        connector.open(planned("asleep", &["s"])).await.map_err(told).unwrap();
        let short = Duration::from_millis(300);
        assert!(tokio::time::timeout(short, connector.fetch(batch())).await.is_err());
        drop(connector);
        until(&db.client, "dropped_asleep", "", 0).await;
    });
}

#[test]
fn the_deadline_reaches_the_server() {
    with_db(async |db| {
        db.run(SLOW).await;
        let mut connector = db.connector().await;
        let query = planned("slow", &["n", "s"]).time_left(Some(Duration::from_millis(400)));
        connector.open(query).await.map_err(told).unwrap();
        let error = drain(&mut *connector).await.unwrap_err();
        assert_eq!(error.category(), Category::Timeout, "{}", told(error));
        connector.close().await.map_err(told).unwrap();
    });
}

#[test]
fn calls_out_of_order_are_refused_and_close_is_always_legal() {
    with_db(async |db| {
        let fresh = || build(&factory(db.server), db.input()).unwrap();
        fresh().close().await.unwrap();
        let mut connector = fresh();
        assert!(connector.discover_schema().await.is_err());
        assert!(connector.open(Query::new([].into())).await.is_err());
        assert!(connector.fetch(batch()).await.is_err());
        connector.connect().await.unwrap();
        assert!(connector.connect().await.is_err());
        assert!(connector.fetch(batch()).await.is_err());
        connector.open(Query::new([].into())).await.map_err(told).unwrap();
        assert!(connector.open(Query::new([].into())).await.is_err());
        assert_eq!(connector.fetch(batch()).await.unwrap().1, Fetched::End);
        connector.close().await.unwrap();
        let mut connector = fresh();
        connector.connect().await.unwrap();
        connector.discover_schema().await.unwrap();
        connector.discover_schema().await.unwrap();
        connector.open(Query::new([].into())).await.map_err(told).unwrap();
        connector.close().await.unwrap();
    });
}

#[test]
fn nothing_can_be_written_and_nothing_stays_behind() {
    with_db(async |db| {
        db.run(
            "CREATE TABLE t (a int); CREATE FUNCTION writes() RETURNS int LANGUAGE sql AS
               $$ INSERT INTO t VALUES (1) RETURNING a $$;
             CREATE VIEW sly AS SELECT writes() AS a",
        )
        .await;
        assert!(db.filtered("sly", &["a"], Vec::new()).await.is_err());
        assert_eq!(db.texts("SELECT count(*)::text FROM t").await, [Some("0".to_owned())]);
        let mut connector = named(db, "leaves_nothing").await;
        connector.open(planned("t", &["a"])).await.map_err(told).unwrap();
        drain(&mut *connector).await.unwrap();
        connector.close().await.unwrap();
        until(&db.client, "leaves_nothing", "", 0).await;
    });
}

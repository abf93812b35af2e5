//! How things end: snapshots under writers, broken connections, cancels, deadlines, drops.

use std::sync::Arc;
use std::time::Duration;

use fetcher_engine::Category;
use fetcher_engine::ports::Connector;
use tokio_postgres::Client;

use crate::support::{Db, factory, with_db};
use crate::testing::database::Database as _;
use crate::testing::ending::{one_snapshot, out_of_order};
use crate::testing::reading::{
    batch, build, connected, drain, failure, planned, read, told, without_end,
};

/// A connector that the server shows under a name of its own.
async fn named(db: &Db, name: &str) -> Box<dyn Connector> {
    let factory = factory(db.server).application_name(name);
    connected(&factory, db.input()).await
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
        let writer = Arc::new(db.client().await);
        let write = move |sql: String| {
            let writer = Arc::clone(&writer);
            async move { writer.batch_execute(&sql).await.unwrap() }
        };
        one_snapshot(write, async || db.connector().await, 15249, Duration::ZERO).await;
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
            let error = failure(&mut *connector).await;
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
            let short = Duration::from_millis(300);
            let fetching = without_end(&mut *connector);
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
        out_of_order(|| build(&factory(db.server), db.input()).unwrap()).await;
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
        let connector = named(db, "leaves_nothing").await;
        read(connector, planned("t", &["a"])).await.map_err(told).unwrap();
        until(&db.client, "leaves_nothing", "", 0).await;
    });
}

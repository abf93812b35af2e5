//! What needs a process to itself, and a server that nobody else uses: five million rows in
//! constant memory, of which the most that the process ever had is the measure; and a kill that
//! must not reach another server.

#[path = "mysql/server.rs"]
mod server;
#[path = "mysql/support.rs"]
#[expect(dead_code, reason = "what only the other tests need")]
mod support;
#[path = "../../sql/testing/mod.rs"]
mod testing;

use fetcher_engine::Category;

use support::{with_db, with_own_db};
use testing::database::Database as _;
use testing::memory::peak_mb;
use testing::reading::{batch, count, planned, told};

#[test]
fn five_million_rows() {
    with_db(async |db| {
        db.run(
            "CREATE TABLE d (n int); INSERT INTO d VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9);
             CREATE VIEW many AS SELECT a.n + 10 * b.n AS n, 'some text' AS t
               FROM d a, d b, d c, d e, d f, d g, (SELECT n FROM d WHERE n < 5) h",
        )
        .await;
        let mut connector = db.connector().await;
        connector.open(planned("many", &["n", "t"])).await.map_err(told).unwrap();
        let before = peak_mb();
        assert_eq!(count(connector).await.rows, 5_000_000);
        if let (Some(before), Some(after)) = (before, peak_mb()) {
            println!("{before} MB before, {after} MB after");
            assert!(after - before < 20, "{before} MB before, {after} MB after");
        }
    });
}

#[test]
fn a_kill_reaches_the_server_of_its_connection_or_none() {
    with_own_db(async |db| {
        db.run("CREATE TABLE d (n int); INSERT INTO d VALUES (0),(1),(2),(3),(4),(5),(6),(7)")
            .await;
        db.run("CREATE VIEW slow AS SELECT a.n, SLEEP(0.05) AS s FROM d a, d b, d c, d e").await;
        let mut connector = db.connector().await;
        connector.open(planned("slow", &["n", "s"])).await.map_err(told).unwrap();
        let short = std::time::Duration::from_millis(300);
        assert!(tokio::time::timeout(short, connector.fetch(batch())).await.is_err());
        // From now on the host leads to a server with another name.
        db.run("SET GLOBAL server_id = 4711").await;
        let error = connector.close().await.unwrap_err();
        assert_eq!(error.category(), Category::Unavailable);
        assert!(format!("{:?}", error.cause()).contains("another server"), "{}", told(error));
        // The query was not killed; it ends when it finds that nobody listens.
        let at_work = "AND INFO LIKE 'SELECT t.%'";
        assert_eq!(db.others(at_work).await, 1);
        let sql = format!(
            "SELECT CAST(ID AS CHAR) FROM information_schema.PROCESSLIST \
             WHERE DB = DATABASE() {at_work}"
        );
        let id = db.texts(&sql).await.remove(0).unwrap();
        db.run(&format!("KILL CONNECTION {id}")).await;
        db.until("", 0).await;
    });
}

/// Nothing that a server has as its default changes what is read.
#[test]
fn a_server_that_shows_the_past_is_asked_for_the_present() {
    with_own_db(async |db| {
        if !db.is_mariadb().await {
            return;
        }
        db.run("CREATE TABLE t (id int PRIMARY KEY, v int) WITH SYSTEM VERSIONING").await;
        db.run("INSERT INTO t VALUES (1, 1)").await;
        db.run("UPDATE t SET v = 2").await;
        db.run("SET GLOBAL system_versioning_asof = '1999-01-01'").await;
        let rows = db.read("t", &["id", "v"]).await;
        db.run("SET GLOBAL system_versioning_asof = DEFAULT").await;
        assert_eq!(rows, [r#"{"id":1,"v":2}"#]);
    });
}

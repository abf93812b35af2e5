//! How things end: drops, closes and deadlines in mid-stream, also where no row ever comes; calls
//! out of order.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use fetcher_engine::extraction::PlannedTable;
use fetcher_engine::ports::{Connector, Fetched, Query};
use fetcher_engine::{Category, Filter, block_on};

use crate::support::{Db, connected, factory, input, open_files, open_files_at_last};
use crate::testing::ending::after_one_row;
use crate::testing::reading::{batch, build, drain, planned, told, without_end};

/// Rows without end, and, with a filter that SQL sees and keeps nothing, none for as long.
fn endless() -> Db {
    let db = Db::with(
        "CREATE TABLE small (n INT); INSERT INTO small VALUES (1), (2), (3);
         CREATE VIEW endless AS WITH RECURSIVE c(n) AS
           (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 1000000000000)
           SELECT n, 'x' || n AS t FROM c;
         CREATE VIEW silent AS SELECT n FROM endless WHERE n < 0;
         CREATE VIEW one_by_one AS SELECT n FROM endless WHERE n <= 3 OR n < 0",
    );
    db.close();
    db
}

/// Queries that never end: one with rows, two whose filter keeps none (seen by SQL, and not), and
/// one that has none.
fn queries() -> Vec<(&'static str, Query)> {
    let filtered = |filter| Query::new([PlannedTable::new("endless", ["n"], vec![filter])].into());
    vec![
        ("rows", planned("endless", &["n", "t"])),
        ("filtered by SQL", filtered(Filter::eq("n", -1_i64))),
        ("filtered by us", filtered(Filter::gt("n", f64::NAN))),
        ("silent", planned("silent", &["n"])),
        ("a few rows", planned("one_by_one", &["n"])),
    ]
}

/// Polls for a while and gives up; whether it was done by then.
fn for_a_while<F: Future>(future: F, polls: usize) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut left = polls;
    block_on(poll_fn(|cx| {
        if let Poll::Ready(output) = future.as_mut().poll(cx) {
            return Poll::Ready(Some(output));
        }
        left -= 1;
        if left == 0 {
            return Poll::Ready(None);
        }
        std::thread::sleep(Duration::from_millis(2));
        cx.waker().wake_by_ref();
        Poll::Pending
    }))
}

/// Fetches for a while, and drops the last call where it stands.
fn fetch_for_a_while(connector: &mut dyn Connector) {
    assert!(for_a_while(without_end(connector), 20).is_none());
}

/// Nothing is held any more: no file, and so no thread that reads it.
fn released(db: &Db, what: &str) {
    let held = open_files_at_last(&db.folder.0).unwrap_or(0);
    assert_eq!(held, 0, "{what}: {held} files are open");
}

#[test]
fn a_close_in_mid_stream_ends_the_query() {
    let db = endless();
    for (what, query) in queries() {
        let mut connector = db.opened(query);
        fetch_for_a_while(&mut *connector);
        assert_ne!(open_files(&db.folder.0), Some(0), "{what}");
        block_on(connector.close()).map_err(told).expect(what);
        released(&db, what);
    }
}

#[test]
fn a_drop_in_mid_stream_ends_the_query() {
    let db = endless();
    for (what, query) in queries() {
        let mut connector = db.opened(query);
        fetch_for_a_while(&mut *connector);
        drop(connector);
        released(&db, what);
    }
}

#[test]
fn a_dropped_close_releases_too() {
    let db = endless();
    for polls in 1..6 {
        for (what, query) in queries() {
            let mut connector = db.opened(query);
            fetch_for_a_while(&mut *connector);
            drop(for_a_while(connector.close(), polls));
            released(&db, what);
        }
    }
}

#[test]
fn a_cursor_that_was_opened_and_not_read_is_released() {
    let db = endless();
    for (what, query) in queries() {
        block_on(db.opened(query.clone()).close()).map_err(told).expect(what);
        released(&db, what);
        drop(db.opened(query));
        released(&db, what);
    }
}

#[test]
fn many_at_once_are_all_released() {
    let db = endless();
    let mut connectors: Vec<_> = queries().into_iter().map(|(_, query)| db.opened(query)).collect();
    for connector in &mut connectors {
        fetch_for_a_while(&mut **connector);
    }
    drop(connectors);
    released(&db, "all of them");
}

#[test]
fn the_deadline_ends_the_query() {
    let db = endless();
    for (what, query) in queries() {
        let query = query.time_left(Some(Duration::from_millis(50)));
        let mut connector = db.opened(query);
        let fetching = async {
            let mut batch = batch();
            loop {
                match connector.fetch(batch).await {
                    Ok((_, Fetched::End)) => panic!("{what}: an end"),
                    Ok((filled, _)) => batch = filled,
                    Err(error) => return error,
                }
                batch.clear();
            }
        };
        let error = block_on(fetching);
        assert_eq!(error.category(), Category::Timeout, "{what}: {}", told(error));
        block_on(connector.close()).map_err(told).expect(what);
        released(&db, what);
    }
    // Time enough changes nothing.
    let query = planned("small", &["n"]).time_left(Some(Duration::from_secs(3600)));
    let mut connector = db.opened(query);
    assert_eq!(block_on(drain(&mut *connector)).map_err(told).unwrap().len(), 3);
    block_on(connector.close()).unwrap();
    let query = planned("small", &["n"]).time_left(Some(Duration::MAX));
    block_on(db.opened(query).close()).unwrap();
}

#[test]
fn a_deadline_that_has_passed_is_no_end() {
    let db = endless();
    for table in ["silent", "endless", "small"] {
        let mut connector = db.connector();
        let query = planned(table, &["n"]).time_left(Some(Duration::ZERO));
        let answer = block_on(async {
            connector.open(query).await?;
            drain(&mut *connector).await
        });
        match answer {
            // So few steps that the library does not ask.
            Ok(rows) => assert_eq!((table, rows.len()), ("small", 3)),
            Err(error) => assert_eq!(error.category(), Category::Timeout, "{}", told(error)),
        }
        block_on(connector.close()).map_err(told).unwrap();
        released(&db, table);
    }
}

#[test]
fn calls_out_of_order_are_refused_and_close_is_always_legal() {
    let db = endless();
    let fresh = || build(&factory(), db.input()).unwrap();
    let none = || Query::new([].into());
    block_on(fresh().close()).unwrap();
    block_on(async {
        let internal = |error: fetcher_engine::PortError| {
            assert_eq!(error.category(), Category::Internal);
        };
        let mut connector = fresh();
        internal(connector.discover_schema().await.unwrap_err());
        internal(connector.open(none()).await.unwrap_err());
        internal(connector.fetch(batch()).await.unwrap_err());
        connector.connect().await.map_err(told).unwrap();
        internal(connector.connect().await.unwrap_err());
        internal(connector.fetch(batch()).await.unwrap_err());
        connector.open(none()).await.map_err(told).unwrap();
        internal(connector.open(none()).await.unwrap_err());
        internal(connector.discover_schema().await.unwrap_err());
        assert_eq!(connector.fetch(batch()).await.unwrap().1, Fetched::End);
        internal(connector.fetch(batch()).await.unwrap_err());
        internal(connector.open(none()).await.unwrap_err());
        connector.close().await.unwrap();
        let mut connector = fresh();
        connector.connect().await.unwrap();
        connector.discover_schema().await.unwrap();
        connector.discover_schema().await.unwrap();
        connector.open(planned("small", &["n"])).await.map_err(told).unwrap();
        connector.close().await.unwrap();
        let mut lost = build(&factory(), input(&db.folder.file("missing"))).unwrap();
        assert!(lost.connect().await.is_err());
        internal(lost.connect().await.unwrap_err());
        internal(lost.open(none()).await.unwrap_err());
        lost.close().await.unwrap();
    });
    released(&db, "after all");
}

#[test]
fn a_dropped_call_leaves_only_the_end() {
    let db = endless();
    let mut connector = db.opened(planned("silent", &["n"]));
    assert!(for_a_while(connector.fetch(batch()), 3).is_none());
    drop(db.opened(planned("small", &["n"])));
    block_on(connector.close()).map_err(told).unwrap();
    let mut connector = db.connector();
    drop(connector.discover_schema());
    let mut polled = connector.connect();
    drop(for_a_while(&mut polled, 1));
    drop(polled);
    drop(for_a_while(connector.discover_schema(), 1));
    block_on(connector.close()).map_err(told).unwrap();
    released(&db, "after dropped calls");
}

/// The deadline passes in `open`, where the library asks as well.
#[test]
fn a_deadline_in_open_is_a_timeout() {
    let db = Db::with("BEGIN");
    for n in 0..2000 {
        db.run(&format!("CREATE TABLE t{n} (v)"));
    }
    db.run("COMMIT");
    let mut connector = connected(db.input());
    let query = planned("t1", &["v"]).time_left(Some(Duration::ZERO));
    let error = block_on(connector.open(query)).unwrap_err();
    block_on(connector.close()).unwrap();
    assert_eq!(error.category(), Category::Timeout, "{}", told(error));
}

/// The patience of the host is an hour, and nobody here waits for it.
#[test]
fn a_wait_for_a_lock_ends_with_the_deadline() {
    let db = Db::with("CREATE TABLE t (v)");
    let patient = factory().busy_timeout(Duration::from_secs(3600));
    let mut connector = build(&patient, db.input()).unwrap();
    block_on(connector.connect()).map_err(told).unwrap();
    db.run("BEGIN EXCLUSIVE");
    let query = planned("t", &["v"]).time_left(Some(Duration::from_millis(50)));
    let error = block_on(connector.open(query)).unwrap_err();
    block_on(connector.close()).unwrap();
    assert_eq!(error.category(), Category::Timeout, "{}", told(error));
}

#[test]
fn a_host_may_ask_for_more_than_there_is() {
    let db = Db::with("CREATE TABLE t (v)");
    let boundless = factory().busy_timeout(Duration::MAX).rows_ahead(usize::MAX);
    let mut connector = build(&boundless, db.input()).unwrap();
    block_on(connector.connect()).map_err(told).unwrap();
    block_on(connector.open(planned("t", &["v"]))).map_err(told).unwrap();
    block_on(connector.close()).unwrap();
}

/// The engine has had enough, and the library is still at work.
#[test]
fn a_read_that_ends_by_a_limit_stops_the_query() {
    let db = Db::with(
        "CREATE TABLE one (x INT); INSERT INTO one VALUES (1), (2), (3);
         CREATE VIEW slow AS SELECT x, CASE WHEN x < 3 THEN x ELSE
           (WITH RECURSIVE c(n) AS
             (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 1000000000000)
            SELECT count(*) FROM c) END AS y FROM one",
    );
    db.close();
    let ended = block_on(after_one_row(factory(), input(&db.path), "slow", &["x", "y"]));
    assert_eq!(ended, Category::LimitExceeded);
    assert!(open_files_at_last(&db.path).is_none_or(|files| files == 0));
}

//! How things end: one snapshot of two tables under a writer, calls out of order, a limit.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fetcher_engine::extraction::PlannedTable;
use fetcher_engine::memory::{MemoryConnectionStore, MemoryConnectorRegistry};
use fetcher_engine::ports::{Connector, ConnectorFactory, Fetched, Query};
use fetcher_engine::{
    Category, ConnectionInput, Engine, ExecuteOptions, ExtractionRequest, Limits,
};

use super::reading::{batch, drain, told};

/// Tables `a` and `b`, of so many rows with `id` (from 1) and `x`, agree whenever they are read,
/// also when reading begins a `pause` after `open`; `write` runs statements meanwhile.
pub(crate) async fn one_snapshot<W: Future<Output = ()> + Send>(
    write: impl Fn(String) -> W + Send + Sync + 'static,
    connector: impl AsyncFn() -> Box<dyn Connector>,
    count: usize,
    pause: Duration,
) {
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let writing = tokio::spawn(async move {
        let mut round = 0;
        while !stopped.load(Ordering::Relaxed) {
            round += 1;
            let sql = format!(
                "BEGIN; UPDATE a SET x = {round} WHERE id % 97 = {round} % 97;
                 UPDATE b SET x = {round} WHERE id % 97 = {round} % 97;
                 INSERT INTO a VALUES ({round} + 20000, {round});
                 INSERT INTO b VALUES ({round} + 20000, {round});
                 DELETE FROM a WHERE id = {round}; DELETE FROM b WHERE id = {round}; COMMIT"
            );
            write(sql).await;
        }
        round
    });
    for _ in 0..5 {
        let tables = ["a", "b"].map(|it| PlannedTable::new(it, ["id", "x"], Vec::new()));
        let mut connector = connector().await;
        connector.open(Query::new(tables.into())).await.map_err(told).unwrap();
        // The snapshot is that of `open`.
        tokio::time::sleep(pause).await;
        let rows = drain(&mut *connector).await.map_err(told).unwrap();
        connector.close().await.unwrap();
        let of = |table: &str| {
            let mut rows: Vec<_> =
                rows.iter().filter(|row| row.0 == table).map(|row| row.1.clone()).collect();
            rows.sort();
            rows
        };
        assert_eq!(of("a").len(), count);
        assert!(of("a") == of("b"), "the tables agree");
    }
    stop.store(true, Ordering::Relaxed);
    assert!(writing.await.unwrap() > 5);
}

/// Calls out of order are refused, and `close` is always legal.
pub(crate) async fn out_of_order(fresh: impl Fn() -> Box<dyn Connector>) {
    let none = || Query::new([].into());
    fresh().close().await.unwrap();
    let mut connector = fresh();
    assert!(connector.discover_schema().await.is_err());
    assert!(connector.open(none()).await.is_err());
    assert!(connector.fetch(batch()).await.is_err());
    connector.connect().await.unwrap();
    assert!(connector.connect().await.is_err());
    assert!(connector.fetch(batch()).await.is_err());
    connector.open(none()).await.map_err(told).unwrap();
    assert!(connector.open(none()).await.is_err());
    assert_eq!(connector.fetch(batch()).await.unwrap().1, Fetched::End);
    connector.close().await.unwrap();
    let mut connector = fresh();
    connector.connect().await.unwrap();
    connector.discover_schema().await.unwrap();
    connector.discover_schema().await.unwrap();
    connector.open(none()).await.map_err(told).unwrap();
    connector.close().await.unwrap();
}

/// How an extraction of these fields ends where the engine has had enough after one row.
pub(crate) async fn after_one_row(
    connectors: impl ConnectorFactory,
    input: ConnectionInput,
    table: &str,
    fields: &[&str],
) -> Category {
    let registry = MemoryConnectorRegistry::new();
    let registry = registry.with(input.endpoint.kind.clone(), Arc::new(connectors));
    let mut limits = Limits::default();
    limits.max_rows = 1;
    let engine = Engine::builder()
        .connectors(Arc::new(registry))
        .connection_store(Arc::new(MemoryConnectionStore::new()))
        .limits(limits)
        .build()
        .unwrap();
    let fields = fields.iter().copied();
    let request = ExtractionRequest::new().table(input.name.as_str(), table, fields);
    engine.create_connection("acme", input).await.unwrap();
    let plan = engine.plan_extraction("acme", &request).await.unwrap();
    engine.execute_extraction(&plan, ExecuteOptions::new()).await.unwrap_err().category()
}

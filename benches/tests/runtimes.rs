//! The same extraction under Tokio (both flavours), smol and plain `block_on`: the same bytes, with
//! the runtime's own timer where it has one. The engine belongs to none of them.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use fetcher_engine::digest::Digest;
use fetcher_engine::memory::{
    MemoryConnectionStore, MemoryConnectorRegistry, MemoryDatasource, MemoryExecutionStore,
    MemoryResultSink, Table,
};
use fetcher_engine::ports::{BoxFuture, Connector, ConnectorContext, ConnectorFactory};
use fetcher_engine::ports::{Fetched, Query};
use fetcher_engine::schema::TableSchema;
use fetcher_engine::value::{Value, ValueKind};
use fetcher_engine::{
    CancelToken, Category, ConnectionInput, Engine, EngineBuilder, EngineError, ExecuteOptions,
    ExtractionRequest, ExtractionResult, Mode, PortError, Runtime, Sleep, block_on,
};

/// Tokio's clock and timer, as the documentation of `Runtime` shows it.
struct Tokio(tokio::time::Instant);

impl Runtime for Tokio {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }

    fn wall_clock(&self) -> Option<Duration> {
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).ok()
    }

    fn sleep(&self, duration: Duration) -> Sleep {
        Box::pin(tokio::time::sleep(duration))
    }
}

/// smol's clock and timer.
struct Smol(Instant);

impl Runtime for Smol {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }

    fn wall_clock(&self) -> Option<Duration> {
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).ok()
    }

    fn sleep(&self, duration: Duration) -> Sleep {
        Box::pin(async move {
            smol::Timer::after(duration).await;
        })
    }
}

/// Pending once, woken at once: lets the runtime do what it likes in between.
struct Yield(bool);

impl Future for Yield {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.0, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

/// Connectors that yield in every call, ten rows to a batch; of type `stuck`, that never answer.
struct Yielding(MemoryDatasource);

impl ConnectorFactory for Yielding {
    fn build(&self, context: ConnectorContext) -> Result<Box<dyn Connector>, PortError> {
        let stuck = context.connection.endpoint.host == "stuck";
        Ok(Box::new(YieldingConnector { inner: self.0.build(context)?, stuck }))
    }
}

struct YieldingConnector {
    inner: Box<dyn Connector>,
    stuck: bool,
}

impl Connector for YieldingConnector {
    fn connect(&mut self) -> BoxFuture<'_, Result<(), PortError>> {
        Box::pin(async {
            Yield(false).await;
            self.inner.connect().await
        })
    }

    fn discover_schema(&mut self) -> BoxFuture<'_, Result<Vec<TableSchema>, PortError>> {
        Box::pin(async {
            Yield(false).await;
            self.inner.discover_schema().await
        })
    }

    fn open(&mut self, query: Query) -> BoxFuture<'_, Result<(), PortError>> {
        Box::pin(async {
            Yield(false).await;
            self.inner.open(query).await
        })
    }

    fn fetch(
        &mut self,
        mut batch: fetcher_engine::encode::RowBatch,
    ) -> BoxFuture<'_, Result<(fetcher_engine::encode::RowBatch, Fetched), PortError>> {
        Box::pin(async move {
            if self.stuck {
                std::future::pending::<()>().await;
            }
            Yield(false).await;
            batch.full_after(10);
            self.inner.fetch(batch).await
        })
    }

    fn close(self: Box<Self>) -> BoxFuture<'static, Result<(), PortError>> {
        Box::pin(async move {
            Yield(false).await;
            self.inner.close().await
        })
    }
}

fn wired(runtime: Option<Arc<dyn Runtime>>) -> Engine {
    let source = MemoryDatasource::new();
    for database in ["a", "b", "c", "d"] {
        let rows = (0..95).map(|id| [Value::from(id), Value::from(format!("{database}-{id}"))]);
        let table =
            Table::new("t").key("id", ValueKind::I64).column("v", ValueKind::String).rows(rows);
        source.put(database, [table]).expect("the rows fit");
    }
    let registry = MemoryConnectorRegistry::new().with("memory", Arc::new(Yielding(source)));
    let builder: EngineBuilder = Engine::builder()
        .connectors(Arc::new(registry))
        .connection_store(Arc::new(MemoryConnectionStore::new()))
        .execution_store(Arc::new(MemoryExecutionStore::new()))
        .result_sink(Arc::new(MemoryResultSink::new()));
    match runtime {
        Some(runtime) => builder.runtime(runtime),
        None => builder,
    }
    .build()
    .expect("it is wired")
}

async fn extract(engine: Engine, mode: Mode) -> Result<ExtractionResult, EngineError> {
    let mut request = ExtractionRequest::new().request_id("r");
    for name in ["a", "b", "c", "d"] {
        let input = ConnectionInput::new(name, "memory").database(name);
        // The second mode finds the connections there.
        let _ = engine.create_connection("acme", input).await;
        request = request.table(name, "t", ["*"]);
    }
    let plan = engine.plan_extraction("acme", &request).await?;
    engine.execute_extraction(&plan, ExecuteOptions::new().mode(mode)).await
}

/// Both modes under a runtime: the digests.
async fn digests(runtime: Option<Arc<dyn Runtime>>) -> [Digest; 2] {
    let engine = wired(runtime);
    let store = extract(engine.clone(), Mode::Store).await.expect("it runs");
    let direct = extract(engine, Mode::Direct).await.expect("it runs");
    assert_eq!((store.rows, direct.rows), (4 * 95, 4 * 95));
    [store.digest, direct.digest]
}

fn tokio_runtime(workers: Option<usize>) -> tokio::runtime::Runtime {
    let mut builder = match workers {
        Some(workers) => {
            let mut builder = tokio::runtime::Builder::new_multi_thread();
            builder.worker_threads(workers);
            builder
        }
        None => tokio::runtime::Builder::new_current_thread(),
    };
    builder.enable_time().build().expect("a runtime starts")
}

#[test]
fn every_runtime_gives_the_same_bytes() {
    let expected = block_on(digests(None));
    for workers in [None, Some(1), Some(4)] {
        let runtime = tokio_runtime(workers);
        // Spawned, so that it may move between threads; and several at once.
        let got = runtime.block_on(async {
            let spawned: Vec<_> = (0..8)
                .map(|_| {
                    tokio::spawn(async {
                        digests(Some(Arc::new(Tokio(tokio::time::Instant::now())))).await
                    })
                })
                .collect();
            let mut got = Vec::new();
            for task in spawned {
                got.push(task.await.expect("no task panics"));
            }
            got
        });
        assert!(got.iter().all(|got| *got == expected), "Tokio with {workers:?} workers");
    }
    let task = smol::spawn(digests(Some(Arc::new(Smol(Instant::now())))));
    assert_eq!(smol::block_on(task), expected, "smol");
    // A foreign executor with the engine's own timer.
    assert_eq!(smol::block_on(digests(None)), expected, "smol, std timer");
    assert_eq!(tokio_runtime(None).block_on(digests(None)), expected, "Tokio, std timer");
}

/// A connector that never answers: ended by Tokio's own timer, or by a cancel from another task.
#[test]
fn deadlines_and_cancels_work_under_tokio() {
    for cancel in [false, true] {
        let runtime = tokio_runtime(Some(2));
        let error = runtime.block_on(async {
            let engine = wired(Some(Arc::new(Tokio(tokio::time::Instant::now()))));
            let input = ConnectionInput::new("a", "memory").database("a").host("stuck");
            engine.create_connection("acme", input).await.expect("it is new");
            let mut limits = fetcher_engine::LimitOverrides::default();
            if !cancel {
                limits.max_duration = Duration::from_millis(5);
            }
            let request =
                ExtractionRequest::new().request_id("r").limits(limits).table("a", "t", ["*"]);
            let plan = engine.plan_extraction("acme", &request).await.expect("it is planned");
            let token = CancelToken::new();
            let options = ExecuteOptions::new().cancel(token.clone());
            let running =
                tokio::spawn(async move { engine.execute_extraction(&plan, options).await });
            if cancel {
                tokio::task::yield_now().await;
                token.cancel();
            }
            running.await.expect("it does not panic").expect_err("it never answers")
        });
        let expected = if cancel { Category::Canceled } else { Category::Timeout };
        assert_eq!(error.category(), expected);
    }
}

//! What simulation cannot show: real threads. Port calls are answered by other threads, and cancels
//! come from other threads, at whatever moment; the flags and wakers must lose none of them.
//!
//! A lost wake-up would hang here: `block_on` parks until it is woken, and nothing else wakes it.

#![cfg(feature = "std")]

use std::future::Future;
use std::pin::Pin;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread;

use fetcher_engine::memory::{MemoryConnectionStore, MemoryConnectorRegistry, MemoryResultSink};
use fetcher_engine::ports::{Connector, ConnectorContext, ConnectorFactory, Fetched, Query};
use fetcher_engine::schema::{FieldSchema, TableSchema};
use fetcher_engine::{
    BoxFuture, CancelToken, Category, ConnectionInput, Engine, ExecuteOptions, ExtractionRequest,
    Mode, PortError, block_on,
};

const SOURCES: usize = 4;
const BATCHES: i64 = 8;
const ROUNDS: u64 = 200;

/// A future that another thread completes.
#[derive(Clone, Default)]
struct Elsewhere(Arc<Mutex<(bool, Option<Waker>)>>);

impl Elsewhere {
    fn complete(&self) {
        let waker = {
            let mut state = self.0.lock().expect("no thread panics under this lock");
            state.0 = true;
            state.1.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl Future for Elsewhere {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.0.lock().expect("no thread panics under this lock");
        if state.0 {
            return Poll::Ready(());
        }
        state.1 = Some(cx.waker().clone());
        Poll::Pending
    }
}

/// Sources whose every call is answered by one of several worker threads.
#[derive(Clone)]
struct Threads(Arc<Mutex<Vec<Sender<Elsewhere>>>>);

impl Threads {
    fn start(count: usize) -> Self {
        let spawn = |_| {
            let (sender, receiver) = channel::<Elsewhere>();
            thread::spawn(move || receiver.into_iter().for_each(|call| call.complete()));
            sender
        };
        Self(Arc::new(Mutex::new((0..count).map(spawn).collect())))
    }

    /// Hands a call to the worker of this number.
    fn answer(&self, number: usize) -> Elsewhere {
        let call = Elsewhere::default();
        let workers = self.0.lock().expect("no thread panics under this lock");
        workers[number % workers.len()].send(call.clone()).expect("the workers live on");
        call
    }
}

struct Source {
    threads: Threads,
    number: usize,
    at: i64,
}

impl ConnectorFactory for Threads {
    fn build(&self, context: ConnectorContext) -> Result<Box<dyn Connector>, PortError> {
        let number = usize::from(context.connection.endpoint.port);
        Ok(Box::new(Source { threads: self.clone(), number, at: 0 }))
    }
}

impl Connector for Source {
    fn connect(&mut self) -> BoxFuture<'_, Result<(), PortError>> {
        Box::pin(async {
            self.threads.answer(self.number).await;
            Ok(())
        })
    }

    fn discover_schema(&mut self) -> BoxFuture<'_, Result<Vec<TableSchema>, PortError>> {
        Box::pin(async {
            self.threads.answer(self.number).await;
            Ok(vec![TableSchema::new("t", vec![FieldSchema::new("id", "integer")])])
        })
    }

    fn open(&mut self, _query: Query) -> BoxFuture<'_, Result<(), PortError>> {
        self.connect()
    }

    fn fetch(
        &mut self,
        mut batch: fetcher_engine::encode::RowBatch,
    ) -> BoxFuture<'_, Result<(fetcher_engine::encode::RowBatch, Fetched), PortError>> {
        Box::pin(async {
            self.threads.answer(self.number + self.at as usize).await;
            batch.table("t", &["id"])?;
            batch.i64(self.at);
            batch.end_row()?;
            self.at += 1;
            Ok((batch, if self.at < BATCHES { Fetched::More } else { Fetched::End }))
        })
    }

    fn close(self: Box<Self>) -> BoxFuture<'static, Result<(), PortError>> {
        Box::pin(async move {
            self.threads.answer(self.number).await;
            Ok(())
        })
    }
}

#[test]
fn no_wake_up_from_another_thread_is_lost() {
    let threads = Threads::start(3);
    let registry = MemoryConnectorRegistry::new().with("threads", Arc::new(threads));
    let engine = Engine::builder()
        .connectors(Arc::new(registry))
        .connection_store(Arc::new(MemoryConnectionStore::new()))
        .result_sink(Arc::new(MemoryResultSink::new()))
        .build()
        .expect("it is wired");
    let mut request = ExtractionRequest::new();
    for source in 0..SOURCES {
        let name = format!("source-{source}");
        let input = ConnectionInput::new(name.as_str(), "threads").port(source as u16);
        block_on(engine.create_connection("acme", input)).expect("it is new");
        request = request.table(name, "t", ["id"]);
    }
    let plan = block_on(engine.plan_extraction("acme", &request)).expect("the plan is made");
    let (mut done, mut canceled, mut digest) = (0, 0, None);
    for round in 0..ROUNDS {
        let token = CancelToken::new();
        let mode = if round % 2 == 0 { Mode::Store } else { Mode::Direct };
        let options = ExecuteOptions::new().mode(mode).cancel(token.clone());
        let outcome = thread::scope(|scope| {
            // Every third round is canceled from another thread, after some turns of nothing.
            if round % 3 == 0 {
                scope.spawn(move || {
                    (0..round % 40).for_each(|_| thread::yield_now());
                    token.cancel();
                });
            }
            block_on(engine.execute_extraction(&plan, options))
        });
        match outcome {
            Ok(result) => {
                done += 1;
                assert_eq!(result.rows, (SOURCES as i64 * BATCHES) as u64);
                if mode == Mode::Store {
                    assert_eq!(*digest.get_or_insert(result.digest), result.digest);
                }
            }
            Err(error) => {
                canceled += 1;
                assert_eq!(error.category(), Category::Canceled);
            }
        }
    }
    println!("done={done} canceled={canceled}");
    assert!(done >= ROUNDS * 2 / 3);
}

//! Ports that change their minds, lie, collide, repeat themselves and blow up where nobody looks.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use core::fmt;
use core::future::Future;
use core::panic::AssertUnwindSafe;
use core::pin::Pin;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::task::{Context, Poll};
use std::panic::{catch_unwind, panic_any};

use fetcher_engine::connection::{
    ConnectionDraft, ConnectionId, ConnectionName, ConnectionPage, StoredCredential,
};
use fetcher_engine::encode::RowBatch;
use fetcher_engine::memory::MemoryConnectorRegistry;
use fetcher_engine::ports::{
    BoxFuture, ConnectionStore, Connector, ConnectorContext, ConnectorFactory, ConnectorRegistry,
    Fetched, Query, ResultHeader, ResultSink, ResultWriter,
};
use fetcher_engine::schema::{FieldSchema, TableSchema};
use fetcher_engine::{
    Category, ConnectionDescriptor, ConnectionPatch, Engine, EngineError, ExecuteOptions,
    ExtractionRequest, ExtractionResult, Mode, PageQuery, PortError, TenantId,
};

use super::common::{
    Act, Call, Host, Operation, Rogue, WatchedRegistry, brief, document, quiet, ready,
};

type Answer<'a, T> = BoxFuture<'a, Result<T, PortError>>;

fn request() -> ExtractionRequest {
    ExtractionRequest::new().request_id("r-1").table("sales", "people", ["*"])
}

// --- Registries and factories.

/// Knows its types for so many questions, and from then on only now and then.
struct Fickle {
    inner: WatchedRegistry,
    asked: AtomicUsize,
    steady: usize,
}

impl ConnectorRegistry for Fickle {
    fn factory(&self, kind: &str) -> Option<Arc<dyn ConnectorFactory>> {
        let asked = self.asked.fetch_add(1, Ordering::SeqCst);
        let knows = asked < self.steady || (asked - self.steady) % 2 == 1;
        self.inner.factory(kind).filter(|_| knows)
    }
}

#[test]
fn a_registry_that_changes_its_mind_is_taken_at_its_word() {
    for operation in Operation::ALL {
        for steady in 0..8 {
            let host = Host::new();
            host.connect("acme", "sales");
            let name = if operation == Operation::Create { "fresh" } else { "sales" };
            let mut call = Call::new("acme", name, "connection-1");
            call.plan = Some(host.plan("acme", &request()));
            let inner = WatchedRegistry::new(host.probe.clone());
            let inner = inner.with("memory", Arc::new(host.source.clone()));
            let registry = Fickle { inner, asked: AtomicUsize::new(0), steady };
            let engine = host.full().connectors(Arc::new(registry)).build().unwrap();
            let place = format!("{operation:?}, {steady}");
            if let Err(error) = host.run(operation.run(&engine, &call)) {
                assert_eq!(error.category(), Category::Validation, "{place}");
                assert_eq!(error.message(), "connection type is not registered", "{place}");
            }
            let built = host.probe.count("factory.build");
            assert_eq!(host.probe.count("connector.close"), built, "{place}");
        }
    }
}

/// Plans a request against a source of these tables and canonical names.
fn planned(
    tables: &[(&str, &[&str])],
    canonical: fn(&str) -> Option<Arc<str>>,
    requested: &[&str],
) -> Result<Vec<String>, EngineError> {
    let host = Host::of(Rogue::new(tables).canonical(canonical));
    host.connect("acme", "sales");
    let engine = host.full().build().unwrap();
    let request = ExtractionRequest::new().request_id("r-1");
    let request = requested.iter().fold(request, |request, t| request.table("sales", *t, ["*"]));
    let plan = host.run(engine.plan_extraction("acme", &request))?;
    // It is the same from the cache.
    assert_eq!(host.run(engine.plan_extraction("acme", &request)).unwrap(), plan);
    Ok(plan.steps()[0].tables().iter().map(|table| table.name().to_owned()).collect())
}

#[test]
fn canonical_names_that_make_no_sense_are_only_names() {
    let tables: &[(&str, &[&str])] = &[("a", &["id"]), ("b", &["id"])];
    let growing = |name: &str| Some(format!("{name}x").into());
    assert_eq!(planned(tables, growing, &["b", "a"]).unwrap(), ["ax", "bx"]);
    let error = planned(tables, growing, &["ax"]).unwrap_err();
    assert_eq!(error.report().unwrap().mistakes()[0].kind.as_str(), "table_not_found");
    let one = |_: &str| Some("one".into());
    assert_eq!(planned(tables, one, &["a"]).unwrap(), ["one"]);
    assert_eq!(planned(tables, one, &["neither"]).unwrap(), ["one"]);
    let error = planned(tables, one, &["a", "b"]).unwrap_err();
    assert_eq!(brief(&error), "validation/validate: table is requested more than once");
    let swapped = |name: &str| Some(if name == "a" { "b" } else { "a" }.into());
    assert_eq!(planned(tables, swapped, &["a", "b"]).unwrap(), ["a", "b"]);
    let empty = |_: &str| Some("".into());
    assert_eq!(planned(tables, empty, &["a"]).unwrap(), [""]);
    let huge = |name: &str| Some(name.repeat(1 << 20).into());
    assert_eq!(planned(tables, huge, &["a"]).unwrap(), ["a".repeat(1 << 20)]);
    let random = |_: &str| {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        Some(NEXT.fetch_add(1, Ordering::SeqCst).to_string().into())
    };
    let error = planned(tables, random, &["a"]).unwrap_err();
    assert_eq!(error.report().unwrap().mistakes()[0].kind.as_str(), "table_not_found");
}

#[test]
fn a_canonical_name_that_panics_is_internal_from_the_cache_too() {
    quiet();
    for cached in [false, true] {
        for operation in [Operation::Plan, Operation::Validate] {
            let host = Host::new();
            host.connect("acme", "sales");
            let engine = host.full().build().unwrap();
            if cached {
                host.run(engine.discover_schema("acme", "sales")).unwrap();
            }
            let call = Call::new("acme", "sales", "connection-1");
            host.probe.on("factory.canonical", Act::PanicAtOnce("canary"));
            let error = host.run(operation.run(&engine, &call)).unwrap_err();
            let stage = if cached { "validate" } else { "discover" };
            assert_eq!(brief(&error), format!("internal/{stage}: a port panicked"));
        }
    }
}

// --- Catalogues.

#[test]
fn a_catalogue_that_repeats_itself_is_taken_once() {
    let tables: &[(&str, &[&str])] =
        &[("people", &["id", "id", "name", "id"]), ("people", &["other"]), ("people", &[])];
    let host = Host::of(Rogue::new(tables));
    host.connect("acme", "sales");
    let engine = host.full().build().unwrap();
    let schema = host.run(engine.discover_schema("acme", "sales")).unwrap();
    assert_eq!(schema.tables().len(), 1);
    let plan = host.run(engine.plan_extraction("acme", &request())).unwrap();
    let fields: Vec<_> = plan.steps()[0].tables()[0].fields().iter().map(|f| &**f).collect();
    assert_eq!(fields, ["id", "name"]);
}

#[test]
fn a_catalogue_without_tables_or_fields_is_one() {
    let host = Host::of(Rogue::new(&[]));
    host.connect("acme", "sales");
    let engine = host.full().build().unwrap();
    assert!(host.run(engine.discover_schema("acme", "sales")).unwrap().tables().is_empty());
    let error = host.run(engine.plan_extraction("acme", &request())).unwrap_err();
    assert_eq!(error.report().unwrap().mistakes()[0].kind.as_str(), "table_not_found");

    let fill = |mut batch: RowBatch| {
        batch.table::<&str>("people", &[])?;
        (0..3).try_for_each(|_| batch.end_row())?;
        Ok((batch, Fetched::End))
    };
    let host = Host::of(Rogue::new(&[("people", &[])]).fill(fill));
    host.connect("acme", "sales");
    let engine = host.full().build().unwrap();
    let plan = host.run(engine.plan_extraction("acme", &request())).unwrap();
    let options = ExecuteOptions::new().mode(Mode::Direct);
    let result = host.run(engine.execute_extraction(&plan, options)).unwrap();
    assert_eq!(result.rows, 3);
    assert_eq!(document(&result).matches("{}").count(), 3);
}

#[test]
fn a_catalogue_of_any_size_is_over_the_limit_and_not_in_the_error() {
    let names: Vec<String> = (0..50_000).map(|at| format!("f{at}")).collect();
    let fields: Vec<_> = names.iter().map(String::as_str).collect();
    let mut tables: Vec<(&str, &[&str])> = names.iter().map(|name| (&**name, &[][..])).collect();
    tables.push(("people", &fields));
    let host = Host::of(Rogue::new(&tables));
    host.connect("acme", "sales");
    let engine = host.full().build().unwrap();
    let error = host.run(engine.plan_extraction("acme", &request())).unwrap_err();
    assert_eq!(brief(&error), "limit_exceeded/validate: request exceeds a limit");
    assert!(format!("{error:?}").len() < 1_000);
}

// --- Connectors.

#[test]
fn after_an_end_nothing_is_fetched() {
    for to in [Mode::Direct, Mode::Store] {
        for before in 0..4 {
            let given = AtomicUsize::new(0);
            let fill = move |mut batch: RowBatch| {
                batch.table("people", &["id"])?;
                batch.i64(7);
                batch.end_row()?;
                let at = given.fetch_add(1, Ordering::SeqCst);
                assert!(at <= before, "it had ended");
                Ok((batch, if at == before { Fetched::End } else { Fetched::More }))
            };
            let host = Host::of(Rogue::new(&[("people", &["id"])]).fill(fill));
            host.connect("acme", "sales");
            let (engine, plan) = (host.full().build().unwrap(), host.plan("acme", &request()));
            let options = ExecuteOptions::new().mode(to);
            let result = host.run(engine.execute_extraction(&plan, options)).unwrap();
            assert_eq!(result.rows, before as u64 + 1);
            assert_eq!(host.probe.count("connector.fetch"), before + 1);
            assert_eq!(host.probe.count("connector.close"), 1);
        }
    }
}

type Fill = fn(RowBatch) -> Result<(RowBatch, Fetched), PortError>;

#[test]
fn after_an_error_or_a_fault_nothing_is_fetched() {
    let fills: [Fill; 4] = [
        |_| Err(PortError::unavailable()),
        |mut batch| {
            batch.i64(1);
            Ok((batch, Fetched::More))
        },
        |mut batch| {
            batch.table("people", &["id"])?;
            batch.begin_map();
            Ok((batch, Fetched::End))
        },
        |mut batch| {
            batch.table("people", &["id", "password"])?;
            Ok((batch, Fetched::More))
        },
    ];
    for to in [Mode::Direct, Mode::Store] {
        for fill in fills {
            let host = Host::of(Rogue::new(&[("people", &["id"])]).fill(fill));
            host.connect("acme", "sales");
            let (engine, plan) = (host.full().build().unwrap(), host.plan("acme", &request()));
            let options = ExecuteOptions::new().mode(to);
            let error = host.run(engine.execute_extraction(&plan, options)).unwrap_err();
            assert!([Category::Unavailable, Category::Internal].contains(&error.category()));
            assert_eq!(host.probe.count("connector.fetch"), 1);
            assert_eq!(host.probe.count("connector.close"), 1);
            assert!(host.sink.is_empty());
        }
    }
}

// --- Stores.

/// Gives the same page again and again.
struct Circular(ConnectionDescriptor);

#[rustfmt::skip]
impl ConnectionStore for Circular {
    fn create<'a>(
        &'a self, _: &'a TenantId, _: ConnectionDraft, _: Option<StoredCredential>,
    ) -> Answer<'a, ConnectionDescriptor> {
        Box::pin(async { Err(PortError::internal()) })
    }
    fn find<'a>(
        &'a self, _: &'a TenantId, _: &'a ConnectionName,
    ) -> Answer<'a, Option<ConnectionDescriptor>> {
        Box::pin(async { Ok(Some(self.0.clone())) })
    }
    fn find_by_id<'a>(
        &'a self, _: &'a TenantId, _: &'a ConnectionId,
    ) -> Answer<'a, Option<ConnectionDescriptor>> {
        Box::pin(async { Ok(Some(self.0.clone())) })
    }
    fn update<'a>(
        &'a self, _: &'a TenantId, _: &'a ConnectionName, _: ConnectionPatch,
        _: Option<StoredCredential>,
    ) -> Answer<'a, ConnectionDescriptor> {
        Box::pin(async { Err(PortError::internal()) })
    }
    fn update_by_id<'a>(
        &'a self, _: &'a TenantId, _: &'a ConnectionId, _: ConnectionPatch,
        _: Option<StoredCredential>,
    ) -> Answer<'a, ConnectionDescriptor> {
        Box::pin(async { Err(PortError::internal()) })
    }
    fn delete<'a>(&'a self, _: &'a TenantId, _: &'a ConnectionName) -> Answer<'a, ()> {
        Box::pin(async { Err(PortError::internal()) })
    }
    fn delete_by_id<'a>(&'a self, _: &'a TenantId, _: &'a ConnectionId) -> Answer<'a, ()> {
        Box::pin(async { Err(PortError::internal()) })
    }
    fn list<'a>(&'a self, _: &'a TenantId) -> Answer<'a, Vec<ConnectionDescriptor>> {
        Box::pin(async { Ok(vec![self.0.clone(); 3]) })
    }
    fn list_paged<'a>(
        &'a self, _: &'a TenantId, page: &'a PageQuery,
    ) -> Answer<'a, ConnectionPage> {
        Box::pin(async {
            let mut answer = ConnectionPage::new(vec![self.0.clone(); 3]);
            answer.next = Some(page.clone());
            answer.total = Some(u64::MAX);
            Ok(answer)
        })
    }
}

#[test]
fn pages_that_run_in_a_circle_are_asked_for_one_by_one() {
    let host = Host::new();
    host.connect("acme", "sales");
    let engine = host.full().build().unwrap();
    let found = host.run(engine.get_connection("acme", "sales")).unwrap();
    let engine = host.full().connection_store(Arc::new(Circular(found.clone()))).build().unwrap();
    let mut query = PageQuery(BTreeMap::from([("after".into(), "\0".repeat(1 << 20))]));
    for _ in 0..10 {
        let page = ready(engine.list_connections_paged("acme", &query)).unwrap();
        assert_eq!(page.items, vec![found.clone(); 3]);
        query = page.next.unwrap();
    }
    // Whatever it is asked for, it finds the same one: only its name is that one's.
    assert!(ready(engine.get_connection("acme", "sales")).is_ok());
    for answer in [
        ready(engine.get_connection("acme", "other")),
        ready(engine.get_connection_by_id("acme", "other")),
        ready(engine.get_connection("globex", "sales")),
    ] {
        let text = "not_found/store: connection is not found";
        assert_eq!(brief(&answer.unwrap_err()), text);
    }
    assert!(ready(engine.list_connections("globex")).unwrap().is_empty());
}

#[test]
fn an_execution_store_that_fails_in_any_way_changes_no_result() {
    quiet();
    for category in Category::ALL {
        for act in [Act::Fail(category), Act::LoseAnswer(category), Act::Panic("canary"), Act::Hang]
        {
            for to in [Mode::Direct, Mode::Store] {
                let host = Host::new();
                host.connect("acme", "sales");
                let (engine, plan) = (host.full().build().unwrap(), host.plan("acme", &request()));
                host.probe.on("executions.save", act);
                let options = ExecuteOptions::new().mode(to);
                let result = host.run(engine.execute_extraction(&plan, options));
                assert_eq!(result.unwrap().rows, 2, "{act:?}");
                assert_eq!(host.probe.count("executions.save"), 2, "{act:?}");
            }
        }
    }
}

// --- Destructors.

/// Panics when it is dropped, so many times over: each panic carries the next.
#[derive(Debug)]
struct Bomb(usize);

impl Drop for Bomb {
    fn drop(&mut self) {
        if let Some(left) = self.0.checked_sub(1) {
            panic_any(Self(left));
        }
    }
}

impl fmt::Display for Bomb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a cause that cannot be dropped")
    }
}

impl core::error::Error for Bomb {}

/// Bombs in all that a connector, a writer and their answers hold.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Where {
    Nowhere,
    /// The payload of a panic.
    Payload(usize),
    /// The cause of an error.
    Cause,
    /// A future, after its answer.
    Future,
    /// The connector, when it is closed.
    Closed,
    /// The connector, when it is closed, and it never answers.
    Stuck,
    /// The writer, when it is closed.
    Writer,
    /// The writer, when it is aborted.
    Aborted,
}

struct Mined(Where);

impl ConnectorFactory for Mined {
    fn build(&self, _: ConnectorContext) -> Result<Box<dyn Connector>, PortError> {
        let is_armed = matches!(self.0, Where::Closed | Where::Stuck);
        Ok(Box::new(MinedConnector { place: self.0, _bomb: Bomb(usize::from(is_armed)) }))
    }
}

/// A future that holds on to what it had when it has answered.
struct Spent {
    _bomb: Bomb,
}

impl Future for Spent {
    type Output = Result<(), PortError>;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        Poll::Ready(Ok(()))
    }
}

struct MinedConnector {
    place: Where,
    _bomb: Bomb,
}

impl Connector for MinedConnector {
    fn connect(&mut self) -> Answer<'_, ()> {
        Box::pin(Spent { _bomb: Bomb(usize::from(self.place == Where::Future)) })
    }

    fn discover_schema(&mut self) -> Answer<'_, Vec<TableSchema>> {
        let fields = vec![FieldSchema::new("id", "text")];
        Box::pin(async { Ok(vec![TableSchema::new("people", fields)]) })
    }

    fn open(&mut self, _: Query) -> Answer<'_, ()> {
        Box::pin(async { Ok(()) })
    }

    fn fetch(&mut self, mut batch: RowBatch) -> Answer<'_, (RowBatch, Fetched)> {
        let place = self.place;
        Box::pin(async move {
            match place {
                Where::Payload(bombs) => panic_any(Bomb(bombs)),
                Where::Cause => return Err(PortError::unavailable().caused_by(Bomb(1))),
                Where::Aborted => return Err(PortError::unavailable()),
                _ => {}
            }
            batch.table("people", &["id"])?;
            Ok((batch, Fetched::End))
        })
    }

    fn close(self: Box<Self>) -> Answer<'static, ()> {
        Box::pin(async move {
            if self.place == Where::Stuck {
                core::future::pending::<()>().await;
            }
            Ok(())
        })
    }
}

struct MinedSink(Where);

impl ResultSink for MinedSink {
    fn open_stream<'a>(
        &'a self,
        _: &'a TenantId,
        _: ResultHeader,
    ) -> Answer<'a, Box<dyn ResultWriter>> {
        let is_armed = matches!(self.0, Where::Writer | Where::Aborted);
        let writer = MinedWriter(Bomb(usize::from(is_armed)));
        Box::pin(async { Ok(Box::new(writer) as Box<dyn ResultWriter>) })
    }
}

struct MinedWriter(#[expect(dead_code, reason = "it goes off when it is dropped")] Bomb);

impl ResultWriter for MinedWriter {
    fn write<'a>(&'a mut self, _: &'a [u8]) -> Answer<'a, ()> {
        Box::pin(async { Ok(()) })
    }

    fn close(self: Box<Self>) -> Answer<'static, fetcher_engine::extraction::Receipt> {
        Box::pin(async move {
            let _writer = self;
            Ok(fetcher_engine::extraction::Receipt::new("r"))
        })
    }

    fn abort(self: Box<Self>) -> Answer<'static, ()> {
        Box::pin(async move {
            let _writer = self;
            Ok(())
        })
    }
}

fn mined(place: Where) -> Result<Result<ExtractionResult, EngineError>, ()> {
    let host = Host::of(Mined(Where::Nowhere));
    host.connect("acme", "sales");
    let plan = host.plan("acme", &request());
    // Nothing lies between the engine and these: a decorator would drop what it wraps itself.
    let registry = MemoryConnectorRegistry::new().with("memory", Arc::new(Mined(place)));
    let builder = host.full().connectors(Arc::new(registry));
    let engine = builder.result_sink(Arc::new(MinedSink(place))).build().unwrap();
    let run = || host.run(engine.execute_extraction(&plan, ExecuteOptions::new()));
    catch_unwind(AssertUnwindSafe(run)).map_err(core::mem::forget)
}

#[test]
fn what_panics_when_it_is_dropped_does_not_escape() {
    // Bombs are planted: what they carry is no text, and nobody wants to read of them.
    let shown = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !info.payload().is::<Bomb>() {
            shown(info);
        }
    }));
    let places = [
        (Where::Nowhere, None),
        (Where::Payload(0), Some("internal/read: a port panicked")),
        (Where::Payload(1), Some("internal/read: a port panicked")),
        (Where::Payload(2), Some("internal/read: a port panicked")),
        (Where::Payload(3), Some("internal/read: a port panicked")),
        (Where::Cause, Some("unavailable/read: rows cannot be read")),
        (Where::Future, None),
        (Where::Closed, None),
        (Where::Stuck, None),
        // A close that panics has not answered.
        (Where::Writer, Some("internal/persist: a port panicked")),
        (Where::Aborted, Some("unavailable/read: rows cannot be read")),
    ];
    let mut wrong = Vec::new();
    for (place, expected) in places {
        match mined(place) {
            Err(()) => wrong.push(format!("{place:?}: a panic escaped")),
            Ok(answer) => {
                let told = answer.err().map(|error| brief(&error));
                if told.as_deref() != expected {
                    wrong.push(format!("{place:?}: {told:?}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn an_engine_goes_on_after_ports_that_panic() {
    quiet();
    let host = Host::new();
    host.connect("acme", "sales");
    let engine: Engine = host.full().build().unwrap();
    let plan = host.plan("acme", &request());
    for port in ["store.find", "connector.fetch", "connector.close", "sink.write", "sink.abort"] {
        host.probe.on_nth(port, 1, Act::Panic("canary"));
        let _ = host.run(engine.execute_extraction(&plan, ExecuteOptions::new()));
        let result = host.run(engine.execute_extraction(&plan, ExecuteOptions::new()));
        assert_eq!(result.unwrap().rows, 2, "{port}");
    }
}

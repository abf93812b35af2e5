//! A host in miniature: all eight ports in memory, each behind one probe, and a manual clock.

use alloc::sync::Arc;
use core::future::Future;
use core::pin::pin;
use core::sync::atomic::{AtomicBool, Ordering};
use core::task::{Context, Poll, Waker};

use fetcher_engine::connection::StoredCredential;
use fetcher_engine::extraction::RequestId;
use fetcher_engine::memory::{
    MemoryConnectionStore, MemoryDatasource, MemoryExecutionStore, MemoryResultSink,
    MemorySchemaCache, Table,
};
use fetcher_engine::ports::{ConnectorFactory, CredentialVault, ExecutionRecord};
use fetcher_engine::value::{Value, ValueKind};
use fetcher_engine::{
    ConnectionInput, Engine, EngineBuilder, ExtractionPlan, ExtractionRequest, ExtractionResult,
    Output, TenantId,
};

use super::ports::{
    Handed, Observer, WatchedCache, WatchedChecker, WatchedExecutions, WatchedSink, WatchedStore,
};
use super::{Clock, Probe, Task, ToyProtector, WatchedRegistry};

/// Everything that a test looks at.
pub(crate) struct Host {
    pub(crate) probe: Probe,
    pub(crate) clock: Clock,
    pub(crate) source: MemoryDatasource,
    pub(crate) store: Arc<MemoryConnectionStore>,
    pub(crate) executions: Arc<MemoryExecutionStore>,
    pub(crate) sink: MemoryResultSink,
    pub(crate) protector: Arc<ToyProtector>,
    /// The credentials that the store was handed.
    pub(crate) handed: Handed,
    cache: Arc<MemorySchemaCache>,
    busy: Arc<AtomicBool>,
    factory: Arc<dyn ConnectorFactory>,
}

impl Host {
    /// A host whose datasource has the database `crm` with people and orders.
    pub(crate) fn new() -> Self {
        let source = MemoryDatasource::new();
        source.put("crm", [people(), orders()]).unwrap();
        Self::with(Arc::new(source.clone()), source)
    }

    /// A host whose connections of type `memory` are served by this factory.
    pub(crate) fn of(factory: impl ConnectorFactory) -> Self {
        Self::with(Arc::new(factory), MemoryDatasource::new())
    }

    fn with(factory: Arc<dyn ConnectorFactory>, source: MemoryDatasource) -> Self {
        let clock = Clock::default();
        let probe = Probe::new(clock.clone());
        Self {
            protector: Arc::new(ToyProtector::new(probe.clone())),
            probe,
            clock,
            source,
            store: Arc::default(),
            executions: Arc::default(),
            sink: MemoryResultSink::new(),
            handed: Handed::default(),
            cache: Arc::default(),
            busy: Arc::default(),
            factory,
        }
    }

    /// What every engine has that does anything: connectors, a connection store, a clock.
    pub(crate) fn bare(&self) -> EngineBuilder {
        let (probe, inner) = (self.probe.clone(), Arc::clone(&self.store));
        let handed = Arc::clone(&self.handed);
        let store = WatchedStore { probe, inner, handed };
        self.without_store().connection_store(Arc::new(store))
    }

    pub(crate) fn without_store(&self) -> EngineBuilder {
        let registry = WatchedRegistry::new(self.probe.clone());
        let registry = registry.with("memory", Arc::clone(&self.factory));
        Engine::builder().connectors(Arc::new(registry)).runtime(Arc::new(self.clock.clone()))
    }

    /// All eight ports, and encrypted persistence.
    pub(crate) fn full(&self) -> EngineBuilder {
        self.others(self.bare())
    }

    /// The six ports beside connectors and connections.
    pub(crate) fn others(&self, builder: EngineBuilder) -> EngineBuilder {
        let builder = self.with_checker(self.with_cache(builder));
        self.with_executions(self.with_sink(builder))
            .credential_protector(self.protector.clone())
            .encrypted_persistence(true)
            .observability(Arc::new(Observer(self.probe.clone())))
    }

    pub(crate) fn with_cache(&self, builder: EngineBuilder) -> EngineBuilder {
        let (probe, inner) = (self.probe.clone(), Arc::clone(&self.cache));
        builder.schema_cache(Arc::new(WatchedCache { probe, inner }))
    }

    pub(crate) fn with_checker(&self, builder: EngineBuilder) -> EngineBuilder {
        let (probe, busy) = (self.probe.clone(), Arc::clone(&self.busy));
        builder.active_execution_checker(Arc::new(WatchedChecker { probe, busy }))
    }

    pub(crate) fn with_executions(&self, builder: EngineBuilder) -> EngineBuilder {
        let (probe, inner) = (self.probe.clone(), Arc::clone(&self.executions));
        builder.execution_store(Arc::new(WatchedExecutions { probe, inner }))
    }

    pub(crate) fn with_sink(&self, builder: EngineBuilder) -> EngineBuilder {
        let (probe, inner) = (self.probe.clone(), self.sink.clone());
        builder.result_sink(Arc::new(WatchedSink { probe, inner }))
    }

    pub(crate) fn with_observer(&self, builder: EngineBuilder) -> EngineBuilder {
        builder.observability(Arc::new(Observer(self.probe.clone())))
    }

    /// Every connection has active executions, or none has.
    pub(crate) fn set_busy(&self, busy: bool) {
        self.busy.store(busy, Ordering::SeqCst);
    }

    /// Runs a future to its end; time passes only when nothing else can happen.
    pub(crate) fn run<T>(&self, future: impl Future<Output = T>) -> T {
        Task::new(future).run(&self.clock)
    }

    /// Creates a connection to `crm`, through an engine of its own, and returns its id; the probe
    /// is as if nothing had happened.
    pub(crate) fn connect(&self, tenant: &str, name: &str) -> String {
        self.connect_to(tenant, name, "crm")
    }

    pub(crate) fn connect_to(&self, tenant: &str, name: &str, database: &str) -> String {
        let engine = self.others(self.bare()).build().unwrap();
        let input = ConnectionInput::new(name, "memory")
            .host("primary")
            .database(database)
            .password("an old password");
        let created = self.run(engine.create_connection(tenant, input)).unwrap();
        self.probe.clear();
        self.handed.lock().unwrap().clear();
        created.id.as_str().to_owned()
    }

    /// Plans through an engine of its own; the probe is as if nothing had happened.
    pub(crate) fn plan(&self, tenant: &str, request: &ExtractionRequest) -> ExtractionPlan {
        let engine = self.bare().build().unwrap();
        let plan = self.run(engine.plan_extraction(tenant, request)).unwrap();
        self.probe.clear();
        plan
    }

    /// The stored credential of a connection: its bytes and its key version.
    pub(crate) fn credential(&self, tenant_id: &str, name: &str) -> (Vec<u8>, Option<String>) {
        let engine = self.without_store().connection_store(self.store.clone());
        let engine = engine.build().unwrap();
        let found = self.run(engine.get_connection(tenant_id, name)).unwrap();
        let owner = tenant(tenant_id);
        let stored = self.run(self.store.stored_credential(&owner, &found.id));
        let stored = stored.unwrap().expect("a credential");
        let StoredCredential { bytes, key_version, .. } = stored;
        (bytes.expose().to_vec(), key_version)
    }

    /// The states of an execution, in order.
    pub(crate) fn history(&self, tenant_id: &str, id: &str) -> Vec<ExecutionRecord> {
        let id = RequestId::parse(id).unwrap();
        self.executions.history(&tenant(tenant_id), &id)
    }

    /// Their names.
    pub(crate) fn states(&self, tenant_id: &str, id: &str) -> Vec<&'static str> {
        let history = self.history(tenant_id, id);
        history.iter().map(|record| record.state.as_str()).collect()
    }
}

/// Two people.
pub(crate) fn people() -> Table {
    Table::new("people")
        .key("id", ValueKind::I64)
        .column("name", ValueKind::String)
        .row([Value::from(1), Value::from("Ada")])
        .row([Value::from(2), Value::from("Grace")])
}

/// Three orders.
pub(crate) fn orders() -> Table {
    let rows = (1..=3).map(|id| [Value::from(id), Value::from(id * 10)]);
    Table::new("orders").key("id", ValueKind::I64).column("total", ValueKind::I64).rows(rows)
}

/// Rows for more than one batch, a different number in each datasource.
pub(crate) fn large(rows: i64) -> Table {
    let row = |id| [Value::from(id), Value::from(format!("{id:0>200}"))];
    Table::new("people")
        .column("id", ValueKind::I64)
        .column("name", ValueKind::String)
        .rows((0..rows).map(row))
}

pub(crate) fn tenant(id: &str) -> TenantId {
    TenantId::parse(id).unwrap()
}

/// The bytes of a direct result.
pub(crate) fn document(result: &ExtractionResult) -> String {
    let Output::Document(document) = &result.output else {
        panic!("a direct result: {result:?}");
    };
    String::from_utf8(document.clone().into_vec()).unwrap()
}

/// The bytes of a stored result.
pub(crate) fn stored(host: &Host, tenant_id: &str, result: &ExtractionResult) -> String {
    let Output::Stored(receipt) = &result.output else {
        panic!("a stored result: {result:?}");
    };
    let stored = host.sink.result(&tenant(tenant_id), &receipt.reference);
    String::from_utf8(stored.expect("what was closed").bytes.to_vec()).unwrap()
}

/// The answer of a future that has it at once.
pub(crate) fn ready<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer,
        Poll::Pending => panic!("it is not ready"),
    }
}

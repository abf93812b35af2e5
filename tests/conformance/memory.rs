//! The ports in memory as subjects of the kit.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use core::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::Mutex;

use fetcher_engine::connection::StoredCredential;
use fetcher_engine::extraction::RequestId;
use fetcher_engine::memory::{
    self, MemoryConnectionStore, MemoryConnectorRegistry, MemoryDatasource, MemoryExecutionStore,
    MemoryResultSink, MemorySchemaCache,
};
use fetcher_engine::ports::{
    BoxFuture, ConnectionStore, ConnectorRegistry, CredentialProtector, CredentialResolver,
    CredentialVault, ExecutionRecord, ExecutionStore, ResultSink, SchemaCache, VaultResolver,
};
use fetcher_engine::testkit::conformance::{
    connection_store, connector, credentials, execution_store, result_sink, schema_cache,
};
use fetcher_engine::testkit::sim::{
    Sim, SimCache, SimConnectionStore, SimExecutionStore, SimRegistry, SimSink,
};
use fetcher_engine::value::{Value, ValueKind};
use fetcher_engine::{
    ConnectionDescriptor, ConnectionInput, ConnectionPatch, Operator, PageQuery, PortError, Secret,
    TenantId, block_on,
};

use crate::forward::{Layers, layers, simulation};
use crate::toys::ToyProtector;

pub(crate) fn tenant() -> TenantId {
    TenantId::parse("conformance").unwrap()
}

/// The first page of a memory store, of two connections.
pub(crate) fn two_per_page() -> PageQuery {
    PageQuery(BTreeMap::from([("limit".into(), "2".into())]))
}

// --- Connections.

pub(crate) struct Connections(pub(crate) Layers);

pub(crate) struct ConnectionFixture {
    pub(crate) store: Arc<dyn ConnectionStore>,
    pub(crate) vault: Arc<dyn CredentialVault>,
}

impl connection_store::Subject for Connections {
    fn fresh(&self) -> BoxFuture<'_, Box<dyn connection_store::Fixture>> {
        let both = Arc::new(MemoryConnectionStore::new());
        let bare = Arc::clone(&both) as _;
        let store = layers!(ConnectionStore, self.0, bare, SimConnectionStore);
        let vault = layers!(CredentialVault, self.0, both);
        Box::pin(async { Box::new(ConnectionFixture { store, vault }) as _ })
    }

    fn first_page(&self) -> Option<PageQuery> {
        Some(two_per_page())
    }
}

impl connection_store::Fixture for ConnectionFixture {
    fn store(&self) -> &dyn ConnectionStore {
        &*self.store
    }

    fn vault(&self) -> &dyn CredentialVault {
        &*self.vault
    }
}

// --- Executions.

pub(crate) struct Executions(pub(crate) Layers);

struct ExecutionFixture {
    memory: Arc<MemoryExecutionStore>,
    store: Arc<dyn ExecutionStore>,
}

impl execution_store::Subject for Executions {
    fn fresh(&self) -> BoxFuture<'_, Box<dyn execution_store::Fixture>> {
        let memory = Arc::new(MemoryExecutionStore::new());
        let store = layers!(ExecutionStore, self.0, Arc::clone(&memory) as _, SimExecutionStore);
        Box::pin(async { Box::new(ExecutionFixture { memory, store }) as _ })
    }
}

impl execution_store::Fixture for ExecutionFixture {
    fn store(&self) -> &dyn ExecutionStore {
        &*self.store
    }

    fn state<'a>(
        &'a self,
        tenant: &'a TenantId,
        request: &'a RequestId,
    ) -> BoxFuture<'a, Option<ExecutionRecord>> {
        Box::pin(async { self.memory.state(tenant, request) })
    }
}

// --- Results.

pub(crate) struct Sinks(pub(crate) Layers);

struct SinkFixture {
    memory: MemoryResultSink,
    sink: Arc<dyn ResultSink>,
}

impl result_sink::Subject for Sinks {
    fn fresh(&self) -> BoxFuture<'_, Box<dyn result_sink::Fixture>> {
        let memory = MemoryResultSink::new();
        let sink = layers!(ResultSink, self.0, Arc::new(memory.clone()), SimSink);
        Box::pin(async { Box::new(SinkFixture { memory, sink }) as _ })
    }
}

impl result_sink::Fixture for SinkFixture {
    fn sink(&self) -> &dyn ResultSink {
        &*self.sink
    }

    fn results<'a>(&'a self, tenant: &'a TenantId) -> BoxFuture<'a, BTreeMap<String, Vec<u8>>> {
        // The references of a memory sink are its count.
        let all = (0..1000).map(|n| format!("memory/{n}"));
        let of = |reference: String| {
            let result = self.memory.result(tenant, &reference)?;
            Some((reference, result.bytes.to_vec()))
        };
        Box::pin(async move { all.filter_map(of).collect() })
    }

    fn unfinished(&self) -> BoxFuture<'_, Option<usize>> {
        Box::pin(async { None })
    }

    fn break_down(&self) -> BoxFuture<'_, bool> {
        Box::pin(async { false })
    }
}

// --- Schemas.

pub(crate) struct Caches(pub(crate) Layers);

impl schema_cache::Subject for Caches {
    fn fresh(&self) -> BoxFuture<'_, Box<dyn SchemaCache>> {
        let cache = layers!(SchemaCache, self.0, Arc::new(MemorySchemaCache::new()), SimCache);
        Box::pin(async {
            match self.0 {
                Layers::None => Box::new(MemorySchemaCache::new()) as Box<dyn SchemaCache>,
                _ => Box::new(crate::forward::Forward { inner: cache, waits: false }),
            }
        })
    }

    fn forgets(&self) -> bool {
        false
    }
}

// --- Credentials.

/// Passwords that nothing protects.
pub(crate) struct PlainCredentials(pub(crate) Layers);

/// Passwords that a protector protects.
pub(crate) struct ProtectedCredentials(pub(crate) Layers);

pub(crate) struct CredentialFixture {
    pub(crate) store: Arc<MemoryConnectionStore>,
    pub(crate) vault: Arc<dyn CredentialVault>,
    pub(crate) resolver: Arc<dyn CredentialResolver>,
    pub(crate) protector: Option<ToyProtector>,
}

impl CredentialFixture {
    fn new(layers: Layers, protected: bool) -> Self {
        let store = Arc::new(MemoryConnectionStore::new());
        let vault = layers!(CredentialVault, layers, Arc::clone(&store) as _);
        let mut resolver = VaultResolver::new(Arc::clone(&vault));
        if protected {
            resolver = resolver.protector(Arc::new(ToyProtector::default()));
        }
        let resolver = layers!(CredentialResolver, layers, Arc::new(resolver));
        let protector = protected.then(ToyProtector::default);
        Self { store, vault, resolver, protector }
    }

    fn seal(&self, tenant: &TenantId, password: &[u8]) -> StoredCredential {
        let plain = Secret::new(password.to_vec());
        let Some(protector) = &self.protector else {
            return StoredCredential::unprotected(plain);
        };
        let sealed = block_on(protector.protect(tenant, &plain)).unwrap();
        StoredCredential::protected(sealed.ciphertext, sealed.key_version)
    }

    async fn store(&self, connection: &ConnectionDescriptor, credential: StoredCredential) -> bool {
        let ConnectionDescriptor { tenant, id, .. } = connection;
        let patch = ConnectionPatch::new();
        self.store.update_by_id(tenant, id, patch, Some(credential)).await.is_ok()
    }
}

impl credentials::Subject for PlainCredentials {
    fn fresh(&self) -> BoxFuture<'_, Box<dyn credentials::Fixture>> {
        Box::pin(async { Box::new(CredentialFixture::new(self.0, false)) as _ })
    }
}

impl credentials::Subject for ProtectedCredentials {
    fn fresh(&self) -> BoxFuture<'_, Box<dyn credentials::Fixture>> {
        Box::pin(async { Box::new(CredentialFixture::new(self.0, true)) as _ })
    }
}

impl credentials::Fixture for CredentialFixture {
    fn resolver(&self) -> Option<&dyn CredentialResolver> {
        Some(&*self.resolver)
    }

    fn vault(&self) -> Option<&dyn CredentialVault> {
        Some(&*self.vault)
    }

    fn connect<'a>(
        &'a self,
        tenant: &'a TenantId,
        name: &'a str,
        password: Option<&'a [u8]>,
    ) -> BoxFuture<'a, ConnectionDescriptor> {
        Box::pin(async move {
            let (draft, _) = ConnectionInput::new(name, "conformance").into_draft().unwrap();
            let credential = password.map(|password| self.seal(tenant, password));
            self.store.create(tenant, draft, credential).await.unwrap()
        })
    }

    fn change<'a>(
        &'a self,
        connection: &'a ConnectionDescriptor,
        password: &'a [u8],
    ) -> BoxFuture<'a, bool> {
        let sealed = self.seal(&connection.tenant, password);
        Box::pin(self.store(connection, sealed))
    }

    fn spoil<'a>(&'a self, connection: &'a ConnectionDescriptor) -> BoxFuture<'a, bool> {
        let lost = StoredCredential::protected(Secret::from("of a lost key"), "key-99");
        Box::pin(self.store(connection, lost))
    }

    fn stored(&self, tenant: &TenantId, password: &[u8]) -> Option<(Box<[u8]>, Option<String>)> {
        let StoredCredential { bytes, key_version, .. } = self.seal(tenant, password);
        Some((bytes.expose().into(), key_version))
    }
}

// --- Datasource.

pub(crate) struct Datasources(pub(crate) Layers);

/// A resolver that counts.
pub(crate) struct Counting {
    pub(crate) inner: VaultResolver,
    pub(crate) count: AtomicU64,
}

impl CredentialResolver for Counting {
    fn resolve<'a>(
        &'a self,
        tenant: &'a TenantId,
        connection: &'a ConnectionDescriptor,
    ) -> BoxFuture<'a, Result<Option<Secret>, PortError>> {
        self.count.fetch_add(1, SeqCst);
        self.inner.resolve(tenant, connection)
    }
}

pub(crate) struct DatasourceFixture {
    pub(crate) source: MemoryDatasource,
    pub(crate) tables: Mutex<Vec<connector::Table>>,
    pub(crate) resolver: Arc<Counting>,
    pub(crate) registry: Arc<dyn ConnectorRegistry>,
    pub(crate) connection: ConnectionDescriptor,
    pub(crate) wrong_password: ConnectionDescriptor,
}

const PASSWORD: &str = "correct horse battery staple";

impl DatasourceFixture {
    pub(crate) fn new(layers: Layers, tables: &[connector::Table]) -> Self {
        let store = Arc::new(MemoryConnectionStore::new());
        let connect = |name: &str, password: &str| {
            let input = ConnectionInput::new(name, "memory").database("conformance");
            let (draft, _) = input.into_draft().unwrap();
            let credential = StoredCredential::unprotected(password.into());
            block_on(store.create(&tenant(), draft, Some(credential))).unwrap()
        };
        let connection = connect("right", PASSWORD);
        let wrong_password = connect("wrong", "guessed");
        let inner = VaultResolver::new(store);
        let resolver = Arc::new(Counting { inner, count: AtomicU64::new(0) });
        let source = MemoryDatasource::new().credentials(Arc::clone(&resolver) as _);
        let registry = MemoryConnectorRegistry::new().with("memory", Arc::new(source.clone()));
        let registry = layers!(ConnectorRegistry, layers, Arc::new(registry));
        let tables = Mutex::new(tables.to_vec());
        let fixture = Self { source, tables, resolver, registry, connection, wrong_password };
        fixture.put();
        fixture
    }

    fn put(&self) {
        let tables = self.tables.lock().unwrap().clone();
        let tables = tables.into_iter().map(|table| {
            let mut made = memory::Table::new(table.name);
            for (name, kind) in table.columns {
                made = made.column(name, kind);
            }
            made.rows(table.rows)
        });
        self.source.put_protected("conformance", PASSWORD, tables).unwrap();
    }
}

impl connector::Subject for Datasources {
    fn load<'a>(
        &'a self,
        tables: &'a [connector::Table],
    ) -> BoxFuture<'a, Box<dyn connector::Fixture>> {
        Box::pin(async { Box::new(DatasourceFixture::new(self.0, tables)) as _ })
    }

    fn kinds(&self) -> Vec<ValueKind> {
        ALL_KINDS.into()
    }

    fn holds(&self, _kind: ValueKind, _value: &Value) -> bool {
        true
    }

    fn supports(&self, _operator: Operator, kind: ValueKind) -> bool {
        !matches!(kind, ValueKind::Json | ValueKind::List | ValueKind::Map)
    }

    fn accepts_name(&self, _name: &str) -> bool {
        true
    }

    fn tells_case(&self) -> bool {
        true
    }

    fn cell_bytes_max(&self) -> usize {
        3 << 20
    }
}

pub(crate) const ALL_KINDS: [ValueKind; 16] = [
    ValueKind::I64,
    ValueKind::Bool,
    ValueKind::U64,
    ValueKind::F32,
    ValueKind::F64,
    ValueKind::Decimal,
    ValueKind::String,
    ValueKind::Bytes,
    ValueKind::Uuid,
    ValueKind::Date,
    ValueKind::Time,
    ValueKind::Timestamp,
    ValueKind::Instant,
    ValueKind::Json,
    ValueKind::List,
    ValueKind::Map,
];

impl connector::Fixture for DatasourceFixture {
    fn registry(&self) -> Arc<dyn ConnectorRegistry> {
        Arc::clone(&self.registry)
    }

    fn connection(&self) -> ConnectionDescriptor {
        self.connection.clone()
    }

    fn unreachable(&self) -> ConnectionDescriptor {
        let mut connection = self.connection.clone();
        connection.endpoint.database = "nowhere".into();
        connection
    }

    fn senseless(&self) -> Option<ConnectionDescriptor> {
        None
    }

    fn wrong_password(&self) -> Option<ConnectionDescriptor> {
        Some(self.wrong_password.clone())
    }

    fn too_safe(&self) -> Option<ConnectionDescriptor> {
        None
    }

    fn resolutions(&self) -> Option<u64> {
        Some(self.resolver.count.load(SeqCst))
    }

    fn held(&self) -> BoxFuture<'_, Option<usize>> {
        Box::pin(async { None })
    }

    fn append<'a>(&'a self, table: &'a str, rows: &'a [Vec<Value>]) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            for found in self.tables.lock().unwrap().iter_mut().filter(|it| it.name == table) {
                found.rows.extend_from_slice(rows);
            }
            self.put();
            true
        })
    }

    fn break_off<'a>(&'a self, _table: &'a str) -> BoxFuture<'a, bool> {
        Box::pin(async { false })
    }
}

// --- Watched.

/// A datasource and a sink whose callers are watched by the simulator.
#[derive(Default)]
pub(crate) struct Watched(Mutex<Vec<Sim>>);

impl Watched {
    fn simulation(&self) -> Sim {
        let sim = simulation();
        sim.set_batch_rows(3);
        self.0.lock().unwrap().push(sim.clone());
        sim
    }

    /// What was called out of order.
    pub(crate) fn violations(&self) -> Vec<String> {
        self.0.lock().unwrap().iter().flat_map(Sim::violations).collect()
    }
}

impl connector::Subject for Watched {
    fn load<'a>(
        &'a self,
        tables: &'a [connector::Table],
    ) -> BoxFuture<'a, Box<dyn connector::Fixture>> {
        let mut fixture = DatasourceFixture::new(Layers::None, tables);
        fixture.registry = Arc::new(SimRegistry::new(&self.simulation(), fixture.registry));
        Box::pin(async { Box::new(fixture) as _ })
    }

    fn kinds(&self) -> Vec<ValueKind> {
        vec![ValueKind::String, ValueKind::I64]
    }

    fn holds(&self, kind: ValueKind, value: &Value) -> bool {
        Datasources(Layers::None).holds(kind, value)
    }

    fn supports(&self, operator: Operator, kind: ValueKind) -> bool {
        Datasources(Layers::None).supports(operator, kind)
    }

    fn accepts_name(&self, name: &str) -> bool {
        Datasources(Layers::None).accepts_name(name)
    }

    fn tells_case(&self) -> bool {
        true
    }

    fn cell_bytes_max(&self) -> usize {
        1 << 20
    }
}

impl result_sink::Subject for Watched {
    fn fresh(&self) -> BoxFuture<'_, Box<dyn result_sink::Fixture>> {
        let memory = MemoryResultSink::new();
        let sink = Arc::new(SimSink::new(&self.simulation(), Arc::new(memory.clone())));
        Box::pin(async { Box::new(SinkFixture { memory, sink }) as _ })
    }
}

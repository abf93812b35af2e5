//! The storage-facing ports in memory, each behind the probe, and an observer that writes down.

use alloc::sync::Arc;
use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::Mutex;

use fetcher_engine::connection::{
    ConnectionDraft, ConnectionId, ConnectionName, ConnectionPage, StoredCredential,
};
use fetcher_engine::extraction::Receipt;
use fetcher_engine::memory::{
    MemoryConnectionStore, MemoryExecutionStore, MemoryResultSink, MemorySchemaCache,
};
use fetcher_engine::ports::{
    ActiveExecutionChecker, BoxFuture, ConnectionStore, ExecutionRecord, ExecutionStore, Failure,
    Observability, ResultHeader, ResultSink, ResultWriter, SchemaCache, Span,
};
use fetcher_engine::schema::SchemaSnapshot;
use fetcher_engine::{ConnectionDescriptor, ConnectionPatch, PageQuery, PortError, TenantId};

use super::Probe;

type Answer<'a, T> = BoxFuture<'a, Result<T, PortError>>;

/// What a store was handed as credentials: the bytes, and the key version.
pub(crate) type Handed = Arc<Mutex<Vec<(Vec<u8>, Option<String>)>>>;

pub(crate) struct WatchedStore {
    pub(crate) probe: Probe,
    pub(crate) inner: Arc<MemoryConnectionStore>,
    pub(crate) handed: Handed,
}

impl WatchedStore {
    /// How a line says that a credential came along.
    fn credential(&self, credential: Option<&StoredCredential>) -> &'static str {
        let Some(credential) = credential else {
            return "";
        };
        let bytes = credential.bytes.expose().to_vec();
        let handed = (bytes, credential.key_version.clone());
        self.handed.lock().unwrap().push(handed);
        " credential"
    }
}

impl ConnectionStore for WatchedStore {
    fn create<'a>(
        &'a self,
        tenant: &'a TenantId,
        draft: ConnectionDraft,
        credential: Option<StoredCredential>,
    ) -> Answer<'a, ConnectionDescriptor> {
        let handed = self.credential(credential.as_ref());
        let line = format!("store.create {tenant} {}{handed}", draft.name);
        self.probe.call(line, move || self.inner.create(tenant, draft, credential))
    }

    fn find<'a>(
        &'a self,
        tenant: &'a TenantId,
        name: &'a ConnectionName,
    ) -> Answer<'a, Option<ConnectionDescriptor>> {
        let line = format!("store.find {tenant} {name}");
        self.probe.call(line, move || self.inner.find(tenant, name))
    }

    fn find_by_id<'a>(
        &'a self,
        tenant: &'a TenantId,
        id: &'a ConnectionId,
    ) -> Answer<'a, Option<ConnectionDescriptor>> {
        let line = format!("store.find_by_id {tenant} {id}");
        self.probe.call(line, move || self.inner.find_by_id(tenant, id))
    }

    fn update<'a>(
        &'a self,
        tenant: &'a TenantId,
        name: &'a ConnectionName,
        patch: ConnectionPatch,
        credential: Option<StoredCredential>,
    ) -> Answer<'a, ConnectionDescriptor> {
        assert!(patch.password.is_none(), "the credential comes beside it");
        let handed = self.credential(credential.as_ref());
        let line = format!("store.update {tenant} {name}{handed}");
        self.probe.call(line, move || self.inner.update(tenant, name, patch, credential))
    }

    fn update_by_id<'a>(
        &'a self,
        tenant: &'a TenantId,
        id: &'a ConnectionId,
        patch: ConnectionPatch,
        credential: Option<StoredCredential>,
    ) -> Answer<'a, ConnectionDescriptor> {
        assert!(patch.password.is_none(), "the credential comes beside it");
        let handed = self.credential(credential.as_ref());
        let line = format!("store.update_by_id {tenant} {id}{handed}");
        self.probe.call(line, move || self.inner.update_by_id(tenant, id, patch, credential))
    }

    fn delete<'a>(&'a self, tenant: &'a TenantId, name: &'a ConnectionName) -> Answer<'a, ()> {
        let line = format!("store.delete {tenant} {name}");
        self.probe.call(line, move || self.inner.delete(tenant, name))
    }

    fn delete_by_id<'a>(&'a self, tenant: &'a TenantId, id: &'a ConnectionId) -> Answer<'a, ()> {
        let line = format!("store.delete_by_id {tenant} {id}");
        self.probe.call(line, move || self.inner.delete_by_id(tenant, id))
    }

    fn list<'a>(&'a self, tenant: &'a TenantId) -> Answer<'a, Vec<ConnectionDescriptor>> {
        let line = format!("store.list {tenant}");
        self.probe.call(line, move || self.inner.list(tenant))
    }

    fn list_paged<'a>(
        &'a self,
        tenant: &'a TenantId,
        page: &'a PageQuery,
    ) -> Answer<'a, ConnectionPage> {
        let line = format!("store.list_paged {tenant}");
        self.probe.call(line, move || self.inner.list_paged(tenant, page))
    }
}

pub(crate) struct WatchedCache {
    pub(crate) probe: Probe,
    pub(crate) inner: Arc<MemorySchemaCache>,
}

impl SchemaCache for WatchedCache {
    fn get<'a>(
        &'a self,
        tenant: &'a TenantId,
        name: &'a ConnectionName,
    ) -> Answer<'a, Option<Arc<SchemaSnapshot>>> {
        let line = format!("cache.get {tenant} {name}");
        self.probe.call(line, move || self.inner.get(tenant, name))
    }

    fn put<'a>(
        &'a self,
        tenant: &'a TenantId,
        name: &'a ConnectionName,
        snapshot: Arc<SchemaSnapshot>,
    ) -> Answer<'a, ()> {
        let line = format!("cache.put {tenant} {name}");
        self.probe.call(line, move || self.inner.put(tenant, name, snapshot))
    }

    fn invalidate<'a>(&'a self, tenant: &'a TenantId, name: &'a ConnectionName) -> Answer<'a, ()> {
        let line = format!("cache.invalidate {tenant} {name}");
        self.probe.call(line, move || self.inner.invalidate(tenant, name))
    }
}

/// Says of every connection the same.
pub(crate) struct WatchedChecker {
    pub(crate) probe: Probe,
    pub(crate) busy: Arc<AtomicBool>,
}

impl ActiveExecutionChecker for WatchedChecker {
    fn has_active<'a>(
        &'a self,
        tenant: &'a TenantId,
        connection: &'a ConnectionName,
    ) -> Answer<'a, bool> {
        let line = format!("checker.has_active {tenant} {connection}");
        self.probe.call(line, move || Box::pin(async move { Ok(self.busy.load(Ordering::SeqCst)) }))
    }
}

pub(crate) struct WatchedExecutions {
    pub(crate) probe: Probe,
    pub(crate) inner: Arc<MemoryExecutionStore>,
}

impl ExecutionStore for WatchedExecutions {
    fn save<'a>(&'a self, tenant: &'a TenantId, record: ExecutionRecord) -> Answer<'a, ()> {
        let (id, state) = (&record.request_id, record.state.as_str());
        let line = format!("executions.save {tenant} {id} {state}");
        self.probe.call(line, move || self.inner.save(tenant, record))
    }
}

pub(crate) struct WatchedSink {
    pub(crate) probe: Probe,
    pub(crate) inner: MemoryResultSink,
}

impl ResultSink for WatchedSink {
    fn open_stream<'a>(
        &'a self,
        tenant: &'a TenantId,
        header: ResultHeader,
    ) -> Answer<'a, Box<dyn ResultWriter>> {
        self.probe.call(format!("sink.open {tenant}"), move || {
            Box::pin(async move {
                let writer: Box<dyn ResultWriter> = Box::new(WatchedWriter {
                    probe: self.probe.clone(),
                    tenant: tenant.clone(),
                    inner: Some(self.inner.open_stream(tenant, header).await?),
                });
                Ok(writer)
            })
        })
    }
}

struct WatchedWriter {
    probe: Probe,
    tenant: TenantId,
    /// Gone once it was closed or aborted.
    inner: Option<Box<dyn ResultWriter>>,
}

impl ResultWriter for WatchedWriter {
    fn write<'a>(&'a mut self, bytes: &'a [u8]) -> Answer<'a, ()> {
        let line = format!("sink.write {}", self.tenant);
        let inner = self.inner.as_mut().expect("the writer is open");
        self.probe.call(line, move || inner.write(bytes))
    }

    fn close(mut self: Box<Self>) -> Answer<'static, Receipt> {
        let inner = self.inner.take().expect("the writer is open");
        let line = format!("sink.close {}", self.tenant);
        self.probe.call(line, move || inner.close())
    }

    fn abort(mut self: Box<Self>) -> Answer<'static, ()> {
        let inner = self.inner.take().expect("the writer is open");
        let line = format!("sink.abort {}", self.tenant);
        self.probe.call(line, move || inner.abort())
    }
}

impl Drop for WatchedWriter {
    fn drop(&mut self) {
        if self.inner.is_some() {
            self.probe.note(format!("sink.drop {}", self.tenant));
        }
    }
}

/// Writes down what it is told: `span.failed internal/read: cause`.
pub(crate) struct Observer(pub(crate) Probe);

impl Observability for Observer {
    fn start_span(&self, operation: &'static str) -> Box<dyn Span> {
        let _ = self.0.now(format!("span.start {operation}"));
        Box::new(WatchedSpan(self.0.clone()))
    }
}

struct WatchedSpan(Probe);

impl WatchedSpan {
    fn tell(&self, what: &str, failure: &Failure<'_>) {
        let error = failure.error();
        let cause = failure.cause().map_or_else(String::new, |c| format!(": {c}"));
        let (category, stage) = (error.category(), error.stage());
        let _ = self.0.now(format!("span.{what} {category}/{stage}{cause}"));
    }
}

impl Span for WatchedSpan {
    fn enter(&mut self) {
        let _ = self.0.now("span.enter".into());
    }

    fn exit(&mut self) {
        let _ = self.0.now("span.exit".into());
    }

    fn failed(&mut self, failure: &Failure<'_>) {
        self.tell("failed", failure);
    }

    fn degraded(&mut self, failure: &Failure<'_>) {
        self.tell("degraded", failure);
    }
}

impl Drop for WatchedSpan {
    fn drop(&mut self) {
        self.0.note("span.end".into());
    }
}

//! Decorators that forward every method of every port, to a port behind a pointer; some of them
//! make the caller wait, before and after.

use alloc::sync::Arc;
use core::future::poll_fn;
use core::ops::Deref;
use core::task::Poll;

use fetcher_engine::connection::{
    ConnectionDraft, ConnectionId, ConnectionName, ConnectionPage, StoredCredential,
};
use fetcher_engine::encode::RowBatch;
use fetcher_engine::extraction::Receipt;
use fetcher_engine::ports::{
    ActiveExecutionChecker, BoxFuture, ConnectionStore, Connector, ConnectorContext,
    ConnectorFactory, ConnectorRegistry, CredentialProtector, CredentialResolver, CredentialVault,
    ExecutionRecord, ExecutionStore, Failure, Fetched, Observability, Protected, Query,
    ResultHeader, ResultSink, ResultWriter, SchemaCache, Span,
};
use fetcher_engine::schema::{SchemaSnapshot, TableSchema};
use fetcher_engine::testkit::sim::{Seeded, Sim, Site};
use fetcher_engine::{
    ConnectionDescriptor, ConnectionPatch, PageQuery, PortError, Secret, TenantId,
};

type Answer<'a, T> = BoxFuture<'a, Result<T, PortError>>;

/// What a port is behind.
#[derive(Clone, Copy)]
pub(crate) enum Layers {
    None,
    /// A decorator of an `Arc<dyn …>`.
    Shared,
    /// A decorator of a `Box<dyn …>` that waits, over the one before.
    Boxed,
    /// The simulator's decorator, where there is one, without faults but waiting now and then.
    Simulated,
}

/// A simulation without faults, in which a call may wait.
pub(crate) fn simulation() -> Sim {
    let sim = Sim::new(Seeded::new(21));
    let sites = [
        Site::Connect,
        Site::Discover,
        Site::Open,
        Site::Fetch,
        Site::Close,
        Site::Store,
        Site::Cache,
        Site::Check,
        Site::Save,
        Site::SinkOpen,
        Site::Write,
        Site::SinkClose,
        Site::Abort,
    ];
    sim.set_yields(sites.into());
    sim
}

/// Puts an `Arc` of a port behind layers: `layers!(ResultSink, layers, sink)`, or with the
/// simulator's decorator as the fourth.
macro_rules! layers {
    ($port:ident, $layers:expr, $inner:expr, $sim:ident) => {{
        let bare: std::sync::Arc<dyn $port> = $inner;
        match $layers {
            $crate::forward::Layers::Simulated => {
                std::sync::Arc::new($sim::new(&$crate::forward::simulation(), bare))
            }
            layers => $crate::forward::layers!($port, layers, bare),
        }
    }};
    ($port:ident, $layers:expr, $inner:expr) => {{
        let bare: std::sync::Arc<dyn $port> = $inner;
        match $layers {
            $crate::forward::Layers::None | $crate::forward::Layers::Simulated => bare,
            $crate::forward::Layers::Shared => {
                std::sync::Arc::new($crate::forward::Forward { inner: bare, waits: false })
            }
            $crate::forward::Layers::Boxed => {
                let shared = $crate::forward::Forward { inner: bare, waits: false };
                let inner: Box<dyn $port> = Box::new(shared);
                std::sync::Arc::new($crate::forward::Forward { inner, waits: true })
            }
        }
    }};
}
pub(crate) use layers;

/// Pending once.
pub(crate) async fn wait() {
    let mut polled = false;
    poll_fn(|cx| {
        if polled {
            return Poll::Ready(());
        }
        polled = true;
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Forwards to whatever is behind the pointer.
pub(crate) struct Forward<P> {
    pub(crate) inner: P,
    pub(crate) waits: bool,
}

fn around<'a, T: Send, F: Future<Output = T> + Send + 'a>(
    waits: bool,
    call: impl FnOnce() -> F + Send + 'a,
) -> BoxFuture<'a, T> {
    Box::pin(async move {
        if waits {
            wait().await;
        }
        let output = call().await;
        if waits {
            wait().await;
        }
        output
    })
}

#[deny(clippy::missing_trait_methods)]
impl<P> ActiveExecutionChecker for Forward<P>
where
    P: Deref<Target = dyn ActiveExecutionChecker> + Send + Sync + 'static,
{
    fn has_active<'a>(
        &'a self,
        tenant: &'a TenantId,
        connection: &'a ConnectionName,
    ) -> Answer<'a, bool> {
        around(self.waits, move || self.inner.has_active(tenant, connection))
    }
}

#[deny(clippy::missing_trait_methods)]
impl<P> ConnectionStore for Forward<P>
where
    P: Deref<Target = dyn ConnectionStore> + Send + Sync + 'static,
{
    fn create<'a>(
        &'a self,
        tenant: &'a TenantId,
        draft: ConnectionDraft,
        credential: Option<StoredCredential>,
    ) -> Answer<'a, ConnectionDescriptor> {
        around(self.waits, move || self.inner.create(tenant, draft, credential))
    }

    fn find<'a>(
        &'a self,
        tenant: &'a TenantId,
        name: &'a ConnectionName,
    ) -> Answer<'a, Option<ConnectionDescriptor>> {
        around(self.waits, move || self.inner.find(tenant, name))
    }

    fn find_by_id<'a>(
        &'a self,
        tenant: &'a TenantId,
        id: &'a ConnectionId,
    ) -> Answer<'a, Option<ConnectionDescriptor>> {
        around(self.waits, move || self.inner.find_by_id(tenant, id))
    }

    fn update<'a>(
        &'a self,
        tenant: &'a TenantId,
        name: &'a ConnectionName,
        patch: ConnectionPatch,
        credential: Option<StoredCredential>,
    ) -> Answer<'a, ConnectionDescriptor> {
        around(self.waits, move || self.inner.update(tenant, name, patch, credential))
    }

    fn update_by_id<'a>(
        &'a self,
        tenant: &'a TenantId,
        id: &'a ConnectionId,
        patch: ConnectionPatch,
        credential: Option<StoredCredential>,
    ) -> Answer<'a, ConnectionDescriptor> {
        around(self.waits, move || self.inner.update_by_id(tenant, id, patch, credential))
    }

    fn delete<'a>(&'a self, tenant: &'a TenantId, name: &'a ConnectionName) -> Answer<'a, ()> {
        around(self.waits, move || self.inner.delete(tenant, name))
    }

    fn delete_by_id<'a>(&'a self, tenant: &'a TenantId, id: &'a ConnectionId) -> Answer<'a, ()> {
        around(self.waits, move || self.inner.delete_by_id(tenant, id))
    }

    fn list<'a>(&'a self, tenant: &'a TenantId) -> Answer<'a, Vec<ConnectionDescriptor>> {
        around(self.waits, move || self.inner.list(tenant))
    }

    fn list_paged<'a>(
        &'a self,
        tenant: &'a TenantId,
        page: &'a PageQuery,
    ) -> Answer<'a, ConnectionPage> {
        around(self.waits, move || self.inner.list_paged(tenant, page))
    }
}

#[deny(clippy::missing_trait_methods)]
impl<P> CredentialProtector for Forward<P>
where
    P: Deref<Target = dyn CredentialProtector> + Send + Sync + 'static,
{
    fn protect<'a>(&'a self, tenant: &'a TenantId, plaintext: &'a Secret) -> Answer<'a, Protected> {
        around(self.waits, move || self.inner.protect(tenant, plaintext))
    }

    fn reveal<'a>(
        &'a self,
        tenant: &'a TenantId,
        ciphertext: &'a Secret,
        key_version: &'a str,
    ) -> Answer<'a, Secret> {
        around(self.waits, move || self.inner.reveal(tenant, ciphertext, key_version))
    }
}

#[deny(clippy::missing_trait_methods)]
impl<P> CredentialResolver for Forward<P>
where
    P: Deref<Target = dyn CredentialResolver> + Send + Sync + 'static,
{
    fn resolve<'a>(
        &'a self,
        tenant: &'a TenantId,
        connection: &'a ConnectionDescriptor,
    ) -> Answer<'a, Option<Secret>> {
        around(self.waits, move || self.inner.resolve(tenant, connection))
    }
}

#[deny(clippy::missing_trait_methods)]
impl<P> CredentialVault for Forward<P>
where
    P: Deref<Target = dyn CredentialVault> + Send + Sync + 'static,
{
    fn stored_credential<'a>(
        &'a self,
        tenant: &'a TenantId,
        connection: &'a ConnectionId,
    ) -> Answer<'a, Option<StoredCredential>> {
        around(self.waits, move || self.inner.stored_credential(tenant, connection))
    }
}

#[deny(clippy::missing_trait_methods)]
impl<P> ExecutionStore for Forward<P>
where
    P: Deref<Target = dyn ExecutionStore> + Send + Sync + 'static,
{
    fn save<'a>(&'a self, tenant: &'a TenantId, record: ExecutionRecord) -> Answer<'a, ()> {
        around(self.waits, move || self.inner.save(tenant, record))
    }
}

#[deny(clippy::missing_trait_methods)]
impl<P> SchemaCache for Forward<P>
where
    P: Deref<Target = dyn SchemaCache> + Send + Sync + 'static,
{
    fn get<'a>(
        &'a self,
        tenant: &'a TenantId,
        name: &'a ConnectionName,
    ) -> Answer<'a, Option<Arc<SchemaSnapshot>>> {
        around(self.waits, move || self.inner.get(tenant, name))
    }

    fn put<'a>(
        &'a self,
        tenant: &'a TenantId,
        name: &'a ConnectionName,
        snapshot: Arc<SchemaSnapshot>,
    ) -> Answer<'a, ()> {
        around(self.waits, move || self.inner.put(tenant, name, snapshot))
    }

    fn invalidate<'a>(&'a self, tenant: &'a TenantId, name: &'a ConnectionName) -> Answer<'a, ()> {
        around(self.waits, move || self.inner.invalidate(tenant, name))
    }
}

#[deny(clippy::missing_trait_methods)]
impl<P> ResultSink for Forward<P>
where
    P: Deref<Target = dyn ResultSink> + Send + Sync + 'static,
{
    fn open_stream<'a>(
        &'a self,
        tenant: &'a TenantId,
        header: ResultHeader,
    ) -> Answer<'a, Box<dyn ResultWriter>> {
        let waits = self.waits;
        around(waits, move || async move {
            let inner = self.inner.open_stream(tenant, header).await?;
            Ok(Box::new(Forward { inner, waits }) as Box<dyn ResultWriter>)
        })
    }

    fn persist<'a>(
        &'a self,
        tenant: &'a TenantId,
        header: ResultHeader,
        payload: &'a [u8],
    ) -> Answer<'a, Receipt> {
        around(self.waits, move || self.inner.persist(tenant, header, payload))
    }
}

#[deny(clippy::missing_trait_methods)]
impl ResultWriter for Forward<Box<dyn ResultWriter>> {
    fn write<'a>(&'a mut self, bytes: &'a [u8]) -> Answer<'a, ()> {
        around(self.waits, move || self.inner.write(bytes))
    }

    fn close(self: Box<Self>) -> Answer<'static, Receipt> {
        around(self.waits, move || self.inner.close())
    }

    fn abort(self: Box<Self>) -> Answer<'static, ()> {
        around(self.waits, move || self.inner.abort())
    }
}

#[deny(clippy::missing_trait_methods)]
impl<P> ConnectorRegistry for Forward<P>
where
    P: Deref<Target = dyn ConnectorRegistry> + Send + Sync + 'static,
{
    fn factory(&self, kind: &str) -> Option<Arc<dyn ConnectorFactory>> {
        let inner = self.inner.factory(kind)?;
        Some(Arc::new(Forward { inner, waits: self.waits }))
    }
}

#[deny(clippy::missing_trait_methods)]
impl ConnectorFactory for Forward<Arc<dyn ConnectorFactory>> {
    fn build(&self, context: ConnectorContext) -> Result<Box<dyn Connector>, PortError> {
        let inner = self.inner.build(context)?;
        Ok(Box::new(Forward { inner, waits: self.waits }))
    }

    fn canonical_table(&self, name: &str) -> Option<Arc<str>> {
        self.inner.canonical_table(name)
    }
}

#[deny(clippy::missing_trait_methods)]
impl Connector for Forward<Box<dyn Connector>> {
    fn connect(&mut self) -> Answer<'_, ()> {
        around(self.waits, move || self.inner.connect())
    }

    fn discover_schema(&mut self) -> Answer<'_, Vec<TableSchema>> {
        around(self.waits, move || self.inner.discover_schema())
    }

    fn open(&mut self, query: Query) -> Answer<'_, ()> {
        around(self.waits, move || self.inner.open(query))
    }

    fn fetch(&mut self, batch: RowBatch) -> Answer<'_, (RowBatch, Fetched)> {
        around(self.waits, move || self.inner.fetch(batch))
    }

    fn close(self: Box<Self>) -> Answer<'static, ()> {
        around(self.waits, move || self.inner.close())
    }
}

#[deny(clippy::missing_trait_methods)]
impl<P> Observability for Forward<P>
where
    P: Deref<Target = dyn Observability> + Send + Sync + 'static,
{
    fn start_span(&self, operation: &'static str) -> Box<dyn Span> {
        Box::new(Forward { inner: self.inner.start_span(operation), waits: self.waits })
    }
}

#[deny(clippy::missing_trait_methods)]
impl Span for Forward<Box<dyn Span>> {
    fn enter(&mut self) {
        self.inner.enter();
    }

    fn exit(&mut self) {
        self.inner.exit();
    }

    fn failed(&mut self, failure: &Failure<'_>) {
        self.inner.failed(failure);
    }

    fn degraded(&mut self, failure: &Failure<'_>) {
        self.inner.degraded(failure);
    }
}

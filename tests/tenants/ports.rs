//! Ports in which two tenants have the same ids and references, and ports that mix them up.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use std::sync::Mutex;

use fetcher_engine::connection::{
    ConnectionDraft, ConnectionId, ConnectionName, ConnectionPage, StoredCredential,
};
use fetcher_engine::memory::{MemoryConnectionStore, MemoryResultSink, MemorySchemaCache};
use fetcher_engine::ports::{
    BoxFuture, ConnectionStore, ResultHeader, ResultSink, ResultWriter, SchemaCache,
};
use fetcher_engine::schema::SchemaSnapshot;
use fetcher_engine::{ConnectionDescriptor, ConnectionPatch, PageQuery, PortError, TenantId};

type Answer<'a, T> = BoxFuture<'a, Result<T, PortError>>;

/// Whose records a store has at hand when a tenant asks.
pub(crate) type Whose = fn(&TenantId) -> TenantId;

/// The other one of the two.
pub(crate) fn other(tenant: &TenantId) -> TenantId {
    let other = if tenant.as_str() == "acme" { "globex" } else { "acme" };
    TenantId::parse(other).unwrap()
}

/// Its own.
pub(crate) fn own(tenant: &TenantId) -> TenantId {
    tenant.clone()
}

/// One store for each tenant, so that ids are the same for all of them. What it reads and what it
/// answers to a change may be somebody else's.
pub(crate) struct Stores {
    stores: BTreeMap<TenantId, Arc<MemoryConnectionStore>>,
    pub(crate) reads: Whose,
    pub(crate) answers: Whose,
}

impl Stores {
    pub(crate) fn new(tenants: &[&str]) -> Self {
        let store = |id: &&str| (TenantId::parse(id).unwrap(), Arc::default());
        Self { stores: tenants.iter().map(store).collect(), reads: own, answers: own }
    }

    pub(crate) fn of(&self, tenant: &TenantId) -> &MemoryConnectionStore {
        &self.stores[tenant]
    }

    /// Another tenant's record of this name, as the answer to a change.
    async fn answer(&self, changed: ConnectionDescriptor) -> ConnectionDescriptor {
        let whose = (self.answers)(&changed.tenant);
        if whose == changed.tenant {
            return changed;
        }
        self.of(&whose).find(&whose, &changed.name).await.unwrap().unwrap_or(changed)
    }
}

#[rustfmt::skip]
impl ConnectionStore for Stores {
    fn create<'a>(
        &'a self, tenant: &'a TenantId, draft: ConnectionDraft,
        credential: Option<StoredCredential>,
    ) -> Answer<'a, ConnectionDescriptor> {
        Box::pin(async move {
            Ok(self.answer(self.of(tenant).create(tenant, draft, credential).await?).await)
        })
    }
    fn find<'a>(
        &'a self, tenant: &'a TenantId, name: &'a ConnectionName,
    ) -> Answer<'a, Option<ConnectionDescriptor>> {
        let whose = (self.reads)(tenant);
        Box::pin(async move { self.of(&whose).find(&whose, name).await })
    }
    fn find_by_id<'a>(
        &'a self, tenant: &'a TenantId, id: &'a ConnectionId,
    ) -> Answer<'a, Option<ConnectionDescriptor>> {
        let whose = (self.reads)(tenant);
        Box::pin(async move { self.of(&whose).find_by_id(&whose, id).await })
    }
    fn update<'a>(
        &'a self, tenant: &'a TenantId, name: &'a ConnectionName, patch: ConnectionPatch,
        credential: Option<StoredCredential>,
    ) -> Answer<'a, ConnectionDescriptor> {
        Box::pin(async move {
            Ok(self.answer(self.of(tenant).update(tenant, name, patch, credential).await?).await)
        })
    }
    fn update_by_id<'a>(
        &'a self, tenant: &'a TenantId, id: &'a ConnectionId, patch: ConnectionPatch,
        credential: Option<StoredCredential>,
    ) -> Answer<'a, ConnectionDescriptor> {
        Box::pin(async move {
            let store = self.of(tenant);
            Ok(self.answer(store.update_by_id(tenant, id, patch, credential).await?).await)
        })
    }
    fn delete<'a>(&'a self, tenant: &'a TenantId, name: &'a ConnectionName) -> Answer<'a, ()> {
        self.of(tenant).delete(tenant, name)
    }
    fn delete_by_id<'a>(&'a self, tenant: &'a TenantId, id: &'a ConnectionId) -> Answer<'a, ()> {
        self.of(tenant).delete_by_id(tenant, id)
    }
    fn list<'a>(&'a self, tenant: &'a TenantId) -> Answer<'a, Vec<ConnectionDescriptor>> {
        let whose = (self.reads)(tenant);
        Box::pin(async move { self.of(&whose).list(&whose).await })
    }
    fn list_paged<'a>(
        &'a self, tenant: &'a TenantId, page: &'a PageQuery,
    ) -> Answer<'a, ConnectionPage> {
        let whose = (self.reads)(tenant);
        Box::pin(async move { self.of(&whose).list_paged(&whose, page).await })
    }
}

/// One sink for each tenant, so that references are the same for all of them.
pub(crate) struct Sinks(pub(crate) BTreeMap<TenantId, MemoryResultSink>);

impl Sinks {
    pub(crate) fn new(tenants: &[&str]) -> Self {
        let sink = |id: &&str| (TenantId::parse(id).unwrap(), MemoryResultSink::new());
        Self(tenants.iter().map(sink).collect())
    }
}

impl ResultSink for Sinks {
    fn open_stream<'a>(
        &'a self,
        tenant: &'a TenantId,
        header: ResultHeader,
    ) -> Answer<'a, Box<dyn ResultWriter>> {
        self.0[tenant].open_stream(tenant, header)
    }
}

/// A cache that keeps what it is given, and gives out what was put last by whomever.
pub(crate) struct Mixed {
    kept: MemorySchemaCache,
    last: Mutex<Option<Arc<SchemaSnapshot>>>,
}

impl Mixed {
    pub(crate) fn new() -> Self {
        Self { kept: MemorySchemaCache::new(), last: Mutex::default() }
    }
}

impl SchemaCache for Mixed {
    fn get<'a>(
        &'a self,
        tenant: &'a TenantId,
        name: &'a ConnectionName,
    ) -> Answer<'a, Option<Arc<SchemaSnapshot>>> {
        Box::pin(async move {
            let others = self.kept.get(&other(tenant), name).await?;
            Ok(others.or_else(|| self.last.lock().unwrap().clone()))
        })
    }

    fn put<'a>(
        &'a self,
        tenant: &'a TenantId,
        name: &'a ConnectionName,
        snapshot: Arc<SchemaSnapshot>,
    ) -> Answer<'a, ()> {
        *self.last.lock().unwrap() = Some(Arc::clone(&snapshot));
        self.kept.put(tenant, name, snapshot)
    }

    fn invalidate<'a>(&'a self, _: &'a TenantId, _: &'a ConnectionName) -> Answer<'a, ()> {
        Box::pin(async { Ok(()) })
    }
}

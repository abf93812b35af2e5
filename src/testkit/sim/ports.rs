//! The stores, the cache and the checker under a simulation.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::faults::Ending;
use super::{Sim, Site};
use crate::connection::{
    ConnectionDescriptor, ConnectionDraft, ConnectionId, ConnectionName, ConnectionPage,
    ConnectionPatch, PageQuery, StoredCredential,
};
use crate::error::PortError;
use crate::ports::{
    ActiveExecutionChecker, BoxFuture, ConnectionStore, CredentialProtector, ExecutionRecord,
    ExecutionStore, Failure, Observability, Protected, SchemaCache, Span,
};
use crate::schema::SchemaSnapshot;
use crate::secret::Secret;
use crate::tenant::TenantId;

macro_rules! decorator {
    ($(#[$doc:meta])* $name:ident over $port:ident) => {
        $(#[$doc])*
        pub struct $name {
            sim: Sim,
            inner: Arc<dyn $port>,
        }

        impl $name {
            /// Puts one under a simulation.
            #[must_use]
            pub fn new(sim: &Sim, inner: Arc<dyn $port>) -> Self {
                Self { sim: sim.clone(), inner }
            }
        }

        impl core::fmt::Debug for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.debug_struct(stringify!($name)).field("sim", &self.sim).finish_non_exhaustive()
            }
        }
    };
}

decorator! {
    /// A connection store under a simulation.
    SimConnectionStore over ConnectionStore
}
decorator! {
    /// A schema cache under a simulation.
    SimCache over SchemaCache
}
decorator! {
    /// An active execution checker under a simulation.
    SimChecker over ActiveExecutionChecker
}
decorator! {
    /// An execution store under a simulation.
    SimExecutionStore over ExecutionStore
}
decorator! {
    /// A credential protector under a simulation.
    SimProtector over CredentialProtector
}
decorator! {
    /// Observability under a simulation: its calls and those of its spans may panic.
    SimObservability over Observability
}

impl Sim {
    /// A call of a port for a tenant, whose effect is `inner`.
    fn call<'a, T: 'a>(
        &'a self,
        site: Site,
        tenant: &TenantId,
        inner: BoxFuture<'a, Result<T, PortError>>,
    ) -> BoxFuture<'a, Result<T, PortError>> {
        let script = self.begin_call(site, "", Some(tenant));
        Box::pin(self.play(site, "", script, inner))
    }
}

impl ConnectionStore for SimConnectionStore {
    fn create<'a>(
        &'a self,
        tenant: &'a TenantId,
        draft: ConnectionDraft,
        credential: Option<StoredCredential>,
    ) -> BoxFuture<'a, Result<ConnectionDescriptor, PortError>> {
        self.sim.call(Site::Store, tenant, self.inner.create(tenant, draft, credential))
    }

    fn find<'a>(
        &'a self,
        tenant: &'a TenantId,
        name: &'a ConnectionName,
    ) -> BoxFuture<'a, Result<Option<ConnectionDescriptor>, PortError>> {
        self.sim.call(Site::Store, tenant, self.inner.find(tenant, name))
    }

    fn find_by_id<'a>(
        &'a self,
        tenant: &'a TenantId,
        id: &'a ConnectionId,
    ) -> BoxFuture<'a, Result<Option<ConnectionDescriptor>, PortError>> {
        self.sim.call(Site::Store, tenant, self.inner.find_by_id(tenant, id))
    }

    fn update<'a>(
        &'a self,
        tenant: &'a TenantId,
        name: &'a ConnectionName,
        patch: ConnectionPatch,
        credential: Option<StoredCredential>,
    ) -> BoxFuture<'a, Result<ConnectionDescriptor, PortError>> {
        self.sim.call(Site::Store, tenant, self.inner.update(tenant, name, patch, credential))
    }

    fn update_by_id<'a>(
        &'a self,
        tenant: &'a TenantId,
        id: &'a ConnectionId,
        patch: ConnectionPatch,
        credential: Option<StoredCredential>,
    ) -> BoxFuture<'a, Result<ConnectionDescriptor, PortError>> {
        self.sim.call(Site::Store, tenant, self.inner.update_by_id(tenant, id, patch, credential))
    }

    fn delete<'a>(
        &'a self,
        tenant: &'a TenantId,
        name: &'a ConnectionName,
    ) -> BoxFuture<'a, Result<(), PortError>> {
        self.sim.call(Site::Store, tenant, self.inner.delete(tenant, name))
    }

    fn delete_by_id<'a>(
        &'a self,
        tenant: &'a TenantId,
        id: &'a ConnectionId,
    ) -> BoxFuture<'a, Result<(), PortError>> {
        self.sim.call(Site::Store, tenant, self.inner.delete_by_id(tenant, id))
    }

    fn list<'a>(
        &'a self,
        tenant: &'a TenantId,
    ) -> BoxFuture<'a, Result<Vec<ConnectionDescriptor>, PortError>> {
        self.sim.call(Site::Store, tenant, self.inner.list(tenant))
    }

    fn list_paged<'a>(
        &'a self,
        tenant: &'a TenantId,
        page: &'a PageQuery,
    ) -> BoxFuture<'a, Result<ConnectionPage, PortError>> {
        self.sim.call(Site::Store, tenant, self.inner.list_paged(tenant, page))
    }
}

impl SchemaCache for SimCache {
    fn get<'a>(
        &'a self,
        tenant: &'a TenantId,
        name: &'a ConnectionName,
    ) -> BoxFuture<'a, Result<Option<Arc<SchemaSnapshot>>, PortError>> {
        self.sim.call(Site::Cache, tenant, self.inner.get(tenant, name))
    }

    fn put<'a>(
        &'a self,
        tenant: &'a TenantId,
        name: &'a ConnectionName,
        snapshot: Arc<SchemaSnapshot>,
    ) -> BoxFuture<'a, Result<(), PortError>> {
        self.sim.call(Site::Cache, tenant, self.inner.put(tenant, name, snapshot))
    }

    fn invalidate<'a>(
        &'a self,
        tenant: &'a TenantId,
        name: &'a ConnectionName,
    ) -> BoxFuture<'a, Result<(), PortError>> {
        self.sim.call(Site::Cache, tenant, self.inner.invalidate(tenant, name))
    }
}

impl ActiveExecutionChecker for SimChecker {
    fn has_active<'a>(
        &'a self,
        tenant: &'a TenantId,
        connection: &'a ConnectionName,
    ) -> BoxFuture<'a, Result<bool, PortError>> {
        self.sim.call(Site::Check, tenant, self.inner.has_active(tenant, connection))
    }
}

impl ExecutionStore for SimExecutionStore {
    fn save<'a>(
        &'a self,
        tenant: &'a TenantId,
        record: ExecutionRecord,
    ) -> BoxFuture<'a, Result<(), PortError>> {
        self.sim.call(Site::Save, tenant, self.inner.save(tenant, record))
    }
}

impl CredentialProtector for SimProtector {
    fn protect<'a>(
        &'a self,
        tenant: &'a TenantId,
        plaintext: &'a Secret,
    ) -> BoxFuture<'a, Result<Protected, PortError>> {
        self.sim.call(Site::Protect, tenant, self.inner.protect(tenant, plaintext))
    }

    fn reveal<'a>(
        &'a self,
        tenant: &'a TenantId,
        ciphertext: &'a Secret,
        key_version: &'a str,
    ) -> BoxFuture<'a, Result<Secret, PortError>> {
        self.sim.call(Site::Protect, tenant, self.inner.reveal(tenant, ciphertext, key_version))
    }
}

impl Sim {
    /// A call that can do nothing wrong but panic.
    fn observe(&self) {
        let ending = self.script(Site::Observe).ending;
        if matches!(ending, Ending::PanicBefore | Ending::PanicAfter) {
            self.panic(Site::Observe, "");
        }
    }
}

impl Observability for SimObservability {
    fn start_span(&self, operation: &'static str) -> Box<dyn Span> {
        self.sim.observe();
        Box::new(SimSpan { sim: self.sim.clone(), inner: self.inner.start_span(operation) })
    }
}

struct SimSpan {
    sim: Sim,
    inner: Box<dyn Span>,
}

impl Span for SimSpan {
    fn enter(&mut self) {
        self.sim.observe();
        self.inner.enter();
    }

    fn exit(&mut self) {
        self.sim.observe();
        self.inner.exit();
    }

    fn failed(&mut self, failure: &Failure<'_>) {
        self.sim.observe();
        self.inner.failed(failure);
    }

    fn degraded(&mut self, failure: &Failure<'_>) {
        self.sim.observe();
        self.inner.degraded(failure);
    }
}

//! The life of connections. By name and by id are one path, and update and delete share one gate.

use alloc::vec::Vec;

use super::schemas::ask_cache;
use super::{Engine, Op, operation};
use crate::connection::{
    ConnectionDescriptor, ConnectionId, ConnectionInput, ConnectionName, ConnectionPage,
    ConnectionPatch, PageQuery, StoredCredential,
};
use crate::error::{Category, EngineError, Stage, text};
use crate::ports::{BoxFuture, ConnectionStore};
use crate::run::{Fault, call, factory};
use crate::secret::Secret;
use crate::tenant::{AsTenant, TenantId};

type Tenant = Result<TenantId, EngineError>;

/// How a caller names a connection.
pub(super) enum Key {
    Name(ConnectionName),
    Id(ConnectionId),
}

impl Key {
    pub(super) fn name(name: &str) -> Result<Self, EngineError> {
        ConnectionName::parse(name).map(Self::Name)
    }

    fn id(id: &str) -> Result<Self, EngineError> {
        ConnectionId::parse(id).map(Self::Id)
    }

    /// Whether a record is the one that is meant: this tenant's, under this name or id.
    fn means(&self, found: &ConnectionDescriptor, tenant: &TenantId) -> bool {
        match self {
            Self::Name(name) => found.is(tenant, name),
            Self::Id(id) => found.id == *id && found.tenant == *tenant,
        }
    }
}

impl Engine {
    /// Creates a connection.
    ///
    /// # Errors
    /// `validation` malformed input or a type that no connector serves · `conflict` the tenant has
    /// a connection of this name · `unavailable` or what else the protector or the store says.
    /// A refused create reaches neither of them; a failed protector leaves the store untouched.
    ///
    /// # Cancel safety
    /// After a drop the connection was created whole or not at all.
    pub async fn create_connection(
        &self,
        tenant: &(impl AsTenant + ?Sized),
        input: ConnectionInput,
    ) -> Result<ConnectionDescriptor, EngineError> {
        let tenant = tenant.as_tenant();
        operation!(self, "fetcher.create_connection", op => create(&mut op, tenant, input))
    }

    /// The tenant's connection of this name.
    ///
    /// # Errors
    /// `validation` malformed name · `not_found` the tenant has none · `unavailable`.
    ///
    /// # Cancel safety
    /// Nothing is left behind.
    pub async fn get_connection(
        &self,
        tenant: &(impl AsTenant + ?Sized),
        name: &str,
    ) -> Result<ConnectionDescriptor, EngineError> {
        let (tenant, key) = (tenant.as_tenant(), Key::name(name));
        operation!(self, "fetcher.get_connection", op => get(&mut op, tenant, key))
    }

    /// The tenant's connection with this id.
    ///
    /// # Errors
    /// As [`get_connection`](Self::get_connection).
    ///
    /// # Cancel safety
    /// Nothing is left behind.
    pub async fn get_connection_by_id(
        &self,
        tenant: &(impl AsTenant + ?Sized),
        id: &str,
    ) -> Result<ConnectionDescriptor, EngineError> {
        let (tenant, key) = (tenant.as_tenant(), Key::id(id));
        operation!(self, "fetcher.get_connection_by_id", op => get(&mut op, tenant, key))
    }

    /// All connections of the tenant, sorted by name.
    ///
    /// # Errors
    /// `unavailable`.
    ///
    /// # Cancel safety
    /// Nothing is left behind.
    pub async fn list_connections(
        &self,
        tenant: &(impl AsTenant + ?Sized),
    ) -> Result<Vec<ConnectionDescriptor>, EngineError> {
        let tenant = tenant.as_tenant();
        operation!(self, "fetcher.list_connections", op => list(&mut op, tenant))
    }

    /// One page of the tenant's connections. What the parameters mean is up to the store.
    ///
    /// # Errors
    /// `validation` when the store does not know a parameter · `unavailable`.
    ///
    /// # Cancel safety
    /// Nothing is left behind.
    pub async fn list_connections_paged(
        &self,
        tenant: &(impl AsTenant + ?Sized),
        page: &PageQuery,
    ) -> Result<ConnectionPage, EngineError> {
        let tenant = tenant.as_tenant();
        operation!(self, "fetcher.list_connections_paged", op => list_paged(&mut op, tenant, page))
    }

    /// Changes a connection.
    ///
    /// Without a password in the patch the stored one and its key version stay.
    ///
    /// # Errors
    /// `validation` malformed input · `not_found` the tenant has none of this name · `conflict`
    /// executions are active on it · `unavailable` the checker or the store does not answer. The
    /// store is untouched in all these cases.
    ///
    /// # Cancel safety
    /// After a drop it was changed whole or not at all; a cached schema of the old one is
    /// recognised and not used.
    pub async fn update_connection(
        &self,
        tenant: &(impl AsTenant + ?Sized),
        name: &str,
        patch: ConnectionPatch,
    ) -> Result<ConnectionDescriptor, EngineError> {
        let (tenant, key) = (tenant.as_tenant(), Key::name(name));
        operation!(self, "fetcher.update_connection", op => update(&mut op, tenant, key, patch))
    }

    /// As [`update_connection`](Self::update_connection), by id.
    ///
    /// # Errors
    /// As [`update_connection`](Self::update_connection).
    ///
    /// # Cancel safety
    /// As [`update_connection`](Self::update_connection).
    pub async fn update_connection_by_id(
        &self,
        tenant: &(impl AsTenant + ?Sized),
        id: &str,
        patch: ConnectionPatch,
    ) -> Result<ConnectionDescriptor, EngineError> {
        let (tenant, key) = (tenant.as_tenant(), Key::id(id));
        let name = "fetcher.update_connection_by_id";
        operation!(self, name, op => update(&mut op, tenant, key, patch))
    }

    /// Removes a connection and its credential.
    ///
    /// # Errors
    /// `validation` malformed name · `not_found` the tenant has none · `conflict` executions are
    /// active on it · `unavailable`. The store is untouched in all these cases.
    ///
    /// # Cancel safety
    /// After a drop it was removed whole or not at all.
    pub async fn delete_connection(
        &self,
        tenant: &(impl AsTenant + ?Sized),
        name: &str,
    ) -> Result<(), EngineError> {
        let (tenant, key) = (tenant.as_tenant(), Key::name(name));
        operation!(self, "fetcher.delete_connection", op => delete(&mut op, tenant, key))
    }

    /// As [`delete_connection`](Self::delete_connection), by id.
    ///
    /// # Errors
    /// As [`delete_connection`](Self::delete_connection).
    ///
    /// # Cancel safety
    /// As [`delete_connection`](Self::delete_connection).
    pub async fn delete_connection_by_id(
        &self,
        tenant: &(impl AsTenant + ?Sized),
        id: &str,
    ) -> Result<(), EngineError> {
        let (tenant, key) = (tenant.as_tenant(), Key::id(id));
        operation!(self, "fetcher.delete_connection_by_id", op => delete(&mut op, tenant, key))
    }

    /// Whether executions are active on a connection. Without a checker: no.
    ///
    /// # Errors
    /// `validation` malformed name · `not_found` the tenant has none · `unavailable`.
    ///
    /// # Cancel safety
    /// Nothing is left behind.
    pub async fn check_active_executions(
        &self,
        tenant: &(impl AsTenant + ?Sized),
        name: &str,
    ) -> Result<bool, EngineError> {
        let (tenant, key) = (tenant.as_tenant(), Key::name(name));
        operation!(self, "fetcher.check_active_executions", op => check(&mut op, tenant, key))
    }

    /// Whether the tenant owns a connection of this name; the answer is in the error.
    ///
    /// # Errors
    /// `validation` malformed name · `not_found` nobody's and somebody else's alike ·
    /// `unavailable`.
    ///
    /// # Cancel safety
    /// Nothing is left behind.
    pub async fn authorize_connection_access(
        &self,
        tenant: &(impl AsTenant + ?Sized),
        name: &str,
    ) -> Result<(), EngineError> {
        let (tenant, key) = (tenant.as_tenant(), Key::name(name));
        let name = "fetcher.authorize_connection_access";
        operation!(self, name, op => authorize(&mut op, tenant, key))
    }
}

async fn create(
    op: &mut Op,
    tenant: Tenant,
    input: ConnectionInput,
) -> Result<ConnectionDescriptor, Fault> {
    let (store, tenant) = op.enter(tenant)?;
    let (draft, password) = input.into_draft()?;
    known_kind(op, &draft.endpoint.kind)?;
    let find = || store.find(&tenant, &draft.name);
    if call(Some(&op.stop), Stage::Store, find).await?.is_some_and(|found| found.tenant == tenant) {
        return Err(Fault::new(Category::Conflict, Stage::Store, text::DUPLICATE));
    }
    let credential = protect(op, &tenant, password).await?;
    let key = Key::Name(draft.name.clone());
    let create = || store.create(&tenant, draft, credential);
    let created = call(Some(&op.stop), Stage::Store, create).await.map_err(|fault| {
        // The race that the store decides looks like the duplicate that was seen early.
        retold(fault, Category::Conflict, text::DUPLICATE)
    })?;
    op.forget_schema(&tenant, &created.name).await;
    believed(created, &tenant, &key)
}

async fn get(
    op: &mut Op,
    tenant: Tenant,
    key: Result<Key, EngineError>,
) -> Result<ConnectionDescriptor, Fault> {
    let (store, tenant) = op.enter(tenant)?;
    op.find(&*store, &tenant, &key?).await
}

async fn list(op: &mut Op, tenant: Tenant) -> Result<Vec<ConnectionDescriptor>, Fault> {
    let (store, tenant) = op.enter(tenant)?;
    let mut found = call(Some(&op.stop), Stage::Store, || store.list(&tenant)).await?;
    found.retain(|connection| connection.tenant == tenant);
    Ok(found)
}

async fn list_paged(
    op: &mut Op,
    tenant: Tenant,
    page: &PageQuery,
) -> Result<ConnectionPage, Fault> {
    let (store, tenant) = op.enter(tenant)?;
    let list = || store.list_paged(&tenant, page);
    let mut found = call(Some(&op.stop), Stage::Store, list).await?;
    found.items.retain(|connection| connection.tenant == tenant);
    Ok(found)
}

async fn update(
    op: &mut Op,
    tenant: Tenant,
    key: Result<Key, EngineError>,
    mut patch: ConnectionPatch,
) -> Result<ConnectionDescriptor, Fault> {
    let (store, tenant) = op.enter(tenant)?;
    let key = key?;
    patch.check()?;
    if let Some(kind) = &patch.kind {
        known_kind(op, kind)?;
    }
    let found = op.find(&*store, &tenant, &key).await?;
    op.not_in_use(&tenant, &found.name).await?;
    let credential = protect(op, &tenant, patch.password.take()).await?;
    let update = || match &key {
        Key::Name(name) => store.update(&tenant, name, patch, credential),
        Key::Id(id) => store.update_by_id(&tenant, id, patch, credential),
    };
    let updated = call(Some(&op.stop), Stage::Store, update).await;
    // Also when the store failed: it may have changed the connection and lost the answer.
    op.forget_schema(&tenant, &found.name).await;
    believed(updated.map_err(gone)?, &tenant, &key)
}

async fn delete(op: &mut Op, tenant: Tenant, key: Result<Key, EngineError>) -> Result<(), Fault> {
    let (store, tenant) = op.enter(tenant)?;
    let key = key?;
    let found = op.find(&*store, &tenant, &key).await?;
    op.not_in_use(&tenant, &found.name).await?;
    let delete = || match &key {
        Key::Name(name) => store.delete(&tenant, name),
        Key::Id(id) => store.delete_by_id(&tenant, id),
    };
    let deleted = call(Some(&op.stop), Stage::Store, delete).await;
    op.forget_schema(&tenant, &found.name).await;
    deleted.map_err(gone)
}

async fn check(op: &mut Op, tenant: Tenant, key: Result<Key, EngineError>) -> Result<bool, Fault> {
    let (store, tenant) = op.enter(tenant)?;
    let found = op.find(&*store, &tenant, &key?).await?;
    op.is_in_use(&tenant, &found.name).await
}

async fn authorize(
    op: &mut Op,
    tenant: Tenant,
    key: Result<Key, EngineError>,
) -> Result<(), Fault> {
    let (store, tenant) = op.enter(tenant)?;
    op.find(&*store, &tenant, &key?).await.map(drop)
}

/// A connection of a type that nobody serves could never be used.
fn known_kind(op: &Op, kind: &str) -> Result<(), Fault> {
    let unknown = || Fault::new(Category::Validation, Stage::Validate, text::KIND_UNKNOWN);
    factory(&op.engine.ports, kind).map(drop).map_err(|fault| match fault.cause.get() {
        None => unknown(),
        Some(_) => fault,
    })
}

/// What the store gets for a password.
async fn protect(
    op: &Op,
    tenant: &TenantId,
    password: Option<Secret>,
) -> Result<Option<StoredCredential>, Fault> {
    let Some(password) = password else {
        return Ok(None);
    };
    // With encrypted persistence there is a protector: `build()` saw to it.
    let Some(protector) =
        op.engine.ports.protector.as_ref().filter(|_| op.engine.encrypted_persistence)
    else {
        return Ok(Some(StoredCredential::unprotected(password)));
    };
    let protect = || protector.protect(tenant, &password);
    let protected = call(Some(&op.stop), Stage::Protect, protect).await?;
    Ok(Some(StoredCredential::protected(protected.ciphertext, protected.key_version)))
}

impl Op {
    /// The scope gate: a record of another tenant, or of another name, is not found.
    pub(super) async fn find(
        &self,
        store: &dyn ConnectionStore,
        tenant: &TenantId,
        key: &Key,
    ) -> Result<ConnectionDescriptor, Fault> {
        let find = || -> BoxFuture<'_, _> {
            match key {
                Key::Name(name) => store.find(tenant, name),
                Key::Id(id) => store.find_by_id(tenant, id),
            }
        };
        let found = call(Some(&self.stop), Stage::Store, find).await?;
        found
            .filter(|found| key.means(found, tenant))
            .ok_or_else(|| Fault::new(Category::NotFound, Stage::Store, text::NOT_FOUND))
    }

    async fn is_in_use(&self, tenant: &TenantId, name: &ConnectionName) -> Result<bool, Fault> {
        let Some(checker) = &self.engine.ports.checker else {
            return Ok(false);
        };
        call(Some(&self.stop), Stage::Check, || checker.has_active(tenant, name)).await
    }

    /// The conflict gate of update and delete.
    async fn not_in_use(&self, tenant: &TenantId, name: &ConnectionName) -> Result<(), Fault> {
        if self.is_in_use(tenant, name).await? {
            return Err(Fault::new(Category::Conflict, Stage::Check, text::IN_USE));
        }
        Ok(())
    }

    /// Best effort: a schema of the old connection that stays cached is recognised as that.
    async fn forget_schema(&mut self, tenant: &TenantId, name: &ConnectionName) {
        let Self { engine, stop, degraded } = self;
        if let Some(cache) = &engine.ports.cache {
            let forget = || cache.invalidate(tenant, name);
            ask_cache(engine, stop, degraded, forget).await;
        }
    }
}

/// What a store answers to a change, if it is of what was changed.
fn believed(
    answer: ConnectionDescriptor,
    tenant: &TenantId,
    key: &Key,
) -> Result<ConnectionDescriptor, Fault> {
    if key.means(&answer, tenant) {
        return Ok(answer);
    }
    let message = text::port_failure(Stage::Store);
    Err(Fault::new(Category::Internal, Stage::Store, message))
}

/// A port's fault of this category, in the words of the gate that looks for the same thing.
fn retold(fault: Fault, category: Category, message: &'static str) -> Fault {
    if fault.error.category() != category {
        return fault;
    }
    Fault { cause: fault.cause, ..Fault::new(category, Stage::Store, message) }
}

/// It was there when it was looked for, and is not any more.
fn gone(fault: Fault) -> Fault {
    retold(fault, Category::NotFound, text::NOT_FOUND)
}

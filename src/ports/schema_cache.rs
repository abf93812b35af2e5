//! Port 6: schemas seen before. An accelerator, never the truth.

use alloc::sync::Arc;

use super::BoxFuture;
use crate::connection::ConnectionName;
use crate::error::PortError;
use crate::schema::SchemaSnapshot;
use crate::tenant::TenantId;

/// Remembers schema snapshots. Without it the schema is always discovered live.
///
/// The engine checks that a snapshot is of the connection as it is now
/// ([`SchemaSnapshot::origin`]) and discovers live when it is not; how old a snapshot may be is up
/// to the cache.
pub trait SchemaCache: Send + Sync + 'static {
    /// The snapshot of this connection, if there is one.
    ///
    /// # Contract
    /// C1. Scoped by tenant and name. C2. What was put comes back equal, or not at all: it may be
    /// forgotten at any time.
    ///
    /// # Errors
    /// Told to the host's observability; the schema is then discovered live.
    ///
    /// # Cancel safety
    /// C3. Nothing is left behind.
    fn get<'a>(
        &'a self,
        tenant: &'a TenantId,
        name: &'a ConnectionName,
    ) -> BoxFuture<'a, Result<Option<Arc<SchemaSnapshot>>, PortError>>;

    /// Remembers a snapshot, over any earlier one.
    ///
    /// # Contract
    /// C4. Afterwards `get` gives this one or nothing, never an earlier one.
    ///
    /// # Errors
    /// Told to the host's observability; the schema is returned all the same.
    ///
    /// # Cancel safety
    /// C5. After a drop the snapshot is there whole or not at all.
    fn put<'a>(
        &'a self,
        tenant: &'a TenantId,
        name: &'a ConnectionName,
        snapshot: Arc<SchemaSnapshot>,
    ) -> BoxFuture<'a, Result<(), PortError>>;

    /// Forgets the snapshot of this connection: it was created, changed or deleted.
    ///
    /// # Contract
    /// C6. Afterwards `get` gives nothing until the next `put`.
    ///
    /// # Errors
    /// Told to the host's observability; the change stands all the same.
    ///
    /// # Cancel safety
    /// C7. After a drop it is forgotten or not.
    fn invalidate<'a>(
        &'a self,
        tenant: &'a TenantId,
        name: &'a ConnectionName,
    ) -> BoxFuture<'a, Result<(), PortError>>;
}

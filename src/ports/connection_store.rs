//! Port 3: where connections live. Nine operations, each scoped by tenant.

use alloc::vec::Vec;

use super::BoxFuture;
use crate::connection::{
    ConnectionDescriptor, ConnectionDraft, ConnectionId, ConnectionName, ConnectionPage,
    ConnectionPatch, PageQuery, StoredCredential,
};
use crate::error::PortError;
use crate::tenant::TenantId;

/// Keeps the connections of tenants. Without it every operation except `limits()` fails.
///
/// # Cancel safety
/// C1. Reading leaves nothing behind, dropped or not.
pub trait ConnectionStore: Send + Sync + 'static {
    /// Stores a new connection and gives it an id.
    ///
    /// # Contract
    /// C2. Atomic backstop of uniqueness: of two creates of one name for one tenant, one succeeds,
    /// and the other is a `conflict` that changes nothing. C3. Tenants do not see each other: the
    /// same name may exist once for each. C4. The answer is the draft with an id of its own. C5.
    /// The credential is stored beside the descriptor and never returned with it.
    ///
    /// # Errors
    /// `conflict` when the tenant has a connection of this name; `unavailable`.
    ///
    /// # Cancel safety
    /// C6. After a drop the connection exists with its credential, or does not exist.
    fn create<'a>(
        &'a self,
        tenant: &'a TenantId,
        draft: ConnectionDraft,
        credential: Option<StoredCredential>,
    ) -> BoxFuture<'a, Result<ConnectionDescriptor, PortError>>;

    /// The tenant's connection of this name.
    ///
    /// # Contract
    /// C7. `None` for nobody's and for somebody else's, without a difference. C8. Names are
    /// compared by their bytes.
    ///
    /// # Errors
    /// `unavailable`.
    ///
    /// # Cancel safety
    /// Nothing is left behind.
    fn find<'a>(
        &'a self,
        tenant: &'a TenantId,
        name: &'a ConnectionName,
    ) -> BoxFuture<'a, Result<Option<ConnectionDescriptor>, PortError>>;

    /// The tenant's connection with this id.
    ///
    /// # Contract
    /// C9. As `find`.
    ///
    /// # Errors
    /// `unavailable`.
    ///
    /// # Cancel safety
    /// Nothing is left behind.
    fn find_by_id<'a>(
        &'a self,
        tenant: &'a TenantId,
        id: &'a ConnectionId,
    ) -> BoxFuture<'a, Result<Option<ConnectionDescriptor>, PortError>>;

    /// Applies a patch ([`ConnectionPatch::apply`]) and answers with what is stored then.
    ///
    /// # Contract
    /// C10. Atomic: of two patches to different fields neither is lost. C11. `None` for a
    /// credential keeps the stored one and its key version; another replaces both. C12. What the
    /// patch does not name does not change, id and name least of all.
    ///
    /// # Errors
    /// C13. `not_found` when the tenant has no such connection (any more). `unavailable`.
    ///
    /// # Cancel safety
    /// C14. After a drop the patch was applied whole, with its credential, or not at all.
    fn update<'a>(
        &'a self,
        tenant: &'a TenantId,
        name: &'a ConnectionName,
        patch: ConnectionPatch,
        credential: Option<StoredCredential>,
    ) -> BoxFuture<'a, Result<ConnectionDescriptor, PortError>>;

    /// As `update`, by id.
    ///
    /// # Contract
    /// C15. As `update`.
    ///
    /// # Errors
    /// As `update`.
    ///
    /// # Cancel safety
    /// As `update`.
    fn update_by_id<'a>(
        &'a self,
        tenant: &'a TenantId,
        id: &'a ConnectionId,
        patch: ConnectionPatch,
        credential: Option<StoredCredential>,
    ) -> BoxFuture<'a, Result<ConnectionDescriptor, PortError>>;

    /// Removes the connection and its credential.
    ///
    /// # Contract
    /// C16. Afterwards both are gone and the name is free again; nothing else is touched.
    ///
    /// # Errors
    /// C17. `not_found` when the tenant has no such connection (any more). `unavailable`.
    ///
    /// # Cancel safety
    /// C18. After a drop it was removed whole, with its credential, or not at all.
    fn delete<'a>(
        &'a self,
        tenant: &'a TenantId,
        name: &'a ConnectionName,
    ) -> BoxFuture<'a, Result<(), PortError>>;

    /// As `delete`, by id.
    ///
    /// # Contract
    /// C19. As `delete`.
    ///
    /// # Errors
    /// As `delete`.
    ///
    /// # Cancel safety
    /// As `delete`.
    fn delete_by_id<'a>(
        &'a self,
        tenant: &'a TenantId,
        id: &'a ConnectionId,
    ) -> BoxFuture<'a, Result<(), PortError>>;

    /// All connections of the tenant.
    ///
    /// # Contract
    /// C20. Every one, sorted by name; none of another tenant's.
    ///
    /// # Errors
    /// `unavailable`.
    ///
    /// # Cancel safety
    /// Nothing is left behind.
    fn list<'a>(
        &'a self,
        tenant: &'a TenantId,
    ) -> BoxFuture<'a, Result<Vec<ConnectionDescriptor>, PortError>>;

    /// One page of the tenant's connections. The parameters are between host and store.
    ///
    /// # Contract
    /// C21. Following `next` to its end visits every connection once, if none changes meanwhile.
    ///
    /// # Errors
    /// C22. `validation` for parameters that the store does not know. `unavailable`.
    ///
    /// # Cancel safety
    /// Nothing is left behind.
    fn list_paged<'a>(
        &'a self,
        tenant: &'a TenantId,
        page: &'a PageQuery,
    ) -> BoxFuture<'a, Result<ConnectionPage, PortError>>;
}

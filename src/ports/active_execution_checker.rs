//! Port 7: whether a connection is in use, asked before it is changed or deleted.

use super::BoxFuture;
use crate::connection::ConnectionName;
use crate::error::PortError;
use crate::tenant::TenantId;

/// Knows of active executions. Without it updates and deletes go ahead.
pub trait ActiveExecutionChecker: Send + Sync + 'static {
    /// Whether executions of this tenant use this connection now.
    ///
    /// # Contract
    /// C1. Scoped by tenant: another tenant's work never counts. C2. True while one runs on this
    /// connection, false before and afterwards, whatever other connections are used for.
    ///
    /// # Errors
    /// Whatever keeps it from knowing; the caller of the engine sees `unavailable`, and the store
    /// stays untouched.
    ///
    /// # Cancel safety
    /// C3. Nothing is left behind.
    fn has_active<'a>(
        &'a self,
        tenant: &'a TenantId,
        connection: &'a ConnectionName,
    ) -> BoxFuture<'a, Result<bool, PortError>>;
}

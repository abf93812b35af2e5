//! How a connector gets its password: not from the engine. A factory holds a resolver that the
//! host gave it, and the usual resolver asks whoever owns the store, then the protector.

use alloc::boxed::Box;
use alloc::sync::Arc;

use super::BoxFuture;
use super::CredentialProtector;
use crate::connection::{ConnectionDescriptor, ConnectionId, StoredCredential};
use crate::error::PortError;
use crate::secret::Secret;
use crate::tenant::TenantId;

/// Gives a connector the password of its connection.
pub trait CredentialResolver: Send + Sync + 'static {
    /// The password, or `None` where the connection has none.
    ///
    /// # Contract
    /// C1. Scoped by tenant. C2. The password as it was given last, byte for byte.
    ///
    /// Connectors call it while they connect, the engine never does.
    ///
    /// # Errors
    /// C3. Whatever keeps it from being had, which is never `None`; the connector passes it on.
    ///
    /// # Cancel safety
    /// C4. Nothing is left behind.
    fn resolve<'a>(
        &'a self,
        tenant: &'a TenantId,
        connection: &'a ConnectionDescriptor,
    ) -> BoxFuture<'a, Result<Option<Secret>, PortError>>;
}

/// Whoever owns the stored credentials: often the same object as the connection store, but not
/// the same port, because the engine itself must not see them.
pub trait CredentialVault: Send + Sync + 'static {
    /// The credential as it is stored.
    ///
    /// # Contract
    /// C5. Scoped by tenant. C6. The bytes and the key version that were stored last, or `None`.
    ///
    /// # Errors
    /// `unavailable` when the store does not answer.
    ///
    /// # Cancel safety
    /// C7. Nothing is left behind.
    fn stored_credential<'a>(
        &'a self,
        tenant: &'a TenantId,
        connection: &'a ConnectionId,
    ) -> BoxFuture<'a, Result<Option<StoredCredential>, PortError>>;
}

/// The usual resolver: a vault, and a protector for what is protected in it.
#[allow(missing_debug_implementations, reason = "it holds ports, which have no printable form")]
pub struct VaultResolver {
    vault: Arc<dyn CredentialVault>,
    protector: Option<Arc<dyn CredentialProtector>>,
}

impl VaultResolver {
    /// Reads from this vault; a protected credential is an error until a protector is given.
    #[must_use]
    pub fn new(vault: Arc<dyn CredentialVault>) -> Self {
        Self { vault, protector: None }
    }

    /// Reveals what is protected through this protector.
    #[must_use]
    pub fn protector(mut self, protector: Arc<dyn CredentialProtector>) -> Self {
        self.protector = Some(protector);
        self
    }
}

impl CredentialResolver for VaultResolver {
    fn resolve<'a>(
        &'a self,
        tenant: &'a TenantId,
        connection: &'a ConnectionDescriptor,
    ) -> BoxFuture<'a, Result<Option<Secret>, PortError>> {
        Box::pin(async move {
            let Some(stored) = self.vault.stored_credential(tenant, &connection.id).await? else {
                return Ok(None);
            };
            let StoredCredential { bytes, key_version } = stored;
            match (key_version, &self.protector) {
                (None, _) => Ok(Some(bytes)),
                (Some(version), Some(protector)) => {
                    protector.reveal(tenant, &bytes, &version).await.map(Some)
                }
                (Some(_), None) => Err(PortError::internal().caused_by(
                    "the stored credential is protected and the resolver has no protector",
                )),
            }
        })
    }
}

//! Port 2: credentials at rest. The host owns the keys and their rotation.

use alloc::string::String;

use super::BoxFuture;
use crate::error::PortError;
use crate::secret::Secret;
use crate::tenant::TenantId;

/// A ciphertext and the version of the key that made it.
#[non_exhaustive]
pub struct Protected {
    /// The ciphertext.
    pub ciphertext: Secret,
    /// The version of the key, to be handed back on `reveal`.
    pub key_version: String,
}

impl Protected {
    /// A ciphertext under this version of the key.
    #[must_use]
    pub fn new(ciphertext: impl Into<Secret>, key_version: impl Into<String>) -> Self {
        Self { ciphertext: ciphertext.into(), key_version: key_version.into() }
    }
}

impl core::fmt::Debug for Protected {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Protected").field("key_version", &self.key_version).finish_non_exhaustive()
    }
}

/// Encrypts and decrypts credentials. Required with encrypted persistence; the core ships none.
pub trait CredentialProtector: Send + Sync + 'static {
    /// Encrypts a plaintext for a tenant with the current key.
    ///
    /// # Contract
    /// C1. What `protect` gave, `reveal` turns back into the same bytes for the same tenant. C2.
    /// The ciphertext is bound to the tenant: revealed for another, it is an error. C3. The
    /// plaintext is neither in the ciphertext nor in the key version.
    ///
    /// # Errors
    /// `unavailable` when the key cannot be had. The store stays untouched.
    ///
    /// # Cancel safety
    /// C4. Nothing is left behind.
    fn protect<'a>(
        &'a self,
        tenant: &'a TenantId,
        plaintext: &'a Secret,
    ) -> BoxFuture<'a, Result<Protected, PortError>>;

    /// Decrypts what `protect` made, under the key version that it told.
    ///
    /// # Contract
    /// C5. Old key versions stay readable for as long as the host keeps their keys.
    ///
    /// # Errors
    /// `unavailable` when the key cannot be had. C6. `internal` when the ciphertext is not genuine.
    ///
    /// # Cancel safety
    /// C7. Nothing is left behind.
    fn reveal<'a>(
        &'a self,
        tenant: &'a TenantId,
        ciphertext: &'a Secret,
        key_version: &'a str,
    ) -> BoxFuture<'a, Result<Secret, PortError>>;
}

//! A credential protector that is good for tests only: it hides nothing from anybody who looks
//! twice, but no plaintext is found in what it makes, and it knows whose ciphertext it is.

use core::sync::atomic::{AtomicU32, Ordering};

use fetcher_engine::ports::{BoxFuture, CredentialProtector, Protected};
use fetcher_engine::{PortError, Secret, TenantId};

use super::Probe;

/// Flips every bit and writes the tenant in front.
pub(crate) struct ToyProtector {
    probe: Probe,
    version: AtomicU32,
}

impl ToyProtector {
    pub(crate) fn new(probe: Probe) -> Self {
        let version = AtomicU32::new(1);
        Self { probe, version }
    }

    /// From now on there is a new key.
    pub(crate) fn rotate(&self) {
        self.version.fetch_add(1, Ordering::SeqCst);
    }

    pub(crate) fn seal(tenant: &TenantId, plaintext: &[u8]) -> Vec<u8> {
        let mut bytes = format!("{tenant}:").into_bytes();
        bytes.extend(plaintext.iter().map(|byte| !byte));
        bytes
    }
}

impl CredentialProtector for ToyProtector {
    fn protect<'a>(
        &'a self,
        tenant: &'a TenantId,
        plaintext: &'a Secret,
    ) -> BoxFuture<'a, Result<Protected, PortError>> {
        self.probe.call(format!("protector.protect {tenant}"), move || {
            Box::pin(async move {
                let version = self.version.load(Ordering::SeqCst);
                let ciphertext = Self::seal(tenant, plaintext.expose());
                Ok(Protected::new(ciphertext, format!("key-{version}")))
            })
        })
    }

    fn reveal<'a>(
        &'a self,
        tenant: &'a TenantId,
        ciphertext: &'a Secret,
        key_version: &'a str,
    ) -> BoxFuture<'a, Result<Secret, PortError>> {
        self.probe.call(format!("protector.reveal {tenant} {key_version}"), move || {
            Box::pin(async move {
                let head = format!("{tenant}:");
                let sealed = ciphertext.expose().strip_prefix(head.as_bytes());
                let sealed = sealed.ok_or_else(PortError::internal)?;
                Ok(sealed.iter().map(|byte| !byte).collect::<Vec<_>>().into())
            })
        })
    }
}

//! A connection store on the bench: asked both ways, and held against what is expected of it.

use alloc::format;

use super::super::bench::{At, draft};
use super::Fixture;
use crate::connection::{
    ConnectionDescriptor, ConnectionId, ConnectionName, ConnectionPatch, StoredCredential,
};
use crate::error::PortError;
use crate::ports::ConnectionStore;
use crate::secret::Secret;
use crate::tenant::TenantId;

pub(super) const PASSWORD: &[u8] = b"correct horse \xff\0 battery staple";

/// Whether a connection is meant by its name or by its id.
#[derive(Clone, Copy)]
pub(super) enum By {
    Name,
    Id,
}

/// A store, and the clause that it is held against.
pub(super) struct Bench<'a> {
    pub(super) fixture: &'a dyn Fixture,
    pub(super) at: At,
}

pub(super) fn credential(bytes: &[u8], version: &str) -> StoredCredential {
    StoredCredential::protected(Secret::new(bytes.to_vec()), version)
}

impl<'a> Bench<'a> {
    pub(super) fn store(&self) -> &'a dyn ConnectionStore {
        self.fixture.store()
    }

    pub(super) async fn create(&self, tenant: &TenantId, name: &str) -> ConnectionDescriptor {
        let stored = Some(credential(PASSWORD, "key-1"));
        self.at.ok("create", self.store().create(tenant, draft(name), stored).await)
    }

    pub(super) async fn find(
        &self,
        tenant: &TenantId,
        of: &ConnectionName,
    ) -> Option<ConnectionDescriptor> {
        self.at.ok("find", self.store().find(tenant, of).await)
    }

    pub(super) async fn by_id(
        &self,
        tenant: &TenantId,
        id: &ConnectionId,
    ) -> Option<ConnectionDescriptor> {
        self.at.ok("find_by_id", self.store().find_by_id(tenant, id).await)
    }

    pub(super) async fn update(
        &self,
        (by, tenant, of): (By, &TenantId, &ConnectionDescriptor),
        patch: ConnectionPatch,
        stored: Option<StoredCredential>,
    ) -> Result<ConnectionDescriptor, PortError> {
        match by {
            By::Name => self.store().update(tenant, &of.name, patch, stored).await,
            By::Id => self.store().update_by_id(tenant, &of.id, patch, stored).await,
        }
    }

    pub(super) async fn delete(
        &self,
        by: By,
        tenant: &TenantId,
        of: &ConnectionDescriptor,
    ) -> Result<(), PortError> {
        match by {
            By::Name => self.store().delete(tenant, &of.name).await,
            By::Id => self.store().delete_by_id(tenant, &of.id).await,
        }
    }

    pub(super) async fn stored(&self, of: &ConnectionDescriptor) -> Option<StoredCredential> {
        self.at.ok("vault", self.fixture.vault().stored_credential(&of.tenant, &of.id).await)
    }

    /// Checks what the vault holds of a connection.
    pub(super) async fn holds(
        &self,
        of: &ConnectionDescriptor,
        expected: Option<(&[u8], Option<&str>)>,
    ) {
        let stored = self.stored(of).await;
        let seen = stored.as_ref().map(|it| (it.bytes.expose(), it.key_version.as_deref()));
        let told = |it: Option<(&[u8], Option<&str>)>| match it {
            None => "no credential".into(),
            Some((bytes, version)) => {
                format!("a credential of {} bytes, version {version:?}", bytes.len())
            }
        };
        self.at.that(seen == expected, told(expected), format!("{} or other bytes", told(seen)));
    }

    /// Checks that the store gives a connection as it is expected to be, however it is asked.
    pub(super) async fn keeps(&self, expected: &ConnectionDescriptor) {
        let ConnectionDescriptor { tenant, name, id, .. } = expected;
        same(self.at, "found by name", Some(expected), self.find(tenant, name).await.as_ref());
        same(self.at, "found by id", Some(expected), self.by_id(tenant, id).await.as_ref());
    }

    /// Checks that the store does not have it (any more), and no credential of it.
    pub(super) async fn lost(&self, of: &ConnectionDescriptor) {
        same(self.at, "found by name", None, self.find(&of.tenant, &of.name).await.as_ref());
        same(self.at, "found by id", None, self.by_id(&of.tenant, &of.id).await.as_ref());
        self.holds(of, None).await;
    }
}

/// Compares whole connections, of which `Debug` shows only what is harmless.
pub(super) fn same(
    at: At,
    what: &str,
    expected: Option<&ConnectionDescriptor>,
    seen: Option<&ConnectionDescriptor>,
) {
    at.that(expected == seen, format!("{what} {expected:?}"), format!("{seen:?}"));
}

/// A connection with something in every field but a secret.
pub(super) fn expected(of: &ConnectionDescriptor) -> ConnectionDescriptor {
    draft(of.name.as_str()).into_descriptor(of.tenant.clone(), of.id.clone())
}

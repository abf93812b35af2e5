//! Broken resolvers and vaults, over those in memory.

use alloc::sync::Arc;
use core::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::Mutex;

use fetcher_engine::connection::{ConnectionId, StoredCredential};
use fetcher_engine::memory::MemoryConnectionStore;
use fetcher_engine::ports::{BoxFuture, CredentialResolver, CredentialVault, VaultResolver};
use fetcher_engine::testkit::conformance::credentials::{Fixture, Subject};
use fetcher_engine::{ConnectionDescriptor, PortError, Secret, TenantId};

use crate::forward::wait;
use crate::memory::CredentialFixture;
use crate::toys::ToyProtector;

type Answer<'a, T> = BoxFuture<'a, Result<T, PortError>>;

#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    /// Believes the descriptor, and not the tenant.
    BelievesTheDescriptor,
    KeepsTheFirst,
    FailsInSilence,
    ResolverStaysBusy,
    GivesAnybodys,
    LosesTheVersion,
    VaultStaysBusy,
}

struct Broken(Fault);

struct Wrapped {
    fault: Fault,
    resolver: VaultResolver,
    vault: Arc<MemoryConnectionStore>,
    first: Mutex<Vec<(ConnectionId, Secret)>>,
    busy: AtomicBool,
}

impl Wrapped {
    /// Busy meanwhile, and for ever when it is dropped.
    async fn pass(&self, fault: Fault) -> Result<(), PortError> {
        if self.fault == fault {
            if self.busy.swap(true, SeqCst) {
                return Err(PortError::unavailable());
            }
            wait().await;
            self.busy.store(false, SeqCst);
        }
        Ok(())
    }
}

impl CredentialResolver for Wrapped {
    fn resolve<'a>(
        &'a self,
        tenant: &'a TenantId,
        connection: &'a ConnectionDescriptor,
    ) -> Answer<'a, Option<Secret>> {
        Box::pin(async move {
            self.pass(Fault::ResolverStaysBusy).await?;
            match self.fault {
                Fault::BelievesTheDescriptor => {
                    self.resolver.resolve(&connection.tenant, connection).await
                }
                Fault::KeepsTheFirst => {
                    let resolved = self.resolver.resolve(tenant, connection).await?;
                    let mut first = self.first.lock().unwrap();
                    if let Some((_, kept)) = first.iter().find(|(id, _)| *id == connection.id) {
                        return Ok(Some(kept.duplicate()));
                    }
                    let kept = resolved.as_ref().map(Secret::duplicate);
                    first.extend(kept.map(|kept| (connection.id.clone(), kept)));
                    Ok(resolved)
                }
                Fault::FailsInSilence => {
                    Ok(self.resolver.resolve(tenant, connection).await.unwrap_or_default())
                }
                _ => self.resolver.resolve(tenant, connection).await,
            }
        })
    }
}

impl CredentialVault for Wrapped {
    fn stored_credential<'a>(
        &'a self,
        tenant: &'a TenantId,
        connection: &'a ConnectionId,
    ) -> Answer<'a, Option<StoredCredential>> {
        Box::pin(async move {
            self.pass(Fault::VaultStaysBusy).await?;
            let mut found = self.vault.stored_credential(tenant, connection).await?;
            if self.fault == Fault::GivesAnybodys {
                for tenant in ["conformance-a", "conformance-b"] {
                    let tenant = TenantId::parse(tenant).unwrap();
                    if found.is_none() {
                        found = self.vault.stored_credential(&tenant, connection).await?;
                    }
                }
            }
            if self.fault == Fault::LosesTheVersion {
                found = found.map(|found| StoredCredential::unprotected(found.bytes));
            }
            Ok(found)
        })
    }
}

impl Subject for Broken {
    fn fresh(&self) -> BoxFuture<'_, Box<dyn Fixture>> {
        let store = Arc::new(MemoryConnectionStore::new());
        let resolver = VaultResolver::new(Arc::clone(&store) as _);
        let wrapped = Arc::new(Wrapped {
            fault: self.0,
            resolver: resolver.protector(Arc::new(ToyProtector::default())),
            vault: Arc::clone(&store),
            first: Mutex::default(),
            busy: AtomicBool::new(false),
        });
        let (vault, resolver) = (Arc::clone(&wrapped) as _, wrapped as _);
        let protector = Some(ToyProtector::default());
        Box::pin(async { Box::new(CredentialFixture { store, vault, resolver, protector }) as _ })
    }
}

crate::broken::twins! {
    credentials,
    unbroken: Broken(Fault::None),
    c1_the_resolver_is_scoped_by_tenant => Broken(Fault::BelievesTheDescriptor),
    c2_the_password_that_was_given_last => Broken(Fault::KeepsTheFirst),
    c3_what_cannot_be_had_is_an_error => Broken(Fault::FailsInSilence),
    c4_a_dropped_resolve_leaves_nothing_behind => Broken(Fault::ResolverStaysBusy),
    c5_the_vault_is_scoped_by_tenant => Broken(Fault::GivesAnybodys),
    c6_the_credential_that_was_stored_last => Broken(Fault::LosesTheVersion),
    c7_a_dropped_look_into_the_vault_leaves_nothing_behind => Broken(Fault::VaultStaysBusy),
}

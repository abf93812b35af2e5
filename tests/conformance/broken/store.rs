//! Broken connection stores, over the one in memory.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use std::sync::Mutex;

use fetcher_engine::connection::{
    ConnectionDraft, ConnectionId, ConnectionName, ConnectionPage, StoredCredential,
};
use fetcher_engine::memory::MemoryConnectionStore;
use fetcher_engine::ports::{BoxFuture, ConnectionStore, CredentialVault};
use fetcher_engine::testkit::conformance::connection_store::{Fixture, Subject};
use fetcher_engine::{
    ConnectionDescriptor, ConnectionInput, ConnectionPatch, PageQuery, PortError, Secret, TenantId,
    block_on,
};

use crate::forward::wait;
use crate::memory::{ConnectionFixture, tenant, two_per_page};

type Answer<'a, T> = BoxFuture<'a, Result<T, PortError>>;

#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    ReadsLeaveATrace,
    ChecksThenCreates,
    OneTenant,
    AnswersLess,
    ShowsTheCredential,
    CreatesInTwoSteps,
    FindsAnybodys,
    IgnoresCase,
    FindsAnybodysById,
    WritesBackTheWhole,
    LosesTheVersion,
    ResetsOptions,
    UpdatesNothingInSilence,
    UpdatesInTwoSteps,
    ResetsOptionsById,
    KeepsTheName,
    DeletesNothingInSilence,
    DeletesInTwoSteps,
    DeletesNothingInSilenceById,
    ListsBackwards,
    SkipsBetweenPages,
    IgnoresParameters,
    ReplacesInSilence,
}

struct Broken(Fault);

struct Store {
    fault: Fault,
    inner: Arc<MemoryConnectionStore>,
    deleted: Mutex<BTreeSet<ConnectionName>>,
}

/// Leaves a connection behind when it is dropped too early.
struct Trace<'a> {
    store: &'a MemoryConnectionStore,
    tenant: &'a TenantId,
    is_left: bool,
}

impl Drop for Trace<'_> {
    fn drop(&mut self) {
        if self.is_left {
            let _ = block_on(self.store.create(self.tenant, draft("trace"), None));
        }
    }
}

fn draft(name: &str) -> ConnectionDraft {
    ConnectionInput::new(name, "conformance").into_draft().unwrap().0
}

impl Store {
    fn is(&self, fault: Fault) -> bool {
        self.fault == fault
    }

    fn tenant(&self, of: &TenantId) -> TenantId {
        if self.is(Fault::OneTenant) { tenant() } else { of.clone() }
    }

    /// The id of another tenant's connection of this name.
    async fn anybodys(&self, name: &ConnectionName) -> Option<ConnectionDescriptor> {
        for tenant in ["conformance-a", "conformance-b"] {
            let tenant = TenantId::parse(tenant).unwrap();
            if let Ok(Some(found)) = self.inner.find(&tenant, name).await {
                return Some(found);
            }
        }
        None
    }

    async fn patched(
        &self,
        tenant: &TenantId,
        id: &ConnectionId,
        mut patch: ConnectionPatch,
        mut credential: Option<StoredCredential>,
        by_id: bool,
    ) -> Result<ConnectionDescriptor, PortError> {
        let tenant = &self.tenant(tenant);
        let found = self.inner.find_by_id(tenant, id).await?;
        match self.fault {
            Fault::WritesBackTheWhole => {
                let mut whole = found.ok_or_else(PortError::not_found)?;
                patch.apply(&mut whole);
                let endpoint = whole.endpoint;
                patch = ConnectionPatch::new()
                    .kind(endpoint.kind)
                    .host(endpoint.host)
                    .port(endpoint.port)
                    .database(endpoint.database)
                    .username(endpoint.username)
                    .options(endpoint.options)
                    .host_attributes(whole.host_attributes);
                wait().await;
            }
            Fault::LosesTheVersion if credential.is_none() => {
                let stored = self.inner.stored_credential(tenant, id).await?;
                credential = stored.map(|stored| StoredCredential::unprotected(stored.bytes));
            }
            Fault::UpdatesInTwoSteps => {
                self.inner.update_by_id(tenant, id, patch, None).await?;
                patch = ConnectionPatch::new();
                wait().await;
            }
            Fault::ResetsOptions => {
                patch.options.get_or_insert_default();
            }
            Fault::ResetsOptionsById if by_id => {
                patch.options.get_or_insert_default();
            }
            Fault::UpdatesNothingInSilence if found.is_none() => {
                return Ok(draft("made up").into_descriptor(tenant.clone(), id.clone()));
            }
            _ => {}
        }
        self.inner.update_by_id(tenant, id, patch, credential).await
    }

    async fn removed(
        &self,
        tenant: &TenantId,
        found: Option<ConnectionDescriptor>,
        by_id: bool,
    ) -> Result<(), PortError> {
        let tenant = &self.tenant(tenant);
        let Some(found) = found else {
            return match self.fault {
                Fault::DeletesNothingInSilence => Ok(()),
                Fault::DeletesNothingInSilenceById if by_id => Ok(()),
                _ => Err(PortError::not_found()),
            };
        };
        if self.is(Fault::KeepsTheName) {
            self.deleted.lock().unwrap().insert(found.name.clone());
        }
        if self.is(Fault::DeletesInTwoSteps) {
            let nothing = StoredCredential::unprotected(Secret::from(""));
            let patch = ConnectionPatch::new();
            self.inner.update_by_id(tenant, &found.id, patch, Some(nothing)).await?;
            wait().await;
        }
        self.inner.delete_by_id(tenant, &found.id).await
    }

    async fn sought(
        &self,
        tenant: &TenantId,
        name: &ConnectionName,
    ) -> Result<Option<ConnectionDescriptor>, PortError> {
        let tenant = &self.tenant(tenant);
        let mut found = self.inner.find(tenant, name).await?;
        if self.is(Fault::FindsAnybodys) && found.is_none() {
            found = self.anybodys(name).await;
        }
        if self.is(Fault::IgnoresCase) && found.is_none() {
            let mut all = self.inner.list(tenant).await?.into_iter();
            let wanted = name.as_str();
            found = all.find(|other| other.name.as_str().eq_ignore_ascii_case(wanted));
        }
        Ok(found)
    }
}

impl ConnectionStore for Store {
    fn create<'a>(
        &'a self,
        tenant: &'a TenantId,
        mut draft: ConnectionDraft,
        credential: Option<StoredCredential>,
    ) -> Answer<'a, ConnectionDescriptor> {
        Box::pin(async move {
            let tenant = &self.tenant(tenant);
            if self.deleted.lock().unwrap().contains(&draft.name) {
                return Err(PortError::conflict());
            }
            match self.fault {
                Fault::ChecksThenCreates => {
                    if self.inner.find(tenant, &draft.name).await?.is_some() {
                        return Err(PortError::conflict());
                    }
                    wait().await;
                    let _ = self.inner.delete(tenant, &draft.name).await;
                }
                Fault::ReplacesInSilence => {
                    let _ = self.inner.delete(tenant, &draft.name).await;
                }
                Fault::ShowsTheCredential => {
                    if let Some(credential) = &credential {
                        let shown = String::from_utf8_lossy(credential.bytes.expose()).into();
                        draft.endpoint.options.insert("password".into(), shown);
                    }
                }
                Fault::CreatesInTwoSteps => {
                    let created = self.inner.create(tenant, draft, None).await?;
                    wait().await;
                    let patch = ConnectionPatch::new();
                    return self.inner.update_by_id(tenant, &created.id, patch, credential).await;
                }
                _ => {}
            }
            let mut created = self.inner.create(tenant, draft, credential).await?;
            if self.is(Fault::AnswersLess) {
                created.endpoint.options.clear();
            }
            Ok(created)
        })
    }

    fn find<'a>(
        &'a self,
        tenant: &'a TenantId,
        name: &'a ConnectionName,
    ) -> Answer<'a, Option<ConnectionDescriptor>> {
        Box::pin(async move {
            if self.is(Fault::ReadsLeaveATrace) {
                let mut trace = Trace { store: &self.inner, tenant, is_left: true };
                wait().await;
                trace.is_left = false;
            }
            self.sought(tenant, name).await
        })
    }

    fn find_by_id<'a>(
        &'a self,
        tenant: &'a TenantId,
        id: &'a ConnectionId,
    ) -> Answer<'a, Option<ConnectionDescriptor>> {
        Box::pin(async move {
            let mut found = self.inner.find_by_id(&self.tenant(tenant), id).await?;
            if self.is(Fault::FindsAnybodysById) {
                for tenant in ["conformance-a", "conformance-b"] {
                    let tenant = TenantId::parse(tenant).unwrap();
                    found = found.or(self.inner.find_by_id(&tenant, id).await?);
                }
            }
            Ok(found)
        })
    }

    fn update<'a>(
        &'a self,
        tenant: &'a TenantId,
        name: &'a ConnectionName,
        patch: ConnectionPatch,
        credential: Option<StoredCredential>,
    ) -> Answer<'a, ConnectionDescriptor> {
        Box::pin(async move {
            let found = self.inner.find(&self.tenant(tenant), name).await?;
            let nobodys = ConnectionId::parse("nobody's").unwrap();
            let id = found.map_or(nobodys, |found| found.id);
            self.patched(tenant, &id, patch, credential, false).await
        })
    }

    fn update_by_id<'a>(
        &'a self,
        tenant: &'a TenantId,
        id: &'a ConnectionId,
        patch: ConnectionPatch,
        credential: Option<StoredCredential>,
    ) -> Answer<'a, ConnectionDescriptor> {
        Box::pin(self.patched(tenant, id, patch, credential, true))
    }

    fn delete<'a>(&'a self, tenant: &'a TenantId, name: &'a ConnectionName) -> Answer<'a, ()> {
        Box::pin(async move {
            let found = self.inner.find(&self.tenant(tenant), name).await?;
            self.removed(tenant, found, false).await
        })
    }

    fn delete_by_id<'a>(&'a self, tenant: &'a TenantId, id: &'a ConnectionId) -> Answer<'a, ()> {
        Box::pin(async move {
            let found = self.inner.find_by_id(&self.tenant(tenant), id).await?;
            self.removed(tenant, found, true).await
        })
    }

    fn list<'a>(&'a self, tenant: &'a TenantId) -> Answer<'a, Vec<ConnectionDescriptor>> {
        Box::pin(async move {
            let mut all = self.inner.list(&self.tenant(tenant)).await?;
            if self.is(Fault::ListsBackwards) {
                all.reverse();
            }
            Ok(all)
        })
    }

    fn list_paged<'a>(
        &'a self,
        tenant: &'a TenantId,
        page: &'a PageQuery,
    ) -> Answer<'a, ConnectionPage> {
        Box::pin(async move {
            let mut known: BTreeMap<_, _> = page.0.clone();
            if self.is(Fault::IgnoresParameters) {
                known.retain(|key, _| matches!(key.as_str(), "limit" | "after"));
            }
            let mut answer = self.inner.list_paged(&self.tenant(tenant), &PageQuery(known)).await?;
            if self.is(Fault::SkipsBetweenPages) && page.0.contains_key("after") {
                answer.items.remove(0);
            }
            Ok(answer)
        })
    }
}

impl Subject for Broken {
    fn fresh(&self) -> BoxFuture<'_, Box<dyn Fixture>> {
        let inner = Arc::new(MemoryConnectionStore::new());
        let vault = match self.0 {
            Fault::OneTenant => Arc::new(OneVault(Arc::clone(&inner))) as Arc<dyn CredentialVault>,
            _ => Arc::clone(&inner) as _,
        };
        let store = Arc::new(Store { fault: self.0, inner, deleted: Mutex::default() });
        Box::pin(async { Box::new(ConnectionFixture { store, vault }) as _ })
    }

    fn first_page(&self) -> Option<PageQuery> {
        Some(two_per_page())
    }
}

/// The vault of a store that knows one tenant.
struct OneVault(Arc<MemoryConnectionStore>);

impl CredentialVault for OneVault {
    fn stored_credential<'a>(
        &'a self,
        _tenant: &'a TenantId,
        connection: &'a ConnectionId,
    ) -> Answer<'a, Option<StoredCredential>> {
        Box::pin(async move { self.0.stored_credential(&tenant(), connection).await })
    }
}

crate::broken::twins! {
    connection_store,
    unbroken: Broken(Fault::None),
    c1_a_dropped_read_leaves_nothing_behind => Broken(Fault::ReadsLeaveATrace),
    c2_of_two_creates_of_one_name_one_succeeds => Broken(Fault::ChecksThenCreates),
    c3_tenants_do_not_see_each_other => Broken(Fault::OneTenant),
    c4_create_answers_with_the_draft_and_an_id => Broken(Fault::AnswersLess),
    c5_the_credential_is_beside_the_descriptor => Broken(Fault::ShowsTheCredential),
    c6_a_dropped_create_is_whole_or_not_there => Broken(Fault::CreatesInTwoSteps),
    c7_somebody_elses_is_nobodys => Broken(Fault::FindsAnybodys),
    c8_names_are_compared_by_bytes => Broken(Fault::IgnoresCase),
    c9_find_by_id_as_find => Broken(Fault::FindsAnybodysById),
    c10_of_two_patches_neither_is_lost => Broken(Fault::WritesBackTheWhole),
    c11_no_credential_keeps_the_stored_one => Broken(Fault::LosesTheVersion),
    c12_what_a_patch_does_not_name_stays => Broken(Fault::ResetsOptions),
    c13_update_of_nothing_is_not_found => Broken(Fault::UpdatesNothingInSilence),
    c14_a_dropped_update_is_whole_or_not_there => Broken(Fault::UpdatesInTwoSteps),
    c15_update_by_id_as_update => Broken(Fault::ResetsOptionsById),
    c16_delete_frees_the_name => Broken(Fault::KeepsTheName),
    c17_delete_of_nothing_is_not_found => Broken(Fault::DeletesNothingInSilence),
    c18_a_dropped_delete_is_whole_or_not_there => Broken(Fault::DeletesInTwoSteps),
    c19_delete_by_id_as_delete => Broken(Fault::DeletesNothingInSilenceById),
    c20_list_is_whole_and_sorted => Broken(Fault::ListsBackwards),
    c21_pages_visit_every_connection_once => Broken(Fault::SkipsBetweenPages),
    c22_an_unknown_parameter_is_refused => Broken(Fault::IgnoresParameters),
    ; more:
    c2_of_two_creates_of_one_name_one_succeeds => Broken(Fault::ReplacesInSilence),
}

//! A connection store, and the vault of its credentials.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::future::ready;
use std::sync::Mutex;

use super::lock;
use crate::connection::{
    ConnectionDescriptor, ConnectionDraft, ConnectionId, ConnectionName, ConnectionPage,
    ConnectionPatch, PageQuery, StoredCredential,
};
use crate::error::PortError;
use crate::ports::{BoxFuture, ConnectionStore, CredentialVault};
use crate::tenant::TenantId;

/// How many connections a page has when the query does not say.
const PAGE_DEFAULT: usize = 50;

/// Keeps connections in memory.
///
/// Pages: the query's `limit` says how many (1 to 1000, default 50), `after` behind which name;
/// other parameters are refused.
#[derive(Default)]
pub struct MemoryConnectionStore(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    next_id: u64,
    tenants: BTreeMap<TenantId, BTreeMap<ConnectionName, Record>>,
}

struct Record {
    descriptor: ConnectionDescriptor,
    credential: Option<StoredCredential>,
}

impl MemoryConnectionStore {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl Inner {
    fn of(&self, tenant: &TenantId) -> impl Iterator<Item = &ConnectionDescriptor> {
        let records = self.tenants.get(tenant).into_iter().flat_map(BTreeMap::values);
        records.map(|record| &record.descriptor)
    }

    fn name_of(&self, tenant: &TenantId, id: &ConnectionId) -> Option<ConnectionName> {
        self.of(tenant).find(|found| found.id == *id).map(|found| found.name.clone())
    }

    fn create(
        &mut self,
        tenant: &TenantId,
        draft: ConnectionDraft,
        credential: Option<StoredCredential>,
    ) -> Result<ConnectionDescriptor, PortError> {
        let records = self.tenants.entry(tenant.clone()).or_default();
        if records.contains_key(&draft.name) {
            return Err(PortError::conflict());
        }
        self.next_id += 1;
        let id = ConnectionId::parse(&format!("connection-{}", self.next_id));
        let id = id.map_err(|_| PortError::internal())?;
        let descriptor = draft.into_descriptor(tenant.clone(), id);
        let record = Record { descriptor: descriptor.clone(), credential };
        records.insert(descriptor.name.clone(), record);
        Ok(descriptor)
    }

    fn update(
        &mut self,
        tenant: &TenantId,
        name: Option<&ConnectionName>,
        patch: &ConnectionPatch,
        credential: Option<StoredCredential>,
    ) -> Result<ConnectionDescriptor, PortError> {
        let records = self.tenants.get_mut(tenant);
        let record = records.zip(name).and_then(|(records, name)| records.get_mut(name));
        let record = record.ok_or_else(PortError::not_found)?;
        patch.apply(&mut record.descriptor);
        if credential.is_some() {
            record.credential = credential;
        }
        Ok(record.descriptor.clone())
    }

    fn delete(
        &mut self,
        tenant: &TenantId,
        name: Option<&ConnectionName>,
    ) -> Result<(), PortError> {
        let records = self.tenants.get_mut(tenant);
        let removed = records.zip(name).and_then(|(records, name)| records.remove(name));
        removed.map(drop).ok_or_else(PortError::not_found)
    }

    fn page(&self, tenant: &TenantId, query: &PageQuery) -> Result<ConnectionPage, PortError> {
        let known = |key: &String| matches!(key.as_str(), "limit" | "after");
        let limit = match query.0.get("limit") {
            None => Some(PAGE_DEFAULT),
            Some(limit) => limit.parse().ok().filter(|limit| (1..=1000).contains(limit)),
        };
        let (true, Some(limit)) = (query.0.keys().all(known), limit) else {
            return Err(PortError::validation());
        };
        let after = query.0.get("after").map_or("", String::as_str);
        let mut items: Vec<_> = self.of(tenant).filter(|c| c.name.as_str() > after).collect();
        let more = items.len() > limit;
        items.truncate(limit);
        let next = items.last().filter(|_| more).map(|last| {
            let mut next = query.clone();
            next.0.insert("after".into(), last.name.as_str().into());
            next
        });
        let mut page = ConnectionPage::new(items.into_iter().cloned().collect());
        page.next = next;
        page.total = u64::try_from(self.of(tenant).count()).ok();
        Ok(page)
    }
}

impl ConnectionStore for MemoryConnectionStore {
    fn create<'a>(
        &'a self,
        tenant: &'a TenantId,
        draft: ConnectionDraft,
        credential: Option<StoredCredential>,
    ) -> BoxFuture<'a, Result<ConnectionDescriptor, PortError>> {
        Box::pin(async move { lock(&self.0).create(tenant, draft, credential) })
    }

    fn find<'a>(
        &'a self,
        tenant: &'a TenantId,
        name: &'a ConnectionName,
    ) -> BoxFuture<'a, Result<Option<ConnectionDescriptor>, PortError>> {
        Box::pin(async move {
            let inner = lock(&self.0);
            let record = inner.tenants.get(tenant).and_then(|records| records.get(name));
            Ok(record.map(|record| record.descriptor.clone()))
        })
    }

    fn find_by_id<'a>(
        &'a self,
        tenant: &'a TenantId,
        id: &'a ConnectionId,
    ) -> BoxFuture<'a, Result<Option<ConnectionDescriptor>, PortError>> {
        Box::pin(async move { Ok(lock(&self.0).of(tenant).find(|found| found.id == *id).cloned()) })
    }

    fn update<'a>(
        &'a self,
        tenant: &'a TenantId,
        name: &'a ConnectionName,
        patch: ConnectionPatch,
        credential: Option<StoredCredential>,
    ) -> BoxFuture<'a, Result<ConnectionDescriptor, PortError>> {
        Box::pin(async move { lock(&self.0).update(tenant, Some(name), &patch, credential) })
    }

    fn update_by_id<'a>(
        &'a self,
        tenant: &'a TenantId,
        id: &'a ConnectionId,
        patch: ConnectionPatch,
        credential: Option<StoredCredential>,
    ) -> BoxFuture<'a, Result<ConnectionDescriptor, PortError>> {
        Box::pin(async move {
            let mut inner = lock(&self.0);
            let name = inner.name_of(tenant, id);
            inner.update(tenant, name.as_ref(), &patch, credential)
        })
    }

    fn delete<'a>(
        &'a self,
        tenant: &'a TenantId,
        name: &'a ConnectionName,
    ) -> BoxFuture<'a, Result<(), PortError>> {
        Box::pin(async move { lock(&self.0).delete(tenant, Some(name)) })
    }

    fn delete_by_id<'a>(
        &'a self,
        tenant: &'a TenantId,
        id: &'a ConnectionId,
    ) -> BoxFuture<'a, Result<(), PortError>> {
        Box::pin(async move {
            let mut inner = lock(&self.0);
            let name = inner.name_of(tenant, id);
            inner.delete(tenant, name.as_ref())
        })
    }

    fn list<'a>(
        &'a self,
        tenant: &'a TenantId,
    ) -> BoxFuture<'a, Result<Vec<ConnectionDescriptor>, PortError>> {
        Box::pin(async move { Ok(lock(&self.0).of(tenant).cloned().collect()) })
    }

    fn list_paged<'a>(
        &'a self,
        tenant: &'a TenantId,
        page: &'a PageQuery,
    ) -> BoxFuture<'a, Result<ConnectionPage, PortError>> {
        Box::pin(async move { lock(&self.0).page(tenant, page) })
    }
}

impl CredentialVault for MemoryConnectionStore {
    fn stored_credential<'a>(
        &'a self,
        tenant: &'a TenantId,
        connection: &'a ConnectionId,
    ) -> BoxFuture<'a, Result<Option<StoredCredential>, PortError>> {
        let inner = lock(&self.0);
        let records = inner.tenants.get(tenant).into_iter().flat_map(BTreeMap::values);
        let found = records.into_iter().find(|record| record.descriptor.id == *connection);
        let credential = found.and_then(|record| record.credential.as_ref());
        let credential = credential.map(|credential| StoredCredential {
            bytes: credential.bytes.duplicate(),
            key_version: credential.key_version.clone(),
        });
        Box::pin(ready(Ok(credential)))
    }
}

impl fmt::Debug for MemoryConnectionStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenants = lock(&self.0).tenants.len();
        f.debug_struct("MemoryConnectionStore").field("tenants", &tenants).finish_non_exhaustive()
    }
}

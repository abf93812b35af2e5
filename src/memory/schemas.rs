//! A schema cache with room for so many snapshots; the one that was put first goes first.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use std::sync::Mutex;

use super::lock;
use crate::connection::ConnectionName;
use crate::error::PortError;
use crate::ports::{BoxFuture, SchemaCache};
use crate::schema::SchemaSnapshot;
use crate::tenant::TenantId;

type Entry = (TenantId, ConnectionName, Arc<SchemaSnapshot>);

/// Remembers schema snapshots in memory.
#[derive(Debug)]
pub struct MemorySchemaCache {
    entries: Mutex<VecDeque<Entry>>,
    capacity: usize,
}

impl Default for MemorySchemaCache {
    fn default() -> Self {
        Self::new()
    }
}

impl MemorySchemaCache {
    /// Room for 256 snapshots.
    #[must_use]
    pub fn new() -> Self {
        Self::with_capacity(256)
    }

    /// Room for so many snapshots, and for one at least.
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        Self { entries: Mutex::default(), capacity: capacity.max(1) }
    }

    fn remove(entries: &mut VecDeque<Entry>, tenant: &TenantId, name: &ConnectionName) {
        entries.retain(|(owner, of, _)| owner != tenant || of != name);
    }
}

impl SchemaCache for MemorySchemaCache {
    fn get<'a>(
        &'a self,
        tenant: &'a TenantId,
        name: &'a ConnectionName,
    ) -> BoxFuture<'a, Result<Option<Arc<SchemaSnapshot>>, PortError>> {
        Box::pin(async move {
            let entries = lock(&self.entries);
            let found = entries.iter().find(|(owner, of, _)| owner == tenant && of == name);
            Ok(found.map(|(_, _, snapshot)| Arc::clone(snapshot)))
        })
    }

    fn put<'a>(
        &'a self,
        tenant: &'a TenantId,
        name: &'a ConnectionName,
        snapshot: Arc<SchemaSnapshot>,
    ) -> BoxFuture<'a, Result<(), PortError>> {
        Box::pin(async move {
            let mut entries = lock(&self.entries);
            Self::remove(&mut entries, tenant, name);
            if entries.len() == self.capacity {
                entries.pop_front();
            }
            entries.push_back((tenant.clone(), name.clone(), snapshot));
            Ok(())
        })
    }

    fn invalidate<'a>(
        &'a self,
        tenant: &'a TenantId,
        name: &'a ConnectionName,
    ) -> BoxFuture<'a, Result<(), PortError>> {
        Box::pin(async move {
            Self::remove(&mut lock(&self.entries), tenant, name);
            Ok(())
        })
    }
}

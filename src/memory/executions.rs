//! An execution store.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use std::sync::Mutex;

use super::lock;
use crate::error::PortError;
use crate::extraction::RequestId;
use crate::ports::{BoxFuture, ExecutionRecord, ExecutionStore};
use crate::tenant::TenantId;

/// Keeps the states of executions in memory, the earlier ones too.
#[derive(Debug, Default)]
pub struct MemoryExecutionStore(Mutex<BTreeMap<(TenantId, RequestId), Vec<ExecutionRecord>>>);

impl MemoryExecutionStore {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The execution's state now.
    #[must_use]
    pub fn state(&self, tenant: &TenantId, request: &RequestId) -> Option<ExecutionRecord> {
        self.history(tenant, request).pop()
    }

    /// All states that the execution went through, in order.
    #[must_use]
    pub fn history(&self, tenant: &TenantId, request: &RequestId) -> Vec<ExecutionRecord> {
        lock(&self.0).get(&(tenant.clone(), request.clone())).cloned().unwrap_or_default()
    }
}

impl ExecutionStore for MemoryExecutionStore {
    fn save<'a>(
        &'a self,
        tenant: &'a TenantId,
        record: ExecutionRecord,
    ) -> BoxFuture<'a, Result<(), PortError>> {
        Box::pin(async move {
            let key = (tenant.clone(), record.request_id.clone());
            lock(&self.0).entry(key).or_default().push(record);
            Ok(())
        })
    }
}

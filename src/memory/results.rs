//! A result sink: what is not closed is not there.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::future::ready;
use std::sync::Mutex;

use super::lock;
use crate::error::PortError;
use crate::extraction::Receipt;
use crate::ports::{BoxFuture, ResultHeader, ResultSink, ResultWriter};
use crate::tenant::TenantId;

/// A result that was closed.
#[derive(Clone)]
#[non_exhaustive]
pub struct StoredResult {
    /// What was known of it before its first byte.
    pub header: ResultHeader,
    /// All of it.
    pub bytes: Arc<[u8]>,
}

impl fmt::Debug for StoredResult {
    /// Never the rows.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredResult")
            .field("header", &self.header)
            .field("bytes", &self.bytes.len())
            .finish()
    }
}

/// Keeps results in memory. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct MemoryResultSink(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    next: u64,
    results: BTreeMap<(TenantId, String), StoredResult>,
}

impl MemoryResultSink {
    /// An empty sink.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The tenant's result with this reference.
    #[must_use]
    pub fn result(&self, tenant: &TenantId, reference: &str) -> Option<StoredResult> {
        lock(&self.0).results.get(&(tenant.clone(), reference.into())).cloned()
    }

    /// How many results there are, over all tenants.
    #[must_use]
    pub fn len(&self) -> usize {
        lock(&self.0).results.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl ResultSink for MemoryResultSink {
    fn open_stream<'a>(
        &'a self,
        tenant: &'a TenantId,
        header: ResultHeader,
    ) -> BoxFuture<'a, Result<Box<dyn ResultWriter>, PortError>> {
        let (inner, tenant) = (Arc::clone(&self.0), tenant.clone());
        let writer: Box<dyn ResultWriter> =
            Box::new(Writer { inner, tenant, header, bytes: Vec::new() });
        Box::pin(ready(Ok(writer)))
    }
}

struct Writer {
    inner: Arc<Mutex<Inner>>,
    tenant: TenantId,
    header: ResultHeader,
    bytes: Vec<u8>,
}

impl ResultWriter for Writer {
    fn write<'a>(&'a mut self, bytes: &'a [u8]) -> BoxFuture<'a, Result<(), PortError>> {
        Box::pin(async move {
            self.bytes.extend_from_slice(bytes);
            Ok(())
        })
    }

    fn close(self: Box<Self>) -> BoxFuture<'static, Result<Receipt, PortError>> {
        Box::pin(async move {
            let Self { inner, tenant, header, bytes } = *self;
            let mut inner = lock(&inner);
            inner.next += 1;
            let reference = format!("memory/{}", inner.next);
            let result = StoredResult { header, bytes: bytes.into() };
            inner.results.insert((tenant, reference.clone()), result);
            Ok(Receipt::new(reference))
        })
    }

    fn abort(self: Box<Self>) -> BoxFuture<'static, Result<(), PortError>> {
        Box::pin(async move {
            drop(self);
            Ok(())
        })
    }
}

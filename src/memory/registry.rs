//! A connector registry: a map from connection types to factories.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;

use crate::ports::{ConnectorFactory, ConnectorRegistry};

/// Knows the connector factories that were put into it. Fixed once it is handed to an engine.
///
/// ```
/// use std::sync::Arc;
/// use fetcher_engine::memory::{MemoryConnectorRegistry, MemoryDatasource};
///
/// let registry = MemoryConnectorRegistry::new().with("memory", Arc::new(MemoryDatasource::new()));
/// ```
#[derive(Clone, Default)]
pub struct MemoryConnectorRegistry(BTreeMap<String, Arc<dyn ConnectorFactory>>);

impl MemoryConnectorRegistry {
    /// Knows none.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Knows one more; a type that was known is replaced.
    #[must_use]
    pub fn with(mut self, kind: impl Into<String>, factory: Arc<dyn ConnectorFactory>) -> Self {
        self.0.insert(kind.into(), factory);
        self
    }
}

impl ConnectorRegistry for MemoryConnectorRegistry {
    fn factory(&self, kind: &str) -> Option<Arc<dyn ConnectorFactory>> {
        self.0.get(kind).map(Arc::clone)
    }
}

impl fmt::Debug for MemoryConnectorRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

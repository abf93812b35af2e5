//! The storage-facing ports, in memory: for tests, for quick starts, and for hosts that need no
//! more. They are complete implementations of the port contracts; what they hold is gone with the
//! process. No credential protector is among them: keys are the host's affair.
//!
//! Keeps true: every record is under its tenant; a lock is never held across an await.

mod connections;
mod datasource;
mod executions;
mod registry;
mod results;
mod schemas;
mod table;

use std::sync::{Mutex, MutexGuard, PoisonError};

pub use connections::MemoryConnectionStore;
pub use datasource::MemoryDatasource;
pub use executions::MemoryExecutionStore;
pub use registry::MemoryConnectorRegistry;
pub use results::{MemoryResultSink, StoredResult};
pub use schemas::MemorySchemaCache;
pub use table::{Table, TableFault};

/// Locks. No code under these locks can panic half-way, so a poisoned lock guards good data.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

//! Port 4: the durable state of executions. Best effort: its errors never touch a result.

use alloc::collections::BTreeMap;
use alloc::string::String;
use core::time::Duration;

use super::BoxFuture;
use crate::digest::Digest;
use crate::error::{Category, PortError, Stage};
use crate::extraction::RequestId;
use crate::tenant::TenantId;

/// Where an execution is in its life: `running`, then exactly one of the others.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum ExecutionState {
    /// It has begun.
    Running,
    /// It succeeded.
    Completed,
    /// It failed, the deadline included.
    Failed,
    /// The host canceled it.
    Canceled,
}

impl ExecutionState {
    /// The stable string.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Canceled => "canceled",
        }
    }
}

/// The state of one execution.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct ExecutionRecord {
    /// Which execution.
    pub request_id: RequestId,
    /// Its state.
    pub state: ExecutionState,
    /// Wall clock time of this state, since 1970-01-01T00:00:00Z, where the runtime has a clock.
    pub at: Option<Duration>,
    /// Why it failed.
    pub category: Option<Category>,
    /// Where it failed.
    pub stage: Option<Stage>,
    /// Rows of the result; 0 until completed.
    pub rows: u64,
    /// Bytes of the result; 0 until completed.
    pub bytes: u64,
    /// Digest of the result, once completed.
    pub digest: Option<Digest>,
    /// The sink's reference to the result, once completed in store mode.
    pub reference: Option<String>,
    /// The request's metadata.
    pub metadata: BTreeMap<String, String>,
}

impl ExecutionRecord {
    /// A record of this state and nothing else yet.
    #[must_use]
    pub fn new(request_id: RequestId, state: ExecutionState) -> Self {
        Self {
            request_id,
            state,
            at: None,
            category: None,
            stage: None,
            rows: 0,
            bytes: 0,
            digest: None,
            reference: None,
            metadata: BTreeMap::new(),
        }
    }
}

/// Keeps the state of executions. Without it there is no durable state.
pub trait ExecutionStore: Send + Sync + 'static {
    /// Stores the state, over any earlier one of the same request.
    ///
    /// # Contract
    /// C1. Scoped by tenant: two tenants may use the same request id. C2. The last save wins. C3.
    /// All of the record is kept.
    ///
    /// # Errors
    /// Told to the host's observability; they never change a result.
    ///
    /// # Cancel safety
    /// C4. After a drop the record was stored whole or not at all. The final state has a time
    /// budget of its own ([`Limits::teardown`](crate::Limits::teardown)).
    fn save<'a>(
        &'a self,
        tenant: &'a TenantId,
        record: ExecutionRecord,
    ) -> BoxFuture<'a, Result<(), PortError>>;
}

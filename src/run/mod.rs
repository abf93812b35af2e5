//! Execution: the only place that drives connectors and sinks.
//!
//! [`Run`](machine::Run) is one future that owns the state of all steps; [`session`] is the short
//! form for operations that only connect and look.

mod fault;
mod machine;
mod options;
mod output;
mod session;
mod step;

use alloc::sync::Arc;
use core::time::Duration;

pub(crate) use fault::{Fault, Outcome, call, contained};
pub(crate) use machine::{Run, is_store};
pub use options::{ExecuteOptions, Progress};
pub(crate) use session::{Bounded, build, discover, factory, probe, together};

use crate::limits::Limits;
use crate::ports::{
    ActiveExecutionChecker, ConnectionStore, ConnectorLimits, ConnectorRegistry,
    CredentialProtector, ExecutionStore, Observability, ResultSink, SchemaCache,
};
use crate::rt::{Budget, Runtime};

/// Everything that the host handed in.
pub(crate) struct Ports {
    pub(crate) connectors: Arc<dyn ConnectorRegistry>,
    pub(crate) protector: Option<Arc<dyn CredentialProtector>>,
    pub(crate) connections: Option<Arc<dyn ConnectionStore>>,
    pub(crate) executions: Option<Arc<dyn ExecutionStore>>,
    pub(crate) sink: Option<Arc<dyn ResultSink>>,
    pub(crate) cache: Option<Arc<dyn SchemaCache>>,
    pub(crate) checker: Option<Arc<dyn ActiveExecutionChecker>>,
    pub(crate) observability: Option<Arc<dyn Observability>>,
    pub(crate) runtime: Option<Arc<dyn Runtime>>,
    pub(crate) connector_limits: Arc<ConnectorLimits>,
}

impl Ports {
    /// A budget on the host's clock.
    pub(crate) fn budget(&self, duration: Option<Duration>) -> Budget {
        Budget::new(self.runtime.as_deref(), duration)
    }

    /// The budget of closing, aborting and recording.
    pub(crate) fn teardown(&self, limits: &Limits) -> Budget {
        self.budget(Some(limits.teardown))
    }
}

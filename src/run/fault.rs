//! An error on its way out, still with its private cause; and calls of ports that end in one.
//!
//! Keeps true: here, and only here, a port's failure becomes an engine's error.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::encode::RowFault;
use crate::error::{BoxError, Category, EngineError, PortError, Stage, text};
use crate::ports::{BoxFuture, PortPanic};
use crate::rt::{Broken, Stop, StopReason, contain, guard};

/// An error and its cause. The cause goes to the host's observability and nowhere else.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) error: EngineError,
    pub(crate) cause: Cause,
    /// The table that a port named; believed only once it is found in the plan.
    pub(crate) table: Option<Box<str>>,
}

/// A private cause. It is somebody else's, so that even its drop is contained.
#[derive(Debug, Default)]
pub(crate) struct Cause(Option<BoxError>);

impl Cause {
    pub(crate) fn get(&self) -> Option<&BoxError> {
        self.0.as_ref()
    }
}

impl From<Option<BoxError>> for Cause {
    fn from(cause: Option<BoxError>) -> Self {
        Self(cause)
    }
}

impl Drop for Cause {
    fn drop(&mut self) {
        let cause = self.0.take();
        let _ = contain(|| drop(cause));
    }
}

/// What an operation comes to, and what failed beside it without changing that.
pub(crate) struct Outcome<T> {
    pub(crate) result: Result<T, Fault>,
    pub(crate) degraded: Vec<Fault>,
}

impl<T> From<Result<T, Fault>> for Outcome<T> {
    fn from(result: Result<T, Fault>) -> Self {
        Self { result, degraded: Vec::new() }
    }
}

impl From<EngineError> for Fault {
    fn from(error: EngineError) -> Self {
        Self { error, cause: Cause::default(), table: None }
    }
}

impl Fault {
    pub(crate) fn new(category: Category, stage: Stage, message: &'static str) -> Self {
        EngineError::new(category, stage, message).into()
    }

    /// A port's failure at a stage. The connect stage is `connect` whatever the port says.
    pub(crate) fn port(stage: Stage, error: PortError) -> Self {
        let row_fault = error.cause().and_then(|cause| cause.downcast_ref::<RowFault>()).copied();
        if let (Stage::Read, Some(fault)) = (stage, row_fault) {
            return Self::rows(fault);
        }
        let category = match stage {
            Stage::Connect => Category::Connect,
            Stage::Check => Category::Unavailable,
            _ => error.category(),
        };
        let table = error.table().map(Box::from);
        let error_out = EngineError::new(category, stage, text::port_failure(stage));
        Self { error: error_out, cause: error.into_cause().into(), table }
    }

    /// A row batch that was misused, or that is over a limit.
    pub(crate) fn rows(fault: RowFault) -> Self {
        let (category, message) = match fault {
            RowFault::TooManyBytes => (Category::LimitExceeded, text::TOO_MANY_BYTES),
            RowFault::TooManyRows => (Category::LimitExceeded, text::TOO_MANY_ROWS),
            _ => (Category::Internal, text::BATCH_BROKEN),
        };
        Self {
            cause: Some(BoxError::from(fault)).into(),
            ..Self::new(category, Stage::Encode, message)
        }
    }

    pub(crate) fn broken(stage: Stage, broken: Broken, stop: Option<&Stop>) -> Self {
        match broken {
            Broken::Stopped => Self::stopped(stop.and_then(Stop::reason)),
            Broken::Panicked(said) => {
                let cause = Some(BoxError::from(PortPanic(said))).into();
                let error = EngineError::new(Category::Internal, stage, text::PANIC);
                Self { error, cause, table: None }
            }
        }
    }

    /// A call that took longer than its budget, beside the operation itself.
    pub(crate) fn late(stage: Stage) -> Self {
        Self::new(Category::Timeout, stage, text::DEADLINE)
    }

    /// The end of work that was stopped for this reason.
    pub(crate) fn stopped(reason: Option<StopReason>) -> Self {
        match reason {
            Some(StopReason::Deadline) => Self::new(Category::Timeout, Stage::Run, text::DEADLINE),
            // Work that stops because something beside it failed is never the reported error.
            Some(StopReason::Canceled | StopReason::Failure) | None => {
                Self::new(Category::Canceled, Stage::Run, text::CANCELED)
            }
        }
    }
}

/// Calls a port: stoppable where a stop flag is given, contained always.
pub(crate) async fn call<'a, T>(
    stop: Option<&Stop>,
    stage: Stage,
    make: impl FnOnce() -> BoxFuture<'a, Result<T, PortError>>,
) -> Result<T, Fault> {
    match guard(stop, make).await {
        Ok(answer) => answer.map_err(|error| Fault::port(stage, error)),
        Err(broken) => Err(Fault::broken(stage, broken, stop)),
    }
}

/// Calls a port's synchronous method.
pub(crate) fn contained<T>(stage: Stage, code: impl FnOnce() -> T) -> Result<T, Fault> {
    contain(code).map_err(|broken| Fault::broken(stage, broken, None))
}

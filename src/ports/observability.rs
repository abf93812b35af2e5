//! Port 8: spans around operations, and the one place where causes of failures come out.

use alloc::boxed::Box;
use alloc::string::String;
use core::fmt;

use crate::error::{BoxError, EngineError};

/// Starts spans. Without it they vanish, and nothing else changes.
pub trait Observability: Send + Sync + 'static {
    /// Starts the span of an operation. The name is fixed text, such as `fetcher.plan_extraction`.
    ///
    /// # Contract
    /// C1. Any number of spans at the same time, also of one operation.
    ///
    /// It does not block. The engine contains a panic in here or in the span: neither changes a
    /// result.
    fn start_span(&self, operation: &'static str) -> Box<dyn Span>;
}

/// One span. C2. Dropping it ends it, in every state that it is not entered in.
pub trait Span: Send + 'static {
    /// Work on the operation begins or goes on: called before every poll of its future, so that
    /// spans which drivers open during it are nested in this one.
    ///
    /// # Contract
    /// C3. Each pair of `enter` and `exit` may be on another thread.
    ///
    /// The engine calls the two in turn, a pair on one thread.
    fn enter(&mut self) {}

    /// Work pauses or is over: called after every poll.
    ///
    /// # Contract
    /// C4. Other spans may be entered and ended between an `exit` and the next `enter`.
    fn exit(&mut self) {}

    /// The operation fails, with this cause. For the host's private logs.
    ///
    /// # Contract
    /// C5. With and without a cause, and also of a span that was never entered.
    ///
    /// The engine calls it at most once, before the span ends.
    fn failed(&mut self, failure: &Failure<'_>) {
        let _ = failure;
    }

    /// Something beside the operation failed, without changing what it answers: a cache, the
    /// execution store, a connector that could not be closed.
    ///
    /// # Contract
    /// C6. Any number of times, before the span ends, and before or after `failed`.
    fn degraded(&mut self, failure: &Failure<'_>) {
        let _ = failure;
    }
}

/// A failure with its private cause. The cause is in here and in no error.
pub struct Failure<'a> {
    error: &'a EngineError,
    cause: Option<&'a BoxError>,
}

impl<'a> Failure<'a> {
    pub(crate) fn new(error: &'a EngineError, cause: Option<&'a BoxError>) -> Self {
        Self { error, cause }
    }

    /// What the caller of the engine sees.
    #[must_use]
    pub fn error(&self) -> &EngineError {
        self.error
    }

    /// The driver's or the port's own error; for a panic, a [`PortPanic`]. May hold secrets.
    #[must_use]
    pub fn cause(&self) -> Option<&(dyn core::error::Error + Send + Sync + 'static)> {
        self.cause.map(|cause| &**cause)
    }
}

impl fmt::Debug for Failure<'_> {
    /// Without the cause.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Failure")
            .field("error", self.error)
            .field("has_cause", &self.cause.is_some())
            .finish()
    }
}

/// The cause of a failure that was a panic: what it said, if it said text.
#[derive(Debug)]
pub struct PortPanic(pub(crate) String);

impl fmt::Display for PortPanic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for PortPanic {}

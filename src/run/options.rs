//! How one execution is to run.

use alloc::boxed::Box;
use core::fmt;

use crate::extraction::{FailurePolicy, Mode};
use crate::rt::{CancelToken, InOrder, Pick};

/// How far an execution has come; told after every batch of rows.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Progress<'a> {
    /// The datasource that the batch came from.
    pub datasource: &'a str,
    /// Rows read from it so far.
    pub datasource_rows: u64,
    /// Bytes encoded from it so far.
    pub datasource_bytes: u64,
    /// Whether it has given all that it has.
    pub datasource_done: bool,
    /// Rows read so far, from all datasources.
    pub rows: u64,
    /// Bytes encoded so far, from all datasources.
    pub bytes: u64,
}

pub(super) type OnProgress = Box<dyn FnMut(&Progress<'_>) + Send>;

/// How to execute a plan: where the result goes, what a failure means, how to cancel, who watches.
///
/// ```
/// use fetcher_engine::{CancelToken, ExecuteOptions, Mode};
///
/// let cancel = CancelToken::new();
/// let options = ExecuteOptions::new()
///     .mode(Mode::Direct)
///     .cancel(cancel.clone())
///     .progress(|progress| println!("{} rows", progress.rows));
/// ```
#[derive(Default)]
pub struct ExecuteOptions {
    pub(crate) mode: Mode,
    pub(crate) policy: FailurePolicy,
    pub(crate) cancel: Option<CancelToken>,
    pub(crate) progress: Option<OnProgress>,
    pub(crate) pick: Option<Box<dyn Pick>>,
}

impl ExecuteOptions {
    /// Mode `auto`, fail fast, not cancelable, not watched.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Where the result goes.
    #[must_use]
    pub fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// What the failure of one datasource means.
    #[must_use]
    pub fn failure_policy(mut self, policy: FailurePolicy) -> Self {
        self.policy = policy;
        self
    }

    /// Cancels when this token is canceled.
    #[must_use]
    pub fn cancel(mut self, token: CancelToken) -> Self {
        self.cancel = Some(token);
        self
    }

    /// Calls this after every batch. It must not block; if it panics, the execution is `internal`.
    #[must_use]
    pub fn progress(mut self, on_batch: impl FnMut(&Progress<'_>) + Send + 'static) -> Self {
        self.progress = Some(Box::new(on_batch));
        self
    }

    /// Orders the calls that are ready in each round, by their index. For simulations.
    #[cfg(feature = "testkit")]
    #[must_use]
    pub fn schedule(
        mut self,
        order: impl FnMut(&mut alloc::vec::Vec<usize>) + Send + 'static,
    ) -> Self {
        struct Ordered<F>(F);
        impl<F: FnMut(&mut alloc::vec::Vec<usize>) + Send> Pick for Ordered<F> {
            fn order(&mut self, ready: &mut alloc::vec::Vec<usize>) {
                (self.0)(ready);
            }
        }
        self.pick = Some(Box::new(Ordered(order)));
        self
    }

    pub(super) fn take_pick(&mut self) -> Box<dyn Pick> {
        self.pick.take().unwrap_or_else(|| Box::new(InOrder))
    }
}

impl fmt::Debug for ExecuteOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExecuteOptions")
            .field("mode", &self.mode)
            .field("policy", &self.policy)
            .field("cancelable", &self.cancel.is_some())
            .finish_non_exhaustive()
    }
}

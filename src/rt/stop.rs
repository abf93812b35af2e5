//! A stop flag that one future sets for the calls under it.
//!
//! It wakes nobody: whoever sets it polls those calls itself ([`Group::wake_all`](super::Group)).

use alloc::sync::Arc;
use core::sync::atomic::{AtomicU8, Ordering};

/// Why work is to stop.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum StopReason {
    /// The host canceled.
    Canceled,
    /// The deadline passed.
    Deadline,
    /// Something beside it failed.
    Failure,
}

/// Shared by everything that is to stop together. The first reason stays.
#[derive(Clone, Default)]
pub(crate) struct Stop(Arc<AtomicU8>);

impl Stop {
    pub(crate) fn set(&self, reason: StopReason) {
        let code = match reason {
            StopReason::Canceled => 1,
            StopReason::Deadline => 2,
            StopReason::Failure => 3,
        };
        // An error means that there is a reason already, and that one stays.
        let _ = self.0.compare_exchange(0, code, Ordering::SeqCst, Ordering::SeqCst);
    }

    pub(crate) fn reason(&self) -> Option<StopReason> {
        match self.0.load(Ordering::SeqCst) {
            1 => Some(StopReason::Canceled),
            2 => Some(StopReason::Deadline),
            3 => Some(StopReason::Failure),
            _ => None,
        }
    }
}

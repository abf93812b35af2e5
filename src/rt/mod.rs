//! What it takes to wait for several things without a runtime: knows no domain word.
//!
//! Two patterns of atomics and no more: a flag beside a waker ([`Group`]'s children), and a flag
//! before a list of wakers under a lock ([`CancelToken`], the timer). In both the waker is stored
//! before the flag is looked at, and the flag is set before the waker is woken.

#[cfg(feature = "std")]
mod block_on;
mod cancel;
mod group;
mod guard;
mod runtime;
mod stop;
#[cfg(feature = "std")]
mod timer;

#[cfg(feature = "std")]
pub use block_on::block_on;
pub use cancel::CancelToken;
pub(crate) use cancel::Canceled;
pub(crate) use group::{Group, InOrder, Pick};
pub(crate) use guard::{Broken, contain, guard};
pub(crate) use runtime::Budget;
pub use runtime::{Runtime, Sleep};
pub(crate) use stop::{Stop, StopReason};
#[cfg(feature = "std")]
pub use timer::StdRuntime;

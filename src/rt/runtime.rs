//! The runtime seam: what time it is, and how to wait for it.

use alloc::boxed::Box;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;

use super::{Broken, contain};

/// A future that is ready once its time has come.
pub type Sleep = Pin<Box<dyn Future<Output = ()> + Send + 'static>>;

/// Time, as a host's runtime has it. Under `std` the engine brings `StdRuntime`.
///
/// With Tokio, for instance:
///
/// ```ignore
/// struct Tokio(tokio::time::Instant);
///
/// impl Runtime for Tokio {
///     fn now(&self) -> Duration {
///         self.0.elapsed()
///     }
///     fn wall_clock(&self) -> Option<Duration> {
///         std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).ok()
///     }
///     fn sleep(&self, duration: Duration) -> Sleep {
///         Box::pin(tokio::time::sleep(duration))
///     }
/// }
/// ```
pub trait Runtime: Send + Sync + 'static {
    /// Time since some fixed moment. Never goes back.
    fn now(&self) -> Duration;

    /// Time since 1970-01-01T00:00:00Z, where there is a clock. May jump; only ever written down.
    fn wall_clock(&self) -> Option<Duration>;

    /// Waits. Must wake the task when the time has come, and hold nothing once it is dropped.
    fn sleep(&self, duration: Duration) -> Sleep;
}

/// A time budget that starts when it is made; endless where nobody can tell the time.
pub(crate) struct Budget(Option<Sleep>);

impl Budget {
    pub(crate) fn new(runtime: Option<&dyn Runtime>, duration: Option<Duration>) -> Self {
        // A timer that cannot even be made is like one that has run out: bounded, not endless.
        let sleep = |(runtime, duration): (&dyn Runtime, Duration)| {
            contain(|| runtime.sleep(duration))
                .unwrap_or_else(|_: Broken| Box::pin(core::future::ready(())))
        };
        Self(runtime.zip(duration).map(sleep))
    }

    /// Whether it has run out; if not, the task is woken when it does.
    pub(crate) fn is_spent(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(sleep) = &mut self.0 else {
            return false;
        };
        match contain(|| sleep.as_mut().poll(cx)) {
            Ok(Poll::Pending) => false,
            Ok(Poll::Ready(())) | Err(_) => {
                // It may not be polled again, so the answer is kept.
                let spent = self.0.replace(Box::pin(core::future::ready(())));
                let _ = contain(|| drop(spent));
                true
            }
        }
    }

    /// Runs a call within this budget; nothing if it takes longer, and then it is dropped.
    pub(crate) fn hold<F: Future + Unpin>(self, call: F) -> Held<F> {
        Held { budget: self, call }
    }
}

impl Drop for Budget {
    fn drop(&mut self) {
        // A timer is the host's, and its drop may do anything.
        let sleep = self.0.take();
        let _ = contain(|| drop(sleep));
    }
}

/// A call within a time budget.
pub(crate) struct Held<F> {
    budget: Budget,
    call: F,
}

impl<F: Future + Unpin> Future for Held<F> {
    type Output = Option<F::Output>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        if let Poll::Ready(answer) = Pin::new(&mut this.call).poll(cx) {
            return Poll::Ready(Some(answer));
        }
        if this.budget.is_spent(cx) { Poll::Ready(None) } else { Poll::Pending }
    }
}

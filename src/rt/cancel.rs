//! A cancel token: set once, seen by everybody who holds it.

use alloc::sync::Arc;
use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::sync::atomic::{AtomicBool, Ordering};
use core::task::{Context, Poll};

#[cfg(feature = "std")]
use waiters::{Ticket, Waiters};

/// Cancels an operation from outside: from another task, another thread, a signal handler's task.
///
/// Clones share one state. With `std`, `cancel` wakes the operation at once; without it there is no
/// lock to keep a waker under, so a cancel takes effect when the operation is polled next.
#[derive(Clone, Default)]
pub struct CancelToken(Arc<Shared>);

#[derive(Default)]
struct Shared {
    canceled: AtomicBool,
    #[cfg(feature = "std")]
    waiters: Waiters,
}

impl CancelToken {
    /// A token that is not canceled.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Cancels. For good: there is no way back.
    pub fn cancel(&self) {
        self.0.canceled.store(true, Ordering::SeqCst);
        #[cfg(feature = "std")]
        if !planted!(CancelWithoutWake) {
            self.0.waiters.wake_all();
        }
    }

    /// Whether it was canceled.
    #[must_use]
    pub fn is_canceled(&self) -> bool {
        self.0.canceled.load(Ordering::SeqCst)
    }

    /// How many operations wait on this token now. For tests that look for leaks.
    #[cfg(feature = "std")]
    #[doc(hidden)]
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.0.waiters.len()
    }

    pub(crate) fn canceled(&self) -> Canceled {
        Canceled {
            token: self.clone(),
            #[cfg(feature = "std")]
            ticket: None,
        }
    }
}

impl fmt::Debug for CancelToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CancelToken").field("canceled", &self.is_canceled()).finish()
    }
}

/// Waits for a token.
pub(crate) struct Canceled {
    token: CancelToken,
    #[cfg(feature = "std")]
    ticket: Option<Ticket>,
}

impl Future for Canceled {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        // Register first, look afterwards: a cancel in between is then seen here or wakes.
        #[cfg(feature = "std")]
        if !this.token.is_canceled() {
            this.token.0.waiters.register(&mut this.ticket, cx.waker());
        }
        #[cfg(not(feature = "std"))]
        let _ = cx;
        if this.token.is_canceled() { Poll::Ready(()) } else { Poll::Pending }
    }
}

#[cfg(feature = "std")]
impl Drop for Canceled {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket.take() {
            self.token.0.waiters.forget(ticket);
        }
    }
}

#[cfg(feature = "std")]
mod waiters {
    //! Wakers under a lock, each under a ticket of its own.

    use alloc::collections::BTreeMap;
    use core::task::Waker;
    use std::sync::{Mutex, MutexGuard, PoisonError};

    pub(super) struct Ticket(u64);

    #[derive(Default)]
    pub(super) struct Waiters(Mutex<Inner>);

    #[derive(Default)]
    struct Inner {
        next: u64,
        wakers: BTreeMap<u64, Waker>,
    }

    impl Waiters {
        fn lock(&self) -> MutexGuard<'_, Inner> {
            // Nothing in here can panic half-way, so a poisoned lock guards good data.
            self.0.lock().unwrap_or_else(PoisonError::into_inner)
        }

        pub(super) fn register(&self, ticket: &mut Option<Ticket>, waker: &Waker) {
            let mut inner = self.lock();
            let id = match ticket {
                Some(Ticket(id)) => *id,
                None => {
                    inner.next += 1;
                    *ticket = Some(Ticket(inner.next));
                    inner.next
                }
            };
            match inner.wakers.get_mut(&id) {
                Some(known) => known.clone_from(waker),
                None => drop(inner.wakers.insert(id, waker.clone())),
            }
        }

        pub(super) fn forget(&self, Ticket(id): Ticket) {
            let waker = self.lock().wakers.remove(&id);
            // Dropped outside the lock: a waker's drop is somebody else's code.
            drop(waker);
        }

        pub(super) fn wake_all(&self) {
            let wakers = core::mem::take(&mut self.lock().wakers);
            for waker in wakers.into_values() {
                waker.wake();
            }
        }

        pub(super) fn len(&self) -> usize {
            self.lock().wakers.len()
        }
    }
}

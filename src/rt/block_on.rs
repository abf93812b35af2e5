//! Runs one future on this thread, for tests and for hosts without a runtime.

use alloc::sync::Arc;
use alloc::task::Wake;
use core::future::Future;
use core::pin::pin;
use core::sync::atomic::{AtomicBool, Ordering};
use core::task::{Context, Poll, Waker};
use std::thread::{self, Thread};

/// A wake-up for one thread, with a flag of its own: others may use up the thread's token.
struct Unpark {
    thread: Thread,
    notified: AtomicBool,
}

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.notified.store(true, Ordering::SeqCst);
        self.thread.unpark();
    }
}

/// Runs a future to its end and blocks the thread meanwhile. Calls may be nested.
///
/// ```
/// assert_eq!(fetcher_engine::block_on(async { 6 * 7 }), 42);
/// ```
pub fn block_on<F: Future>(future: F) -> F::Output {
    let signal = Arc::new(Unpark { thread: thread::current(), notified: AtomicBool::new(false) });
    let waker = Waker::from(Arc::clone(&signal));
    let mut cx = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut cx) {
            return output;
        }
        while !signal.notified.swap(false, Ordering::SeqCst) {
            thread::park();
        }
    }
}

//! The default runtime under `std`: the system's clocks, and one timer thread for the process,
//! started when somebody first waits. Keeps true: a sleep that is dropped leaves nothing behind.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::sync::{Condvar, Mutex, MutexGuard, Once, OnceLock, PoisonError};
use std::thread;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use super::{Runtime, Sleep};

/// The default runtime.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "it has no state and gets none")]
pub struct StdRuntime;

impl Runtime for StdRuntime {
    fn now(&self) -> Duration {
        static START: OnceLock<Instant> = OnceLock::new();
        START.get_or_init(Instant::now).elapsed()
    }

    fn wall_clock(&self) -> Option<Duration> {
        SystemTime::now().duration_since(UNIX_EPOCH).ok()
    }

    fn sleep(&self, duration: Duration) -> Sleep {
        match Instant::now().checked_add(duration) {
            Some(when) => Box::pin(Until { when, ticket: None }),
            // Beyond what the clock can tell: never.
            None => Box::pin(core::future::pending()),
        }
    }
}

struct Until {
    when: Instant,
    ticket: Option<u64>,
}

impl Future for Until {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if Instant::now() >= self.when {
            return Poll::Ready(());
        }
        let timer = timer();
        let when = self.when;
        let mut waiting = timer.lock();
        let id = *self.ticket.get_or_insert_with(|| {
            waiting.next += 1;
            waiting.next
        });
        let is_first = waiting.wakers.keys().next().is_none_or(|&(first, _)| when < first);
        let old = waiting.wakers.insert((when, id), cx.waker().clone());
        drop(waiting);
        drop(old);
        if is_first {
            timer.changed.notify_one();
        }
        Poll::Pending
    }
}

impl Drop for Until {
    fn drop(&mut self) {
        if let Some(id) = self.ticket {
            let waker = timer().lock().wakers.remove(&(self.when, id));
            // Dropped outside the lock: a waker's drop is somebody else's code.
            drop(waker);
        }
    }
}

#[derive(Default)]
struct Timer {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Default)]
struct Waiting {
    next: u64,
    wakers: BTreeMap<(Instant, u64), Waker>,
}

impl Timer {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        // Nothing under this lock can panic half-way, so a poisoned lock guards good data.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        let mut waiting = self.lock();
        loop {
            let now = Instant::now();
            let first = waiting.wakers.first_key_value().map(|(&(when, _), _)| when);
            waiting = match first {
                Some(when) if when <= now => {
                    let waker = waiting.wakers.pop_first().map(|(_, waker)| waker);
                    drop(waiting);
                    // Outside the lock, and contained: a waker may run anything, and the thread
                    // serves everybody.
                    let _ = super::contain(|| waker.map(Waker::wake));
                    self.lock()
                }
                Some(when) => {
                    let answer = self.changed.wait_timeout(waiting, when - now);
                    answer.unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }
}

fn timer() -> &'static Timer {
    static TIMER: OnceLock<Timer> = OnceLock::new();
    static STARTED: Once = Once::new();
    let timer = TIMER.get_or_init(Timer::default);
    STARTED.call_once(|| {
        let thread = thread::Builder::new().name("fetcher-timer".into());
        // PROOF: a process that cannot start one small thread cannot keep any deadline, and must
        // not go on as if it could.
        thread.spawn(|| timer.run()).expect("the timer thread starts");
    });
    timer
}

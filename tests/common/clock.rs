//! Time that only tests move, and a task that is polled only when it was woken.
//!
//! Both find what a real executor would hide: a task that nobody will ever wake panics here instead
//! of hanging, and a wait of an hour takes none.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::task::Wake;
use core::future::Future;
use core::pin::Pin;
use core::sync::atomic::{AtomicBool, Ordering};
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::sync::Mutex;

use fetcher_engine::{Runtime, Sleep};

/// More polls than this mean that a task wakes itself for nothing.
const POLLS_MAX: usize = 100_000;

/// The wall clock when the manual one stands at zero.
const EPOCH: Duration = Duration::from_secs(1_700_000_000);

/// A clock that stands still until it is advanced. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Clock(Arc<Mutex<Time>>);

#[derive(Default)]
struct Time {
    now: Duration,
    next: u64,
    sleepers: BTreeMap<(Duration, u64), Waker>,
}

impl Clock {
    /// Moves to the moment for which somebody waits first, and wakes whoever waits for it.
    pub(crate) fn advance(&self) -> bool {
        let mut time = self.0.lock().unwrap();
        let Some((&(when, _), _)) = time.sleepers.first_key_value() else {
            return false;
        };
        time.now = time.now.max(when);
        let later = time.sleepers.split_off(&(when, u64::MAX));
        let due = core::mem::replace(&mut time.sleepers, later);
        drop(time);
        due.into_values().for_each(Waker::wake);
        true
    }

    /// How many wait now.
    pub(crate) fn sleepers(&self) -> usize {
        self.0.lock().unwrap().sleepers.len()
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.0.lock().unwrap().now
    }
}

impl Runtime for Clock {
    fn now(&self) -> Duration {
        self.elapsed()
    }

    fn wall_clock(&self) -> Option<Duration> {
        Some(EPOCH + self.elapsed())
    }

    fn sleep(&self, duration: Duration) -> Sleep {
        let mut time = self.0.lock().unwrap();
        time.next += 1;
        Box::pin(Until { clock: self.clone(), key: (time.now.saturating_add(duration), time.next) })
    }
}

struct Until {
    clock: Clock,
    key: (Duration, u64),
}

impl Future for Until {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut time = self.clock.0.lock().unwrap();
        if time.now >= self.key.0 {
            return Poll::Ready(());
        }
        time.sleepers.insert(self.key, cx.waker().clone());
        Poll::Pending
    }
}

impl Drop for Until {
    fn drop(&mut self) {
        self.clock.0.lock().unwrap().sleepers.remove(&self.key);
    }
}

/// One future and its one waker.
pub(crate) struct Task<'a, T> {
    future: Pin<Box<dyn Future<Output = T> + 'a>>,
    woken: Arc<Woken>,
    polls: usize,
    moves: bool,
}

struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl<'a, T> Task<'a, T> {
    pub(crate) fn new(future: impl Future<Output = T> + 'a) -> Self {
        let woken = Arc::new(Woken(AtomicBool::new(true)));
        Self { future: Box::pin(future), woken, polls: 0, moves: false }
    }

    /// The same, but every poll has a waker of its own, and only the last one counts.
    pub(crate) fn moving(future: impl Future<Output = T> + 'a) -> Self {
        Self { moves: true, ..Self::new(future) }
    }

    /// Polls for as long as it is woken; the answer, if it came to one.
    pub(crate) fn until_idle(&mut self) -> Option<T> {
        while self.is_woken() {
            let answer = self.step();
            if answer.is_some() {
                return answer;
            }
        }
        None
    }

    pub(crate) fn is_woken(&self) -> bool {
        self.woken.0.load(Ordering::SeqCst)
    }

    /// Polls once, if it was woken.
    pub(crate) fn step(&mut self) -> Option<T> {
        if !self.woken.0.swap(false, Ordering::SeqCst) {
            return None;
        }
        self.polls += 1;
        assert!(self.polls < POLLS_MAX, "the task wakes itself without an end");
        if self.moves {
            self.woken = Arc::new(Woken(AtomicBool::new(false)));
        }
        let waker = Waker::from(Arc::clone(&self.woken));
        match self.future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(answer) => Some(answer),
            Poll::Pending => None,
        }
    }

    /// Runs to the end; time passes only when nothing else can happen.
    pub(crate) fn run(&mut self, clock: &Clock) -> T {
        loop {
            if let Some(answer) = self.until_idle() {
                return answer;
            }
            assert!(clock.advance(), "nobody will ever wake the task");
        }
    }
}

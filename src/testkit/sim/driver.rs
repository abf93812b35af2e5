//! The loop: polls a future, lets time pass when nothing else can happen, and sees when it is
//! stuck.
//!
//! Which root waker a poll gets decides which bugs can be seen: one stable waker hides a stale one
//! that was kept; a new one for each poll makes everybody polled again and hides lost wake-ups. So
//! there are [three ways](RootWakers), and a seed should choose among them. Only the latest waker
//! counts: waking through an older one is lost.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::task::Wake;
use core::fmt;
use core::future::Future;
use core::sync::atomic::{AtomicBool, Ordering};
use core::task::{Context, Poll, Waker};
use core::time::Duration;

use super::Sim;

/// How often the future gets a new waker.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum RootWakers {
    /// One for all polls.
    #[default]
    Stable,
    /// A new one now and then.
    Sometimes,
    /// A new one for each poll.
    Always,
}

/// How to drive a future.
#[expect(clippy::exhaustive_structs, reason = "made by struct update over the default")]
pub struct Drive {
    /// Which wakers it gets.
    pub wakers: RootWakers,
    /// Drop it before this poll, counted from 0.
    pub drop_at: Option<u64>,
    /// Call this before this poll, as soon as the poll before it is over: to cancel a token, say.
    /// Whether that brings about the poll is for the future to show.
    pub before: Option<(u64, Box<dyn Fn() + Send>)>,
    /// The most polls, after which it counts as stuck.
    pub polls_max: u64,
    /// The most virtual time, after which it counts as stuck.
    pub time_max: Duration,
}

impl Default for Drive {
    fn default() -> Self {
        Self {
            wakers: RootWakers::Stable,
            drop_at: None,
            before: None,
            polls_max: 100_000,
            time_max: Duration::from_secs(1 << 32),
        }
    }
}

impl fmt::Debug for Drive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Drive")
            .field("wakers", &self.wakers)
            .field("drop_at", &self.drop_at)
            .field("before", &self.before.as_ref().map(|(poll, _)| poll))
            .finish_non_exhaustive()
    }
}

/// How it ended.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Ended<T> {
    /// The future answered.
    Ready(T),
    /// It was dropped, as asked for.
    Dropped,
    /// Nothing can happen any more, or too much has: this is the reason.
    Stuck(&'static str),
}

/// A root waker: whether it was used.
#[derive(Default)]
struct Root {
    woken: AtomicBool,
}

impl Wake for Root {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.woken.store(true, Ordering::SeqCst);
    }
}

/// Lets time pass until the root is woken; says no if nothing will wake it.
fn wait(sim: &Sim, root: &Root) -> bool {
    while !root.woken.load(Ordering::SeqCst) {
        if !sim.pass_time() {
            return false;
        }
    }
    true
}

/// Drives a future to its end. Afterwards it is dropped, and a waker or a timer that somebody
/// still holds is a [violation](Sim::violations).
pub fn drive<F: Future>(sim: &Sim, future: F, how: &Drive) -> Ended<F::Output> {
    let mut future = Box::pin(future);
    let mut root = Arc::new(Root::default());
    let mut poll = 0;
    let ended = loop {
        if let Some((_, act)) = how.before.as_ref().filter(|(at, _)| *at == poll) {
            act();
        }
        if how.drop_at == Some(poll) {
            break Ended::Dropped;
        }
        if poll > 0 && !wait(sim, &root) {
            break Ended::Stuck("nothing was woken and no timer runs");
        }
        if poll >= how.polls_max {
            break Ended::Stuck("it was polled too often");
        }
        if sim.now() > how.time_max {
            break Ended::Stuck("too much time passed");
        }
        let renew = match how.wakers {
            RootWakers::Stable => false,
            RootWakers::Sometimes => sim.below(4) == 0,
            RootWakers::Always => true,
        };
        if renew {
            root = Arc::new(Root::default());
        }
        root.woken.store(false, Ordering::SeqCst);
        sim.begin_poll(poll);
        let waker = Waker::from(Arc::clone(&root));
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            break Ended::Ready(output);
        }
        poll += 1;
    };
    drop(future);
    if sim.armed() > 0 {
        sim.violate("a timer is left");
    }
    if Arc::strong_count(&root) > 1 {
        sim.violate("a waker is left");
    }
    ended
}

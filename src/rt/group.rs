//! Several futures under one: polled in rounds, each at most once a round, only when woken.
//!
//! ```text
//!   add ──▶ ready ──poll──▶ pending ──wake──▶ ready …    poll answers ──▶ gone
//! ```
//! Keeps true: a child's flag is cleared before the child is polled, so that a wake in the middle
//! is not lost; when the parent's waker changes, every child gets a new one and is polled; a child
//! that was added during a round is polled in the next, so no round is endless.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::task::Wake;
use alloc::vec::Vec;
use core::future::Future;
use core::pin::Pin;
use core::sync::atomic::{AtomicBool, Ordering};
use core::task::{Context, Waker};

type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// In which order the ready children of a round are polled.
pub(crate) trait Pick: Send {
    /// Reorders the ready children.
    fn order(&mut self, ready: &mut Vec<usize>);
}

/// As they were added: what production does.
pub(crate) struct InOrder;

impl Pick for InOrder {
    fn order(&mut self, _ready: &mut Vec<usize>) {}
}

/// A set of running futures.
pub(crate) struct Group<T> {
    slots: Vec<Slot<T>>,
    /// The waker that the children's wakers pass on to.
    parent: Option<Waker>,
    /// Slots to poll in this round; kept for its memory.
    ready: Vec<usize>,
    running: usize,
}

struct Slot<T> {
    child: Option<Boxed<T>>,
    signal: Arc<Signal>,
}

/// A child's waker: a flag of its own, and the parent.
struct Signal {
    ready: AtomicBool,
    parent: Waker,
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // If the flag was up already, the parent was woken for it and has not come round yet.
        if !self.ready.swap(true, Ordering::SeqCst) && !planted!(LostWake) {
            self.parent.wake_by_ref();
        }
    }
}

impl<T> Group<T> {
    pub(crate) const fn new() -> Self {
        Self { slots: Vec::new(), parent: None, ready: Vec::new(), running: 0 }
    }

    /// How many are running.
    pub(crate) fn running(&self) -> usize {
        self.running
    }

    /// Adds a child; it is polled in the next round.
    pub(crate) fn add(&mut self, child: Boxed<T>) {
        self.running += 1;
        let child = Some(child);
        if let Some(slot) = self.slots.iter_mut().find(|slot| slot.child.is_none()) {
            // A late wake of the child that was here before costs one poll and no more.
            slot.signal.ready.store(true, Ordering::SeqCst);
            slot.child = child;
            return;
        }
        let parent = self.parent.clone().unwrap_or_else(|| Waker::noop().clone());
        let signal = Arc::new(Signal { ready: AtomicBool::new(true), parent });
        self.slots.push(Slot { child, signal });
    }

    /// Lets every child be polled in the next round, because what they look at has changed.
    pub(crate) fn wake_all(&mut self) {
        for slot in &self.slots {
            slot.signal.ready.store(true, Ordering::SeqCst);
        }
    }

    /// Whether any child waits to be polled: the caller has to come again without being woken.
    pub(crate) fn is_ready(&self) -> bool {
        self.slots
            .iter()
            .any(|slot| slot.child.is_some() && slot.signal.ready.load(Ordering::SeqCst))
    }

    /// Drops all children.
    pub(crate) fn clear(&mut self) {
        self.running = 0;
        for slot in &mut self.slots {
            slot.child = None;
        }
    }

    /// One round: polls every ready child once and collects the answers.
    pub(crate) fn poll_round(
        &mut self,
        cx: &mut Context<'_>,
        pick: &mut dyn Pick,
        answers: &mut Vec<T>,
    ) {
        self.adopt(cx.waker());
        let mut ready = core::mem::take(&mut self.ready);
        ready.clear();
        let is_ready =
            |slot: &Slot<T>| slot.child.is_some() && slot.signal.ready.load(Ordering::SeqCst);
        let slots = self.slots.iter().enumerate();
        ready.extend(slots.filter(|(_, slot)| is_ready(slot)).map(|(at, _)| at));
        pick.order(&mut ready);
        for &at in &ready {
            let Some(slot) = self.slots.get_mut(at) else {
                continue;
            };
            // Out of its place while it is polled: if it panics, unwinding drops it.
            let Some(mut child) = slot.child.take() else {
                continue;
            };
            slot.signal.ready.store(false, Ordering::SeqCst);
            let waker = Waker::from(Arc::clone(&slot.signal));
            let polled = child.as_mut().poll(&mut Context::from_waker(&waker));
            if planted!(FlagClearedAfterPoll) {
                slot.signal.ready.store(false, Ordering::SeqCst);
            }
            match polled {
                core::task::Poll::Pending => slot.child = Some(child),
                core::task::Poll::Ready(answer) => {
                    self.running -= 1;
                    answers.push(answer);
                }
            }
        }
        self.ready = ready;
    }

    /// Makes the children's wakers pass on to this one.
    fn adopt(&mut self, waker: &Waker) {
        let known = |parent: &Waker| parent.will_wake(waker) || planted!(StaleParentWaker);
        if self.parent.as_ref().is_some_and(known) {
            return;
        }
        self.parent = Some(waker.clone());
        for slot in &mut self.slots {
            // Ready: the old waker may have been used already, for nobody.
            let ready = AtomicBool::new(true);
            slot.signal = Arc::new(Signal { ready, parent: waker.clone() });
        }
    }
}

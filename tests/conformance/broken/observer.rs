//! Broken observers: each panics at something that it did not expect, or loses count.

use alloc::sync::Arc;
use std::sync::{Mutex, PoisonError};
use std::thread::{self, ThreadId};

use fetcher_engine::ports::{BoxFuture, Failure, Observability, Span};
use fetcher_engine::testkit::conformance::observability::{Fixture, Subject};

#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    FewSpans,
    OneThread,
    OneSpanAtATime,
    NeedsACause,
    DegradesOnce,
    EndsWhatWasEntered,
}

struct Broken(Fault);

#[derive(Default)]
struct Seen {
    open: usize,
    current: Option<usize>,
    next: usize,
}

#[derive(Clone)]
struct Observer {
    fault: Fault,
    seen: Arc<Mutex<Seen>>,
}

struct Spanning {
    observer: Observer,
    number: usize,
    thread: ThreadId,
    entered: bool,
    degraded: bool,
}

impl Observer {
    fn is(&self, fault: Fault) -> bool {
        self.fault == fault
    }

    fn with<T>(&self, act: impl FnOnce(&mut Seen) -> T) -> T {
        act(&mut self.seen.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Observability for Observer {
    fn start_span(&self, _operation: &'static str) -> Box<dyn Span> {
        let (open, number) = self.with(|seen| {
            (seen.open, seen.next) = (seen.open + 1, seen.next + 1);
            (seen.open, seen.next)
        });
        assert!(!self.is(Fault::FewSpans) || open <= 16, "too many spans");
        Box::new(Spanning {
            observer: self.clone(),
            number,
            thread: thread::current().id(),
            entered: false,
            degraded: false,
        })
    }
}

impl Span for Spanning {
    fn enter(&mut self) {
        self.entered = true;
        let same_thread = self.thread == thread::current().id();
        assert!(!self.observer.is(Fault::OneThread) || same_thread, "another thread");
        if self.observer.is(Fault::OneSpanAtATime) {
            let number = self.number;
            let current = self.observer.with(|seen| *seen.current.get_or_insert(number));
            assert_eq!(current, number, "another span");
        }
    }

    fn failed(&mut self, failure: &Failure<'_>) {
        let has_cause = failure.cause().is_some();
        assert!(!self.observer.is(Fault::NeedsACause) || has_cause, "no cause");
    }

    fn degraded(&mut self, _failure: &Failure<'_>) {
        assert!(!self.observer.is(Fault::DegradesOnce) || !self.degraded, "a second time");
        self.degraded = true;
    }
}

impl Drop for Spanning {
    fn drop(&mut self) {
        if self.entered || !self.observer.is(Fault::EndsWhatWasEntered) {
            self.observer.with(|seen| seen.open -= 1);
        }
    }
}

impl Subject for Broken {
    fn fresh(&self) -> BoxFuture<'_, Box<dyn Fixture>> {
        let observer = Observer { fault: self.0, seen: Arc::default() };
        Box::pin(async { Box::new(observer) as _ })
    }
}

impl Fixture for Observer {
    fn observability(&self) -> &dyn Observability {
        self
    }

    fn open_spans(&self) -> Option<usize> {
        Some(self.with(|seen| seen.open))
    }
}

crate::broken::twins! {
    observability,
    unbroken: Broken(Fault::None),
    c1_any_number_of_spans_at_the_same_time => Broken(Fault::FewSpans),
    c2_dropping_a_span_ends_it => Broken(Fault::EndsWhatWasEntered),
    c3_each_pair_may_be_on_another_thread => Broken(Fault::OneThread),
    c4_other_spans_may_come_between => Broken(Fault::OneSpanAtATime),
    c5_failed_with_and_without_a_cause => Broken(Fault::NeedsACause),
    c6_degraded_any_number_of_times => Broken(Fault::DegradesOnce),
}

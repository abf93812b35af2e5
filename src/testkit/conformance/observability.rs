//! The contract of [`Observability`] and [`Span`], clause by clause.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::any::Any;
use core::panic::AssertUnwindSafe;
use std::panic::catch_unwind;
use std::thread;

use super::bench::At;
use super::table;
use crate::error::{BoxError, Category, EngineError, Stage};
use crate::ports::{BoxFuture, Failure, Observability, Span};

/// What is put to the test.
pub trait Subject: Sync {
    /// Runs a future to its end. The default is [`block_on`](crate::block_on).
    fn block_on(&self, future: BoxFuture<'_, ()>) {
        crate::rt::block_on(future);
    }

    /// An observer that has seen nothing yet.
    fn fresh(&self) -> BoxFuture<'_, Box<dyn Fixture>>;
}

/// An observer, and what it knows.
pub trait Fixture: Send + Sync {
    /// The observer.
    fn observability(&self) -> &dyn Observability;

    /// How many spans have not ended yet; `None` where nobody knows.
    fn open_spans(&self) -> Option<usize>;
}

/// The clauses, for whoever makes tests of them.
#[doc(hidden)]
#[macro_export]
macro_rules! __conformance_observability {
    ([$($then:tt)+] $arguments:tt) => {
        $($then)+ { observability $arguments
            c1_any_number_of_spans_at_the_same_time
            c2_dropping_a_span_ends_it
            c3_each_pair_may_be_on_another_thread
            c4_other_spans_may_come_between
            c5_failed_with_and_without_a_cause
            c6_degraded_any_number_of_times
        }
    };
}
crate::__conformance_observability!([table!]());

const OPERATION: &str = "fetcher.plan_extraction";

/// Runs something that must not panic.
fn calm<T>(at: At, what: &str, act: impl FnOnce() -> T) -> T {
    match catch_unwind(AssertUnwindSafe(act)) {
        Ok(value) => value,
        Err(panic) => at.fail(format!("{what} without a panic"), said(&*panic)),
    }
}

fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| String::from(*text));
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "a panic".into())
}

fn error(stage: Stage) -> EngineError {
    EngineError::new(Category::Unavailable, stage, "rows cannot be read")
}

fn cause() -> BoxError {
    "password=hunter2 rejected, line 1\nline 2".into()
}

/// Checks that every span has ended.
fn ended(at: At, fixture: &dyn Fixture) {
    if let Some(open) = fixture.open_spans() {
        at.same("open spans:", &0, &open);
    }
}

/// Any number of spans at the same time, also of one operation, ended in any order.
pub fn c1_any_number_of_spans_at_the_same_time(subject: &dyn Subject) {
    run(subject, async {
        let (fixture, at) = (subject.fresh().await, at(1));
        calm(at, "a hundred spans", || {
            let mut spans: Vec<_> = (0..100)
                .map(|n| if n % 3 == 0 { OPERATION } else { "fetcher.validate_schema" })
                .map(|operation| fixture.observability().start_span(operation))
                .collect();
            if let Some(open) = fixture.open_spans() {
                at.same("open spans:", &spans.len(), &open);
            }
            for span in &mut spans {
                span.enter();
                span.exit();
            }
            while !spans.is_empty() {
                drop(spans.swap_remove(spans.len() / 2));
            }
        });
        ended(at, &*fixture);
    });
}

/// A drop ends a span in every state that it is not entered in.
pub fn c2_dropping_a_span_ends_it(subject: &dyn Subject) {
    let states: [fn(&mut dyn Span); 4] = [
        |_| {},
        |span| {
            span.enter();
            span.exit();
        },
        |span| span.failed(&Failure::new(&error(Stage::Read), None)),
        |span| span.degraded(&Failure::new(&error(Stage::Close), None)),
    ];
    run(subject, async {
        let (fixture, at) = (subject.fresh().await, at(2));
        for state in states {
            calm(at, "a drop", || state(&mut *fixture.observability().start_span(OPERATION)));
            ended(at, &*fixture);
        }
    });
}

/// A span is entered and left on one thread, then on another, and ends on a third.
pub fn c3_each_pair_may_be_on_another_thread(subject: &dyn Subject) {
    run(subject, async {
        let (fixture, at) = (subject.fresh().await, at(3));
        let mut span = fixture.observability().start_span(OPERATION);
        for _ in 0..3 {
            span = elsewhere(at, move || {
                span.enter();
                span.exit();
                span
            });
        }
        elsewhere(at, move || drop(span));
        ended(at, &*fixture);
    });
}

/// Runs something on a thread of its own.
fn elsewhere<T: Send>(at: At, act: impl FnOnce() -> T + Send) -> T {
    let done = thread::scope(|scope| {
        scope.spawn(|| catch_unwind(AssertUnwindSafe(act))).join().and_then(|done| done)
    });
    match done {
        Ok(value) => value,
        Err(panic) => at.fail("a span that is used on another thread", said(&*panic)),
    }
}

/// Between an exit and the next enter other spans are entered and ended, and inside of a pair too.
pub fn c4_other_spans_may_come_between(subject: &dyn Subject) {
    run(subject, async {
        let (fixture, at) = (subject.fresh().await, at(4));
        calm(at, "spans in turn", || {
            let start = || fixture.observability().start_span(OPERATION);
            let (mut first, mut second) = (start(), start());
            for _ in 0..2 {
                first.enter();
                first.exit();
                second.enter();
                second.exit();
            }
            drop(second);
            first.enter();
            let mut inner = start();
            inner.enter();
            inner.exit();
            drop(inner);
            first.exit();
        });
        ended(at, &*fixture);
    });
}

/// A failure comes with and without a cause, and to a span that was never entered.
pub fn c5_failed_with_and_without_a_cause(subject: &dyn Subject) {
    run(subject, async {
        let (fixture, at) = (subject.fresh().await, at(5));
        for cause in [Some(cause()), None] {
            for entered in [true, false] {
                let error = error(Stage::Read);
                calm(at, "a failure", || {
                    let mut span = fixture.observability().start_span(OPERATION);
                    if entered {
                        span.enter();
                        span.exit();
                    }
                    span.failed(&Failure::new(&error, cause.as_ref()));
                });
            }
        }
        ended(at, &*fixture);
    });
}

/// Any number of degradations, before a failure, after it, and without one.
pub fn c6_degraded_any_number_of_times(subject: &dyn Subject) {
    run(subject, async {
        let (fixture, at) = (subject.fresh().await, at(6));
        let (close, cache, cause) = (error(Stage::Close), error(Stage::Cache), cause());
        for fails in [false, true] {
            calm(at, "degradations", || {
                let mut span = fixture.observability().start_span(OPERATION);
                span.degraded(&Failure::new(&close, Some(&cause)));
                span.degraded(&Failure::new(&cache, None));
                if fails {
                    span.failed(&Failure::new(&close, None));
                    span.degraded(&Failure::new(&cache, Some(&cause)));
                }
                span.degraded(&Failure::new(&close, None));
            });
        }
        ended(at, &*fixture);
    });
}

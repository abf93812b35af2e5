//! Where a run's rows go: into the parts of a document, or to a writer in the order of the plan.
//!
//! ```text
//! Store:  Unopened ─▶ Busy(open) ─▶ Idle ⇄ Busy(write) ─▶ Busy(close) ─▶ Over
//!                                     └─ failure ─▶ Busy(abort) ─▶ Over
//! ```
//! Keeps true: one write at a time; `close` only for a complete result; after a failure exactly one
//! `abort`, or a drop where nothing can be awaited any more.

use alloc::boxed::Box;

use crate::encode::Document;
use crate::ports::ResultWriter;

pub(super) enum Output {
    Direct(Assembly),
    Store(Writer),
}

pub(super) enum Writer {
    Unopened,
    /// A call is open on the writer, and has it.
    Busy,
    Idle(Box<dyn ResultWriter>),
    Over,
}

/// A document that is complete but for its digest.
#[derive(Default)]
pub(super) struct Assembly {
    pub(super) document: Option<Document>,
    /// How many of its chunks are hashed.
    pub(super) hashed: usize,
}

impl Output {
    pub(super) fn is_direct(&self) -> bool {
        matches!(self, Self::Direct(_))
    }

    /// The writer, if it is at hand; it is busy from then on.
    pub(super) fn take_writer(&mut self) -> Option<Box<dyn ResultWriter>> {
        let Self::Store(writer) = self else {
            return None;
        };
        match core::mem::replace(writer, Writer::Busy) {
            Writer::Idle(idle) => Some(idle),
            other => {
                *writer = other;
                None
            }
        }
    }

    pub(super) fn set_writer(&mut self, state: Writer) {
        if let Self::Store(writer) = self {
            *writer = state;
        }
    }
}

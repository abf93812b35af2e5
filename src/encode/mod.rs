//! Rows to bytes: the one place that knows what a result looks like.
//!
//! The [`RowBatch`] that a connector fills *is* the encoder: a typed write puts bytes into the
//! result's own buffer at once. Keeps true: no I/O, no clock, no thread; the same writes give the
//! same bytes; for values that both know, the bytes of Lerian's Go engine.

mod along;
mod base64;
mod batch;
mod buffer;
mod chunk;
mod document;
mod json;
mod layout;
mod nested;
mod number;
mod string;
mod writes;

pub use batch::{RowBatch, RowFault};
pub(crate) use chunk::Chunk;
pub use document::Document;
pub(crate) use document::Parts;
pub use layout::{Format, StepShape};

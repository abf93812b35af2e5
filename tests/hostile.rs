//! Input, clocks and ports that are made to hurt: whatever they do, there is a clear error with
//! fixed text or a right result, within bounds; never a panic, a hang or unbounded work.

#![cfg(feature = "std")]

extern crate alloc;

#[path = "hostile/batches.rs"]
mod batches;
#[path = "hostile/clocks.rs"]
mod clocks;
mod common;
#[path = "hostile/input.rs"]
mod input;
#[path = "hostile/memory.rs"]
mod memory;
#[path = "hostile/ports.rs"]
mod ports;

//! What the tests of the SQL adapters have in common. Each of their test crates includes it as a
//! module of its own and says itself only what is its database's.

#![allow(dead_code, reason = "no test crate needs all of it")]

pub(crate) mod certificates;
pub(crate) mod conformance;
pub(crate) mod database;
pub(crate) mod ending;
pub(crate) mod filters;
pub(crate) mod memory;
pub(crate) mod names;
pub(crate) mod private;
pub(crate) mod random;
pub(crate) mod reading;
pub(crate) mod security;
pub(crate) mod server;
pub(crate) mod text;

/// A runtime whose work goes on while a test waits.
pub(crate) fn runtime() -> tokio::runtime::Runtime {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.worker_threads(1).enable_all().build().expect("a runtime")
}

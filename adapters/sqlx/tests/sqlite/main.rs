//! SQLite: the connector against real files, without an async runtime.

mod conformance;
mod ending;
mod files;
mod filters;
mod names;
mod snapshot;
mod support;
#[path = "../../../sql/testing/mod.rs"]
mod testing;
mod types;
mod whole;

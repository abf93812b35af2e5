//! For people who write adapters and hosts: a simulator in which anything may go wrong.
//!
//! Behind the feature `testkit`; std only, no dependency. Nothing here is meant for production.

pub mod conformance;
pub mod sim;

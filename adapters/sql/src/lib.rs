//! What the SQL adapters of [`fetcher_engine`] have in common, for those who write another one.
//!
//! | module | what it is for |
//! | --- | --- |
//! | [`address`] | which addresses a tenant must not reach |
//! | [`fault`] | what every adapter refuses, in the same words |
//! | [`name`] | table names as the engine sees them, and identifiers in SQL |
//! | [`scope`] | how a connection narrows what its host allows |
//! | [`tls`] | the modes of encryption and their names |
//!
//! There is no I/O in it, and no dependency beside the engine.

pub mod address;
pub mod fault;
pub mod name;
pub mod scope;
pub mod tls;

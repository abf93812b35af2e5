//! An embeddable data-extraction engine without dependencies.
//!
//! Product teams need data out of other people's databases: safely, per tenant, bounded and
//! reproducible. This crate owns what an extraction *means*: the life of connections, schema
//! discovery and validation, planning, execution, limits, deadlines, tenant scope, errors. The
//! application that embeds it (the *host*) owns how it *runs*, and hands in [ports]: where
//! connections live, which connectors there are, where results go.
//!
//! # A first program
//!
//! Everything in memory; `block_on` stands for whatever runtime the host has.
//!
//! ```
//! use std::sync::Arc;
//! use fetcher_engine::memory::*;
//! use fetcher_engine::value::{Value, ValueKind};
//! use fetcher_engine::*;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let source = MemoryDatasource::new();
//! let people = Table::new("people").column("name", ValueKind::String).row([Value::from("Ada")]);
//! source.put("crm", [people])?;
//! let engine = Engine::builder()
//!     .connectors(Arc::new(MemoryConnectorRegistry::new().with("memory", Arc::new(source))))
//!     .connection_store(Arc::new(MemoryConnectionStore::new()))
//!     .build()?;
//! let crm = ConnectionInput::new("crm", "memory").database("crm");
//! block_on(engine.create_connection("acme", crm))?;
//! let request = ExtractionRequest::new().table("crm", "people", ["*"]);
//! let plan = block_on(engine.plan_extraction("acme", &request))?;
//! let result = block_on(engine.execute_extraction(&plan, ExecuteOptions::new()))?;
//! assert_eq!(result.rows, 1);
//! # Ok(())
//! # }
//! ```
//!
//! # Where things are
//!
//! - [`Engine`]: every operation. [`EngineBuilder`]: the wiring, and what happens without each
//!   port.
//! - [`ports`]: the eight traits that a host or an adapter implements, with their contracts.
//! - [`connection`], [`schema`], [`extraction`]: what goes into operations and comes out.
//! - [`value`], [`filter`]: exact values; conditions, whose meaning is [`Filter::matches`].
//! - [`encode`]: the [`RowBatch`](encode::RowBatch) that connectors fill, and the result's form.
//! - [`Limits`]: how much an extraction may take. [`Category`]: the eleven ways to fail.
//! - [`guide`]: how a host wires all this, and what it does with the answers.
//! - [`memory`]: the storage-facing ports and a datasource in memory, for tests and quick starts.
//!
//! # Two results
//!
//! *Direct* mode answers with one JSON document, *store* mode streams NDJSON to the
//! [`ResultSink`](ports::ResultSink) in constant memory. Both are sorted by bytes (datasources,
//! tables, columns), carry the SHA-256 of exactly their bytes, and are the same for the same data
//! at any concurrency.
//!
//! # Cancel safety
//!
//! Dropping the future of an operation is always allowed and releases everything; what it leaves
//! behind is said per method. [`CancelToken`] ends an execution in an orderly way instead:
//! connectors are closed, the writer is aborted, the state is stored.
//!
//! # Features
//!
//! - `std` (default): panics of ports are contained, [`StdRuntime`], [`block_on`], [`memory`], and
//!   a
//!   [`CancelToken`] that wakes. Without it the crate is `#![no_std]` with `alloc`.
//! - `testkit`: for people who write adapters and hosts.
//!
//! # What is deliberately absent
//!
//! No database driver, no HTTP, no queue, no scheduler, no retry: a host decides whether to try
//! again, and the category tells it when that can help. No keys: a host brings its
//! [`CredentialProtector`](ports::CredentialProtector). No SQL: what a filter becomes is the
//! adapter's affair. No logging: private causes go to [`Observability`](ports::Observability) and
//! nowhere else.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![no_std]
#![warn(
    clippy::alloc_instead_of_core,
    clippy::exhaustive_enums,
    clippy::exhaustive_structs,
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core
)]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

#[macro_use]
mod planted;

pub mod connection;
pub mod digest;
pub mod encode;
mod engine;
mod error;
pub mod extraction;
pub mod filter;
#[cfg(feature = "std")]
pub mod guide;
mod limits;
#[cfg(feature = "std")]
pub mod memory;
pub mod ports;
mod rt;
mod run;
pub mod schema;
mod secret;
mod tenant;
#[cfg(feature = "testkit")]
pub mod testkit;
pub mod value;

pub use connection::{ConnectionDescriptor, ConnectionInput, ConnectionPatch, PageQuery};
pub use engine::{Engine, EngineBuilder};
pub use error::{
    BoxError, Category, EngineError, Mistake, MistakeKind, PortError, Stage, ValidationReport,
};
pub use extraction::{
    ExtractionPlan, ExtractionRequest, ExtractionResult, FailurePolicy, Mode, Output,
};
pub use filter::{Filter, Operator};
pub use limits::{LimitOverrides, Limits};
pub use ports::BoxFuture;
pub use rt::{CancelToken, Runtime, Sleep};
#[cfg(feature = "std")]
pub use rt::{StdRuntime, block_on};
pub use run::{ExecuteOptions, Progress};
pub use secret::Secret;
pub use tenant::{AsTenant, TENANT_ID_BYTES_MAX, TenantId};
pub use value::Value;

/// The README's program, so that it cannot rot.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

//! For hosts: how to wire an engine, and what to do with its answers.
//!
//! # Wiring
//!
//! Start with the two ports that everything needs, and add the others as they are wanted:
//!
//! ```
//! use std::sync::Arc;
//! use fetcher_engine::memory::{
//!     MemoryConnectionStore, MemoryConnectorRegistry, MemoryDatasource, MemoryExecutionStore,
//!     MemoryResultSink, MemorySchemaCache,
//! };
//! use fetcher_engine::{Engine, Limits};
//!
//! # fn main() -> Result<(), fetcher_engine::EngineError> {
//! let mut limits = Limits::default();
//! limits.max_rows = 1_000_000;
//! let engine = Engine::builder()
//!     // Which connectors there are: type → factory.
//!     .connectors(Arc::new(
//!         MemoryConnectorRegistry::new().with("memory", Arc::new(MemoryDatasource::new())),
//!     ))
//!     // Where connections live: your database.
//!     .connection_store(Arc::new(MemoryConnectionStore::new()))
//!     // Where results go; with it, mode `auto` is store mode.
//!     .result_sink(Arc::new(MemoryResultSink::new()))
//!     // Schemas seen before; the engine never trusts one of another connection.
//!     .schema_cache(Arc::new(MemorySchemaCache::new()))
//!     // The state of executions, for whoever asks later. Every request then needs an id.
//!     .execution_store(Arc::new(MemoryExecutionStore::new()))
//!     .limits(limits)
//!     .build()?;
//! # Ok(())
//! # }
//! ```
//!
//! - **Connectors.** An adapter crate brings the factory. It asks a
//!   [`CredentialResolver`](crate::ports::CredentialResolver) for passwords; the usual one is
//!   [`VaultResolver`](crate::ports::VaultResolver).
//! - **Credentials.** With [`encrypted_persistence`](crate::EngineBuilder::encrypted_persistence) a
//!   password reaches the store only as what your
//!   [`CredentialProtector`](crate::ports::CredentialProtector) made of it. Keys and their rotation
//!   are yours: `reveal` is handed the key version that `protect` told.
//! - **Active executions.** An [`ActiveExecutionChecker`](crate::ports::ActiveExecutionChecker)
//!   keeps connections from being changed while work depends on them.
//! - **Tests.** Everything in [`memory`](crate::memory) is a full implementation; with the feature
//!   `testkit` any port can be put under a simulation.
//!
//! # What to do with a category
//!
//! | category | HTTP | queue worker |
//! | --- | --- | --- |
//! | `validation` | 422, with the [report](crate::EngineError::report) | dead letter |
//! | `not_found` | 404 | dead letter |
//! | `unauthorized` | 401 | dead letter |
//! | `forbidden` | 403 | dead letter |
//! | `limit_exceeded` | 413 | dead letter |
//! | `conflict` | 409 | plan again, then retry once |
//! | `unavailable` | 503 | retry with back-off |
//! | `connect` | 502 | retry with back-off, a few times |
//! | `timeout` | 504 | retry once; the same work takes as long again |
//! | `canceled` | 499 | acknowledge: somebody wanted it |
//! | `internal` | 500 | dead letter, and tell a developer |
//!
//! A success is acknowledged after the result's reference is where it is needed. An extraction only
//! reads, so doing it twice is safe; a result sink should make its references unique.
//!
//! # Hosts that live with partial results
//!
//! A report renders what it gets. Such a host runs in direct mode with
//! [`FailurePolicy::Collect`](crate::FailurePolicy::Collect) and limits of its own:
//!
//! ```
//! use fetcher_engine::{ExecuteOptions, FailurePolicy, Limits, Mode};
//! use std::time::Duration;
//!
//! let mut limits = Limits::default();
//! limits.max_datasources = 10;
//! limits.max_tables_per_datasource = 50;
//! limits.max_fields_per_table = 200;
//! limits.max_concurrency = 4;
//! limits.max_duration = Some(Duration::from_secs(5 * 60));
//!
//! let options =
//!     ExecuteOptions::new().mode(Mode::Direct).failure_policy(FailurePolicy::Collect);
//! ```
//!
//! [`failures`](crate::ExtractionResult::failures) lists what is missing; when it is not empty the
//! report is partial. A datasource that fails leaves nothing in the document, not even its name. A
//! limit, a cancel and the deadline end the whole extraction all the same.
//!
//! # Spans
//!
//! An [`Observability`](crate::ports::Observability) port gets one span per operation, entered
//! around every poll, so that spans which a driver opens meanwhile are nested in it. Only there do
//! the causes of failures come out:
//!
//! ```
//! use fetcher_engine::ports::{Failure, Observability, Span};
//!
//! struct Log;
//! struct Line(&'static str);
//!
//! impl Observability for Log {
//!     fn start_span(&self, operation: &'static str) -> Box<dyn Span> {
//!         Box::new(Line(operation))
//!     }
//! }
//!
//! impl Span for Line {
//!     fn failed(&mut self, failure: &Failure<'_>) {
//!         // Private: a cause may hold a DSN or a row.
//!         eprintln!("{}: {} because {:?}", self.0, failure.error(), failure.cause());
//!     }
//! }
//! ```
//!
//! With the `tracing` crate, keep a `tracing::Span` and its dispatcher in the span object; `enter`
//! calls `dispatcher.enter(&id)` and `exit` calls `dispatcher.exit(&id)`, because a guard cannot be
//! kept across polls.
//!
//! # Time
//!
//! Under `std` the engine keeps time with one thread for the whole process. To use the runtime's
//! own timer instead, hand in a [`Runtime`](crate::Runtime); its documentation shows one for Tokio.
//! A runtime is needed for deadlines and for the teardown budget: without one, nobody stops a port
//! that never answers.
//!
//! # Canceling
//!
//! Dropping a future is enough to end an operation. For an execution a
//! [`CancelToken`](crate::CancelToken) is kinder: connectors are closed, the sink's writer is
//! aborted and the state `canceled` is stored before the future answers.

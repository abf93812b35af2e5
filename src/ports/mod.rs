//! The eight ports: all that the engine knows of the world outside it. Traits only.
//!
//! Every trait is object-safe, `Send + Sync + 'static`, and asynchronous methods return a
//! [`BoxFuture`]: write `Box::pin(async move { … })`. Each method states its
//! contract in numbered clauses, its errors, and what a dropped future leaves behind.
//!
//! Rules for all of them: a method must not block the thread; it must scope whatever it does by
//! the tenant that it is given; it answers with a [`PortError`](crate::PortError), whose category
//! the caller of the engine sees and whose cause only the host's observability sees.

use alloc::boxed::Box;
use core::future::Future;
use core::pin::Pin;

mod active_execution_checker;
mod connection_store;
mod connector;
mod credential_protector;
mod credentials;
mod execution_store;
mod observability;
mod result_sink;
mod schema_cache;

pub use active_execution_checker::ActiveExecutionChecker;
pub use connection_store::ConnectionStore;
pub use connector::{
    Connector, ConnectorContext, ConnectorFactory, ConnectorLimits, ConnectorRegistry, Fetched,
    Query,
};
pub use credential_protector::{CredentialProtector, Protected};
pub use credentials::{CredentialResolver, CredentialVault, VaultResolver};
pub use execution_store::{ExecutionRecord, ExecutionState, ExecutionStore};
pub use observability::{Failure, Observability, PortPanic, Span};
pub use result_sink::{ResultHeader, ResultSink, ResultWriter};
pub use schema_cache::SchemaCache;

/// What asynchronous port methods return.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

//! Port 1: datasources. A registry knows factories, a factory builds connectors, and a connector
//! connects once, then tells its schema or reads rows, and is closed.
//!
//! ```text
//! build ─▶ connect ─┬─▶ discover_schema ─┬─▶ close
//!                   └─▶ open ─▶ fetch* ──┘
//! ```
//! After `open` the connector is the cursor: it owns what it reads from.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use super::BoxFuture;
use crate::connection::ConnectionDescriptor;
use crate::encode::RowBatch;
use crate::error::PortError;
use crate::extraction::PlannedTable;
use crate::schema::TableSchema;
use crate::tenant::TenantId;

/// Hard limits that only a connector understands, carried to it uninterpreted.
pub type ConnectorLimits = BTreeMap<String, String>;

/// Which factory serves a connection type. Always required.
pub trait ConnectorRegistry: Send + Sync + 'static {
    /// The factory for this connection type.
    ///
    /// # Contract
    /// C1. The same type gives the same answer. C2. `None` for an unknown type.
    ///
    /// It does no I/O.
    fn factory(&self, kind: &str) -> Option<Arc<dyn ConnectorFactory>>;
}

/// Builds connectors of one type.
pub trait ConnectorFactory: Send + Sync + 'static {
    /// Makes a connector that is not connected yet.
    ///
    /// # Contract
    /// C3. No I/O, no credential: both belong to [`Connector::connect`]. C4. Each call gives a new
    /// connector that shares no state with others.
    ///
    /// A descriptor has no place for a secret; a factory that needs one holds a
    /// [`CredentialResolver`](super::CredentialResolver).
    ///
    /// # Errors
    /// C5. `validation` when the descriptor cannot be meant for this type.
    fn build(&self, context: ConnectorContext) -> Result<Box<dyn Connector>, PortError>;

    /// The canonical form of a table name (PostgreSQL: `users` for `public.users`); `None` when
    /// the name is canonical already. Applied to requested and to discovered names.
    ///
    /// # Contract
    /// C6. Pure and idempotent: the canonical form of a canonical name is itself.
    fn canonical_table(&self, name: &str) -> Option<Arc<str>> {
        let _ = name;
        None
    }
}

/// For whom and what a connector is built.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ConnectorContext {
    /// Whose connection it is.
    pub tenant: TenantId,
    /// The connection, without a secret.
    pub connection: ConnectionDescriptor,
    /// Hard limits of the connector's own.
    pub limits: Arc<ConnectorLimits>,
}

impl ConnectorContext {
    /// A context without limits of the connector's own.
    #[must_use]
    pub fn new(connection: ConnectionDescriptor) -> Self {
        Self { tenant: connection.tenant.clone(), connection, limits: Arc::default() }
    }

    /// With these hard limits.
    #[must_use]
    pub fn limits(mut self, limits: Arc<ConnectorLimits>) -> Self {
        self.limits = limits;
        self
    }
}

/// What is to be read from one datasource.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Query {
    /// The tables, sorted by name, with their fields (sorted) and filters.
    pub tables: Arc<[PlannedTable]>,
    /// How much of the deadline is left; for a timeout at the server.
    pub time_left: Option<Duration>,
}

impl Query {
    /// A query for these tables, without a deadline.
    #[must_use]
    pub fn new(tables: Arc<[PlannedTable]>) -> Self {
        Self { tables, time_left: None }
    }

    /// With this much time left.
    #[must_use]
    pub fn time_left(mut self, time_left: Option<Duration>) -> Self {
        self.time_left = time_left;
        self
    }
}

/// Whether rows may follow.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "there is no third answer")]
pub enum Fetched {
    /// More may follow.
    More,
    /// That was all. Only this ends a step: a broken connection is an error, never an end.
    End,
}

/// One connection to one datasource. Single-flight: the engine never has two calls open on it.
///
/// The engine closes every connector that it built, exactly once, on every path that it still
/// runs. When the host drops the engine's future, connectors are dropped: release synchronously.
///
/// Closing twice, or calling anything after `close`, is unrepresentable: `close` takes the
/// connector.
pub trait Connector: Send + 'static {
    /// Connects. The one explicit step that does: nothing before it touches the network.
    ///
    /// # Contract
    /// C7. Connects, or is an error: there is no connection that shows later that it is none. C8.
    /// Resolves the credential itself. C9. Never a weaker transport than the connection asks for.
    ///
    /// The engine calls it once, first.
    ///
    /// # Errors
    /// Any category; the caller of the engine always sees `connect`.
    ///
    /// # Cancel safety
    /// C10. After a drop only `close` or drop follow, and either releases everything.
    fn connect(&mut self) -> BoxFuture<'_, Result<(), PortError>>;

    /// Reads the catalogue: every table that may be read, with its fields in order.
    ///
    /// # Contract
    /// C11. Every name exactly as it is there, the fields in the source's order. C12. Only what
    /// this connection's user may read, no system tables.
    ///
    /// The engine calls it after `connect`.
    ///
    /// # Errors
    /// `unavailable` when the connection breaks, `forbidden` when the catalogue may not be read.
    ///
    /// # Cancel safety
    /// C13. After a drop only `close` or drop follow; the server is told to stop.
    fn discover_schema(&mut self) -> BoxFuture<'_, Result<Vec<TableSchema>, PortError>>;

    /// Opens the cursor over all tables of the query.
    ///
    /// # Contract
    /// C14. All tables are read in one read-only snapshot. C15. Rows are kept exactly as
    /// [`Filter::matches`](crate::Filter::matches) has it, by all filters of their table. C16. A
    /// filter that cannot be applied with exactly that meaning, or whose value does not convert to
    /// the column's type, is refused here with `validation`, before the first row; none is ever
    /// dropped. C17. Identifiers are quoted, values bound.
    ///
    /// The engine calls it once, after `connect`.
    ///
    /// # Errors
    /// `validation` for such a filter; `unavailable` when the connection breaks.
    ///
    /// # Cancel safety
    /// C18. After a drop only `close` or drop follow; the server is told to stop.
    fn open(&mut self, query: Query) -> BoxFuture<'_, Result<(), PortError>>;

    /// Fills the batch with rows until [`RowBatch::is_full`] or nothing more is at hand, and gives
    /// it back.
    ///
    /// # Contract
    /// C19. The batch that comes back is the one that was given. C20. At least one row, or an end,
    /// unless none is at hand yet. C21. A full batch goes back at once. C22. `End` only when every
    /// table was declared and every row given, those of several tables too. C23. Every value
    /// exact: no rounding, no changed type, nothing dropped. C24. However large it is.
    ///
    /// The engine calls it after `open`, until the first [`Fetched::End`] or error.
    ///
    /// # Errors
    /// C25. `unavailable` when the connection breaks, however many rows were read; never an end.
    ///
    /// # Cancel safety
    /// C26. After a drop only `close` or drop follow; the batch is lost, the server is told to
    /// stop.
    fn fetch(&mut self, batch: RowBatch) -> BoxFuture<'_, Result<(RowBatch, Fetched), PortError>>;

    /// Gives everything back.
    ///
    /// # Contract
    /// C27. Legal in every state, also after an error or a dropped call, and whether or not
    /// `connect` was called. C28. Nothing is held once it has answered, whatever the answer.
    ///
    /// # Errors
    /// Told to the host's observability; they never change a result.
    ///
    /// # Cancel safety
    /// C29. A drop, of the connector or of this call, releases everything too.
    fn close(self: Box<Self>) -> BoxFuture<'static, Result<(), PortError>>;
}

//! The connector, for every database: connect, then discover or open and fetch, then close.
//!
//! ```text
//! Built ─▶ Connected ─┬─▶ discover ─▶ Connected
//!                     └─▶ Reading: the reader has the connection until its end
//! ```
//! Keeps true: all tables of a query are read in one transaction; every statement is checked by the
//! database, and every filter by its column's type, before the first row; whatever runs at the
//! database is stopped before its connection is closed, also when the connector is dropped.

use std::sync::Arc;
use std::time::Instant;

use fetcher_engine::encode::RowBatch;
use fetcher_engine::ports::{
    BoxFuture, Connector, ConnectorContext, CredentialResolver, Fetched, Query,
};
use fetcher_engine::schema::TableSchema;
use fetcher_engine::{Category, PortError};
use fetcher_sql::fault::{NO_TABLE, out_of_order, refused};

use crate::dialect::Dialect;
use crate::query::TableQuery;
use crate::read::Reader;

pub(crate) struct SqlConnector<D: Dialect> {
    context: ConnectorContext,
    target: D::Target,
    credentials: Option<Arc<dyn CredentialResolver>>,
    /// Whether `connect` was called; it is legal once.
    begun: bool,
    session: Option<Session<D>>,
}

/// A connection that was made.
struct Session<D: Dialect> {
    stop: D::Stop,
    /// The reader has it while rows are read.
    connection: Option<D::Connection>,
    reader: Option<Reader<D>>,
    /// Whether a call is under way; one that was dropped leaves it so.
    busy: bool,
}

impl<D: Dialect> Session<D> {
    /// Whether something may be running at the database.
    fn is_at_work(&self) -> bool {
        self.busy || self.reader.as_ref().is_some_and(Reader::is_running)
    }

    /// The connection, if it may be used for something new.
    fn idle(&mut self) -> Result<(&D::Stop, &mut D::Connection), PortError> {
        match &mut self.connection {
            Some(connection) if !self.busy && self.reader.is_none() => Ok((&self.stop, connection)),
            _ => Err(out_of_order()),
        }
    }

    async fn close(mut self) -> Result<(), PortError> {
        let at_work = self.is_at_work();
        let stopped = if at_work { D::stop(&self.stop).await } else { Ok(()) };
        self.busy = false;
        let connection = match self.reader.take() {
            Some(reader) => reader.stop().await,
            None => self.connection.take(),
        };
        if let Some(connection) = connection {
            D::close(connection, !at_work).await?;
        }
        stopped
    }
}

impl<D: Dialect> Drop for Session<D> {
    fn drop(&mut self) {
        if self.is_at_work() {
            D::abandon(&self.stop);
        }
    }
}

impl<D: Dialect> SqlConnector<D> {
    pub(crate) const fn new(
        context: ConnectorContext,
        target: D::Target,
        credentials: Option<Arc<dyn CredentialResolver>>,
    ) -> Self {
        Self { context, target, credentials, begun: false, session: None }
    }

    fn session(&mut self) -> Result<(&D::Target, &mut Session<D>), PortError> {
        match &mut self.session {
            Some(session) => Ok((&self.target, session)),
            None => Err(out_of_order()),
        }
    }
}

/// Runs a call on the idle connection of a session. One that is dropped leaves the session busy,
/// one that fails does not.
macro_rules! call {
    ($session:expr, |$stop:ident, $connection:ident| $call:expr) => {{
        let session: &mut Session<_> = $session;
        session.idle()?;
        session.busy = true;
        let ($stop, $connection) = (&session.stop, &mut session.connection);
        let $connection = $connection.as_mut().ok_or_else(out_of_order)?;
        let answer = $call.await;
        session.busy = false;
        answer
    }};
}

impl<D: Dialect> Connector for SqlConnector<D> {
    fn connect(&mut self) -> BoxFuture<'_, Result<(), PortError>> {
        Box::pin(async move {
            if std::mem::replace(&mut self.begun, true) {
                return Err(out_of_order());
            }
            if !D::is_possible() {
                return Err(PortError::internal().caused_by("it needs a Tokio runtime around it"));
            }
            let password = match &self.credentials {
                Some(resolver) => {
                    let ConnectorContext { tenant, connection, .. } = &self.context;
                    resolver.resolve(tenant, connection).await?
                }
                None => None,
            };
            let (connection, stop) = D::connect(&self.target, password.as_ref()).await?;
            let connection = Some(connection);
            self.session = Some(Session { stop, connection, reader: None, busy: false });
            Ok(())
        })
    }

    fn discover_schema(&mut self) -> BoxFuture<'_, Result<Vec<TableSchema>, PortError>> {
        Box::pin(async move {
            let (target, session) = self.session()?;
            call!(session, |_stop, connection| D::discover(target, connection))
        })
    }

    fn open(&mut self, query: Query) -> BoxFuture<'_, Result<(), PortError>> {
        Box::pin(async move {
            let (target, session) = self.session()?;
            let deadline = query.time_left.and_then(|left| Instant::now().checked_add(left));
            let opened = open(target, session, &query, deadline).await;
            let is_late = deadline.is_some_and(|deadline| Instant::now() >= deadline);
            let tables = opened.map_err(|error| overdue(error, is_late))?;
            let connection = session.connection.take().ok_or_else(out_of_order)?;
            session.reader = Some(Reader::new(connection, tables, deadline));
            Ok(())
        })
    }

    fn fetch(&mut self, batch: RowBatch) -> BoxFuture<'_, Result<(RowBatch, Fetched), PortError>> {
        Box::pin(async move {
            let (_, session) = self.session()?;
            session.reader.as_mut().ok_or_else(out_of_order)?.fetch(batch).await
        })
    }

    fn close(mut self: Box<Self>) -> BoxFuture<'static, Result<(), PortError>> {
        Box::pin(async move {
            match self.session.take() {
                Some(session) if D::is_possible() => session.close().await,
                _ => Ok(()),
            }
        })
    }
}

/// What fails when the deadline has passed has failed of that, unless it is the query's own fault.
fn overdue(error: PortError, is_late: bool) -> PortError {
    match error.category() {
        Category::Unavailable if is_late => PortError::from(Category::Timeout).caused_by(error),
        _ => error,
    }
}

/// Begins the transaction and makes the statements of all tables; once more where the dialect takes
/// another connection for them, since that one has a snapshot of its own.
async fn open<D: Dialect>(
    target: &D::Target,
    session: &mut Session<D>,
    query: &Query,
    deadline: Option<Instant>,
) -> Result<Vec<TableQuery<D::Form>>, PortError> {
    let tables =
        call!(session, |stop, connection| prepare::<D>(target, stop, connection, query, deadline))?;
    let selected: Vec<_> = tables.iter().map(|table| &table.selected).collect();
    let connection = session.connection.take().ok_or_else(out_of_order)?;
    session.busy = true;
    let settled = D::settle(target, &session.stop, connection, &selected).await;
    session.busy = false;
    let (connection, is_another) = settled?;
    session.connection = Some(connection);
    if !is_another {
        return Ok(tables);
    }
    call!(session, |stop, connection| prepare::<D>(target, stop, connection, query, deadline))
}

async fn prepare<D: Dialect>(
    target: &D::Target,
    stop: &D::Stop,
    connection: &mut D::Connection,
    query: &Query,
    deadline: Option<Instant>,
) -> Result<Vec<TableQuery<D::Form>>, PortError> {
    let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
    D::begin(target, stop, connection, left).await?;
    let mut tables = Vec::with_capacity(query.tables.len());
    for planned in query.tables.iter() {
        let at_table = |error: PortError| error.at_table(planned.name());
        let table = D::table(target, connection, planned.name()).await.map_err(at_table)?;
        let table = table.ok_or_else(|| refused(planned, NO_TABLE))?;
        let query = TableQuery::new::<D>(planned, &table)?;
        let checked = D::check(connection, &query.sql).await;
        checked.map_err(|error| at_table(D::fault(error, false)))?;
        tables.push(query);
    }
    Ok(tables)
}

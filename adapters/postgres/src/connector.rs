//! The connector: connect, then discover or open and fetch, then close.
//!
//! ```text
//! Built ─▶ Connected ─┬─▶ discover ─▶ Connected
//!                     └─▶ Reading: per table ─ start ─ rows* ─ end ─▶ Over
//! ```
//! Keeps true: all tables of a query are read in one transaction; every statement is prepared, and
//! every filter checked by the server, before the first row; the end of a table is what the server
//! says it is, never a connection that broke.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use fetcher_engine::Category;
use fetcher_engine::PortError;
use fetcher_engine::encode::RowBatch;
use fetcher_engine::extraction::PlannedTable;
use fetcher_engine::ports::{
    BoxFuture, Connector, ConnectorContext, CredentialResolver, Fetched, Query,
};
use fetcher_engine::schema::TableSchema;
use fetcher_sql::fault::{NO_TABLE, malformed, out_of_order, refused};
use fetcher_sql::name::TableName;
use tokio::time::Instant;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{FromSql, ToSql, Type};
use tokio_postgres::{Client, Error, Row, RowStream, Statement};

use crate::catalogue;
use crate::condition::{Encoding, Param};
use crate::decode::Decoder;
use crate::fault;
use crate::options::Target;
use crate::query::TableQuery;
use crate::session::{Link, Login, Session, poll_next};
use crate::shape::{Catalogue, Shape};
use crate::sql::{self, NAMING};
use crate::wire::Dialer;

/// What a factory gives each of its connectors.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) credentials: Option<Arc<dyn CredentialResolver>>,
    pub(crate) dialer: Dialer,
    pub(crate) connect_timeout: Duration,
    pub(crate) application: Arc<str>,
}

pub(crate) struct PostgresConnector {
    context: ConnectorContext,
    target: Target,
    shared: Shared,
    /// Whether `connect` was called; it is legal once.
    begun: bool,
    session: Option<Session>,
    reading: Option<Reading>,
}

impl PostgresConnector {
    pub(crate) fn new(context: ConnectorContext, target: Target, shared: Shared) -> Self {
        Self { context, target, shared, begun: false, session: None, reading: None }
    }

    fn idle(&mut self) -> Result<&mut Session, PortError> {
        match (&mut self.session, &self.reading) {
            (Some(session), None) if !session.busy => Ok(session),
            _ => Err(out_of_order()),
        }
    }
}

impl Connector for PostgresConnector {
    fn connect(&mut self) -> BoxFuture<'_, Result<(), PortError>> {
        Box::pin(async move {
            if std::mem::replace(&mut self.begun, true) {
                return Err(out_of_order());
            }
            if tokio::runtime::Handle::try_current().is_err() {
                return Err(PortError::internal().caused_by("it needs a Tokio runtime around it"));
            }
            let Shared { credentials, dialer, connect_timeout, application } = &self.shared;
            let password = match credentials {
                Some(resolver) => {
                    let ConnectorContext { tenant, connection, .. } = &self.context;
                    resolver.resolve(tenant, connection).await?
                }
                None => None,
            };
            let login = Login { dialer: *dialer, password: password.as_ref(), application };
            let connecting = Session::connect(&self.target, login);
            let session = tokio::time::timeout(*connect_timeout, connecting).await;
            let late = |_| PortError::from(Category::Timeout).caused_by("connecting took too long");
            self.session = Some(session.map_err(late)??);
            Ok(())
        })
    }

    fn discover_schema(&mut self) -> BoxFuture<'_, Result<Vec<TableSchema>, PortError>> {
        Box::pin(async move {
            let schemas = self.target.schemas.clone();
            let session = self.idle()?;
            let rows = session.call(|client| catalogue::tables(client, schemas.as_deref())).await;
            catalogue::schema(&rows.map_err(|error| fault::querying(error, false))?)
        })
    }

    fn open(&mut self, query: Query) -> BoxFuture<'_, Result<(), PortError>> {
        Box::pin(async move {
            let names = names(&query, self.target.schemas.as_deref())?;
            let session = self.idle()?;
            self.reading = Some(Reading::open(session, &query, &names).await?);
            Ok(())
        })
    }

    fn fetch(
        &mut self,
        mut batch: RowBatch,
    ) -> BoxFuture<'_, Result<(RowBatch, Fetched), PortError>> {
        Box::pin(async move {
            let (Some(session), Some(reading)) = (&mut self.session, &mut self.reading) else {
                return Err(out_of_order());
            };
            let fetched = reading.fetch(session, &mut batch).await?;
            Ok((batch, fetched))
        })
    }

    fn close(self: Box<Self>) -> BoxFuture<'static, Result<(), PortError>> {
        Box::pin(async move {
            let Self { session, reading, .. } = *self;
            // The streams first: they hold nothing, but the driver waits for none that is gone.
            drop(reading);
            match session {
                Some(session) if tokio::runtime::Handle::try_current().is_ok() => {
                    session.close().await
                }
                _ => Ok(()),
            }
        })
    }
}

/// The tables as the catalogue knows them; refused where they are out of scope.
fn names(query: &Query, scope: Option<&[String]>) -> Result<Vec<TableName>, PortError> {
    let name = |planned: &PlannedTable| {
        let name = NAMING.parse(planned.name()).filter(|name| {
            !sql::is_system(name) && scope.is_none_or(|scope| scope.contains(&name.schema))
        });
        name.ok_or_else(|| refused(planned, NO_TABLE))
    };
    query.tables.iter().map(name).collect()
}

/// The cursor over all tables of a query.
struct Reading {
    tables: Vec<Table>,
    /// The table that is being read.
    at: usize,
    rows: Option<Rows>,
    decoder: Decoder,
    deadline: Option<Instant>,
}

/// One table, prepared.
struct Table {
    planned: PlannedTable,
    shapes: Vec<Shape>,
    statement: Statement,
    /// The parameters of the filters; the statement has one more, its limit.
    params: Vec<Param>,
}

/// The rows of one table, on their way.
type Rows = Pin<Box<RowStream>>;

impl Reading {
    async fn open(
        session: &mut Session,
        query: &Query,
        names: &[TableName],
    ) -> Result<Self, PortError> {
        let deadline = query.time_left.and_then(|left| Instant::now().checked_add(left));
        let is_late = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
        let failed = |error| fault::querying(error, is_late());
        let begin = begin(query.time_left, session.version());
        session.call(|client| client.batch_execute(&begin)).await.map_err(failed)?;
        let rows = session.call(|client| catalogue::columns(client, names)).await;
        let columns = catalogue::by_table(&rows.map_err(failed)?, names.len())?;
        let kinds = columns.iter().flat_map(|columns| columns.values());
        let mut custom: Vec<_> =
            kinds.map(|column| column.kind).filter(|kind| Shape::is_custom(*kind)).collect();
        custom.sort_unstable();
        custom.dedup();
        let mut known = Catalogue::new();
        if !custom.is_empty() {
            let version = session.version();
            let rows = session.call(|client| catalogue::types(client, &custom, version)).await;
            known = catalogue::catalogue(&rows.map_err(failed)?)?;
        }
        let encoding = Encoding { is_utf8: session.is_utf8() };
        let mut queries = Vec::with_capacity(names.len());
        for ((planned, name), columns) in query.tables.iter().zip(names).zip(&columns) {
            if columns.is_empty() {
                return Err(refused(planned, NO_TABLE));
            }
            queries.push(TableQuery::new(planned, name, columns, &known, encoding)?);
        }
        let tables = prepare(session, query, queries, is_late()).await?;
        Ok(Self { tables, at: 0, rows: None, decoder: Decoder::default(), deadline })
    }

    async fn fetch(
        &mut self,
        session: &mut Session,
        batch: &mut RowBatch,
    ) -> Result<Fetched, PortError> {
        while let Some(table) = self.tables.get(self.at) {
            let at_table = |error: PortError| error.at_table(table.planned.name());
            batch.table(table.planned.name(), table.planned.fields())?;
            let rows = match &mut self.rows {
                Some(rows) => rows,
                None => {
                    let rows = table.start(session).await;
                    let late = is_past(self.deadline);
                    let rows = rows.map_err(|error| at_table(fault::querying(error, late)))?;
                    // From here on the server is at work until the table ends.
                    session.busy = true;
                    self.rows.insert(rows)
                }
            };
            let (link, decoder) = (&mut session.link, &mut self.decoder);
            let filled = poll_fn(|cx| poll_fill(rows, cx, link, table, decoder, batch)).await;
            let filled = filled.map_err(|failed| match failed {
                Failed::Driver(error) => fault::querying(error, is_past(self.deadline)),
                Failed::Port(error) => error,
            });
            let filled = filled.map_err(at_table)?;
            if filled == Fetched::More {
                return Ok(Fetched::More);
            }
            (self.rows, session.busy) = (None, false);
            self.at += 1;
        }
        Ok(Fetched::End)
    }
}

fn is_past(deadline: Option<Instant>) -> bool {
    deadline.is_some_and(|deadline| Instant::now() >= deadline)
}

/// The first version that can look, while a query runs, whether its client is still there.
const LOOKS_AT_SOCKET_SINCE: u32 = 14;

/// Begins the one transaction and pins what texts look like, for its time only: a pooler between
/// here and the server finds nothing left behind.
fn begin(time_left: Option<Duration>, version: u32) -> String {
    let mut sql = String::from(
        "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; \
         SET LOCAL TimeZone = 'UTC'; \
         SET LOCAL DateStyle = 'ISO, YMD'; \
         SET LOCAL IntervalStyle = 'iso_8601'; \
         SET LOCAL extra_float_digits = 1; \
         SET LOCAL bytea_output = 'hex'; \
         SET LOCAL xmloption = 'content'",
    );
    if version >= LOOKS_AT_SOCKET_SINCE {
        // So that a query ends when its connector is dropped, also one that sends nothing.
        sql += "; SET LOCAL client_connection_check_interval = 500";
    }
    if let Some(left) = time_left {
        // Zero would mean no timeout; the most that the server takes is 24 days.
        let millis = left.as_millis().clamp(1, i32::MAX as u128);
        sql += &format!("; SET LOCAL statement_timeout = {millis}");
    }
    sql
}

type Preparing<'a> = Pin<Box<dyn Future<Output = Result<Prepared, Error>> + Send + 'a>>;

/// The statement that reads, and the types that the server says it gives.
type Prepared = (Statement, Vec<u32>);

/// Prepares all tables at once, and has the server check their filters and privileges.
async fn prepare(
    session: &mut Session,
    query: &Query,
    queries: Vec<TableQuery>,
    late: bool,
) -> Result<Vec<Table>, PortError> {
    session.busy = true;
    let client = &session.client;
    let calls: Vec<Preparing<'_>> =
        queries.iter().map(|query| Box::pin(prepare_one(client, query)) as _).collect();
    let answers = session.link.drive(all(calls)).await;
    session.busy = false;
    // What follows the first failure fails because of it.
    let secondary = |error: &Error| error.code() == Some(&SqlState::IN_FAILED_SQL_TRANSACTION);
    let first =
        answers.iter().position(|answer| answer.as_ref().is_err_and(|error| !secondary(error)));
    let mut tables = Vec::with_capacity(queries.len());
    for (at, ((planned, query), answer)) in
        query.tables.iter().zip(queries).zip(answers).enumerate()
    {
        if first.is_some_and(|first| first != at) {
            continue;
        }
        let answer = answer.map_err(|error| fault::preparing(error, late));
        let (statement, types) = answer.map_err(|error| error.at_table(planned.name()))?;
        if types != query.types {
            let changed = PortError::unavailable().caused_by("a column changed its type just now");
            return Err(changed.at_table(planned.name()));
        }
        let TableQuery { conditions, shapes, .. } = query;
        let params = conditions.params;
        tables.push(Table { planned: planned.clone(), shapes, statement, params });
    }
    Ok(tables)
}

/// Runs the query for no row: the server reads the parameters, looks at privileges and locks the
/// table against change, and nothing is scanned.
async fn prepare_one(client: &Client, query: &TableQuery) -> Result<Prepared, Error> {
    let TableQuery { sql, conditions, .. } = query;
    let mut types = conditions.types.clone();
    types.push(Type::INT8);
    // One statement for the check and for the rows: no limit is a limit of null.
    let limited = format!("{sql} LIMIT ${}", types.len());
    let statement = client.prepare_typed(&limited, &types).await?;
    let none = Param::new("0".to_owned());
    client.execute_raw(&statement, with_limit(&conditions.params, &none)).await?;
    let types = statement.columns().iter().map(|column| column.type_().oid()).collect();
    Ok((statement, types))
}

fn with_limit<'a>(
    params: &'a [Param],
    limit: &'a Param,
) -> impl ExactSizeIterator<Item = &'a (dyn ToSql + Sync)> {
    let all: Vec<_> = params.iter().chain([limit]).map(|it| it as &(dyn ToSql + Sync)).collect();
    all.into_iter()
}

/// Waits for all of them, in one future.
async fn all<T>(calls: Vec<Pin<Box<dyn Future<Output = T> + Send + '_>>>) -> Vec<T> {
    let mut calls: Vec<_> = calls.into_iter().map(Some).collect();
    let mut answers: Vec<Option<T>> = calls.iter().map(|_| None).collect();
    poll_fn(|cx| {
        let mut waiting = false;
        for (call, answer) in calls.iter_mut().zip(&mut answers) {
            let Some(pending) = call else { continue };
            match pending.as_mut().poll(cx) {
                Poll::Ready(value) => (*call, *answer) = (None, Some(value)),
                Poll::Pending => waiting = true,
            }
        }
        if waiting { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
    answers.into_iter().flatten().collect()
}

impl Table {
    async fn start(&self, session: &mut Session) -> Result<Rows, Error> {
        let unlimited = Param::null();
        let params = with_limit(&self.params, &unlimited);
        let rows = session.call(|client| client.query_raw(&self.statement, params)).await?;
        Ok(Box::pin(rows))
    }
}

/// A value's bytes, whatever its type.
struct Raw<'a>(Option<&'a [u8]>);

impl<'a> FromSql<'a> for Raw<'a> {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        Ok(Self(Some(raw)))
    }

    fn from_sql_null(_: &Type) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        Ok(Self(None))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

/// Writes rows until the batch is full or the table ends.
fn poll_fill(
    rows: &mut Rows,
    cx: &mut Context<'_>,
    link: &mut Link,
    table: &Table,
    decoder: &mut Decoder,
    batch: &mut RowBatch,
) -> Poll<Result<Fetched, Failed>> {
    while !batch.is_full() {
        match ready!(poll_next(rows.as_mut(), link, cx)).transpose() {
            Err(error) => return Poll::Ready(Err(Failed::Driver(error))),
            Ok(Some(row)) => {
                write_row(&row, &table.shapes, decoder, batch).map_err(Failed::Port)?;
            }
            // The driver says so only when the server has.
            Ok(None) => return Poll::Ready(Ok(Fetched::End)),
        }
    }
    Poll::Ready(Ok(Fetched::More))
}

/// What a fetch fails of.
enum Failed {
    Driver(Error),
    Port(PortError),
}

fn write_row(
    row: &Row,
    shapes: &[Shape],
    decoder: &mut Decoder,
    batch: &mut RowBatch,
) -> Result<(), PortError> {
    for (at, shape) in shapes.iter().enumerate() {
        let Raw(value) = row.try_get(at).map_err(|error| fault::querying(error, false))?;
        let not_binary = |_| malformed("a value is not in its type's binary form");
        decoder.write(shape, value, batch).map_err(not_binary)?;
    }
    batch.end_row()?;
    Ok(())
}

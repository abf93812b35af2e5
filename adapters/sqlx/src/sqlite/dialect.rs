//! SQLite as a [`Dialect`].
//!
//! Keeps true: the file is opened read-only; a query ends soon after it was told to, or after the
//! deadline, since the library asks every thousand steps.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use fetcher_engine::schema::TableSchema;
use fetcher_engine::{Filter, PortError, Secret};
use fetcher_sql::name::identifier;
use futures_core::stream::BoxStream;
use sqlx::sqlite::{SqliteArguments, SqliteConnectOptions, SqliteConnection, SqliteRow};
use sqlx::{
    Arguments as _, AssertSqlSafe, ConnectOptions as _, Connection as _, Executor as _,
    SqlSafeStr as _,
};

use super::NAMING;
use super::ahead;
use super::burst::Burst;
use super::catalogue;
use super::fault::{self, querying};
use super::form::{self, Form, Kind};
use super::target::{Target, locate, nothing_beside};
use crate::cell::{Cell, Malformed};
use crate::dialect::{Column, Dialect, Narrow, Param, Selected, Table, json_path};

/// Statements that stay prepared: more than a query has tables.
const STATEMENTS: usize = 64;

/// After how many steps the library asks whether it should go on.
const STEPS: i32 = 1000;

/// What makes a query end.
#[derive(Default)]
pub(super) struct Stop {
    told: AtomicBool,
    deadline: Mutex<Option<Instant>>,
}

impl Stop {
    fn deadline(&self) -> Option<Instant> {
        *self.deadline.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn goes_on(&self) -> bool {
        !self.told.load(Ordering::Relaxed)
            && self.deadline().is_none_or(|deadline| Instant::now() < deadline)
    }

    /// No longer than until the deadline.
    fn patience(&self, longest: Duration) -> Duration {
        let left = self.deadline().map(|it| it.saturating_duration_since(Instant::now()));
        left.map_or(longest, |left| left.min(longest))
    }
}

/// A connection to the files.
pub(super) struct Link {
    connection: SqliteConnection,
    /// How many rows are read ahead: half of them wait with the driver, half with the reader.
    rows_ahead: usize,
}

pub(super) struct Sqlite;

impl Dialect for Sqlite {
    type Target = Target;
    type Connection = Link;
    type Row = SqliteRow;
    type Rows<'c> = Burst<BoxStream<'c, Result<SqliteRow, sqlx::Error>>>;
    type Form = Form;
    type Way = Form;
    type Stop = Arc<Stop>;

    const PARAMS_MAX: usize = 32_766;

    fn is_possible() -> bool {
        true
    }

    async fn connect(target: &Target, _: Option<&Secret>) -> Result<(Link, Arc<Stop>), PortError> {
        let stop = Arc::new(Stop::default());
        let rows = target.host.rows_ahead.unwrap_or(ahead::MOST);
        Ok((open(target, &stop, rows).await?, stop))
    }

    async fn discover(_: &Target, link: &mut Link) -> Result<Vec<TableSchema>, PortError> {
        catalogue::tables(&mut link.connection).await
    }

    async fn begin(
        target: &Target,
        stop: &Arc<Stop>,
        link: &mut Link,
        time_left: Option<Duration>,
    ) -> Result<(), PortError> {
        let deadline = time_left.and_then(|left| Instant::now().checked_add(left));
        *stop.deadline.lock().unwrap_or_else(PoisonError::into_inner) = deadline;
        let patience = stop.patience(target.host.busy_timeout);
        let sql = format!("PRAGMA busy_timeout = {}", patience.as_millis());
        link.connection.execute(AssertSqlSafe(sql)).await.map_err(querying)?;
        let cut_short = patience < target.host.busy_timeout;
        begin(target, link).await.map_err(|error| fault::waiting(error, cut_short))
    }

    async fn table(
        _: &Target,
        link: &mut Link,
        name: &str,
    ) -> Result<Option<Table<Form>>, PortError> {
        let Some(name) = NAMING.parse(name) else { return Ok(None) };
        catalogue::table(&mut link.connection, &name).await
    }

    fn part(column: &Column<Form>, path: &str) -> Option<Column<Form>> {
        if column.form.kind != Kind::Json {
            return None;
        }
        // No way is known to quote these in a path.
        let steps = json_path(path, |c| matches!(c, '"' | '\\' | '\0'))?.replace('\'', "''");
        // What is no JSON has no parts; without the test it would be an error.
        let sql = format!("CASE WHEN json_valid({0}) THEN {0} -> '{steps}' END", column.sql);
        let form = Form { plain: false, ..column.form };
        Some(Column { name: format!("{}.{path}", column.name), sql, form })
    }

    fn convert(form: &Form, filter: &Filter) -> Option<Filter> {
        form.convert(filter)
    }

    fn narrow(column: &Column<Form>, filter: &Filter) -> Option<Narrow> {
        form::narrow(column, filter)
    }

    async fn check(link: &mut Link, sql: &str) -> Result<(), sqlx::Error> {
        link.connection.prepare(AssertSqlSafe(sql).into_sql_str()).await.map(drop)
    }

    async fn settle(
        target: &Target,
        stop: &Arc<Stop>,
        mut link: Link,
        tables: &[&Selected<Form>],
    ) -> Result<(Link, bool), PortError> {
        if target.host.rows_ahead.is_some() {
            return Ok((link, false));
        }
        let rows = ahead::measure(&mut link.connection, tables).await;
        if rows == ahead::MOST {
            return Ok((link, false));
        }
        // The driver takes the number when it connects. Without its lock first: a writer that waits
        // for this reader would let no other in.
        link.connection.close().await.map_err(querying)?;
        Ok((open(target, stop, rows).await?, true))
    }

    fn rows<'c>(
        link: &'c mut Link,
        sql: String,
        params: &[Param],
    ) -> Result<Self::Rows<'c>, sqlx::Error> {
        let mut arguments = SqliteArguments::default();
        for param in params.iter().cloned() {
            let added = match param {
                Param::I64(value) => arguments.add(value),
                Param::F64(value) => arguments.add(value),
                Param::Text(value) => arguments.add(value),
                Param::Bytes(value) => arguments.add(value),
                // Makes none of these.
                Param::U64(_) => Err("SQLite has no such integers".into()),
            };
            added.map_err(sqlx::Error::Encode)?;
        }
        let rows = sqlx::query_with(AssertSqlSafe(sql), arguments).fetch(&mut link.connection);
        Ok(Burst::new(rows, link.rows_ahead.div_ceil(2)))
    }

    fn way(form: &Form, _: &SqliteRow, _: usize) -> Result<Form, Malformed> {
        Ok(*form)
    }

    fn cell<'r>(
        form: &Form,
        row: &'r SqliteRow,
        at: usize,
        _: &'r mut String,
    ) -> Result<Cell<'r>, Malformed> {
        form::cell(*form, row, at)
    }

    fn fault(error: sqlx::Error, late: bool) -> PortError {
        fault::reading(error, late)
    }

    async fn stop(stop: &Arc<Stop>) -> Result<(), PortError> {
        Self::abandon(stop);
        Ok(())
    }

    fn abandon(stop: &Arc<Stop>) {
        stop.told.store(true, Ordering::Relaxed);
    }

    async fn close(link: Link, _: bool) -> Result<(), PortError> {
        link.connection.close().await.map_err(querying)
    }
}

/// Opens the files, with so many rows ahead.
async fn open(target: &Target, stop: &Arc<Stop>, rows_ahead: usize) -> Result<Link, PortError> {
    let file = locate(&target.host, &target.file)?;
    if target.immutable {
        nothing_beside(&file)?;
    }
    let options = SqliteConnectOptions::new()
        .filename(file)
        .read_only(true)
        .immutable(target.immutable)
        .busy_timeout(stop.patience(target.host.busy_timeout))
        .row_buffer_size(rows_ahead.div_ceil(2))
        .statement_cache_capacity(STATEMENTS)
        .foreign_keys(false)
        // The schema is somebody else's: what it calls may only compute.
        .pragma("trusted_schema", "OFF")
        .pragma("cell_size_check", "ON")
        .pragma("query_only", "ON")
        .disable_statement_logging();
    let mut connection = options.connect().await.map_err(querying)?;
    let asked = Arc::clone(stop);
    let mut handle = connection.lock_handle().await.map_err(querying)?;
    handle.set_progress_handler(STEPS, move || asked.goes_on());
    drop(handle);
    for (schema, file) in &target.attached {
        let file = locate(&target.host, file)?;
        let file = file.to_str().ok_or_else(|| {
            PortError::validation().caused_by("the path of an attached file is no text")
        })?;
        let sql = format!("ATTACH DATABASE ? AS {}", identifier(schema, '"'));
        let attach = sqlx::query(AssertSqlSafe(sql)).bind(file);
        attach.execute(&mut connection).await.map_err(querying)?;
    }
    // Only reading shows whether they are databases.
    let sql = touch(target);
    connection.execute(AssertSqlSafe(sql)).await.map_err(querying)?;
    Ok(Link { connection, rows_ahead })
}

async fn begin(target: &Target, link: &mut Link) -> Result<(), sqlx::Error> {
    let connection = &mut link.connection;
    connection.execute("BEGIN").await?;
    // The snapshot is that of the first read.
    connection.execute(AssertSqlSafe(touch(target))).await?;
    Ok(())
}

/// One statement that reads from every file.
fn touch(target: &Target) -> String {
    let attached = target.attached.iter().map(|(schema, _)| identifier(schema, '"'));
    let schemas = ["main".to_owned()].into_iter().chain(attached);
    let touch = |schema| format!("SELECT count(*) FROM {schema}.sqlite_schema");
    schemas.map(touch).collect::<Vec<_>>().join(" UNION ALL ")
}

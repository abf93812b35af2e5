//! MySQL and MariaDB as a [`Dialect`].

use std::time::{Duration, Instant};

use fetcher_engine::encode::RowBatch;
use fetcher_engine::schema::TableSchema;
use fetcher_engine::{Filter, PortError, Secret};
use sqlx::mysql::MySqlRow;
use sqlx::{AssertSqlSafe, Executor as _, SqlSafeStr as _};

use super::form::Form;
use super::kill::{self, Link, Stop};
use super::options::Target;
use super::wire::{self, Rows, Way};
use super::{catalogue, fault, narrow};
use crate::cell::{Cell, Malformed};
use crate::dialect::{Column, Dialect, Narrow, Param, Table, json_path};

pub(crate) enum MySqlDialect {}

impl Dialect for MySqlDialect {
    type Target = Target;
    type Connection = Link;
    type Row = MySqlRow;
    type Rows<'c> = Rows<'c>;
    type Form = Form;
    type Way = Way;
    type Stop = Stop;

    const PARAMS_MAX: usize = 65_535;

    fn is_possible() -> bool {
        tokio::runtime::Handle::try_current().is_ok()
    }

    async fn connect(
        target: &Target,
        password: Option<&Secret>,
    ) -> Result<(Link, Stop), PortError> {
        kill::connect(target, password).await
    }

    async fn discover(_: &Target, link: &mut Link) -> Result<Vec<TableSchema>, PortError> {
        catalogue::tables(link).await
    }

    async fn begin(
        _: &Target,
        _: &Stop,
        link: &mut Link,
        time_left: Option<Duration>,
    ) -> Result<(), PortError> {
        begin(link, time_left).await.map_err(|error| link.fault(error))
    }

    async fn table(
        _: &Target,
        link: &mut Link,
        name: &str,
    ) -> Result<Option<Table<Form>>, PortError> {
        catalogue::table(link, name).await
    }

    fn part(column: &Column<Form>, path: &str) -> Option<Column<Form>> {
        if column.form != Form::Json {
            return None;
        }
        // In a path there are no parameters.
        let is_special = |c: char| matches!(c, '"' | '\\' | '\'') || c.is_control();
        let steps = json_path(path, is_special)?;
        // The path is in `utf8mb4`, and MariaDB compares bytes.
        let sql = format!("JSON_EXTRACT(CONVERT({} USING utf8mb4), '{steps}')", column.sql);
        Some(Column { name: format!("{}.{path}", column.name), sql, form: Form::Json })
    }

    fn convert(form: &Form, filter: &Filter) -> Option<Filter> {
        filter.for_column(form.kind())
    }

    fn narrow(column: &Column<Form>, filter: &Filter) -> Option<Narrow> {
        narrow::narrow(column, filter)
    }

    async fn check(link: &mut Link, sql: &str) -> Result<(), sqlx::Error> {
        // The driver keeps it, and runs this very one.
        link.connection.prepare(AssertSqlSafe(sql.to_owned()).into_sql_str()).await?;
        Ok(())
    }

    fn rows<'c>(
        link: &'c mut Link,
        sql: String,
        params: &[Param],
    ) -> Result<Rows<'c>, sqlx::Error> {
        wire::rows(&mut link.connection, sql, params)
    }

    fn way(form: &Form, row: &MySqlRow, at: usize) -> Result<Way, Malformed> {
        Way::find(*form, row, at)
    }

    fn cell<'r>(
        way: &Way,
        row: &'r MySqlRow,
        at: usize,
        scratch: &'r mut String,
    ) -> Result<Cell<'r>, Malformed> {
        way.cell(row, at, scratch)
    }

    #[inline(always)]
    fn write(
        way: &Way,
        row: &MySqlRow,
        at: usize,
        scratch: &mut String,
        batch: &mut RowBatch,
    ) -> Result<(), Malformed> {
        way.write(row, at, scratch, batch)
    }

    fn fault(error: sqlx::Error, late: bool) -> PortError {
        fault::querying(error, late)
    }

    async fn stop(stop: &Stop) -> Result<(), PortError> {
        kill::stop(stop).await
    }

    fn abandon(stop: &Stop) {
        kill::abandon(stop);
    }

    async fn close(link: Link, clean: bool) -> Result<(), PortError> {
        kill::close(link, clean).await
    }
}

/// Tells the server the deadline, and takes the snapshot.
async fn begin(link: &mut Link, time_left: Option<Duration>) -> Result<(), sqlx::Error> {
    /// A year; more than that the servers do not take.
    const LONGEST: Duration = Duration::from_secs(31_536_000);
    if let Some(left) = time_left {
        link.deadline = Instant::now().checked_add(left);
        // Nothing at all would mean without end.
        let left = left.clamp(Duration::from_millis(1), LONGEST);
        let sql = if link.is_mariadb {
            format!(
                "SET SESSION max_statement_time = {}.{:06}",
                left.as_secs(),
                left.subsec_micros()
            )
        } else {
            // No server has more milliseconds than 32 bits.
            let millis = u32::try_from(left.as_millis()).unwrap_or(u32::MAX);
            format!("SET SESSION max_execution_time = {millis}")
        };
        link.connection.execute(AssertSqlSafe(sql)).await?;
    }
    let level = "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ";
    link.connection.execute(level).await?;
    link.connection.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY").await?;
    Ok(())
}

//! What differs from database to database; everything else is written once.
//!
//! A third database is one more [`Dialect`], a factory and a reader of its connections' options.

use std::fmt;
use std::future::Future;
use std::time::Duration;

use fetcher_engine::encode::RowBatch;
use fetcher_engine::schema::TableSchema;
#[cfg(feature = "sqlite")]
use fetcher_engine::value::Value;
use fetcher_engine::{Filter, PortError, Secret};
use futures_core::Stream;

use crate::cell::{Cell, Malformed};

/// A column, or a part of one, as it can be selected.
#[derive(Clone, Debug)]
pub(crate) struct Column<F> {
    /// The name by which it is asked for.
    pub(crate) name: String,
    /// The expression that reads it, over the table's alias `t`.
    pub(crate) sql: String,
    /// How its values are read and compared.
    pub(crate) form: F,
}

/// A table that can be read.
#[derive(Clone, Debug)]
pub(crate) struct Table<F> {
    /// What stands behind `FROM`, without an alias.
    pub(crate) sql: String,
    pub(crate) columns: Vec<Column<F>>,
}

/// What one statement reads: some columns of a table.
#[derive(Clone, Debug)]
pub(crate) struct Selected<F> {
    /// What stands behind `FROM`, without its alias `t`.
    pub(crate) from: String,
    /// Those that go out, then those that only a filter sees.
    pub(crate) columns: Vec<Column<F>>,
}

/// A bound value. It has no printable form.
#[derive(Clone)]
#[cfg_attr(not(feature = "mysql"), expect(dead_code, reason = "SQLite has only some of them"))]
pub(crate) enum Param {
    I64(i64),
    U64(u64),
    F64(f64),
    Text(String),
    Bytes(Vec<u8>),
}

impl fmt::Debug for Param {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Param")
    }
}

/// What SQL may say of a filter: a condition that holds of every row which the filter keeps, and of
/// as few others as possible. Which rows are kept is decided by the filter itself, in `read`.
pub(crate) struct Narrow {
    /// With `?` for each parameter.
    pub(crate) sql: String,
    pub(crate) params: Vec<Param>,
}

/// A dotted path in the syntax that databases share, `$."a"."b"`; `None` where a key is empty or
/// holds a character that is special in there.
pub(crate) fn json_path(path: &str, is_special: impl Fn(char) -> bool) -> Option<String> {
    let mut steps = String::from("$");
    for key in path.split('.') {
        if key.is_empty() || key.contains(&is_special) {
            return None;
        }
        steps.push_str(&format!(".\"{key}\""));
    }
    Some(steps)
}

/// One database.
pub(crate) trait Dialect: Send + Sync + 'static {
    /// What a connection's description says, read and checked.
    type Target: Send + Sync;
    type Connection: Send;
    type Row: Send + Sync;
    /// Rows on their way, borrowed from their connection.
    type Rows<'c>: Stream<Item = Result<Self::Row, sqlx::Error>> + Send + Unpin;
    /// How the values of a column are read and compared.
    type Form: Clone + Send + Sync;
    /// How the values of a column are read in one result.
    type Way: Send + Sync;
    /// Reaches a query that runs, from outside of its connection.
    type Stop: Send + Sync;

    /// How many parameters one statement may have.
    const PARAMS_MAX: usize;

    /// Whether it can be connected to here and now: whether a runtime is there that it needs.
    fn is_possible() -> bool;

    fn connect(
        target: &Self::Target,
        password: Option<&Secret>,
    ) -> impl Future<Output = Result<(Self::Connection, Self::Stop), PortError>> + Send;

    /// The tables that may be read.
    fn discover(
        target: &Self::Target,
        connection: &mut Self::Connection,
    ) -> impl Future<Output = Result<Vec<TableSchema>, PortError>> + Send;

    /// Begins the one read-only transaction and takes its snapshot.
    fn begin(
        target: &Self::Target,
        stop: &Self::Stop,
        connection: &mut Self::Connection,
        time_left: Option<Duration>,
    ) -> impl Future<Output = Result<(), PortError>> + Send;

    /// The table of that name, `None` where there is none in scope.
    fn table(
        target: &Self::Target,
        connection: &mut Self::Connection,
        name: &str,
    ) -> impl Future<Output = Result<Option<Table<Self::Form>>, PortError>> + Send;

    /// What a dotted field leads to inside of a column; `None` where it leads nowhere.
    fn part(column: &Column<Self::Form>, path: &str) -> Option<Column<Self::Form>>;

    /// The filter with its operands converted for such a column; `None` where it cannot apply.
    fn convert(form: &Self::Form, filter: &Filter) -> Option<Filter>;

    /// What SQL may say of a converted filter; `None` where it can say nothing that is sure.
    fn narrow(column: &Column<Self::Form>, filter: &Filter) -> Option<Narrow>;

    /// Has the database check a statement, as far as that can be done without running it.
    fn check(
        connection: &mut Self::Connection,
        sql: &str,
    ) -> impl Future<Output = Result<(), sqlx::Error>> + Send;

    /// Called when all statements are made and before the first row, for what depends on them. It
    /// may give another connection instead, and then says so: all is begun anew on that.
    fn settle(
        target: &Self::Target,
        stop: &Self::Stop,
        connection: Self::Connection,
        tables: &[&Selected<Self::Form>],
    ) -> impl Future<Output = Result<(Self::Connection, bool), PortError>> + Send {
        let _ = (target, stop, tables);
        std::future::ready(Ok((connection, false)))
    }

    fn rows<'c>(
        connection: &'c mut Self::Connection,
        sql: String,
        params: &[Param],
    ) -> Result<Self::Rows<'c>, sqlx::Error>;

    /// How the values at a place are read, found out from the first row of a result.
    fn way(form: &Self::Form, row: &Self::Row, at: usize) -> Result<Self::Way, Malformed>;

    /// The value at a place of a row. `scratch` holds texts that are not in the row as they go out.
    fn cell<'r>(
        way: &Self::Way,
        row: &'r Self::Row,
        at: usize,
        scratch: &'r mut String,
    ) -> Result<Cell<'r>, Malformed>;

    /// Writes that value as the next of a row.
    #[inline(always)]
    fn write(
        way: &Self::Way,
        row: &Self::Row,
        at: usize,
        scratch: &mut String,
        batch: &mut RowBatch,
    ) -> Result<(), Malformed> {
        Self::cell(way, row, at, scratch)?.write(batch)
    }

    /// What the driver said while reading; whether the deadline that it was told has passed.
    fn fault(error: sqlx::Error, late: bool) -> PortError;

    /// Ends a query that runs. Its connection is only closed after this.
    fn stop(stop: &Self::Stop) -> impl Future<Output = Result<(), PortError>> + Send;

    /// The same without waiting for it, as well as that can be done: the connector was dropped.
    fn abandon(stop: &Self::Stop);

    /// Closes the connection. `clean` is whether it was idle.
    fn close(
        connection: Self::Connection,
        clean: bool,
    ) -> impl Future<Output = Result<(), PortError>> + Send;
}

/// The operands of a filter as parameters of one kind; `None` if one of them is not of it.
#[cfg(feature = "sqlite")]
pub(crate) fn params(
    filter: &Filter,
    param: impl Fn(&Value) -> Option<Param>,
) -> Option<Vec<Param>> {
    filter.values().iter().map(param).collect()
}

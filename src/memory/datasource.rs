//! A datasource in memory: databases of typed tables, read through a real connector.
//!
//! Keeps true: a query reads the tables as they were when it was opened; filters mean exactly what
//! `Filter::matches` says, or are refused before the first row.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::future::ready;
use std::sync::Mutex;

use super::lock;
use super::table::{Table, TableFault};
use crate::encode::RowBatch;
use crate::error::{Category, PortError};
use crate::extraction::PlannedTable;
use crate::filter::Filter;
use crate::ports::{
    BoxFuture, Connector, ConnectorContext, ConnectorFactory, CredentialResolver, Fetched, Query,
};
use crate::schema::TableSchema;
use crate::secret::Secret;
use crate::value::Value;

type Tables = Arc<BTreeMap<Arc<str>, Table>>;

/// Databases in memory, and the factory of connectors that read them.
///
/// A connection's `database` says which one; a name that does not exist cannot be connected to.
/// Clones share the databases.
///
/// ```
/// use fetcher_engine::memory::{MemoryDatasource, Table};
/// use fetcher_engine::value::{Value, ValueKind};
///
/// let people = Table::new("people").key("id", ValueKind::I64).row([Value::from(1)]);
/// let datasource = MemoryDatasource::new();
/// datasource.put("crm", [people])?;
/// # Ok::<(), fetcher_engine::memory::TableFault>(())
/// ```
#[derive(Clone, Default)]
pub struct MemoryDatasource {
    databases: Arc<Mutex<BTreeMap<String, Database>>>,
    credentials: Option<Arc<dyn CredentialResolver>>,
}

struct Database {
    tables: Tables,
    password: Option<Arc<Secret>>,
}

impl MemoryDatasource {
    /// Without databases.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Connectors ask this resolver for the password of a database that has one.
    #[must_use]
    pub fn credentials(mut self, resolver: Arc<dyn CredentialResolver>) -> Self {
        self.credentials = Some(resolver);
        self
    }

    /// Puts a database there, in place of an earlier one of this name. Queries that are open keep
    /// reading what they were opened on.
    ///
    /// # Errors
    /// A row does not fit its table, or two tables or columns have one name.
    pub fn put(
        &self,
        database: impl Into<String>,
        tables: impl IntoIterator<Item = Table>,
    ) -> Result<(), TableFault> {
        self.insert(database.into(), tables, None)
    }

    /// The same, open only to connections that have this password.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    pub fn put_protected(
        &self,
        database: impl Into<String>,
        password: impl Into<Secret>,
        tables: impl IntoIterator<Item = Table>,
    ) -> Result<(), TableFault> {
        self.insert(database.into(), tables, Some(Arc::new(password.into())))
    }

    fn insert(
        &self,
        name: String,
        tables: impl IntoIterator<Item = Table>,
        password: Option<Arc<Secret>>,
    ) -> Result<(), TableFault> {
        let mut checked = BTreeMap::new();
        for table in tables {
            let table = table.checked()?;
            if let Some(twice) = checked.insert(Arc::clone(&table.name), table) {
                return Err(TableFault::Table { table: (*twice.name).into() });
            }
        }
        let database = Database { tables: Arc::new(checked), password };
        lock(&self.databases).insert(name, database);
        Ok(())
    }
}

impl fmt::Debug for MemoryDatasource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let databases = lock(&self.databases).len();
        f.debug_struct("MemoryDatasource").field("databases", &databases).finish_non_exhaustive()
    }
}

impl ConnectorFactory for MemoryDatasource {
    fn build(&self, context: ConnectorContext) -> Result<Box<dyn Connector>, PortError> {
        Ok(Box::new(MemoryConnector { source: self.clone(), context, state: State::Built }))
    }
}

struct MemoryConnector {
    source: MemoryDatasource,
    context: ConnectorContext,
    state: State,
}

enum State {
    Built,
    Connected(Tables),
    Open(Cursor),
    Over,
}

/// Where a query stands: which table, which row.
struct Cursor {
    tables: Tables,
    scans: Vec<Scan>,
    scan: usize,
    row: usize,
}

/// One table of a query, worked out.
struct Scan {
    planned: PlannedTable,
    /// Which columns, in the order of the planned fields.
    columns: Vec<usize>,
    /// The conditions, each on a column.
    filters: Vec<(usize, Filter)>,
}

impl MemoryConnector {
    async fn check_password(&self) -> Result<Tables, PortError> {
        let name = &self.context.connection.endpoint.database;
        let (tables, password) = {
            let databases = lock(&self.source.databases);
            let database = databases.get(name).ok_or_else(PortError::not_found)?;
            (Arc::clone(&database.tables), database.password.clone())
        };
        if let Some(password) = password {
            let resolver = self.source.credentials.as_ref();
            let resolver = resolver.ok_or_else(|| PortError::new(Category::Unauthorized))?;
            let ConnectorContext { tenant, connection, .. } = &self.context;
            let given = resolver.resolve(tenant, connection).await?;
            if given.is_none_or(|given| given != *password) {
                return Err(PortError::new(Category::Unauthorized));
            }
        }
        Ok(tables)
    }
}

fn out_of_order() -> PortError {
    PortError::internal().caused_by("a connector method was called out of order")
}

impl Connector for MemoryConnector {
    fn connect(&mut self) -> BoxFuture<'_, Result<(), PortError>> {
        Box::pin(async move {
            if !matches!(self.state, State::Built) {
                return Err(out_of_order());
            }
            self.state = State::Connected(self.check_password().await?);
            Ok(())
        })
    }

    fn discover_schema(&mut self) -> BoxFuture<'_, Result<Vec<TableSchema>, PortError>> {
        Box::pin(async move {
            let State::Connected(tables) = &self.state else {
                return Err(out_of_order());
            };
            Ok(tables.values().map(Table::schema).collect())
        })
    }

    fn open(&mut self, query: Query) -> BoxFuture<'_, Result<(), PortError>> {
        Box::pin(async move {
            let State::Connected(tables) = &self.state else {
                return Err(out_of_order());
            };
            let scans = query.tables.iter().map(|table| scan(tables, table));
            let scans = scans.collect::<Result<_, _>>()?;
            let tables = Arc::clone(tables);
            self.state = State::Open(Cursor { tables, scans, scan: 0, row: 0 });
            Ok(())
        })
    }

    fn fetch(
        &mut self,
        mut batch: RowBatch,
    ) -> BoxFuture<'_, Result<(RowBatch, Fetched), PortError>> {
        Box::pin(async move {
            let State::Open(cursor) = &mut self.state else {
                return Err(out_of_order());
            };
            let fetched = cursor.fill(&mut batch)?;
            if fetched == Fetched::End {
                self.state = State::Over;
            }
            Ok((batch, fetched))
        })
    }

    fn close(self: Box<Self>) -> BoxFuture<'static, Result<(), PortError>> {
        Box::pin(ready(Ok(())))
    }
}

/// Finds a query's columns, and brings its filters to their kinds.
fn scan(tables: &Tables, planned: &PlannedTable) -> Result<Scan, PortError> {
    let refuse = || PortError::validation().at_table(planned.name());
    let table = tables.get(planned.name()).ok_or_else(refuse)?;
    let column = |name: &str| {
        let found = table.columns.iter().position(|column| *column.field.name == *name);
        found.ok_or_else(refuse)
    };
    let columns = planned.fields().iter().map(|field| column(field)).collect::<Result<_, _>>()?;
    let mut filters = Vec::with_capacity(planned.filters().len());
    for filter in planned.filters() {
        let at = column(filter.field())?;
        let kind = table.columns.get(at).map(|column| column.kind);
        let filter = kind.and_then(|kind| filter.for_column(kind)).ok_or_else(refuse)?;
        filters.push((at, filter));
    }
    Ok(Scan { planned: planned.clone(), columns, filters })
}

impl Cursor {
    fn fill(&mut self, batch: &mut RowBatch) -> Result<Fetched, PortError> {
        while let Some(scan) = self.scans.get(self.scan) {
            let rows = self.tables.get(scan.planned.name()).map(|table| table.rows.as_slice());
            batch.table(scan.planned.name(), scan.planned.fields())?;
            for row in rows.unwrap_or_default().iter().skip(self.row) {
                if batch.is_full() {
                    return Ok(Fetched::More);
                }
                self.row += 1;
                let value = |at: usize| row.get(at).unwrap_or(&Value::Null);
                if scan.filters.iter().all(|(at, filter)| filter.matches(value(*at))) {
                    for &at in &scan.columns {
                        batch.value(value(at));
                    }
                    batch.end_row()?;
                }
            }
            self.scan += 1;
            self.row = 0;
        }
        Ok(Fetched::End)
    }
}

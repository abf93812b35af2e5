//! A connector that reads a folder of CSV files: connection type `csv`.
//!
//! The connection's `database` is the folder. Each of its options declares a table: `table.planes`
//! is the file `planes.csv`, and the option's value names the columns that hold numbers, separated
//! by commas. All other columns are text. Types are declared and never guessed from the rows.
//!
//! - `NA` without quotes is null, in any column. `"NA"` in quotes is the text NA.
//! - A number goes out exactly as it is written, its scale included.
//!
//! What goes wrong, and what it is reported as:
//!
//! | | category |
//! | --- | --- |
//! | options that declare no table; a declared number column that the file does not have | `validation` |
//! | a filter that does not apply; a column that is gone since the plan was made | `validation` |
//! | the folder is missing | `connect`, as everything that fails while connecting |
//! | a file is missing, unreadable or malformed, a number is none | `unavailable` |
//!
//! A malformed file is `unavailable` and not `internal`, because nothing is wrong with this code:
//! once the file is mended, trying again helps. The file and the line are in the private cause.
//!
//! The file system is read inside of `poll`. For an example, and for local files of modest size,
//! that will do. A host with an async runtime uses the runtime's file API instead, because a port
//! must not block the thread.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Display;
use std::fs::{self, File};
use std::future::ready;
use std::path::{Path, PathBuf};

use fetcher_engine::encode::RowBatch;
use fetcher_engine::extraction::PlannedTable;
use fetcher_engine::ports::{
    BoxFuture, Connector, ConnectorContext, ConnectorFactory, Fetched, Query,
};
use fetcher_engine::schema::{FieldSchema, TableSchema};
use fetcher_engine::value::{Decimal, Value, ValueKind};
use fetcher_engine::{Filter, PortError};

use crate::csv::{Field, Reader, Record};

const BUFFER_BYTES: usize = 64 << 10;

/// A fetch gives its batch back after so many records even if the filters kept none of them, so
/// that the engine can look at its deadline.
const RECORDS_PER_FETCH: usize = 10_000;

/// Builds connectors to folders of CSV files.
#[derive(Debug)]
pub(crate) struct CsvFactory;

impl ConnectorFactory for CsvFactory {
    fn build(&self, context: ConnectorContext) -> Result<Box<dyn Connector>, PortError> {
        let endpoint = &context.connection.endpoint;
        let folder = PathBuf::from(&endpoint.database);
        let mut tables = BTreeMap::new();
        for (option, value) in &endpoint.options {
            let name = option.strip_prefix("table.").filter(|name| is_file_name(name));
            let Some(name) = name else {
                let cause = format!("the option {option} declares no table");
                return Err(PortError::validation().caused_by(cause));
            };
            let numbers = value.split(',').map(str::trim).filter(|column| !column.is_empty());
            let numbers = numbers.map(str::to_owned).collect();
            tables.insert(name.to_owned(), Table::new(&folder, name, numbers));
        }
        Ok(Box::new(CsvConnector { folder, tables, state: State::Built }))
    }
}

/// Whether a table's name stays inside of its folder.
fn is_file_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(['/', '\\', ':'])
}

struct CsvConnector {
    folder: PathBuf,
    tables: BTreeMap<String, Table>,
    state: State,
}

enum State {
    Built,
    Connected,
    /// The tables that are still to be read, the current one first.
    Open(VecDeque<Scan>),
    Over,
}

impl Connector for CsvConnector {
    fn connect(&mut self) -> BoxFuture<'_, Result<(), PortError>> {
        Box::pin(async move {
            let State::Built = self.state else { return Err(out_of_order()) };
            let folder = self.folder.display();
            let metadata = fs::metadata(&self.folder);
            let metadata = metadata.map_err(|error| unavailable(format!("{folder}: {error}")))?;
            if !metadata.is_dir() {
                return Err(unavailable(format!("{folder}: not a folder")));
            }
            self.state = State::Connected;
            Ok(())
        })
    }

    fn discover_schema(&mut self) -> BoxFuture<'_, Result<Vec<TableSchema>, PortError>> {
        Box::pin(async move {
            let State::Connected = self.state else { return Err(out_of_order()) };
            let schema = |table: &Table| {
                let (_, columns) = table.open()?;
                let fields = columns.into_iter();
                let fields = fields.map(|(name, kind)| FieldSchema::new(name, kind.as_str()));
                Ok(TableSchema::new(table.name.as_str(), fields.collect()))
            };
            self.tables.values().map(schema).collect()
        })
    }

    fn open(&mut self, query: Query) -> BoxFuture<'_, Result<(), PortError>> {
        Box::pin(async move {
            let State::Connected = self.state else { return Err(out_of_order()) };
            // All files are opened now: one that is replaced later does not change this query.
            let mut scans = VecDeque::new();
            for planned in query.tables.iter() {
                let table = self.tables.get(planned.name());
                let table = table.ok_or_else(|| refused(planned, "the table is not declared"))?;
                scans.push_back(Scan::open(table, planned)?);
            }
            self.state = State::Open(scans);
            Ok(())
        })
    }

    fn fetch(
        &mut self,
        mut batch: RowBatch,
    ) -> BoxFuture<'_, Result<(RowBatch, Fetched), PortError>> {
        Box::pin(async move {
            let State::Open(scans) = &mut self.state else { return Err(out_of_order()) };
            let fetched = fill(scans, &mut batch)?;
            if fetched == Fetched::End {
                self.state = State::Over;
            }
            Ok((batch, fetched))
        })
    }

    fn close(self: Box<Self>) -> BoxFuture<'static, Result<(), PortError>> {
        // Dropping it closes the files.
        drop(self);
        Box::pin(ready(Ok(())))
    }
}

fn fill(scans: &mut VecDeque<Scan>, batch: &mut RowBatch) -> Result<Fetched, PortError> {
    let mut looked_at = 0;
    while let Some(scan) = scans.front_mut() {
        // The query's fields are sorted. Columns in that order go straight to their place.
        batch.table(scan.planned.name(), scan.planned.fields())?;
        loop {
            if batch.is_full() || looked_at == RECORDS_PER_FETCH {
                return Ok(Fetched::More);
            }
            if !scan.next_row(batch)? {
                break;
            }
            looked_at += 1;
        }
        scans.pop_front();
    }
    Ok(Fetched::End)
}

/// A table as the host declares it.
#[derive(Clone, Debug)]
struct Table {
    name: String,
    path: PathBuf,
    /// The columns that hold numbers.
    numbers: Vec<String>,
}

type Columns = Vec<(String, ValueKind)>;

impl Table {
    fn new(folder: &Path, name: &str, numbers: Vec<String>) -> Self {
        Self { name: name.to_owned(), path: folder.join(format!("{name}.csv")), numbers }
    }

    /// Opens the file and reads its header.
    fn open(&self) -> Result<(Reader<File>, Columns), PortError> {
        let reader = File::open(&self.path).and_then(|file| Reader::new(file, BUFFER_BYTES));
        let mut reader = reader.map_err(|error| self.broken(error))?;
        let header = reader.read().map_err(|error| self.broken(error))?;
        let header = header.ok_or_else(|| self.broken("there is no header"))?;
        let mut columns = Columns::with_capacity(header.width());
        for Field { text: name, .. } in header.fields() {
            if columns.iter().any(|(other, _)| other == name) {
                return Err(self.broken(format!("line 1: there are two columns {name}")));
            }
            let is_number = self.numbers.iter().any(|number| number == name);
            let kind = if is_number { ValueKind::Decimal } else { ValueKind::String };
            columns.push((name.to_owned(), kind));
        }
        match self.numbers.iter().find(|number| place(&columns, number).is_none()) {
            Some(number) => {
                let cause = format!("{}: there is no column {number}", self.path.display());
                Err(PortError::validation().at_table(&self.name).caused_by(cause))
            }
            None => Ok((reader, columns)),
        }
    }

    fn broken(&self, what: impl Display) -> PortError {
        unavailable(format!("{}: {what}", self.path.display())).at_table(&self.name)
    }
}

/// One table of a query, ready to be read.
struct Scan {
    table: Table,
    planned: PlannedTable,
    reader: Reader<File>,
    /// The planned fields, in their order.
    columns: Vec<Column>,
    filters: Vec<(Column, Filter)>,
}

/// Where in a record a value is, and what it is.
#[derive(Clone, Copy)]
struct Column {
    at: usize,
    kind: ValueKind,
}

impl Scan {
    fn open(table: &Table, planned: &PlannedTable) -> Result<Self, PortError> {
        let (reader, columns) = table.open()?;
        let column = |field: &str| {
            place(&columns, field).ok_or_else(|| refused(planned, "there is no such column"))
        };
        let mut filters = Vec::new();
        for filter in planned.filters() {
            let column = column(filter.field())?;
            let filter = filter.for_column(column.kind);
            let filter = filter.ok_or_else(|| refused(planned, "a filter does not apply"))?;
            filters.push((column, filter));
        }
        let fields = planned.fields().iter();
        let columns = fields.map(|field| column(field)).collect::<Result<_, _>>()?;
        Ok(Self { table: table.clone(), planned: planned.clone(), reader, columns, filters })
    }

    /// Reads one record and writes it if the filters keep it; `false` at the end of the file.
    fn next_row(&mut self, batch: &mut RowBatch) -> Result<bool, PortError> {
        let Some(record) = self.reader.read().map_err(|error| self.table.broken(error))? else {
            return Ok(false);
        };
        let not_a_number = |column: &Column| {
            let (line, field) = (record.line(), column.at + 1);
            self.table.broken(format!("line {line}: field {field} is not a number"))
        };
        for (column, filter) in &self.filters {
            let value = column.value(record).ok_or_else(|| not_a_number(column))?;
            if !filter.matches(&value) {
                return Ok(true);
            }
        }
        for column in &self.columns {
            column.write(record, batch).ok_or_else(|| not_a_number(column))?;
        }
        batch.end_row()?;
        Ok(true)
    }
}

impl Column {
    /// The value, for a filter; `None` for a number that is none.
    fn value(self, record: &Record) -> Option<Value> {
        let field = record.field(self.at);
        match self.kind {
            _ if is_null(field) => Some(Value::Null),
            ValueKind::Decimal => Decimal::parse(field.text).map(Value::Decimal),
            _ => Some(Value::from(field.text)),
        }
    }

    /// Writes the value; `None` for a number that is none.
    fn write(self, record: &Record, batch: &mut RowBatch) -> Option<()> {
        let field = record.field(self.at);
        match self.kind {
            _ if is_null(field) => batch.null(),
            ValueKind::Decimal => batch.decimal(&Decimal::parse(field.text)?),
            _ => batch.str(field.text),
        }
        Some(())
    }
}

fn is_null(field: Field<'_>) -> bool {
    field.text == "NA" && !field.quoted
}

fn place(columns: &Columns, name: &str) -> Option<Column> {
    let at = columns.iter().position(|(column, _)| column == name)?;
    columns.get(at).map(|(_, kind)| Column { at, kind: *kind })
}

fn unavailable(cause: String) -> PortError {
    PortError::unavailable().caused_by(cause)
}

fn refused(planned: &PlannedTable, cause: &str) -> PortError {
    PortError::validation().at_table(planned.name()).caused_by(cause)
}

fn out_of_order() -> PortError {
    PortError::internal().caused_by("a connector method was called out of order")
}

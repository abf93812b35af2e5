//! A typed table in memory. Keeps true: every row has one value per column, of the column's kind.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use crate::schema::{FieldSchema, TableSchema};
use crate::value::{Value, ValueKind};

/// Why rows do not fit their table.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum TableFault {
    /// A row has more or fewer values than columns.
    Arity {
        /// The table.
        table: String,
        /// The row, from 0.
        row: usize,
    },
    /// A value is not of its column's kind, or null where that may not be.
    Kind {
        /// The table.
        table: String,
        /// The row, from 0.
        row: usize,
        /// The column.
        column: String,
    },
    /// Two columns have one name.
    Column {
        /// The table.
        table: String,
        /// The column.
        column: String,
    },
    /// Two tables have one name.
    Table {
        /// The table.
        table: String,
    },
}

impl fmt::Display for TableFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Arity { table, row } => {
                write!(f, "row {row} of {table} does not fit its columns")
            }
            Self::Kind { table, row, column } => {
                write!(f, "the value of {column} in row {row} of {table} is of another kind")
            }
            Self::Column { table, column } => write!(f, "{table} has two columns {column}"),
            Self::Table { table } => write!(f, "there are two tables {table}"),
        }
    }
}

impl core::error::Error for TableFault {}

#[derive(Clone, Debug)]
pub(super) struct Column {
    pub(super) field: FieldSchema,
    pub(super) kind: ValueKind,
}

/// A table with typed columns and rows.
///
/// ```
/// use fetcher_engine::memory::Table;
/// use fetcher_engine::value::{Value, ValueKind};
///
/// let people = Table::new("people")
///     .key("id", ValueKind::I64)
///     .column("name", ValueKind::String)
///     .row([Value::from(1), Value::from("Ada")])
///     .row([Value::from(2), Value::Null]);
/// ```
#[derive(Clone, Debug)]
pub struct Table {
    pub(super) name: Arc<str>,
    pub(super) columns: Vec<Column>,
    pub(super) rows: Vec<Vec<Value>>,
}

impl Table {
    /// A table without columns and rows.
    #[must_use]
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self { name: name.into(), columns: Vec::new(), rows: Vec::new() }
    }

    /// With one more column, which may be null.
    #[must_use]
    pub fn column(mut self, name: impl Into<Arc<str>>, kind: ValueKind) -> Self {
        self.columns.push(Column { field: FieldSchema::new(name, kind.as_str()), kind });
        self
    }

    /// With one more column that is part of the primary key, and never null.
    #[must_use]
    pub fn key(mut self, name: impl Into<Arc<str>>, kind: ValueKind) -> Self {
        let keys = self.columns.iter().filter(|column| column.field.primary_key.is_some()).count();
        let position = u32::try_from(keys).unwrap_or(u32::MAX).saturating_add(1);
        let field = FieldSchema::new(name, kind.as_str()).not_null().primary_key(position);
        self.columns.push(Column { field, kind });
        self
    }

    /// With one more row. Whether it fits is looked at when the table becomes part of a database.
    #[must_use]
    pub fn row(mut self, values: impl IntoIterator<Item = Value>) -> Self {
        self.rows.push(values.into_iter().collect());
        self
    }

    /// With more rows.
    #[must_use]
    pub fn rows<R>(mut self, rows: impl IntoIterator<Item = R>) -> Self
    where
        R: IntoIterator<Item = Value>,
    {
        self.rows.extend(rows.into_iter().map(|row| row.into_iter().collect()));
        self
    }

    /// Brings every value to its column's kind.
    pub(super) fn checked(mut self) -> Result<Self, TableFault> {
        for (at, column) in self.columns.iter().enumerate() {
            let before = self.columns.iter().take(at);
            if before.into_iter().any(|other| other.field.name == column.field.name) {
                let column = (*column.field.name).into();
                return Err(TableFault::Column { table: (*self.name).into(), column });
            }
        }
        for (row, values) in self.rows.iter_mut().enumerate() {
            if values.len() != self.columns.len() {
                return Err(TableFault::Arity { table: (*self.name).into(), row });
            }
            for (value, column) in values.iter_mut().zip(&self.columns) {
                let converted = value.convert_to(column.kind);
                match converted.filter(|value| column.field.nullable || !value.is_null()) {
                    Some(converted) => *value = converted,
                    None => {
                        let (table, column) = ((*self.name).into(), (*column.field.name).into());
                        return Err(TableFault::Kind { table, row, column });
                    }
                }
            }
        }
        Ok(self)
    }

    pub(super) fn schema(&self) -> TableSchema {
        let fields = self.columns.iter().map(|column| column.field.clone()).collect();
        TableSchema::new(Arc::clone(&self.name), fields)
    }
}

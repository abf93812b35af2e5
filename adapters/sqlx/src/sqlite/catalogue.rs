//! What is asked of the schema: tables, and the columns of a table.

use fetcher_engine::PortError;
use fetcher_engine::schema::{FieldSchema, TableSchema};
use fetcher_sql::name::{TableName, identifier};
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{AssertSqlSafe, Row as _};

use super::NAMING;
use super::fault::{querying, reading};
use super::form::{Form, Kind};
use crate::dialect::{Column, Table};

/// Not SQLite's own, not the shadow tables of virtual ones, not temporary ones: those of a
/// connection that has just been made are the schema's table only.
const TABLES: &str = "
SELECT schema, name, type, wr, strict FROM pragma_table_list
WHERE type IN ('table', 'view', 'virtual') AND schema <> 'temp' AND name <> ''
  AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
ORDER BY schema, name";

/// A table by its exact name: SQLite itself would ignore case.
const ONE_TABLE: &str = "
SELECT schema, name, type, wr, strict FROM pragma_table_list
WHERE type IN ('table', 'view', 'virtual') AND schema = ? AND name = ?
  AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'";

/// `hidden` is 1 for the hidden columns of virtual tables; 2 and 3 for generated columns.
const COLUMNS: &str = "
SELECT name, type, \"notnull\", pk FROM pragma_table_xinfo(?, ?)
WHERE hidden <> 1 AND name <> ''";

const ENCODING: &str = "SELECT encoding FROM pragma_encoding";

/// A table, a view or a virtual table.
struct Entry {
    name: TableName,
    is_plain: bool,
    without_rowid: bool,
    strict: bool,
}

/// A column as it is declared.
struct Declared {
    name: String,
    kind: String,
    not_null: bool,
    key: u32,
}

/// The tables that can be read.
pub(super) async fn tables(
    connection: &mut SqliteConnection,
) -> Result<Vec<TableSchema>, PortError> {
    let rows = sqlx::query(TABLES).fetch_all(&mut *connection).await.map_err(querying)?;
    let mut tables = Vec::with_capacity(rows.len());
    for row in &rows {
        let entry = entry(row)?;
        // A view of something that is gone, a module that is not there.
        let Ok(columns) = columns(connection, &entry.name).await else { continue };
        let keys = columns.iter().filter(|column| column.key > 0).count();
        let fields = columns.into_iter().map(|column| {
            let field = FieldSchema::new(column.name, column.kind.as_str());
            let is_rowid = keys == 1 && column.kind.eq_ignore_ascii_case("INTEGER");
            let never_null = column.key > 0 && (entry.without_rowid || is_rowid);
            let field = if column.not_null || never_null { field.not_null() } else { field };
            if column.key > 0 { field.primary_key(column.key) } else { field }
        });
        let fields: Vec<_> = fields.collect();
        tables.push(TableSchema::new(NAMING.write(&entry.name), fields));
    }
    Ok(tables)
}

/// The table of that name, as it can be read.
pub(super) async fn table(
    connection: &mut SqliteConnection,
    name: &TableName,
) -> Result<Option<Table<Form>>, PortError> {
    let query = sqlx::query(ONE_TABLE).bind(&name.schema).bind(&name.table);
    let row = query.fetch_optional(&mut *connection).await.map_err(querying)?;
    let Some(row) = row else { return Ok(None) };
    let entry = entry(&row)?;
    let encoding = sqlx::query(ENCODING).fetch_one(&mut *connection).await.map_err(querying)?;
    let utf8 = text(&encoding, 0)? == "UTF-8";
    let columns = columns(connection, name).await.map_err(|error| reading(error, false))?;
    // Each of these names means the number unless a column has taken it.
    let is_free =
        |name: &&str| !columns.iter().any(|column| column.name.eq_ignore_ascii_case(name));
    let has_numbers = entry.is_plain && !entry.without_rowid;
    let row_number = ["rowid", "_rowid_", "oid"].into_iter().find(is_free).filter(|_| has_numbers);
    let columns = columns.into_iter().map(|column| Column {
        // With its alias it is never taken for a string.
        sql: format!("t.{}", identifier(&column.name, '"')),
        form: Form {
            kind: Kind::of(&column.kind, entry.strict),
            plain: entry.is_plain,
            utf8,
            row_number,
        },
        name: column.name,
    });
    let sql = format!("{}.{}", identifier(&name.schema, '"'), identifier(&name.table, '"'));
    Ok(Some(Table { sql, columns: columns.collect() }))
}

fn entry(row: &SqliteRow) -> Result<Entry, PortError> {
    Ok(Entry {
        name: TableName { schema: text(row, 0)?, table: text(row, 1)? },
        is_plain: text(row, 2)? == "table",
        without_rowid: row.try_get::<bool, _>(3).map_err(querying)?,
        strict: row.try_get::<bool, _>(4).map_err(querying)?,
    })
}

async fn columns(
    connection: &mut SqliteConnection,
    name: &TableName,
) -> Result<Vec<Declared>, sqlx::Error> {
    let query = sqlx::query(AssertSqlSafe(COLUMNS)).bind(&name.table).bind(&name.schema);
    let rows = query.fetch_all(connection).await?;
    let column = |row: &SqliteRow| {
        Ok(Declared {
            name: row.try_get(0)?,
            kind: row.try_get(1)?,
            not_null: row.try_get(2)?,
            key: row.try_get(3)?,
        })
    };
    rows.iter().map(column).collect()
}

fn text(row: &SqliteRow, at: usize) -> Result<String, PortError> {
    row.try_get(at).map_err(querying)
}

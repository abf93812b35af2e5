//! What is asked of `information_schema`: the tables that may be read, and the columns of one.
//!
//! Keeps true: only the connection's own database is looked at; names are compared byte by byte,
//! whatever the catalogue's collation is.

use std::collections::BTreeMap;

use fetcher_engine::PortError;
use fetcher_engine::schema::{FieldSchema, TableSchema};
use fetcher_sql::name::identifier;
use sqlx::{AssertSqlSafe, Executor as _, SqlSafeStr as _};

use super::fault;
use super::form::{Declared, Form};
use super::kill::Link;
use super::wire::texts;
use crate::dialect::{Column, Table};

/// Databases that differ in case only are different ones, where the server says so.
const HERE: &str = "TABLE_SCHEMA = DATABASE() AND (@@lower_case_table_names <> 0 \
    OR CAST(TABLE_SCHEMA AS BINARY) = CAST(DATABASE() AS BINARY))";

/// The name twice: once for the catalogue's own look-up, once for its bytes.
const NAMED: &str = "TABLE_NAME = ? AND CAST(TABLE_NAME AS BINARY) = CAST(? AS BINARY)";

/// Not sequences, and not the catalogue's own views.
const READABLE: &str = "TABLE_TYPE IN ('BASE TABLE', 'VIEW', 'SYSTEM VERSIONED')";

/// The texts of one row.
type Cells = Vec<Option<String>>;

/// A question whose every answer is text, whatever the server's version calls it.
fn question(columns: &[&str], table: &str, condition: &str) -> String {
    let columns: Vec<_> = columns.iter().map(|name| format!("CAST({name} AS CHAR)")).collect();
    let columns = columns.join(", ");
    format!("SELECT {columns} FROM information_schema.{table} WHERE {HERE} AND {condition}")
}

async fn ask(link: &mut Link, sql: &str, params: &[&str]) -> Result<Vec<Cells>, PortError> {
    texts(&mut link.connection, sql, params).await.map_err(|error| link.fault(error))
}

/// The same where no answer is null.
async fn names(link: &mut Link, sql: &str, params: &[&str]) -> Result<Vec<Vec<String>>, PortError> {
    let row = |row: Cells| row.into_iter().map(Option::unwrap_or_default).collect();
    Ok(ask(link, sql, params).await?.into_iter().map(row).collect())
}

/// The tables with a column that may be read, and those columns. A view that is broken has none.
pub(super) async fn tables(link: &mut Link) -> Result<Vec<TableSchema>, PortError> {
    let sql = question(&["TABLE_NAME"], "TABLES", READABLE);
    let found = names(link, &sql, &[]).await?;
    let found = found.into_iter().filter_map(|row| row.into_iter().next());
    let mut tables: BTreeMap<String, Vec<FieldSchema>> =
        found.map(|name| (name, Vec::new())).collect();

    let sql = question(
        &["TABLE_NAME", "COLUMN_NAME", "ORDINAL_POSITION"],
        "KEY_COLUMN_USAGE",
        "CONSTRAINT_NAME = 'PRIMARY'",
    );
    let mut keys = BTreeMap::new();
    for row in names(link, &sql, &[]).await? {
        if let Ok([table, column, position]) = <[String; 3]>::try_from(row)
            && let Ok(position) = position.parse::<u32>()
        {
            keys.insert((table, column), position);
        }
    }

    let columns = ["TABLE_NAME", "COLUMN_NAME", "COLUMN_TYPE", "IS_NULLABLE"];
    let order = "FIND_IN_SET('select', PRIVILEGES) ORDER BY TABLE_NAME, ORDINAL_POSITION";
    let sql = question(&columns, "COLUMNS", order);
    for row in names(link, &sql, &[]).await? {
        let Ok([table, column, source_type, nullable]) = <[String; 4]>::try_from(row) else {
            continue;
        };
        let Some(fields) = tables.get_mut(&table) else { continue };
        let mut field = FieldSchema::new(column.as_str(), source_type);
        if nullable.eq_ignore_ascii_case("NO") {
            field = field.not_null();
        }
        if let Some(position) = keys.get(&(table, column)) {
            field = field.primary_key(*position);
        }
        fields.push(field);
    }
    tables.retain(|_, fields| !fields.is_empty());
    Ok(tables.into_iter().map(|(name, fields)| TableSchema::new(name, fields)).collect())
}

/// The table of that name, and the columns that the user may know of. What he may not read of them
/// the server refuses when the statement is prepared.
pub(super) async fn table(link: &mut Link, name: &str) -> Result<Option<Table<Form>>, PortError> {
    let named = format!("{NAMED} AND {READABLE}");
    let sql = question(&["TABLE_TYPE"], "TABLES", &named);
    let found = names(link, &sql, &[name, name]).await?;
    let Some(kind) = found.into_iter().flatten().next() else {
        return unknown(link, name).await;
    };
    let columns =
        ["COLUMN_NAME", "DATA_TYPE", "COLUMN_TYPE", "DATETIME_PRECISION", "CHARACTER_SET_NAME"];
    let sql = question(&columns, "COLUMNS", &format!("{NAMED} ORDER BY ORDINAL_POSITION"));
    let rows = ask(link, &sql, &[name, name]).await?;
    let is_view = kind == "VIEW";
    let may_hide_json = link.is_mariadb
        && !is_view
        && rows.iter().flat_map(|row| row.get(1)).flatten().any(|it| it == "longtext");
    let definition = if may_hide_json { definition(link, name).await? } else { String::new() };
    let mut table = Table { sql: identifier(name, '`'), columns: Vec::new() };
    for row in &rows {
        let [Some(name), Some(data_type), Some(column_type), precision, charset] = row.as_slice()
        else {
            continue;
        };
        let quoted = identifier(name, '`');
        let declared = Declared {
            data_type,
            column_type,
            precision: precision.as_deref(),
            // What an expression is compared in may be another one, or none that agrees.
            charset: charset.as_deref().map(|it| if is_view { "of a view" } else { it }),
            is_json: is_json(&definition, &quoted),
        };
        let form = Form::of(&declared);
        let sql = match form {
            // The driver does not know the type that such vectors have on the wire.
            _ if data_type == "vector" => format!("CAST(t.{quoted} AS BINARY)"),
            // Of some expressions the server sends the number's digits instead of its bits.
            Form::Bit { .. } if is_view => format!("(t.{quoted} + 0)"),
            _ => format!("t.{quoted}"),
        };
        table.columns.push(Column { name: name.clone(), sql, form });
    }
    Ok(Some(table))
}

/// There is no such table, or none that this user may know of: the server tells which.
async fn unknown(link: &mut Link, name: &str) -> Result<Option<Table<Form>>, PortError> {
    /// No such table; no possible name of one.
    const MISSING: [u16; 4] = [1059, 1103, 1146, 1102];
    let sql = AssertSqlSafe(format!("SELECT 1 FROM {} LIMIT 0", identifier(name, '`')));
    match link.connection.prepare(sql.into_sql_str()).await {
        Err(error) if !fault::number(&error).is_some_and(|it| MISSING.contains(&it)) => {
            Err(link.fault(error))
        }
        _ => Ok(None),
    }
}

/// How the table was made. MariaDB shows constraints in its catalogue only to those who may write.
async fn definition(link: &mut Link, name: &str) -> Result<String, PortError> {
    /// Whoever may read single columns only does not see it.
    const DENIED: u16 = 1142;
    let sql = format!("SHOW CREATE TABLE {}", identifier(name, '`'));
    match texts(&mut link.connection, &sql, &[]).await {
        Ok(rows) => Ok(rows.into_iter().flatten().nth(1).flatten().unwrap_or_default()),
        Err(error) if fault::number(&error) == Some(DENIED) => Ok(String::new()),
        Err(error) => Err(link.fault(error)),
    }
}

/// Whether MariaDB's `JSON` made this column: a long text, checked to be valid JSON.
fn is_json(definition: &str, quoted: &str) -> bool {
    let begin = format!("  {quoted} longtext");
    let end = format!(" CHECK (json_valid({quoted}))");
    let mut lines = definition.lines().map(|line| line.strip_suffix(',').unwrap_or(line));
    lines.any(|line| line.starts_with(&begin) && line.ends_with(&end))
}

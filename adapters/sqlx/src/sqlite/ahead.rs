//! How many rows are read ahead.
//!
//! The driver counts rows, and what matters is bytes: few rows ahead make two threads wake each
//! other all the time, many keep much memory where rows are large. So a few rows from all over a
//! table are looked at before it is read. Keeps true: looking costs a few dozen reads, whatever the
//! table's size, and no large value is loaded for it.

use sqlx::sqlite::SqliteConnection;
use sqlx::{AssertSqlSafe, Row as _};

use super::form::Form;
use crate::dialect::{Column, Selected};

/// More than that bring nothing.
pub(super) const MOST: usize = 512;

/// Where nothing is known of the rows.
const UNKNOWN: usize = 16;

/// How many bytes may lie ahead, if the largest row is four times as large as the largest seen.
const BYTES: i64 = 16 << 20;
const DOUBT: i64 = 4;

/// How many rows are looked at.
const LOOKS: u32 = 64;

/// The rows ahead for the table whose rows are largest.
pub(super) async fn measure(
    connection: &mut SqliteConnection,
    tables: &[&Selected<Form>],
) -> usize {
    let mut rows = MOST;
    for table in tables {
        let few = match look(connection, table).await {
            Some(bytes) => usize::try_from(BYTES / DOUBT / bytes.max(1)).unwrap_or(MOST),
            None => UNKNOWN,
        };
        rows = rows.min(few);
    }
    rows.max(2)
}

/// The most bytes that one of some rows has; `None` for what is no table, or has no row numbers.
async fn look(connection: &mut SqliteConnection, table: &Selected<Form>) -> Option<i64> {
    // A part of a column is none, and may take long to make.
    if !table.columns.iter().all(|column| column.form.plain) {
        return None;
    }
    let number = table.columns.first()?.form.row_number?;
    let bytes = |column: &Column<Form>| format!("coalesce(octet_length({}), 0)", column.sql);
    let bytes = table.columns.iter().map(bytes).collect::<Vec<_>>().join(" + ");
    let (from, last) = (&table.from, LOOKS - 1);
    let sql = format!(
        "WITH RECURSIVE steps (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM steps WHERE i < {last}),
           ends (low, high) AS (SELECT min(t.{number}), max(t.{number}) FROM {from} AS t)
         SELECT max((SELECT {bytes} FROM {from} AS t
           WHERE t.{number} >= low + (high - low) / {last} * i ORDER BY t.{number} LIMIT 1))
         FROM steps, ends"
    );
    // Whatever fails here fails again where it is told, or was no fault at all.
    let row = sqlx::query(AssertSqlSafe(sql)).persistent(false).fetch_one(connection).await.ok()?;
    Some(row.try_get::<Option<i64>, _>(0).ok()?.unwrap_or(0))
}

//! Reading a table with sqlx alone, and as one would write it by hand on sqlx, `serde_json` and
//! `sha2`.

use std::hint::black_box;

use futures_util::{Stream, TryStreamExt as _};
use serde::Serialize;
use sha2::{Digest, Sha256};
use sqlx::{Column as _, ColumnIndex, Database, Decode, Row, TypeInfo as _, ValueRef as _};
use time::PrimitiveDateTime;

use crate::Error;

/// Receives every row and drops it.
pub(crate) async fn drain<R>(
    mut rows: impl Stream<Item = Result<R, sqlx::Error>> + Unpin,
) -> Result<u64, Error> {
    let mut count = 0;
    while let Some(row) = rows.try_next().await? {
        drop(row);
        count += 1;
    }
    Ok(count)
}

/// What the loop by hand can read of a database.
pub(crate) trait Readable: Row {
    fn write(&self, line: &mut Vec<u8>) -> Result<(), Error>;
}

impl<D: Database, R: Row<Database = D>> Readable for R
where
    usize: ColumnIndex<R>,
    for<'r> i64: Decode<'r, D>,
    for<'r> f64: Decode<'r, D>,
    for<'r> &'r str: Decode<'r, D>,
    for<'r> PrimitiveDateTime: Decode<'r, D>,
{
    fn write(&self, line: &mut Vec<u8>) -> Result<(), Error> {
        line.push(b'{');
        for (at, column) in self.columns().iter().enumerate() {
            if at > 0 {
                line.push(b',');
            }
            put(line, column.name())?;
            line.push(b':');
            let value = self.try_get_raw(at)?;
            if value.is_null() {
                put(line, ())?;
                continue;
            }
            let kind = value.type_info().into_owned();
            match kind.name() {
                "INTEGER" | "INT" | "BIGINT" => put(line, i64::decode(value)?)?,
                "REAL" | "DOUBLE" => put(line, f64::decode(value)?)?,
                "TEXT" | "VARCHAR" => put(line, <&str>::decode(value)?)?,
                "DATETIME" => put(line, PrimitiveDateTime::decode(value)?.to_string())?,
                other => return Err(format!("the hand-written loop knows no {other}").into()),
            }
        }
        line.push(b'}');
        Ok(())
    }
}

fn put(line: &mut Vec<u8>, value: impl Serialize) -> Result<(), Error> {
    Ok(serde_json::to_writer(line, &value)?)
}

/// Writes every row as a line of JSON and hashes it.
pub(crate) async fn hand_written<R: Readable>(
    mut rows: impl Stream<Item = Result<R, sqlx::Error>> + Unpin,
) -> Result<u64, Error> {
    let (mut count, mut hash, mut line) = (0, Sha256::new(), Vec::new());
    while let Some(row) = rows.try_next().await? {
        line.clear();
        row.write(&mut line)?;
        line.push(b'\n');
        hash.update(&line);
        count += 1;
    }
    black_box(hash.finalize());
    Ok(count)
}

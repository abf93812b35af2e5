//! A row as a JSON object, as one would write it by hand on the driver and `serde_json`.

use std::error;

use fetcher_engine::value::Instant;
use serde::Serialize;
use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, Type};

use crate::Error;

/// Appends the row to the line.
pub(super) fn write(row: &Row, line: &mut Vec<u8>) -> Result<(), Error> {
    line.push(b'{');
    for (at, column) in row.columns().iter().enumerate() {
        if at > 0 {
            line.push(b',');
        }
        serde_json::to_writer(&mut *line, column.name())?;
        line.push(b':');
        match *column.type_() {
            Type::BOOL => cell::<bool>(row, at, line)?,
            Type::INT2 => cell::<i16>(row, at, line)?,
            Type::INT4 => cell::<i32>(row, at, line)?,
            Type::INT8 => cell::<i64>(row, at, line)?,
            Type::FLOAT8 => cell::<f64>(row, at, line)?,
            Type::TEXT | Type::VARCHAR => cell::<&str>(row, at, line)?,
            Type::TIMESTAMPTZ => {
                let text = row.try_get::<_, Option<Moment>>(at)?.and_then(Moment::text);
                serde_json::to_writer(&mut *line, &text)?;
            }
            ref other => return Err(format!("the hand-written loop knows no {other}").into()),
        }
    }
    line.push(b'}');
    Ok(())
}

fn cell<'a, T: FromSql<'a> + Serialize>(
    row: &'a Row,
    at: usize,
    line: &mut Vec<u8>,
) -> Result<(), Error> {
    Ok(serde_json::to_writer(line, &row.try_get::<_, Option<T>>(at)?)?)
}

/// Microseconds since 2000.
struct Moment(i64);

impl Moment {
    fn text(self) -> Option<String> {
        let seconds = self.0.div_euclid(1_000_000) + 946_684_800;
        let nanos = self.0.rem_euclid(1_000_000) as u32 * 1000;
        Instant::new(seconds, nanos).map(|instant| instant.to_string())
    }
}

impl<'a> FromSql<'a> for Moment {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn error::Error + Sync + Send>> {
        Ok(Self(i64::from_be_bytes(raw.try_into()?)))
    }

    fn accepts(kind: &Type) -> bool {
        *kind == Type::TIMESTAMPTZ
    }
}

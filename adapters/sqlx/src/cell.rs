//! One value of a row, as the database holds it and as it goes out.
//!
//! Keeps true: what a filter sees of a cell and what is written of it are the same.

use fetcher_engine::encode::RowBatch;
use fetcher_engine::value::{Date, Decimal, Instant, Timestamp, Value};

/// A value in the form in which it goes out.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(
    not(all(feature = "mysql", feature = "sqlite")),
    expect(dead_code, reason = "each database has only some of them")
)]
pub(crate) enum Cell<'a> {
    Null,
    Bool(bool),
    I64(i64),
    U64(u64),
    F32(f32),
    F64(f64),
    /// The text of a decimal number.
    Decimal(&'a str),
    Text(&'a str),
    Bytes(&'a [u8]),
    Date(Date),
    Timestamp(Timestamp),
    Instant(Instant),
    /// JSON text; what is not valid goes out as a string.
    Json(&'a str),
}

/// The source sent what its type cannot be.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Malformed;

impl Cell<'_> {
    /// Writes it as the next value of a row.
    #[inline(always)]
    pub(crate) fn write(self, batch: &mut RowBatch) -> Result<(), Malformed> {
        match self {
            Self::I64(value) => batch.i64(value),
            Self::Text(text) => batch.str(text),
            Self::Null => batch.null(),
            _ => return self.write_rare(batch),
        }
        Ok(())
    }

    fn write_rare(self, batch: &mut RowBatch) -> Result<(), Malformed> {
        match self {
            Self::Null => batch.null(),
            Self::Bool(value) => batch.bool(value),
            Self::I64(value) => batch.i64(value),
            Self::U64(value) => batch.u64(value),
            Self::F32(value) => batch.f32(value),
            Self::F64(value) => batch.f64(value),
            Self::Decimal(text) => {
                if !batch.decimal_str(text) {
                    return Err(Malformed);
                }
            }
            Self::Text(text) => batch.str(text),
            Self::Bytes(bytes) => batch.bytes(bytes),
            Self::Date(value) => batch.date(value),
            Self::Timestamp(value) => batch.timestamp(value),
            Self::Instant(value) => batch.instant(value),
            Self::Json(text) => batch.json(text),
        }
        Ok(())
    }

    /// What a filter compares.
    pub(crate) fn value(self) -> Result<Value, Malformed> {
        Ok(match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(value),
            Self::I64(value) => Value::I64(value),
            Self::U64(value) => Value::U64(value),
            Self::F32(value) => Value::F32(value),
            Self::F64(value) => Value::F64(value),
            Self::Decimal(text) => Value::Decimal(Decimal::parse(text).ok_or(Malformed)?),
            Self::Text(text) => Value::String(text.to_owned()),
            Self::Bytes(bytes) => Value::Bytes(bytes.to_vec()),
            Self::Date(value) => Value::Date(value),
            Self::Timestamp(value) => Value::Timestamp(value),
            Self::Instant(value) => Value::Instant(value),
            Self::Json(text) => Value::Json(text.to_owned()),
        })
    }
}

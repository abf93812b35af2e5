//! The binary protocol: what arrives for a column, and how it becomes a cell.
//!
//! Keeps true: a value is decoded by what the server says that it sends, and has to be of the
//! family that the catalogue promised; every length is checked, so nothing that a server sends can
//! panic here.

use std::fmt::Write as _;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use fetcher_engine::encode::RowBatch;
use fetcher_engine::value::{Date, Instant, Time, Timestamp};
use futures_core::Stream;
use futures_core::stream::BoxStream;
use sqlx::mysql::{MySqlConnection, MySqlQueryResult, MySqlRow, MySqlTypeInfo};
use sqlx::{
    AssertSqlSafe, Column as _, Decode, Either, Executor as _, MySql, Row as _, Type, TypeInfo as _,
};

use super::form::Form;
use super::geometry;
use crate::cell::{Cell, Malformed};
use crate::dialect::Param;

/// What the server sends for a column.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Wire {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F32,
    F64,
    Year,
    /// A date, with or without a time of day.
    Moment,
    Time,
    /// Anything with a length in front.
    Bytes,
}

impl Wire {
    fn of(info: &MySqlTypeInfo) -> Self {
        match info.name() {
            // The driver's name for TINYINT(1), which may be unsigned all the same.
            "BOOLEAN" if *info == <u8 as Type<MySql>>::type_info() => Self::U8,
            "BOOLEAN" | "TINYINT" => Self::I8,
            "TINYINT UNSIGNED" => Self::U8,
            "SMALLINT" => Self::I16,
            "SMALLINT UNSIGNED" => Self::U16,
            "INT" | "MEDIUMINT" => Self::I32,
            "INT UNSIGNED" | "MEDIUMINT UNSIGNED" => Self::U32,
            "BIGINT" => Self::I64,
            "BIGINT UNSIGNED" => Self::U64,
            "FLOAT" => Self::F32,
            "DOUBLE" => Self::F64,
            "YEAR" => Self::Year,
            "DATE" | "DATETIME" | "TIMESTAMP" => Self::Moment,
            "TIME" => Self::Time,
            _ => Self::Bytes,
        }
    }
}

/// How the values of a column are read in one result.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    form: Form,
    wire: Wire,
    /// What most values are.
    common: Common,
}

/// The values that need no more than a look: the same cells as `decode` makes, without asking what
/// they are.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Common {
    I32,
    I64,
    Text,
    No,
}

impl Way {
    /// What the server says that it sends, for a column of this form.
    pub(super) fn find(form: Form, row: &MySqlRow, at: usize) -> Result<Self, Malformed> {
        let column = row.columns().get(at).ok_or(Malformed)?;
        let wire = Wire::of(column.type_info());
        let common = match (form, wire) {
            (Form::Integer, Wire::I32) => Common::I32,
            (Form::Integer, Wire::I64) => Common::I64,
            (Form::Text { .. } | Form::Word, Wire::Bytes) => Common::Text,
            _ => Common::No,
        };
        Ok(Self { form, wire, common })
    }

    /// The value at a place of a row.
    pub(super) fn cell<'r>(
        &self,
        row: &'r MySqlRow,
        at: usize,
        scratch: &'r mut String,
    ) -> Result<Cell<'r>, Malformed> {
        match raw(row, at) {
            Some(bytes) => decode(&self.form, self.wire, bytes, scratch),
            None => Ok(Cell::Null),
        }
    }

    /// Writes the value at a place of a row.
    #[inline(always)]
    pub(super) fn write(
        &self,
        row: &MySqlRow,
        at: usize,
        scratch: &mut String,
        batch: &mut RowBatch,
    ) -> Result<(), Malformed> {
        let Some(bytes) = raw(row, at) else {
            batch.null();
            return Ok(());
        };
        match self.common {
            Common::I32 => batch.i64(i32::from_le_bytes(array(bytes)?).into()),
            Common::I64 => batch.i64(i64::from_le_bytes(array(bytes)?)),
            Common::Text => {
                if !batch.utf8(bytes) {
                    batch.bytes(bytes);
                }
            }
            Common::No => return decode(&self.form, self.wire, bytes, scratch)?.write(batch),
        }
        Ok(())
    }
}

/// The rows of one result.
pub(crate) struct Rows<'c>(Answers<'c>);

/// Rows, and at the end of a result how it ended.
type Answers<'c> = BoxStream<'c, Result<Either<MySqlQueryResult, MySqlRow>, sqlx::Error>>;

impl Stream for Rows<'_> {
    type Item = Result<MySqlRow, sqlx::Error>;

    #[inline]
    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            return Poll::Ready(match ready!(self.0.as_mut().poll_next(cx)) {
                Some(Ok(Either::Right(row))) => Some(Ok(row)),
                Some(Ok(Either::Left(_))) => continue,
                Some(Err(error)) => Some(Err(error)),
                None => None,
            });
        }
    }
}

/// Runs a statement, prepared and in binary.
pub(super) fn rows<'c>(
    connection: &'c mut MySqlConnection,
    sql: String,
    params: &[Param],
) -> Result<Rows<'c>, sqlx::Error> {
    let mut query = sqlx::query(AssertSqlSafe(sql));
    for param in params {
        query = match param {
            Param::I64(value) => query.bind(*value),
            Param::U64(value) => query.bind(*value),
            Param::F64(value) => query.bind(*value),
            Param::Text(value) => query.bind(value.clone()),
            Param::Bytes(value) => query.bind(value.clone()),
        };
    }
    // Without what `Query::fetch` puts around this for each row.
    Ok(Rows(connection.fetch_many(query)))
}

/// All rows of a question to the catalogue, each a list of texts.
pub(super) async fn texts(
    connection: &mut MySqlConnection,
    sql: &str,
    params: &[&str],
) -> Result<Vec<Vec<Option<String>>>, sqlx::Error> {
    let mut query = sqlx::query(AssertSqlSafe(sql.to_owned()));
    for param in params {
        query = query.bind((*param).to_owned());
    }
    let rows = query.fetch_all(connection).await?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let cells = |row: &MySqlRow| (0..row.len()).map(|at| raw(row, at).map(text)).collect();
    Ok(rows.iter().map(cells).collect())
}

/// The bytes of a value. The driver's own idea of null includes zero dates, so it is not asked.
#[inline(always)]
fn raw(row: &MySqlRow, at: usize) -> Option<&[u8]> {
    <&[u8] as Decode<MySql>>::decode(row.try_get_raw(at).ok()?).ok()
}

fn decode<'r>(
    form: &Form,
    wire: Wire,
    bytes: &'r [u8],
    scratch: &'r mut String,
) -> Result<Cell<'r>, Malformed> {
    match (form, wire) {
        (Form::Integer | Form::Unsigned | Form::Year, _) => integer(form, wire, bytes),
        (Form::Float { .. }, Wire::F32) => Ok(Cell::F32(f32::from_le_bytes(array(bytes)?))),
        (Form::Double { .. }, Wire::F64) => Ok(Cell::F64(f64::from_le_bytes(array(bytes)?))),
        (Form::Date, Wire::Moment) => date(bytes, scratch),
        (Form::DateTime { digits }, Wire::Moment) => {
            moment(bytes, *digits, scratch, |date, time| {
                Some(Cell::Timestamp(Timestamp::from_date_time(date, time)?))
            })
        }
        (Form::Timestamp { digits }, Wire::Moment) => {
            moment(bytes, *digits, scratch, |date, time| {
                Some(Cell::Instant(Instant::from_date_time(date, time)?))
            })
        }
        (Form::Time { digits }, Wire::Time) => time(bytes, *digits, scratch),
        // What `catalogue` made a number of.
        (Form::Bit { width }, _) if wire != Wire::Bytes => {
            match integer(&Form::Unsigned, wire, bytes)? {
                Cell::U64(value) => zeros_and_ones(value, *width, scratch),
                _ => Err(Malformed),
            }
        }
        (_, Wire::Bytes) => lengthy(form, bytes, scratch),
        // The column is of another type than it was when the statement was made.
        _ => Err(Malformed),
    }
}

/// What arrives with its length in front.
fn lengthy<'r>(
    form: &Form,
    bytes: &'r [u8],
    scratch: &'r mut String,
) -> Result<Cell<'r>, Malformed> {
    match form {
        Form::Text { .. } | Form::Word => Ok(text(bytes)),
        Form::Bytes | Form::Other => Ok(Cell::Bytes(bytes)),
        Form::Json => Ok(std::str::from_utf8(bytes).map_or(Cell::Bytes(bytes), Cell::Json)),
        Form::Decimal => std::str::from_utf8(bytes).map(Cell::Decimal).map_err(|_| Malformed),
        Form::Bit { width } => bits(bytes, *width, scratch),
        Form::Geometry => {
            let is_known = geometry::write(scratch, bytes).is_some();
            Ok(if is_known { Cell::Text(scratch) } else { Cell::Bytes(bytes) })
        }
        _ => Err(Malformed),
    }
}

/// Text that is none goes out as what it is.
#[inline(always)]
fn text(bytes: &[u8]) -> Cell<'_> {
    std::str::from_utf8(bytes).map_or(Cell::Bytes(bytes), Cell::Text)
}

#[inline]
fn array<const N: usize>(bytes: &[u8]) -> Result<[u8; N], Malformed> {
    bytes.try_into().map_err(|_| Malformed)
}

fn integer<'r>(form: &Form, wire: Wire, bytes: &[u8]) -> Result<Cell<'r>, Malformed> {
    let is_unsigned = *form == Form::Unsigned;
    if wire == Wire::U64 {
        let value = u64::from_le_bytes(array(bytes)?);
        if is_unsigned {
            return Ok(Cell::U64(value));
        }
        return i64::try_from(value).map(Cell::I64).map_err(|_| Malformed);
    }
    let value = signed(wire, bytes)?;
    if is_unsigned {
        return u64::try_from(value).map(Cell::U64).map_err(|_| Malformed);
    }
    Ok(Cell::I64(value))
}

/// An integer of a kind that an `i64` holds.
#[inline(always)]
fn signed(wire: Wire, bytes: &[u8]) -> Result<i64, Malformed> {
    Ok(match wire {
        Wire::I32 => i32::from_le_bytes(array(bytes)?).into(),
        Wire::I64 => i64::from_le_bytes(array(bytes)?),
        Wire::I16 => i16::from_le_bytes(array(bytes)?).into(),
        Wire::I8 => i8::from_le_bytes(array(bytes)?).into(),
        Wire::U32 => u32::from_le_bytes(array(bytes)?).into(),
        Wire::U16 | Wire::Year => u16::from_le_bytes(array(bytes)?).into(),
        Wire::U8 => u8::from_le_bytes(array(bytes)?).into(),
        _ => return Err(Malformed),
    })
}

/// The parts of a date and a time of day, any of which may be zero.
#[derive(Clone, Copy, Debug, Default)]
struct Parts {
    year: u16,
    month: u8,
    day: u8,
    hour: u8,
    minute: u8,
    second: u8,
    micros: u32,
}

impl Parts {
    /// What is left out at the end is zero.
    fn read(bytes: &[u8]) -> Result<Self, Malformed> {
        let [len, bytes @ ..] = bytes else { return Err(Malformed) };
        if usize::from(*len) != bytes.len() {
            return Err(Malformed);
        }
        let mut parts = Self::default();
        if bytes.is_empty() {
            return Ok(parts);
        }
        let (date, clock) = bytes.split_at_checked(4).ok_or(Malformed)?;
        let [low, high, month, day] = array(date)?;
        (parts.year, parts.month, parts.day) = (u16::from_le_bytes([low, high]), month, day);
        match clock {
            [] => {}
            [hour, minute, second, micros @ ..] => {
                (parts.hour, parts.minute, parts.second) = (*hour, *minute, *second);
                if !micros.is_empty() {
                    parts.micros = u32::from_le_bytes(array(micros)?);
                }
            }
            _ => return Err(Malformed),
        }
        let is_possible = parts.year <= 9999
            && parts.month <= 12
            && parts.day <= 31
            && parts.hour <= 23
            && parts.minute <= 59
            && parts.second <= 59
            && parts.micros <= 999_999;
        is_possible.then_some(parts).ok_or(Malformed)
    }

    /// The date, if it is one.
    fn date(&self) -> Option<Date> {
        if self.year == 0 {
            return None;
        }
        Date::from_ymd(self.year.into(), self.month, self.day)
    }

    fn push_date(&self, out: &mut String) {
        // PROOF: writing to a string cannot fail.
        let _ = write!(out, "{:04}-{:02}-{:02}", self.year, self.month, self.day);
    }

    fn push_clock(&self, out: &mut String, digits: u8) {
        // PROOF: writing to a string cannot fail.
        let _ = write!(out, "{:02}:{:02}:{:02}", self.hour, self.minute, self.second);
        push_fraction(out, self.micros, digits);
    }
}

/// As many digits as the column has.
fn push_fraction(out: &mut String, micros: u32, digits: u8) {
    if digits > 0 {
        // PROOF: writing to a string cannot fail.
        let _ = write!(out, ".{micros:06}");
        out.truncate(out.len() - 6_usize.saturating_sub(digits.into()));
    }
}

fn date<'r>(bytes: &[u8], scratch: &'r mut String) -> Result<Cell<'r>, Malformed> {
    let parts = Parts::read(bytes)?;
    if let Some(date) = parts.date() {
        return Ok(Cell::Date(date));
    }
    scratch.clear();
    parts.push_date(scratch);
    Ok(Cell::Text(scratch))
}

fn moment<'r>(
    bytes: &[u8],
    digits: u8,
    scratch: &'r mut String,
    cell: impl FnOnce(Date, Time) -> Option<Cell<'static>>,
) -> Result<Cell<'r>, Malformed> {
    let parts = Parts::read(bytes)?;
    if let Some(date) = parts.date() {
        let nanos = parts.micros * 1000;
        let time = Time::from_hms_nano(parts.hour, parts.minute, parts.second, nanos);
        return time.and_then(|time| cell(date, time)).ok_or(Malformed);
    }
    scratch.clear();
    parts.push_date(scratch);
    scratch.push(' ');
    parts.push_clock(scratch, digits);
    Ok(Cell::Text(scratch))
}

/// A time of day or a span, as the server shows it: `-838:59:59.000`.
fn time<'r>(bytes: &[u8], digits: u8, scratch: &'r mut String) -> Result<Cell<'r>, Malformed> {
    let [len, bytes @ ..] = bytes else { return Err(Malformed) };
    if usize::from(*len) != bytes.len() {
        return Err(Malformed);
    }
    let (is_negative, days, [hours, minutes, seconds], micros) = match bytes {
        [] => (0, 0, [0; 3], 0),
        [sign, rest @ ..] => {
            let (days, rest) = rest.split_at_checked(4).ok_or(Malformed)?;
            let (clock, micros) = rest.split_at_checked(3).ok_or(Malformed)?;
            let micros = if micros.is_empty() { 0 } else { u32::from_le_bytes(array(micros)?) };
            (*sign, u32::from_le_bytes(array(days)?), array(clock)?, micros)
        }
    };
    if days > 999 || hours > 23 || minutes > 59 || seconds > 59 || micros > 999_999 {
        return Err(Malformed);
    }
    scratch.clear();
    if is_negative != 0 {
        scratch.push('-');
    }
    let hours = days * 24 + u32::from(hours);
    // PROOF: writing to a string cannot fail.
    let _ = write!(scratch, "{hours:02}:{minutes:02}:{seconds:02}");
    push_fraction(scratch, micros, digits);
    Ok(Cell::Text(scratch))
}

/// Exactly as many zeros and ones as the column is wide. Leading bytes may be left out.
fn bits<'r>(bytes: &[u8], width: u8, scratch: &'r mut String) -> Result<Cell<'r>, Malformed> {
    let mut value = 0_u64;
    for byte in bytes {
        if value >> 56 != 0 {
            return Err(Malformed);
        }
        value = value << 8 | u64::from(*byte);
    }
    zeros_and_ones(value, width, scratch)
}

fn zeros_and_ones(value: u64, width: u8, scratch: &mut String) -> Result<Cell<'_>, Malformed> {
    if width == 0 || width > 64 || (width < 64 && value >> width != 0) {
        return Err(Malformed);
    }
    scratch.clear();
    // PROOF: writing to a string cannot fail.
    let _ = write!(scratch, "{value:0width$b}", width = usize::from(width));
    Ok(Cell::Text(scratch))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIRES: [Wire; 14] = [
        Wire::I8,
        Wire::U8,
        Wire::I16,
        Wire::U16,
        Wire::I32,
        Wire::U32,
        Wire::I64,
        Wire::U64,
        Wire::F32,
        Wire::F64,
        Wire::Year,
        Wire::Moment,
        Wire::Time,
        Wire::Bytes,
    ];

    fn forms() -> Vec<Form> {
        let mut forms = vec![
            Form::Integer,
            Form::Unsigned,
            Form::Year,
            Form::Decimal,
            Form::Float { fixed: false },
            Form::Double { fixed: true },
            Form::Text { plain: true },
            Form::Word,
            Form::Bytes,
            Form::Date,
            Form::Json,
            Form::Geometry,
            Form::Other,
        ];
        for number in [0, 1, 6, 7, 64, 65, 255] {
            forms.push(Form::Bit { width: number });
            forms.push(Form::DateTime { digits: number });
            forms.push(Form::Timestamp { digits: number });
            forms.push(Form::Time { digits: number });
        }
        forms
    }

    #[test]
    fn no_bytes_panic() {
        let mut state = 7_u64;
        let mut byte = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        };
        let mut scratch = String::new();
        let mut decoded = 0;
        for round in 0..400 {
            let mut bytes: Vec<_> = (0..round % 24).map(|_| byte() % 64).collect();
            // Half of them have a length in front that is right.
            if round % 2 == 0 && !bytes.is_empty() {
                bytes[0] = u8::try_from(bytes.len() - 1).unwrap();
            }
            for form in &forms() {
                for wire in WIRES {
                    decoded += u32::from(decode(form, wire, &bytes, &mut scratch).is_ok());
                }
            }
        }
        assert!(decoded > 2_000, "{decoded}");
    }

    #[test]
    fn what_is_no_longer_of_its_type_is_malformed() {
        let mut scratch = String::new();
        let wrong: [(Form, Wire, &[u8]); 12] = [
            (Form::Integer, Wire::F32, &[0; 4]),
            (Form::Float { fixed: false }, Wire::I32, &[0; 4]),
            (Form::Integer, Wire::I32, &[0; 3]),
            (Form::Unsigned, Wire::I64, &[255; 8]),
            (Form::Integer, Wire::U64, &[255; 8]),
            (Form::Text { plain: true }, Wire::I8, &[0]),
            (Form::Integer, Wire::Bytes, b"1"),
            (Form::Date, Wire::Moment, &[4, 0xE8, 7, 13, 1]),
            (Form::Date, Wire::Moment, &[5, 0xE8, 7, 1, 1]),
            (Form::DateTime { digits: 0 }, Wire::Moment, &[7, 0xE8, 7, 1, 1, 24, 0, 0]),
            (Form::Time { digits: 0 }, Wire::Time, &[8, 0, 0, 0, 0, 0, 0, 60, 0]),
            (Form::Decimal, Wire::Bytes, &[0xFF]),
        ];
        for (form, wire, bytes) in wrong {
            let cell = decode(&form, wire, bytes, &mut scratch);
            assert!(cell.is_err(), "{form:?} {wire:?}: {cell:?}");
        }
        let text = decode(&Form::Word, Wire::Bytes, &[0xFF], &mut scratch);
        assert!(matches!(text, Ok(Cell::Bytes([0xFF]))), "{text:?}");
    }
}

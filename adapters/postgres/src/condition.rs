//! Filters as SQL that means exactly what [`Filter::matches`] means.
//!
//! | operator | SQL |
//! | --- | --- |
//! | `eq`, `in` | `x = ANY ($n)` |
//! | `nin` | `x <> ALL ($n)` |
//! | `ne`, `gt`, `gte`, `lt`, `lte` | `x <> $n`, `x > $n`, … |
//! | `between` | `x >= $n AND x <= $m` |
//! | `like` | `x ~~ $n` |
//!
//! Keeps true: values are parameters of a declared type, never part of the text; operators are the
//! system's own, whatever a search path has; text compares by bytes, whatever its collation;
//! parameters have no printable form.

use std::error::Error;
use std::fmt;

use bytes::BytesMut;
use fetcher_engine::Filter;
use fetcher_engine::filter::Operator;
use fetcher_engine::value::{Date, Time, Value, ValueKind};
use tokio_postgres::types::{Format, IsNull, ToSql, Type};

use crate::shape::Shape;
use crate::sql::array_text;

/// A bound value: its text form, which the server reads as the parameter's declared type.
pub(crate) struct Param(Option<String>);

impl Param {
    pub(crate) fn new(text: String) -> Self {
        Self(Some(text))
    }

    pub(crate) const fn null() -> Self {
        Self(None)
    }
}

impl fmt::Debug for Param {
    /// Never the value: the driver logs parameters.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Param")
    }
}

impl ToSql for Param {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        let Some(text) = &self.0 else { return Ok(IsNull::Yes) };
        out.extend_from_slice(text.as_bytes());
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, _: &Type) -> Format {
        Format::Text
    }

    fn to_sql_checked(
        &self,
        ty: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        self.to_sql(ty, out)
    }
}

/// The conditions of one table: the text behind `WHERE`, and its parameters.
#[derive(Debug, Default)]
pub(crate) struct Conditions {
    pub(crate) sql: String,
    pub(crate) params: Vec<Param>,
    pub(crate) types: Vec<Type>,
}

/// What the server's text is made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Encoding {
    /// Whether its bytes are those of UTF-8, so that they order in the same way.
    pub(crate) is_utf8: bool,
}

impl Conditions {
    /// Adds a filter on a column; `None` if it cannot mean the same.
    pub(crate) fn push(
        &mut self,
        filter: &Filter,
        column: &Column<'_>,
        encoding: Encoding,
    ) -> Option<()> {
        let (expression, kind) = column.shape.compared(column.sql)?;
        let filter = filter.for_column(kind)?;
        let (scalar, array) = types(kind)?;
        let operator = filter.operator();
        // Equality of deterministic collations is that of bytes, and an index serves it.
        let by_bytes = kind == ValueKind::String
            && !(column.plain && matches!(operator, Operator::Eq | Operator::In));
        let wrap = |operand: &str, is_array: bool| match (by_bytes, encoding.is_utf8 || is_array) {
            (false, _) => operand.to_owned(),
            (true, true) => format!("({operand}) COLLATE pg_catalog.\"C\""),
            (true, false) => format!("pg_catalog.convert_to({operand}, 'UTF8')"),
        };
        if by_bytes && !encoding.is_utf8 && operator != Operator::Like {
            return self.push_each(&filter, &wrap(&expression, false), kind);
        }
        let left = match operator {
            Operator::Like => format!("({expression}) COLLATE pg_catalog.\"C\""),
            _ => wrap(&expression, false),
        };
        let name = |operator| format!("OPERATOR(pg_catalog.{operator})");
        let condition = match operator {
            Operator::Eq | Operator::In => {
                let texts: Option<Vec<_>> = filter.values().iter().map(operand).collect();
                let param = self.bind(array_text(texts?), array);
                format!("{left} {} ANY ({param})", name("="))
            }
            Operator::Nin => {
                let texts: Option<Vec<_>> = filter.values().iter().map(operand).collect();
                let param = self.bind(array_text(texts?), array);
                format!("{left} {} ALL ({param})", name("<>"))
            }
            Operator::Between => {
                let [low, high] = filter.values() else { return None };
                let low = self.bind(operand(low)?, scalar.clone());
                let high = self.bind(operand(high)?, scalar);
                let (above, below) = (name(">="), name("<="));
                format!("{left} {above} {low} AND {left} {below} {high}")
            }
            single => {
                let param = self.bind(operand(filter.values().first()?)?, scalar);
                format!("{left} {} {param}", name(symbol(single)))
            }
        };
        self.and(&condition);
        Some(())
    }

    /// The same value by value, each of them converted to the bytes of UTF-8: for servers that
    /// hold text in another encoding.
    fn push_each(&mut self, filter: &Filter, left: &str, kind: ValueKind) -> Option<()> {
        let (scalar, _) = types(kind)?;
        let operator = filter.operator();
        let symbols: &[_] = match operator {
            Operator::Eq | Operator::In => &["="],
            Operator::Nin => &["<>"],
            Operator::Between => &[">=", "<="],
            single => &[symbol(single)],
        };
        let mut conditions = Vec::new();
        for (at, value) in filter.values().iter().enumerate() {
            let symbol = symbols.get(at).or(symbols.first())?;
            let param = self.bind(operand(value)?, scalar.clone());
            let right = format!("pg_catalog.convert_to({param}, 'UTF8')");
            conditions.push(format!("{left} OPERATOR(pg_catalog.{symbol}) {right}"));
        }
        let any = matches!(operator, Operator::Eq | Operator::In);
        self.and(&format!("({})", conditions.join(if any { " OR " } else { " AND " })));
        Some(())
    }

    fn and(&mut self, condition: &str) {
        if !self.sql.is_empty() {
            self.sql.push_str(" AND ");
        }
        self.sql.push_str(condition);
    }

    fn bind(&mut self, text: String, kind: Type) -> String {
        self.params.push(Param::new(text));
        self.types.push(kind);
        format!("${}", self.params.len())
    }
}

/// A column that a filter is on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column<'a> {
    pub(crate) sql: &'a str,
    pub(crate) shape: &'a Shape,
    /// Whether it is text whose collation calls only equal bytes equal.
    pub(crate) plain: bool,
}

const fn symbol(operator: Operator) -> &'static str {
    match operator {
        Operator::Eq | Operator::In => "=",
        Operator::Ne | Operator::Nin => "<>",
        Operator::Gt => ">",
        Operator::Gte | Operator::Between => ">=",
        Operator::Lt => "<",
        Operator::Lte => "<=",
        Operator::Like => "~~",
    }
}

/// The types that operands of a kind are bound as, one and several.
fn types(kind: ValueKind) -> Option<(Type, Type)> {
    Some(match kind {
        ValueKind::Bool => (Type::BOOL, Type::BOOL_ARRAY),
        // Wider than a narrow column: an operand beyond its range compares all the same.
        ValueKind::I64 => (Type::INT8, Type::INT8_ARRAY),
        ValueKind::F32 => (Type::FLOAT4, Type::FLOAT4_ARRAY),
        ValueKind::F64 => (Type::FLOAT8, Type::FLOAT8_ARRAY),
        ValueKind::Decimal => (Type::NUMERIC, Type::NUMERIC_ARRAY),
        ValueKind::String => (Type::TEXT, Type::TEXT_ARRAY),
        ValueKind::Bytes => (Type::BYTEA, Type::BYTEA_ARRAY),
        ValueKind::Uuid => (Type::UUID, Type::UUID_ARRAY),
        ValueKind::Date => (Type::DATE, Type::DATE_ARRAY),
        ValueKind::Time => (Type::TIME, Type::TIME_ARRAY),
        ValueKind::Timestamp => (Type::TIMESTAMP, Type::TIMESTAMP_ARRAY),
        ValueKind::Instant => (Type::TIMESTAMPTZ, Type::TIMESTAMPTZ_ARRAY),
        _ => return None,
    })
}

/// The text form of an operand as the server reads it; `None` where the column's type has no such
/// value. What is beyond the type's range the server refuses by itself, before the first row.
fn operand(value: &Value) -> Option<String> {
    Some(match value {
        Value::Bool(value) => value.to_string(),
        Value::I64(value) => value.to_string(),
        Value::F32(value) => float(f64::from(*value), value.to_string()),
        Value::F64(value) => float(*value, value.to_string()),
        Value::Decimal(value) => value.as_str().to_owned(),
        // Text in PostgreSQL has no character zero.
        Value::String(value) => (!value.contains('\0')).then(|| value.clone())?,
        Value::Bytes(value) => {
            use fmt::Write as _;
            value.iter().fold(String::from("\\x"), |mut text, byte| {
                // PROOF: writing to a string cannot fail.
                let _ = write!(text, "{byte:02x}");
                text
            })
        }
        Value::Uuid(value) => value.to_string(),
        Value::Date(value) => day(*value, ""),
        Value::Time(value) => clock(*value)?,
        Value::Timestamp(value) => moment(value.date(), value.time(), "")?,
        Value::Instant(value) => moment(value.date(), value.time(), "+00")?,
        _ => return None,
    })
}

fn float(value: f64, text: String) -> String {
    match value {
        f64::INFINITY => "Infinity".to_owned(),
        f64::NEG_INFINITY => "-Infinity".to_owned(),
        value if value.is_nan() => "NaN".to_owned(),
        _ => text,
    }
}

/// A date with what belongs behind its days; years before the first are of an era of their own.
fn day(date: Date, after: &str) -> String {
    let Some((year, month, day)) = date.ymd() else { return date.to_string() };
    let (year, era) = if year > 0 { (year, "") } else { (1 - year, " BC") };
    format!("{year:04}-{month:02}-{day:02}{after}{era}")
}

/// A time of day; `None` if it is finer than the server's.
fn clock(time: Time) -> Option<String> {
    time.nanos().is_multiple_of(1000).then(|| time.to_string())
}

fn moment(date: Date, time: Option<Time>, zone: &str) -> Option<String> {
    let Some(time) = time else { return Some(date.to_string()) };
    Some(day(date, &format!(" {}{zone}", clock(time)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands_are_texts_that_the_server_reads() {
        let text = |value: &str, kind| operand(&Value::from(value).convert_to(kind)?);
        let same = [
            ("2024-03-01", ValueKind::Date, "2024-03-01"),
            ("-000043-03-15", ValueKind::Date, "0044-03-15 BC"),
            ("+000000-01-01", ValueKind::Date, "0001-01-01 BC"),
            ("+099999-12-31", ValueKind::Date, "99999-12-31"),
            ("-infinity", ValueKind::Date, "-infinity"),
            ("2024-03-01T12:34:56.5", ValueKind::Timestamp, "2024-03-01 12:34:56.5"),
            ("-000043-03-15T00:00:00Z", ValueKind::Instant, "0044-03-15 00:00:00+00 BC"),
            ("infinity", ValueKind::Instant, "infinity"),
            ("24:00:00", ValueKind::Time, "24:00:00"),
            ("AP8=", ValueKind::Bytes, "\\x00ff"),
            ("NaN", ValueKind::F32, "NaN"),
            ("1e300", ValueKind::Decimal, "1e300"),
        ];
        for (value, kind, expected) in same {
            assert_eq!(text(value, kind).as_deref(), Some(expected), "{value}");
        }
        for (value, kind) in [
            ("12:00:00.0000001", ValueKind::Time),
            ("2024-03-01T00:00:00.000000001", ValueKind::Timestamp),
            ("a\0b", ValueKind::String),
        ] {
            assert_eq!(text(value, kind), None, "{value}");
        }
    }

    #[test]
    fn parameters_are_not_printed() {
        assert_eq!(format!("{:?}", Param::new("hunter2".to_owned())), "Param");
    }
}

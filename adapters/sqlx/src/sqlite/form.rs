//! How the cells of a column are read, and what a filter on them may be.
//!
//! SQLite keeps types with cells; a column's declared type says what is done to a value on its way
//! in ("affinity", in SQLite's "Datatypes", section 3). Keeps true: a cell goes out as it is
//! stored, but for the two declarations that [`Form`] names; an operand is converted to what the
//! column would have stored, or refused.

use fetcher_engine::Filter;
use fetcher_engine::filter::Operator;
use fetcher_engine::value::{Value, ValueKind};
use sqlx::sqlite::{Sqlite, SqliteRow, SqliteValueRef};
use sqlx::{Decode, Row as _, TypeInfo as _, ValueRef as _};

use crate::cell::{Cell, Malformed};
use crate::dialect::{Column, Narrow, Param, params};

/// The most bytes of a pattern that SQL is asked to look for.
const NEEDLE_MAX: usize = 10_000;

/// What a column's declaration says of its cells.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    Boolean,
    Json,
    Integer,
    Real,
    /// Numbers of either sort, and nothing but numbers is compared with them.
    Number,
    Text,
    Blob,
    /// Anything; what looks like a number has become one.
    Numeric,
    /// Anything.
    Any,
}

/// A column's cells.
#[derive(Clone, Copy, Debug)]
pub(super) struct Form {
    pub(super) kind: Kind,
    /// Whether it is a column of a table, so that an index may know it.
    pub(super) plain: bool,
    /// Whether the file's text is UTF-8, byte for byte.
    pub(super) utf8: bool,
    /// What the table's row numbers are called, if it has any that can be reached.
    pub(super) row_number: Option<&'static str>,
}

impl Kind {
    /// What a declared type means.
    pub(super) fn of(declared: &str, strict: bool) -> Self {
        let declared = declared.to_ascii_uppercase();
        let word = declared.split('(').next().unwrap_or_default().trim();
        let has = |parts: &[&str]| parts.iter().any(|part| declared.contains(part));
        match word {
            "BOOLEAN" | "BOOL" => Self::Boolean,
            "JSON" | "JSONB" => Self::Json,
            "NUMERIC" | "DECIMAL" | "NUMBER" => Self::Number,
            "" => Self::Any,
            "ANY" if strict => Self::Any,
            // The order is that of SQLite's rules.
            _ if has(&["INT"]) => Self::Integer,
            _ if has(&["CHAR", "CLOB", "TEXT"]) => Self::Text,
            _ if has(&["BLOB"]) => Self::Blob,
            _ if has(&["REAL", "FLOA", "DOUB"]) => Self::Real,
            _ => Self::Numeric,
        }
    }
}

impl Form {
    /// The filter with its operands as the column would have stored them.
    pub(super) fn convert(self, filter: &Filter) -> Option<Filter> {
        let kind = match self.kind {
            Kind::Boolean => ValueKind::Bool,
            Kind::Json => ValueKind::Json,
            Kind::Integer => ValueKind::I64,
            Kind::Real => ValueKind::F64,
            Kind::Text => ValueKind::String,
            Kind::Blob => ValueKind::Bytes,
            Kind::Number | Kind::Numeric | Kind::Any => return self.convert_each(filter),
        };
        filter.for_column(kind)
    }

    /// The same for columns whose cells are of several kinds.
    fn convert_each(self, filter: &Filter) -> Option<Filter> {
        filter.check().ok()?;
        let is_like = filter.operator() == Operator::Like;
        if is_like && self.kind == Kind::Number {
            return None;
        }
        let operand = |value: &Value| match value {
            Value::String(_) if is_like => Some(value.clone()),
            Value::String(text) => match self.kind {
                Kind::Any => Some(value.clone()),
                Kind::Number => number(value),
                _ => numeral(text).or_else(|| Some(value.clone())),
            },
            Value::Bytes(_) => (self.kind != Kind::Number).then(|| value.clone()),
            // Neither is stored as such, and each could be stored in several ways.
            Value::Bool(_) => None,
            value => number(value),
        };
        let values: Option<_> = filter.values().iter().map(operand).collect();
        Some(Filter::new(filter.field(), filter.operator(), values?))
    }
}

/// A number as SQLite holds it.
fn number(value: &Value) -> Option<Value> {
    value.convert_to(ValueKind::I64).or_else(|| value.convert_to(ValueKind::F64))
}

/// The number that SQLite makes of a text in a column of numeric affinity; `None` where it leaves
/// the text alone. White space around it does not count, and what is too large is infinite.
fn numeral(text: &str) -> Option<Value> {
    let text = text.trim_matches([' ', '\t', '\n', '\u{b}', '\u{c}', '\r']);
    // Names such as `inf` are numbers to Rust only.
    text.trim_start_matches(['+', '-'])
        .starts_with(|c: char| c == '.' || c.is_ascii_digit())
        .then_some(())?;
    let integer = text.parse().map(Value::I64).ok();
    integer.or_else(|| text.parse().map(Value::F64).ok())
}

/// A condition that holds wherever the filter does.
///
/// Wherever the filter keeps a row, cell and operand are both numbers, both text or both bytes, and
/// the operand is not NaN, which SQLite would take for null. Numbers compare by value in SQLite,
/// too; text and blobs by their bytes under `BINARY`. No conversion by affinity touches such a
/// pair: the operand is what the column would have stored, and `+` takes its affinity from a column
/// that is not a table's own. Text that is no text goes out as bytes and is a text to SQLite.
pub(super) fn narrow(column: &Column<Form>, filter: &Filter) -> Option<Narrow> {
    let Form { plain, utf8, .. } = column.form;
    let plus = if plain { "" } else { "+" };
    let left = format!("{plus}{} COLLATE BINARY", column.sql);
    let operator = filter.operator();
    if operator == Operator::Like {
        let [Value::String(pattern)] = filter.values() else { return None };
        let needle = literal_part(pattern);
        let useful = utf8 && !needle.is_empty() && needle.len() <= NEEDLE_MAX;
        let sql = format!("instr({}, ?)", column.sql);
        return useful.then(|| Narrow { sql, params: vec![Param::Text(needle)] });
    }
    let params = params(filter, |value| {
        Some(match value {
            Value::Bool(value) => Param::I64(i64::from(*value)),
            Value::I64(value) => Param::I64(*value),
            Value::F64(value) if !value.is_nan() => Param::F64(*value),
            // Text of another encoding orders otherwise, and may be no text at all.
            Value::String(value) if utf8 => Param::Text(value.clone()),
            Value::Bytes(value) => Param::Bytes(value.clone()),
            _ => return None,
        })
    })?;
    let marks = vec!["?"; params.len()].join(", ");
    let sql = match operator {
        Operator::Eq | Operator::In => format!("{left} IN ({marks})"),
        Operator::Nin | Operator::Ne => format!("{left} NOT IN ({marks})"),
        Operator::Gt => format!("{left} > ?"),
        Operator::Gte => format!("{left} >= ?"),
        Operator::Lt => format!("{left} < ?"),
        Operator::Lte => format!("{left} <= ?"),
        Operator::Between => format!("{left} BETWEEN ? AND ?"),
        Operator::Like => return None,
    };
    let has_bytes = params.iter().any(|param| matches!(param, Param::Bytes(_)));
    let or_text =
        if has_bytes { format!(" OR typeof({}) = 'text'", column.sql) } else { String::new() };
    Some(Narrow { sql: sql + &or_text, params })
}

/// The longest part of a pattern that stands for itself: every text that the pattern describes
/// contains it. SQLite's own `LIKE` and `GLOB` ignore case or what follows a zero character, and
/// can take exponential time.
fn literal_part(pattern: &str) -> String {
    let (mut longest, mut part) = (String::new(), String::new());
    let mut chars = pattern.chars();
    loop {
        let next = chars.next();
        match next {
            Some('\\') => part.extend(chars.next()),
            Some(c) if !matches!(c, '%' | '_') => part.push(c),
            _ => {
                if part.len() > longest.len() {
                    longest.clone_from(&part);
                }
                part.clear();
            }
        }
        if next.is_none() {
            return longest;
        }
    }
}

/// The value at a place of a row.
#[inline]
pub(super) fn cell(form: Form, row: &SqliteRow, at: usize) -> Result<Cell<'_>, Malformed> {
    let value = || row.try_get_raw(at).map_err(|_| Malformed);
    let raw = value()?;
    if raw.is_null() {
        return Ok(Cell::Null);
    }
    let kind = raw.type_info();
    match kind.name() {
        "INTEGER" => {
            let integer = decode(raw)?;
            Ok(match (form.kind, integer) {
                (Kind::Boolean, 0 | 1) => Cell::Bool(integer == 1),
                _ => Cell::I64(integer),
            })
        }
        "TEXT" => match decode::<&str>(raw) {
            Ok(text) if form.kind == Kind::Json => Ok(Cell::Json(text)),
            Ok(text) => Ok(Cell::Text(text)),
            // Text only in name.
            Err(Malformed) => decode(value()?).map(Cell::Bytes),
        },
        "REAL" => decode(raw).map(Cell::F64),
        "BLOB" => decode(raw).map(Cell::Bytes),
        _ => Err(Malformed),
    }
}

fn decode<'r, T: Decode<'r, Sqlite>>(value: SqliteValueRef<'r>) -> Result<T, Malformed> {
    T::decode(value).map_err(|_| Malformed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_mean_what_sqlite_says() {
        for (declared, kind) in [
            ("INTEGER", Kind::Integer),
            ("unsigned big int", Kind::Integer),
            ("POINT", Kind::Integer),
            ("VARCHAR(255)", Kind::Text),
            ("CHARINT", Kind::Integer),
            ("nvarchar", Kind::Text),
            ("BLOB", Kind::Blob),
            ("", Kind::Any),
            ("double precision", Kind::Real),
            ("DECIMAL(10,5)", Kind::Number),
            ("STRING", Kind::Numeric),
            ("DATETIME", Kind::Numeric),
            ("date", Kind::Numeric),
            ("Boolean", Kind::Boolean),
            ("json", Kind::Json),
            ("ANY", Kind::Numeric),
        ] {
            assert_eq!(Kind::of(declared, false), kind, "{declared}");
        }
        assert_eq!(Kind::of("ANY", true), Kind::Any);
    }

    #[test]
    fn numerals_are_what_sqlite_takes_for_numbers() {
        for (text, number) in [
            (" 42\n", Value::I64(42)),
            ("+7", Value::I64(7)),
            ("-.5", Value::F64(-0.5)),
            ("5.", Value::F64(5.0)),
            ("1e400", Value::F64(f64::INFINITY)),
            ("9223372036854775808", Value::F64(9_223_372_036_854_775_808.0)),
        ] {
            assert_eq!(numeral(text), Some(number), "{text}");
        }
        for text in
            ["", " ", "NaN", "inf", "-Infinity", "0x10", "1_000", "1 2", "1e", "\u{a0}1", "."]
        {
            assert_eq!(numeral(text), None, "{text}");
        }
    }

    #[test]
    fn a_pattern_holds_its_longest_literal() {
        for (pattern, literal) in [
            ("%", ""),
            ("abc", "abc"),
            ("%a_bc%", "bc"),
            ("100\\%", "100%"),
            ("a\\\\b%abcd_", "abcd"),
            ("__é%", "é"),
        ] {
            assert_eq!(literal_part(pattern), literal, "{pattern}");
        }
    }
}

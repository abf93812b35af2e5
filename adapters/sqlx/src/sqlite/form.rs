//! How the cells of a column are read, and what a filter on them may be.
//!
//! SQLite keeps types with cells; a column's declared type says what is done to a value on its way
//! in ("affinity", in SQLite's "Datatypes", section 3). Keeps true: a cell goes out as it is stored,
//! but for the two declarations that [`Form`] names; an operand is converted to what the column
//! would have stored, or refused.

use fetcher_engine::Filter;
use fetcher_engine::filter::Operator;
use fetcher_engine::value::{Value, ValueKind};
use sqlx::sqlite::SqliteRow;
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
    /// Numbers, and nothing but numbers is compared with them.
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
    /// Whether the file's text orders as UTF-8 does.
    pub(super) utf8: bool,
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
            _ if has(&["INT"]) => Self::Number,
            _ if has(&["CHAR", "CLOB", "TEXT"]) => Self::Text,
            _ if has(&["BLOB"]) => Self::Blob,
            _ if has(&["REAL", "FLOA", "DOUB"]) => Self::Number,
            _ => Self::Numeric,
        }
    }
}

impl Form {
    /// The filter with its operands as the column would have stored them.
    pub(super) fn convert(self, filter: &Filter) -> Option<Filter> {
        if let Some(kind) = match self.kind {
            Kind::Boolean => Some(ValueKind::Bool),
            Kind::Json => Some(ValueKind::Json),
            Kind::Text => Some(ValueKind::String),
            Kind::Blob => Some(ValueKind::Bytes),
            Kind::Number | Kind::Numeric | Kind::Any => None,
        } {
            return filter.for_column(kind);
        }
        filter.check().ok()?;
        let is_like = filter.operator() == Operator::Like;
        if is_like && self.kind == Kind::Number {
            return None;
        }
        let operand = |value: &Value| match value {
            Value::String(_) if is_like => Some(value.clone()),
            Value::String(_) => match self.kind {
                Kind::Any => Some(value.clone()),
                Kind::Number => number(value),
                _ => number(value).or_else(|| Some(value.clone())),
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

/// A condition that holds wherever the filter does.
///
/// Wherever the filter keeps a row, cell and operand are both numbers, both text or both blobs, and
/// the operand is not NaN, which SQLite would take for null. Numbers compare by value in SQLite,
/// too; text and blobs by their bytes under `BINARY`; and no conversion by affinity touches such a
/// pair, since a column's own affinity leaves what it stored alone and `+` removes any other.
pub(super) fn narrow(column: &Column<Form>, filter: &Filter) -> Option<Narrow> {
    let Form { kind, plain, utf8 } = column.form;
    let direct = plain && matches!(kind, Kind::Number | Kind::Text | Kind::Blob);
    let plus = if direct { "" } else { "+" };
    let left = format!("{plus}{} COLLATE BINARY", column.sql);
    let operator = filter.operator();
    if operator == Operator::Like {
        let [Value::String(pattern)] = filter.values() else { return None };
        let needle = literal_part(pattern);
        let useful = !needle.is_empty() && needle.len() <= NEEDLE_MAX;
        let sql = format!("instr({}, ?)", column.sql);
        return useful.then(|| Narrow { sql, params: vec![Param::Text(needle)] });
    }
    let orders = !matches!(operator, Operator::Eq | Operator::In | Operator::Ne | Operator::Nin);
    let params = params(filter, |value| {
        Some(match value {
            Value::Bool(value) => Param::I64(i64::from(*value)),
            Value::I64(value) => Param::I64(*value),
            Value::F64(value) if !value.is_nan() => Param::F64(*value),
            // Bytes of another encoding order otherwise.
            Value::String(value) if utf8 || !orders => Param::Text(value.clone()),
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
    Some(Narrow { sql, params })
}

/// The longest part of a pattern that stands for itself: every text that the pattern describes
/// contains it. SQLite's own `LIKE` and `GLOB` ignore case or what follows a zero character, and can
/// take exponential time.
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
            let integer = i64::decode(raw).map_err(|_| Malformed)?;
            Ok(match (form.kind, integer) {
                (Kind::Boolean, 0 | 1) => Cell::Bool(integer == 1),
                _ => Cell::I64(integer),
            })
        }
        "TEXT" => match <&str>::decode(raw) {
            Ok(text) if form.kind == Kind::Json => Ok(Cell::Json(text)),
            Ok(text) => Ok(Cell::Text(text)),
            // Text only in name.
            Err(_) => <&[u8]>::decode(value()?).map(Cell::Bytes).map_err(|_| Malformed),
        },
        "REAL" => f64::decode(raw).map(Cell::F64).map_err(|_| Malformed),
        "BLOB" => <&[u8]>::decode(raw).map(Cell::Bytes).map_err(|_| Malformed),
        _ => Err(Malformed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_mean_what_sqlite_says() {
        for (declared, kind) in [
            ("INTEGER", Kind::Number),
            ("unsigned big int", Kind::Number),
            ("POINT", Kind::Number),
            ("VARCHAR(255)", Kind::Text),
            ("CHARINT", Kind::Number),
            ("nvarchar", Kind::Text),
            ("BLOB", Kind::Blob),
            ("", Kind::Any),
            ("double precision", Kind::Number),
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

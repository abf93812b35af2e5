//! What SQL may say of a filter: a condition that holds of every row which the filter keeps.
//!
//! | column | condition |
//! | --- | --- |
//! | numbers, bytes, bits, dates | the same comparison, with a parameter of the column's type |
//! | text in `utf8mb4` that equals something | the column's own comparison, which an index serves |
//! | other text | the bytes of its `utf8mb4` form |
//! | `like` | its `utf8mb4` form, code point by code point |
//!
//! Keeps true: an operand that the server could round, shorten or misread makes no condition.

use fetcher_engine::Filter;
use fetcher_engine::filter::Operator;
use fetcher_engine::value::{Date, Decimal, Time, Value};

use super::form::Form;
use crate::dialect::{Column, Narrow, Param};

/// What a statement's parameters may weigh: servers limit a packet to 16 MB, some to less.
const BYTES_MAX: usize = 1 << 18;

/// Each of them may make the server go back in the text.
const WILDCARDS_MAX: usize = 64;

/// An operand as SQL: `?` and what is around it, and what is bound to it.
type Operand = (String, Param);

pub(super) fn narrow(column: &Column<Form>, filter: &Filter) -> Option<Narrow> {
    let x = column.sql.as_str();
    let narrow = match &column.form {
        Form::Integer => compare(x, filter, integer),
        // Compared as such, a year takes 70 for 1970.
        Form::Year => compare(&format!("({x} + 0)"), filter, integer),
        Form::Unsigned => compare(x, filter, |value| match value {
            Value::U64(value) => Some(("?".to_owned(), Param::U64(*value))),
            _ => None,
        }),
        Form::Decimal => decimals(x, filter),
        Form::Float { fixed: false } | Form::Double { fixed: false } => compare(x, filter, float),
        Form::Bit { width } => bits(x, filter, (*width).into()),
        Form::Text { plain: true } if matches!(filter.operator(), Operator::Eq | Operator::In) => {
            compare(x, filter, |value| match value {
                Value::String(text) => Some(("?".to_owned(), Param::Text(text.clone()))),
                _ => None,
            })
        }
        Form::Text { .. } | Form::Word | Form::Time { .. } => text(x, filter),
        Form::Bytes => compare(x, filter, |value| match value {
            Value::Bytes(bytes) => {
                Some(("CAST(? AS BINARY)".to_owned(), Param::Bytes(bytes.clone())))
            }
            _ => None,
        }),
        Form::Date => compare(x, filter, |value| match value {
            Value::Date(date) => Some(("CAST(? AS DATE)".to_owned(), Param::Text(day(*date)?))),
            _ => None,
        }),
        Form::DateTime { .. } => compare(x, filter, |value| match value {
            Value::Timestamp(moment) => datetime(moment.date(), moment.time()?, 1..=9999),
            _ => None,
        }),
        // The years that every server's TIMESTAMP has.
        Form::Timestamp { .. } => compare(x, filter, |value| match value {
            Value::Instant(moment) => datetime(moment.date(), moment.time()?, 1971..=2037),
            _ => None,
        }),
        Form::Float { .. } | Form::Double { .. } | Form::Json | Form::Geometry | Form::Other => {
            None
        }
    }?;
    (weight(&narrow.params) <= BYTES_MAX).then_some(narrow)
}

fn weight(params: &[Param]) -> usize {
    let weight = |param: &Param| match param {
        Param::Text(text) => text.len(),
        Param::Bytes(bytes) => bytes.len(),
        Param::I64(_) | Param::U64(_) | Param::F64(_) => 8,
    };
    params.iter().map(weight).sum()
}

/// The comparison of an expression; `None` if one of the operands has no SQL.
fn compare(
    x: &str,
    filter: &Filter,
    operand: impl Fn(&Value) -> Option<Operand>,
) -> Option<Narrow> {
    let operands: Option<Vec<_>> = filter.values().iter().map(operand).collect();
    let (texts, params): (Vec<_>, Vec<_>) = operands?.into_iter().unzip();
    let sql = match (filter.operator(), texts.as_slice()) {
        (Operator::Eq | Operator::In, [one]) => format!("{x} = {one}"),
        (Operator::Eq | Operator::In, all) => format!("{x} IN ({})", all.join(", ")),
        (Operator::Nin, all) => format!("{x} NOT IN ({})", all.join(", ")),
        (Operator::Between, [low, high]) => format!("{x} >= {low} AND {x} <= {high}"),
        (Operator::Ne, [one]) => format!("{x} <> {one}"),
        (Operator::Gt, [one]) => format!("{x} > {one}"),
        (Operator::Gte, [one]) => format!("{x} >= {one}"),
        (Operator::Lt, [one]) => format!("{x} < {one}"),
        (Operator::Lte, [one]) => format!("{x} <= {one}"),
        _ => return None,
    };
    Some(Narrow { sql, params })
}

/// As [`compare`], one by one: of an expression such as `c / 3` MariaDB's `IN` looks at more digits
/// than it sends, and than its `=` looks at.
fn decimals(x: &str, filter: &Filter) -> Option<Narrow> {
    /// A condition as long as that costs more than it saves.
    const OPERANDS_MAX: usize = 100;
    let operand = |value: &Value| match value {
        Value::Decimal(value) => decimal(value),
        _ => None,
    };
    let (single, joint) = match filter.operator() {
        Operator::Eq | Operator::In => (Operator::Eq, " OR "),
        Operator::Nin => (Operator::Ne, " AND "),
        _ => return compare(x, filter, operand),
    };
    if filter.values().len() > OPERANDS_MAX {
        return None;
    }
    let (mut conditions, mut params) = (Vec::new(), Vec::new());
    for value in filter.values() {
        let one = Filter::new(filter.field(), single, vec![value.clone()]);
        let narrow = compare(x, &one, operand)?;
        conditions.push(narrow.sql);
        params.extend(narrow.params);
    }
    Some(Narrow { sql: conditions.join(joint), params })
}

fn integer(value: &Value) -> Option<Operand> {
    match value {
        Value::I64(value) => Some(("?".to_owned(), Param::I64(*value))),
        _ => None,
    }
}

fn float(value: &Value) -> Option<Operand> {
    let value = match value {
        Value::F32(value) => f64::from(*value),
        Value::F64(value) => *value,
        _ => return None,
    };
    // The server has no NaN and no infinity.
    value.is_finite().then(|| ("?".to_owned(), Param::F64(value)))
}

/// A decimal number with exactly its own digits, if the server has that many.
fn decimal(value: &Decimal) -> Option<Operand> {
    const DIGITS_MAX: usize = 65;
    const SCALE_MAX: usize = 30;
    let text = value.as_str();
    let digits = text.strip_prefix('-').unwrap_or(text);
    if !digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return None;
    }
    let (int, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let (precision, scale) = (int.len() + fraction.len(), fraction.len());
    if precision > DIGITS_MAX || scale > SCALE_MAX {
        return None;
    }
    let sql = format!("CAST(? AS DECIMAL({precision}, {scale}))");
    Some((sql, Param::Text(text.to_owned())))
}

/// Texts of zeros and ones order as the numbers that they are, if they are equally long. Any other
/// text equals none of them.
fn bits(x: &str, filter: &Filter, width: usize) -> Option<Narrow> {
    let number = |value: &Value| match value {
        Value::String(text)
            if text.len() == width && text.bytes().all(|byte| matches!(byte, b'0' | b'1')) =>
        {
            u64::from_str_radix(text, 2).ok()
        }
        _ => None,
    };
    let operand = |value: &Value| Some(("?".to_owned(), Param::U64(number(value)?)));
    let x = format!("({x} + 0)");
    match filter.operator() {
        Operator::Like => None,
        Operator::Eq | Operator::In => {
            let known: Vec<_> =
                filter.values().iter().filter(|it| number(it).is_some()).cloned().collect();
            if known.is_empty() {
                return Some(Narrow { sql: "FALSE".to_owned(), params: Vec::new() });
            }
            compare(&x, &Filter::is_in(filter.field(), known), operand)
        }
        _ => compare(&x, filter, operand),
    }
}

/// Text by the bytes of its UTF-8, whatever the column's collation pads and folds.
fn text(x: &str, filter: &Filter) -> Option<Narrow> {
    if filter.operator() == Operator::Like {
        let [Value::String(pattern)] = filter.values() else { return None };
        let sql = format!("CONVERT({x} USING utf8mb4) COLLATE utf8mb4_bin LIKE ? ESCAPE '|'");
        return Some(Narrow { sql, params: vec![Param::Text(escaped(pattern)?)] });
    }
    compare(&format!("CAST(CONVERT({x} USING utf8mb4) AS BINARY)"), filter, |value| match value {
        Value::String(text) => Some(("CAST(? AS BINARY)".to_owned(), Param::Text(text.clone()))),
        _ => None,
    })
}

/// The pattern with `|` before what stands for itself, which no `sql_mode` takes for anything else.
fn escaped(pattern: &str) -> Option<String> {
    let mut out = String::with_capacity(pattern.len());
    let mut chars = pattern.chars();
    let mut wildcards = 0;
    while let Some(c) = chars.next() {
        match c {
            // One is as good as several.
            '%' if out.ends_with('%') && !out.ends_with("|%") => {}
            '%' => {
                wildcards += 1;
                out.push('%');
            }
            '_' => out.push('_'),
            c => {
                let c = if c == '\\' { chars.next()? } else { c };
                if matches!(c, '%' | '_' | '|') {
                    out.push('|');
                }
                out.push(c);
            }
        }
    }
    (wildcards <= WILDCARDS_MAX).then_some(out)
}

/// A date of the years that the server counts.
fn day(date: Date) -> Option<String> {
    let (year, month, day) = date.ymd()?;
    (1..=9999).contains(&year).then(|| format!("{year:04}-{month:02}-{day:02}"))
}

fn datetime(date: Date, time: Time, years: std::ops::RangeInclusive<i32>) -> Option<Operand> {
    const SECOND: u64 = 1_000_000_000;
    if !years.contains(&date.ymd()?.0) || !time.nanos().is_multiple_of(1000) {
        return None;
    }
    let (seconds, micros) = (time.nanos() / SECOND, time.nanos() % SECOND / 1000);
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 23 {
        return None;
    }
    let text = format!("{} {hours:02}:{minutes:02}:{seconds:02}.{micros:06}", day(date)?);
    Some(("CAST(? AS DATETIME(6))".to_owned(), Param::Text(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_escaped_by_a_bar() {
        let cases = [
            ("a%b_c", "a%b_c"),
            ("100\\%", "100|%"),
            ("\\_\\|\\\\|", "|_||\\||"),
            ("%%%", "%"),
            ("\\%%%", "|%%"),
            ("||%", "||||%"),
            ("", ""),
        ];
        for (pattern, expected) in cases {
            assert_eq!(escaped(pattern).as_deref(), Some(expected), "{pattern}");
        }
        assert_eq!(escaped(&"a%".repeat(65)), None);
    }

    #[test]
    fn decimals_that_the_server_would_round_make_no_condition() {
        let cast = |text: &str| Some(decimal(&Decimal::parse(text)?)?.0);
        assert_eq!(cast("-1.50").as_deref(), Some("CAST(? AS DECIMAL(3, 2))"));
        assert_eq!(cast("0").as_deref(), Some("CAST(? AS DECIMAL(1, 0))"));
        for text in ["NaN", "1e5", "Infinity", &"9".repeat(66), &format!("0.{}", "1".repeat(31))] {
            assert_eq!(cast(text), None, "{text}");
        }
    }
}

//! Filters: exactly what they mean, or a refusal; and whatever they and the names are made of.

use alloc::format;
use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;

use super::super::super::sim::{Choices, Seeded};
use super::bench::{Bench, held, query, small, table};
use super::samples::TEXTS;
use super::steps::named_tables;
use super::{Subject, Table, at, run};
use crate::error::Category;
use crate::filter::{Filter, Operator};
use crate::value::{Value, ValueKind};

/// How many rows filters are tried on, and how many filters of each operator.
const ROWS: usize = 60;
const FILTERS: usize = 3;

fn compares(kind: ValueKind) -> bool {
    !matches!(kind, ValueKind::Json | ValueKind::List | ValueKind::Map)
}

/// One of these.
fn pick<'a, T>(choices: &mut Seeded, all: &'a [T]) -> &'a T {
    &all[choices.below(all.len() as u64) as usize]
}

/// Rows of two columns of a kind, nulls among them, drawn from what the subject can hold.
fn drawn(subject: &dyn Subject, kind: ValueKind, choices: &mut Seeded) -> Table {
    let mut pool = held(subject, kind);
    pool.push(Value::Null);
    let columns = vec![("a".into(), kind), ("b".into(), kind)];
    let rows = (0..ROWS).map(|_| vec![pick(choices, &pool).clone(), pick(choices, &pool).clone()]);
    Table { name: "plain".into(), columns, rows: rows.collect() }
}

/// An operand for a column of this kind: one of its values, or the text of a number.
fn operand(pool: &[Value], choices: &mut Seeded) -> Value {
    let value = pick(choices, pool).clone();
    match &value {
        Value::I64(number) if choices.below(4) == 0 => Value::from(number.to_string()),
        Value::U64(number) if choices.below(4) == 0 => Value::from(number.to_string()),
        Value::I64(number) if choices.below(4) == 0 => Value::F64(*number as f64),
        Value::Decimal(number) if choices.below(4) == 0 => Value::from(number.as_str()),
        _ => value,
    }
}

/// A filter of this operator that applies to the column.
fn filter(field: &str, kind: ValueKind, operator: Operator, of: (&[Value], &mut Seeded)) -> Filter {
    let (pool, choices) = of;
    loop {
        let count = match operator {
            Operator::Eq | Operator::In | Operator::Nin => 1 + choices.below(3),
            Operator::Between => 2,
            _ => 1,
        };
        let mut values: Vec<_> = (0..count).map(|_| operand(pool, choices)).collect();
        if operator == Operator::Like {
            let patterns =
                ["%", "_", "a%", "%c", "a_c", "a\\%c", "a\\_c", "%\\\\%", "A%", "", "__"];
            values = vec![Value::from(*pick(choices, &patterns))];
        }
        let filter = Filter::new(field, operator, values);
        if filter.for_column(kind).is_some() {
            return filter;
        }
    }
}

/// Every operator on every kind, alone and together, keeps the rows that `Filter::matches` keeps.
pub fn c15_filters_mean_what_they_say(subject: &dyn Subject) {
    run(subject, async {
        for kind in subject.kinds().into_iter().filter(|kind| compares(*kind)) {
            let choices = &mut Seeded::new(15).fork(kind.as_str());
            let table = drawn(subject, kind, choices);
            let bench = Bench::load(subject, at(15), core::slice::from_ref(&table)).await;
            let pool = held(subject, kind);
            let usable = |operator: &Operator| {
                subject.supports(*operator, kind)
                    && (*operator != Operator::Like || kind == ValueKind::String)
            };
            let operators: Vec<_> = Operator::ALL.into_iter().filter(usable).collect();
            let mut queries = Vec::new();
            for operator in &operators {
                for _ in 0..FILTERS {
                    queries.push(vec![filter("a", kind, *operator, (&pool, choices))]);
                }
                let other = pick(choices, &operators);
                let first = filter("a", kind, *operator, (&pool, choices));
                queries.push(vec![first, filter("b", kind, *other, (&pool, choices))]);
            }
            for filters in queries {
                keeps(&bench, &table, &filters).await;
            }
        }
    });
}

/// Reads a table under filters and compares every line.
async fn keeps(bench: &Bench, table: &Table, filters: &[Filter]) {
    let told = |filter: &Filter| format!("{} {:?}", filter.operator(), filter.values());
    let what: Vec<_> = filters.iter().map(told).collect();
    let plan = bench.plan(table, filters.to_vec());
    let seen = bench.read(core::slice::from_ref(&plan), 10).await;
    let what = format!("under {} of a {} column:", what.join(" and "), table.columns[0].1);
    bench.compare(&what, &bench.expected(&[(table, filters)]), &seen);
}

/// A filter that cannot apply is refused by `open`, as `validation`, alone and beside a good one.
pub fn c16_what_cannot_apply_is_refused_first(subject: &dyn Subject) {
    run(subject, async {
        for kind in subject.kinds() {
            let (table, other) = (table(subject, "plain", &[kind], 3), small(subject, "other", 3));
            let tables = [table, other];
            let bench = Bench::load(subject, at(16), &tables).await;
            let [table, other] = &tables;
            for bad in misfits(subject, kind) {
                let told = format!("{} {:?} of a {kind} column", bad.operator(), bad.values());
                let mut queries = vec![vec![bench.plan(table, vec![bad.clone()])]];
                if compares(kind) && subject.supports(Operator::Eq, kind) {
                    let good = Filter::eq("column_0", held(subject, kind)[0].clone());
                    queries
                        .push(vec![bench.plan(other, vec![]), bench.plan(table, vec![good, bad])]);
                }
                for plans in queries {
                    let mut connector = bench.connected().await;
                    let opened = connector.open(query(&plans)).await;
                    bench.at.refused(&told, Category::Validation, opened);
                    bench.close(connector).await;
                }
            }
        }
    });
}

/// Filters on `column_0` that cannot apply to a column of this kind.
fn misfits(subject: &dyn Subject, kind: ValueKind) -> Vec<Filter> {
    let new = |operator, values: Vec<Value>| Filter::new("column_0", operator, values);
    let sample = held(subject, kind)[0].clone();
    // Malformed, whatever the column.
    let mut all = vec![
        new(Operator::Eq, vec![]),
        new(Operator::Ne, vec![Value::Null]),
        new(Operator::Between, vec![sample.clone()]),
        new(Operator::Gt, vec![sample.clone(), sample.clone()]),
        new(Operator::Like, vec!["ends in \\".into()]),
    ];
    // Of another kind, and of a text that is no such value.
    let strangers = [
        Value::from("abc"),
        Value::from("2024-02-30"),
        Value::from(" 1"),
        Value::from(1.5),
        Value::from(true),
        Value::U64(u64::MAX),
        Value::Bytes(vec![0]),
        Value::List(vec![]),
    ];
    for stranger in strangers {
        all.push(new(Operator::Gt, vec![stranger.clone()]));
        all.push(new(Operator::In, vec![sample.clone(), stranger.clone()]));
        all.push(new(Operator::Nin, vec![stranger]));
    }
    all.push(new(Operator::Like, vec!["%".into()]));
    all.retain(|filter| filter.for_column(kind).is_none());
    // What this datasource cannot do as it is meant.
    for operator in Operator::ALL.into_iter().filter(|it| !subject.supports(*it, kind)) {
        let operand = if operator == Operator::Like { "%".into() } else { sample.clone() };
        let count = if operator == Operator::Between { 2 } else { 1 };
        all.push(new(operator, vec![operand; count]));
    }
    all
}

/// Names and values of every shape mean themselves, in tables, in columns and in filters.
pub fn c17_identifiers_are_quoted_and_values_bound(subject: &dyn Subject) {
    run(subject, async {
        let tables = named_tables(subject);
        let bench = Bench::load(subject, at(17), &tables).await;
        bench.reads("every name:", &tables, 5).await;
        let kind = subject.kinds()[0];
        if compares(kind) && subject.supports(Operator::Eq, kind) {
            let value = held(subject, kind)[0].clone();
            for (column, _) in &tables[0].columns {
                keeps(&bench, &tables[0], &[Filter::eq(column.as_str(), value.clone())]).await;
            }
        }
        let text = ValueKind::String;
        if subject.kinds().contains(&text) && subject.supports(Operator::Eq, text) {
            let pool = held(subject, text);
            let table = table(subject, "plain", &[text], 2 * TEXTS.len());
            let bench = Bench::load(subject, at(17), core::slice::from_ref(&table)).await;
            for value in pool {
                keeps(&bench, &table, &[Filter::eq("column_0", value)]).await;
            }
        }
    });
}

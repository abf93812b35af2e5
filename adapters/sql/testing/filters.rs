//! Filters at random against [`Filter::matches`] over the same cells.

use fetcher_engine::filter::Operator;
use fetcher_engine::value::{Value, ValueKind};
use fetcher_engine::{Category, Filter, PortError};

use super::random::Random;
use super::reading::told;

/// A column: its type, what its cells are as values, its cells as texts.
pub(crate) struct Column {
    pub(crate) name: &'static str,
    pub(crate) sql: &'static str,
    pub(crate) kind: ValueKind,
    pub(crate) cells: &'static [&'static str],
}

pub(crate) const fn column(
    name: &'static str,
    sql: &'static str,
    kind: ValueKind,
    cells: &'static [&'static str],
) -> Column {
    Column { name, sql, kind, cells }
}

/// How many operands such a filter has.
pub(crate) fn operands(operator: Operator, random: &mut Random) -> usize {
    match operator {
        Operator::Eq | Operator::In | Operator::Nin => 1 + random.below(3),
        Operator::Between => 2,
        _ => 1,
    }
}

/// What came of many filters.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) applied: usize,
    pub(crate) refused: usize,
    pub(crate) kept: usize,
}

/// A table `t` of an `id`, from 0, and these columns.
pub(crate) struct Trial {
    pub(crate) columns: Vec<&'static Column>,
    /// A cell of its text, as the connector sends it.
    pub(crate) value: fn(ValueKind, &str) -> Value,
    /// And as a literal.
    pub(crate) literal: fn(&Column, &str) -> String,
    pub(crate) patterns: &'static [&'static str],
    /// Operands of other kinds, so that they have to be converted or refused; each is taken one
    /// time in `odds`.
    pub(crate) others: Vec<Value>,
    pub(crate) odds: usize,
}

impl Trial {
    /// So many rows; and the statement that inserts them.
    pub(crate) fn rows(&self, count: usize, random: &mut Random) -> (Vec<Vec<Value>>, String) {
        let mut cells = Vec::new();
        let mut inserts = Vec::new();
        for id in 0..count {
            let mut row = Vec::new();
            let mut literals = vec![id.to_string()];
            for column in &self.columns {
                if random.below(6) == 0 {
                    row.push(Value::Null);
                    literals.push("NULL".to_owned());
                } else {
                    let text = random.pick(column.cells);
                    row.push((self.value)(column.kind, text));
                    literals.push((self.literal)(column, text));
                }
            }
            cells.push(row);
            inserts.push(format!("({})", literals.join(", ")));
        }
        (cells, format!("INSERT INTO t VALUES {}", inserts.join(", ")))
    }

    fn filter(&self, random: &mut Random) -> (usize, Filter) {
        let at = random.below(self.columns.len());
        let column = self.columns[at];
        let operator = *random.pick(&Operator::ALL);
        let mut values = Vec::new();
        for _ in 0..operands(operator, random) {
            if operator == Operator::Like {
                values.push(Value::from(*random.pick(self.patterns)));
                continue;
            }
            let other = self.others.iter().find(|_| random.below(self.odds) == 0).cloned();
            let own = || (self.value)(column.kind, random.pick::<&str>(column.cells));
            values.push(other.unwrap_or_else(own));
        }
        (at, Filter::new(column.name, operator, values))
    }

    /// Filters keep what `matches` keeps, or are refused where they do not convert; `read` reads
    /// the ids, in their order.
    pub(crate) async fn hold(
        &self,
        cells: &[Vec<Value>],
        rounds: usize,
        random: &mut Random,
        read: impl AsyncFn(Vec<Filter>) -> Result<Vec<String>, PortError>,
    ) -> Tally {
        let mut tally = Tally::default();
        for round in 0..rounds {
            let chosen: Vec<_> = (0..1 + random.below(2)).map(|_| self.filter(random)).collect();
            let filters: Vec<_> = chosen.iter().map(|(_, filter)| filter.clone()).collect();
            let converted: Option<Vec<_>> = chosen
                .iter()
                .map(|(at, filter)| Some((*at, filter.for_column(self.columns[*at].kind)?)))
                .collect();
            let answer = read(filters).await;
            let Some(converted) = converted else {
                let error = answer.expect_err("a filter that does not convert is refused");
                assert_eq!(error.category(), Category::Validation);
                assert_eq!(error.table(), Some("t"));
                tally.refused += 1;
                continue;
            };
            let expected: Vec<_> = cells
                .iter()
                .enumerate()
                .filter(|(_, row)| converted.iter().all(|(at, it)| it.matches(&row[*at])))
                .map(|(id, _)| format!(r#"{{"id":{id}}}"#))
                .collect();
            let rows = answer.unwrap_or_else(|error| panic!("round {round}: {}", told(error)));
            let what = |(at, it): &(usize, Filter)| {
                let Column { name, sql, .. } = self.columns[*at];
                format!("{name} {sql} {} {:?}", it.operator(), it.values())
            };
            let what: Vec<_> = converted.iter().map(what).collect();
            assert_eq!(rows, expected, "round {round}: {what:?}");
            tally.kept += rows.len();
            tally.applied += 1;
        }
        let Tally { applied, refused, kept } = tally;
        println!("{applied} applied, {refused} refused, {kept} rows kept");
        tally
    }
}

/// Filters that cannot be meant are refused before the first row of `t`.
pub(crate) async fn refused(
    filters: impl IntoIterator<Item = Filter>,
    read: impl AsyncFn(Vec<Filter>) -> Result<Vec<String>, PortError>,
) {
    for filter in filters {
        let what = format!("{} {} {:?}", filter.field(), filter.operator(), filter.values());
        let error = read(vec![filter]).await.expect_err(&what);
        assert_eq!(error.category(), Category::Validation, "{what}");
        assert_eq!(error.table(), Some("t"), "{what}");
    }
}

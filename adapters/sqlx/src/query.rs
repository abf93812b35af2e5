//! A planned table as SQL: what is selected, how it is read, which rows are kept.
//!
//! Keeps true: every filter is among `filters`, and is decided there by [`Filter::matches`] on the
//! cell as it goes out; SQL only narrows what has to be looked at. So no collation, no affinity and
//! no mode of a server can change what a filter means.

use fetcher_engine::extraction::PlannedTable;
use fetcher_engine::{Filter, PortError};
use fetcher_sql::fault::{NO_COLUMN, NO_FILTER, refused};
use fetcher_sql::name::parents;

use crate::dialect::{Column, Dialect, Param, Selected, Table};

/// More conditions than that are a text too deep for some databases, and narrow no further.
const CONDITIONS_MAX: usize = 100;

/// One table, ready to be read.
#[derive(Debug)]
pub(crate) struct TableQuery<F> {
    pub(crate) planned: PlannedTable,
    /// `SELECT … FROM … WHERE …`
    pub(crate) sql: String,
    pub(crate) params: Vec<Param>,
    pub(crate) selected: Selected<F>,
    /// The filters, each with the place of the column that it looks at.
    pub(crate) filters: Vec<(usize, Filter)>,
}

impl<F: Clone> TableQuery<F> {
    pub(crate) fn new<D: Dialect<Form = F>>(
        planned: &PlannedTable,
        table: &Table<F>,
    ) -> Result<Self, PortError> {
        let find = |field: &str| find::<D>(table, field).ok_or_else(|| refused(planned, NO_COLUMN));
        let mut columns = Vec::new();
        for field in planned.fields() {
            columns.push(find(field)?);
        }
        let (mut filters, mut conditions, mut params) = (Vec::new(), Vec::new(), Vec::new());
        for filter in planned.filters() {
            let column = find(filter.field())?;
            let filter = D::convert(&column.form, filter);
            let filter = filter.ok_or_else(|| refused(planned, NO_FILTER))?;
            if conditions.len() < CONDITIONS_MAX
                && let Some(narrow) = D::narrow(&column, &filter)
                && params.len() + narrow.params.len() <= D::PARAMS_MAX
            {
                conditions.push(format!("({})", narrow.sql));
                params.extend(narrow.params);
            }
            let place = columns.iter().position(|known| known.sql == column.sql);
            filters.push((place.unwrap_or(columns.len()), filter));
            if place.is_none() {
                columns.push(column);
            }
        }
        let selected = Selected { from: table.sql.clone(), columns };
        let expressions: Vec<_> =
            selected.columns.iter().map(|column| column.sql.as_str()).collect();
        let mut sql = format!("SELECT {} FROM {} AS t", expressions.join(", "), selected.from);
        if !conditions.is_empty() {
            sql = format!("{sql} WHERE {}", conditions.join(" AND "));
        }
        Ok(Self { planned: planned.clone(), sql, params, selected, filters })
    }
}

/// The column of that name; or, for a dotted one, the longest column that is a parent of it, and
/// what the rest leads to in there.
fn find<D: Dialect>(table: &Table<D::Form>, field: &str) -> Option<Column<D::Form>> {
    let whole = |name: &str| table.columns.iter().find(|column| column.name == name);
    if let Some(column) = whole(field) {
        return Some(column.clone());
    }
    let (parent, path) = parents(field).find_map(|(parent, path)| Some((whole(parent)?, path)))?;
    D::part(parent, path)
}

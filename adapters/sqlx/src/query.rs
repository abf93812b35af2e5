//! A planned table as SQL: what is selected, how it is read, which rows are kept.
//!
//! Keeps true: every filter is among `filters`, and is decided there by [`Filter::matches`] on the
//! cell as it goes out; SQL only narrows what has to be looked at. So no collation, no affinity and
//! no mode of a server can change what a filter means.

use fetcher_engine::extraction::PlannedTable;
use fetcher_engine::{Filter, PortError};
use fetcher_sql::fault::{NO_COLUMN, NO_FILTER, refused};
use fetcher_sql::name::parents;

use crate::dialect::{Column, Dialect, Param, Table};

/// More conditions than that are a text too deep for some databases, and narrow no further.
const CONDITIONS_MAX: usize = 100;

/// One table, ready to be read.
#[derive(Debug)]
pub(crate) struct TableQuery<F> {
    pub(crate) planned: PlannedTable,
    /// `SELECT … FROM … WHERE …`
    pub(crate) sql: String,
    /// What stands behind its `FROM`, without the alias.
    #[cfg(feature = "sqlite")]
    pub(crate) from: String,
    /// What is selected.
    #[cfg(feature = "sqlite")]
    pub(crate) selected: Vec<String>,
    pub(crate) params: Vec<Param>,
    /// How each selected column is read: those that go out, then those that only a filter sees.
    pub(crate) forms: Vec<F>,
    /// The filters, each with the place of the column that it looks at.
    pub(crate) filters: Vec<(usize, Filter)>,
}

impl<F: Clone> TableQuery<F> {
    pub(crate) fn new<D: Dialect<Form = F>>(
        planned: &PlannedTable,
        table: &Table<F>,
    ) -> Result<Self, PortError> {
        let find = |field: &str| find::<D>(table, field).ok_or_else(|| refused(planned, NO_COLUMN));
        let mut selected = Vec::new();
        for field in planned.fields() {
            selected.push(find(field)?);
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
            let place = selected.iter().position(|known| known.sql == column.sql);
            filters.push((place.unwrap_or(selected.len()), filter));
            if place.is_none() {
                selected.push(column);
            }
        }
        let expressions: Vec<_> = selected.iter().map(|column| column.sql.clone()).collect();
        let mut sql = format!("SELECT {} FROM {} AS t", expressions.join(", "), table.sql);
        if !conditions.is_empty() {
            sql = format!("{sql} WHERE {}", conditions.join(" AND "));
        }
        let forms = selected.into_iter().map(|column| column.form).collect();
        Ok(Self {
            planned: planned.clone(),
            sql,
            #[cfg(feature = "sqlite")]
            from: table.sql.clone(),
            #[cfg(feature = "sqlite")]
            selected: expressions,
            params,
            forms,
            filters,
        })
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

//! One requested table against one discovered table.
//!
//! Keeps true: a merge of two sorted lists, so the work grows with the fields and not with their
//! square; every mistake is found.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::TableSchema;
use crate::filter::Filter;

/// What checking a table found out.
pub(crate) struct Checked {
    /// The fields to read, sorted: the requested ones, or all for `*`.
    pub(crate) fields: Arc<[Arc<str>]>,
    /// Requested fields that the table does not have.
    pub(crate) unknown: Vec<Arc<str>>,
    /// Filters that cannot be: the field, and why.
    pub(crate) filters: Vec<(Arc<str>, &'static str)>,
}

/// Checks requested fields (sorted; `None` for all) and filters against a table.
pub(crate) fn check_table(
    schema: &TableSchema,
    requested: Option<&Arc<[Arc<str>]>>,
    filters: &[&Filter],
    not_selected: &'static str,
) -> Checked {
    let (fields, unknown) = match requested {
        None => (schema.sorted().map(|field| Arc::clone(&field.name)).collect(), Vec::new()),
        Some(fields) => (Arc::clone(fields), unknown_fields(schema, fields)),
    };
    let fault = |filter: &&Filter| {
        let selected = fields.binary_search_by(|field: &Arc<str>| (**field).cmp(filter.field()));
        let detail = match (selected, filter.check()) {
            (Err(_), _) => not_selected,
            (Ok(_), Err(fault)) => fault.as_str(),
            (Ok(_), Ok(())) => return None,
        };
        Some((Arc::clone(filter.shared_field()), detail))
    };
    let filters = filters.iter().filter_map(fault).collect();
    Checked { fields, unknown, filters }
}

fn unknown_fields(schema: &TableSchema, requested: &[Arc<str>]) -> Vec<Arc<str>> {
    let mut known = schema.sorted().peekable();
    let missing = |field: &&Arc<str>| {
        while known.next_if(|known| known.name < **field).is_some() {}
        let exact = known.next_if(|known| known.name == **field).is_some();
        // A dotted path is rare, and then its parents are looked up one by one.
        !exact && schema.resolve(field).is_none()
    };
    requested.iter().filter(missing).map(Arc::clone).collect()
}

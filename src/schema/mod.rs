//! What a datasource has: tables, and their fields.
//!
//! Keeps true: tables are sorted by name and no name occurs twice; a field is found by bytes;
//! a snapshot knows which connection it was read from.

mod validate;

use alloc::sync::Arc;
use alloc::vec::Vec;

pub(crate) use validate::{Checked, check_table};

use crate::connection::Fingerprint;

/// One field of a table, as the catalogue has it.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct FieldSchema {
    /// Its name, exactly as catalogued.
    pub name: Arc<str>,
    /// The source's own text for its type (`numeric(10,2)`).
    pub source_type: Arc<str>,
    /// Whether it may be null.
    pub nullable: bool,
    /// Its place in the primary key, from 1; `None` where it is not part of it.
    pub primary_key: Option<u32>,
}

impl FieldSchema {
    /// A nullable field that is in no key.
    #[must_use]
    pub fn new(name: impl Into<Arc<str>>, source_type: impl Into<Arc<str>>) -> Self {
        Self {
            name: name.into(),
            source_type: source_type.into(),
            nullable: true,
            primary_key: None,
        }
    }

    /// The same, never null.
    #[must_use]
    pub fn not_null(mut self) -> Self {
        self.nullable = false;
        self
    }

    /// The same, at this place of the primary key (from 1).
    #[must_use]
    pub fn primary_key(mut self, position: u32) -> Self {
        self.primary_key = Some(position);
        self
    }
}

/// One table (or view, or whatever the source has that yields rows).
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TableSchema {
    name: Arc<str>,
    fields: Vec<FieldSchema>,
    /// Indices into `fields`, by name.
    by_name: Vec<u32>,
}

impl TableSchema {
    /// A table with these fields, in the source's order. Of two fields of one name the first stays.
    #[must_use]
    pub fn new(name: impl Into<Arc<str>>, fields: Vec<FieldSchema>) -> Self {
        let mut by_name: Vec<u32> = (0..).take(fields.len()).collect();
        let name_of = |index: &u32| fields.get(*index as usize).map(|field| &field.name);
        by_name.sort_by(|a, b| name_of(a).cmp(&name_of(b)).then(a.cmp(b)));
        by_name.dedup_by(|a, b| name_of(a) == name_of(b));
        Self { name: name.into(), fields, by_name }
    }

    /// Its name, canonical for its source.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its fields, in the source's order.
    #[must_use]
    pub fn fields(&self) -> &[FieldSchema] {
        &self.fields
    }

    /// The fields sorted by name.
    pub(crate) fn sorted(&self) -> impl ExactSizeIterator<Item = &FieldSchema> {
        // PROOF: `by_name` holds indices below `fields.len()`, see `new`.
        self.by_name.iter().map(|&index| &self.fields[index as usize])
    }

    /// The field of exactly this name.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&FieldSchema> {
        let found = self.by_name.binary_search_by(|&index| {
            // PROOF: as in `sorted`.
            (*self.fields[index as usize].name).cmp(name)
        });
        found
            .ok()
            .and_then(|at| self.by_name.get(at))
            .and_then(|&index| self.fields.get(index as usize))
    }

    /// The field that a request means: exact, or a parent of the dotted path.
    ///
    /// `natural_person` answers for `natural_person.mother_name`, `natural` does not.
    #[must_use]
    pub fn resolve(&self, path: &str) -> Option<&FieldSchema> {
        self.field(path)
            .or_else(|| path.rmatch_indices('.').find_map(|(dot, _)| self.field(path.get(..dot)?)))
    }
}

/// Everything that one connection offered when it was asked.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SchemaSnapshot {
    origin: Fingerprint,
    tables: Vec<TableSchema>,
}

impl SchemaSnapshot {
    /// A snapshot of the connection with this fingerprint. Of two tables of one name the first
    /// stays.
    #[must_use]
    pub fn new(origin: Fingerprint, mut tables: Vec<TableSchema>) -> Self {
        tables.sort_by(|a, b| a.name.cmp(&b.name));
        tables.dedup_by(|a, b| a.name == b.name);
        Self { origin, tables }
    }

    /// The connection that it was read from.
    #[must_use]
    pub fn origin(&self) -> Fingerprint {
        self.origin
    }

    /// The tables, sorted by name.
    #[must_use]
    pub fn tables(&self) -> &[TableSchema] {
        &self.tables
    }

    /// The table of exactly this (canonical) name.
    #[must_use]
    pub fn table(&self, name: &str) -> Option<&TableSchema> {
        let at = self.tables.binary_search_by(|table| (*table.name).cmp(name)).ok()?;
        self.tables.get(at)
    }

    /// The same with every table's name made canonical.
    pub(crate) fn canonical(
        origin: Fingerprint,
        tables: Vec<TableSchema>,
        canonical: impl Fn(&str) -> Option<Arc<str>>,
    ) -> Self {
        let renamed = tables.into_iter().map(|mut table| {
            if let Some(name) = canonical(&table.name) {
                table.name = name;
            }
            table
        });
        Self::new(origin, renamed.collect())
    }
}

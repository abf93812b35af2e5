//! A planned table as SQL: what is selected, as what it is read, and which conditions hold.

use fetcher_engine::PortError;
use fetcher_engine::extraction::PlannedTable;
use fetcher_sql::fault::{NO_COLUMN, NO_FILTER, refused};
use fetcher_sql::name::{TableName, parents};
use tokio_postgres::types::{Oid, Type};

use crate::catalogue::{CatalogueColumn, Columns};
use crate::condition::{Column, Conditions, Encoding};
use crate::shape::{Catalogue, Custom, Shape};
use crate::sql::{self, identifier, json_path};

/// One table, ready to be prepared.
#[derive(Debug)]
pub(crate) struct TableQuery {
    /// `SELECT … FROM … WHERE …`
    pub(crate) sql: String,
    pub(crate) conditions: Conditions,
    /// How each column is read.
    pub(crate) shapes: Vec<Shape>,
    /// The type that the server must say each column has.
    pub(crate) types: Vec<Oid>,
}

impl TableQuery {
    pub(crate) fn new(
        planned: &PlannedTable,
        name: &TableName,
        columns: &Columns,
        catalogue: &Catalogue,
        encoding: Encoding,
    ) -> Result<Self, PortError> {
        let refuse = |why| refused(planned, why);
        let find =
            |field: &str| Source::find(field, columns, catalogue).ok_or_else(|| refuse(NO_COLUMN));
        let (mut selected, mut shapes, mut types) = (Vec::new(), Vec::new(), Vec::new());
        for field in planned.fields() {
            let Source { sql, kind, .. } = find(field)?;
            let shape = Shape::of(kind, catalogue);
            let (sql, read) = shape.clone().select(&sql);
            types.push(match &read {
                // Written as text by the server, one or many.
                _ if read == shape => base(kind, catalogue),
                Shape::Array(_) => Type::TEXT_ARRAY.oid(),
                _ => Type::TEXT.oid(),
            });
            selected.push(sql);
            shapes.push(read);
        }
        let mut conditions = Conditions::default();
        for filter in planned.filters() {
            let source = find(filter.field())?;
            let shape = Shape::of(source.kind, catalogue);
            let plain = source.deterministic && shape == Shape::Text;
            let column = Column { sql: &source.sql, shape: &shape, plain };
            conditions.push(filter, &column, encoding).ok_or_else(|| refuse(NO_FILTER))?;
        }
        let mut sql = format!("SELECT {} FROM {} AS t", selected.join(", "), sql::table(name));
        if !conditions.sql.is_empty() {
            sql = format!("{sql} WHERE {}", conditions.sql);
        }
        Ok(Self { sql, conditions, shapes, types })
    }
}

/// Where a field's values come from: a column, a part of a composite, a path into JSON.
struct Source {
    sql: String,
    kind: Oid,
    deterministic: bool,
}

impl Source {
    /// The column of that name, or what a dotted path leads to: the longest column that is a parent
    /// of it, and then composite fields or JSON keys, one by one.
    fn find(field: &str, columns: &Columns, catalogue: &Catalogue) -> Option<Self> {
        let whole = |name: &str| {
            let CatalogueColumn { kind, deterministic } = *columns.get(name)?;
            Some(Self { sql: format!("t.{}", identifier(name)), kind, deterministic })
        };
        if let Some(source) = whole(field) {
            return Some(source);
        }
        let (parent, path) =
            parents(field).find_map(|(parent, path)| Some((whole(parent)?, path)))?;
        parent.descend(path, catalogue)
    }

    fn descend(self, path: &str, catalogue: &Catalogue) -> Option<Self> {
        let kind = base(self.kind, catalogue);
        if kind == Type::JSON.oid() || kind == Type::JSONB.oid() {
            let keys: Vec<_> = path.split('.').collect();
            let path = json_path(&keys);
            let sql = format!("({} OPERATOR(pg_catalog.#>) {path})", self.sql);
            return Some(Self { sql, kind, deterministic: true });
        }
        let Some(Custom::Composite(fields)) = catalogue.get(&kind) else { return None };
        let field = |name: &str| {
            let (_, kind) = fields.iter().find(|(field, _)| **field == *name)?;
            let sql = format!("({}).{}", self.sql, identifier(name));
            // What its collation is is not known here.
            Some(Self { sql, kind: *kind, deterministic: false })
        };
        if let Some(source) = field(path) {
            return Some(source);
        }
        let (parent, rest) =
            parents(path).find_map(|(parent, rest)| Some((field(parent)?, rest)))?;
        parent.descend(rest, catalogue)
    }
}

/// The type itself, or what a domain stands for.
fn base(kind: Oid, catalogue: &Catalogue) -> Oid {
    let mut kind = kind;
    // A domain is older than what it is over, so this ends; the bound is for a hostile catalogue.
    for _ in 0..catalogue.len() {
        match catalogue.get(&kind) {
            Some(Custom::Domain(inner)) => kind = *inner,
            _ => break,
        }
    }
    kind
}

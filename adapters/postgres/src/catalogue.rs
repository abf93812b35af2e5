//! What is asked of `pg_catalog`: the tables that may be read, the columns of the tables of a
//! query, and what types that are not built in are made of.

use std::collections::BTreeMap;
use std::sync::Arc;

use fetcher_engine::PortError;
use fetcher_engine::schema::{FieldSchema, TableSchema};
use fetcher_sql::fault;
use fetcher_sql::name::TableName;
use tokio_postgres::types::{Oid, ToSql, Type};
use tokio_postgres::{Client, Error, Row};

use crate::shape::{Catalogue, Custom};
use crate::sql::NAMING;

/// Tables (plain, partitioned, foreign), views and materialised views; not indexes, sequences,
/// composite types, TOAST.
const TABLES: &str = "
SELECT n.nspname::text, c.relname::text, a.attname::text,
  pg_catalog.format_type(a.atttypid, a.atttypmod),
  a.attnotnull OR EXISTS (SELECT FROM pg_catalog.pg_type d
    WHERE d.oid OPERATOR(pg_catalog.=) a.atttypid AND d.typnotnull),
  (SELECT k.position::int4 FROM pg_catalog.pg_index i,
      pg_catalog.unnest(i.indkey::int2[]) WITH ORDINALITY AS k (attnum, position)
    WHERE i.indrelid OPERATOR(pg_catalog.=) c.oid AND i.indisprimary
      AND k.attnum OPERATOR(pg_catalog.=) a.attnum
      AND k.position OPERATOR(pg_catalog.<=) i.indnkeyatts)
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid OPERATOR(pg_catalog.=) c.oid
  AND a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped
  AND (pg_catalog.has_table_privilege(c.oid, 'SELECT')
    OR pg_catalog.has_column_privilege(c.oid, a.attnum, 'SELECT'))
WHERE c.relkind OPERATOR(pg_catalog.=) ANY ('{r,p,f,v,m}'::\"char\"[])
  AND n.nspname OPERATOR(pg_catalog.!~) '^pg_'
  AND n.nspname OPERATOR(pg_catalog.<>) 'information_schema'
  AND ($1::text[] IS NULL OR n.nspname::text OPERATOR(pg_catalog.=) ANY ($1))
  AND pg_catalog.has_schema_privilege(n.oid, 'USAGE')
  AND (pg_catalog.has_table_privilege(c.oid, 'SELECT') OR a.attname IS NOT NULL)
ORDER BY n.nspname, c.relname, a.attnum";

/// One row for each column of each table asked for.
const COLUMNS: &str = "
SELECT t.number::int4, a.attname::text, a.atttypid,
  coalesce(l.collisdeterministic, true)
FROM ROWS FROM (pg_catalog.unnest($1::text[]), pg_catalog.unnest($2::text[]))
  WITH ORDINALITY AS t (nsp, rel, number)
JOIN pg_catalog.pg_namespace n ON n.nspname::text OPERATOR(pg_catalog.=) t.nsp
JOIN pg_catalog.pg_class c ON c.relnamespace OPERATOR(pg_catalog.=) n.oid
  AND c.relname::text OPERATOR(pg_catalog.=) t.rel
JOIN pg_catalog.pg_attribute a ON a.attrelid OPERATOR(pg_catalog.=) c.oid
  AND a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped
LEFT JOIN pg_catalog.pg_collation l ON l.oid OPERATOR(pg_catalog.=) a.attcollation
WHERE c.relkind OPERATOR(pg_catalog.=) ANY ('{r,p,f,v,m}'::\"char\"[])";

/// Types and whatever they are made of, in one recursive query. `MULTIRANGES` is replaced, for
/// servers that have none do not have the column either.
const TYPES: &str = "
WITH RECURSIVE met (oid) AS (
  SELECT o FROM pg_catalog.unnest($1::oid[]) AS o
  UNION
  SELECT part.oid FROM met
  JOIN pg_catalog.pg_type t ON t.oid OPERATOR(pg_catalog.=) met.oid
  CROSS JOIN LATERAL (
    SELECT t.typelem UNION ALL SELECT t.typbasetype
    UNION ALL SELECT a.atttypid FROM pg_catalog.pg_attribute a
      WHERE a.attrelid OPERATOR(pg_catalog.=) t.typrelid
        AND a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped
    UNION ALL SELECT r.rngsubtype FROM pg_catalog.pg_range r
      WHERE r.rngtypid OPERATOR(pg_catalog.=) t.oid OR MULTIRANGES
  ) AS part (oid) WHERE part.oid OPERATOR(pg_catalog.<>) 0::oid
)
SELECT t.oid, t.typtype::text,
  t.typelem OPERATOR(pg_catalog.<>) 0::oid
    AND t.typoutput OPERATOR(pg_catalog.=) 'pg_catalog.array_out'::regproc,
  t.typelem, t.typbasetype,
  (SELECT r.rngsubtype FROM pg_catalog.pg_range r
    WHERE r.rngtypid OPERATOR(pg_catalog.=) t.oid OR MULTIRANGES),
  ARRAY(SELECT a.attname::text FROM pg_catalog.pg_attribute a
    WHERE a.attrelid OPERATOR(pg_catalog.=) t.typrelid
      AND a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped ORDER BY a.attnum),
  ARRAY(SELECT a.atttypid FROM pg_catalog.pg_attribute a
    WHERE a.attrelid OPERATOR(pg_catalog.=) t.typrelid
      AND a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped ORDER BY a.attnum)
FROM met JOIN pg_catalog.pg_type t ON t.oid OPERATOR(pg_catalog.=) met.oid";

/// The first version with multiranges.
const MULTIRANGES_SINCE: u32 = 14;

/// Reads the tables that may be read, in one round trip.
pub(crate) async fn tables(client: &Client, schemas: Option<&[String]>) -> Result<Vec<Row>, Error> {
    client.query_typed(TABLES, &[(&schemas as &(dyn ToSql + Sync), Type::TEXT_ARRAY)]).await
}

/// The answer of [`tables`], by table.
pub(crate) fn schema(rows: &[Row]) -> Result<Vec<TableSchema>, PortError> {
    let mut tables: Vec<(TableName, Vec<FieldSchema>)> = Vec::new();
    for row in rows {
        let name = TableName { schema: cell(row, 0)?, table: cell(row, 1)? };
        if tables.last().is_none_or(|(last, _)| *last != name) {
            tables.push((name, Vec::new()));
        }
        let Some(column) = cell::<Option<String>>(row, 2)? else { continue };
        let mut field = FieldSchema::new(column, cell::<String>(row, 3)?);
        if cell(row, 4)? {
            field = field.not_null();
        }
        if let Some(position) = cell::<Option<i32>>(row, 5)? {
            field = field.primary_key(position.unsigned_abs());
        }
        if let Some((_, fields)) = tables.last_mut() {
            fields.push(field);
        }
    }
    Ok(tables
        .into_iter()
        .map(|(name, fields)| TableSchema::new(NAMING.write(&name), fields))
        .collect())
}

/// A column as the catalogue has it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CatalogueColumn {
    pub(crate) kind: Oid,
    /// Whether its collation, if it has one, calls only equal bytes equal.
    pub(crate) deterministic: bool,
}

/// The columns of one table, by name.
pub(crate) type Columns = BTreeMap<String, CatalogueColumn>;

/// Reads the columns of these tables.
pub(crate) async fn columns(client: &Client, names: &[TableName]) -> Result<Vec<Row>, Error> {
    let schemas: Vec<_> = names.iter().map(|name| name.schema.as_str()).collect();
    let tables: Vec<_> = names.iter().map(|name| name.table.as_str()).collect();
    let params: [(&(dyn ToSql + Sync), Type); 2] =
        [(&schemas, Type::TEXT_ARRAY), (&tables, Type::TEXT_ARRAY)];
    client.query_typed(COLUMNS, &params).await
}

/// The answer of [`columns`], in the order of the names.
pub(crate) fn by_table(rows: &[Row], count: usize) -> Result<Vec<Columns>, PortError> {
    let mut tables = vec![Columns::new(); count];
    for row in rows {
        let number = usize::try_from(cell::<i32>(row, 0)?).ok();
        let table = number.and_then(|number| tables.get_mut(number.checked_sub(1)?));
        let table = table.ok_or_else(|| fault::malformed("the catalogue names another table"))?;
        let column = CatalogueColumn { kind: cell(row, 2)?, deterministic: cell(row, 3)? };
        table.insert(cell(row, 1)?, column);
    }
    Ok(tables)
}

/// Reads what these types are made of.
pub(crate) async fn types(client: &Client, oids: &[Oid], version: u32) -> Result<Vec<Row>, Error> {
    let multiranges = if version >= MULTIRANGES_SINCE {
        "r.rngmultitypid OPERATOR(pg_catalog.=) t.oid"
    } else {
        "false"
    };
    let sql = TYPES.replace("MULTIRANGES", multiranges);
    client.query_typed(&sql, &[(&oids as &(dyn ToSql + Sync), Type::OID_ARRAY)]).await
}

/// The answer of [`types`].
pub(crate) fn catalogue(rows: &[Row]) -> Result<Catalogue, PortError> {
    let mut catalogue = Catalogue::new();
    for row in rows {
        let kind: String = cell(row, 1)?;
        let bound = cell::<Option<Oid>>(row, 5)?;
        let custom = match (kind.as_str(), bound) {
            ("e", _) => Custom::Enum,
            ("d", _) => Custom::Domain(cell(row, 4)?),
            ("c", _) => {
                let names = cell::<Vec<String>>(row, 6)?.into_iter().map(Arc::from);
                Custom::Composite(names.zip(cell::<Vec<Oid>>(row, 7)?).collect())
            }
            ("r", Some(bound)) => Custom::Range(bound),
            ("m", Some(bound)) => Custom::Multirange(bound),
            ("b", _) if cell(row, 2)? => Custom::Array(cell(row, 3)?),
            _ => Custom::Other,
        };
        catalogue.insert(cell(row, 0)?, custom);
    }
    Ok(catalogue)
}

fn cell<'a, T: tokio_postgres::types::FromSql<'a>>(
    row: &'a Row,
    at: usize,
) -> Result<T, PortError> {
    row.try_get(at).map_err(|error| PortError::internal().caused_by(error))
}

//! What discovery finds, and the order that tables are read in.

use fetcher_engine::extraction::PlannedTable;
use fetcher_engine::ports::{Connector, Query};
use fetcher_engine::schema::TableSchema;

use super::reading::{read, told};

/// What a connector finds that is connected, and then closed.
pub(crate) async fn discover(mut connector: Box<dyn Connector>) -> Vec<TableSchema> {
    let tables = connector.discover_schema().await.map_err(told).expect("it discovers");
    connector.close().await.map_err(told).expect("it closes");
    tables
}

/// The names of tables, in order.
pub(crate) fn names(tables: &[TableSchema]) -> Vec<&str> {
    let mut names: Vec<_> = tables.iter().map(TableSchema::name).collect();
    names.sort_unstable();
    names
}

/// Tables `a`, `b` and `c` have a column `x`, and `b` alone a row, which is 1.
pub(crate) async fn come_in_order(connector: Box<dyn Connector>) {
    let tables = ["a", "b", "c"].map(|it| PlannedTable::new(it, ["x"], Vec::new()));
    let rows = read(connector, Query::new(tables.into())).await.map_err(told).unwrap();
    assert_eq!(rows, [("b".to_owned(), r#"{"x":1}"#.to_owned())]);
}

//! A connector that does with its row batches whatever a test wants.

use alloc::sync::Arc;
use core::future::ready;

use fetcher_engine::PortError;
use fetcher_engine::encode::RowBatch;
use fetcher_engine::ports::{
    BoxFuture, Connector, ConnectorContext, ConnectorFactory, Fetched, Query,
};
use fetcher_engine::schema::{FieldSchema, TableSchema};

type Rows = Result<(RowBatch, Fetched), PortError>;
type Fill = Arc<dyn Fn(RowBatch) -> Rows + Send + Sync>;
type Canonical = fn(&str) -> Option<Arc<str>>;

/// Tables and what every fetch does. Everything else goes well.
pub(crate) struct Rogue {
    tables: Vec<TableSchema>,
    fill: Fill,
    canonical: Canonical,
}

impl Rogue {
    /// Has these tables with these fields, and gives no rows.
    pub(crate) fn new(tables: &[(&str, &[&str])]) -> Self {
        let field = |name: &&str| FieldSchema::new(*name, "text");
        let table = |(name, fields): &(&str, &[&str])| {
            TableSchema::new(*name, fields.iter().map(field).collect())
        };
        Self {
            tables: tables.iter().map(table).collect(),
            fill: Arc::new(|batch| Ok((batch, Fetched::End))),
            canonical: |_| None,
        }
    }

    /// Every fetch does this.
    pub(crate) fn fill(mut self, fill: impl Fn(RowBatch) -> Rows + Send + Sync + 'static) -> Self {
        self.fill = Arc::new(fill);
        self
    }

    /// Tables have these canonical names.
    pub(crate) fn canonical(mut self, canonical: Canonical) -> Self {
        self.canonical = canonical;
        self
    }
}

impl ConnectorFactory for Rogue {
    fn build(&self, _: ConnectorContext) -> Result<Box<dyn Connector>, PortError> {
        Ok(Box::new(RogueConnector { tables: self.tables.clone(), fill: Arc::clone(&self.fill) }))
    }

    fn canonical_table(&self, name: &str) -> Option<Arc<str>> {
        (self.canonical)(name)
    }
}

struct RogueConnector {
    tables: Vec<TableSchema>,
    fill: Fill,
}

impl Connector for RogueConnector {
    fn connect(&mut self) -> BoxFuture<'_, Result<(), PortError>> {
        Box::pin(ready(Ok(())))
    }

    fn discover_schema(&mut self) -> BoxFuture<'_, Result<Vec<TableSchema>, PortError>> {
        Box::pin(ready(Ok(self.tables.clone())))
    }

    fn open(&mut self, _: Query) -> BoxFuture<'_, Result<(), PortError>> {
        Box::pin(ready(Ok(())))
    }

    fn fetch(&mut self, batch: RowBatch) -> BoxFuture<'_, Rows> {
        Box::pin(ready((self.fill)(batch)))
    }

    fn close(self: Box<Self>) -> BoxFuture<'static, Result<(), PortError>> {
        Box::pin(ready(Ok(())))
    }
}

//! The engine around the prepared rows: a connector that has them, and a sink that keeps nothing.

use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use fetcher_engine::encode::RowBatch;
use fetcher_engine::extraction::Receipt;
use fetcher_engine::memory::{MemoryConnectionStore, MemoryConnectorRegistry};
use fetcher_engine::ports::{
    BoxFuture, Connector, ConnectorContext, ConnectorFactory, Fetched, Query, ResultHeader,
    ResultSink, ResultWriter,
};
use fetcher_engine::schema::{FieldSchema, TableSchema};
use fetcher_engine::{
    ConnectionInput, Engine, ExecuteOptions, ExtractionPlan, ExtractionRequest, ExtractionResult,
    Limits, Mode, PortError, TenantId, block_on,
};

use crate::Error;
use crate::rows::{COLUMNS, Cursor, Row, TABLE};

const TENANT: &str = "bench";
const KIND: &str = "prepared";
/// The datasource of store mode; those of direct mode have a number behind it.
pub(crate) const DATASOURCE: &str = "crm";
/// The option of a connection that says how many rows it has.
const ROWS: &str = "rows";

/// An engine, and plans for so many rows in one datasource.
pub(crate) struct Fixture {
    engine: Engine,
    written: Arc<AtomicU64>,
}

impl Fixture {
    /// An engine over these rows, with every limit out of the way.
    pub(crate) fn new(pool: &Arc<Vec<Row>>) -> Result<Self, Error> {
        let sink = Discard::default();
        let written = Arc::clone(&sink.0);
        let mut limits = Limits::default();
        limits.max_result_bytes = 1 << 40;
        let factory = Arc::new(Prepared(Arc::clone(pool)));
        let engine = Engine::builder()
            .connectors(Arc::new(MemoryConnectorRegistry::new().with(KIND, factory)))
            .connection_store(Arc::new(MemoryConnectionStore::new()))
            .result_sink(Arc::new(sink))
            .limits(limits)
            .build()?;
        Ok(Self { engine, written })
    }

    /// A plan for so many rows from each of these datasources, which must be new.
    pub(crate) fn plan(&self, datasources: &[&str], rows: u64) -> Result<ExtractionPlan, Error> {
        let mut request = ExtractionRequest::new();
        for name in datasources {
            let input = ConnectionInput::new(*name, KIND).option(ROWS, rows.to_string());
            block_on(self.engine.create_connection(TENANT, input))?;
            request = request.table(*name, TABLE, COLUMNS);
        }
        Ok(block_on(self.engine.plan_extraction(TENANT, &request))?)
    }

    /// Executes a plan. In store mode, the sink has got what the result says.
    pub(crate) fn execute(
        &self,
        plan: &ExtractionPlan,
        mode: Mode,
    ) -> Result<ExtractionResult, Error> {
        self.written.store(0, Relaxed);
        let options = ExecuteOptions::new().mode(mode);
        let result = block_on(self.engine.execute_extraction(plan, options))?;
        if mode == Mode::Store && self.written.load(Relaxed) != result.bytes {
            return Err("the sink got another number of bytes than the result says".into());
        }
        Ok(result)
    }
}

struct Prepared(Arc<Vec<Row>>);

impl ConnectorFactory for Prepared {
    fn build(&self, context: ConnectorContext) -> Result<Box<dyn Connector>, PortError> {
        let rows = context.connection.endpoint.options.get(ROWS);
        let rows = rows.and_then(|rows| rows.parse().ok());
        Ok(Box::new(PreparedConnector {
            pool: Arc::clone(&self.0),
            cursor: Cursor::new(rows.ok_or_else(PortError::validation)?),
        }))
    }
}

struct PreparedConnector {
    pool: Arc<Vec<Row>>,
    cursor: Cursor,
}

impl Connector for PreparedConnector {
    fn connect(&mut self) -> BoxFuture<'_, Result<(), PortError>> {
        Box::pin(ready(Ok(())))
    }

    fn discover_schema(&mut self) -> BoxFuture<'_, Result<Vec<TableSchema>, PortError>> {
        let fields = COLUMNS.map(|name| FieldSchema::new(name, "prepared"));
        Box::pin(ready(Ok(vec![TableSchema::new(TABLE, fields.into())])))
    }

    fn open(&mut self, _: Query) -> BoxFuture<'_, Result<(), PortError>> {
        Box::pin(ready(Ok(())))
    }

    fn fetch(
        &mut self,
        mut batch: RowBatch,
    ) -> BoxFuture<'_, Result<(RowBatch, Fetched), PortError>> {
        Box::pin(async move {
            self.cursor.fill(&self.pool, &mut batch)?;
            let fetched = if self.cursor.is_done() { Fetched::End } else { Fetched::More };
            Ok((batch, fetched))
        })
    }

    fn close(self: Box<Self>) -> BoxFuture<'static, Result<(), PortError>> {
        Box::pin(ready(Ok(())))
    }
}

/// Counts the bytes and forgets them.
#[derive(Default)]
pub(crate) struct Discard(Arc<AtomicU64>);

impl ResultSink for Discard {
    fn open_stream<'a>(
        &'a self,
        _: &'a TenantId,
        _: ResultHeader,
    ) -> BoxFuture<'a, Result<Box<dyn ResultWriter>, PortError>> {
        let writer: Box<dyn ResultWriter> = Box::new(Self(Arc::clone(&self.0)));
        Box::pin(ready(Ok(writer)))
    }
}

impl ResultWriter for Discard {
    fn write<'a>(&'a mut self, bytes: &'a [u8]) -> BoxFuture<'a, Result<(), PortError>> {
        self.0.fetch_add(bytes.len() as u64, Relaxed);
        Box::pin(ready(Ok(())))
    }

    fn close(self: Box<Self>) -> BoxFuture<'static, Result<Receipt, PortError>> {
        Box::pin(ready(Ok(Receipt::new("discarded"))))
    }

    fn abort(self: Box<Self>) -> BoxFuture<'static, Result<(), PortError>> {
        Box::pin(ready(Ok(())))
    }
}

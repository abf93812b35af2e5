//! Reading through a connector.

use std::convert::Infallible;

use fetcher_engine::connection::ConnectionId;
use fetcher_engine::encode::{Format, RowBatch, StepShape};
use fetcher_engine::extraction::PlannedTable;
use fetcher_engine::ports::{
    BoxFuture, Connector, ConnectorContext, ConnectorFactory, CredentialResolver, Fetched, Query,
};
use fetcher_engine::{ConnectionDescriptor, ConnectionInput, Filter, PortError, Secret, TenantId};

/// What the private cause says, for a test that fails.
pub(crate) fn told(error: PortError) -> String {
    format!("{error}: {:?}", error.cause())
}

pub(crate) fn descriptor(input: ConnectionInput) -> ConnectionDescriptor {
    let (draft, _) = input.into_draft().expect("it is well-formed");
    let id = ConnectionId::parse("db-1").expect("an id");
    draft.into_descriptor(TenantId::parse("acme").expect("a tenant"), id)
}

pub(crate) fn build(
    factory: &dyn ConnectorFactory,
    input: ConnectionInput,
) -> Result<Box<dyn Connector>, PortError> {
    factory.build(ConnectorContext::new(descriptor(input)))
}

/// A connector that is connected.
pub(crate) async fn connected(
    factory: &dyn ConnectorFactory,
    input: ConnectionInput,
) -> Box<dyn Connector> {
    let mut connector = build(factory, input).expect("it builds");
    connector.connect().await.map_err(told).expect("it connects");
    connector
}

/// Always the same password.
pub(crate) struct Fixed(pub(crate) String);

impl CredentialResolver for Fixed {
    fn resolve<'a>(
        &'a self,
        _: &'a TenantId,
        _: &'a ConnectionDescriptor,
    ) -> BoxFuture<'a, Result<Option<Secret>, PortError>> {
        Box::pin(async { Ok(Some(Secret::from(self.0.as_str()))) })
    }
}

pub(crate) fn batch() -> RowBatch {
    RowBatch::new(StepShape::open(Format::Ndjson, "db"))
}

/// A query for these fields of one table.
pub(crate) fn planned(table: &str, fields: &[&str]) -> Query {
    narrowed(table, fields, Vec::new())
}

/// The same with filters.
pub(crate) fn narrowed(table: &str, fields: &[&str], filters: Vec<Filter>) -> Query {
    Query::new([PlannedTable::new(table, fields.iter().copied(), filters)].into())
}

/// The rows of a batch, with their tables.
pub(crate) fn lines(batch: &RowBatch) -> Vec<(String, String)> {
    let text = std::str::from_utf8(batch.encoded()).expect("it is text");
    let line = |line: &str| {
        let rest = line.strip_prefix(r#"{"config":"db","table":"#).expect("it is a row");
        let (table, row) = rest.split_once(r#","row":"#).expect("it is a row");
        let row = row.strip_suffix('}').expect("it is a row");
        (table.trim_matches('"').to_owned(), row.to_owned())
    };
    text.split_terminator('\n').map(line).collect()
}

/// All rows, with their tables.
pub(crate) async fn drain(
    connector: &mut dyn Connector,
) -> Result<Vec<(String, String)>, PortError> {
    let mut batch = batch();
    let mut rows = Vec::new();
    loop {
        let (filled, fetched) = connector.fetch(batch).await?;
        batch = filled;
        rows.extend(lines(&batch));
        batch.clear();
        if fetched == Fetched::End {
            return Ok(rows);
        }
    }
}

/// All rows of a query, with their tables; the connector is connected, and then closed.
pub(crate) async fn read(
    mut connector: Box<dyn Connector>,
    query: Query,
) -> Result<Vec<(String, String)>, PortError> {
    let answer = async {
        connector.open(query).await?;
        drain(&mut *connector).await
    }
    .await;
    connector.close().await.map_err(told).expect("it closes");
    answer
}

/// The rows alone.
pub(crate) fn rows(read: Vec<(String, String)>) -> Vec<String> {
    read.into_iter().map(|(_, row)| row).collect()
}

/// What was read without keeping it.
pub(crate) struct Counted {
    pub(crate) rows: u64,
    pub(crate) bytes: usize,
    /// The most bytes that one batch held.
    pub(crate) most: usize,
}

/// Reads what is open to its end, and closes.
pub(crate) async fn count(mut connector: Box<dyn Connector>) -> Counted {
    let mut batch = batch();
    let mut counted = Counted { rows: 0, bytes: 0, most: 0 };
    loop {
        let (filled, fetched) = connector.fetch(batch).await.map_err(told).unwrap();
        batch = filled;
        counted.rows += batch.rows();
        counted.bytes += batch.encoded().len();
        counted.most = counted.most.max(batch.encoded().len());
        batch.clear();
        if fetched == Fetched::End {
            break;
        }
    }
    connector.close().await.map_err(told).unwrap();
    counted
}

/// Reads until it fails.
pub(crate) async fn failure(connector: &mut dyn Connector) -> PortError {
    let mut batch = batch();
    loop {
        match connector.fetch(batch).await {
            Ok((filled, fetched)) => {
                assert_eq!(fetched, Fetched::More);
                batch = filled;
                batch.clear();
            }
            Err(error) => return error,
        }
    }
}

/// Reads for as long as it is polled.
pub(crate) async fn without_end(connector: &mut dyn Connector) -> Infallible {
    panic!("{}", told(failure(connector).await))
}

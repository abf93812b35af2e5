//! A database per test, and reading through a connector.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use fetcher_engine::encode::{Format, RowBatch, StepShape};
use fetcher_engine::extraction::PlannedTable;
use fetcher_engine::ports::{
    BoxFuture, Connector, ConnectorContext, ConnectorFactory, CredentialResolver, Fetched, Query,
};
use fetcher_engine::{ConnectionDescriptor, ConnectionInput, Filter, PortError, Secret, TenantId};
use fetcher_postgres::PostgresConnectors;
use tokio_postgres::{Client, NoTls};

use crate::server::{self, Server};

/// A database of the test's own, gone when the test ends.
pub(crate) struct Db {
    pub(crate) server: &'static Server,
    pub(crate) name: String,
    /// A connection of the driver's own, in this database.
    pub(crate) client: Client,
}

impl Db {
    /// Another connection of the driver's own.
    pub(crate) async fn client(&self) -> Client {
        connect(self.server, &self.name).await
    }

    pub(crate) async fn run(&self, sql: &str) {
        self.client.batch_execute(sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    }

    /// The first column of each row, as text.
    pub(crate) async fn texts(&self, sql: &str) -> Vec<Option<String>> {
        let rows = self.client.query(sql, &[]).await;
        let rows = rows.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
        rows.iter().map(|row| row.get(0)).collect()
    }

    pub(crate) fn input(&self) -> ConnectionInput {
        input(self.server, &self.name)
    }

    /// A connector that is connected.
    pub(crate) async fn connector(&self) -> Box<dyn Connector> {
        let mut connector = build(&factory(self.server), self.input()).expect("it builds");
        connector.connect().await.map_err(told).expect("it connects");
        connector
    }

    /// All rows of one table, one JSON text each.
    pub(crate) async fn read(&self, table: &str, fields: &[&str]) -> Vec<String> {
        self.filtered(table, fields, Vec::new()).await.map_err(told).expect("it reads")
    }

    pub(crate) async fn filtered(
        &self,
        table: &str,
        fields: &[&str],
        filters: Vec<Filter>,
    ) -> Result<Vec<String>, PortError> {
        let planned = PlannedTable::new(table, fields.iter().copied(), filters);
        let mut connector = self.connector().await;
        let answer = async {
            connector.open(Query::new([planned].into())).await?;
            drain(&mut *connector).await
        }
        .await;
        connector.close().await.map_err(told).expect("it closes");
        answer.map(|rows| rows.into_iter().map(|(_, row)| row).collect())
    }
}

/// What the private cause says, for a test that fails.
pub(crate) fn told(error: PortError) -> String {
    format!("{error}: {:?}", error.cause())
}

/// All rows, with their tables.
pub(crate) async fn drain(
    connector: &mut dyn Connector,
) -> Result<Vec<(String, String)>, PortError> {
    let mut batch = RowBatch::new(StepShape::open(Format::Ndjson, "pg"));
    let mut rows = Vec::new();
    loop {
        let (filled, fetched) = connector.fetch(batch).await?;
        batch = filled;
        for line in std::str::from_utf8(batch.encoded()).expect("it is text").lines() {
            let rest = line.strip_prefix(r#"{"config":"pg","table":"#).expect("it is a row");
            let (table, row) = rest.split_once(r#","row":"#).expect("it is a row");
            let row = row.strip_suffix('}').expect("it is a row");
            rows.push((table.trim_matches('"').to_owned(), row.to_owned()));
        }
        batch.clear();
        if fetched == Fetched::End {
            return Ok(rows);
        }
    }
}

/// Reads without keeping; rows, bytes, and the most bytes that one batch held.
pub(crate) async fn count(
    db: &Db,
    table: &str,
    fields: &[&str],
    filters: Vec<Filter>,
) -> (u64, usize, usize) {
    let planned = PlannedTable::new(table, fields.iter().copied(), filters);
    let mut connector = db.connector().await;
    connector.open(Query::new([planned].into())).await.map_err(told).unwrap();
    let mut batch = RowBatch::new(StepShape::open(Format::Ndjson, "pg"));
    let (mut rows, mut bytes, mut most) = (0, 0, 0);
    loop {
        let (filled, fetched) = connector.fetch(batch).await.map_err(told).unwrap();
        batch = filled;
        rows += batch.rows();
        bytes += batch.encoded().len();
        most = most.max(batch.encoded().len());
        batch.clear();
        if fetched == Fetched::End {
            break;
        }
    }
    connector.close().await.map_err(told).unwrap();
    (rows, bytes, most)
}

/// The most memory that this process has had, in megabytes, where the system tells.
pub(crate) fn peak_mb() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<usize>().ok()? / 1024)
}

/// Runs a test with a database of its own, or skips it.
pub(crate) fn with_db(test: impl AsyncFnOnce(&Db)) {
    if let Some(server) = server::any() {
        run_with(server, test);
    }
}

/// The same on a server of our own.
pub(crate) fn with_own_db(test: impl AsyncFnOnce(&Db)) {
    if let Some(server) = server::own() {
        run_with(server, test);
    }
}

fn run_with(server: &'static Server, test: impl AsyncFnOnce(&Db)) {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(1).enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let db = create(server).await;
        let name = db.name.clone();
        test(&db).await;
        drop(db);
        remove(server, &name).await;
    });
}

/// A new database.
pub(crate) async fn create(server: &'static Server) -> Db {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("fetcher_test_{}_{number}", std::process::id());
    let admin = connect(server, "postgres").await;
    let create = format!("CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8'");
    admin.batch_execute(&create).await.expect("a database");
    Db { server, client: connect(server, &name).await, name }
}

/// And gone again, whoever is still in it.
pub(crate) async fn remove(server: &'static Server, name: &str) {
    let admin = connect(server, "postgres").await;
    let drop = format!("DROP DATABASE {name} WITH (FORCE)");
    admin.batch_execute(&drop).await.expect("the database goes");
}

pub(crate) async fn connect(server: &Server, database: &str) -> Client {
    let mut config = tokio_postgres::Config::new();
    config.host(&server.host).port(server.port).user(&server.user).dbname(database);
    if let Some(password) = &server.password {
        config.password(password);
    }
    let (client, connection) = config.connect(NoTls).await.expect("the server answers");
    tokio::spawn(connection);
    client
}

pub(crate) fn input(server: &Server, database: &str) -> ConnectionInput {
    ConnectionInput::new("pg", "postgres")
        .host(server.host.as_str())
        .port(server.port)
        .database(database)
        .username(server.user.as_str())
}

pub(crate) fn factory(server: &Server) -> PostgresConnectors {
    let connectors = PostgresConnectors::new();
    match &server.password {
        Some(password) => connectors.credentials(Arc::new(Fixed(password.clone()))),
        None => connectors,
    }
}

pub(crate) fn build(
    factory: &PostgresConnectors,
    input: ConnectionInput,
) -> Result<Box<dyn Connector>, PortError> {
    factory.build(ConnectorContext::new(descriptor(input)))
}

pub(crate) fn descriptor(input: ConnectionInput) -> ConnectionDescriptor {
    let (draft, _) = input.into_draft().expect("it is well-formed");
    let id = fetcher_engine::connection::ConnectionId::parse("pg-1").expect("an id");
    draft.into_descriptor(TenantId::parse("acme").expect("a tenant"), id)
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

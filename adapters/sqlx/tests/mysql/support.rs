//! A database per test, and reading through a connector.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use fetcher_engine::encode::{Format, RowBatch, StepShape};
use fetcher_engine::extraction::PlannedTable;
use fetcher_engine::ports::{
    BoxFuture, Connector, ConnectorContext, ConnectorFactory, CredentialResolver, Fetched, Query,
};
use fetcher_engine::{ConnectionDescriptor, ConnectionInput, Filter, PortError, Secret, TenantId};
use fetcher_sqlx::{MySqlConnectors, SslMode};
use sqlx::mysql::MySqlConnection;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Executor as _, Row as _};
use tokio::sync::Mutex;

use crate::server::{self, Server};

/// A database of the test's own, gone when the test ends.
pub(crate) struct Db {
    pub(crate) server: &'static Server,
    pub(crate) name: String,
    /// A connection of the driver's own, in this database.
    client: Mutex<MySqlConnection>,
}

impl Db {
    /// The same database by another connection of the driver's own.
    pub(crate) async fn again(&self) -> Self {
        open(self.server, &self.name).await
    }

    /// Runs statements. Their text goes as it is.
    pub(crate) async fn run(&self, sql: &str) {
        self.try_run(sql).await.unwrap_or_else(|error| panic!("{sql:.1000}: {error:?}"));
    }

    pub(crate) async fn try_run(&self, sql: &str) -> Result<(), sqlx::Error> {
        let mut client = self.client.lock().await;
        client.execute(AssertSqlSafe(sql.to_owned())).await.map(|_| ())
    }

    /// The first column of each row, as bytes that are text.
    pub(crate) async fn texts(&self, sql: &str) -> Vec<Option<String>> {
        let mut client = self.client.lock().await;
        let rows = client.fetch_all(AssertSqlSafe(sql.to_owned())).await;
        let rows = rows.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
        rows.iter().map(|row| row.get_unchecked::<Option<Vec<u8>>, _>(0).map(text)).collect()
    }

    /// Whether it is MariaDB, and not MySQL.
    pub(crate) async fn is_mariadb(&self) -> bool {
        self.texts("SELECT VERSION()").await[0].as_deref().unwrap_or_default().contains("MariaDB")
    }

    /// How many others are connected to this database, `more` narrowing them.
    pub(crate) async fn others(&self, more: &str) -> usize {
        let sql = format!(
            "SELECT CAST(COUNT(*) AS CHAR) FROM information_schema.PROCESSLIST \
             WHERE DB = DATABASE() AND ID <> CONNECTION_ID() {more}"
        );
        self.texts(&sql).await[0].as_deref().expect("a count").parse().expect("a count")
    }

    /// Waits until there are so many of them.
    pub(crate) async fn until(&self, more: &str, count: usize) {
        for _ in 0..150 {
            if self.others(more).await == count {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let sql = "SELECT GROUP_CONCAT(CONCAT_WS(' ', ID, COMMAND, STATE, INFO)) \
            FROM information_schema.PROCESSLIST WHERE DB = DATABASE()";
        panic!("{more}: not {count} after three seconds: {:?}", self.texts(sql).await);
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

pub(crate) fn batch() -> RowBatch {
    RowBatch::new(StepShape::open(Format::Ndjson, "my"))
}

pub(crate) fn planned(table: &str, fields: &[&str]) -> Query {
    Query::new([PlannedTable::new(table, fields.iter().copied(), Vec::new())].into())
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
        for line in std::str::from_utf8(batch.encoded()).expect("it is text").lines() {
            let rest = line.strip_prefix(r#"{"config":"my","table":"#).expect("it is a row");
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
        test(&db).await;
        remove(db).await;
    });
}

/// A new database.
pub(crate) async fn create(server: &'static Server) -> Db {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("fetcher_test_{}_{number}", std::process::id());
    let mut admin = server.options().connect().await.expect("the server answers");
    let create = format!("CREATE DATABASE {name} CHARACTER SET utf8mb4");
    admin.execute(AssertSqlSafe(create)).await.expect("a database");
    admin.close().await.expect("it closes");
    open(server, &name).await
}

/// And gone again.
pub(crate) async fn remove(db: Db) {
    db.run(&format!("DROP DATABASE {}", db.name)).await;
}

pub(crate) async fn open(server: &'static Server, name: &str) -> Db {
    let client = server.options().database(name).connect().await.expect("the server answers");
    let db = Db { server, name: name.to_owned(), client: Mutex::new(client) };
    // Whatever a test has to say may be said, the impossible included.
    // One test changes what the server has as its defaults.
    db.run(
        "SET SESSION sql_mode = 'ALLOW_INVALID_DATES', time_zone = '+00:00', autocommit = 1, \
         sql_big_selects = 1, sql_select_limit = 18446744073709551615",
    )
    .await;
    db
}

pub(crate) fn input(server: &Server, database: &str) -> ConnectionInput {
    ConnectionInput::new("my", "mysql")
        .host(server.host.as_str())
        .port(server.port)
        .database(database)
        .username(server.user.as_str())
}

pub(crate) fn factory(server: &Server) -> MySqlConnectors {
    // TLS has tests of its own.
    let connectors = MySqlConnectors::new()
        .connect_timeout(Duration::from_secs(20))
        .default_ssl_mode(SslMode::Disable);
    match &server.password {
        Some(password) => connectors.credentials(Arc::new(Fixed(password.clone()))),
        None => connectors,
    }
}

pub(crate) fn build(
    factory: &MySqlConnectors,
    input: ConnectionInput,
) -> Result<Box<dyn Connector>, PortError> {
    factory.build(ConnectorContext::new(descriptor(input)))
}

pub(crate) fn descriptor(input: ConnectionInput) -> ConnectionDescriptor {
    let (draft, _) = input.into_draft().expect("it is well-formed");
    let id = fetcher_engine::connection::ConnectionId::parse("my-1").expect("an id");
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

/// An identifier.
pub(crate) fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// A text as a literal.
pub(crate) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

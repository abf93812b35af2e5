//! A database per test, and what is read of it.

use std::sync::Arc;
use std::time::Duration;

use fetcher_engine::ConnectionInput;
use fetcher_engine::ports::Connector;
use fetcher_sqlx::{MySqlConnectors, SslMode};
use sqlx::mysql::MySqlConnection;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Executor as _, Row as _};
use tokio::sync::Mutex;

use crate::server::{self, options};
use crate::testing::database::{Database, with};
use crate::testing::reading::{Fixed, connected};
use crate::testing::server::{Server, fresh_name};
use crate::testing::text;

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
}

impl Database for Db {
    async fn create(server: &'static Server) -> Self {
        let name = fresh_name();
        let mut admin = options(server).connect().await.expect("the server answers");
        let create = format!("CREATE DATABASE {name} CHARACTER SET utf8mb4");
        admin.execute(AssertSqlSafe(create)).await.expect("a database");
        admin.close().await.expect("it closes");
        open(server, &name).await
    }

    async fn remove(self) {
        self.run(&format!("DROP DATABASE {}", self.name)).await;
    }

    async fn connector(&self) -> Box<dyn Connector> {
        connected(&factory(self.server), self.input()).await
    }
}

/// Runs a test with a database of its own, or skips it.
pub(crate) fn with_db(test: impl AsyncFnOnce(&Db)) {
    with(server::any(), test);
}

/// The same on a server of our own.
pub(crate) fn with_own_db(test: impl AsyncFnOnce(&Db)) {
    with(server::own(), test);
}

pub(crate) async fn open(server: &'static Server, name: &str) -> Db {
    let client = options(server).database(name).connect().await.expect("the server answers");
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

/// An identifier.
pub(crate) fn quoted(name: &str) -> String {
    text::quoted('`', name)
}

/// A text as a literal.
pub(crate) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

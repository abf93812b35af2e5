//! A database per test, and what is read of it.

use std::sync::Arc;

use fetcher_engine::ports::Connector;
use fetcher_engine::{ConnectionInput, Filter, PortError};
use fetcher_postgres::PostgresConnectors;
use tokio_postgres::{Client, NoTls};

use crate::server;
use crate::testing::reading::{Counted, Fixed, connected, count, narrowed, read, rows, told};
use crate::testing::runtime;
use crate::testing::server::{Server, fresh_name};

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
        connected(&factory(self.server), self.input()).await
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
        read(self.connector().await, narrowed(table, fields, filters)).await.map(rows)
    }

    /// Reads without keeping.
    pub(crate) async fn count(
        &self,
        table: &str,
        fields: &[&str],
        filters: Vec<Filter>,
    ) -> Counted {
        let mut connector = self.connector().await;
        connector.open(narrowed(table, fields, filters)).await.map_err(told).unwrap();
        count(connector).await
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
    runtime().block_on(async {
        let db = create(server).await;
        let name = db.name.clone();
        test(&db).await;
        drop(db);
        remove(server, &name).await;
    });
}

/// A new database.
pub(crate) async fn create(server: &'static Server) -> Db {
    let name = fresh_name();
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
    let connecting = server::config(server, database).connect(NoTls).await;
    let (client, connection) = connecting.expect("the server answers");
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

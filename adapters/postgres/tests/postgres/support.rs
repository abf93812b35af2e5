//! A database per test, and what is read of it.

use std::sync::Arc;

use fetcher_engine::ConnectionInput;
use fetcher_engine::ports::Connector;
use fetcher_postgres::PostgresConnectors;
use tokio_postgres::{Client, NoTls};

use crate::server;
use crate::testing::database::{Database, with};
use crate::testing::reading::{Fixed, connected};
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
}

impl Database for Db {
    async fn create(server: &'static Server) -> Self {
        let name = fresh_name();
        let admin = connect(server, "postgres").await;
        let create = format!("CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8'");
        admin.batch_execute(&create).await.expect("a database");
        Self { server, client: connect(server, &name).await, name }
    }

    async fn remove(self) {
        let Self { server, name, client } = self;
        drop(client);
        let admin = connect(server, "postgres").await;
        let drop = format!("DROP DATABASE {name} WITH (FORCE)");
        admin.batch_execute(&drop).await.expect("the database goes");
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

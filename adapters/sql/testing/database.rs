//! A database per test on a server, and reading it through the connector.

use fetcher_engine::ports::Connector;
use fetcher_engine::{Filter, PortError};

use super::reading::{Counted, count, narrowed, read, rows, told};
use super::runtime;
use super::server::Server;

/// A database of the test's own, gone when the test ends.
pub(crate) trait Database: Sized {
    /// A new one.
    async fn create(server: &'static Server) -> Self;

    /// And gone again, whoever is still in it.
    async fn remove(self);

    /// A connector that is connected.
    async fn connector(&self) -> Box<dyn Connector>;

    /// All rows of one table, one JSON text each.
    async fn read(&self, table: &str, fields: &[&str]) -> Vec<String> {
        self.filtered(table, fields, Vec::new()).await.map_err(told).expect("it reads")
    }

    async fn filtered(
        &self,
        table: &str,
        fields: &[&str],
        filters: Vec<Filter>,
    ) -> Result<Vec<String>, PortError> {
        read(self.connector().await, narrowed(table, fields, filters)).await.map(rows)
    }

    /// Reads without keeping.
    async fn count(&self, table: &str, fields: &[&str], filters: Vec<Filter>) -> Counted {
        let mut connector = self.connector().await;
        connector.open(narrowed(table, fields, filters)).await.map_err(told).unwrap();
        count(connector).await
    }
}

/// Runs a test with a database of its own, unless it is skipped.
pub(crate) fn with<D: Database>(server: Option<&'static Server>, test: impl AsyncFnOnce(&D)) {
    let Some(server) = server else { return };
    runtime().block_on(async {
        let db = D::create(server).await;
        test(&db).await;
        db.remove().await;
    });
}

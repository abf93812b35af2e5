//! What the fixtures of the connector's clauses have in common.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use fetcher_engine::ports::{BoxFuture, CredentialResolver};
use fetcher_engine::testkit::conformance::connector::Table;
use fetcher_engine::value::{Value, ValueKind};
use fetcher_engine::{ConnectionDescriptor, ConnectionInput, PortError, Secret, TenantId};

use super::server::Server;
use super::text::quoted;

/// That of the user `with_plain`, who needs one; on a server of our own.
pub(crate) const PASSWORD: &str = "conformance-password";

/// Counts how often it is asked. The connection `wrong` has another password.
pub(crate) struct Counting {
    asked: Arc<AtomicU64>,
    password: Option<String>,
}

impl Counting {
    pub(crate) fn new(server: &Server, asked: &Arc<AtomicU64>) -> Self {
        let own = server.is_own().then(|| PASSWORD.to_owned());
        let password = own.or_else(|| server.password.clone());
        Self { asked: Arc::clone(asked), password }
    }
}

impl CredentialResolver for Counting {
    fn resolve<'a>(
        &'a self,
        _: &'a TenantId,
        connection: &'a ConnectionDescriptor,
    ) -> BoxFuture<'a, Result<Option<Secret>, PortError>> {
        Box::pin(async move {
            self.asked.fetch_add(1, Ordering::Relaxed);
            if connection.name.as_str() == "wrong" {
                return Ok(Some(Secret::from("not the password")));
            }
            Ok(self.password.as_deref().map(Secret::from))
        })
    }
}

/// As the user who needs a password, where there is one.
pub(crate) fn with_plain(server: &Server, input: ConnectionInput) -> ConnectionInput {
    if server.is_own() { input.username("with_plain") } else { input }
}

/// The certificate is made out to another name than this address.
pub(crate) fn too_safe(server: &Server, input: ConnectionInput) -> Option<ConnectionInput> {
    let root = server.is_own().then(|| server.pem("root.crt"))?;
    let input = input.host("127.0.0.1").option("sslMode", "verify-full");
    Some(input.option("sslRootCert", root))
}

/// What `count` counts once it does not change any more.
pub(crate) async fn settled<F: Future<Output = usize>>(count: impl Fn() -> F) -> usize {
    let (mut last, mut same) = (count().await, 0);
    while same < 6 {
        tokio::time::sleep(Duration::from_millis(40)).await;
        let now = count().await;
        same = if now == last { same + 1 } else { 0 };
        last = now;
    }
    last
}

/// Does it and waits for it where a runtime cannot wait: inside of another one.
pub(crate) fn aside<F: Future<Output = ()>>(work: impl FnOnce() -> F + Send + 'static) {
    let done = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(work());
    });
    let _ = done.join();
}

/// The statement that creates a table, of columns of these types.
pub(crate) fn create_table(mark: char, table: &Table, kinds: &[(ValueKind, &str)]) -> String {
    let sql_type = |kind: ValueKind| {
        kinds.iter().find(|(known, _)| *known == kind).map(|(_, sql)| *sql).expect("a kind")
    };
    let columns = table.columns.iter();
    let columns = columns.map(|(name, kind)| format!("{} {}", quoted(mark, name), sql_type(*kind)));
    let columns: Vec<_> = columns.collect();
    format!("CREATE TABLE {} ({})", quoted(mark, &table.name), columns.join(", "))
}

/// The statements that insert rows, so many of them each.
pub(crate) fn inserts(
    table: &str,
    rows: &[Vec<Value>],
    some: usize,
    literal: fn(&Value) -> String,
) -> Vec<String> {
    let row = |row: &Vec<Value>| {
        let cells: Vec<_> = row.iter().map(literal).collect();
        format!("({})", cells.join(", "))
    };
    let insert = |rows: &[Vec<Value>]| {
        let rows: Vec<_> = rows.iter().map(row).collect();
        format!("INSERT INTO {table} VALUES {}", rows.join(", "))
    };
    rows.chunks(some).map(insert).collect()
}

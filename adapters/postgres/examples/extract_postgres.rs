//! A host in miniature: connects, shows what it found, extracts to an NDJSON file, shows progress
//! and the SHA-256 of what it wrote.
//!
//! `cargo run -p fetcher-postgres --example extract_postgres -- URL [TABLE…]`
//!
//! Without tables it shows what there is to extract. The result goes to `postgres.ndjson`, or to
//! the file that `FETCHER_OUT` names. `PGSSLMODE` and `PGSSLROOTCERT` (a file) work as in libpq.

#[path = "../../sql/examples/host/mod.rs"]
mod host;

use std::fs;
use std::process::ExitCode;
use std::sync::Arc;

use fetcher_engine::memory::MemoryConnectionStore;
use fetcher_engine::ports::VaultResolver;
use fetcher_engine::{CancelToken, ConnectionInput};
use fetcher_postgres::PostgresConnectors;
use host::{Answer, Job, Tables};
use tokio_postgres::config::Host;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(url) = arguments.next() else {
        eprintln!("usage: extract_postgres URL [TABLE…]");
        return ExitCode::FAILURE;
    };
    let tables: Vec<String> = arguments.collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    host::end(match runtime {
        Ok(runtime) => runtime.block_on(run(&url, tables)),
        Err(error) => Err(error.into()),
    })
}

async fn run(url: &str, tables: Vec<String>) -> Answer<()> {
    // The store keeps the password in memory and hands it to connectors only; a host that stores
    // connections elsewhere gives the resolver a vault and a protector of its own.
    let store = Arc::new(MemoryConnectionStore::new());
    let mut connectors = PostgresConnectors::new()
        .credentials(Arc::new(VaultResolver::new(store.clone())))
        .application_name("extract_postgres");
    if let Some(path) = std::env::var_os("PGSSLROOTCERT") {
        connectors = connectors.root_certificates(fs::read_to_string(path)?);
    }
    let job = Job {
        store,
        connectors: Arc::new(connectors),
        connection: connection(url)?,
        tables: if tables.is_empty() { Tables::None } else { Tables::Named(tables) },
        out: std::env::var_os("FETCHER_OUT").unwrap_or("postgres.ndjson".into()).into(),
    };
    // Ctrl-C stops the extraction, at the server, too.
    let cancel = CancelToken::new();
    let on_interrupt = cancel.clone();
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            on_interrupt.cancel();
        }
    });
    host::run(job, cancel).await
}

/// Reads a URL as the driver does. The password goes one way, the rest another.
fn connection(url: &str) -> Answer<ConnectionInput> {
    let config: tokio_postgres::Config = url.parse()?;
    let user = config.get_user().ok_or("the URL names no user")?;
    let host = match config.get_hosts().first() {
        Some(Host::Tcp(host)) => host.clone(),
        Some(Host::Unix(path)) => path.display().to_string(),
        None => "localhost".to_owned(),
    };
    let mut input = ConnectionInput::new("pg", "postgres")
        .host(host)
        .port(config.get_ports().first().copied().unwrap_or(5432))
        .database(config.get_dbname().unwrap_or(user))
        .username(user);
    if let Some(password) = config.get_password() {
        input = input.password(password.to_vec());
    }
    if let Ok(mode) = std::env::var("PGSSLMODE") {
        input = input.option("sslMode", mode);
    }
    Ok(input)
}

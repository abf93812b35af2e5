//! How far the engine is from the bare driver, on one table of a PostgreSQL server:
//!
//! - `drain`: tokio-postgres alone, every row received and dropped;
//! - `hand_written`: tokio-postgres, serde_json and sha2, the loop that one would write;
//! - `copy_row_to_json`: the server writes the JSON, and only the hash is made here;
//! - `engine`: a plan and its execution in store mode, from connecting to the digest.

mod by_hand;
mod table;

use std::hint::black_box;
use std::pin::pin;
use std::sync::Arc;

use fetcher_engine::ConnectionInput;
use fetcher_postgres::PostgresConnectors;
use futures_util::TryStreamExt as _;
use sha2::{Digest, Sha256};
use tokio::runtime;
use tokio_postgres::config::Host;
use tokio_postgres::{Client, Config, NoTls, RowStream};

use crate::Error;
use crate::database::{Contestant, DRAIN, ENGINE, Extraction, Options, Password, input, race};

/// Runs the benchmark and says its results.
pub(crate) fn run(args: &[&str]) -> Result<(), Error> {
    let options = Options::parse(args)?;
    let config: Config = options.url()?.parse()?;
    let Options { table: name, make_rows, runs, .. } = options;
    let table = &table::quoted(name);
    // One thread for all of them, the driver's own work included.
    let tokio = runtime::Builder::new_current_thread().enable_all().build()?;
    let client = &tokio.block_on(connect(&config))?;
    if let Some(rows) = make_rows {
        tokio.block_on(client.batch_execute(&table::make(table, rows)))?;
    }
    let mut connectors = PostgresConnectors::new();
    if let Some(password) = config.get_password() {
        connectors = connectors.credentials(Arc::new(Password(password.to_vec())));
    }
    let extraction = Extraction::new(Arc::new(connectors), connection(&config)?, name);
    let extraction = tokio.block_on(extraction)?;
    let contestants = vec![
        Contestant::new(DRAIN, || tokio.block_on(drain(client, table))),
        Contestant::new("hand_written", || tokio.block_on(hand_written(client, table))),
        Contestant::new("copy_row_to_json", || tokio.block_on(copy_row_to_json(client, table))),
        Contestant::new(ENGINE, || tokio.block_on(extraction.run())),
    ];
    race(runs, contestants)
}

async fn connect(config: &Config) -> Result<Client, Error> {
    let (client, connection) = config.connect(NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

/// The same server for the engine, without TLS as for the others.
fn connection(config: &Config) -> Result<ConnectionInput, Error> {
    let host = match config.get_hosts().first() {
        Some(Host::Tcp(host)) => host.clone(),
        Some(Host::Unix(path)) => path.display().to_string(),
        None => return Err("the URL names no host".into()),
    };
    Ok(input()
        .host(host)
        .port(config.get_ports().first().copied().unwrap_or(5432))
        .database(config.get_dbname().ok_or("the URL names no database")?)
        .username(config.get_user().ok_or("the URL names no user")?)
        .option("sslMode", "disable"))
}

async fn select(client: &Client, table: &str) -> Result<RowStream, Error> {
    Ok(client.query_raw(&format!("SELECT * FROM {table}"), [""; 0]).await?)
}

async fn drain(client: &Client, table: &str) -> Result<u64, Error> {
    let mut rows = pin!(select(client, table).await?);
    let mut count = 0;
    while let Some(row) = rows.try_next().await? {
        drop(row);
        count += 1;
    }
    Ok(count)
}

async fn hand_written(client: &Client, table: &str) -> Result<u64, Error> {
    let mut rows = pin!(select(client, table).await?);
    let (mut count, mut hash, mut line) = (0, Sha256::new(), Vec::new());
    while let Some(row) = rows.try_next().await? {
        line.clear();
        by_hand::write(&row, &mut line)?;
        line.push(b'\n');
        hash.update(&line);
        count += 1;
    }
    black_box(hash.finalize());
    Ok(count)
}

async fn copy_row_to_json(client: &Client, table: &str) -> Result<u64, Error> {
    // With its star the alias can only be the row, whatever the columns are called.
    let sql = format!("COPY (SELECT row_to_json(it.*) FROM {table} AS it) TO STDOUT");
    let mut rows = pin!(client.copy_out(&sql).await?);
    let (mut count, mut hash) = (0, Sha256::new());
    // The protocol has it that each message is one row.
    while let Some(line) = rows.try_next().await? {
        hash.update(&line);
        count += 1;
    }
    black_box(hash.finalize());
    Ok(count)
}

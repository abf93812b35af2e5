//! A host in miniature: connects, shows what it found, extracts to an NDJSON file, shows progress
//! and the SHA-256 of what it wrote.
//!
//! `cargo run -p fetcher-postgres --example extract_postgres -- URL [TABLE…]`
//!
//! Without tables it shows what there is to extract. The result goes to `postgres.ndjson`, or to
//! the file that `FETCHER_OUT` names. `PGSSLMODE` and `PGSSLROOTCERT` (a file) work as in libpq.

use std::error::Error;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use fetcher_engine::extraction::Receipt;
use fetcher_engine::memory::{MemoryConnectionStore, MemoryConnectorRegistry};
use fetcher_engine::ports::{
    BoxFuture, Failure, Observability, ResultHeader, ResultSink, ResultWriter, Span, VaultResolver,
};
use fetcher_engine::schema::TableSchema;
use fetcher_engine::{
    CancelToken, ConnectionInput, Engine, EngineError, ExecuteOptions, ExtractionRequest, Limits,
    Output, PortError, Progress, TenantId,
};
use fetcher_postgres::PostgresConnectors;
use tokio_postgres::config::Host;

const TENANT: &str = "example";
const CONNECTION: &str = "pg";

type Answer<T> = Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(url) = arguments.next() else {
        eprintln!("usage: extract_postgres URL [TABLE…]");
        return ExitCode::FAILURE;
    };
    let tables: Vec<String> = arguments.collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let answer = match runtime {
        Ok(runtime) => runtime.block_on(run(&url, &tables)),
        Err(error) => Err(error.into()),
    };
    match answer {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            match error.downcast_ref::<EngineError>() {
                Some(error) => eprintln!("error: {}", describe(error)),
                None => eprintln!("error: {error}"),
            }
            ExitCode::FAILURE
        }
    }
}

async fn run(url: &str, tables: &[String]) -> Answer<()> {
    let out = PathBuf::from(std::env::var_os("FETCHER_OUT").unwrap_or("postgres.ndjson".into()));
    let engine = engine(FileSink(out))?;
    engine.create_connection(TENANT, connection(url)?).await?;
    let schema = engine.discover_schema(TENANT, CONNECTION).await?;
    if tables.is_empty() {
        schema.tables().iter().for_each(show_table);
        return Ok(());
    }
    let mut request = ExtractionRequest::new();
    for table in tables {
        request = request.table(CONNECTION, table.as_str(), ["*"]);
    }
    let plan = engine.plan_extraction(TENANT, &request).await?;
    // Ctrl-C stops the extraction, at the server, too.
    let cancel = CancelToken::new();
    let on_interrupt = cancel.clone();
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            on_interrupt.cancel();
        }
    });
    let options = ExecuteOptions::new().cancel(cancel).progress(show_progress());
    let result = engine.execute_extraction(&plan, options).await?;
    for table in &result.tables {
        println!("{:<30} {:>10} rows {:>12} bytes", table.table, table.rows, table.bytes);
    }
    println!("sha256 {}", result.digest);
    if let Output::Stored(receipt) = &result.output {
        println!("{}", receipt.reference);
    }
    Ok(())
}

/// The wiring. The store keeps the password in memory and hands it to connectors only; a host that
/// stores connections elsewhere gives the resolver a vault and a protector of its own.
fn engine(sink: FileSink) -> Answer<Engine> {
    let store = Arc::new(MemoryConnectionStore::new());
    let mut connectors = PostgresConnectors::new()
        .credentials(Arc::new(VaultResolver::new(store.clone())))
        .application_name("extract_postgres");
    if let Some(path) = std::env::var_os("PGSSLROOTCERT") {
        connectors = connectors.root_certificates(fs::read_to_string(path)?);
    }
    let registry = MemoryConnectorRegistry::new().with("postgres", Arc::new(connectors));
    let mut limits = Limits::default();
    (limits.max_fields_per_table, limits.max_result_bytes) = (1600, 1 << 40);
    let engine = Engine::builder()
        .connectors(Arc::new(registry))
        .connection_store(store)
        .result_sink(Arc::new(sink))
        .observability(Arc::new(Log))
        .limits(limits);
    Ok(engine.build()?)
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
    let mut input = ConnectionInput::new(CONNECTION, "postgres")
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

fn show_table(table: &TableSchema) {
    println!("{}", table.name());
    for field in table.fields() {
        let key = field.primary_key.map(|at| format!(", key {at}")).unwrap_or_default();
        let null = if field.nullable { "" } else { ", not null" };
        println!("    {:<30} {}{null}{key}", field.name, field.source_type);
    }
}

/// A line for each hundred thousand rows, and one at the end.
fn show_progress() -> impl FnMut(&Progress<'_>) + Send {
    let mut shown = 0;
    move |progress| {
        if progress.rows / 100_000 > shown || progress.datasource_done {
            shown = progress.rows / 100_000;
            eprintln!("{} rows, {} bytes", progress.rows, progress.bytes);
        }
    }
}

/// What a caller would be told: categories, fixed texts and places.
fn describe(error: &EngineError) -> String {
    let mut text = format!("{error} (stage {})", error.stage());
    for mistake in error.report().map_or(&[][..], |report| report.mistakes()) {
        let places = [&mistake.table, &mistake.field];
        let place: Vec<_> = places.into_iter().flatten().map(|name| &**name).collect();
        text += &format!("\n  {}: {}: {}", mistake.kind.as_str(), place.join("."), mistake.detail);
    }
    text
}

/// The host's own log: the only place where a driver's words go.
struct Log;

impl Observability for Log {
    fn start_span(&self, operation: &'static str) -> Box<dyn Span> {
        Box::new(Operation(operation))
    }
}

struct Operation(&'static str);

impl Span for Operation {
    fn failed(&mut self, failure: &Failure<'_>) {
        if let Some(cause) = failure.cause() {
            let mut text = format!("log: {}: {cause}", self.0);
            let mut source = cause.source();
            while let Some(cause) = source {
                text += &format!(": {cause}");
                source = cause.source();
            }
            eprintln!("{text}");
        }
    }
}

/// Writes one file, which appears whole or not at all.
struct FileSink(PathBuf);

impl ResultSink for FileSink {
    fn open_stream<'a>(
        &'a self,
        _: &'a TenantId,
        _: ResultHeader,
    ) -> BoxFuture<'a, Result<Box<dyn ResultWriter>, PortError>> {
        Box::pin(async move {
            let part = self.0.with_extension("part");
            let file = File::create(&part).map_err(failed)?;
            let writer = FileWriter { file: Some(file), part, target: self.0.clone() };
            Ok(Box::new(writer) as Box<dyn ResultWriter>)
        })
    }
}

struct FileWriter {
    file: Option<File>,
    part: PathBuf,
    target: PathBuf,
}

impl ResultWriter for FileWriter {
    fn write<'a>(&'a mut self, bytes: &'a [u8]) -> BoxFuture<'a, Result<(), PortError>> {
        // A file is written inside of `poll` here. A host with slow disks uses a thread for it.
        Box::pin(async move {
            let file = self.file.as_mut().ok_or_else(PortError::internal)?;
            file.write_all(bytes).map_err(failed)
        })
    }

    fn close(mut self: Box<Self>) -> BoxFuture<'static, Result<Receipt, PortError>> {
        Box::pin(async move {
            let file = self.file.take().ok_or_else(PortError::internal)?;
            file.sync_all().and_then(|()| fs::rename(&self.part, &self.target)).map_err(failed)?;
            Ok(Receipt::new(self.target.display().to_string()))
        })
    }

    fn abort(self: Box<Self>) -> BoxFuture<'static, Result<(), PortError>> {
        // Dropping it removes what there is.
        Box::pin(async move {
            drop(self);
            Ok(())
        })
    }
}

impl Drop for FileWriter {
    fn drop(&mut self) {
        drop(self.file.take());
        // After a rename there is nothing to remove.
        let _ = fs::remove_file(&self.part);
    }
}

fn failed(error: std::io::Error) -> PortError {
    PortError::unavailable().caused_by(error)
}

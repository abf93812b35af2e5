//! What the examples of the SQL adapters have in common: a host in miniature that shows what a
//! database holds, extracts tables to an NDJSON file, shows progress, and tells the SHA-256 of what
//! it wrote. The file appears whole or not at all; a driver's words go to the host's log only.

// The sink and the log of the engine's own example: there is one way to write them.
#[path = "../../../../examples/extract/log.rs"]
mod log;
#[path = "../../../../examples/extract/sink.rs"]
mod sink;

use std::error::Error;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use fetcher_engine::extraction::ExtractionResult;
use fetcher_engine::memory::{MemoryConnectionStore, MemoryConnectorRegistry};
use fetcher_engine::ports::ConnectorFactory;
use fetcher_engine::schema::TableSchema;
use fetcher_engine::{
    CancelToken, ConnectionInput, Engine, EngineError, ExecuteOptions, ExtractionRequest, Limits,
    Output, Progress,
};
use log::{Log, note};
use sink::FileSink;

const TENANT: &str = "example";

pub(crate) type Answer<T> = Result<T, Box<dyn Error>>;

/// Which tables are extracted.
pub(crate) enum Tables {
    /// None: what there is is only shown.
    #[allow(dead_code, reason = "not every example only shows")]
    None,
    /// All that there are.
    #[allow(dead_code, reason = "not every example takes all")]
    All,
    Named(Vec<String>),
}

/// What an example has to say.
pub(crate) struct Job {
    /// Where connections live; it hands their passwords to connectors only.
    pub(crate) store: Arc<MemoryConnectionStore>,
    pub(crate) connectors: Arc<dyn ConnectorFactory>,
    pub(crate) connection: ConnectionInput,
    pub(crate) tables: Tables,
    /// Where the result goes.
    pub(crate) out: PathBuf,
}

/// Connects, shows, extracts.
pub(crate) async fn run(job: Job, cancel: CancelToken) -> Answer<()> {
    let Job { store, connectors, connection, tables, out } = job;
    let (name, kind) = (connection.name.clone(), connection.endpoint.kind.clone());
    if let Some(folder) = out.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder)?;
    }
    let registry = MemoryConnectorRegistry::new().with(kind, connectors);
    let engine = Engine::builder()
        .connectors(Arc::new(registry))
        .connection_store(store)
        .result_sink(Arc::new(FileSink::new(out)))
        .observability(Arc::new(Log))
        .limits(limits())
        .build()?;
    engine.create_connection(TENANT, connection).await?;
    let schema = engine.discover_schema(TENANT, &name).await?;
    let tables = match tables {
        Tables::Named(tables) => tables,
        Tables::None | Tables::All => {
            schema.tables().iter().for_each(show_table);
            let all = schema.tables().iter().map(|table| table.name().to_owned());
            if matches!(tables, Tables::All) { all.collect() } else { Vec::new() }
        }
    };
    if tables.is_empty() {
        return Ok(());
    }
    let mut request = ExtractionRequest::new();
    for table in tables {
        request = request.table(name.as_str(), table, ["*"]);
    }
    let plan = engine.plan_extraction(TENANT, &request).await?;
    let options = ExecuteOptions::new().cancel(cancel).progress(show_progress());
    show(&engine.execute_extraction(&plan, options).await?);
    Ok(())
}

/// Room for any database that people have. A host that serves tenants keeps to less.
fn limits() -> Limits {
    let mut limits = Limits::default();
    limits.max_tables_per_datasource = 10_000;
    limits.max_fields_per_table = 10_000;
    limits.max_result_bytes = 1 << 40;
    limits.max_duration = None;
    limits
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
            note(format_args!("{} rows, {} bytes", progress.rows, progress.bytes));
        }
    }
}

fn show(result: &ExtractionResult) {
    for table in &result.tables {
        println!("{:<30} {:>10} rows {:>12} bytes", table.table, table.rows, table.bytes);
    }
    println!("sha256 {}", result.digest);
    if let Output::Stored(receipt) = &result.output {
        println!("{}", receipt.reference);
    }
}

/// Tells how it ended.
pub(crate) fn end(answer: Answer<()>) -> ExitCode {
    let Err(error) = answer else { return ExitCode::SUCCESS };
    match error.downcast_ref::<EngineError>() {
        Some(error) => note(format_args!("error: {}", describe(error))),
        None => note(format_args!("error: {error}")),
    }
    ExitCode::FAILURE
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

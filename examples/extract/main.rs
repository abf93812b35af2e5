//! A host in miniature: it extracts four tables of CSV files through a connector of its own into a
//! sink of its own, shows progress, logs private causes, and prints what it read and its SHA-256.
//!
//! `cargo run --example extract`, or `-- --help` behind it for what else it does.

mod connector;
mod csv;
mod log;
mod options;
mod sink;

use std::env;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, ErrorKind, Write as _};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use connector::CsvFactory;
use fetcher_engine::extraction::{ExtractionResult, Receipt};
use fetcher_engine::memory::{MemoryConnectionStore, MemoryConnectorRegistry};
use fetcher_engine::{
    ConnectionInput, Engine, EngineError, ExecuteOptions, ExtractionRequest, Filter, Output,
    Progress, block_on,
};
use log::{Log, note};
use options::{Command, HELP, Target};
use sink::FileSink;

const TENANT: &str = "example";

type Answer<T> = Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if is_broken_pipe(&*error) => ExitCode::SUCCESS,
        Err(error) => {
            match error.downcast_ref::<EngineError>() {
                Some(error) => note(format_args!("error: {}", describe(error))),
                None => note(format_args!("error: {error}")),
            }
            ExitCode::FAILURE
        }
    }
}

/// Whoever reads our output, `head` for instance, has read enough.
fn is_broken_pipe(error: &(dyn Error + 'static)) -> bool {
    error.downcast_ref().is_some_and(|error: &io::Error| error.kind() == ErrorKind::BrokenPipe)
}

fn run() -> Answer<()> {
    match options::parse(env::args_os().skip(1))? {
        Command::Help => print([HELP.as_bytes()]),
        Command::Extract { data, to: Target::Stdout } => {
            show(&extract(&engine(None)?, &data, &reference_tables())?)
        }
        Command::Extract { data, to: Target::File { path, is_default } } => {
            make_way(&path, is_default, &data)?;
            show(&extract(&engine(Some(FileSink::new(path)))?, &data, &all_tables())?)
        }
    }
}

/// The wiring: which ports there are. Without a sink, results come into our hands.
fn engine(sink: Option<FileSink>) -> Result<Engine, EngineError> {
    let connectors = MemoryConnectorRegistry::new().with("csv", Arc::new(CsvFactory));
    let mut engine = Engine::builder()
        .connectors(Arc::new(connectors))
        .connection_store(Arc::new(MemoryConnectionStore::new()))
        .observability(Arc::new(Log));
    if let Some(sink) = sink {
        engine = engine.result_sink(Arc::new(sink));
    }
    engine.build()
}

/// The three datasources. Which columns are numbers is the host's word, not a guess.
fn connections(data: &str) -> [ConnectionInput; 3] {
    let connection = |name| ConnectionInput::new(name, "csv").database(data);
    [
        connection("fleet").option("table.planes", "engines, seats, speed, year"),
        connection("operations").option(
            "table.flights",
            "air_time, arr_delay, arr_time, day, dep_delay, dep_time, distance, flight, hour, \
             minute, month, sched_arr_time, sched_dep_time, year",
        ),
        connection("reference")
            .option("table.airlines", "")
            .option("table.airports", "alt, lat, lon, tz"),
    ]
}

fn reference_tables() -> ExtractionRequest {
    let request = ExtractionRequest::new().table("reference", "airlines", ["*"]);
    request.table("reference", "airports", ["*"])
}

fn all_tables() -> ExtractionRequest {
    let flights = ["carrier", "dep_delay", "dest", "flight", "origin", "tailnum", "time_hour"];
    reference_tables()
        .table("fleet", "planes", ["*"])
        .table("operations", "flights", flights)
        .filter("operations", "flights", Filter::gt("dep_delay", 60))
}

/// Everything that the engine does here: connections, a plan, a result.
fn extract(
    engine: &Engine,
    data: &str,
    request: &ExtractionRequest,
) -> Result<ExtractionResult, EngineError> {
    block_on(async {
        for connection in connections(data) {
            engine.create_connection(TENANT, connection).await?;
        }
        let plan = engine.plan_extraction(TENANT, request).await?;
        // Mode `auto`: store mode where there is a sink, else direct mode.
        engine.execute_extraction(&plan, ExecuteOptions::new().progress(show_progress)).await
    })
}

fn show_progress(progress: &Progress<'_>) {
    let Progress { datasource, datasource_rows: rows, datasource_bytes: bytes, .. } = progress;
    let done = if progress.datasource_done { ", done" } else { "" };
    note(format_args!("{datasource}: {rows} rows, {bytes} bytes{done}"));
}

/// Removes the result of an earlier run, so that a run that fails leaves none.
fn make_way(path: &Path, is_default: bool, data: &str) -> Answer<()> {
    let told = |error: io::Error| format!("{}: {error}", path.display());
    let refuse = |why| Err(format!("{}: {why}", path.display()).into());
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    if is_default {
        fs::create_dir_all(folder).map_err(told)?;
    }
    // Nobody means to remove the data that is about to be read, or a device, or a link.
    if fs::canonicalize(folder).is_ok_and(|out| fs::canonicalize(data).is_ok_and(|it| it == out)) {
        return refuse("the result must not be among the data");
    }
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(told(error).into()),
        Ok(metadata) if !metadata.is_file() => refuse("this is there already and is not a file"),
        Ok(_) => Ok(fs::remove_file(path).map_err(told)?),
    }
}

fn show(result: &ExtractionResult) -> Answer<()> {
    match &result.output {
        Output::Document(document) => {
            note(format_args!("{} rows, {} bytes", result.rows, result.bytes));
            note(format_args!("sha256 {}", result.digest));
            print(document.chunks())
        }
        Output::Stored(receipt) => print([summary(result, receipt)?.as_bytes()]),
        _ => Err("this result has a form that the example does not know".into()),
    }
}

fn summary(result: &ExtractionResult, receipt: &Receipt) -> Answer<String> {
    let mut text = String::new();
    for table in &result.tables {
        let name = format!("{}.{}", table.datasource, table.table);
        writeln!(text, "{name:<20} {:>6} rows {:>9} bytes", table.rows, table.bytes)?;
    }
    writeln!(text, "{:<20} {:>6} rows {:>9} bytes", "total", result.rows, result.bytes)?;
    writeln!(text, "sha256 {}", result.digest)?;
    writeln!(text, "{}", receipt.reference)?;
    Ok(text)
}

fn print<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Answer<()> {
    let mut out = io::stdout().lock();
    for piece in pieces {
        out.write_all(piece)?;
    }
    Ok(out.flush()?)
}

/// What a caller of this host would be told: categories, fixed texts and places, no causes.
fn describe(error: &EngineError) -> String {
    let mut text = format!("{error} (stage {}", error.stage());
    let places = [("datasource", error.datasource()), ("table", error.table())];
    for (what, name) in places.into_iter().filter_map(|(what, name)| Some((what, name?))) {
        text += &format!(", {what} {name}");
    }
    text += ")";
    for mistake in error.report().map_or(&[][..], |report| report.mistakes()) {
        let places = [&mistake.datasource, &mistake.table, &mistake.field];
        let place: Vec<_> = places.into_iter().flatten().map(|name| &**name).collect();
        text += &format!("\n  {}: {}: {}", mistake.kind.as_str(), place.join("."), mistake.detail);
    }
    text
}

//! A host in miniature, with nothing to install: extracts a SQLite database to an NDJSON file.
//!
//! `cargo run -p fetcher-sqlx --example extract_sqlite -- [FILE.db] [TABLE…]`
//!
//! Without arguments it makes a small real database of the CSV files in `examples/data` (flights
//! from New York, 2013) in a temporary folder, shows its schema and extracts all of it. With a file
//! it does the same with that; with tables, only those are extracted. The result goes to
//! `target/extract/sqlite.ndjson`, or to the file that `FETCHER_OUT` names.

#[path = "../../../examples/extract/csv.rs"]
mod csv;
#[path = "../../sql/examples/host/mod.rs"]
mod host;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use csv::Reader;
use fetcher_engine::memory::MemoryConnectionStore;
use fetcher_engine::{CancelToken, ConnectionInput, block_on};
use fetcher_sqlx::SqliteConnectors;
use host::{Answer, Job, Tables};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _};

/// How much of a file is read at once.
const BUFFER_BYTES: usize = 64 << 10;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The tables, and which of their columns are not text.
const TABLES: [(&str, &[(&str, &str)]); 4] = [
    ("airlines", &[("carrier", "TEXT PRIMARY KEY NOT NULL")]),
    (
        "airports",
        &[
            ("faa", "TEXT PRIMARY KEY NOT NULL"),
            ("lat", "REAL"),
            ("lon", "REAL"),
            ("alt", "INTEGER"),
            ("tz", "INTEGER"),
        ],
    ),
    (
        "flights",
        &[
            ("year", "INTEGER"),
            ("month", "INTEGER"),
            ("day", "INTEGER"),
            ("dep_time", "INTEGER"),
            ("sched_dep_time", "INTEGER"),
            ("dep_delay", "INTEGER"),
            ("arr_time", "INTEGER"),
            ("sched_arr_time", "INTEGER"),
            ("arr_delay", "INTEGER"),
            ("flight", "INTEGER"),
            ("air_time", "INTEGER"),
            ("distance", "INTEGER"),
            ("hour", "INTEGER"),
            ("minute", "INTEGER"),
            ("time_hour", "DATETIME"),
        ],
    ),
    (
        "planes",
        &[
            ("tailnum", "TEXT PRIMARY KEY NOT NULL"),
            ("year", "INTEGER"),
            ("engines", "INTEGER"),
            ("seats", "INTEGER"),
            ("speed", "INTEGER"),
        ],
    ),
];

fn main() -> ExitCode {
    host::end(run())
}

fn run() -> Answer<()> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next();
    let tables: Vec<String> = arguments.collect();
    // Removed when this ends.
    let mut folder = None;
    let file = match file {
        Some(file) => file,
        None => {
            let folder = folder.insert(Folder::new()?);
            let file = folder.0.join("flights.db");
            block_on(make(&file))?;
            file.to_str().ok_or("the temporary folder's name is no text")?.to_owned()
        }
    };
    let out = std::env::var_os("FETCHER_OUT").map(PathBuf::from);
    let root = fs::canonicalize(ROOT)?;
    let job = Job {
        store: Arc::new(MemoryConnectionStore::new()),
        connectors: Arc::new(SqliteConnectors::new()),
        connection: ConnectionInput::new("sqlite", "sqlite").database(file),
        tables: if tables.is_empty() { Tables::All } else { Tables::Named(tables) },
        out: out.unwrap_or_else(|| root.join("target/extract/sqlite.ndjson")),
    };
    // No runtime is needed: the driver works in a thread of its own.
    block_on(host::run(job, CancelToken::new()))
}

/// A folder that is removed in the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Answer<Self> {
        let path = std::env::temp_dir().join(format!("extract_sqlite-{}", std::process::id()));
        fs::create_dir(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

async fn make(file: &Path) -> Answer<()> {
    let options = SqliteConnectOptions::new().filename(file).create_if_missing(true);
    let mut connection = SqliteConnection::connect_with(&options).await?;
    connection.execute("BEGIN").await?;
    for (table, kinds) in TABLES {
        load(&mut connection, table, kinds).await?;
    }
    connection.execute("COMMIT").await?;
    Ok(connection.close().await?)
}

/// Makes one table of the CSV file of that name.
async fn load(
    connection: &mut SqliteConnection,
    table: &str,
    kinds: &[(&str, &str)],
) -> Answer<()> {
    let path = Path::new(ROOT).join("examples/data").join(format!("{table}.csv"));
    let mut reader = Reader::new(File::open(path)?, BUFFER_BYTES)?;
    let header = reader.read().map_err(|error| error.to_string())?.ok_or("a file has no header")?;
    let names: Vec<String> = header.fields().map(|field| field.text.to_owned()).collect();
    let kind = |name: &str| kinds.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind);
    let column = |name: &String| format!("\"{name}\" {}", kind(name).unwrap_or("TEXT"));
    let columns: Vec<_> = names.iter().map(column).collect();
    let create = format!("CREATE TABLE \"{table}\" ({})", columns.join(", "));
    connection.execute(AssertSqlSafe(create)).await?;
    let insert = format!("INSERT INTO \"{table}\" VALUES ({})", vec!["?"; names.len()].join(", "));
    while let Some(record) = reader.read().map_err(|error| error.to_string())? {
        let mut query = sqlx::query(AssertSqlSafe(insert.clone()));
        for field in record.fields() {
            // `NA` is how the files say that a value is missing. Numbers become numbers by the
            // column's affinity.
            query = query.bind((field.text != "NA").then(|| field.text.to_owned()));
        }
        let told = |error| format!("{table}.csv, line {}: {error}", record.line());
        query.execute(&mut *connection).await.map_err(told)?;
    }
    Ok(())
}

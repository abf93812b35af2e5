//! How far the engine is from the bare driver, on one table of a SQLite file:
//!
//! - `drain`: sqlx alone, every row received and dropped;
//! - `hand_written`: sqlx, serde_json and sha2, the loop that one would write;
//! - `shell_json`: the `sqlite3 -json` shell, where it is installed, its output hashed;
//! - `engine`: a plan and its execution in store mode, from opening the file to the digest.

use std::fs;
use std::hint::black_box;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use fetcher_sqlx::SqliteConnectors;
use sha2::{Digest, Sha256};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Executor as _};
use tokio::runtime;

use crate::Error;
use crate::by_sqlx::{drain, hand_written};
use crate::database::{Contestant, DRAIN, ENGINE, Extraction, Options, input, race};

/// How many rows a file of our own has.
const ROWS: u64 = 1_000_000;

/// Runs the benchmark and says its results.
pub(crate) fn run(args: &[&str]) -> Result<(), Error> {
    let Options { url, table: name, make_rows, runs } = Options::parse(args)?;
    let temporary = if url.is_none() { Some(Folder::new()?) } else { None };
    let file = match (url, &temporary) {
        (Some(url), _) => fs::canonicalize(url).unwrap_or_else(|_| url.into()),
        (None, Some(folder)) => folder.0.join("bench.db"),
        (None, None) => return Err("there is no file".into()),
    };
    let table = format!("\"{}\"", name.replace('"', "\"\""));
    let select = &format!("SELECT * FROM {table}");
    let tokio = runtime::Builder::new_current_thread().enable_all().build()?;
    if let Some(rows) = make_rows.or(temporary.is_some().then_some(ROWS)) {
        tokio.block_on(make(&file, &table, rows))?;
    }
    let path = file.to_str().ok_or("the file's name is no text")?;
    let connectors = Arc::new(SqliteConnectors::new());
    let extraction = Extraction::new(connectors, input().database(path), name);
    let extraction = tokio.block_on(extraction)?;
    let mut contestants = vec![
        Contestant::new(DRAIN, || {
            tokio.block_on(async {
                drain(sqlx::query(AssertSqlSafe(select.as_str())).fetch(&mut open(&file).await?))
                    .await
            })
        }),
        Contestant::new("hand_written", || {
            tokio.block_on(async {
                let mut connection = open(&file).await?;
                hand_written(sqlx::query(AssertSqlSafe(select.as_str())).fetch(&mut connection))
                    .await
            })
        }),
    ];
    if Command::new("sqlite3").arg("-version").output().is_ok_and(|it| it.status.success()) {
        contestants.push(Contestant::new("shell_json", || shell_json(&file, select)));
    }
    contestants.push(Contestant::new(ENGINE, || tokio.block_on(extraction.run())));
    race(runs, contestants)
}

/// A folder that is removed in the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Self, Error> {
        let path = std::env::temp_dir().join(format!("fetcher-benches-{}", std::process::id()));
        fs::create_dir(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// As one would open it: the driver's own settings.
async fn open(file: &Path) -> Result<SqliteConnection, Error> {
    let options = SqliteConnectOptions::new().filename(file).read_only(true);
    Ok(options.disable_statement_logging().connect().await?)
}

/// Makes a table like the flights from New York: nineteen columns, the same for every run.
async fn make(file: &Path, table: &str, rows: u64) -> Result<(), Error> {
    let options = SqliteConnectOptions::new().filename(file).create_if_missing(true);
    let mut connection = SqliteConnection::connect_with(&options).await?;
    let sql = format!(
        "DROP TABLE IF EXISTS {table};
         CREATE TABLE {table} (year INTEGER, month INTEGER, day INTEGER, dep_time INTEGER,
           sched_dep_time INTEGER, dep_delay INTEGER, arr_time INTEGER, sched_arr_time INTEGER,
           arr_delay INTEGER, carrier TEXT, flight INTEGER, tailnum TEXT, origin TEXT, dest TEXT,
           air_time INTEGER, distance INTEGER, hour INTEGER, minute INTEGER, time_hour DATETIME);
         INSERT INTO {table} WITH RECURSIVE g (n) AS (
           SELECT 1 UNION ALL SELECT n + 1 FROM g WHERE n < {rows})
         SELECT 2013, n / 27000 % 12 + 1, n / 900 % 28 + 1, iif(n % 41 = 0, NULL, n % 2359),
           n * 7 % 2359, iif(n % 41 = 0, NULL, n % 200 - 20), n * 3 % 2359, n * 11 % 2359,
           n % 180 - 30, substr('UAAAB6DLEVMQUSWN', n % 8 * 2 + 1, 2), n % 5000,
           printf('N%05d', n % 99999), substr('EWRLGAJFK', n % 3 * 3 + 1, 3),
           substr('IAHMIABQNATLORDFLL', n % 6 * 3 + 1, 3), n % 400 + 20, n % 3000 + 100, n % 24,
           n % 60, strftime('%Y-%m-%dT%H:%M:%SZ', 1356998400 + n % 8760 * 3600, 'unixepoch')
         FROM g"
    );
    connection.execute(AssertSqlSafe(sql)).await?;
    Ok(connection.close().await?)
}

/// The shell writes one line for each row.
fn shell_json(file: &Path, select: &str) -> Result<u64, Error> {
    let mut shell = Command::new("sqlite3");
    let shell = shell.arg("-json").arg("-readonly").arg(file).arg(select);
    let mut child = shell.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let mut output = child.stdout.take().ok_or("the shell has no output")?;
    let (mut count, mut hash, mut buffer) = (0, Sha256::new(), vec![0; 256 << 10]);
    loop {
        let len = output.read(&mut buffer)?;
        let Some(chunk) = buffer.get(..len).filter(|chunk| !chunk.is_empty()) else { break };
        count += chunk.iter().filter(|byte| **byte == b'\n').count() as u64;
        hash.update(chunk);
    }
    black_box(hash.finalize());
    if child.wait()?.success() { Ok(count) } else { Err("the shell failed".into()) }
}

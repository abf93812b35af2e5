//! A folder with a database per test, and reading through a connector; no runtime anywhere.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use fetcher_engine::connection::ConnectionId;
use fetcher_engine::encode::{Format, RowBatch, StepShape};
use fetcher_engine::extraction::PlannedTable;
use fetcher_engine::ports::{Connector, ConnectorContext, ConnectorFactory, Fetched, Query};
use fetcher_engine::{
    ConnectionDescriptor, ConnectionInput, Filter, PortError, TenantId, block_on,
};
use fetcher_sqlx::SqliteConnectors;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteRow, SqliteSynchronous};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Executor as _};

/// A folder of the test's own, gone when the test ends.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("fetcher-sqlite-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("a folder");
        Self(fs::canonicalize(path).expect("the folder is there"))
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A database of the test's own.
pub(crate) struct Db {
    pub(crate) path: PathBuf,
    own: Mutex<Option<SqliteConnection>>,
    /// The last to go.
    pub(crate) folder: Folder,
}

impl Db {
    pub(crate) fn new() -> Self {
        let folder = Folder::new();
        Self { path: folder.file("data.db"), own: Mutex::new(None), folder }
    }

    /// One that was given these statements.
    pub(crate) fn with(sql: &str) -> Self {
        let db = Self::new();
        db.run(sql);
        db
    }

    fn own(&self) -> MutexGuard<'_, Option<SqliteConnection>> {
        let mut own = self.own.lock().expect("nobody panics with it");
        if own.is_none() {
            *own = Some(connect(&self.path));
        }
        own
    }

    /// Runs statements on the test's own connection.
    pub(crate) fn run(&self, sql: &str) {
        let ran = self.try_run(sql);
        ran.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    }

    pub(crate) fn try_run(&self, sql: &str) -> Result<(), sqlx::Error> {
        let mut own = self.own();
        let own = own.as_mut().expect("it is connected");
        block_on(own.execute(AssertSqlSafe(sql.to_owned()))).map(drop)
    }

    /// The rows of a query on the test's own connection.
    pub(crate) fn rows(&self, sql: &str) -> Vec<SqliteRow> {
        let mut own = self.own();
        let own = own.as_mut().expect("it is connected");
        let rows = block_on(sqlx::query(AssertSqlSafe(sql.to_owned())).fetch_all(own));
        rows.unwrap_or_else(|error| panic!("{sql}: {error:?}"))
    }

    /// Lets go of the file.
    pub(crate) fn close(&self) {
        let own = self.own.lock().expect("nobody panics with it").take();
        if let Some(own) = own {
            block_on(own.close()).expect("it closes");
        }
    }

    pub(crate) fn input(&self) -> ConnectionInput {
        input(&self.path)
    }

    /// A connector that is connected.
    pub(crate) fn connector(&self) -> Box<dyn Connector> {
        connected(self.input())
    }

    /// One that has a query open.
    pub(crate) fn opened(&self, query: Query) -> Box<dyn Connector> {
        let mut connector = self.connector();
        block_on(connector.open(query)).map_err(told).expect("it opens");
        connector
    }

    /// All rows of one table, one JSON text each.
    pub(crate) fn read(&self, table: &str, fields: &[&str]) -> Vec<String> {
        self.filtered(table, fields, Vec::new()).map_err(told).expect("it reads")
    }

    pub(crate) fn filtered(
        &self,
        table: &str,
        fields: &[&str],
        filters: Vec<Filter>,
    ) -> Result<Vec<String>, PortError> {
        let planned = PlannedTable::new(table, fields.iter().copied(), filters);
        read(self.input(), Query::new([planned].into()))
            .map(|rows| rows.into_iter().map(|(_, row)| row).collect())
    }
}

/// Connects, reads everything, closes.
pub(crate) fn read(
    input: ConnectionInput,
    query: Query,
) -> Result<Vec<(String, String)>, PortError> {
    block_on(async {
        let mut connector = build(&factory(), input)?;
        let answer = async {
            connector.connect().await?;
            connector.open(query).await?;
            drain(&mut *connector).await
        }
        .await;
        connector.close().await.map_err(told).expect("it closes");
        answer
    })
}

/// A connection that may write, to a file that need not be there.
pub(crate) fn connect(path: &Path) -> SqliteConnection {
    let options = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .foreign_keys(false)
        // What survives a crash of the machine is not looked at.
        .synchronous(SqliteSynchronous::Off)
        .busy_timeout(Duration::from_secs(20))
        .disable_statement_logging();
    block_on(options.connect()).expect("the file opens")
}

pub(crate) fn connected(input: ConnectionInput) -> Box<dyn Connector> {
    let mut connector = build(&factory(), input).expect("it builds");
    block_on(connector.connect()).map_err(told).expect("it connects");
    connector
}

/// What the private cause says, for a test that fails.
pub(crate) fn told(error: PortError) -> String {
    format!("{error}: {:?}", error.cause())
}

pub(crate) fn batch() -> RowBatch {
    RowBatch::new(StepShape::open(Format::Ndjson, "lite"))
}

/// A query for these fields of one table.
pub(crate) fn planned(table: &str, fields: &[&str]) -> Query {
    Query::new([PlannedTable::new(table, fields.iter().copied(), Vec::new())].into())
}

/// All rows, with their tables.
pub(crate) async fn drain(
    connector: &mut dyn Connector,
) -> Result<Vec<(String, String)>, PortError> {
    let mut batch = batch();
    let mut rows = Vec::new();
    loop {
        let (filled, fetched) = connector.fetch(batch).await?;
        batch = filled;
        rows.extend(lines(&batch));
        batch.clear();
        if fetched == Fetched::End {
            return Ok(rows);
        }
    }
}

/// The rows of a batch, with their tables.
pub(crate) fn lines(batch: &RowBatch) -> Vec<(String, String)> {
    let text = std::str::from_utf8(batch.encoded()).expect("it is text");
    let line = |line: &str| {
        let rest = line.strip_prefix(r#"{"config":"lite","table":"#).expect("it is a row");
        let (table, row) = rest.split_once(r#","row":"#).expect("it is a row");
        let row = row.strip_suffix('}').expect("it is a row");
        (table.trim_matches('"').to_owned(), row.to_owned())
    };
    text.split_terminator('\n').map(line).collect()
}

pub(crate) fn input(path: &Path) -> ConnectionInput {
    ConnectionInput::new("lite", "sqlite").database(path.to_str().expect("the path is text"))
}

/// Waits for locks only shortly.
pub(crate) fn factory() -> SqliteConnectors {
    SqliteConnectors::new().busy_timeout(Duration::from_millis(50))
}

pub(crate) fn build(
    factory: &SqliteConnectors,
    input: ConnectionInput,
) -> Result<Box<dyn Connector>, PortError> {
    factory.build(ConnectorContext::new(descriptor(input)))
}

pub(crate) fn descriptor(input: ConnectionInput) -> ConnectionDescriptor {
    let (draft, _) = input.into_draft().expect("it is well-formed");
    let id = ConnectionId::parse("lite-1").expect("an id");
    draft.into_descriptor(TenantId::parse("acme").expect("a tenant"), id)
}

/// How many files under this path are open, where the system tells.
pub(crate) fn open_files(under: &Path) -> Option<usize> {
    let files = fs::read_dir("/proc/self/fd").ok()?;
    let is_under = |file: &PathBuf| fs::read_link(file).is_ok_and(|it| it.starts_with(under));
    Some(files.flatten().map(|file| file.path()).filter(is_under).count())
}

/// Waits, not for long, until no file under this path is open; how many still are.
pub(crate) fn open_files_at_last(under: &Path) -> Option<usize> {
    let mut none_since = 0;
    for _ in 0..400 {
        match open_files(under)? {
            0 => none_since += 1,
            _ => none_since = 0,
        }
        // A thread that has just been started has not opened anything yet.
        if none_since > 5 {
            return Some(0);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    open_files(under)
}

/// A small generator, so that a failure can be had again (SplitMix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ z >> 31) % n as u64) as usize
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

/// Bytes of hexadecimal digits, as SQLite's `hex` writes them.
pub(crate) fn unhex(text: &str) -> Vec<u8> {
    let digit = |digit: u8| char::from(digit).to_digit(16).expect("a digit") as u8;
    text.as_bytes().chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}

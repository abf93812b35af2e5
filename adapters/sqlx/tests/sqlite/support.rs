//! A folder with a database per test, and what is read of it; no runtime anywhere.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use fetcher_engine::ports::{Connector, Query};
use fetcher_engine::{ConnectionInput, Filter, PortError, block_on};
use fetcher_sqlx::SqliteConnectors;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteRow, SqliteSynchronous};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Executor as _};

use crate::testing::reading::{self, build, drain, narrowed, rows, told};

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
        read(self.input(), narrowed(table, fields, filters)).map(rows)
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
    block_on(reading::connected(&factory(), input))
}

pub(crate) fn input(path: &Path) -> ConnectionInput {
    ConnectionInput::new("lite", "sqlite").database(path.to_str().expect("the path is text"))
}

/// Waits for locks only shortly.
pub(crate) fn factory() -> SqliteConnectors {
    SqliteConnectors::new().busy_timeout(Duration::from_millis(50))
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

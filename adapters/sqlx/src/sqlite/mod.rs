//! SQLite: a file, opened read-only by the bundled library.
//!
//! # A connection
//!
//! | part | meaning |
//! | --- | --- |
//! | `database` | a path, or a URI: `file:data.db?immutable=1` |
//! | option `attach.NAME` | another file, whose tables are found in the schema `NAME` |
//!
//! A relative path begins where the process runs, or in the folder that
//! [`SqliteConnectors::within`] names. Of a URI's parameters `mode=ro` and `immutable` are known:
//! the latter says that nobody writes to the file, and that it is read without locks; it is refused
//! (`unavailable`) beside a journal that a crash has left. A host, a
//! port, a user, any other option and any other parameter are refused; so are `:memory:`, since
//! there is nothing in it, and files that are no regular files. Nothing is ever created or written,
//! except what SQLite needs beside a file in WAL mode.
//!
//! The file is not trusted: its views and generated columns cannot call functions that do more than
//! compute, and no extension is loaded.
//!
//! # Tables
//!
//! Found are tables, `WITHOUT ROWID` and strict ones too, views and virtual tables; not SQLite's
//! own (`sqlite_…`), the shadow tables of virtual ones, or what has an empty name. A view that is
//! broken, or a virtual table whose module is not there, is left out. Of the columns all are found,
//! generated ones too, but for a virtual table's hidden ones, which are arguments rather than data.
//!
//! `main` is not written: `main.users` is `users`, a table of an attached file is `NAME.users`. A
//! part that contains a dot or begins with a double quote is put into double quotes.
//!
//! A dotted field leads into a column that is declared `JSON`: `address.city` is a key of it,
//! unless there is a column of that very name.
//!
//! # Reading
//!
//! `open` begins one transaction and takes its snapshot of all files at once. As long as it lasts,
//! a writer of a file that is not in WAL mode waits with its commit. A file that is locked is
//! waited for as long as [`SqliteConnectors::busy_timeout`] and the deadline allow, and nothing
//! shortens that. A thread of the driver's runs the query and stays [some
//! rows](SqliteConnectors::rows_ahead) ahead: memory does not grow with the table, only with its
//! largest rows. A call that is dropped, a cursor that is closed before its end, and the deadline
//! interrupt the query.
//!
//! # Values
//!
//! Values go out as they are stored, cell by cell: SQLite keeps types with cells, not with columns.
//!
//! | stored as | in JSON |
//! | --- | --- |
//! | integer | integer |
//! | real | shortest number that reads back; `"Infinity"`, `"-Infinity"` (SQLite keeps no NaN) |
//! | text | string; one that is not valid UTF-8 as base64 of its bytes |
//! | blob | base64 string |
//!
//! Two declarations of a column change that:
//!
//! | declared | rule |
//! | --- | --- |
//! | `BOOLEAN`, `BOOL` | the integers 0 and 1 are `false` and `true`; any other value as it is stored |
//! | `JSON`, `JSONB` | text that is valid JSON is itself, token for token; any other value as it is stored |
//!
//! `DATE`, `DATETIME`, `TIMESTAMP`, `DECIMAL` and the like change nothing: SQLite stores text or
//! numbers under them, and those go out. What it makes of a value on its way into the file (a
//! decimal becomes a real) was done before.
//!
//! # Filters
//!
//! An operand becomes what the column would have stored, and meets the cell as it goes out:
//!
//! | column | operands | compared with |
//! | --- | --- | --- |
//! | `BOOLEAN` | booleans | `true` and `false` |
//! | of integer affinity | integers | integers and reals, by value |
//! | of real affinity | numbers, rounded to the nearest real | the same |
//! | `NUMERIC`, `DECIMAL`, `NUMBER` | numbers | the same |
//! | of text affinity | strings | text, by bytes, whatever the collation |
//! | `BLOB` | bytes | blobs |
//! | `DATE`, `DATETIME` and others of numeric affinity | strings, numbers, bytes; a string that is a number counts as one | whatever is of the operand's kind |
//! | without a type | strings, numbers, bytes | whatever is of the operand's kind |
//!
//! A cell of another kind than the operand is never kept, as if it were null. `like` knows text
//! only. Refused (`validation`, before the first row): operands of other kinds, and any filter on
//! JSON. Equality and order use an index where a table's own column has one.
//!
//! # Errors
//!
//! | | category |
//! | --- | --- |
//! | a description that cannot be meant | `validation`, in `build` |
//! | a file outside of the folder | `forbidden` |
//! | no file, no database, damaged, locked | `unavailable` |
//! | a table or column that is gone, a filter that does not apply | `validation` |
//! | the deadline | `timeout` |

mod ahead;
mod burst;
mod catalogue;
mod dialect;
mod fault;
mod form;
mod target;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use fetcher_engine::PortError;
use fetcher_engine::ports::{Connector, ConnectorContext, ConnectorFactory};
use fetcher_sql::name::Naming;

use crate::connector::SqlConnector;
use dialect::Sqlite;
use target::{Host, Target};

/// `main` is not written.
const NAMING: Naming = Naming::new("main");

/// Builds connectors to SQLite files. See the [module docs](self) for what they do.
///
/// ```
/// use std::sync::Arc;
///
/// use fetcher_engine::ConnectionInput;
/// use fetcher_engine::memory::MemoryConnectorRegistry;
/// use fetcher_sqlx::SqliteConnectors;
///
/// let sqlite = SqliteConnectors::new().within("/srv/tenants");
/// let registry = MemoryConnectorRegistry::new().with("sqlite", Arc::new(sqlite));
/// let sales = ConnectionInput::new("sales", "sqlite").database("acme/sales.db");
/// # let _ = (registry, sales);
/// ```
#[derive(Clone)]
pub struct SqliteConnectors {
    host: Host,
}

impl Default for SqliteConnectors {
    fn default() -> Self {
        Self::new()
    }
}

impl SqliteConnectors {
    /// Connectors to any file that the process may read, which wait five seconds for one that is
    /// locked.
    #[must_use]
    pub fn new() -> Self {
        let busy_timeout = Duration::from_secs(5);
        Self { host: Host { within: None, busy_timeout, rows_ahead: None } }
    }

    /// Refuses files outside of this folder, also where a link leads there. Relative paths begin
    /// in it. Off by default; turn it on where tenants choose the path.
    #[must_use]
    pub fn within(mut self, folder: impl Into<PathBuf>) -> Self {
        self.host.within = Some(folder.into());
        self
    }

    /// How many rows are read ahead, two at least, whatever the table. Without it
    /// there are at most 512 and at most about 16 MiB of them, as far as a few dozen rows from all
    /// over the table can tell; and sixteen of a view and of whatever else has no row numbers.
    #[must_use]
    pub fn rows_ahead(mut self, rows: usize) -> Self {
        // The driver takes no more.
        self.host.rows_ahead = Some(rows.clamp(2, 1 << 16));
        self
    }

    /// How long a file that somebody else has locked is waited for.
    #[must_use]
    pub fn busy_timeout(mut self, timeout: Duration) -> Self {
        // The library counts milliseconds in 31 bits.
        self.host.busy_timeout = timeout.min(Duration::from_millis(i32::MAX as u64));
        self
    }
}

impl ConnectorFactory for SqliteConnectors {
    fn build(&self, context: ConnectorContext) -> Result<Box<dyn Connector>, PortError> {
        let target = Target::read(&context.connection.endpoint, self.host.clone())?;
        Ok(Box::new(SqlConnector::<Sqlite>::new(context, target, None)))
    }

    fn canonical_table(&self, name: &str) -> Option<Arc<str>> {
        NAMING.canonical(name)
    }
}

impl fmt::Debug for SqliteConnectors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteConnectors")
            .field("within", &self.host.within)
            .field("busy_timeout", &self.host.busy_timeout)
            .field("rows_ahead", &self.host.rows_ahead)
            .finish()
    }
}

//! MySQL and MariaDB for [`fetcher_engine`]: [`MySqlConnectors`].
//!
//! ```
//! use std::sync::Arc;
//!
//! use fetcher_engine::memory::{MemoryConnectionStore, MemoryConnectorRegistry};
//! use fetcher_engine::ports::VaultResolver;
//! use fetcher_engine::{ConnectionInput, Engine};
//! use fetcher_sqlx::{MySqlConnectors, SslMode};
//!
//! let store = Arc::new(MemoryConnectionStore::new());
//! let mysql = MySqlConnectors::new()
//!     // The store hands out what it keeps, and to connectors only.
//!     .credentials(Arc::new(VaultResolver::new(store.clone())))
//!     .default_ssl_mode(SslMode::Require)
//!     .guard_addresses(true);
//! let registry = MemoryConnectorRegistry::new().with("mysql", Arc::new(mysql));
//! let engine = Engine::builder()
//!     .connectors(Arc::new(registry))
//!     .connection_store(store)
//!     .build()?;
//! let shop = ConnectionInput::new("shop", "mysql")
//!     .host("db.example.com")
//!     .database("shop")
//!     .username("reporting")
//!     .password("correct horse battery staple");
//! # let _ = (engine, shop);
//! # Ok::<(), fetcher_engine::EngineError>(())
//! ```
//!
//! It needs a Tokio runtime with I/O and time around it, and says so where there is none. It is
//! tested against MariaDB 10.11 and no other version yet; what differs in MySQL follows its manual.
//!
//! # A connection
//!
//! | part | meaning |
//! | --- | --- |
//! | `host` | a name or an address; a path (`/run/mysqld/mysqld.sock`) for a Unix socket |
//! | `port` | 0 stands for 3306 |
//! | `database`, `username` | required; the server's own databases are refused |
//! | option `sslMode` | `disable`, `prefer`, `require`, `verify-full`; without it the factory's default, which is `prefer` |
//! | option `sslRootCert` | certificates (PEM text) that the server's may lead to under `verify-full` |
//! | option `sslCert`, `sslKey` | the client's certificate and private key (PEM text) |
//!
//! Certificates and keys are texts, never paths: a tenant cannot make the host read a file. Any
//! other option is refused, and no file is sent to a server that asks for one. Logging in works by
//! `mysql_native_password` and `caching_sha2_password`; a password is never sent in the clear, and
//! where the server needs all of it (the first `caching_sha2_password` login, `sha256_password`)
//! only over TLS. Who it is that answers is known under `verify-full` alone: every other mode shows
//! the password to a server that takes the place of the right one and asks for all of it.
//!
//! | mode | encrypted | verified |
//! | --- | --- | --- |
//! | `disable` | never | |
//! | `prefer` | unless the server says that it has no TLS | nothing |
//! | `require` | or not at all | nothing |
//! | `verify-full` | or not at all | the certificate is made out to the host, and leads to one of `sslRootCert` or of the public authorities |
//!
//! The driver trusts the public authorities (those of Mozilla's list) beside whichever certificates
//! are given. So `verify-ca` is refused: it would take anybody's public certificate. `sslRootCert`
//! is refused together with a mode that verifies nothing. Under the address guard `verify-full`
//! needs an address as its host, because the driver connects to the name that it verifies. A Unix
//! socket does not leave the machine and is never encrypted, whatever the mode.
//!
//! # Tables
//!
//! Found are the tables and views of the connection's database that the user may read, and of their
//! columns those that he may read, invisible ones included; not sequences, not temporary tables,
//! not views that are broken. Names are exactly as the catalogue has them: a dot in a name is part
//! of it, and `Id` is not `id`. A table of another database cannot be named.
//!
//! A dotted field leads into a JSON column: `doc.city` is the key `city` of `doc`, unless there is
//! a column of that very name. A key with a quote, a backslash or a control character cannot be
//! reached; nor can, in MariaDB, one that the document spells with escapes (`"\u00e4"`).
//!
//! # Reading
//!
//! `open` begins one `REPEATABLE READ`, `READ ONLY` transaction with a consistent snapshot, and
//! prepares the statements of all tables, so that names and privileges are checked by the server
//! before the first row. The snapshot is InnoDB's: tables of other engines (MyISAM, Aria, MEMORY)
//! are read as they are when their turn comes. A table that was altered since the snapshot is an
//! error; altering one that was read already waits until the end.
//!
//! Values come by the binary protocol. The session is in UTC and `utf8mb4`, with an empty
//! `sql_mode`, without a limit of rows, and with a day of patience for a slow sink, whatever the
//! server's defaults are.
//!
//! What is left of the deadline is the server's `max_statement_time` (MariaDB) or
//! `max_execution_time` (MySQL), for each statement anew. A call that is dropped, a cursor that is
//! closed before its end, and a connector that is dropped while it reads send `KILL QUERY` by a
//! connection of its own, so that a user who may have only one connection cannot be stopped. The
//! driver does not probe a silent connection: that a server vanished
//! without a word is noticed at the engine's deadline.
//!
//! Each value is a few small calls into the driver: with `lto = "thin"` in its release profile a
//! host reads about a third faster.
//!
//! # Types
//!
//! | type | in JSON |
//! | --- | --- |
//! | `TINYINT` … `BIGINT`, signed or not, with `ZEROFILL` or without | integer; `BOOL` is another spelling of `TINYINT(1)` and thus an integer |
//! | `YEAR` | integer |
//! | `DECIMAL` | number, exact, its scale kept: `1.10` |
//! | `FLOAT`, `DOUBLE` | shortest number that reads back |
//! | `BIT(n)` | string of exactly n zeros and ones |
//! | `CHAR`, `VARCHAR`, `TEXT` of all sizes | string, whatever its character set; `CHAR` without trailing blanks |
//! | `ENUM`, `SET` | string: the label; the labels with commas between |
//! | `BINARY`, `VARBINARY`, `BLOB` of all sizes | base64 string; `BINARY(n)` with the zeros that fill it |
//! | `DATE` | `"2024-02-29"` |
//! | `DATETIME` | `"2024-02-29T12:34:56.789"`, without a zone |
//! | `TIMESTAMP` | `"2024-02-29T12:34:56.789Z"`, in UTC |
//! | a date that is none: zero, partial, of the year 0, or past the month's end | string as the server shows it: `"0000-00-00"`, `"2022-11-00 20:59:22"`, with all of the column's digits |
//! | `TIME` | string as the server shows it, with all of the column's digits: `"-838:59:59"` |
//! | `JSON` | itself, token for token as the server keeps it, without insignificant white space |
//! | `UUID`, `INET4`, `INET6` | string as the server shows it |
//! | `GEOMETRY` and its kinds | string in well-known text, `SRID=n;` in front unless it is 0: `"SRID=4326;POINT(1.5 2)"`; the coordinates in the order in which they are stored |
//! | `VECTOR`, any other type | base64 string of its bytes; string where it has a character set |
//! | text that is not valid UTF-8 | base64 string of its bytes |
//!
//! MySQL keeps JSON in a form of its own: there `1.10` becomes `1.1` when it is stored. MariaDB's
//! `JSON` is a `LONGTEXT` with a check that it is valid; the check is found by `SHOW CREATE TABLE`,
//! so the column is a string, text and all, in a view and for a user who may read single columns
//! only.
//!
//! # Filters
//!
//! Operands are converted to the column's kind. Types that are strings compare as those strings, by
//! their bytes: text whatever its collation is, `ENUM` by its label, `TIME` and `BIT` by their
//! text. A date that is none equals nothing, differs from nothing and is never kept.
//!
//! The server narrows what is read where that is sure: comparisons of numbers, dates and bytes, and
//! equality of text in `utf8mb4`, use an index. It is not asked, and whole tables are read, for
//! `FLOAT(m,d)` and `DOUBLE(m,d)`, geometries, operands that it would round or does not have, and
//! operands of more than 256 KB together.
//!
//! Refused (`validation`, with the table, before the first row): an operand that does not convert
//! to the column's kind, such as `-1` for a `BIGINT UNSIGNED`; `like` on anything but a string; any
//! filter on JSON.
//!
//! # Errors
//!
//! | | category |
//! | --- | --- |
//! | a description that cannot be meant | `validation`, in `build` |
//! | the database is not there | `validation` |
//! | the login, or access to the database, is refused | `unauthorized` |
//! | the address guard; a missing privilege | `forbidden` |
//! | a table or column that is gone, a filter that does not apply | `validation` |
//! | the deadline passed at the server; connecting took too long | `timeout` |
//! | the connection broke or was killed, a query failed, a table was altered | `unavailable` |
//! | a value that is not in its type's binary form, or no longer of its type | `internal` |
//!
//! A user who has no privilege on a table is not told whether it exists: `forbidden` either way.
//! The engine reports everything from connecting as `connect`. What the server said is the private
//! cause. No password and no key is in any of them.

mod catalogue;
mod dialect;
mod fault;
mod form;
mod geometry;
mod kill;
mod narrow;
mod options;
mod wire;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use fetcher_engine::ports::{Connector, ConnectorContext, ConnectorFactory, CredentialResolver};
use fetcher_engine::{PortError, Secret};
use fetcher_sql::tls::{Material, SslMode};

use crate::connector::SqlConnector;
use dialect::MySqlDialect;
use options::{Defaults, Target};

/// Builds connectors to MySQL and MariaDB. See the [module docs](self) for what they do.
#[derive(Clone)]
pub struct MySqlConnectors {
    credentials: Option<Arc<dyn CredentialResolver>>,
    defaults: Defaults,
}

impl Default for MySqlConnectors {
    fn default() -> Self {
        Self::new()
    }
}

impl MySqlConnectors {
    /// Connectors without passwords, `sslMode` `prefer` where a connection does not say otherwise,
    /// ten seconds to connect.
    #[must_use]
    pub fn new() -> Self {
        Self {
            credentials: None,
            defaults: Defaults {
                ssl_mode: SslMode::Prefer,
                material: Material::default(),
                guarded: false,
                connect_timeout: Duration::from_secs(10),
            },
        }
    }

    /// Where connectors get their passwords.
    #[must_use]
    pub fn credentials(mut self, resolver: Arc<dyn CredentialResolver>) -> Self {
        self.credentials = Some(resolver);
        self
    }

    /// How long connecting may take, from looking up the host to being logged in.
    #[must_use]
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.defaults.connect_timeout = timeout;
        self
    }

    /// The mode of connections that have no option `sslMode`.
    #[must_use]
    pub fn default_ssl_mode(mut self, mode: SslMode) -> Self {
        self.defaults.ssl_mode = mode;
        self
    }

    /// The certificates (PEM) that a server's may lead to under `verify-full`, beside the public
    /// authorities, for connections without an option `sslRootCert`.
    #[must_use]
    pub fn root_certificates(mut self, pem: impl Into<Arc<str>>) -> Self {
        self.defaults.material.roots = Some(pem.into());
        self
    }

    /// The certificate (PEM, with its chain) and private key (PEM) that connections without options
    /// `sslCert` and `sslKey` show to the server.
    #[must_use]
    pub fn client_certificate(mut self, pem: impl Into<Arc<str>>, key: Secret) -> Self {
        self.defaults.material.certificate = Some(pem.into());
        self.defaults.material.key = Some(Arc::new(key));
        self
    }

    /// Refuses hosts that resolve to an address inside: private, loopback, link-local, cloud
    /// metadata, reserved, and Unix sockets. The connection goes to the address that was checked.
    /// Off by default; turn it on where tenants choose the host.
    #[must_use]
    pub fn guard_addresses(mut self, on: bool) -> Self {
        self.defaults.guarded = on;
        self
    }
}

impl ConnectorFactory for MySqlConnectors {
    fn build(&self, context: ConnectorContext) -> Result<Box<dyn Connector>, PortError> {
        let target = Target::read(&context.connection.endpoint, &self.defaults)?;
        let credentials = self.credentials.clone();
        Ok(Box::new(SqlConnector::<MySqlDialect>::new(context, target, credentials)))
    }
}

impl fmt::Debug for MySqlConnectors {
    /// No certificate, no key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MySqlConnectors")
            .field("connect_timeout", &self.defaults.connect_timeout)
            .field("default_ssl_mode", &self.defaults.ssl_mode)
            .field("guard_addresses", &self.defaults.guarded)
            .finish_non_exhaustive()
    }
}

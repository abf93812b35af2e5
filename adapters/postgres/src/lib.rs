//! PostgreSQL for [`fetcher_engine`]: a connector factory on `tokio-postgres`.
//!
//! ```
//! use std::sync::Arc;
//!
//! use fetcher_engine::memory::{MemoryConnectionStore, MemoryConnectorRegistry};
//! use fetcher_engine::ports::VaultResolver;
//! use fetcher_engine::{ConnectionInput, Engine};
//! use fetcher_postgres::{PostgresConnectors, SslMode};
//!
//! let store = Arc::new(MemoryConnectionStore::new());
//! let postgres = PostgresConnectors::new()
//!     // The store hands out what it keeps, and to connectors only.
//!     .credentials(Arc::new(VaultResolver::new(store.clone())))
//!     .default_ssl_mode(SslMode::Require)
//!     .guard_addresses(true);
//! let registry = MemoryConnectorRegistry::new().with("postgres", Arc::new(postgres));
//! let engine = Engine::builder()
//!     .connectors(Arc::new(registry))
//!     .connection_store(store)
//!     .build()?;
//! let sales = ConnectionInput::new("sales", "postgres")
//!     .host("db.example.com")
//!     .database("sales")
//!     .username("reporting")
//!     .password("correct horse battery staple");
//! # let _ = (engine, sales);
//! # Ok::<(), fetcher_engine::EngineError>(())
//! ```
//!
//! It needs a Tokio runtime with I/O and time around it; it spawns no task on it. A connector owns
//! its socket and moves bytes only while the engine waits for it, so dropping it closes the socket.
//! There is no pool: one connector, one connection. It is tested against PostgreSQL 15
//! and no other version yet.
//!
//! # A connection
//!
//! | part | meaning |
//! | --- | --- |
//! | `host` | a name or an address; a folder (`/var/run/postgresql`) for a Unix socket |
//! | `port` | 0 stands for 5432 |
//! | `database`, `username` | required |
//! | option `sslMode` | one of [`SslMode`]; without it the factory's default, which is `prefer` |
//! | option `sslRootCert` | certificates (PEM text) that the server's may lead to |
//! | option `sslCert`, `sslKey` | the client's certificate and private key (PEM text) |
//! | option `schemas` | names, separated by commas: the scope, within the factory's |
//!
//! Certificates and keys are texts, never paths: a tenant cannot make the host read a file. Any
//! other option is refused. No mode gives way to a weaker one; `prefer` alone goes on without TLS,
//! and only where the server says that it has none; `require` verifies as `verify-ca` does where
//! root certificates are given. TLS is 1.2 or 1.3; a certificate must name its host as a subject
//! alternative name. A SCRAM login over TLS is bound to the server's certificate.
//! A Unix socket does not leave the machine and is never encrypted, whatever the mode.
//!
//! # Tables
//!
//! Found are tables, partitioned tables and their partitions, foreign tables, views and
//! materialised views that the user may read, in the schemas in scope and never in the system's;
//! of their columns those that he may read. `public` is not written: `public.users` is `users`,
//! any other table `schema.table`. A part that contains a dot or begins with a double quote is put
//! into double quotes, as SQL does it: `"a.b"` is one table of `public`.
//!
//! A dotted field leads into a column: `address.city` is a field of the composite `address` or a
//! key of the JSON `address`, unless there is a column of that very name.
//!
//! # Reading
//!
//! `open` begins one `REPEATABLE READ READ ONLY` transaction, prepares the statements of all tables
//! and runs them for no row, so that filters, privileges and names are checked by the server before
//! the first row. Rows come in binary and are decoded from the driver's buffer into the row batch,
//! and the socket is not read while the engine does not ask: memory does not grow with the table,
//! only with its largest row. (Binary `COPY` was measured, too: the server needs longer for it.)
//!
//! What is left of the deadline is the server's `statement_timeout`. A call that is dropped, and a
//! cursor that is closed before its end, send a cancel request on a connection of its own. Where
//! nothing can be sent any more, because the connector itself was dropped, a server from version 14
//! on notices within half a second that its client is gone. All settings are local to the
//! transaction, so that a pooler in between finds nothing left behind.
//!
//! # Types
//!
//! | type | in JSON |
//! | --- | --- |
//! | `boolean` | `true`, `false` |
//! | `smallint`, `integer`, `bigint`, `oid`, `xid`, `cid`, `xid8` | integer |
//! | `numeric` | number, exact, its scale kept: `1.10`; `"NaN"`, `"Infinity"`, `"-Infinity"` |
//! | `real`, `double precision` | shortest number that reads back; the same three strings |
//! | `text`, `varchar`, `name`, enums | string |
//! | `char(n)` | string, with its trailing blanks |
//! | `"char"` | string of one character; a byte beyond ASCII as `\351` |
//! | `bytea` | base64 string |
//! | `uuid` | string, lower case with hyphens |
//! | `date` | `"2024-02-29"`; outside the years 1 to 9999 `"+010000-01-01"`, `"-004712-01-01"` (4713 BC); `"infinity"`, `"-infinity"` |
//! | `time` | `"12:34:56.789"`, up to `"24:00:00"` |
//! | `timetz` | `"12:34:56.789+02:00"` |
//! | `timestamp` | `"2024-02-29T12:34:56.789"`, without a zone; years and infinities as for `date` |
//! | `timestamptz` | `"2024-02-29T12:34:56.789Z"`, in UTC; years and infinities as for `date` |
//! | `interval` | `"P1Y2M-3DT4H5M6.7S"`, ISO 8601 as PostgreSQL's `iso_8601` style writes it |
//! | `json`, `jsonb` | itself, token for token, without insignificant white space |
//! | arrays, `int2vector`, `oidvector` | list of the elements' forms; dimensions are lists in lists; lower bounds are not kept |
//! | composites, rows of tables | `{"field": …}`, fields in their order, each in its own form |
//! | ranges | `{"lower": 1, "upper": 10, "bounds": "[)"}`; an infinite bound is `null`; an empty range has `"bounds": "empty"` |
//! | multiranges | list of ranges |
//! | domains | as what they are over |
//! | `inet`, `cidr` | string as PostgreSQL writes it: `"10.0.0.1"`, `"10.0.0.0/8"` |
//! | `bit`, `varbit` | string of zeros and ones |
//! | `money`, `xml`, `macaddr`, `macaddr8`, geometric types, `tsvector`, `tsquery`, `jsonpath`, `pg_lsn`, `tid`, `regclass` and its like, types of extensions, anything else | string: the type's own text |
//! | an array of such | list of strings: its elements cast to text |
//! | a composite, range or multirange with such a part | string: the text of the whole |
//!
//! The texts are those of a session in UTC with `DateStyle` `ISO`; that of `money` follows the
//! server's `lc_monetary`. Text is UTF-8 whatever the server's encoding is; a database in
//! `SQL_ASCII` may hold bytes that are no text, and reading them fails (`internal`).
//!
//! # Filters
//!
//! All ten operators mean what [`Filter::matches`](fetcher_engine::Filter::matches) means of the
//! form above. Text compares by bytes, whatever the column's collation is; equality of text uses an
//! index where the collation is deterministic. Types that are strings compare as those strings:
//! enums by their label, `inet` by its text, `char(n)` with its blanks. An operand may be beyond
//! the range of a narrow integer or its column's scale and compares all the same.
//!
//! Refused (`validation`, with the table, before the first row): an operand that does not convert
//! to the column's kind, is finer than a microsecond or beyond the type's range, or holds U+0000;
//! `like` on anything but a string; any filter on JSON, arrays, composites, ranges, `timetz`,
//! `"char"`, `oid`, `xid`, `cid` and `xid8`.
//!
//! # Errors
//!
//! | | category |
//! | --- | --- |
//! | a description that cannot be meant | `validation`, in `build` |
//! | the login is refused | `unauthorized` |
//! | the address guard; a missing privilege | `forbidden` |
//! | a table or column that is gone, a filter that does not apply | `validation` |
//! | the deadline passed at the server; connecting took too long | `timeout` |
//! | the connection broke, the server shut down, a query failed | `unavailable` |
//! | bytes that are not in their type's binary form | `internal` |
//!
//! The engine reports everything from connecting as `connect`. What the server said is the private
//! cause. No password, key or parameter is in any of them.

mod catalogue;
mod condition;
mod connector;
mod decode;
mod factory;
mod fault;
mod options;
mod query;
mod session;
mod shape;
mod sql;
mod text;
mod tls;
mod wire;

pub use factory::PostgresConnectors;
pub use fetcher_sql::tls::SslMode;

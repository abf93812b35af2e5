//! SQLite, MySQL and MariaDB for [`fetcher_engine`]: connector factories on `sqlx`.
//!
//! | feature | database | factory | needs |
//! | --- | --- | --- | --- |
//! | `sqlite` (default) | SQLite, its library included | [`SqliteConnectors`] | a C compiler; no server and no async runtime |
//! | `mysql` | MySQL and MariaDB | `MySqlConnectors` | a Tokio runtime with I/O and time |
//!
//! The docs of the modules tell how each of them names connections and tables, reads types and
//! applies filters. This is common to both:
//!
//! - One connector is one connection; there is no pool. Nothing is written, and all tables of a
//!   query are read in one read-only transaction, as of one moment.
//! - Rows stream: memory does not grow with the table, only with its largest rows.
//! - Identifiers are quoted and values bound.
//! - A filter is decided by [`Filter::matches`](fetcher_engine::Filter::matches) itself, on each
//!   value as it goes out. SQL narrows what has to be looked at, with conditions that hold of every
//!   row which the filter keeps. So no collation, type conversion or mode of a database can change
//!   what a filter means; at worst more rows are read than are kept.
//! - A call that is dropped, and a cursor that is closed before its end, stop the query.
//! - Texts that claim to be UTF-8 and are not go out as base64 of their bytes.
//! - What a driver said is the private cause of an error, and only that.

mod cell;
mod connector;
mod dialect;
#[cfg(feature = "mysql")]
pub mod mysql;
mod query;
mod read;
#[cfg(feature = "sqlite")]
pub mod sqlite;

#[cfg(feature = "mysql")]
pub use fetcher_sql::tls::SslMode;
#[cfg(feature = "mysql")]
pub use mysql::MySqlConnectors;
#[cfg(feature = "sqlite")]
pub use sqlite::SqliteConnectors;

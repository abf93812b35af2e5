//! SQLite, MySQL and MariaDB for [`fetcher_engine`]: connector factories on `sqlx`.

mod cell;
mod connector;
mod dialect;
mod query;
mod read;
#[cfg(feature = "sqlite")]
pub mod sqlite;

#[cfg(feature = "sqlite")]
pub use sqlite::SqliteConnectors;

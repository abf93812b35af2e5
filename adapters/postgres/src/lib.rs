//! PostgreSQL for [`fetcher_engine`]: a connector factory on `tokio-postgres`.

mod catalogue;
mod condition;
mod connector;
mod copy;
mod decode;
mod factory;
mod fault;
mod guard;
mod options;
mod query;
mod session;
mod shape;
mod sql;
mod text;
mod tls;
mod wire;

pub use factory::PostgresConnectors;
pub use options::SslMode;

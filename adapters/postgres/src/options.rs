//! What a connection's description says: host, database, user and options, checked without I/O.
//!
//! Keeps true: an option that is not known is refused, never ignored; certificates and keys are
//! texts, never paths, so that a tenant cannot name a file of the host's machine.

use std::path::Path;
use std::sync::Arc;

use fetcher_engine::PortError;
use fetcher_engine::connection::Endpoint;
use fetcher_sql::address::Host;
use fetcher_sql::fault::invalid;
use fetcher_sql::scope::narrow;
use fetcher_sql::tls::{Material, SslMode};

use crate::tls::Tls;

const DEFAULT_PORT: u16 = 5432;

/// What the driver is told; what is verified is decided in `tls`.
const fn driver(mode: SslMode) -> tokio_postgres::config::SslMode {
    use tokio_postgres::config::SslMode as Driver;
    match mode {
        SslMode::Disable => Driver::Disable,
        SslMode::Prefer => Driver::Prefer,
        SslMode::Require | SslMode::VerifyCa | SslMode::VerifyFull => Driver::Require,
    }
}

/// What a host decides for all its connections.
#[derive(Clone)]
pub(crate) struct Defaults {
    pub(crate) ssl_mode: SslMode,
    pub(crate) material: Material,
    pub(crate) schemas: Option<Arc<[String]>>,
}

/// A connection's description, read.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) host: Host,
    pub(crate) database: String,
    pub(crate) user: String,
    pub(crate) ssl_mode: tokio_postgres::config::SslMode,
    pub(crate) tls: Tls,
    /// The schemas in scope; `None` for all but the system's.
    pub(crate) schemas: Option<Arc<[String]>>,
}

impl Target {
    pub(crate) fn read(endpoint: &Endpoint, defaults: &Defaults) -> Result<Self, PortError> {
        let mut mode = defaults.ssl_mode;
        let mut material = defaults.material.clone();
        let mut schemas = defaults.schemas.clone();
        for (option, value) in &endpoint.options {
            match option.as_str() {
                "sslMode" => {
                    mode = SslMode::parse(value).ok_or_else(|| invalid("sslMode is not known"))?;
                }
                "schemas" => schemas = Some(narrow(schemas.as_deref(), value)?),
                _ if material.take(option, value) => {}
                _ => return Err(invalid(format!("the option {option} is not known"))),
            }
        }
        if endpoint.database.is_empty() || endpoint.username.is_empty() {
            return Err(invalid("a connection needs a database and a user"));
        }
        let port = if endpoint.port == 0 { DEFAULT_PORT } else { endpoint.port };
        let (host, name) = match endpoint.host.as_str() {
            "" => return Err(invalid("a connection needs a host")),
            folder if folder.starts_with('/') => {
                // A Unix socket does not leave the machine; the server offers no TLS on it.
                mode = SslMode::Disable;
                let path = Path::new(folder).join(format!(".s.PGSQL.{port}"));
                (Host::Unix(path), "localhost")
            }
            name => (Host::Tcp(name.to_owned(), port), name),
        };
        let tls = Tls::new(mode, name, &material)?;
        Ok(Self {
            host,
            database: endpoint.database.clone(),
            user: endpoint.username.clone(),
            ssl_mode: driver(mode),
            tls,
            schemas,
        })
    }
}

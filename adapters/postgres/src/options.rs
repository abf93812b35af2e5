//! What a connection's description says: host, database, user and options, checked without I/O.
//!
//! Keeps true: an option that is not known is refused, never ignored; certificates and keys are
//! texts, never paths, so that a tenant cannot name a file of the host's machine.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use fetcher_engine::connection::Endpoint;
use fetcher_engine::{PortError, Secret};

use crate::fault::invalid;
use crate::tls::{Material, Tls};
use crate::wire::Host;

const DEFAULT_PORT: u16 = 5432;

/// How a connection is encrypted and what is verified: the connection option `sslMode`.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[expect(clippy::exhaustive_enums, reason = "the five modes that PostgreSQL knows")]
pub enum SslMode {
    /// `disable`: never encrypted.
    Disable,
    /// `prefer`: encrypted if the server can, nothing verified.
    Prefer,
    /// `require`: encrypted or not at all. Verified as in `verify-ca` if root certificates are
    /// given, as libpq does; otherwise nothing is verified.
    Require,
    /// `verify-ca`: encrypted, and the server's certificate leads to one of the root certificates.
    VerifyCa,
    /// `verify-full`: as `verify-ca`, and the certificate is made out to the host.
    VerifyFull,
}

impl SslMode {
    /// The five, weakest first.
    pub const ALL: [Self; 5] =
        [Self::Disable, Self::Prefer, Self::Require, Self::VerifyCa, Self::VerifyFull];

    /// The stable name: `disable`, `prefer`, `require`, `verify-ca`, `verify-full`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Disable => "disable",
            Self::Prefer => "prefer",
            Self::Require => "require",
            Self::VerifyCa => "verify-ca",
            Self::VerifyFull => "verify-full",
        }
    }

    /// The mode of that name, exactly as [`as_str`](Self::as_str) gives it.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.as_str() == name)
    }

    /// What the driver is told; what is verified is decided in `tls`.
    const fn driver(self) -> tokio_postgres::config::SslMode {
        use tokio_postgres::config::SslMode;
        match self {
            Self::Disable => SslMode::Disable,
            Self::Prefer => SslMode::Prefer,
            Self::Require | Self::VerifyCa | Self::VerifyFull => SslMode::Require,
        }
    }
}

impl fmt::Display for SslMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
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
                "sslRootCert" => material.roots = Some(value.as_str().into()),
                "sslCert" => material.certificate = Some(value.as_str().into()),
                "sslKey" => material.key = Some(Arc::new(Secret::from(value.as_str()))),
                "schemas" => schemas = Some(narrow(schemas.as_deref(), value)?),
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
            ssl_mode: mode.driver(),
            tls,
            schemas,
        })
    }
}

/// A connection may narrow the host's scope and never widen it.
fn narrow(allowed: Option<&[String]>, list: &str) -> Result<Arc<[String]>, PortError> {
    let asked = list.split(',').map(str::trim).filter(|schema| !schema.is_empty());
    let asked: Vec<_> = asked.map(str::to_owned).collect();
    if asked.is_empty() {
        return Err(invalid("schemas names no schema"));
    }
    if allowed.is_some_and(|allowed| asked.iter().any(|schema| !allowed.contains(schema))) {
        return Err(invalid("schemas names one that is out of scope"));
    }
    Ok(asked.into())
}

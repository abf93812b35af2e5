//! MySQL and MariaDB for [`fetcher_engine`].

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
use fetcher_sql::tls::SslMode;

use crate::connector::SqlConnector;
use dialect::MySqlDialect;
use options::{Defaults, Material, Target};

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

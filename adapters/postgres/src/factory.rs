//! The factory: what a host decides once for all its PostgreSQL connections.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use fetcher_engine::ports::{Connector, ConnectorContext, ConnectorFactory, CredentialResolver};
use fetcher_engine::{PortError, Secret};
use fetcher_sql::tls::{Material, SslMode};

use crate::connector::{PostgresConnector, Shared};
use crate::options::{Defaults, Target};
use crate::sql;
use crate::wire::Dialer;

/// Builds connectors to PostgreSQL. See the [crate docs](crate) for what they do.
#[derive(Clone)]
pub struct PostgresConnectors {
    shared: Shared,
    defaults: Defaults,
}

impl Default for PostgresConnectors {
    fn default() -> Self {
        Self::new()
    }
}

impl PostgresConnectors {
    /// Connectors without passwords, in all schemas but the system's, `sslMode` `prefer` where a
    /// connection does not say otherwise, ten seconds to connect.
    #[must_use]
    pub fn new() -> Self {
        let dialer = Dialer { guarded: false, keepalive: Some(Duration::from_secs(60)) };
        Self {
            shared: Shared {
                credentials: None,
                dialer,
                connect_timeout: Duration::from_secs(10),
                application: "fetcher".into(),
            },
            defaults: Defaults {
                ssl_mode: SslMode::Prefer,
                material: Material::default(),
                schemas: None,
            },
        }
    }

    /// Where connectors get their passwords.
    #[must_use]
    pub fn credentials(mut self, resolver: Arc<dyn CredentialResolver>) -> Self {
        self.shared.credentials = Some(resolver);
        self
    }

    /// The schemas in scope. A connection's option `schemas` may narrow them, not widen them.
    #[must_use]
    pub fn schemas<S: Into<String>>(mut self, schemas: impl IntoIterator<Item = S>) -> Self {
        self.defaults.schemas = Some(schemas.into_iter().map(Into::into).collect());
        self
    }

    /// How long connecting may take, from looking up the host to being logged in.
    #[must_use]
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.shared.connect_timeout = timeout;
        self
    }

    /// The name under which the server shows the connections. The default is `fetcher`.
    #[must_use]
    pub fn application_name(mut self, name: impl Into<Arc<str>>) -> Self {
        self.shared.application = name.into();
        self
    }

    /// After how long a silent server is probed, on TCP; `None` for never. The default is a minute.
    #[must_use]
    pub fn keepalive(mut self, idle: Option<Duration>) -> Self {
        self.shared.dialer.keepalive = idle;
        self
    }

    /// The mode of connections that have no option `sslMode`.
    #[must_use]
    pub fn default_ssl_mode(mut self, mode: SslMode) -> Self {
        self.defaults.ssl_mode = mode;
        self
    }

    /// The certificates (PEM) that a server's may lead to, for connections without an option
    /// `sslRootCert`. No certificate of the system's or of anybody else's is trusted by itself.
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
        self.shared.dialer.guarded = on;
        self
    }
}

impl ConnectorFactory for PostgresConnectors {
    fn build(&self, context: ConnectorContext) -> Result<Box<dyn Connector>, PortError> {
        let target = Target::read(&context.connection.endpoint, &self.defaults)?;
        Ok(Box::new(PostgresConnector::new(context, target, self.shared.clone())))
    }

    fn canonical_table(&self, name: &str) -> Option<Arc<str>> {
        sql::NAMING.canonical(name)
    }
}

impl fmt::Debug for PostgresConnectors {
    /// No certificate, no key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresConnectors")
            .field("application_name", &self.shared.application)
            .field("connect_timeout", &self.shared.connect_timeout)
            .field("default_ssl_mode", &self.defaults.ssl_mode)
            .field("schemas", &self.defaults.schemas)
            .field("guard_addresses", &self.shared.dialer.guarded)
            .finish_non_exhaustive()
    }
}

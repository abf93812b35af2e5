//! A partial change of a connection. Keeps true: what a patch does not name stays as it is.

use alloc::collections::BTreeMap;
use alloc::string::String;
use core::fmt;

use super::{ConnectionDescriptor, Endpoint, HostAttributes, check_attributes};
use crate::error::{EngineError, Stage, text};
use crate::secret::Secret;

/// What to change of a connection. There is no field for the name: it cannot change.
///
/// ```
/// use fetcher_engine::ConnectionPatch;
///
/// let patch = ConnectionPatch::new().host("replica.example.com").password("new password");
/// ```
#[derive(Default)]
#[non_exhaustive]
pub struct ConnectionPatch {
    /// The new connection type.
    pub kind: Option<String>,
    /// The new host.
    pub host: Option<String>,
    /// The new port.
    pub port: Option<u16>,
    /// The new database.
    pub database: Option<String>,
    /// The new user.
    pub username: Option<String>,
    /// The new password; `None` keeps the stored one and its key version. When a store is handed
    /// a patch, this is empty: the credential comes beside it.
    pub password: Option<Secret>,
    /// All new options; they replace the old ones.
    pub options: Option<BTreeMap<String, String>>,
    /// All new attributes; they replace the old ones.
    pub host_attributes: Option<HostAttributes>,
}

impl ConnectionPatch {
    /// A patch that changes nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Changes the connection type.
    #[must_use]
    pub fn kind(mut self, kind: impl Into<String>) -> Self {
        self.kind = Some(kind.into());
        self
    }

    /// Changes the host.
    #[must_use]
    pub fn host(mut self, host: impl Into<String>) -> Self {
        self.host = Some(host.into());
        self
    }

    /// Changes the port.
    #[must_use]
    pub fn port(mut self, port: u16) -> Self {
        self.port = Some(port);
        self
    }

    /// Changes the database.
    #[must_use]
    pub fn database(mut self, database: impl Into<String>) -> Self {
        self.database = Some(database.into());
        self
    }

    /// Changes the user.
    #[must_use]
    pub fn username(mut self, username: impl Into<String>) -> Self {
        self.username = Some(username.into());
        self
    }

    /// Changes the password.
    #[must_use]
    pub fn password(mut self, password: impl Into<Secret>) -> Self {
        self.password = Some(password.into());
        self
    }

    /// Replaces the options.
    #[must_use]
    pub fn options(mut self, options: BTreeMap<String, String>) -> Self {
        self.options = Some(options);
        self
    }

    /// Replaces the host's own attributes.
    #[must_use]
    pub fn host_attributes(mut self, attributes: impl Into<HostAttributes>) -> Self {
        self.host_attributes = Some(attributes.into());
        self
    }

    /// Applies everything but the password. Stores call this under their own lock or transaction,
    /// so that of two patches to different fields neither is lost.
    pub fn apply(&self, descriptor: &mut ConnectionDescriptor) {
        let Self { host_attributes, .. } = self;
        self.apply_to(&mut descriptor.endpoint);
        set(&mut descriptor.host_attributes, host_attributes.as_ref());
    }

    fn apply_to(&self, endpoint: &mut Endpoint) {
        set(&mut endpoint.kind, self.kind.as_ref());
        set(&mut endpoint.host, self.host.as_ref());
        set(&mut endpoint.port, self.port.as_ref());
        set(&mut endpoint.database, self.database.as_ref());
        set(&mut endpoint.username, self.username.as_ref());
        set(&mut endpoint.options, self.options.as_ref());
    }

    /// Whether it is well formed by itself, whatever it will be applied to.
    pub(crate) fn check(&self) -> Result<(), EngineError> {
        let Self { kind, host, port, database, username, password, options, host_attributes } =
            self;
        let texts = [kind, host, database, username].into_iter().any(Option::is_some);
        let rest = port.is_some() || password.is_some() || options.is_some();
        if !(texts || rest || host_attributes.is_some()) {
            return Err(EngineError::validation(Stage::Validate, text::PATCH_EMPTY));
        }
        // What it does not name takes a value that is in order.
        let mut endpoint = Endpoint { kind: String::from("any"), ..Endpoint::default() };
        self.apply_to(&mut endpoint);
        endpoint.check()?;
        host_attributes.as_ref().map_or(Ok(()), check_attributes)
    }
}

fn set<T: Clone>(target: &mut T, value: Option<&T>) {
    if let Some(value) = value {
        target.clone_from(value);
    }
}

impl fmt::Debug for ConnectionPatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConnectionPatch")
            .field("kind", &self.kind)
            .field("host", &self.host)
            .field("port", &self.port)
            .field("changes_password", &self.password.is_some())
            .finish_non_exhaustive()
    }
}

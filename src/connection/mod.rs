//! Connections as a host describes, changes and sees them.
//!
//! Keeps true: a descriptor carries no secret; a name cannot change (a patch has no field for it);
//! host attributes and option values are in no `Debug` output.

mod name;
mod patch;

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

pub(crate) use name::parse as parse_opaque;
pub use name::{ConnectionId, ConnectionName};
pub use patch::ConnectionPatch;

use crate::digest::{Digest, Sha256};
use crate::error::{EngineError, Stage, text};
use crate::secret::Secret;
use crate::tenant::TenantId;

/// The longest host, database or user name, in bytes.
const DETAIL_BYTES_MAX: usize = 4096;
/// The longest connection type, in bytes.
const KIND_BYTES_MAX: usize = 64;
/// The most options, and the most host attributes.
const ENTRIES_MAX: usize = 256;
/// The longest option or host attribute, in bytes: room for a chain of certificates.
const ENTRY_BYTES_MAX: usize = 64 << 10;

/// Where a datasource is and as whom it is read. No password.
///
/// What `host`, `port`, `database` and the options mean is up to the connector of this `kind`.
#[derive(Clone, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Endpoint {
    /// The connection type: what the connector registry is asked for.
    pub kind: String,
    /// The host.
    pub host: String,
    /// The port; 0 where there is none.
    pub port: u16,
    /// The database, a path or a URI, as the connector has it.
    pub database: String,
    /// The user.
    pub username: String,
    /// Whatever else the connector knows: `sslMode`, for instance.
    pub options: BTreeMap<String, String>,
}

impl Endpoint {
    fn check(&self) -> Result<(), EngineError> {
        let details = [&self.host, &self.database, &self.username];
        let refuse = |message| Err(EngineError::validation(Stage::Validate, message));
        if !is_kind(&self.kind) {
            return refuse(text::KIND_INVALID);
        }
        if details.into_iter().any(|detail| !is_detail(detail)) || !are_entries(&self.options) {
            return refuse(text::DETAIL_INVALID);
        }
        Ok(())
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A database may be a DSN and an option a private key: only what is harmless is shown.
        f.debug_struct("Endpoint")
            .field("kind", &self.kind)
            .field("host", &self.host)
            .field("port", &self.port)
            .field("options", &self.options.keys().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

/// Data of the host's own that travels with a connection, unread. Not shown by `Debug`.
#[derive(Clone, Default, Eq, PartialEq)]
pub struct HostAttributes(BTreeMap<String, String>);

impl HostAttributes {
    /// The attributes.
    #[must_use]
    pub fn entries(&self) -> &BTreeMap<String, String> {
        &self.0
    }
}

impl From<BTreeMap<String, String>> for HostAttributes {
    fn from(entries: BTreeMap<String, String>) -> Self {
        Self(entries)
    }
}

impl fmt::Debug for HostAttributes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HostAttributes({})", self.0.len())
    }
}

/// A connection to be created.
///
/// ```
/// use fetcher_engine::ConnectionInput;
///
/// let input = ConnectionInput::new("sales", "postgres")
///     .host("db.example.com")
///     .port(5432)
///     .database("sales")
///     .username("reporting")
///     .password("correct horse battery staple")
///     .option("sslMode", "verify-full");
/// ```
#[non_exhaustive]
pub struct ConnectionInput {
    /// The config name, by which requests refer to it.
    pub name: String,
    /// Where it is.
    pub endpoint: Endpoint,
    /// The password, if it has one.
    pub password: Option<Secret>,
    /// The host's own data.
    pub host_attributes: HostAttributes,
}

impl ConnectionInput {
    /// A connection of this name and type.
    #[must_use]
    pub fn new(name: impl Into<String>, kind: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            endpoint: Endpoint { kind: kind.into(), ..Endpoint::default() },
            password: None,
            host_attributes: HostAttributes::default(),
        }
    }

    /// With this host.
    #[must_use]
    pub fn host(mut self, host: impl Into<String>) -> Self {
        self.endpoint.host = host.into();
        self
    }

    /// With this port.
    #[must_use]
    pub fn port(mut self, port: u16) -> Self {
        self.endpoint.port = port;
        self
    }

    /// With this database.
    #[must_use]
    pub fn database(mut self, database: impl Into<String>) -> Self {
        self.endpoint.database = database.into();
        self
    }

    /// With this user.
    #[must_use]
    pub fn username(mut self, username: impl Into<String>) -> Self {
        self.endpoint.username = username.into();
        self
    }

    /// With this password.
    #[must_use]
    pub fn password(mut self, password: impl Into<Secret>) -> Self {
        self.password = Some(password.into());
        self
    }

    /// With one more option.
    #[must_use]
    pub fn option(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.endpoint.options.insert(key.into(), value.into());
        self
    }

    /// With one more attribute of the host's own.
    #[must_use]
    pub fn host_attribute(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.host_attributes.0.insert(key.into(), value.into());
        self
    }

    /// Parses it: what a store is asked to create, and the password apart from it.
    ///
    /// # Errors
    /// `validation` when the name, the type or a detail is malformed.
    pub fn into_draft(self) -> Result<(ConnectionDraft, Option<Secret>), EngineError> {
        let name = ConnectionName::parse(&self.name)?;
        self.endpoint.check()?;
        check_attributes(&self.host_attributes)?;
        let Self { endpoint, password, host_attributes, .. } = self;
        Ok((ConnectionDraft { name, endpoint, host_attributes }, password))
    }
}

impl fmt::Debug for ConnectionInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConnectionInput")
            .field("name", &self.name)
            .field("endpoint", &self.endpoint)
            .field("has_password", &self.password.is_some())
            .finish_non_exhaustive()
    }
}

/// A well-formed connection that has no id yet: what a store is asked to create.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct ConnectionDraft {
    /// The config name.
    pub name: ConnectionName,
    /// Where it is.
    pub endpoint: Endpoint,
    /// The host's own data.
    pub host_attributes: HostAttributes,
}

impl ConnectionDraft {
    /// The descriptor of this draft once a store has given it an id.
    #[must_use]
    pub fn into_descriptor(self, tenant: TenantId, id: ConnectionId) -> ConnectionDescriptor {
        let Self { name, endpoint, host_attributes } = self;
        ConnectionDescriptor { tenant, id, name, endpoint, host_attributes }
    }
}

/// A stored connection, without its secret.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct ConnectionDescriptor {
    /// Whose it is.
    pub tenant: TenantId,
    /// The id that the store gave it.
    pub id: ConnectionId,
    /// The config name, unique within the tenant.
    pub name: ConnectionName,
    /// Where it is.
    pub endpoint: Endpoint,
    /// The host's own data.
    pub host_attributes: HostAttributes,
}

impl ConnectionDescriptor {
    /// Whether this is the tenant's connection of this name: what the scope gates ask of a record.
    pub(crate) fn is(&self, tenant: &TenantId, name: &ConnectionName) -> bool {
        self.tenant == *tenant && self.name == *name
    }

    /// Which database this connection points at, as a value that changes when that does.
    ///
    /// A schema snapshot carries it, so that a cached schema of another database is recognised,
    /// and so does a plan.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        let Endpoint { kind, host, port, database, username, options } = &self.endpoint;
        let mut hash = Sha256::new();
        let mut add = |text: &str| {
            // Each part with its length, so that no two lists of parts look the same.
            hash.update(&(text.len() as u64).to_le_bytes());
            hash.update(text.as_bytes());
        };
        for part in [self.tenant.as_str(), self.id.as_str(), kind, host, database, username] {
            add(part);
        }
        for (key, value) in options {
            add(key);
            add(value);
        }
        hash.update(&port.to_le_bytes());
        Fingerprint(hash.finish())
    }
}

/// What a schema was read from. See [`ConnectionDescriptor::fingerprint`].
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Fingerprint(Digest);

impl Fingerprint {
    /// The digest in it, for a cache that stores snapshots as bytes.
    #[must_use]
    pub fn digest(self) -> Digest {
        self.0
    }
}

impl From<Digest> for Fingerprint {
    fn from(digest: Digest) -> Self {
        Self(digest)
    }
}

/// A credential as a store keeps it.
#[non_exhaustive]
pub struct StoredCredential {
    /// The ciphertext; the password itself where persistence is not encrypted.
    pub bytes: Secret,
    /// The version of the key that protected it; `None` where nothing did.
    pub key_version: Option<String>,
}

impl StoredCredential {
    /// A password that nothing protects.
    #[must_use]
    pub fn unprotected(password: Secret) -> Self {
        Self { bytes: password, key_version: None }
    }

    /// A ciphertext and the version of its key.
    #[must_use]
    pub fn protected(ciphertext: Secret, key_version: impl Into<String>) -> Self {
        Self { bytes: ciphertext, key_version: Some(key_version.into()) }
    }
}

impl fmt::Debug for StoredCredential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredCredential")
            .field("key_version", &self.key_version)
            .finish_non_exhaustive()
    }
}

/// Parameters of a paged list. The host's own: the engine hands them to the store unread.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "opaque to the engine, so there is nothing to add")]
pub struct PageQuery(pub BTreeMap<String, String>);

/// One page of connections.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct ConnectionPage {
    /// The connections of this page, in the store's order.
    pub items: Vec<ConnectionDescriptor>,
    /// How to ask for the next page; `None` at the end.
    pub next: Option<PageQuery>,
    /// How many there are in all, where the store knows.
    pub total: Option<u64>,
}

impl ConnectionPage {
    /// A page of these, the last one until [`next`](Self::next) is set.
    #[must_use]
    pub fn new(items: Vec<ConnectionDescriptor>) -> Self {
        Self { items, next: None, total: None }
    }
}

fn is_kind(kind: &str) -> bool {
    kind.len() <= KIND_BYTES_MAX && !kind.trim().is_empty() && is_detail(kind)
}

fn is_detail(detail: &str) -> bool {
    detail.len() <= DETAIL_BYTES_MAX && !detail.chars().any(char::is_control)
}

fn are_entries(entries: &BTreeMap<String, String>) -> bool {
    entries.len() <= ENTRIES_MAX
        && entries
            .iter()
            .all(|(key, value)| !key.is_empty() && key.len().max(value.len()) <= ENTRY_BYTES_MAX)
}

fn check_attributes(attributes: &HostAttributes) -> Result<(), EngineError> {
    if are_entries(&attributes.0) {
        Ok(())
    } else {
        Err(EngineError::validation(Stage::Validate, text::DETAIL_INVALID))
    }
}

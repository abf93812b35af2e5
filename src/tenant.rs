//! Who an operation is for: the one dimension of isolation.
//!
//! Keeps true: a [`TenantId`] cannot hold a malformed id, and nothing but parsing makes one.

use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;

use crate::error::{EngineError, Stage, text};

/// The longest tenant id, in bytes.
pub const TENANT_ID_BYTES_MAX: usize = 256;

/// An opaque tenant id: 1 to 256 bytes, first `[A-Za-z0-9]`, then `[A-Za-z0-9_-]`.
///
/// Cheap to clone. Comparison is by bytes; the engine never interprets it.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct TenantId(Arc<str>);

impl TenantId {
    /// Parses an id; white space around it is dropped.
    ///
    /// # Errors
    /// `validation` when what remains is not an id.
    pub fn parse(text: &str) -> Result<Self, EngineError> {
        let id = text.trim();
        // The length first: a hostile megabyte is not looked at.
        let well_formed = id.len() <= TENANT_ID_BYTES_MAX
            && id.starts_with(|first: char| first.is_ascii_alphanumeric())
            && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
        if well_formed {
            Ok(Self(id.into()))
        } else {
            Err(EngineError::validation(Stage::Validate, text::TENANT_INVALID))
        }
    }

    /// The id.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TenantId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What an operation accepts as a tenant: text, parsed at its gate, or an id parsed before.
///
/// Sealed: these are all there are, so that no other conversion can invent a tenant.
pub trait AsTenant: Sync + sealed::Sealed {
    /// The id.
    ///
    /// # Errors
    /// `validation` when it is text and not an id.
    fn as_tenant(&self) -> Result<TenantId, EngineError>;
}

impl AsTenant for TenantId {
    fn as_tenant(&self) -> Result<TenantId, EngineError> {
        Ok(self.clone())
    }
}

impl AsTenant for str {
    fn as_tenant(&self) -> Result<TenantId, EngineError> {
        TenantId::parse(self)
    }
}

impl AsTenant for String {
    fn as_tenant(&self) -> Result<TenantId, EngineError> {
        TenantId::parse(self)
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::TenantId {}
    impl Sealed for str {}
    impl Sealed for alloc::string::String {}
}

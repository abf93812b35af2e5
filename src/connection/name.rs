//! The two ways to name a connection. Keeps true: neither type can hold a malformed one.

use alloc::sync::Arc;
use core::fmt;

use crate::error::{EngineError, Stage, text};

/// The longest name or id, in bytes.
const BYTES_MAX: usize = 256;

/// A connection's config name: 1 to 256 bytes, not blank, no control characters.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct ConnectionName(Arc<str>);

/// A connection's id, as its store made it: 1 to 256 bytes, not blank, no control characters.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct ConnectionId(Arc<str>);

impl ConnectionName {
    /// Parses a name. It is taken as it is: names that differ in white space are different names.
    ///
    /// # Errors
    /// `validation` when it is empty, blank, too long or has control characters.
    pub fn parse(name: &str) -> Result<Self, EngineError> {
        parse(name, text::NAME_INVALID).map(Self)
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn shared(&self) -> &Arc<str> {
        &self.0
    }
}

impl ConnectionId {
    /// Parses an id.
    ///
    /// # Errors
    /// `validation` when it is empty, blank, too long or has control characters.
    pub fn parse(id: &str) -> Result<Self, EngineError> {
        parse(id, text::ID_INVALID).map(Self)
    }

    /// The id.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The rule of names and ids that the engine does not look into; `message` says whose it is.
pub(crate) fn parse(text: &str, message: &'static str) -> Result<Arc<str>, EngineError> {
    let well_formed =
        text.len() <= BYTES_MAX && !text.trim().is_empty() && !text.chars().any(char::is_control);
    if well_formed {
        Ok(text.into())
    } else {
        Err(EngineError::validation(Stage::Validate, message))
    }
}

impl fmt::Display for ConnectionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for ConnectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

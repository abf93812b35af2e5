//! What an extraction answers. Keeps true: rows read, encoded and written are the same number;
//! the digest is over exactly the bytes.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::RequestId;
use crate::digest::Digest;
use crate::encode::{Document, Format};
use crate::error::EngineError;

/// Where a result goes.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum Mode {
    /// Store mode if a result sink is wired, else direct mode.
    #[default]
    Auto,
    /// One JSON document, handed to the caller.
    Direct,
    /// NDJSON, streamed to the result sink in constant memory.
    Store,
}

impl Mode {
    /// The stable string.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Direct => "direct",
            Self::Store => "store",
        }
    }

    /// The mode with this stable string.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Auto, Self::Direct, Self::Store].into_iter().find(|mode| mode.as_str() == text)
    }
}

/// What the failure of one datasource means for the others.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum FailurePolicy {
    /// The first failure ends the extraction; there is no partial result.
    #[default]
    FailFast,
    /// What succeeds is kept, what fails is listed. Direct mode only: a sink cannot unwrite.
    Collect,
}

/// A successful extraction.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ExtractionResult {
    /// The request's id, if it had one.
    pub request_id: Option<RequestId>,
    /// The form of the bytes.
    pub format: Format,
    /// How many rows, over all tables.
    pub rows: u64,
    /// How many bytes.
    pub bytes: u64,
    /// SHA-256 over exactly those bytes.
    pub digest: Digest,
    /// Rows and bytes per table, in the order of the plan.
    pub tables: Vec<TableCount>,
    /// The bytes, or where they are.
    pub output: Output,
    /// What failed, under [`FailurePolicy::Collect`]; in the order of the plan.
    pub failures: Vec<StepFailure>,
    /// The request's metadata.
    pub metadata: BTreeMap<String, String>,
}

/// Where the bytes of a result are.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Output {
    /// Here: direct mode.
    Document(Document),
    /// With the result sink, which gave this receipt: store mode.
    Stored(Receipt),
}

/// What one table gave.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct TableCount {
    /// The datasource's config name.
    pub datasource: Arc<str>,
    /// The table.
    pub table: Arc<str>,
    /// Rows read, which is rows encoded and rows written.
    pub rows: u64,
    /// The bytes of these rows in the result, in direct mode with the commas between them.
    pub bytes: u64,
}

/// A datasource that gave nothing because it failed.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct StepFailure {
    /// The datasource's config name.
    pub datasource: Arc<str>,
    /// Why, with category and stage.
    pub error: EngineError,
}

impl StepFailure {
    pub(crate) fn new(datasource: Arc<str>, error: EngineError) -> Self {
        Self { datasource, error }
    }
}

/// What a result sink says about what it took.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Receipt {
    /// How to find it again: a path, a key, a URL.
    pub reference: String,
    /// The sink's own proof of integrity, if it has one.
    pub integrity: Option<Integrity>,
    /// How the stored bytes are protected, if they are.
    pub protection: Option<Protection>,
}

impl Receipt {
    /// A receipt with this reference.
    #[must_use]
    pub fn new(reference: impl Into<String>) -> Self {
        Self { reference: reference.into(), integrity: None, protection: None }
    }

    /// With the sink's own proof of integrity.
    #[must_use]
    pub fn integrity(mut self, algorithm: impl Into<String>, value: impl Into<String>) -> Self {
        let (algorithm, value) = (algorithm.into(), value.into());
        self.integrity = Some(Integrity { algorithm, value });
        self
    }

    /// With a word on how the stored bytes are protected, and by whom.
    #[must_use]
    pub fn protection(mut self, by: ProtectedBy, method: impl Into<String>) -> Self {
        self.protection = Some(Protection { by, method: method.into() });
        self
    }
}

/// A sink's own proof of integrity: an HMAC or an object store's checksum.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Integrity {
    /// How it was made.
    pub algorithm: String,
    /// The proof.
    pub value: String,
}

/// How stored bytes are protected.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Protection {
    /// Who does it: exactly one.
    pub by: ProtectedBy,
    /// How: `aes-256-gcm`, say.
    pub method: String,
}

/// Who protects a stored result.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum ProtectedBy {
    /// The engine.
    Engine,
    /// The adapter that implements the sink.
    Adapter,
    /// The host.
    Host,
}

impl ProtectedBy {
    /// The stable string.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Engine => "engine",
            Self::Adapter => "adapter",
            Self::Host => "host",
        }
    }
}

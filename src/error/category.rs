//! The eleven categories and the stages of an operation. Their strings never change.

use core::fmt;

/// Why an operation did not succeed. Exactly eleven; the strings are stable.
///
/// | category | when | suggested HTTP status |
/// | --- | --- | --- |
/// | `validation` | the input or the configuration is wrong; repeating it unchanged cannot help | 422 |
/// | `not_found` | the tenant has no such connection (nobody's and somebody else's look alike) | 404 |
/// | `unauthorized` | a port says that the caller is not known | 401 |
/// | `forbidden` | a port says that the caller may not do this | 403 |
/// | `limit_exceeded` | a count, a size or a number of rows is over its limit | 413 |
/// | `conflict` | a duplicate, a connection that is in use, or one changed since the plan was made | 409 |
/// | `unavailable` | a store, a sink or a datasource does not answer; trying later may help | 503 |
/// | `connect` | the datasource cannot be connected to, whatever the reason | 502 |
/// | `timeout` | the deadline passed | 504 |
/// | `canceled` | the host canceled | 499 |
/// | `internal` | a bug in a port or in the engine: a panic, a broken contract | 500 |
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[expect(clippy::exhaustive_enums, reason = "eleven is the contract: a host maps each of them")]
pub enum Category {
    /// The input or the configuration is wrong.
    Validation,
    /// The tenant has no such thing.
    NotFound,
    /// The caller is not known.
    Unauthorized,
    /// The caller may not do this.
    Forbidden,
    /// Over a limit.
    LimitExceeded,
    /// A duplicate, or in use.
    Conflict,
    /// Somebody does not answer.
    Unavailable,
    /// The datasource cannot be connected to.
    Connect,
    /// The deadline passed.
    Timeout,
    /// The host canceled.
    Canceled,
    /// A bug in a port or in the engine.
    Internal,
}

impl Category {
    /// All eleven, in the order of the table above.
    pub const ALL: [Self; 11] = [
        Self::Validation,
        Self::NotFound,
        Self::Unauthorized,
        Self::Forbidden,
        Self::LimitExceeded,
        Self::Conflict,
        Self::Unavailable,
        Self::Connect,
        Self::Timeout,
        Self::Canceled,
        Self::Internal,
    ];

    /// The stable string.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Validation => "validation",
            Self::NotFound => "not_found",
            Self::Unauthorized => "unauthorized",
            Self::Forbidden => "forbidden",
            Self::LimitExceeded => "limit_exceeded",
            Self::Conflict => "conflict",
            Self::Unavailable => "unavailable",
            Self::Connect => "connect",
            Self::Timeout => "timeout",
            Self::Canceled => "canceled",
            Self::Internal => "internal",
        }
    }

    /// The category with this stable string.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|category| category.as_str() == text)
    }
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Where in an operation an error arose.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[non_exhaustive]
pub enum Stage {
    /// Building the engine.
    Configure,
    /// Looking at the input, before any port is asked.
    Validate,
    /// Asking the connection store.
    Store,
    /// Asking for active executions.
    Check,
    /// Protecting a credential.
    Protect,
    /// Making a connector (no I/O).
    Build,
    /// Connecting to the datasource.
    Connect,
    /// Reading the datasource's catalogue.
    Discover,
    /// Opening the query.
    Query,
    /// Fetching rows.
    Read,
    /// Turning rows into bytes.
    Encode,
    /// Handing bytes to the result sink.
    Persist,
    /// Giving a connector back.
    Close,
    /// Reading or writing the schema cache.
    Cache,
    /// Writing the execution's state.
    Record,
    /// Waiting: the deadline or a cancel ended it.
    Run,
}

impl Stage {
    /// The stable string.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Configure => "configure",
            Self::Validate => "validate",
            Self::Store => "store",
            Self::Check => "check",
            Self::Protect => "protect",
            Self::Build => "build",
            Self::Connect => "connect",
            Self::Discover => "discover",
            Self::Query => "query",
            Self::Read => "read",
            Self::Encode => "encode",
            Self::Persist => "persist",
            Self::Close => "close",
            Self::Cache => "cache",
            Self::Record => "record",
            Self::Run => "run",
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

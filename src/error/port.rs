//! What a port answers when it fails: a category, and a cause that stays private.
//!
//! Keeps true: the cause never reaches `Display`, `Debug` or the standard error chain of anything
//! here; only [`PortError::cause`] hands it out, and the engine gives that to the host's own hook.

use alloc::boxed::Box;
use alloc::string::String;
use core::fmt;

use super::Category;

/// Any error that a driver may raise.
pub type BoxError = Box<dyn core::error::Error + Send + Sync + 'static>;

/// The failure of a port, as its implementor reports it.
///
/// The category decides what the caller of the engine sees. The cause (a driver's error, say) goes
/// to the host's `Observability` port and nowhere else, because such text may hold a DSN, a
/// password or a row.
///
/// ```
/// use fetcher_engine::{Category, PortError};
///
/// let error = PortError::unavailable().caused_by("password=hunter2 rejected");
/// assert_eq!(error.category(), Category::Unavailable);
/// assert!(!format!("{error} {error:?}").contains("hunter2"));
/// ```
pub struct PortError {
    category: Category,
    table: Option<Box<str>>,
    cause: Option<BoxError>,
}

impl PortError {
    /// A failure of this category, without a cause.
    #[must_use]
    pub const fn new(category: Category) -> Self {
        Self { category, table: None, cause: None }
    }

    /// Something was asked for that cannot be: a filter that does not apply, for instance.
    #[must_use]
    pub const fn validation() -> Self {
        Self::new(Category::Validation)
    }

    /// It is not there.
    #[must_use]
    pub const fn not_found() -> Self {
        Self::new(Category::NotFound)
    }

    /// It is there already.
    #[must_use]
    pub const fn conflict() -> Self {
        Self::new(Category::Conflict)
    }

    /// The other side does not answer or broke off; trying later may help.
    #[must_use]
    pub const fn unavailable() -> Self {
        Self::new(Category::Unavailable)
    }

    /// A bug: the port's own, or a broken contract.
    #[must_use]
    pub const fn internal() -> Self {
        Self::new(Category::Internal)
    }

    /// Adds the private cause.
    #[must_use]
    pub fn caused_by(mut self, cause: impl Into<BoxError>) -> Self {
        self.cause = Some(cause.into());
        self
    }

    /// Names the table concerned. The engine passes it on only if the plan contains that table.
    #[must_use]
    pub fn at_table(mut self, table: impl Into<String>) -> Self {
        self.table = Some(table.into().into_boxed_str());
        self
    }

    /// The category.
    #[must_use]
    pub fn category(&self) -> Category {
        self.category
    }

    /// The table concerned, as the port named it.
    #[must_use]
    pub fn table(&self) -> Option<&str> {
        self.table.as_deref()
    }

    /// The private cause. Whoever asks for it answers for where it goes.
    #[must_use]
    pub fn cause(&self) -> Option<&(dyn core::error::Error + Send + Sync + 'static)> {
        self.cause.as_deref()
    }

    pub(crate) fn into_cause(self) -> Option<BoxError> {
        self.cause
    }
}

impl From<Category> for PortError {
    fn from(category: Category) -> Self {
        Self::new(category)
    }
}

impl fmt::Display for PortError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "port failure: {}", self.category)
    }
}

impl fmt::Debug for PortError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PortError")
            .field("category", &self.category)
            .field("has_cause", &self.cause.is_some())
            .finish_non_exhaustive()
    }
}

// No `source()`: an error chain is printed by every logger, and the cause is private.
impl core::error::Error for PortError {}

//! What can go wrong, as data: eleven categories, fixed text, a stage and a place.
//!
//! Keeps true: an [`EngineError`] is one word wide; its message is a `&'static str`, so nothing
//! that a driver, a store or a user wrote can be in it; the cause of a port's failure is not part
//! of it (the host gets that through its `Observability` port, and only there).

mod category;
mod port;
mod report;
pub(crate) mod text;

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt;

pub use category::{Category, Stage};
pub use port::{BoxError, PortError};
pub use report::{Mistake, MistakeKind, ValidationReport};

/// What an engine operation answers when it does not succeed.
///
/// A host decides by [`category`](Self::category), shows [`message`](Self::message) and may log all
/// of it: neither `Display` nor `Debug` can contain a secret, a row value or a driver's text.
///
/// ```
/// use fetcher_engine::{Category, TenantId};
///
/// let error = TenantId::parse("../etc").unwrap_err();
/// assert_eq!(error.category(), Category::Validation);
/// assert_eq!(error.to_string(), "validation: tenant id is not valid");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct EngineError(Box<Inner>);

#[derive(Clone, PartialEq, Eq)]
struct Inner {
    category: Category,
    message: &'static str,
    stage: Stage,
    datasource: Option<Arc<str>>,
    table: Option<Arc<str>>,
    report: Option<ValidationReport>,
}

impl EngineError {
    pub(crate) fn new(category: Category, stage: Stage, message: &'static str) -> Self {
        Self(Box::new(Inner {
            category,
            message,
            stage,
            datasource: None,
            table: None,
            report: None,
        }))
    }

    /// Malformed input or configuration: the commonest refusal.
    pub(crate) fn validation(stage: Stage, message: &'static str) -> Self {
        Self::new(Category::Validation, stage, message)
    }

    /// A refused request with every mistake that was found in it.
    pub(crate) fn refused(report: ValidationReport) -> Self {
        let category = report.category();
        let mut error = Self::new(category, Stage::Validate, text::refused(category));
        error.0.report = Some(report);
        error
    }

    pub(crate) fn at_datasource(mut self, datasource: &Arc<str>) -> Self {
        self.0.datasource = Some(Arc::clone(datasource));
        self
    }

    pub(crate) fn at_table(mut self, table: Option<&Arc<str>>) -> Self {
        self.0.table = table.map(Arc::clone);
        self
    }

    /// The category: what a host maps to an HTTP status or a queue action.
    #[must_use]
    pub fn category(&self) -> Category {
        self.0.category
    }

    /// The fixed text. Never contains input, secrets or a driver's words.
    #[must_use]
    pub fn message(&self) -> &'static str {
        self.0.message
    }

    /// Where in an operation it happened.
    #[must_use]
    pub fn stage(&self) -> Stage {
        self.0.stage
    }

    /// The config name of the datasource concerned, where there is one.
    #[must_use]
    pub fn datasource(&self) -> Option<&str> {
        self.0.datasource.as_deref()
    }

    /// The table concerned, where it is known.
    #[must_use]
    pub fn table(&self) -> Option<&str> {
        self.0.table.as_deref()
    }

    /// Every mistake of a refused request, where this is the refusal of one.
    #[must_use]
    pub fn report(&self) -> Option<&ValidationReport> {
        self.0.report.as_ref()
    }
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.category, self.0.message)
    }
}

impl fmt::Debug for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("EngineError");
        out.field("category", &self.0.category).field("message", &self.0.message);
        out.field("stage", &self.0.stage);
        if let Some(datasource) = self.datasource() {
            out.field("datasource", &datasource);
        }
        if let Some(table) = self.table() {
            out.field("table", &table);
        }
        if let Some(report) = self.report() {
            out.field("report", report);
        }
        out.finish()
    }
}

impl core::error::Error for EngineError {}

//! Every mistake of a request at once: what `validate_schema` answers and a refused plan carries.
//!
//! Keeps true: entries are sorted and free of duplicates, whatever the order of finding.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::Category;

/// What is wrong with one part of a request. The strings are stable.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[non_exhaustive]
pub enum MistakeKind {
    /// The tenant has no connection of this name.
    DatasourceNotFound,
    /// The datasource has no such table.
    TableNotFound,
    /// The table has no such field.
    FieldNotFound,
    /// The filter cannot be applied; the detail says why.
    InvalidFilter,
    /// More than a limit allows; the detail says which.
    LimitExceeded,
}

impl MistakeKind {
    /// The stable string.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::DatasourceNotFound => "datasource_not_found",
            Self::TableNotFound => "table_not_found",
            Self::FieldNotFound => "field_not_found",
            Self::InvalidFilter => "invalid_filter",
            Self::LimitExceeded => "limit_exceeded",
        }
    }

    /// The category of a refusal for this reason alone.
    #[must_use]
    pub const fn category(self) -> Category {
        match self {
            Self::DatasourceNotFound => Category::NotFound,
            Self::LimitExceeded => Category::LimitExceeded,
            Self::TableNotFound | Self::FieldNotFound | Self::InvalidFilter => Category::Validation,
        }
    }
}

/// One mistake, and where it is. The names are the request's own.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
#[non_exhaustive]
pub struct Mistake {
    /// The config name; `None` where the request as a whole is concerned.
    pub datasource: Option<Arc<str>>,
    /// The table, as requested.
    pub table: Option<Arc<str>>,
    /// The field, as requested.
    pub field: Option<Arc<str>>,
    /// What is wrong.
    pub kind: MistakeKind,
    /// A fixed text that says more.
    pub detail: &'static str,
}

impl Mistake {
    pub(crate) fn new(kind: MistakeKind, detail: &'static str) -> Self {
        Self { datasource: None, table: None, field: None, kind, detail }
    }

    pub(crate) fn datasource(mut self, name: &Arc<str>) -> Self {
        self.datasource = Some(Arc::clone(name));
        self
    }

    pub(crate) fn table(mut self, name: &Arc<str>) -> Self {
        self.table = Some(Arc::clone(name));
        self
    }

    pub(crate) fn field(mut self, name: &Arc<str>) -> Self {
        self.field = Some(Arc::clone(name));
        self
    }
}

/// All mistakes of a request, sorted by datasource, table, field and kind. Empty: it is in order.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ValidationReport {
    mistakes: Vec<Mistake>,
}

impl ValidationReport {
    pub(crate) fn new(mut mistakes: Vec<Mistake>) -> Self {
        mistakes.sort();
        mistakes.dedup();
        Self { mistakes }
    }

    /// Whether nothing is wrong.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        self.mistakes.is_empty()
    }

    /// The mistakes, sorted.
    #[must_use]
    pub fn mistakes(&self) -> &[Mistake] {
        &self.mistakes
    }

    /// The category of a refusal for these reasons: that of the earliest gate that refuses.
    ///
    /// Limits come before scope, and scope before the schema: `limit_exceeded` if any limit is
    /// exceeded, else `not_found` if a datasource is unknown, else `validation`.
    #[must_use]
    pub fn category(&self) -> Category {
        let has = |kind| self.mistakes.iter().any(|mistake| mistake.kind == kind);
        if has(MistakeKind::LimitExceeded) {
            Category::LimitExceeded
        } else if has(MistakeKind::DatasourceNotFound) {
            Category::NotFound
        } else {
            Category::Validation
        }
    }
}

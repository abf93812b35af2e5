//! The sealed plan: what will be read, from where, in which order, under which limits.
//!
//! Keeps true: only `plan_extraction` makes one; datasources, tables and fields are sorted, so
//! equal requests give equal plans; it holds no secret, and `Debug` shows no filter values.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::RequestId;
use crate::connection::{ConnectionId, ConnectionName, Fingerprint};
use crate::encode::{Format, StepShape};
use crate::filter::Filter;
use crate::limits::Limits;
use crate::tenant::TenantId;

/// A checked extraction, ready to run. Cheap to clone.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ExtractionPlan(Arc<PlanParts>);

#[derive(Debug, Eq, PartialEq)]
pub(crate) struct PlanParts {
    pub(crate) tenant: TenantId,
    pub(crate) request_id: Option<RequestId>,
    pub(crate) limits: Limits,
    pub(crate) metadata: BTreeMap<String, String>,
    pub(crate) steps: Vec<PlannedDatasource>,
}

impl ExtractionPlan {
    pub(crate) fn seal(parts: PlanParts) -> Self {
        Self(Arc::new(parts))
    }

    /// Whose extraction this is.
    #[must_use]
    pub fn tenant(&self) -> &TenantId {
        &self.0.tenant
    }

    /// The request's id, if it had one.
    #[must_use]
    pub fn request_id(&self) -> Option<&RequestId> {
        self.0.request_id.as_ref()
    }

    /// The effective limits.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.0.limits
    }

    /// The request's metadata.
    #[must_use]
    pub fn metadata(&self) -> &BTreeMap<String, String> {
        &self.0.metadata
    }

    /// The steps, one per datasource, sorted by config name.
    #[must_use]
    pub fn steps(&self) -> &[PlannedDatasource] {
        &self.0.steps
    }
}

/// One step of a plan: everything that is read from one datasource.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PlannedDatasource {
    pub(crate) name: ConnectionName,
    pub(crate) connection: ConnectionId,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) tables: Arc<[PlannedTable]>,
}

impl PlannedDatasource {
    /// The config name.
    #[must_use]
    pub fn name(&self) -> &ConnectionName {
        &self.name
    }

    /// The connection's id when the plan was made.
    #[must_use]
    pub fn connection(&self) -> &ConnectionId {
        &self.connection
    }

    /// The tables, sorted by name.
    #[must_use]
    pub fn tables(&self) -> &[PlannedTable] {
        &self.tables
    }

    pub(crate) fn shape(&self, format: Format) -> StepShape {
        let tables =
            self.tables.iter().map(|table| (Arc::clone(&table.name), Arc::clone(&table.fields)));
        StepShape::new(format, Arc::clone(self.name.shared()), tables)
    }
}

/// One table of a step.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PlannedTable {
    pub(crate) name: Arc<str>,
    pub(crate) fields: Arc<[Arc<str>]>,
    pub(crate) filters: Vec<Filter>,
}

impl PlannedTable {
    /// A table to be read, for tests of connectors. Fields are sorted, each once.
    #[must_use]
    pub fn new<F: Into<Arc<str>>>(
        name: impl Into<Arc<str>>,
        fields: impl IntoIterator<Item = F>,
        filters: Vec<Filter>,
    ) -> Self {
        let mut fields: Vec<Arc<str>> = fields.into_iter().map(Into::into).collect();
        fields.sort();
        fields.dedup();
        Self { name: name.into(), fields: fields.into(), filters }
    }

    /// Its canonical name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its fields, sorted by bytes: the order in which a connector had best declare its columns.
    #[must_use]
    pub fn fields(&self) -> &[Arc<str>] {
        &self.fields
    }

    /// The conditions, all of which must be true of a row.
    #[must_use]
    pub fn filters(&self) -> &[Filter] {
        &self.filters
    }
}

//! What a host asks for. Keeps true: a request is data; nothing in it is checked before an
//! operation takes it, and then all of it at once.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use crate::connection::parse_opaque;
use crate::error::{EngineError, Mistake, MistakeKind, Stage, text};
use crate::filter::Filter;
use crate::limits::{LimitOverrides, Limits, exceeds};

/// The longest table or field name, in bytes: far above what any database allows.
const NAME_BYTES_MAX: usize = 1024;
/// The longest datasource name, in bytes.
const ID_BYTES_MAX: usize = 256;
/// How much metadata may travel with a request.
const METADATA_ENTRIES_MAX: usize = 256;
const METADATA_BYTES_MAX: usize = 64 << 10;

/// The identity of one extraction: what an execution store files it under.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct RequestId(Arc<str>);

impl RequestId {
    /// Parses an id: 1 to 256 bytes, not blank, no control characters.
    ///
    /// # Errors
    /// `validation` when it is not one.
    pub fn parse(id: &str) -> Result<Self, EngineError> {
        parse_opaque(id, text::REQUEST_ID_INVALID).map(Self)
    }

    /// The id.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The fields of one table.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TableRequest {
    datasource: Arc<str>,
    table: Arc<str>,
    /// Sorted, each once.
    fields: Arc<[Arc<str>]>,
}

impl TableRequest {
    /// The config name of the datasource.
    #[must_use]
    pub fn datasource(&self) -> &str {
        &self.datasource
    }

    /// The table.
    #[must_use]
    pub fn table(&self) -> &str {
        &self.table
    }

    /// The fields, sorted, each once.
    #[must_use]
    pub fn fields(&self) -> &[Arc<str>] {
        &self.fields
    }
}

/// A request for data: tables of datasources, fields of tables, filters.
///
/// ```
/// use fetcher_engine::{ExtractionRequest, Filter};
///
/// let request = ExtractionRequest::new()
///     .request_id("report-2024-03")
///     .table("crm", "customers", ["id", "name", "created_at"])
///     .table("shop", "orders", ["*"])
///     .filter("crm", "customers", Filter::gte("created_at", "2024-03-01"));
/// ```
#[derive(Clone, Debug, Default)]
pub struct ExtractionRequest {
    request_id: Option<String>,
    tables: Vec<TableRequest>,
    filters: Vec<(Arc<str>, Arc<str>, Filter)>,
    limits: LimitOverrides,
    metadata: BTreeMap<String, String>,
}

impl ExtractionRequest {
    /// A request for nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// With this id. Required where an execution store is wired.
    #[must_use]
    pub fn request_id(mut self, id: impl Into<String>) -> Self {
        self.request_id = Some(id.into());
        self
    }

    /// With these fields of this table. `["*"]` means all that the table has. A field that is
    /// named twice is read once.
    #[must_use]
    pub fn table<F>(
        mut self,
        datasource: impl Into<Arc<str>>,
        table: impl Into<Arc<str>>,
        fields: impl IntoIterator<Item = F>,
    ) -> Self
    where
        F: Into<Arc<str>>,
    {
        let mut fields: Vec<Arc<str>> = fields.into_iter().map(Into::into).collect();
        fields.sort();
        fields.dedup();
        self.tables.push(TableRequest {
            datasource: datasource.into(),
            table: table.into(),
            fields: fields.into(),
        });
        self
    }

    /// With one more condition on a table that is requested. All of them must be true of a row.
    #[must_use]
    pub fn filter(
        mut self,
        datasource: impl Into<Arc<str>>,
        table: impl Into<Arc<str>>,
        filter: Filter,
    ) -> Self {
        self.filters.push((datasource.into(), table.into(), filter));
        self
    }

    /// With lower limits than the engine's.
    #[must_use]
    pub fn limits(mut self, limits: LimitOverrides) -> Self {
        self.limits = limits;
        self
    }

    /// With one more entry of metadata, which travels to the result.
    #[must_use]
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }

    /// The tables, in the order in which they were added.
    #[must_use]
    pub fn tables(&self) -> &[TableRequest] {
        &self.tables
    }
}

/// A well-formed request, grouped and sorted; borrowed from the request.
pub(crate) struct Wanted<'a> {
    pub(crate) request_id: Option<RequestId>,
    pub(crate) limits: Limits,
    pub(crate) metadata: &'a BTreeMap<String, String>,
    pub(crate) datasources: Vec<WantedDatasource<'a>>,
    /// Mistakes that need no schema to be seen.
    pub(crate) mistakes: Vec<Mistake>,
}

pub(crate) struct WantedDatasource<'a> {
    pub(crate) name: &'a Arc<str>,
    /// Sorted by name.
    pub(crate) tables: Vec<WantedTable<'a>>,
}

pub(crate) struct WantedTable<'a> {
    pub(crate) name: &'a Arc<str>,
    pub(crate) fields: &'a Arc<[Arc<str>]>,
    pub(crate) filters: Vec<&'a Filter>,
}

impl WantedTable<'_> {
    /// Whether all of the table's fields are meant.
    pub(crate) fn is_all(&self) -> bool {
        matches!(&**self.fields, [field] if **field == *"*")
    }
}

impl<'a> Wanted<'a> {
    /// The gates "well-formed" and "limits", which need no port.
    ///
    /// Exceeded counts and misplaced filters are mistakes, not errors: a report lists them all.
    pub(crate) fn parse(
        request: &'a ExtractionRequest,
        limits: &Limits,
    ) -> Result<Self, EngineError> {
        request.check()?;
        let request_id = request.request_id.as_deref().map(RequestId::parse).transpose()?;
        let mut tables: Vec<&TableRequest> = request.tables.iter().collect();
        tables.sort_by(|a, b| a.place().cmp(&b.place()));
        if !tables.is_sorted_by(|a, b| a.place() < b.place()) {
            return Err(EngineError::validation(Stage::Validate, text::TABLE_TWICE));
        }
        let mut wanted = Self {
            request_id,
            limits: limits.lowered_by(&request.limits)?,
            metadata: &request.metadata,
            datasources: Vec::new(),
            mistakes: Vec::new(),
        };
        for group in tables.chunk_by(|a, b| a.datasource == b.datasource) {
            wanted.datasources.extend(group.first().map(|first| WantedDatasource {
                name: &first.datasource,
                tables: group.iter().map(|table| table.wanted()).collect(),
            }));
        }
        wanted.place_filters(&request.filters);
        wanted.count();
        Ok(wanted)
    }

    /// Notes the counts that are over a limit.
    fn count(&mut self) {
        let limits = &self.limits;
        let mistakes = &mut self.mistakes;
        let kind = MistakeKind::LimitExceeded;
        if exceeds(self.datasources.len(), limits.max_datasources.into()) {
            // One entry says it all; a million datasources make no million entries.
            mistakes.push(Mistake::new(kind, text::TOO_MANY_DATASOURCES));
            return;
        }
        for datasource in &self.datasources {
            if exceeds(datasource.tables.len(), limits.max_tables_per_datasource.into()) {
                let mistake = Mistake::new(kind, text::TOO_MANY_TABLES);
                mistakes.push(mistake.datasource(datasource.name));
                continue;
            }
            for table in &datasource.tables {
                if exceeds(table.fields.len(), limits.max_fields_per_table.into()) {
                    let mistake = Mistake::new(kind, text::TOO_MANY_FIELDS);
                    mistakes.push(mistake.datasource(datasource.name).table(table.name));
                }
            }
        }
    }

    /// Hands each filter to its table; notes those whose place is not requested, and too many.
    fn place_filters(&mut self, filters: &'a [(Arc<str>, Arc<str>, Filter)]) {
        let mut places: BTreeMap<(&Arc<str>, &Arc<str>), Vec<&Filter>> = BTreeMap::new();
        for (datasource, table, filter) in filters {
            places.entry((datasource, table)).or_default().push(filter);
        }
        let limits = &self.limits;
        let most = u64::from(limits.max_datasources) * u64::from(limits.max_tables_per_datasource);
        let too_many = || Mistake::new(MistakeKind::LimitExceeded, text::TOO_MANY_FILTERS);
        if exceeds(places.len(), most) {
            return self.mistakes.push(too_many());
        }
        for ((datasource, table), filters) in places {
            if exceeds(filters.len(), limits.max_fields_per_table.into()) {
                self.mistakes.push(too_many().datasource(datasource).table(table));
                continue;
            }
            let found = self.datasources.binary_search_by(|wanted| wanted.name.cmp(datasource));
            let wanted = found.ok().and_then(|at| self.datasources.get_mut(at));
            let tables = wanted.map(|wanted| &mut wanted.tables);
            let detail =
                if tables.is_some() { text::FILTER_TABLE } else { text::FILTER_DATASOURCE };
            let table_wanted = tables.and_then(|tables| {
                let at = tables.binary_search_by(|wanted| wanted.name.cmp(table)).ok()?;
                tables.get_mut(at)
            });
            match table_wanted {
                Some(wanted) => wanted.filters = filters,
                None => self.mistakes.extend(filters.iter().map(|filter| {
                    let mistake = Mistake::new(MistakeKind::InvalidFilter, detail);
                    mistake.datasource(datasource).table(table).field(filter.shared_field())
                })),
            }
        }
    }
}

impl TableRequest {
    fn place(&self) -> (&str, &str) {
        (&self.datasource, &self.table)
    }

    fn wanted(&self) -> WantedTable<'_> {
        WantedTable { name: &self.table, fields: &self.fields, filters: Vec::new() }
    }
}

impl ExtractionRequest {
    /// Whether every name in it is one, and there is anything in it.
    fn check(&self) -> Result<(), EngineError> {
        let refuse = |message| Err(EngineError::validation(Stage::Validate, message));
        if self.tables.is_empty() {
            return refuse(text::REQUEST_EMPTY);
        }
        for table in &self.tables {
            if !is_name(&table.datasource, ID_BYTES_MAX) {
                return refuse(text::DATASOURCE_NAME_INVALID);
            }
            if !is_name(&table.table, NAME_BYTES_MAX) {
                return refuse(text::TABLE_NAME_INVALID);
            }
            if table.fields.is_empty() {
                return refuse(text::FIELDS_EMPTY);
            }
            if !table.fields.iter().all(|field| is_name(field, NAME_BYTES_MAX)) {
                return refuse(text::FIELD_NAME_INVALID);
            }
        }
        for (datasource, table, filter) in &self.filters {
            if !is_name(datasource, ID_BYTES_MAX) {
                return refuse(text::DATASOURCE_NAME_INVALID);
            }
            if !is_name(table, NAME_BYTES_MAX) {
                return refuse(text::TABLE_NAME_INVALID);
            }
            if !is_name(filter.field(), NAME_BYTES_MAX) {
                return refuse(text::FIELD_NAME_INVALID);
            }
        }
        let sizes = self.metadata.iter().map(|(key, value)| key.len().saturating_add(value.len()));
        let bytes = sizes.fold(0_usize, usize::saturating_add);
        if self.metadata.len() > METADATA_ENTRIES_MAX || bytes > METADATA_BYTES_MAX {
            return refuse(text::METADATA_INVALID);
        }
        Ok(())
    }
}

/// Databases allow nearly everything in an identifier, so this does too.
fn is_name(name: &str, bytes_max: usize) -> bool {
    name.len() <= bytes_max && !is_blank(name) && !name.contains('\0')
}

fn is_blank(text: &str) -> bool {
    text.chars().all(char::is_whitespace)
}

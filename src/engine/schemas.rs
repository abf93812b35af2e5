//! Schemas: testing a connection, discovering what it has, checking a request against it.

use alloc::boxed::Box;
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::connections::Key;
use super::{Engine, Inner, Op, operation};
use crate::connection::{ConnectionDescriptor, ConnectionName};
use crate::error::{EngineError, Mistake, MistakeKind, PortError, Stage, ValidationReport, text};
use crate::extraction::{ExtractionRequest, PlannedDatasource, PlannedTable, Wanted, WantedTable};
use crate::filter::Filter;
use crate::limits::{Limits, exceeds};
use crate::ports::BoxFuture;
use crate::rt::Stop;
use crate::run::{Fault, Outcome, call, contained, discover, factory, probe, together};
use crate::schema::{Checked, SchemaSnapshot, TableSchema, check_table};
use crate::tenant::{AsTenant, TenantId};

type Tenant = Result<TenantId, EngineError>;

impl Engine {
    /// Connects to a datasource and closes again.
    ///
    /// # Errors
    /// `validation` malformed name · `not_found` · `connect` it cannot be connected to · `timeout`
    /// · `unavailable` the store does not answer.
    ///
    /// # Cancel safety
    /// After a drop the connection is released.
    pub async fn test_connection(
        &self,
        tenant: &(impl AsTenant + ?Sized),
        name: &str,
    ) -> Result<(), EngineError> {
        let (tenant, key) = (tenant.as_tenant(), Key::name(name));
        operation!(self, "fetcher.test_connection", op => test(&mut op, tenant, key))
    }

    /// The schema of a datasource: from the cache if it has one of this connection, else live.
    ///
    /// # Errors
    /// `validation` malformed name · `not_found` · `connect` · `timeout` · what the connector says.
    /// The cache's failures are none.
    ///
    /// # Cancel safety
    /// After a drop the connection is released.
    pub async fn discover_schema(
        &self,
        tenant: &(impl AsTenant + ?Sized),
        name: &str,
    ) -> Result<Arc<SchemaSnapshot>, EngineError> {
        let (tenant, key) = (tenant.as_tenant(), Key::name(name));
        operation!(self, "fetcher.discover_schema", op => schema(&mut op, tenant, key, true))
    }

    /// The schema of a datasource, always live; the cache is neither read nor written.
    ///
    /// # Errors
    /// As [`discover_schema`](Self::discover_schema).
    ///
    /// # Cancel safety
    /// After a drop the connection is released.
    pub async fn discover_schema_fresh(
        &self,
        tenant: &(impl AsTenant + ?Sized),
        name: &str,
    ) -> Result<Arc<SchemaSnapshot>, EngineError> {
        let (tenant, key) = (tenant.as_tenant(), Key::name(name));
        operation!(self, "fetcher.discover_schema_fresh", op => schema(&mut op, tenant, key, false))
    }

    /// Every mistake in a request, sorted.
    ///
    /// # Errors
    /// `validation` malformed input (a blank name, a table requested twice) · `connect`, `timeout`,
    /// `unavailable` when a datasource is down: that is no mistake of the request.
    ///
    /// # Cancel safety
    /// After a drop the connections are released.
    pub async fn validate_schema(
        &self,
        tenant: &(impl AsTenant + ?Sized),
        request: &ExtractionRequest,
    ) -> Result<ValidationReport, EngineError> {
        let tenant = tenant.as_tenant();
        operation!(self, "fetcher.validate_schema", op => validate(&mut op, tenant, request))
    }
}

async fn test(op: &mut Op, tenant: Tenant, key: Result<Key, EngineError>) -> Result<(), Fault> {
    let (store, tenant) = op.enter(tenant)?;
    let connection = op.find(&*store, &tenant, &key?).await?;
    let Op { engine, stop, degraded } = op;
    probe(&engine.ports, &engine.limits, stop, connection, degraded).await
}

async fn schema(
    op: &mut Op,
    tenant: Tenant,
    key: Result<Key, EngineError>,
    cached: bool,
) -> Result<Arc<SchemaSnapshot>, Fault> {
    let (store, tenant) = op.enter(tenant)?;
    let connection = op.find(&*store, &tenant, &key?).await?;
    let Op { engine, stop, degraded } = op;
    if cached {
        return load(engine, stop, connection, degraded).await;
    }
    discover(&engine.ports, &engine.limits, stop, connection, degraded).await.map(Arc::new)
}

/// The schema of a connection: the cached one if it is of exactly this connection, else live.
async fn load(
    engine: &Inner,
    stop: &Stop,
    connection: ConnectionDescriptor,
    degraded: &mut Vec<Fault>,
) -> Result<Arc<SchemaSnapshot>, Fault> {
    let (tenant, name) = (connection.tenant.clone(), connection.name.clone());
    let origin = connection.fingerprint();
    if let Some(cache) = &engine.ports.cache {
        let get = || cache.get(&tenant, &name);
        let cached = ask_cache(engine, stop, degraded, get).await.flatten();
        if let Some(snapshot) = cached.filter(|snapshot| snapshot.origin() == origin) {
            return Ok(snapshot);
        }
    }
    let found = discover(&engine.ports, &engine.limits, stop, connection, degraded).await?;
    let found = Arc::new(found);
    if let Some(cache) = &engine.ports.cache {
        let put = || cache.put(&tenant, &name, Arc::clone(&found));
        ask_cache(engine, stop, degraded, put).await;
    }
    Ok(found)
}

/// Asks the cache within the teardown budget: an accelerator that takes longer is none. Its
/// failures change nothing.
pub(super) async fn ask_cache<'a, T>(
    engine: &Inner,
    stop: &Stop,
    degraded: &mut Vec<Fault>,
    ask: impl FnOnce() -> BoxFuture<'a, Result<T, PortError>>,
) -> Option<T> {
    let asking = Box::pin(call(Some(stop), Stage::Cache, ask));
    let late = || Err(Fault::late(Stage::Cache));
    match engine.ports.teardown(&engine.limits).hold(asking).await.unwrap_or_else(late) {
        Ok(answer) => Some(answer),
        // That the operation itself is stopping is no failure of the cache.
        Err(fault) if fault.error.stage() == Stage::Run => None,
        Err(fault) => {
            degraded.push(fault);
            None
        }
    }
}

async fn validate(
    op: &mut Op,
    tenant: Tenant,
    request: &ExtractionRequest,
) -> Result<ValidationReport, Fault> {
    let (_, tenant) = op.enter(tenant)?;
    let wanted = Wanted::parse(request, &op.engine.limits)?;
    check(op, &tenant, wanted).await.map(|(report, _)| report)
}

/// A datasource as it was found: its connection and its schema.
struct Found {
    connection: ConnectionDescriptor,
    schema: Arc<SchemaSnapshot>,
}

/// Checks a request against the datasources that it names: the report, and the steps that a plan
/// has if the report is empty.
pub(super) async fn check(
    op: &mut Op,
    tenant: &TenantId,
    wanted: Wanted<'_>,
) -> Result<(ValidationReport, Vec<PlannedDatasource>), Fault> {
    let Wanted { limits, datasources, mut mistakes, .. } = wanted;
    if mistakes.iter().any(|mistake| mistake.kind == MistakeKind::LimitExceeded) {
        return Ok((ValidationReport::new(mistakes), Vec::new()));
    }
    let jobs = datasources.iter().map(|wanted| look_up(op, tenant, wanted.name)).collect();
    let Outcome { result, degraded } = together(jobs, limits.max_concurrency, &op.stop).await;
    op.degraded.extend(degraded);
    let mut steps = Vec::with_capacity(datasources.len());
    for (wanted, found) in datasources.into_iter().zip(result?) {
        let Some(Found { connection, schema }) = found else {
            let mistake = Mistake::new(MistakeKind::DatasourceNotFound, text::DATASOURCE_UNKNOWN);
            mistakes.push(mistake.datasource(wanted.name));
            continue;
        };
        let factory = factory(&op.engine.ports, &connection.endpoint.kind)?;
        let mut tables: Vec<PlannedTable> = Vec::with_capacity(wanted.tables.len());
        for table in &wanted.tables {
            let canonical = contained(Stage::Validate, || factory.canonical_table(table.name))?;
            let name = canonical.unwrap_or_else(|| Arc::clone(table.name));
            let schema = schema.table(&name);
            let at =
                |kind, detail| Mistake::new(kind, detail).datasource(wanted.name).table(table.name);
            tables.extend(plan_table(schema, name, table, &limits, &at, &mut mistakes));
        }
        tables.sort_by(|a, b| a.name.cmp(&b.name));
        if tables.windows(2).any(|pair| matches!(pair, [a, b] if a.name == b.name)) {
            let error = EngineError::validation(Stage::Validate, text::TABLE_TWICE);
            return Err(error.at_datasource(wanted.name).into());
        }
        steps.push(PlannedDatasource {
            fingerprint: connection.fingerprint(),
            connection: connection.id,
            name: connection.name,
            tables: tables.into(),
        });
    }
    Ok((ValidationReport::new(mistakes), steps))
}

/// Checks one table, and plans it if the source has it.
fn plan_table(
    schema: Option<&TableSchema>,
    name: Arc<str>,
    table: &WantedTable<'_>,
    limits: &Limits,
    at: &dyn Fn(MistakeKind, &'static str) -> Mistake,
    mistakes: &mut Vec<Mistake>,
) -> Option<PlannedTable> {
    let Some(schema) = schema else {
        mistakes.push(at(MistakeKind::TableNotFound, text::TABLE_UNKNOWN));
        return None;
    };
    let requested = (!table.is_all()).then_some(table.fields);
    let checked = check_table(schema, requested, &table.filters, text::FILTER_FIELD);
    let Checked { fields, unknown, filters } = checked;
    if exceeds(fields.len(), limits.max_fields_per_table.into()) {
        mistakes.push(at(MistakeKind::LimitExceeded, text::TOO_MANY_FIELDS));
    }
    let not_found = || at(MistakeKind::FieldNotFound, text::FIELD_UNKNOWN);
    mistakes.extend(unknown.iter().map(|field| not_found().field(field)));
    let invalid = |detail| at(MistakeKind::InvalidFilter, detail);
    mistakes.extend(filters.iter().map(|(field, detail)| invalid(*detail).field(field)));
    let mut filters: Vec<_> = table.filters.iter().map(|filter| (*filter).clone()).collect();
    // All of them must hold, so their order says nothing, and must not make plans differ.
    let operands = |filter: &Filter| format!("{:?}", filter.values());
    filters.sort_by(|a, b| {
        let place = (a.field(), a.operator()).cmp(&(b.field(), b.operator()));
        place.then_with(|| operands(a).cmp(&operands(b)))
    });
    Some(PlannedTable { name, fields, filters })
}

/// The connection of this name and its schema; nothing if the tenant has no such connection.
fn look_up(
    op: &Op,
    tenant: &TenantId,
    name: &Arc<str>,
) -> BoxFuture<'static, Outcome<Option<Found>>> {
    let mut op = Op { engine: Arc::clone(&op.engine), stop: op.stop.clone(), degraded: Vec::new() };
    let (tenant, name) = (tenant.clone(), Arc::clone(name));
    Box::pin(async move {
        let result = find_with_schema(&mut op, &tenant, &name).await;
        Outcome { result, degraded: op.degraded }
    })
}

async fn find_with_schema(
    op: &mut Op,
    tenant: &TenantId,
    name: &Arc<str>,
) -> Result<Option<Found>, Fault> {
    let Op { engine, stop, degraded } = op;
    // A name that no connection can have is one that the tenant does not have.
    let Ok(parsed) = ConnectionName::parse(name) else { return Ok(None) };
    let Some(store) = &engine.ports.connections else { return Ok(None) };
    let found = call(Some(stop), Stage::Store, || store.find(tenant, &parsed)).await?;
    let found = found.filter(|found| found.is(tenant, &parsed));
    let Some(connection) = found else { return Ok(None) };
    let loaded = load(engine, stop, connection.clone(), degraded).await;
    let schema = loaded.map_err(|fault| match fault.error.stage() {
        Stage::Run => fault,
        _ => Fault { error: fault.error.at_datasource(name), ..fault },
    })?;
    Ok(Some(Found { connection, schema }))
}

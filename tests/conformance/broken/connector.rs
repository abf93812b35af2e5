//! Broken connectors, over the one in memory, behind one wrapper that counts what is held.

use alloc::sync::Arc;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

use fetcher_engine::encode::{Format, RowBatch, StepShape};
use fetcher_engine::extraction::PlannedTable;
use fetcher_engine::ports::{
    BoxFuture, Connector, ConnectorContext, ConnectorFactory, ConnectorRegistry, Fetched, Query,
};
use fetcher_engine::schema::{FieldSchema, TableSchema};
use fetcher_engine::testkit::conformance::connector::{Fixture, Subject, Table};
use fetcher_engine::value::{Decimal, Value, ValueKind};
use fetcher_engine::{ConnectionDescriptor, Filter, Operator, PortError};

use crate::forward::{Layers, wait};
use crate::memory::{ALL_KINDS, DatasourceFixture};

type Answer<'a, T> = BoxFuture<'a, Result<T, PortError>>;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    OneFactory,
    AnyType,
    BuildAsks,
    ClosesAll,
    BuildsAnything,
    QualifiesAgain,
    ConnectsLater,
    TakesAnyPassword,
    GoesWithout,
    SortsFields,
    ShowsSystemTables,
    OneTableAfterTheOther,
    GtIsGte,
    DropsFilters,
    SplitsNames,
    OwnBatch,
    NeverEnds,
    Overfills,
    SkipsTheLastTable,
    Rounds,
    Cuts,
    BreakIsEnd,
    CloseNeedsConnect,
    CloseLeavesCursor,
    DropLeavesAll,
    EndsEarly,
    NinIsNe,
    RefusesLate,
    RefusesOtherwise,
    LowersNames,
    BreakIsInternal,
    /// What is dropped in the middle of this step is held for ever.
    Leaks(Step),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    Connect,
    Discover,
    Open,
    Fetch,
    Close,
}

struct Broken(Fault);

/// What connectors of one fixture have in common.
struct Shared {
    fault: Fault,
    held: AtomicUsize,
    /// Whether the datasource breaks off.
    breaks: AtomicBool,
    any_closed: AtomicBool,
    factories_given: AtomicUsize,
    memory: DatasourceFixture,
}

impl Shared {
    fn is(&self, fault: Fault) -> bool {
        self.fault == fault
    }

    fn inner(&self, context: &ConnectorContext) -> Box<dyn Connector> {
        let factory = self.memory.registry().factory("memory").unwrap();
        factory.build(context.clone()).unwrap()
    }
}

struct Datasource(Arc<Shared>);

struct Wrapped {
    shared: Arc<Shared>,
    context: ConnectorContext,
    inner: Box<dyn Connector>,
    hold: Option<Hold>,
    /// The tables that are read one after the other.
    later: Vec<PlannedTable>,
    rows: u64,
    is_open: bool,
}

/// Something that is held at the datasource.
struct Hold(Arc<Shared>);

impl Hold {
    fn new(shared: &Arc<Shared>) -> Self {
        shared.held.fetch_add(1, SeqCst);
        Self(Arc::clone(shared))
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.0.held.fetch_sub(1, SeqCst);
    }
}

/// Held for ever, unless this is told that all went well.
struct Leak(Option<Hold>);

impl Leak {
    fn new(shared: &Arc<Shared>, step: Step) -> Self {
        Self(shared.is(Fault::Leaks(step)).then(|| Hold::new(shared)))
    }

    fn done(mut self) {
        self.0.take();
    }
}

impl Drop for Leak {
    fn drop(&mut self) {
        core::mem::forget(self.0.take());
    }
}

impl ConnectorRegistry for Datasource {
    fn factory(&self, kind: &str) -> Option<Arc<dyn ConnectorFactory>> {
        let given = self.0.factories_given.fetch_add(1, SeqCst);
        let known = kind == "memory" || self.0.is(Fault::AnyType);
        let again = given == 0 || !self.0.is(Fault::OneFactory);
        (known && again).then(|| Arc::new(Self(Arc::clone(&self.0))) as _)
    }
}

impl ConnectorFactory for Datasource {
    fn build(&self, context: ConnectorContext) -> Result<Box<dyn Connector>, PortError> {
        let shared = Arc::clone(&self.0);
        let senseless = context.connection.endpoint.options.contains_key("senseless");
        if senseless && !shared.is(Fault::BuildsAnything) {
            return Err(PortError::validation());
        }
        if shared.is(Fault::BuildAsks) {
            shared.memory.resolver.count.fetch_add(1, SeqCst);
        }
        let inner = shared.inner(&context);
        let later = Vec::new();
        let wrapped =
            Wrapped { shared, context, inner, hold: None, later, rows: 0, is_open: false };
        Ok(Box::new(wrapped))
    }

    fn canonical_table(&self, name: &str) -> Option<Arc<str>> {
        self.0.is(Fault::QualifiesAgain).then(|| format!("main.{name}").into())
    }
}

impl Wrapped {
    fn is(&self, fault: Fault) -> bool {
        self.shared.is(fault)
    }

    /// The query as a broken connector understands it.
    fn understood(&mut self, query: &Query) -> Vec<PlannedTable> {
        let tables = self.shared.memory.tables.lock().unwrap();
        let mut plans: Vec<_> = query.tables.to_vec();
        for plan in &mut plans {
            let kind_of = |field: &str| {
                let table = tables.iter().find(|table| table.name == plan.name());
                let columns = table.into_iter().flat_map(|table| &table.columns);
                columns.into_iter().find(|(name, _)| name == field).map(|(_, kind)| *kind)
            };
            let mut filters = plan.filters().to_vec();
            match self.shared.fault {
                Fault::GtIsGte => {
                    for filter in filters.iter_mut().filter(|it| it.operator() == Operator::Gt) {
                        let values = filter.values().to_vec();
                        *filter = Filter::new(filter.field(), Operator::Gte, values);
                    }
                }
                Fault::NinIsNe => {
                    for filter in filters.iter_mut().filter(|it| it.operator() == Operator::Nin) {
                        let first = filter.values()[..1].to_vec();
                        *filter = Filter::new(filter.field(), Operator::Ne, first);
                    }
                }
                Fault::DropsFilters => filters.retain(|filter| {
                    kind_of(filter.field()).is_some_and(|kind| filter.for_column(kind).is_some())
                }),
                _ => {}
            }
            let name = match plan.name().rsplit_once('.') {
                Some((_, last)) if self.shared.is(Fault::SplitsNames) => last,
                _ => plan.name(),
            };
            *plan = PlannedTable::new(name, plan.fields().iter().cloned(), filters);
        }
        if self.shared.is(Fault::SkipsTheLastTable) && plans.len() > 1 {
            plans.pop();
        }
        if self.shared.is(Fault::OneTableAfterTheOther) && plans.len() > 1 {
            self.later = plans.split_off(1);
        }
        plans
    }

    /// Goes on with the next table, in a session of its own.
    async fn next_table(&mut self) -> Result<(), PortError> {
        let next = self.later.remove(0);
        self.inner = self.shared.inner(&self.context);
        self.inner.connect().await?;
        self.inner.open(Query::new([next].into())).await
    }

    async fn fetched(&mut self, mut batch: RowBatch) -> Result<(RowBatch, Fetched), PortError> {
        if self.shared.breaks.load(SeqCst) && self.rows >= 3 {
            return match self.shared.fault {
                Fault::BreakIsEnd => Ok((batch, Fetched::End)),
                Fault::BreakIsInternal => Err(PortError::internal()),
                _ => Err(PortError::unavailable()),
            };
        }
        if self.is(Fault::NeverEnds) {
            return Ok((batch, Fetched::More));
        }
        if self.is(Fault::ClosesAll) && self.shared.any_closed.load(SeqCst) {
            return Err(PortError::unavailable());
        }
        if self.is(Fault::OwnBatch) {
            batch = RowBatch::new(StepShape::open(Format::Ndjson, "conformance"));
            batch.full_after(1);
        }
        if self.is(Fault::Overfills) {
            batch.full_after(1000);
        }
        let before = batch.rows();
        let (batch, mut fetched) = self.inner.fetch(batch).await?;
        self.rows += batch.rows() - before;
        if self.is(Fault::EndsEarly) && batch.rows() > before {
            fetched = Fetched::End;
        }
        if fetched == Fetched::End && !self.later.is_empty() {
            self.next_table().await?;
            fetched = Fetched::More;
        }
        Ok((batch, fetched))
    }
}

impl Connector for Wrapped {
    fn connect(&mut self) -> Answer<'_, ()> {
        Box::pin(async move {
            let leak = Leak::new(&self.shared, Step::Connect);
            let hold = Hold::new(&self.shared);
            wait().await;
            let weak = self.context.connection.endpoint.options.contains_key("sslMode");
            let connected = match self.inner.connect().await {
                _ if weak && !self.is(Fault::GoesWithout) => Err(PortError::unavailable()),
                Err(_) if self.is(Fault::ConnectsLater) => Ok(()),
                Err(_) if self.is(Fault::TakesAnyPassword) => Ok(()),
                connected => connected,
            };
            leak.done();
            connected?;
            self.hold = Some(hold);
            Ok(())
        })
    }

    fn discover_schema(&mut self) -> Answer<'_, Vec<TableSchema>> {
        Box::pin(async move {
            let leak = Leak::new(&self.shared, Step::Discover);
            wait().await;
            let mut tables = self.inner.discover_schema().await?;
            if self.is(Fault::SortsFields) {
                for table in &mut tables {
                    let mut fields: Vec<FieldSchema> = table.fields().to_vec();
                    fields.sort_by(|one, other| one.name.cmp(&other.name));
                    *table = TableSchema::new(table.name(), fields);
                }
            }
            if self.is(Fault::LowersNames) {
                for table in &mut tables {
                    let fields = table.fields().to_vec();
                    *table = TableSchema::new(table.name().to_ascii_lowercase(), fields);
                }
            }
            if self.is(Fault::ShowsSystemTables) {
                tables.push(TableSchema::new("pg_catalog.pg_class", vec![]));
            }
            leak.done();
            Ok(tables)
        })
    }

    fn open(&mut self, query: Query) -> Answer<'_, ()> {
        Box::pin(async move {
            let leak = Leak::new(&self.shared, Step::Open);
            wait().await;
            let plans = self.understood(&query);
            let opened = self.inner.open(Query::new(plans.into())).await;
            leak.done();
            self.is_open = opened.is_ok();
            match opened {
                Err(_) if self.is(Fault::RefusesLate) => Ok(()),
                Err(_) if self.is(Fault::RefusesOtherwise) => Err(PortError::unavailable()),
                opened => opened,
            }
        })
    }

    fn fetch(&mut self, batch: RowBatch) -> Answer<'_, (RowBatch, Fetched)> {
        Box::pin(async move {
            let leak = Leak::new(&self.shared, Step::Fetch);
            wait().await;
            let fetched = self.fetched(batch).await;
            leak.done();
            fetched
        })
    }

    fn close(mut self: Box<Self>) -> Answer<'static, ()> {
        Box::pin(async move {
            let leak = Leak::new(&self.shared, Step::Close);
            wait().await;
            leak.done();
            self.shared.any_closed.store(true, SeqCst);
            let hold = self.hold.take();
            if self.is(Fault::CloseNeedsConnect) && hold.is_none() {
                return Err(PortError::internal());
            }
            if self.is(Fault::CloseLeavesCursor) && self.is_open {
                core::mem::forget(hold);
            }
            Ok(())
        })
    }
}

impl Drop for Wrapped {
    fn drop(&mut self) {
        if self.is(Fault::DropLeavesAll) {
            core::mem::forget(self.hold.take());
        }
    }
}

impl Subject for Broken {
    fn load<'a>(&'a self, tables: &'a [Table]) -> BoxFuture<'a, Box<dyn Fixture>> {
        let mut tables = tables.to_vec();
        let cells = tables.iter_mut().flat_map(|table| &mut table.rows).flatten();
        cells.for_each(|value| damage(self.0, value));
        let shared = Arc::new(Shared {
            fault: self.0,
            held: AtomicUsize::new(0),
            breaks: AtomicBool::new(false),
            any_closed: AtomicBool::new(false),
            factories_given: AtomicUsize::new(0),
            memory: DatasourceFixture::new(Layers::None, &tables),
        });
        Box::pin(async { Box::new(Loaded(shared)) as _ })
    }

    fn kinds(&self) -> Vec<ValueKind> {
        ALL_KINDS.into()
    }

    fn holds(&self, _kind: ValueKind, _value: &Value) -> bool {
        true
    }

    fn supports(&self, _operator: Operator, kind: ValueKind) -> bool {
        !matches!(kind, ValueKind::Json | ValueKind::List | ValueKind::Map)
    }

    fn accepts_name(&self, _name: &str) -> bool {
        true
    }

    fn tells_case(&self) -> bool {
        true
    }

    fn cell_bytes_max(&self) -> usize {
        2 << 20
    }
}

/// A value as a broken driver reads it.
fn damage(fault: Fault, value: &mut Value) {
    match (fault, value) {
        (Fault::Rounds, Value::Decimal(number)) if number.as_str().ends_with(".00") => {
            let text = number.as_str().trim_end_matches("0").trim_end_matches('.').to_owned();
            *number = Decimal::parse(&text).unwrap();
        }
        (Fault::Cuts, Value::String(text)) => {
            let end = text.floor_char_boundary(1 << 20);
            text.truncate(end);
        }
        _ => {}
    }
}

struct Loaded(Arc<Shared>);

impl Loaded {
    /// The connection with one more option.
    fn with_option(&self, option: &str) -> ConnectionDescriptor {
        let mut connection = self.0.memory.connection();
        connection.endpoint.options.insert(option.into(), "yes".into());
        connection
    }
}

impl Fixture for Loaded {
    fn registry(&self) -> Arc<dyn ConnectorRegistry> {
        Arc::new(Datasource(Arc::clone(&self.0)))
    }

    fn connection(&self) -> ConnectionDescriptor {
        self.0.memory.connection()
    }

    fn unreachable(&self) -> ConnectionDescriptor {
        self.0.memory.unreachable()
    }

    fn senseless(&self) -> Option<ConnectionDescriptor> {
        Some(self.with_option("senseless"))
    }

    fn wrong_password(&self) -> Option<ConnectionDescriptor> {
        self.0.memory.wrong_password()
    }

    fn too_safe(&self) -> Option<ConnectionDescriptor> {
        Some(self.with_option("sslMode"))
    }

    fn resolutions(&self) -> Option<u64> {
        self.0.memory.resolutions()
    }

    fn held(&self) -> BoxFuture<'_, Option<usize>> {
        Box::pin(async { Some(self.0.held.load(SeqCst)) })
    }

    fn append<'a>(&'a self, table: &'a str, rows: &'a [Vec<Value>]) -> BoxFuture<'a, bool> {
        self.0.memory.append(table, rows)
    }

    fn break_off<'a>(&'a self, _table: &'a str) -> BoxFuture<'a, bool> {
        self.0.breaks.store(true, SeqCst);
        Box::pin(async { true })
    }
}

crate::broken::twins! {
    connector,
    unbroken: Broken(Fault::None),
    c1_the_same_type_gives_the_same_answer => Broken(Fault::OneFactory),
    c2_no_factory_for_an_unknown_type => Broken(Fault::AnyType),
    c3_build_needs_no_datasource_and_no_credential => Broken(Fault::BuildAsks),
    c4_connectors_share_no_state => Broken(Fault::ClosesAll),
    c5_a_descriptor_of_another_type_is_refused => Broken(Fault::BuildsAnything),
    c6_canonical_names_stay_as_they_are => Broken(Fault::QualifiesAgain),
    c7_connects_or_is_an_error => Broken(Fault::ConnectsLater),
    c8_connect_resolves_the_credential => Broken(Fault::TakesAnyPassword),
    c9_never_a_weaker_transport => Broken(Fault::GoesWithout),
    c10_a_dropped_connect_is_released => Broken(Fault::Leaks(Step::Connect)),
    c11_every_name_as_it_is => Broken(Fault::SortsFields),
    c12_only_what_may_be_read => Broken(Fault::ShowsSystemTables),
    c13_a_dropped_discovery_is_released => Broken(Fault::Leaks(Step::Discover)),
    c14_one_snapshot_for_all_tables => Broken(Fault::OneTableAfterTheOther),
    c15_filters_mean_what_they_say => Broken(Fault::GtIsGte),
    c16_what_cannot_apply_is_refused_first => Broken(Fault::DropsFilters),
    c17_identifiers_are_quoted_and_values_bound => Broken(Fault::SplitsNames),
    c18_a_dropped_open_is_released => Broken(Fault::Leaks(Step::Open)),
    c19_the_batch_comes_back => Broken(Fault::OwnBatch),
    c20_rows_or_an_end => Broken(Fault::NeverEnds),
    c21_a_full_batch_goes_back => Broken(Fault::Overfills),
    c22_end_after_every_row_of_every_table => Broken(Fault::SkipsTheLastTable),
    c23_every_value_exact => Broken(Fault::Rounds),
    c24_however_large => Broken(Fault::Cuts),
    c25_a_broken_connection_is_no_end => Broken(Fault::BreakIsEnd),
    c26_a_dropped_fetch_is_released => Broken(Fault::Leaks(Step::Fetch)),
    c27_close_is_legal_in_every_state => Broken(Fault::CloseNeedsConnect),
    c28_nothing_is_held_after_close => Broken(Fault::CloseLeavesCursor),
    c29_a_drop_releases_everything => Broken(Fault::DropLeavesAll),
    ; more:
    c11_every_name_as_it_is => Broken(Fault::LowersNames),
    c15_filters_mean_what_they_say => Broken(Fault::NinIsNe),
    c16_what_cannot_apply_is_refused_first => Broken(Fault::RefusesLate),
    c16_what_cannot_apply_is_refused_first => Broken(Fault::RefusesOtherwise),
    c22_end_after_every_row_of_every_table => Broken(Fault::EndsEarly),
    c25_a_broken_connection_is_no_end => Broken(Fault::BreakIsInternal),
    c29_a_drop_releases_everything => Broken(Fault::Leaks(Step::Close)),
}

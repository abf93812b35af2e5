//! The public face, pinned: every public type with its auto traits, every trait as an object, every
//! string and default that a host may rely on, and what may still grow.
//!
//! A type that is removed, renamed or no longer `Send` does not compile here; one that is added and
//! not listed fails. There are no foreign types in it, because there are no dependencies: a rule in
//! `tests/tidy.rs` holds that.

#![cfg(feature = "std")]

use core::error::Error;
use core::fmt::{Debug, Display};
use core::future::Future;
use core::hash::Hash;
use core::mem::size_of;
use core::time::Duration;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use fetcher_engine::extraction::ProtectedBy;
use fetcher_engine::filter::FilterFault;
use fetcher_engine::ports::ExecutionState;
use fetcher_engine::value::ValueKind;
use fetcher_engine::{
    Category, ConnectionInput, ConnectionPatch, Engine, EngineError, ExecuteOptions,
    ExtractionPlan, ExtractionRequest, FailurePolicy, LimitOverrides, Limits, MistakeKind, Mode,
    Operator, PageQuery, Stage, TenantId, encode::Format,
};

const fn send_sync<T: Send + Sync + Unpin + 'static>() {}
const fn send<T: Send + Unpin + 'static>() {}
const fn object<T: Send + Sync + 'static + ?Sized>(_: Option<&T>) {}
const fn send_object<T: Send + 'static + ?Sized>(_: Option<&T>) {}
const fn debug<T: Debug>() {}
const fn clone<T: Clone>() {}
const fn equal<T: Clone + Debug + Eq>() {}
const fn ordered<T: Clone + Debug + Hash + Ord>() {}
const fn plain<T: Copy + Debug + Eq + Hash>() {}
const fn error<T: Error + Send + Sync + 'static>() {}
const fn display<T: Display>() {}
const fn default<T: Default>() {}

/// Asserts of each type, as soon as this is compiled; and lists their names.
macro_rules! pinned {
    ($list:ident: $assert:ident; $($($part:ident)::+ $(<$lifetime:lifetime>)?,)+) => {
        const $list: &[&str] = {
            $($assert::<fetcher_engine::$($part)::+ $(<$lifetime>)?>();)+
            &[$(stringify!($($part)::+),)+]
        };
    };
}

pinned! { SHARED: send_sync;
    CancelToken,
    Category,
    ConnectionDescriptor,
    ConnectionInput,
    ConnectionPatch,
    Engine,
    EngineBuilder,
    EngineError,
    ExtractionPlan,
    ExtractionRequest,
    ExtractionResult,
    FailurePolicy,
    Filter,
    LimitOverrides,
    Limits,
    Mistake,
    MistakeKind,
    Mode,
    Operator,
    Output,
    PageQuery,
    PortError,
    Progress<'static>,
    Secret,
    Stage,
    StdRuntime,
    TenantId,
    ValidationReport,
    Value,
    connection::ConnectionDraft,
    connection::ConnectionId,
    connection::ConnectionName,
    connection::ConnectionPage,
    connection::Endpoint,
    connection::Fingerprint,
    connection::HostAttributes,
    connection::StoredCredential,
    digest::Digest,
    digest::Sha256,
    encode::Document,
    encode::Format,
    encode::RowBatch,
    encode::RowFault,
    encode::StepShape,
    extraction::Integrity,
    extraction::PlannedDatasource,
    extraction::PlannedTable,
    extraction::ProtectedBy,
    extraction::Protection,
    extraction::Receipt,
    extraction::RequestId,
    extraction::StepFailure,
    extraction::TableCount,
    extraction::TableRequest,
    filter::FilterFault,
    memory::MemoryConnectionStore,
    memory::MemoryConnectorRegistry,
    memory::MemoryDatasource,
    memory::MemoryExecutionStore,
    memory::MemoryResultSink,
    memory::MemorySchemaCache,
    memory::StoredResult,
    memory::Table,
    memory::TableFault,
    ports::ConnectorContext,
    ports::ConnectorLimits,
    ports::ExecutionRecord,
    ports::ExecutionState,
    ports::Failure<'static>,
    ports::Fetched,
    ports::PortPanic,
    ports::Protected,
    ports::Query,
    ports::ResultHeader,
    ports::VaultResolver,
    schema::FieldSchema,
    schema::SchemaSnapshot,
    schema::TableSchema,
    value::Date,
    value::Decimal,
    value::Instant,
    value::Time,
    value::Timestamp,
    value::Uuid,
    value::ValueKind,
}

// What holds a host's closure, and futures: for one thread at a time.
pinned! { OWNED: send;
    ExecuteOptions,
    Sleep,
}

/// Names that are no struct and no enum, and are asserted elsewhere in here.
const OTHERS: &[&str] =
    &["BoxError", "BoxFuture", "TENANT_ID_BYTES_MAX", "backends", "block_on", "compare", "sha256"];

/// Asserts of each trait that it makes objects; and lists their names.
macro_rules! objects {
    ($list:ident: $assert:ident; $($($part:ident)::+,)+) => {
        const $list: &[&str] = {
            $($assert::<dyn fetcher_engine::$($part)::+>(None);)+
            &[$(stringify!($($part)::+),)+]
        };
    };
}

objects! { SHARED_TRAITS: object;
    Runtime,
    ports::ActiveExecutionChecker,
    ports::ConnectionStore,
    ports::ConnectorFactory,
    ports::ConnectorRegistry,
    ports::CredentialProtector,
    ports::CredentialResolver,
    ports::CredentialVault,
    ports::ExecutionStore,
    ports::Observability,
    ports::ResultSink,
    ports::SchemaCache,
}

objects! { OWNED_TRAITS: send_object;
    ports::Connector,
    ports::ResultWriter,
    ports::Span,
}

/// Sealed: for the engine's own signatures.
const SEALED: &[&str] = &["AsTenant"];
const _: fn(&dyn fetcher_engine::AsTenant) -> Result<TenantId, EngineError> =
    |tenant| tenant.as_tenant();

pinned! { ORDERED: ordered;
    Category, MistakeKind, Operator, Stage, TenantId, connection::ConnectionId,
    connection::ConnectionName, connection::Fingerprint, digest::Digest, extraction::RequestId,
    filter::FilterFault, value::ValueKind,
}

pinned! { PLAIN: plain;
    Category, FailurePolicy, MistakeKind, Mode, Operator, Stage, connection::Fingerprint,
    digest::Digest, encode::Format, extraction::ProtectedBy, filter::FilterFault,
    ports::ExecutionState, value::Date, value::Instant, value::Time, value::Timestamp, value::Uuid,
    value::ValueKind,
}

pinned! { EQUAL: equal;
    ConnectionDescriptor, EngineError, ExtractionPlan, Filter, LimitOverrides, Limits, Mistake,
    PageQuery, ValidationReport, Value, connection::ConnectionDraft, connection::ConnectionPage,
    connection::Endpoint, connection::HostAttributes, encode::RowFault, extraction::Integrity,
    extraction::PlannedDatasource, extraction::PlannedTable, extraction::Protection,
    extraction::Receipt, extraction::StepFailure, extraction::TableCount,
    extraction::TableRequest, memory::TableFault, ports::ExecutionRecord, ports::Fetched,
    ports::ResultHeader, schema::FieldSchema, schema::SchemaSnapshot, schema::TableSchema,
    value::Decimal,
}

pinned! { CLONE: clone;
    CancelToken, Engine, EngineBuilder, ExtractionRequest, ExtractionResult, Output,
    digest::Sha256, encode::Document, encode::StepShape, memory::MemoryDatasource,
    memory::MemoryResultSink, memory::StoredResult, memory::Table, ports::ConnectorContext,
    ports::Query,
}

pinned! { ERRORS: error;
    EngineError, PortError, encode::RowFault, filter::FilterFault, memory::TableFault,
    ports::PortPanic,
}

pinned! { DISPLAY: display;
    Category, EngineError, Operator, PortError, Stage, TenantId, connection::ConnectionId,
    connection::ConnectionName, digest::Digest, extraction::RequestId, value::Date, value::Decimal,
    value::Instant, value::Time, value::Timestamp, value::Uuid, value::ValueKind,
}

pinned! { DEFAULT: default;
    CancelToken, ConnectionPatch, EngineBuilder, ExecuteOptions, ExtractionRequest, FailurePolicy,
    LimitOverrides, Limits, Mode, PageQuery, StdRuntime, ValidationReport, connection::Endpoint,
    connection::HostAttributes, extraction::Receipt, memory::MemoryConnectionStore,
    memory::MemoryConnectorRegistry, memory::MemoryDatasource, memory::MemoryExecutionStore,
    memory::MemoryResultSink, memory::MemorySchemaCache,
}

// Everything that a host may put into a log has a form for it; what holds secrets hides them.
pinned! { DEBUG: debug;
    CancelToken, ConnectionInput, ConnectionPatch, Engine, EngineBuilder, ExecuteOptions,
    ExtractionRequest, ExtractionResult, Output, PortError, Progress<'static>, StdRuntime,
    connection::StoredCredential, encode::Document, encode::RowBatch, encode::StepShape,
    memory::MemoryConnectionStore, memory::MemoryConnectorRegistry, memory::MemoryDatasource,
    memory::MemoryExecutionStore, memory::MemoryResultSink, memory::MemorySchemaCache,
    memory::StoredResult, memory::Table, ports::ConnectorContext, ports::Failure<'static>,
    ports::PortPanic, ports::Protected, ports::Query,
}

const _: () = {
    send_sync::<fetcher_engine::BoxError>();
    send::<fetcher_engine::BoxFuture<'static, ()>>();
    assert!(fetcher_engine::TENANT_ID_BYTES_MAX == 256);
};

// --- The list is whole.

/// The Rust files of `src`, without what is for people who write adapters.
fn sources() -> Vec<(PathBuf, String)> {
    let mut files = Vec::new();
    let mut dirs = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                dirs.extend((name != "testkit").then_some(path));
            } else if name.ends_with(".rs") && name != "planted.rs" {
                files.push((path.clone(), fs::read_to_string(path).unwrap()));
            }
        }
    }
    files
}

/// The items that a file makes public: kind, name, and the attributes above.
fn public_items(text: &str) -> Vec<(&str, &str, String)> {
    let mut items = Vec::new();
    let mut attributes = String::new();
    for line in text.lines() {
        let Some(item) = line.strip_prefix("pub ") else {
            match line {
                _ if line.starts_with("//") || line.starts_with(' ') => {}
                _ if line.starts_with("#[") || line.starts_with(")]") => attributes.push_str(line),
                _ => attributes.clear(),
            }
            continue;
        };
        let item = item.strip_prefix("const fn ").map_or(item, |_| &item["const ".len()..]);
        let (kind, rest) = item.split_once(' ').unwrap();
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        items.push((kind, &rest[..end], core::mem::take(&mut attributes)));
    }
    items
}

#[test]
fn every_public_item_is_pinned_here() {
    let lists = [SHARED, OWNED, OTHERS, SHARED_TRAITS, OWNED_TRAITS, SEALED];
    let names = lists.into_iter().flatten().map(|path| path.rsplit(' ').next().unwrap());
    let pinned: BTreeSet<String> =
        names.map(|path| path.rsplit("::").next().unwrap().trim().to_owned()).collect();
    let mut found = BTreeSet::new();
    for (_, text) in sources() {
        let items = public_items(&text).into_iter().filter(|(kind, ..)| {
            ["struct", "enum", "trait", "type", "fn", "const", "static", "union"].contains(kind)
        });
        found.extend(items.map(|(_, name, _)| name.to_owned()));
    }
    let new: Vec<_> = found.difference(&pinned).collect();
    assert!(new.is_empty(), "public and not pinned: {new:?}");
    let gone: Vec<_> = pinned.difference(&found).collect();
    assert!(gone.is_empty(), "pinned and not found: {gone:?}");
    let traits = [ORDERED, PLAIN, EQUAL, CLONE, ERRORS, DISPLAY, DEFAULT, DEBUG];
    for path in traits.into_iter().flatten() {
        assert!(SHARED.contains(path) || OWNED.contains(path), "{path}");
    }
}

/// Whether a struct has a field that everybody sees, or is one without fields.
fn has_public_field(text: &str, name: &str) -> bool {
    let declared = format!("pub struct {name}");
    let is_it = |line: &&str| {
        let rest = line.strip_prefix(&*declared);
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric()))
    };
    let mut lines = text.lines().skip_while(|line| !is_it(line));
    let head = lines.next().unwrap();
    if !head.ends_with('{') {
        return head.contains("(pub ") || !head.contains('(');
    }
    lines.take_while(|line| *line != "}").any(|line| line.trim_start().starts_with("pub "))
}

#[test]
fn what_may_grow_says_so() {
    let mut closed = Vec::new();
    for (path, text) in sources() {
        for (kind, name, attributes) in public_items(&text) {
            let is_open = attributes.contains("non_exhaustive")
                || attributes.contains("expect(clippy::exhaustive_");
            let may_close = match kind {
                "enum" => false,
                "struct" => !has_public_field(&text, name),
                _ => true,
            };
            if !is_open && !may_close {
                closed.push(format!("{}: {name}", path.display()));
            }
        }
    }
    assert!(closed.is_empty(), "neither non_exhaustive nor closed on purpose: {closed:#?}");
}

#[test]
fn the_scans_see_what_they_look_for() {
    let text =
        "#[derive(Debug)]\n#[non_exhaustive]\npub enum A {\n    B,\n}\n\n/// C.\npub struct C;\n";
    let items = public_items(text);
    let kinds: Vec<_> = items.iter().map(|(kind, name, _)| (*kind, *name)).collect();
    assert_eq!(kinds, [("enum", "A"), ("struct", "C")]);
    assert!(items[0].2.contains("non_exhaustive") && items[1].2.is_empty());
    let structs = "pub struct A(pub u8);\npub struct B {\n    pub b: u8,\n}\n\
                   pub struct C {\n    c: u8,\n}\npub struct D(u8);\n\
                   pub struct E;\npub struct Bc(u8);\n";
    let public = ["A", "B", "C", "D", "E", "Bc"].map(|name| has_public_field(structs, name));
    assert_eq!(public, [true, true, false, false, true, false]);
    let items = public_items("pub const fn f() {}\npub(crate) struct D;\npub type E = u8;\n");
    assert_eq!(items.iter().map(|item| item.1).collect::<Vec<_>>(), ["f", "E"]);
}

// --- Sizes and futures.

#[test]
fn an_error_is_one_word() {
    assert_eq!(size_of::<EngineError>(), size_of::<usize>());
    assert_eq!(size_of::<Option<EngineError>>(), size_of::<usize>());
    assert_eq!(size_of::<Result<(), EngineError>>(), size_of::<usize>());
    assert_eq!(size_of::<Engine>(), size_of::<usize>(), "cheap to clone");
    assert_eq!(size_of::<ExtractionPlan>(), size_of::<usize>(), "cheap to clone");
}

/// Whatever a host's executor wants of a future.
fn spawned<T: Send>(future: impl Future<Output = Result<T, EngineError>> + Send) {
    drop(future);
}

#[test]
fn futures_of_all_operations_are_send_for_every_form_of_tenant() {
    #[allow(clippy::extra_unused_lifetimes, reason = "it is only compiled")]
    fn all(engine: &Engine, plan: &ExtractionPlan, request: &ExtractionRequest) {
        macro_rules! all_for {
            ($tenant:expr) => {{
                let tenant = $tenant;
                let page = PageQuery::default();
                spawned(engine.create_connection(tenant, ConnectionInput::new("", "")));
                spawned(engine.get_connection(tenant, ""));
                spawned(engine.get_connection_by_id(tenant, ""));
                spawned(engine.list_connections(tenant));
                spawned(engine.list_connections_paged(tenant, &page));
                spawned(engine.update_connection(tenant, "", ConnectionPatch::new()));
                spawned(engine.update_connection_by_id(tenant, "", ConnectionPatch::new()));
                spawned(engine.delete_connection(tenant, ""));
                spawned(engine.delete_connection_by_id(tenant, ""));
                spawned(engine.check_active_executions(tenant, ""));
                spawned(engine.authorize_connection_access(tenant, ""));
                spawned(engine.test_connection(tenant, ""));
                spawned(engine.discover_schema(tenant, ""));
                spawned(engine.discover_schema_fresh(tenant, ""));
                spawned(engine.validate_schema(tenant, request));
                spawned(engine.plan_extraction(tenant, request));
            }};
        }
        all_for!("acme");
        all_for!(&"acme".to_owned());
        all_for!(&TenantId::parse("acme").unwrap());
        spawned(engine.execute_extraction(plan, ExecuteOptions::new()));
    }
    let _ = all;
}

// --- Strings and defaults.

#[test]
fn categories_are_these_eleven() {
    let strings = Category::ALL.map(Category::as_str);
    let expected = [
        "validation",
        "not_found",
        "unauthorized",
        "forbidden",
        "limit_exceeded",
        "conflict",
        "unavailable",
        "connect",
        "timeout",
        "canceled",
        "internal",
    ];
    assert_eq!(strings, expected);
    for category in Category::ALL {
        assert_eq!(Category::parse(category.as_str()), Some(category));
        assert_eq!(category.to_string(), category.as_str());
    }
    for text in ["", "Validation", "validation ", "cancelled"] {
        assert_eq!(Category::parse(text), None, "{text:?}");
    }
}

#[test]
fn stages_are_these() {
    let stages = [
        (Stage::Configure, "configure"),
        (Stage::Validate, "validate"),
        (Stage::Store, "store"),
        (Stage::Check, "check"),
        (Stage::Protect, "protect"),
        (Stage::Build, "build"),
        (Stage::Connect, "connect"),
        (Stage::Discover, "discover"),
        (Stage::Query, "query"),
        (Stage::Read, "read"),
        (Stage::Encode, "encode"),
        (Stage::Persist, "persist"),
        (Stage::Close, "close"),
        (Stage::Cache, "cache"),
        (Stage::Record, "record"),
        (Stage::Run, "run"),
    ];
    for (stage, text) in stages {
        assert_eq!(stage.as_str(), text);
        assert_eq!(stage.to_string(), text);
    }
}

#[test]
fn mistakes_states_modes_and_formats_are_these() {
    let mistakes = [
        (MistakeKind::DatasourceNotFound, "datasource_not_found", Category::NotFound),
        (MistakeKind::TableNotFound, "table_not_found", Category::Validation),
        (MistakeKind::FieldNotFound, "field_not_found", Category::Validation),
        (MistakeKind::InvalidFilter, "invalid_filter", Category::Validation),
        (MistakeKind::LimitExceeded, "limit_exceeded", Category::LimitExceeded),
    ];
    for (mistake, text, category) in mistakes {
        assert_eq!((mistake.as_str(), mistake.category()), (text, category));
    }
    let states = [
        (ExecutionState::Running, "running"),
        (ExecutionState::Completed, "completed"),
        (ExecutionState::Failed, "failed"),
        (ExecutionState::Canceled, "canceled"),
    ];
    assert!(states.iter().all(|(state, text)| state.as_str() == *text));
    for (mode, text) in [(Mode::Auto, "auto"), (Mode::Direct, "direct"), (Mode::Store, "store")] {
        assert_eq!(mode.as_str(), text);
        assert_eq!(Mode::parse(text), Some(mode));
    }
    assert_eq!(Mode::parse("DIRECT"), None);
    assert_eq!((Mode::default(), FailurePolicy::default()), (Mode::Auto, FailurePolicy::FailFast));
    assert_eq!((Format::Json.as_str(), Format::Ndjson.as_str()), ("json", "ndjson"));
    let by = [ProtectedBy::Engine, ProtectedBy::Adapter, ProtectedBy::Host];
    assert_eq!(by.map(ProtectedBy::as_str), ["engine", "adapter", "host"]);
}

#[test]
fn operators_faults_and_kinds_are_these() {
    let operators = ["eq", "gt", "gte", "lt", "lte", "between", "in", "nin", "ne", "like"];
    assert_eq!(Operator::ALL.map(Operator::as_str), operators);
    for operator in Operator::ALL {
        assert_eq!(Operator::parse(operator.as_str()), Some(operator));
    }
    assert_eq!(Operator::parse("EQ"), None);
    let faults = [
        (FilterFault::NoValue, "operator takes at least one value"),
        (FilterFault::NotOneValue, "operator takes exactly one value"),
        (FilterFault::NotTwoValues, "operator takes exactly two values"),
        (FilterFault::NullValue, "null is not a filter value"),
        (FilterFault::PatternNotString, "pattern is not a string"),
        (FilterFault::PatternEndsInEscape, "pattern ends in an escape character"),
    ];
    assert!(faults.iter().all(|(fault, text)| fault.as_str() == *text));
    use ValueKind::{
        Bool, Bytes, Date, Decimal, F32, F64, I64, Instant, Json, List, Map, String, Time,
        Timestamp, U64, Uuid,
    };
    let kinds = [
        Bool, I64, U64, F32, F64, Decimal, String, Bytes, Uuid, Date, Time, Timestamp, Instant,
        Json, List, Map,
    ];
    for kind in kinds {
        assert_eq!(kind.as_str(), format!("{kind:?}").to_lowercase());
    }
}

#[test]
fn limits_have_these_defaults_and_no_others() {
    let text = "Limits { max_datasources: 10, max_tables_per_datasource: 20, \
                max_fields_per_table: 50, max_concurrency: 4, max_duration: Some(300s), \
                max_result_bytes: 268435456, max_rows: 18446744073709551615, teardown: 5s, \
                read_ahead_bytes: 8388608 }";
    assert_eq!(format!("{:?}", Limits::default()), text);
    let text = "LimitOverrides { max_datasources: 0, max_tables_per_datasource: 0, \
                max_fields_per_table: 0, max_concurrency: 0, max_duration: 0ns, \
                max_result_bytes: 0, max_rows: 0, teardown: 0ns, read_ahead_bytes: 0 }";
    let wishes = LimitOverrides::default();
    assert_eq!(format!("{wishes:?}"), text);
    assert_eq!(Limits::default().lowered_by(&wishes).unwrap(), Limits::default());
    assert_eq!(Limits::default().max_duration, Some(Duration::from_secs(300)));
}

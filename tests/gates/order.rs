//! The gates of every operation, in their order: when one refuses, so would all behind it, and
//! none of them is reached.

use fetcher_engine::{
    Category, ConnectionInput, ConnectionPatch, Engine, ExecuteOptions, ExtractionRequest,
    FailurePolicy, Filter, LimitOverrides, Mode, TENANT_ID_BYTES_MAX,
};

use super::common::{Act, Call, Host, Operation, Probe, ToyProtector, brief, tenant};

const UNAVAILABLE: Act = Act::Fail(Category::Unavailable);

/// What may refuse, the earliest first.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Gate {
    /// No connection store is wired.
    Store,
    /// The tenant is none.
    Tenant,
    /// The input is malformed.
    Input,
    /// The request is over a limit.
    Limits,
    /// The store does not answer.
    Answer,
    /// The tenant owns no such connection; to a create: it owns one already.
    Scope,
    /// Executions are active on the connection.
    Use,
    /// The protector does not answer.
    Protect,
    /// The store cannot write.
    Write,
    /// The datasource cannot be connected to.
    Connector,
}

/// An engine and a call of this operation of which this gate and all behind it would refuse.
fn arrange(operation: Operation, gate: Gate) -> (Host, Engine, Call) {
    let refuses = |at| gate <= at;
    let host = Host::new();
    host.connect("acme", "sales");
    // To a create, a connection that is there is what refuses.
    let is_create = operation == Operation::Create;
    let mut call = match (is_create, refuses(Gate::Scope)) {
        (true, false) => Call::new("acme", "fresh", ""),
        (false, true) => Call::new("acme", "missing", "missing"),
        _ => Call::new("acme", "sales", "connection-1"),
    };
    if operation == Operation::Execute {
        call.plan = Some(host.plan("acme", &Call::new("acme", "sales", "").request));
    }
    if refuses(Gate::Limits) {
        let over = |request: ExtractionRequest, at| request.table(format!("d{at}"), "t", ["*"]);
        call.request = (0..11).fold(call.request, over);
    }
    if refuses(Gate::Input) {
        call.name = String::new();
        call.id = "\n".into();
        call.request = call.request.table("sales", " ", ["*"]);
    }
    if refuses(Gate::Tenant) {
        call.tenant = "../acme".into();
    }
    host.set_busy(refuses(Gate::Use));
    let silent = |at: Gate, calls: &str, probe: &Probe| {
        if refuses(at) {
            calls.split(' ').for_each(|call| probe.on(call, UNAVAILABLE));
        }
    };
    let reads = "store.find store.find_by_id store.list store.list_paged";
    let writes = "store.create store.update store.update_by_id store.delete store.delete_by_id";
    silent(Gate::Answer, reads, &host.probe);
    silent(Gate::Protect, "protector.protect", &host.probe);
    silent(Gate::Write, writes, &host.probe);
    silent(Gate::Connector, "connector.connect", &host.probe);
    let builder = if refuses(Gate::Store) { host.without_store() } else { host.bare() };
    let engine = host.others(builder).build().unwrap();
    (host, engine, call)
}

const NAME: &str = "validation/validate: connection name is not valid";
const ID: &str = "validation/validate: connection id is not valid";
const TABLE: &str = "validation/validate: table name is not valid";
const SILENT: &str = "unavailable/store: connection store failed";
const NOBODYS: &str = "not_found/store: connection is not found";
const IN_USE: &str = "conflict/check: connection has active executions";
const NO_KEY: &str = "unavailable/protect: credential cannot be protected";
const DOWN: &str = "connect/connect: datasource cannot be connected to";

const FIND: &str = "store.find acme sales";
const FIND_ID: &str = "store.find_by_id acme connection-1";
const ACTIVE: &str = "checker.has_active acme sales";
const PROTECT: &str = "protector.protect acme";
const FORGET: &str = "cache.invalidate acme sales";
const BUILD: &str = "factory.build acme sales";
const CONNECT: &str = "connector.connect acme sales";
const CLOSE: &str = "connector.close acme sales";

type Row = (Operation, Gate, &'static str, &'static [&'static str]);

/// What comes out, and every call that was made for it.
#[rustfmt::skip]
const CONNECTIONS: &[Row] = &[
    (Operation::Create, Gate::Input, NAME, &[]),
    (Operation::Create, Gate::Answer, SILENT, &["store.find acme sales"]),
    (Operation::Create, Gate::Scope, "conflict/store: a connection of this name exists already",
        &["store.find acme sales"]),
    (Operation::Create, Gate::Protect, NO_KEY, &["store.find acme fresh", PROTECT]),
    (Operation::Create, Gate::Write, SILENT,
        &["store.find acme fresh", PROTECT, "store.create acme fresh credential"]),
    (Operation::Get, Gate::Input, NAME, &[]),
    (Operation::Get, Gate::Answer, SILENT, &["store.find acme missing"]),
    (Operation::Get, Gate::Scope, NOBODYS, &["store.find acme missing"]),
    (Operation::GetById, Gate::Input, ID, &[]),
    (Operation::GetById, Gate::Answer, SILENT, &["store.find_by_id acme missing"]),
    (Operation::GetById, Gate::Scope, NOBODYS, &["store.find_by_id acme missing"]),
    (Operation::List, Gate::Answer, SILENT, &["store.list acme"]),
    (Operation::ListPaged, Gate::Answer, SILENT, &["store.list_paged acme"]),
    (Operation::Update, Gate::Input, NAME, &[]),
    (Operation::Update, Gate::Answer, SILENT, &["store.find acme missing"]),
    (Operation::Update, Gate::Scope, NOBODYS, &["store.find acme missing"]),
    (Operation::Update, Gate::Use, IN_USE, &[FIND, ACTIVE]),
    (Operation::Update, Gate::Protect, NO_KEY, &[FIND, ACTIVE, PROTECT]),
    (Operation::Update, Gate::Write, SILENT,
        &[FIND, ACTIVE, PROTECT, "store.update acme sales credential", FORGET]),
    (Operation::UpdateById, Gate::Input, ID, &[]),
    (Operation::UpdateById, Gate::Answer, SILENT, &["store.find_by_id acme missing"]),
    (Operation::UpdateById, Gate::Scope, NOBODYS, &["store.find_by_id acme missing"]),
    (Operation::UpdateById, Gate::Use, IN_USE, &[FIND_ID, ACTIVE]),
    (Operation::UpdateById, Gate::Protect, NO_KEY, &[FIND_ID, ACTIVE, PROTECT]),
    (Operation::UpdateById, Gate::Write, SILENT,
        &[FIND_ID, ACTIVE, PROTECT, "store.update_by_id acme connection-1 credential", FORGET]),
    (Operation::Delete, Gate::Input, NAME, &[]),
    (Operation::Delete, Gate::Answer, SILENT, &["store.find acme missing"]),
    (Operation::Delete, Gate::Scope, NOBODYS, &["store.find acme missing"]),
    (Operation::Delete, Gate::Use, IN_USE, &[FIND, ACTIVE]),
    (Operation::Delete, Gate::Write, SILENT, &[FIND, ACTIVE, "store.delete acme sales", FORGET]),
    (Operation::DeleteById, Gate::Input, ID, &[]),
    (Operation::DeleteById, Gate::Answer, SILENT, &["store.find_by_id acme missing"]),
    (Operation::DeleteById, Gate::Scope, NOBODYS, &["store.find_by_id acme missing"]),
    (Operation::DeleteById, Gate::Use, IN_USE, &[FIND_ID, ACTIVE]),
    (Operation::DeleteById, Gate::Write, SILENT,
        &[FIND_ID, ACTIVE, "store.delete_by_id acme connection-1", FORGET]),
    (Operation::Check, Gate::Input, NAME, &[]),
    (Operation::Check, Gate::Answer, SILENT, &["store.find acme missing"]),
    (Operation::Check, Gate::Scope, NOBODYS, &["store.find acme missing"]),
    (Operation::Authorize, Gate::Input, NAME, &[]),
    (Operation::Authorize, Gate::Answer, SILENT, &["store.find acme missing"]),
    (Operation::Authorize, Gate::Scope, NOBODYS, &["store.find acme missing"]),
];

/// The same of the operations that reach a datasource.
#[rustfmt::skip]
const SCHEMAS: &[Row] = &[
    (Operation::Test, Gate::Input, NAME, &[]),
    (Operation::Test, Gate::Answer, SILENT, &["store.find acme missing"]),
    (Operation::Test, Gate::Scope, NOBODYS, &["store.find acme missing"]),
    (Operation::Test, Gate::Connector, DOWN, &[FIND, BUILD, CONNECT, CLOSE]),
    (Operation::Discover, Gate::Input, NAME, &[]),
    (Operation::Discover, Gate::Answer, SILENT, &["store.find acme missing"]),
    (Operation::Discover, Gate::Scope, NOBODYS, &["store.find acme missing"]),
    (Operation::Discover, Gate::Connector, DOWN,
        &[FIND, "cache.get acme sales", BUILD, CONNECT, CLOSE]),
    (Operation::DiscoverFresh, Gate::Input, NAME, &[]),
    (Operation::DiscoverFresh, Gate::Answer, SILENT, &["store.find acme missing"]),
    (Operation::DiscoverFresh, Gate::Scope, NOBODYS, &["store.find acme missing"]),
    (Operation::DiscoverFresh, Gate::Connector, DOWN, &[FIND, BUILD, CONNECT, CLOSE]),
    (Operation::Validate, Gate::Input, TABLE, &[]),
    // Too many datasources are an entry of the report that it answers.
    (Operation::Validate, Gate::Limits, "kind: LimitExceeded", &[]),
    (Operation::Validate, Gate::Answer, SILENT, &["store.find acme missing"]),
    (Operation::Validate, Gate::Scope, "kind: DatasourceNotFound", &["store.find acme missing"]),
    (Operation::Validate, Gate::Connector, DOWN,
        &[FIND, "cache.get acme sales", BUILD, CONNECT, CLOSE]),
    (Operation::Plan, Gate::Input, TABLE, &[]),
    (Operation::Plan, Gate::Limits, "limit_exceeded/validate: request exceeds a limit", &[]),
    (Operation::Plan, Gate::Answer, SILENT, &["store.find acme missing"]),
    (Operation::Plan, Gate::Scope, "not_found/validate: datasource is not found",
        &["store.find acme missing"]),
    (Operation::Plan, Gate::Connector, DOWN,
        &[FIND, "cache.get acme sales", BUILD, CONNECT, CLOSE]),
];

fn hold(rows: &[Row]) {
    for (operation, gate, expected, calls) in rows {
        let (host, engine, call) = arrange(*operation, *gate);
        let answer = host.run(operation.run(&engine, &call));
        let place = format!("{operation:?} at {gate:?}");
        match &answer {
            Err(error) => assert_eq!(brief(error), *expected, "{place}"),
            Ok(report) => assert!(report.contains(expected), "{place}: {report}"),
        }
        assert_eq!(host.probe.calls(), *calls, "{place}");
    }
}

#[test]
fn first_a_store_must_be_wired() {
    for operation in Operation::ALL {
        let text = "validation/validate: connection store is not configured";
        hold(&[(operation, Gate::Store, text, &[])]);
    }
}

#[test]
fn then_the_tenant_must_be_one() {
    // A plan has its tenant already.
    for operation in Operation::ALL.into_iter().filter(|o| *o != Operation::Execute) {
        let text = "validation/validate: tenant id is not valid";
        hold(&[(operation, Gate::Tenant, text, &[])]);
    }
}

#[test]
fn then_come_input_scope_use_and_credentials_of_connections() {
    hold(CONNECTIONS);
}

#[test]
fn then_come_input_limits_scope_and_datasource_of_schemas() {
    hold(SCHEMAS);
}

#[test]
fn a_cached_schema_keeps_the_connector_out() {
    for operation in [Operation::Discover, Operation::Validate, Operation::Plan] {
        let (host, engine, call) = arrange(Operation::Discover, Gate::Connector);
        host.probe.clear();
        host.run(Operation::Discover.run(&engine, &call)).unwrap();
        host.probe.clear();
        host.probe.on("connector.connect", UNAVAILABLE);
        let answer = host.run(operation.run(&engine, &call));
        assert!(answer.is_ok(), "{operation:?}: {answer:?}");
        let calls = [FIND, "cache.get acme sales"];
        assert_eq!(host.probe.calls(), calls, "{operation:?}");
    }
}

#[test]
fn tenant_ids_are_trimmed_and_otherwise_taken_as_they_are() {
    let host = Host::new();
    let engine = host.bare().build().unwrap();
    let longest = "x".repeat(TENANT_ID_BYTES_MAX);
    let good = ["a", "7", "A-b_9", "  acme\n", &longest];
    for id in good {
        let listed = host.run(engine.list_connections(id));
        assert!(listed.is_ok(), "{id:?}: {listed:?}");
        assert_eq!(tenant(id).as_str(), id.trim());
    }
    host.probe.clear();
    let too_long = "x".repeat(TENANT_ID_BYTES_MAX + 1);
    let bad = ["", " ", "-a", "_a", "a b", "a.b", "a/b", "ä", "a\0", "a\u{2028}b", &too_long];
    for id in bad {
        let error = host.run(engine.list_connections(id)).unwrap_err();
        let text = "validation/validate: tenant id is not valid";
        assert_eq!(brief(&error), text, "{id:?}");
    }
    assert_eq!(host.probe.calls(), Vec::<String>::new());
}

#[test]
fn a_malformed_connection_reaches_nobody() {
    let long = |length| "x".repeat(length);
    let input = |name: &str| ConnectionInput::new(name, "memory").password("hunter2");
    let kind = |kind: &str| ConnectionInput::new("sales", kind).password("hunter2");
    let name = NAME;
    let bad_kind = "validation/validate: connection type is not valid";
    let no_kind = "validation/validate: connection type is not registered";
    let detail = "validation/validate: connection detail is not valid";
    let options = (0..257).fold(input("sales"), |input, at| input.option(at.to_string(), ""));
    let attributes =
        (0..257).fold(input("sales"), |input, at| input.host_attribute(at.to_string(), ""));
    let malformed = [
        (input(""), name),
        (input(" \t"), name),
        (input("a\0b"), name),
        (input(&long(257)), name),
        (kind(""), bad_kind),
        (kind(" "), bad_kind),
        (kind("post\ngres"), bad_kind),
        (kind(&long(65)), bad_kind),
        (kind("oracle"), no_kind),
        (input("sales").host("a\nb"), detail),
        (input("sales").database(long(4097)), detail),
        (input("sales").username("\u{7f}"), detail),
        (input("sales").option("", "x"), detail),
        (input("sales").option("x", long((64 << 10) + 1)), detail),
        (input("sales").host_attribute("", "x"), detail),
        (options, detail),
        (attributes, detail),
    ];
    let host = Host::new();
    let engine = host.full().build().unwrap();
    for (input, expected) in malformed {
        let shown = format!("{input:?}");
        let error = host.run(engine.create_connection("acme", input));
        assert_eq!(brief(&error.unwrap_err()), expected, "{shown}");
    }
    assert_eq!(host.probe.calls(), Vec::<String>::new());
    let longest = input(&long(256)).host(long(4096));
    let longest = longest.option("x", long(64 << 10));
    host.run(engine.create_connection("acme", longest)).unwrap();
}

#[test]
fn a_malformed_patch_reaches_nobody() {
    let patch = ConnectionPatch::new;
    let detail = "validation/validate: connection detail is not valid";
    let malformed = [
        (patch(), "validation/validate: connection patch changes nothing"),
        (patch().kind(" "), "validation/validate: connection type is not valid"),
        (patch().kind("oracle"), "validation/validate: connection type is not registered"),
        (patch().host("a\nb"), detail),
        (patch().username("\0"), detail),
        (patch().options([(String::new(), String::new())].into()), detail),
    ];
    let host = Host::new();
    let id = host.connect("acme", "sales");
    let engine = host.full().build().unwrap();
    for (patch, expected) in malformed {
        let shown = format!("{patch:?}");
        let again = ConnectionPatch::new();
        let again = match (&patch.kind, &patch.host) {
            (Some(kind), _) => again.kind(kind.clone()),
            (_, Some(host)) => again.host(host.clone()),
            _ => again,
        };
        let by_name = host.run(engine.update_connection("acme", "sales", patch));
        assert_eq!(brief(&by_name.unwrap_err()), expected, "{shown}");
        let by_id = host.run(engine.update_connection_by_id("acme", &id, again));
        assert_eq!(by_id.unwrap_err().category(), Category::Validation, "{shown}");
    }
    assert_eq!(host.probe.calls(), Vec::<String>::new());
}

#[test]
fn a_malformed_request_reaches_nobody() {
    let new = ExtractionRequest::new;
    let good = || new().table("sales", "people", ["id"]);
    let (long, longer) = ("x".repeat(257), "x".repeat(1025));
    let name = |what| format!("validation/validate: {what} name is not valid");
    let text = |what: &str| format!("validation/validate: {what}");
    let metadata = "request metadata is not valid";
    let entries = (0..257).fold(good(), |request, at| request.metadata(at.to_string(), ""));
    let malformed = [
        (new(), text("request names no datasource")),
        (new().table(" ", "t", ["*"]), name("datasource")),
        (new().table(&*long, "t", ["*"]), name("datasource")),
        (new().table("a", "\t", ["*"]), name("table")),
        (new().table("a", &*longer, ["*"]), name("table")),
        (new().table("a", "t", [""; 0]), text("table names no field")),
        (new().table("a", "t", ["id", "\u{2003}"]), name("field")),
        (new().table("a", "t", ["a\0b"]), name("field")),
        (good().filter("", "people", Filter::eq("id", 1)), name("datasource")),
        (good().filter("sales", "", Filter::eq("id", 1)), name("table")),
        (good().filter("sales", "people", Filter::eq(" ", 1)), name("field")),
        (good().table("sales", "people", ["name"]), text("table is requested more than once")),
        (good().request_id(" "), text("request id is not valid")),
        (good().request_id("a\nb"), text("request id is not valid")),
        (good().request_id(long.clone()), text("request id is not valid")),
        (good().metadata("x", "x".repeat(64 << 10)), text(metadata)),
        (entries, text(metadata)),
    ];
    let host = Host::new();
    host.connect("acme", "sales");
    let engine = host.full().build().unwrap();
    for (request, expected) in malformed {
        let planned = host.run(engine.plan_extraction("acme", &request));
        assert_eq!(brief(&planned.unwrap_err()), expected);
        let validated = host.run(engine.validate_schema("acme", &request));
        assert_eq!(brief(&validated.unwrap_err()), expected);
    }
    assert_eq!(host.probe.calls(), Vec::<String>::new());
}

#[test]
fn a_count_over_a_limit_touches_nobody() {
    let table = |request: ExtractionRequest, at| request.table("sales", format!("t{at}"), ["*"]);
    let fields = (0..51).map(|at| format!("f{at}"));
    let mut lower = LimitOverrides::default();
    lower.max_datasources = 1;
    let two = ExtractionRequest::new().table("a", "t", ["*"]).table("b", "t", ["*"]);
    let over = [
        (0..21).fold(ExtractionRequest::new(), table),
        ExtractionRequest::new().table("sales", "people", fields),
        two.limits(lower),
    ];
    let host = Host::new();
    let engine = host.full().build().unwrap();
    for request in over {
        let error = host.run(engine.plan_extraction("acme", &request));
        let error = error.unwrap_err();
        let text = "limit_exceeded/validate: request exceeds a limit";
        assert_eq!(brief(&error), text);
        assert_eq!(error.report().map(|report| report.mistakes().len()), Some(1));
    }
    assert_eq!(host.probe.calls(), Vec::<String>::new());
}

#[test]
fn a_million_datasources_touch_no_store() {
    let datasource = |request: ExtractionRequest, at| request.table(format!("d{at}"), "t", ["*"]);
    let request = (0..1_000_000).fold(ExtractionRequest::new(), datasource);
    let host = Host::new();
    let engine = host.full().build().unwrap();
    let error = host.run(engine.plan_extraction("acme", &request));
    let error = error.unwrap_err();
    assert_eq!(error.category(), Category::LimitExceeded);
    assert_eq!(error.report().map(|report| report.mistakes().len()), Some(1));
    assert_eq!(host.probe.calls(), Vec::<String>::new());
}

#[test]
fn a_duplicate_looks_the_same_whoever_finds_it() {
    let create = |host: &Host| {
        let engine = host.full().build().unwrap();
        let input = ConnectionInput::new("sales", "memory").password("hunter2");
        let error = host.run(engine.create_connection("acme", input));
        error.unwrap_err()
    };
    let early = Host::new();
    early.connect("acme", "sales");
    let seen = create(&early);
    assert_eq!(early.probe.count("protector.protect"), 0);
    assert_eq!(early.probe.count("store.create"), 0);

    let late = Host::new();
    let refusal = Act::Cause(Category::Conflict, "duplicate key sales_pkey");
    late.probe.on("store.create", refusal);
    let raced = create(&late);
    assert_eq!(seen, raced);
    assert_eq!(format!("{seen} {seen:?}"), format!("{raced} {raced:?}"));
    assert_eq!(seen.category(), Category::Conflict);
}

#[test]
fn a_connection_that_vanishes_looks_as_if_it_had_never_been() {
    let changes = [
        (Operation::Update, "store.update"),
        (Operation::UpdateById, "store.update_by_id"),
        (Operation::Delete, "store.delete"),
        (Operation::DeleteById, "store.delete_by_id"),
    ];
    for (change, write) in changes {
        let (host, engine, call) = arrange(change, Gate::Scope);
        host.probe.clear();
        let never = host.run(change.run(&engine, &call)).unwrap_err();

        let (host, engine, call) = arrange(change, Gate::Connector);
        host.probe.on(write, Act::Fail(Category::NotFound));
        let gone = host.run(change.run(&engine, &call)).unwrap_err();
        assert_eq!(format!("{never} {never:?}"), format!("{gone} {gone:?}"));
    }
}

#[test]
fn a_checker_that_cannot_tell_is_unavailable_whatever_it_says() {
    let changes = [
        Operation::Update,
        Operation::UpdateById,
        Operation::Delete,
        Operation::DeleteById,
        Operation::Check,
    ];
    for change in changes {
        for category in Category::ALL {
            let (host, engine, call) = arrange(change, Gate::Connector);
            host.probe.on("checker.has_active", Act::Fail(category));
            let error = host.run(change.run(&engine, &call)).unwrap_err();
            let text = "unavailable/check: active executions cannot be checked";
            assert_eq!(brief(&error), text, "{change:?}");
            assert_eq!(host.probe.calls().len(), 2, "found, asked, and no more");
        }
    }
}

#[test]
fn the_store_sees_only_ciphertext() {
    let (host, secret) = (Host::new(), b"correct horse");
    let engine = host.full().build().unwrap();
    let input = ConnectionInput::new("sales", "memory").password("correct horse");
    host.run(engine.create_connection("acme", input)).unwrap();
    host.protector.rotate();
    let patch = ConnectionPatch::new().password("correct horse");
    let updated = host.run(engine.update_connection("acme", "sales", patch));
    updated.unwrap();
    let handed = host.handed.lock().unwrap().clone();
    let ciphertext = ToyProtector::seal(&tenant("acme"), secret);
    let expected = ["key-1", "key-2"].map(|key| (ciphertext.clone(), Some(key.into())));
    assert_eq!(handed, expected);
    assert_eq!(host.credential("acme", "sales"), expected[1]);
    assert!(!ciphertext.windows(secret.len()).any(|part| part == secret));
}

#[test]
fn a_patch_without_a_password_keeps_the_secret_and_its_key() {
    for by_id in [false, true] {
        let host = Host::new();
        let id = host.connect("acme", "sales");
        let before = host.credential("acme", "sales");
        host.probe.clear();
        host.protector.rotate();
        let engine = host.full().build().unwrap();
        let patch = ConnectionPatch::new().host("replica");
        let updated = if by_id {
            host.run(engine.update_connection_by_id("acme", &id, patch))
        } else {
            host.run(engine.update_connection("acme", "sales", patch))
        };
        assert_eq!(updated.unwrap().endpoint.host, "replica");
        assert_eq!(host.probe.count("protector.protect"), 0);
        assert!(host.handed.lock().unwrap().is_empty());
        assert_eq!(host.credential("acme", "sales"), before);
        assert_eq!(before.1.as_deref(), Some("key-1"));
    }
}

/// An execution's own gates; the gate and all behind it would refuse.
#[test]
fn an_execution_is_refused_before_anything_is_touched() {
    let named = ExtractionRequest::new().request_id("r-1").table("sales", "people", ["*"]);
    let nameless = ExtractionRequest::new().table("sales", "people", ["*"]);
    let options = || ExecuteOptions::new().mode(Mode::Store).failure_policy(FailurePolicy::Collect);
    let text = |what: &str| format!("validation/validate: {what}");
    let id = "request id is required when an execution store is configured";
    let sink = "store mode requires a configured result sink";
    let collect = "failure policy collect requires direct mode";
    let refused = [
        (&nameless, false, options(), text(id)),
        (&named, false, options(), text(sink)),
        (&named, true, options(), text(collect)),
        (&named, true, options().mode(Mode::Auto), text(collect)),
    ];
    for (request, has_sink, options, expected) in refused {
        let host = Host::new();
        host.connect("acme", "sales");
        let plan = host.plan("acme", request);
        host.probe.on("store.find", UNAVAILABLE);
        host.probe.on("executions.save", UNAVAILABLE);
        let builder = host.with_executions(host.bare());
        let builder = if has_sink { host.with_sink(builder) } else { builder };
        let engine = builder.build().unwrap();
        let error = host.run(engine.execute_extraction(&plan, options));
        assert_eq!(brief(&error.unwrap_err()), expected);
        assert_eq!(host.probe.calls(), Vec::<String>::new());
    }
}

#[test]
fn an_execution_needs_its_connection_as_it_was_planned() {
    let silent = "unavailable/store: connection store failed";
    let deleted = "not_found/store: datasource is not found";
    let changed = "conflict/store: connection was changed after the plan was made";
    let cases: [(&[Operation], &str); 4] = [
        (&[], silent),
        (&[Operation::Delete], deleted),
        (&[Operation::Update], changed),
        (&[Operation::Delete, Operation::Create], changed),
    ];
    for (changes, expected) in cases {
        let host = Host::new();
        host.connect("acme", "sales");
        let call = Call::new("acme", "sales", "");
        let plan = host.plan("acme", &call.request);
        let engine = host.full().build().unwrap();
        for change in changes {
            let call = Call::new("acme", "sales", "");
            host.run(change.run(&engine, &call)).unwrap();
        }
        if changes.is_empty() {
            host.probe.on("store.find", UNAVAILABLE);
        }
        let before = host.probe.calls().len();
        host.probe.on("connector.connect", UNAVAILABLE);
        let error = host.run(engine.execute_extraction(&plan, ExecuteOptions::new()));
        assert_eq!(brief(&error.unwrap_err()), expected, "{changes:?}");
        let calls = ["executions.save acme r-1 running", FIND, "executions.save acme r-1 failed"];
        assert_eq!(host.probe.calls()[before..], calls, "{changes:?}");
    }
}

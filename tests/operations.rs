//! What the operations do when nothing stands in their way: connections, schemas and plans.

#![cfg(feature = "std")]

extern crate alloc;

mod common;
#[path = "common/rng.rs"]
mod rng;
#[path = "operations/shown.rs"]
mod shown;

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use core::time::Duration;

use common::{
    Act, Host, Probe, Rogue, ToyProtector, WatchedRegistry, brief, orders, people, tenant,
};
use fetcher_engine::connection::{ConnectionId, HostAttributes};
use fetcher_engine::memory::{MemoryConnectionStore, MemoryDatasource, Table};
use fetcher_engine::ports::VaultResolver;
use fetcher_engine::value::{Value, ValueKind};
use fetcher_engine::{
    Category, ConnectionInput, ConnectionPatch, Engine, ExtractionPlan, ExtractionRequest, Filter,
    LimitOverrides, Limits, Operator, PageQuery, ValidationReport,
};
use rng::Rng;

impl Rng {
    fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            items.swap(at, (self.next() % (at as u64 + 1)) as usize);
        }
    }
}

fn request() -> ExtractionRequest {
    ExtractionRequest::new()
}

/// A host with these connections of `acme`, all to `crm`, and an engine with a cache.
fn with(names: &[&str]) -> (Host, Engine) {
    let host = Host::new();
    for name in names {
        host.connect("acme", name);
    }
    let engine = host.with_cache(host.bare()).build().unwrap();
    (host, engine)
}

fn plan(host: &Host, engine: &Engine, request: &ExtractionRequest) -> ExtractionPlan {
    host.run(engine.plan_extraction("acme", request)).unwrap()
}

/// A report as one line per mistake: `datasource.table.field kind: detail`.
fn lines(report: &ValidationReport) -> Vec<String> {
    let line = |mistake: &fetcher_engine::Mistake| {
        let parts = [&mistake.datasource, &mistake.table, &mistake.field];
        let place: Vec<&str> = parts.into_iter().flatten().map(|part| &**part).collect();
        let (kind, detail) = (mistake.kind.as_str(), mistake.detail);
        format!("{} {kind}: {detail}", place.join("."))
    };
    report.mistakes().iter().map(line).collect()
}

/// What is wrong with a request; a plan of it is refused with the same report.
fn mistakes(host: &Host, engine: &Engine, request: &ExtractionRequest) -> Vec<String> {
    let report = host.run(engine.validate_schema("acme", request)).unwrap();
    let planned = host.run(engine.plan_extraction("acme", request));
    match planned {
        Ok(_) => assert!(report.is_ok(), "{report:?}"),
        Err(error) => {
            assert_eq!(error.report(), Some(&report));
            assert_eq!(error.category(), report.category());
        }
    }
    lines(&report)
}

// --- Connections.

#[test]
fn a_connection_lives_and_dies() {
    let host = Host::new();
    let engine = host.full().build().unwrap();
    let input = ConnectionInput::new("sales", "memory")
        .host("db.example.com")
        .port(5432)
        .database("crm")
        .username("reporting")
        .password("hunter2")
        .option("sslMode", "verify-full")
        .host_attribute("team", "blue");
    let created = host.run(engine.create_connection("acme", input)).unwrap();
    assert_eq!(created.tenant, tenant("acme"));
    assert_eq!(created.name.as_str(), "sales");
    assert_eq!(created.endpoint.port, 5432);
    assert_eq!(created.endpoint.options["sslMode"], "verify-full");
    assert_eq!(created.host_attributes.entries()["team"], "blue");
    let shown = format!("{created:?}");
    assert!(!shown.contains("blue") && !shown.contains("hunter2"), "{shown}");

    let id = created.id.as_str();
    let by_name = host.run(engine.get_connection("acme", "sales"));
    let by_id = host.run(engine.get_connection_by_id("acme", id));
    assert_eq!(by_name.as_ref(), Ok(&created));
    assert_eq!(by_id, by_name);
    let may = host.run(engine.authorize_connection_access("acme", "sales"));
    assert_eq!(may, Ok(()));
    assert_eq!(host.run(engine.test_connection("acme", "sales")), Ok(()));

    host.run(engine.delete_connection_by_id("acme", id)).unwrap();
    let gone = host.run(engine.get_connection("acme", "sales"));
    assert_eq!(gone.unwrap_err().category(), Category::NotFound);
    let again = ConnectionInput::new("sales", "memory");
    let again = host.run(engine.create_connection("acme", again)).unwrap();
    assert_ne!(again.id, created.id, "the name is free, the id is not");
}

#[test]
fn lists_are_sorted_and_pages_visit_everything_once() {
    let names = ["b", "a", "Z", "ä", "aa", "0"];
    let (host, engine) = with(&names);
    let mut sorted = names;
    sorted.sort_unstable();
    let listed = host.run(engine.list_connections("acme")).unwrap();
    let listed: Vec<_> = listed.iter().map(|found| found.name.as_str()).collect();
    assert_eq!(listed, sorted);
    for limit in 1..=7 {
        let mut next = Some(PageQuery([("limit".into(), limit.to_string())].into()));
        let mut seen = Vec::new();
        while let Some(query) = next {
            let page = host.run(engine.list_connections_paged("acme", &query));
            let page = page.unwrap();
            assert_eq!(page.total, Some(6));
            assert!((1..=limit).contains(&page.items.len()));
            seen.extend(page.items.iter().map(|found| found.name.as_str().to_owned()));
            next = page.next;
        }
        assert_eq!(seen, sorted, "{limit} at a time");
    }
    let unknown = PageQuery([("colour".into(), "blue".into())].into());
    let error = host.run(engine.list_connections_paged("acme", &unknown));
    assert_eq!(error.unwrap_err().category(), Category::Validation);
}

#[test]
fn a_patch_changes_what_it_names_and_nothing_else() {
    let patch = ConnectionPatch::new;
    let options = BTreeMap::from([("a".to_owned(), "b".to_owned())]);
    let attributes = BTreeMap::from([("team".to_owned(), "red".to_owned())]);
    let patches = [
        patch().host("replica"),
        patch().port(1),
        patch().database("other"),
        patch().username("somebody"),
        patch().kind("memory"),
        patch().options(options.clone()),
        patch().host_attributes(attributes.clone()),
        patch().password("new"),
    ];
    for (at, patch) in patches.into_iter().enumerate() {
        let (host, engine) = with(&[]);
        let input = ConnectionInput::new("sales", "memory")
            .host("primary")
            .option("x", "y")
            .host_attribute("team", "blue");
        let created = host.run(engine.create_connection("acme", input)).unwrap();
        let mut expected = created.clone();
        match at {
            0 => expected.endpoint.host = "replica".into(),
            1 => expected.endpoint.port = 1,
            2 => expected.endpoint.database = "other".into(),
            3 => expected.endpoint.username = "somebody".into(),
            5 => expected.endpoint.options = options.clone(),
            6 => expected.host_attributes = HostAttributes::from(attributes.clone()),
            _ => {}
        }
        let updated = host.run(engine.update_connection("acme", "sales", patch));
        assert_eq!(updated.as_ref(), Ok(&expected), "patch {at}");
        assert_eq!(host.run(engine.get_connection("acme", "sales")), updated);
    }
}

#[test]
fn a_fingerprint_changes_with_what_a_connection_points_at_and_nothing_else() {
    let input = || ConnectionInput::new("sales", "memory").host("primary").password("old");
    let create = |tenant, before: usize, input| {
        let host = Host::new();
        // Those before it give it another id.
        for at in 0..before {
            host.connect(tenant, &format!("before-{at}"));
        }
        let engine = host.bare().build().unwrap();
        host.run(engine.create_connection(tenant, input)).unwrap()
    };
    let original = create("acme", 0, input()).fingerprint();
    let same = [
        create("acme", 0, input()),
        create("acme", 0, input().password("new")),
        create("acme", 0, input().host_attribute("team", "blue")),
    ];
    assert!(same.iter().all(|same| same.fingerprint() == original));
    let others = [
        create("globex", 0, input()),
        create("acme", 1, input()),
        create("acme", 0, input().host("replica")),
        create("acme", 0, input().port(1)),
        create("acme", 0, input().database("other")),
        create("acme", 0, input().username("somebody")),
        create("acme", 0, input().option("x", "y")),
        create("acme", 0, input().option("xy", "")),
    ];
    let mut seen: Vec<_> = others.iter().map(|other| other.fingerprint()).collect();
    seen.push(original);
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 9);
}

#[test]
fn active_executions_are_asked_for() {
    let host = Host::new();
    host.connect("acme", "sales");
    let engine = host.full().build().unwrap();
    for busy in [false, true] {
        host.set_busy(busy);
        let active = host.run(engine.check_active_executions("acme", "sales"));
        assert_eq!(active, Ok(busy));
    }
}

#[test]
fn a_protected_password_opens_the_datasource() {
    let host = Host::new();
    let store = Arc::new(MemoryConnectionStore::new());
    let protector = Arc::new(ToyProtector::new(host.probe.clone()));
    let resolver = VaultResolver::new(store.clone()).protector(protector.clone());
    let source = MemoryDatasource::new().credentials(Arc::new(resolver));
    source.put_protected("crm", "hunter2", [people()]).unwrap();
    let registry = WatchedRegistry::new(Probe::default()).with("memory", Arc::new(source));
    let engine = Engine::builder()
        .connectors(Arc::new(registry))
        .connection_store(store)
        .credential_protector(protector.clone())
        .encrypted_persistence(true)
        .runtime(Arc::new(host.clock.clone()))
        .build()
        .unwrap();
    let input = ConnectionInput::new("sales", "memory").database("crm");
    let input = input.password("hunter2");
    host.run(engine.create_connection("acme", input)).unwrap();
    assert_eq!(host.run(engine.test_connection("acme", "sales")), Ok(()));

    protector.rotate();
    let moved = ConnectionPatch::new().host("elsewhere");
    host.run(engine.update_connection("acme", "sales", moved)).unwrap();
    assert_eq!(host.run(engine.test_connection("acme", "sales")), Ok(()));
    assert_eq!(host.probe.count("protector.reveal acme key-1"), 2);

    let wrong = ConnectionPatch::new().password("wrong");
    host.run(engine.update_connection("acme", "sales", wrong)).unwrap();
    let error = host.run(engine.test_connection("acme", "sales"));
    let text = "connect/connect: datasource cannot be connected to";
    assert_eq!(brief(&error.unwrap_err()), text);
    assert_eq!(host.probe.count("protector.reveal acme key-2"), 1);
}

// --- Schemas and their cache.

/// How often a catalogue was read for this.
fn discoveries<T>(host: &Host, work: impl FnOnce() -> T) -> usize {
    let before = host.probe.count("connector.discover");
    work();
    host.probe.count("connector.discover") - before
}

#[test]
fn a_schema_is_as_the_datasource_has_it() {
    let (host, engine) = with(&["sales"]);
    let schema = host.run(engine.discover_schema("acme", "sales")).unwrap();
    let names: Vec<_> = schema.tables().iter().map(|table| table.name()).collect();
    assert_eq!(names, ["orders", "people"]);
    let [id, name] = schema.table("people").unwrap().fields() else {
        panic!("two fields");
    };
    assert_eq!((&*id.name, &*id.source_type), ("id", "i64"));
    assert_eq!((id.nullable, id.primary_key), (false, Some(1)));
    assert_eq!((&*name.name, &*name.source_type), ("name", "string"));
    assert_eq!((name.nullable, name.primary_key), (true, None));
}

#[test]
fn a_cached_schema_is_used_and_a_fresh_one_has_nothing_to_do_with_the_cache() {
    let (host, engine) = with(&["sales"]);
    let cached = || drop(host.run(engine.discover_schema("acme", "sales")).unwrap());
    let fresh = || drop(host.run(engine.discover_schema_fresh("acme", "sales")).unwrap());
    assert_eq!(discoveries(&host, fresh), 1);
    assert_eq!(host.probe.count("cache.get") + host.probe.count("cache.put"), 0);
    assert_eq!(discoveries(&host, cached), 1, "the fresh one was not kept");
    assert_eq!(discoveries(&host, cached), 0);
    let asked = host.probe.count("cache.get");
    assert_eq!(discoveries(&host, fresh), 1, "the kept one was not used");
    assert_eq!(host.probe.count("cache.get"), asked);

    // What has changed is seen fresh, and as it was from the cache.
    host.source.put("crm", [people()]).unwrap();
    let tables = |fresh| {
        let found = match fresh {
            true => host.run(engine.discover_schema_fresh("acme", "sales")),
            false => host.run(engine.discover_schema("acme", "sales")),
        };
        found.unwrap().tables().len()
    };
    assert_eq!((tables(true), tables(false)), (1, 2));
}

#[test]
fn validating_and_planning_use_the_cache() {
    let (host, engine) = with(&["sales"]);
    let request = request().table("sales", "people", ["*"]);
    let validate = || drop(host.run(engine.validate_schema("acme", &request)).unwrap());
    assert_eq!(discoveries(&host, validate), 1);
    assert_eq!(discoveries(&host, validate), 0);
    let plan = || drop(plan(&host, &engine, &request));
    assert_eq!(discoveries(&host, plan), 0);
}

#[test]
fn a_changed_connection_never_gets_the_old_schema() {
    for forgets in [true, false] {
        let (host, engine) = with(&["sales"]);
        host.source.put("other", [orders()]).unwrap();
        if !forgets {
            let act = Act::Fail(Category::Unavailable);
            host.probe.on("cache.invalidate", act);
        }
        let tables = || {
            let found = host.run(engine.discover_schema("acme", "sales")).unwrap();
            found.tables().len()
        };
        assert_eq!(tables(), 2);
        let patch = ConnectionPatch::new().database("other");
        let updated = host.run(engine.update_connection("acme", "sales", patch));
        updated.unwrap();
        assert_eq!(host.probe.count("cache.invalidate acme sales"), 1);
        assert_eq!(tables(), 1, "it forgets: {forgets}");

        host.run(engine.delete_connection("acme", "sales")).unwrap();
        assert_eq!(host.probe.count("cache.invalidate acme sales"), 2);
        let again = ConnectionInput::new("sales", "memory").database("crm");
        host.run(engine.create_connection("acme", again)).unwrap();
        assert_eq!(host.probe.count("cache.invalidate acme sales"), 3);
        assert_eq!(tables(), 2, "it forgets: {forgets}");
    }
}

#[test]
fn a_change_whose_answer_was_lost_is_not_planned_on_the_old_schema() {
    let (host, engine) = with(&["sales"]);
    host.source.put("other", [orders()]).unwrap();
    host.run(engine.discover_schema("acme", "sales")).unwrap();
    let act = Act::LoseAnswer(Category::Unavailable);
    host.probe.on("store.update", act);
    let patch = ConnectionPatch::new().database("other");
    let error = host.run(engine.update_connection("acme", "sales", patch));
    assert_eq!(error.unwrap_err().category(), Category::Unavailable);
    assert_eq!(host.probe.count("cache.invalidate acme sales"), 1);
    let found = host.run(engine.discover_schema("acme", "sales")).unwrap();
    assert_eq!(found.tables().len(), 1);
}

// --- Names.

/// A host whose `sales` knows `public.users` as `users`, and an engine.
fn with_schemas() -> (Host, Engine) {
    let tables: &[(&str, &[&str])] = &[("public.users", &["id"]), ("audit.users", &["id"])];
    let factory = Rogue::new(tables);
    let host = Host::of(factory.canonical(|name| name.strip_prefix("public.").map(Arc::from)));
    host.connect("acme", "sales");
    let engine = host.bare().build().unwrap();
    (host, engine)
}

#[test]
fn a_table_may_be_named_in_any_way_that_its_source_understands() {
    let (host, engine) = with_schemas();
    let schema = host.run(engine.discover_schema("acme", "sales")).unwrap();
    let names: Vec<_> = schema.tables().iter().map(|table| table.name()).collect();
    assert_eq!(names, ["audit.users", "users"]);
    let of = |table| plan(&host, &engine, &request().table("sales", table, ["id"]));
    assert_eq!(of("public.users"), of("users"));
    assert_eq!(of("users").steps()[0].tables()[0].name(), "users");
    assert_ne!(of("audit.users"), of("users"));
}

#[test]
fn one_table_under_two_names_is_refused() {
    let (host, engine) = with_schemas();
    let both = request().table("sales", "users", ["id"]).table("sales", "public.users", ["id"]);
    for error in [
        host.run(engine.plan_extraction("acme", &both)).unwrap_err(),
        host.run(engine.validate_schema("acme", &both)).unwrap_err(),
    ] {
        let text = "validation/validate: table is requested more than once";
        assert_eq!(brief(&error), text);
        assert_eq!(error.datasource(), Some("sales"));
    }
}

#[test]
fn a_datasource_that_no_connection_can_be_called_is_not_found() {
    let (host, engine) = with(&[]);
    let found = mistakes(&host, &engine, &request().table("a\tb", "t", ["*"]));
    assert_eq!(found, ["a\tb datasource_not_found: datasource is not found"]);
    assert_eq!(host.probe.calls(), Vec::<String>::new());
}

// --- What may be wrong with a request.

fn documents() -> Table {
    Table::new("people")
        .column("id", ValueKind::I64)
        .column("natural_person", ValueKind::Json)
        .column("legal.name", ValueKind::String)
}

#[test]
fn a_field_is_exact_or_below_a_field() {
    let (host, engine) = with(&["sales"]);
    host.source.put("crm", [documents()]).unwrap();
    let fields = [
        ("id", true),
        ("natural_person", true),
        ("natural_person.mother_name", true),
        ("natural_person.mother.name", true),
        ("legal.name", true),
        ("legal.name.first", true),
        ("natural", false),
        ("natural_person_", false),
        ("natural_personal.name", false),
        (".natural_person", false),
        ("legal", false),
        ("legal.names", false),
        ("ID", false),
        ("id ", false),
    ];
    for (field, is_known) in fields {
        let request = request().table("sales", "people", [field]);
        let found = mistakes(&host, &engine, &request);
        assert_eq!(found.is_empty(), is_known, "{field}: {found:?}");
        if is_known {
            let plan = plan(&host, &engine, &request);
            assert_eq!(*plan.steps()[0].tables()[0].fields(), [field.into()]);
        }
    }
}

#[test]
fn a_star_is_all_fields_and_only_alone() {
    let (host, engine) = with(&["sales"]);
    let all = request().table("sales", "people", ["*"]);
    let named = request().table("sales", "people", ["name", "id", "id"]);
    assert_eq!(plan(&host, &engine, &all), plan(&host, &engine, &named));
    let mixed = request().table("sales", "people", ["*", "id"]);
    let found = mistakes(&host, &engine, &mixed);
    assert_eq!(found, ["sales.people.* field_not_found: field is not found"]);

    let mut limits = Limits::default();
    limits.max_fields_per_table = 1;
    let narrow = host.bare().limits(limits).build().unwrap();
    let found = mistakes(&host, &narrow, &all);
    let text = "sales.people limit_exceeded: more fields than limits.maxFieldsPerTable allows";
    assert_eq!(found, [text]);
}

/// A table of so many fields.
fn wide(count: usize) -> Table {
    (0..count)
        .fold(Table::new("wide"), |table, at| table.column(format!("f{at:02}"), ValueKind::I64))
}

#[test]
fn a_report_has_every_mistake_in_order() {
    let (host, engine) = with(&["crm", "sales"]);
    host.source.put("crm", [people(), wide(51)]).unwrap();
    let request = request()
        .table("sales", "wide", ["*"])
        .table("sales", "people", ["name", "age", "Id"])
        .table("sales", "nothing", ["*"])
        .table("nobody", "people", ["*"])
        .table("crm", "people", ["name"])
        .filter("sales", "people", Filter::like("name", 7))
        .filter("sales", "people", Filter::eq("id", 1))
        .filter("sales", "people", Filter::eq("id", 2))
        .filter("sales", "elsewhere", Filter::eq("id", 1))
        .filter("else", "people", Filter::eq("id", 1))
        .filter("crm", "people", Filter::new("name", Operator::Between, vec![]));
    let expected = [
        "crm.people.name invalid_filter: operator takes exactly two values",
        "else.people.id invalid_filter: filter names a datasource that is not requested",
        "nobody datasource_not_found: datasource is not found",
        "sales.elsewhere.id invalid_filter: filter names a table that is not requested",
        "sales.nothing table_not_found: table is not found",
        "sales.people.Id field_not_found: field is not found",
        "sales.people.age field_not_found: field is not found",
        "sales.people.id invalid_filter: filter names a field that is not requested",
        "sales.people.name invalid_filter: pattern is not a string",
        "sales.wide limit_exceeded: more fields than limits.maxFieldsPerTable allows",
    ];
    assert_eq!(mistakes(&host, &engine, &request), expected);
}

#[test]
fn a_refusal_is_of_the_earliest_gates_kind() {
    let (host, engine) = with(&["sales"]);
    host.source.put("crm", [people(), wide(51)]).unwrap();
    let limit = |request: ExtractionRequest| request.table("sales", "wide", ["*"]);
    let scope = |request: ExtractionRequest| request.table("nobody", "people", ["*"]);
    let field = |request: ExtractionRequest| request.table("sales", "people", ["age"]);
    let refused = [
        (limit(scope(field(request()))), "limit_exceeded/validate: request exceeds a limit"),
        (scope(field(request())), "not_found/validate: datasource is not found"),
        (field(request()), "validation/validate: request does not match the schema"),
    ];
    for (request, expected) in refused {
        let error = host.run(engine.plan_extraction("acme", &request));
        assert_eq!(brief(&error.unwrap_err()), expected);
    }
}

#[test]
fn every_malformed_filter_is_told() {
    let value = |number: i64| Value::from(number);
    let faults: [(Operator, Vec<Value>, &str); 8] = [
        (Operator::Eq, vec![], "operator takes at least one value"),
        (Operator::Nin, vec![], "operator takes at least one value"),
        (Operator::Gt, vec![], "operator takes exactly one value"),
        (Operator::Ne, vec![value(1), value(2)], "operator takes exactly one value"),
        (Operator::Between, vec![value(1)], "operator takes exactly two values"),
        (Operator::In, vec![value(1), Value::Null], "null is not a filter value"),
        (Operator::Like, vec![value(1)], "pattern is not a string"),
        (Operator::Like, vec!["a\\".into()], "pattern ends in an escape character"),
    ];
    let (host, engine) = with(&["sales"]);
    for (operator, values, detail) in faults {
        let filter = Filter::new("name", operator, values);
        let request = request().table("sales", "people", ["name"]);
        let request = request.filter("sales", "people", filter);
        let expected = format!("sales.people.name invalid_filter: {detail}");
        assert_eq!(mistakes(&host, &engine, &request), [expected]);
    }
}

#[test]
fn a_filter_on_a_field_that_a_star_brings_is_in_order() {
    let (host, engine) = with(&["sales"]);
    let all = request().table("sales", "people", ["*"]);
    let known = all.clone().filter("sales", "people", Filter::eq("id", 1));
    assert_eq!(mistakes(&host, &engine, &known), Vec::<String>::new());
    assert_eq!(plan(&host, &engine, &known).steps()[0].tables()[0].filters().len(), 1);
    let unknown = all.filter("sales", "people", Filter::eq("age", 1));
    let text = "sales.people.age invalid_filter: filter names a field that is not requested";
    assert_eq!(mistakes(&host, &engine, &unknown), [text]);
}

/// The documentation of `Limits::max_fields_per_table` promises it.
#[test]
fn a_table_has_no_more_filters_than_it_may_have_fields() {
    let (host, engine) = with(&["sales"]);
    let request = |filters| {
        let request = request().table("sales", "people", ["id"]);
        let filter = |request: ExtractionRequest, at| {
            request.filter("sales", "people", Filter::ne("id", at))
        };
        (0..filters).fold(request, filter)
    };
    let planned = host.run(engine.plan_extraction("acme", &request(50)));
    assert!(planned.is_ok(), "{planned:?}");
    host.probe.clear();
    let planned = host.run(engine.plan_extraction("acme", &request(51)));
    let refused = planned.map(|plan| plan.steps().len()).map_err(|error| error.category());
    assert_eq!(refused, Err(Category::LimitExceeded), "51 filters");
    assert_eq!(host.probe.calls(), Vec::<String>::new());
}

#[test]
fn a_datasource_that_is_down_is_no_mistake_of_the_request() {
    let (host, engine) = with(&["crm", "sales"]);
    let request = request().table("crm", "nothing", ["*"]).table("sales", "people", ["*"]);
    host.probe.on("connector.connect acme sales", Act::Fail(Category::Unavailable));
    for error in [
        host.run(engine.validate_schema("acme", &request)).unwrap_err(),
        host.run(engine.plan_extraction("acme", &request)).unwrap_err(),
    ] {
        let text = "connect/connect: datasource cannot be connected to";
        assert_eq!(brief(&error), text);
        assert_eq!((error.datasource(), error.report()), (Some("sales"), None));
    }
    let (opened, closed) = ("factory.build", "connector.close");
    assert_eq!(host.probe.count(opened), host.probe.count(closed));
}

// --- Plans.

#[test]
fn a_plan_carries_what_the_request_said() {
    let (host, engine) = with(&["crm", "sales"]);
    let request = request()
        .request_id("r-1")
        .metadata("report", "monthly")
        .table("sales", "people", ["name", "id"])
        .table("sales", "orders", ["total"])
        .table("crm", "people", ["*"])
        .filter("sales", "people", Filter::eq("id", 4_711));
    let plan = plan(&host, &engine, &request);
    assert_eq!(plan.tenant(), &tenant("acme"));
    assert_eq!(plan.request_id().map(|id| id.as_str()), Some("r-1"));
    assert_eq!(plan.metadata()["report"], "monthly");
    assert_eq!(plan.limits(), engine.limits());
    let table = |table: &fetcher_engine::extraction::PlannedTable| {
        format!("{} {:?} {}", table.name(), table.fields(), table.filters().len())
    };
    let steps = plan.steps().iter().map(|step| {
        let tables: Vec<_> = step.tables().iter().map(table).collect();
        (step.name().as_str(), tables)
    });
    let steps: Vec<_> = steps.collect();
    assert_eq!(
        steps,
        [
            ("crm", vec![r#"people ["id", "name"] 0"#.to_owned()]),
            (
                "sales",
                vec![r#"orders ["total"] 0"#.to_owned(), r#"people ["id", "name"] 1"#.to_owned(),]
            ),
        ]
    );
    let shown = format!("{plan:?}");
    assert!(!shown.contains("password") && !shown.contains("4711"), "{shown}");
    assert_eq!(plan.steps()[0].connection(), &ConnectionId::parse("connection-1").unwrap());
}

#[test]
fn equal_requests_give_equal_plans_in_whatever_order() {
    let (host, engine) = with(&["a", "b", "c"]);
    let mut tables: Vec<_> = ["a", "b", "c"]
        .into_iter()
        .flat_map(|datasource| {
            [(datasource, "people", ["id", "name"]), (datasource, "orders", ["id", "total"])]
        })
        .collect();
    let mut rng = Rng(7);
    let mut plans = Vec::new();
    for _ in 0..50 {
        rng.shuffle(&mut tables);
        let table = |request: ExtractionRequest, (datasource, table, fields): &_| {
            let mut fields: [&str; 2] = *fields;
            rng.shuffle(&mut fields);
            request.table(*datasource, *table, fields)
        };
        let request = tables.iter().fold(request().metadata("k", "v"), table);
        // Answers that come in another order make no other plan either.
        host.probe.clear();
        for name in ["a", "b", "c"] {
            let wait = Act::Wait(Duration::from_millis(rng.next() % 5));
            host.probe.on(&format!("connector.connect acme {name}"), wait);
            host.probe.on(&format!("cache.get acme {name}"), wait);
        }
        plans.push(plan(&host, &engine, &request));
    }
    for other in &plans[1..] {
        assert_eq!(*other, plans[0]);
        assert_eq!(format!("{other:?}"), format!("{:?}", plans[0]));
    }
}

#[test]
fn datasources_are_looked_at_side_by_side_but_not_too_many() {
    let names: Vec<_> = (0..8).map(|at| format!("d{at}")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    for most in 1..=4_u32 {
        let (host, _) = with(&names);
        let mut limits = Limits::default();
        limits.max_concurrency = most;
        let engine = host.bare().limits(limits).build().unwrap();
        host.probe.on("connector.connect", Act::Wait(Duration::from_secs(1)));
        let all = |request: ExtractionRequest, name: &&str| request.table(*name, "people", ["*"]);
        let request = names.iter().fold(request(), all);
        plan(&host, &engine, &request);
        let rounds = names.len().div_ceil(most as usize) as u64;
        assert_eq!(host.clock.elapsed(), Duration::from_secs(rounds));
        let (mut open, mut peak) = (0_i32, 0);
        for call in host.probe.calls() {
            open += i32::from(call.starts_with("factory.build"));
            open -= i32::from(call.starts_with("connector.close"));
            peak = peak.max(open);
        }
        assert_eq!((open, peak), (0, most as i32));
    }
}

#[test]
fn a_request_may_lower_every_limit_and_raise_none() {
    type Wish = fn(&mut LimitOverrides, u64);
    type Limit = fn(&Limits) -> u64;
    let seconds = Duration::from_secs;
    let of: [(&str, Wish, Limit); 9] = [
        ("maxDatasources", |w, n| w.max_datasources = n as u32, |l| l.max_datasources.into()),
        (
            "maxTablesPerDatasource",
            |w, n| w.max_tables_per_datasource = n as u32,
            |l| l.max_tables_per_datasource.into(),
        ),
        (
            "maxFieldsPerTable",
            |w, n| w.max_fields_per_table = n as u32,
            |l| l.max_fields_per_table.into(),
        ),
        ("maxConcurrency", |w, n| w.max_concurrency = n as u32, |l| l.max_concurrency.into()),
        (
            "maxDuration",
            |w, n| w.max_duration = Duration::from_secs(n),
            |l| l.max_duration.unwrap().as_secs(),
        ),
        ("maxResultBytes", |w, n| w.max_result_bytes = n, |l| l.max_result_bytes),
        ("maxRows", |w, n| w.max_rows = n, |l| l.max_rows),
        ("teardown", |w, n| w.teardown = Duration::from_secs(n), |l| l.teardown.as_secs()),
        ("readAheadBytes", |w, n| w.read_ahead_bytes = n, |l| l.read_ahead_bytes),
    ];
    let mut limits = Limits::default();
    limits.max_rows = 1_000_000;
    limits.max_duration = Some(seconds(300));
    let (host, _) = with(&["sales"]);
    let engine = host.bare().limits(limits.clone()).build().unwrap();
    let planned = |wishes: &LimitOverrides| {
        let request = request().table("sales", "people", ["id"]);
        host.run(engine.plan_extraction("acme", &request.limits(wishes.clone())))
    };
    assert_eq!(planned(&LimitOverrides::default()).unwrap().limits(), &limits);
    for (field, wish, limit) in of {
        let ceiling = limit(&limits);
        for lower in [1, ceiling - 1, ceiling] {
            let mut wishes = LimitOverrides::default();
            wish(&mut wishes, lower);
            let plan = planned(&wishes).unwrap();
            assert_eq!(limit(plan.limits()), lower, "{field}");
            // And no other limit.
            let changed = of.iter().filter(|(_, _, l)| l(plan.limits()) != l(&limits));
            assert_eq!(changed.count(), usize::from(lower != ceiling), "{field}");
        }
        host.probe.clear();
        let mut wishes = LimitOverrides::default();
        wish(&mut wishes, ceiling + 1);
        let error = planned(&wishes).unwrap_err();
        let text = format!("validation/validate: limits.{field} is above its ceiling");
        assert_eq!(brief(&error), text);
        assert_eq!(host.probe.calls(), Vec::<String>::new(), "{field}");
    }
}

#[test]
fn a_request_may_set_a_deadline_where_the_engine_has_none() {
    let (host, _) = with(&["sales"]);
    let mut limits = Limits::default();
    limits.max_duration = None;
    let engine = host.bare().limits(limits).build().unwrap();
    let mut wishes = LimitOverrides::default();
    let request = request().table("sales", "people", ["id"]);
    let endless = plan(&host, &engine, &request);
    assert_eq!(endless.limits().max_duration, None);
    wishes.max_duration = Duration::from_secs(7);
    let bounded = plan(&host, &engine, &request.limits(wishes));
    assert_eq!(bounded.limits().max_duration, Some(Duration::from_secs(7)));
}

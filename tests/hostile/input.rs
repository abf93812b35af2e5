//! Requests and connections that are made to hurt: too long, too many, too deep, or just strange.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use core::time::Duration;
use std::thread;

use fetcher_engine::encode::{Format, RowBatch, RowFault, StepShape};
use fetcher_engine::memory::Table;
use fetcher_engine::value::{Value, ValueKind};
use fetcher_engine::{
    Category, ConnectionInput, ConnectionPatch, Engine, EngineError, ExecuteOptions,
    ExtractionRequest, Filter, LimitOverrides, Limits, Mode,
};

use super::common::{Call, Host, Operation, brief, document, tenant};
use super::memory::peak;

const MILLION: usize = 1_000_000;
/// For what is as true of fewer.
const MANY: usize = 50_000;

fn ready() -> (Host, Engine) {
    let host = Host::new();
    host.connect("acme", "sales");
    let engine = host.full().build().unwrap();
    (host, engine)
}

fn all() -> ExtractionRequest {
    ExtractionRequest::new().request_id("r-1").table("sales", "people", ["*"])
}

/// Holds that an error says what it should, says little, and that no port was asked.
fn refused(host: &Host, error: &EngineError, text: &str, place: &str) {
    assert_eq!(brief(error), text, "{place}");
    let shown = format!("{error} {error:?}");
    assert!(shown.len() < 1_000, "{place}: {} bytes of error", shown.len());
    assert_eq!(host.probe.calls(), Vec::<String>::new(), "{place}");
}

/// Holds that planning and validating refuse a request before any port is asked.
fn is_refused(request: &ExtractionRequest, text: &str, place: &str) {
    let (host, engine) = ready();
    let error = host.run(engine.plan_extraction("acme", request)).unwrap_err();
    refused(&host, &error, text, place);
    match host.run(engine.validate_schema("acme", request)) {
        Err(error) => refused(&host, &error, text, place),
        Ok(report) => {
            assert!(report.mistakes().len() <= 10, "{place}: {} mistakes", report.mistakes().len());
            assert_eq!(report.category(), error.category(), "{place}");
            assert_eq!(host.probe.calls(), Vec::<String>::new(), "{place}");
        }
    }
}

// --- Too long.

#[test]
fn a_megabyte_is_no_name_wherever_it_is_given() {
    use Operation::{Create, Execute, List, ListPaged, Plan, Update, UpdateById, Validate};
    use Operation::{DeleteById, GetById};
    let long = "x".repeat(1 << 20);
    for operation in Operation::ALL {
        for part in ["tenant", "name", "id", "kind", "host"] {
            let (host, engine) = ready();
            let mut call = Call::new("acme", "sales", "connection-1");
            let is_by_id = matches!(operation, GetById | UpdateById | DeleteById);
            let is_list = matches!(operation, List | ListPaged | Plan | Validate);
            let is_update = matches!(operation, Update | UpdateById);
            let is_looked_at = match part {
                "tenant" => {
                    call.tenant.clone_from(&long);
                    true
                }
                "name" => {
                    call.name.clone_from(&long);
                    !is_by_id && !is_list
                }
                "id" => {
                    call.id.clone_from(&long);
                    is_by_id
                }
                "kind" => {
                    call.kind.clone_from(&long);
                    is_update || operation == Create
                }
                _ => {
                    call.host = Some(long.clone());
                    is_update
                }
            };
            if !is_looked_at || operation == Execute {
                continue;
            }
            let error = host.run(operation.run(&engine, &call)).unwrap_err();
            assert_eq!(
                (error.category(), error.stage().as_str()),
                (Category::Validation, "validate")
            );
            assert!(error.message().ends_with(" is not valid"), "{error}");
            refused(&host, &error, &brief(&error), &format!("{operation:?}: {part}"));
        }
    }
}

#[test]
fn a_megabyte_is_no_detail_of_a_connection() {
    let long = "x".repeat(1 << 20);
    let input = || ConnectionInput::new("fresh", "memory");
    let inputs = [
        ConnectionInput::new(long.clone(), "memory"),
        ConnectionInput::new("fresh", long.clone()),
        input().host(long.clone()),
        input().database(long.clone()),
        input().username(long.clone()),
        input().option(long.clone(), ""),
        input().option("key", long.clone()),
        input().host_attribute(long.clone(), ""),
        input().host_attribute("key", long.clone()),
        (0..MANY).fold(input(), |input, at| input.option(at.to_string(), "")),
        (0..257).fold(input(), |input, at| input.host_attribute(at.to_string(), "")),
    ];
    let (host, engine) = ready();
    for (at, input) in inputs.into_iter().enumerate() {
        let error = host.run(engine.create_connection("acme", input)).unwrap_err();
        refused(&host, &error, &brief(&error), &format!("input {at}"));
        assert_eq!(error.category(), Category::Validation);
    }
    let many: BTreeMap<_, _> = (0..MANY).map(|at| (at.to_string(), String::new())).collect();
    let patches = [
        ConnectionPatch::new().kind(long.clone()),
        ConnectionPatch::new().host(long.clone()),
        ConnectionPatch::new().database(long.clone()),
        ConnectionPatch::new().username(long),
        ConnectionPatch::new().options(many.clone()),
        ConnectionPatch::new().host_attributes(many),
    ];
    for (at, patch) in patches.into_iter().enumerate() {
        let error = host.run(engine.update_connection("acme", "sales", patch)).unwrap_err();
        refused(&host, &error, &brief(&error), &format!("patch {at}"));
        assert_eq!(error.category(), Category::Validation);
    }
}

#[test]
fn a_megabyte_is_no_name_in_a_request() {
    let long = "x".repeat(1 << 20);
    let (id, table) =
        ("validate: datasource name is not valid", "validate: table name is not valid");
    let field = "validate: field name is not valid";
    let requests = [
        (all().table(long.clone(), "t", ["*"]), id),
        (all().table("d", long.clone(), ["*"]), table),
        (all().table("d", "t", [long.clone()]), field),
        (all().filter(long.clone(), "people", Filter::eq("id", 1)), id),
        (all().filter("sales", long.clone(), Filter::eq("id", 1)), table),
        (all().filter("sales", "people", Filter::eq(long.clone(), 1)), field),
        (all().request_id(long.clone()), "validate: request id is not valid"),
        (all().metadata(long.clone(), ""), "validate: request metadata is not valid"),
        (all().metadata("key", long), "validate: request metadata is not valid"),
    ];
    for (request, text) in requests {
        is_refused(&request, &format!("validation/{text}"), text);
    }
}

// --- Too many.

fn names(count: usize) -> Vec<Arc<str>> {
    (0..count).map(|at| format!("f{at}").into()).collect()
}

/// Holds that a request is over a limit, at once, and that this takes memory in proportion to it.
fn is_too_much(request: &ExtractionRequest, count: usize, place: &str) {
    let (host, engine) = ready();
    let work = || host.run(engine.plan_extraction("acme", request)).unwrap_err();
    let (error, most) = peak(work);
    refused(&host, &error, "limit_exceeded/validate: request exceeds a limit", place);
    assert!(most < 300 * count, "{place}: {most} bytes");
}

#[test]
fn a_million_fields_are_too_many() {
    let request = ExtractionRequest::new().table("sales", "people", names(MILLION));
    is_too_much(&request, MILLION, "fields");
}

#[test]
fn a_million_datasources_are_too_many() {
    let add = |request: ExtractionRequest, name| request.table(name, "t", ["*"]);
    is_too_much(&names(MILLION).into_iter().fold(all(), add), MILLION, "datasources");
}

#[test]
fn a_million_filters_are_too_many() {
    let filter =
        |request: ExtractionRequest, field| request.filter("sales", "people", Filter::eq(field, 1));
    is_too_much(&names(MILLION).into_iter().fold(all(), filter), MILLION, "filters");
}

#[test]
fn too_many_tables_and_too_much_metadata_touch_no_port() {
    let exceeded = "limit_exceeded/validate: request exceeds a limit";
    let add = |request: ExtractionRequest, name| request.table("sales", name, ["*"]);
    is_refused(&names(MANY).into_iter().fold(all(), add), exceeded, "tables");
    let fields = ExtractionRequest::new().table("sales", "people", names(MANY));
    is_refused(&fields, exceeded, "fields");
    let metadata = (0..MANY).fold(all(), |request, at| request.metadata(at.to_string(), ""));
    let text = "validation/validate: request metadata is not valid";
    is_refused(&metadata, text, "metadata");
}

#[test]
fn filters_on_what_is_not_requested_are_too_many_just_the_same() {
    for (datasource, table) in [("elsewhere", "people"), ("sales", "orders")] {
        let filter = |request: ExtractionRequest, field| {
            request.filter(datasource, table, Filter::eq(field, 1))
        };
        let request = names(MANY).into_iter().fold(all(), filter);
        let (host, engine) = ready();
        let error = host.run(engine.plan_extraction("acme", &request)).unwrap_err();
        let place = format!("{datasource}.{table}");
        assert_eq!(brief(&error), "limit_exceeded/validate: request exceeds a limit", "{place}");
        let mistakes = error.report().unwrap().mistakes().len();
        assert!(mistakes < 1_000, "{place}: {mistakes} mistakes");
        assert_eq!(host.probe.calls(), Vec::<String>::new(), "{place}");
    }
}

#[test]
fn the_order_of_conditions_makes_no_other_plan() {
    let (host, engine) = ready();
    let plans = [[1, 2], [2, 1]].map(|ids| {
        let add = |request: ExtractionRequest, id| {
            request.filter("sales", "people", Filter::ne("id", id))
        };
        host.run(engine.plan_extraction("acme", &ids.into_iter().fold(all(), add))).unwrap()
    });
    assert_eq!(plans[0], plans[1], "all of them must hold, so their order says nothing");
}

#[test]
fn a_hundred_thousand_operands_are_one_filter() {
    let (host, engine) = ready();
    for found in [true, false] {
        let first = if found { 2 } else { 3 };
        let values = (0..100_000).map(|at| Value::from(first + at));
        let request = all().filter("sales", "people", Filter::is_in("id", values));
        let plan = host.run(engine.plan_extraction("acme", &request)).unwrap();
        let options = ExecuteOptions::new().mode(Mode::Direct);
        let result = host.run(engine.execute_extraction(&plan, options)).unwrap();
        assert_eq!(result.rows, u64::from(found));
        assert!(format!("{request:?} {plan:?}").len() < 10_000, "operands are not printed");
    }
}

// --- Limits at their ends.

fn most() -> Limits {
    let mut most = Limits::default();
    most.max_datasources = u32::MAX;
    most.max_tables_per_datasource = u32::MAX;
    most.max_fields_per_table = u32::MAX;
    most.max_concurrency = u32::MAX;
    most.max_duration = Some(Duration::MAX);
    most.max_result_bytes = u64::MAX;
    most.max_rows = u64::MAX;
    most.teardown = Duration::MAX;
    most.read_ahead_bytes = u64::MAX;
    most
}

fn least() -> Limits {
    let mut least = Limits::default();
    least.max_datasources = 1;
    least.max_tables_per_datasource = 1;
    least.max_fields_per_table = 1;
    least.max_concurrency = 1;
    least.max_duration = Some(Duration::from_nanos(1));
    least.max_result_bytes = 1;
    least.max_rows = 1;
    least.teardown = Duration::from_nanos(1);
    least.read_ahead_bytes = 1;
    least
}

#[test]
fn limits_at_the_end_of_their_types_are_limits() {
    for runtime in ["manual", "std"] {
        for to in [Mode::Direct, Mode::Store] {
            let host = Host::new();
            host.connect("acme", "sales");
            host.connect("acme", "shop");
            let builder = host.full().limits(most());
            let builder = match runtime {
                "std" => builder.runtime(Arc::new(fetcher_engine::StdRuntime)),
                _ => builder,
            };
            let engine = builder.build().unwrap();
            let request = all().table("shop", "people", ["*"]);
            let plan = host.run(engine.plan_extraction("acme", &request)).unwrap();
            let run = engine.execute_extraction(&plan, ExecuteOptions::new().mode(to));
            assert_eq!(host.run(run).unwrap().rows, 4, "{runtime} {to:?}");
            assert_eq!(host.clock.elapsed(), Duration::ZERO);
        }
    }
}

#[test]
fn limits_of_one_are_limits() {
    let host = Host::new();
    host.connect("acme", "sales");
    let engine = host.full().limits(least()).build().unwrap();
    let one = ExtractionRequest::new().request_id("r-1").table("sales", "people", ["id"]);
    let plan = host.run(engine.plan_extraction("acme", &one)).unwrap();
    for to in [Mode::Direct, Mode::Store] {
        let run = engine.execute_extraction(&plan, ExecuteOptions::new().mode(to));
        let error = host.run(run).unwrap_err();
        assert_eq!(error.category(), Category::LimitExceeded, "{error}");
        assert!(host.sink.is_empty());
    }
    let too_many = [
        one.clone().table("shop", "people", ["id"]),
        one.clone().table("sales", "orders", ["id"]),
        ExtractionRequest::new().request_id("r-1").table("sales", "people", ["id", "name"]),
    ];
    for request in too_many {
        host.probe.clear();
        let error = host.run(engine.plan_extraction("acme", &request)).unwrap_err();
        assert_eq!(error.category(), Category::LimitExceeded);
        assert_eq!(host.probe.calls(), Vec::<String>::new());
    }
}

/// Sets one wish to its ceiling, to one, and above its ceiling.
type Wish = fn(&mut LimitOverrides, &Limits, i8);

const WISHES: &[Wish] = &[
    |wish, limits, how| wish.max_datasources = whole(limits.max_datasources.into(), how) as u32,
    |wish, limits, how| {
        wish.max_tables_per_datasource = whole(limits.max_tables_per_datasource.into(), how) as u32;
    },
    |wish, limits, how| {
        wish.max_fields_per_table = whole(limits.max_fields_per_table.into(), how) as u32;
    },
    |wish, limits, how| wish.max_concurrency = whole(limits.max_concurrency.into(), how) as u32,
    |wish, limits, how| wish.max_duration = span(limits.max_duration.unwrap(), how),
    |wish, limits, how| wish.max_result_bytes = whole(limits.max_result_bytes, how),
    |wish, limits, how| wish.max_rows = whole(limits.max_rows, how),
    |wish, limits, how| wish.teardown = span(limits.teardown, how),
    |wish, limits, how| wish.read_ahead_bytes = whole(limits.read_ahead_bytes, how),
];

fn whole(ceiling: u64, how: i8) -> u64 {
    match how {
        0 => 1,
        1 => ceiling,
        2 => ceiling.saturating_add(1),
        _ => u64::MAX,
    }
}

fn span(ceiling: Duration, how: i8) -> Duration {
    match how {
        0 => Duration::from_nanos(1),
        1 => ceiling,
        2 => ceiling.saturating_add(Duration::from_nanos(1)),
        _ => Duration::MAX,
    }
}

#[test]
fn every_wish_at_either_end_is_granted_or_refused() {
    let mut limits = Limits::default();
    limits.max_rows = 1 << 40;
    for (at, set) in WISHES.iter().enumerate() {
        for how in 0..=3 {
            let mut wishes = LimitOverrides::default();
            set(&mut wishes, &limits, how);
            let place = format!("wish {at}, {how}");
            let (host, _) = ready();
            let engine = host.full().limits(limits.clone()).build().unwrap();
            let request = all().limits(wishes.clone());
            let answer = host.run(engine.plan_extraction("acme", &request));
            match limits.lowered_by(&wishes) {
                Ok(lowered) => {
                    assert!(how < 2, "{place}");
                    // Of two fields one is too many.
                    assert_eq!(answer.is_ok(), !(at == 2 && how == 0), "{place}: {answer:?}");
                    assert!(answer.is_err() || *answer.unwrap().limits() == lowered, "{place}");
                }
                Err(error) => {
                    assert!(how >= 2, "{place}");
                    assert!(error.message().ends_with(" is above its ceiling"), "{place}");
                    refused(&host, &answer.unwrap_err(), &brief(&error), &place);
                }
            }
        }
    }
    // Where there is no ceiling, no wish is above it.
    for how in 0..=3 {
        let mut wishes = LimitOverrides::default();
        WISHES.iter().for_each(|set| set(&mut wishes, &most(), how));
        assert!(most().lowered_by(&wishes).is_ok());
    }
}

// --- Too deep.

/// Runs something on a thread whose stack is deep enough to build what is to be refused.
fn on_a_deep_stack(work: impl FnOnce() + Send + 'static) {
    let thread = thread::Builder::new().stack_size(256 << 20);
    thread.spawn(work).unwrap().join().unwrap();
}

fn nested(depth: usize, map: bool) -> Value {
    (0..depth).fold(Value::from(1), |inner, _| match map {
        true => Value::Map(BTreeMap::from([("k".to_owned(), inner)])),
        false => Value::List(vec![inner]),
    })
}

#[test]
fn a_value_nested_too_deep_is_a_fault_and_no_bytes() {
    on_a_deep_stack(|| {
        for map in [false, true] {
            for (depth, expected) in [(128, None), (129, Some(RowFault::TooDeep))] {
                is_deep(depth, map, expected);
            }
            is_deep(5_000, map, Some(RowFault::TooDeep));
        }
        // Step by step, it is the same.
        let mut batch = RowBatch::new(StepShape::open(Format::Json, "d"));
        batch.table("t", &["v"]).unwrap();
        (0..MILLION).for_each(|_| batch.begin_list());
        assert_eq!(batch.fault(), Some(RowFault::TooDeep));
        (0..MILLION).for_each(|_| batch.end());
        assert_eq!(batch.end_row(), Err(RowFault::TooDeep));
        assert_eq!(batch.encoded(), b"");
    });
}

fn is_deep(depth: usize, map: bool, expected: Option<RowFault>) {
    let value = nested(depth, map);
    for format in [Format::Json, Format::Ndjson] {
        let mut batch = RowBatch::new(StepShape::open(format, "d"));
        batch.table("t", &["v"]).unwrap();
        batch.value(&value);
        assert_eq!(batch.end_row().err(), expected, "{depth} {map} {format:?}");
        assert_eq!(batch.encoded().is_empty(), expected.is_some());
    }
}

#[test]
fn a_nested_operand_is_refused_before_the_first_row() {
    on_a_deep_stack(|| {
        for map in [false, true] {
            let (host, engine) = ready();
            let filter = Filter::new("id", fetcher_engine::Operator::Eq, vec![nested(5_000, map)]);
            let request = all().filter("sales", "people", filter);
            let plan = host.run(engine.plan_extraction("acme", &request)).unwrap();
            assert!(format!("{plan:?} {request:?}").len() < 10_000);
            let run = engine.execute_extraction(&plan, ExecuteOptions::new());
            let error = host.run(run).unwrap_err();
            assert_eq!(brief(&error), "validation/query: query was refused");
            assert!(host.sink.is_empty());
        }
    });
}

#[test]
fn json_text_nested_a_million_deep_goes_out_as_a_string() {
    let closed = |open: &str, close: &str| open.repeat(MILLION) + &close.repeat(MILLION);
    let texts = [
        "[".repeat(MILLION),
        "{\"k\":".repeat(MANY),
        closed("[", "]"),
        "{\"k\":[".repeat(MANY) + &"]}".repeat(MANY),
        "]".repeat(MANY),
        " ".repeat(MANY),
        "\"".to_owned() + &"\\".repeat(MANY),
        "-".repeat(MANY),
        "1e".to_owned() + &"9".repeat(MANY),
    ];
    for text in texts {
        let mut batch = RowBatch::new(StepShape::open(Format::Ndjson, "d"));
        batch.table("t", &["v"]).unwrap();
        batch.json(&text);
        batch.end_row().unwrap();
        let head = &text[..text.len().min(8)];
        let line = core::str::from_utf8(batch.encoded()).unwrap();
        let value = line.strip_prefix(r#"{"config":"d","table":"t","row":{"v":"#);
        let value = value.unwrap().strip_suffix("}}\n").unwrap();
        if text.starts_with("1e") {
            assert_eq!(value, text, "a number is a number");
            continue;
        }
        assert!(value.starts_with('"') && value.ends_with('"'), "{head}");
        let plain = value[1..value.len() - 1].replace("\\\"", "\"").replace("\\\\", "\\");
        assert!(plain == text, "{head}");
        assert!(value.len() <= 2 * text.len() + 2, "{head}");
    }
}

// --- Strange.

/// What nobody should be called, and whether a connection, a request or a table may be.
#[rustfmt::skip]
const STRANGE: &[(&str, bool, bool)] = &[
    ("", false, false),
    (" ", false, false),
    ("\u{a0}\u{2003}\u{3000}", false, false),
    ("\0", false, false),
    ("a\0b", false, false),
    ("\n", false, false),
    ("a\nb", false, true),
    ("a\tb", false, true),
    ("a\u{7f}b", false, true),
    ("a\u{85}b", false, true),
    ("\u{1b}[2Ja", false, true),
    ("a\u{202e}b", true, true),
    ("\u{feff}a", true, true),
    ("\u{200b}", true, true),
    ("a\u{2028}b", true, true),
    ("\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}", true, true),
    ("\u{e9}", true, true),
    ("e\u{301}", true, true),
    (" a ", true, true),
    ("a'; drop table \"users\" --", true, true),
    ("../../etc/passwd", true, true),
    ("{{7*7}}${jndi:ldap://x}", true, true),
    ("</script><script>", true, true),
    ("%s%n%x", true, true),
];

#[test]
fn strange_names_of_connections_are_refused_or_kept_to_the_byte() {
    for (name, is_name, _) in STRANGE {
        let host = Host::new();
        let engine = host.full().build().unwrap();
        let input = ConnectionInput::new(*name, "memory").database("crm").host("h");
        let created = host.run(engine.create_connection("acme", input));
        if !is_name {
            let text = "validation/validate: connection name is not valid";
            refused(&host, &created.unwrap_err(), text, name);
            continue;
        }
        assert_eq!(created.unwrap().name.as_str(), *name);
        let found = host.run(engine.list_connections("acme")).unwrap();
        assert_eq!(found[0].name.as_str(), *name);
        assert!(host.run(engine.get_connection("acme", name)).is_ok());
        // Neither a tidier form of it nor the start of it is it.
        for other in [name.trim(), &name.to_lowercase(), &format!("{name} ")] {
            let answer = host.run(engine.get_connection("acme", other));
            assert_eq!(answer.is_ok(), other == *name, "{other:?}");
        }
        let request = ExtractionRequest::new().request_id(*name).table(*name, "people", ["*"]);
        let plan = host.run(engine.plan_extraction("acme", &request)).unwrap();
        for to in [Mode::Direct, Mode::Store] {
            let run = engine.execute_extraction(&plan, ExecuteOptions::new().mode(to));
            assert_eq!(host.run(run).unwrap().rows, 2, "{name:?}");
        }
        let states = host.states("acme", name);
        assert_eq!(states, ["running", "completed", "running", "completed"]);
    }
}

#[test]
fn strange_names_of_tables_are_refused_or_kept_to_the_byte() {
    for (name, _, is_name) in STRANGE {
        let host = Host::new();
        let table = Table::new(*name).column(*name, ValueKind::String).row([Value::from(*name)]);
        host.source.put("crm", [table]).unwrap();
        host.connect("acme", "sales");
        let engine = host.full().build().unwrap();
        let request = ExtractionRequest::new().request_id("r-1").table("sales", *name, [*name]);
        let request = request.filter("sales", *name, Filter::eq(*name, *name));
        let planned = host.run(engine.plan_extraction("acme", &request));
        if !is_name {
            let text = "validation/validate: table name is not valid";
            refused(&host, &planned.unwrap_err(), text, name);
            let of_field = ExtractionRequest::new().table("sales", "people", [*name]);
            is_refused(&of_field, "validation/validate: field name is not valid", name);
            continue;
        }
        let plan = planned.unwrap();
        let options = ExecuteOptions::new().mode(Mode::Direct);
        let result = host.run(engine.execute_extraction(&plan, options)).unwrap();
        assert_eq!((result.rows, &*result.tables[0].table), (1, *name));
        let document = document(&result);
        let raw = |c: char| c < ' ' && c != '\n';
        assert!(!document.contains(raw), "{name:?}: {document}");
        assert!(!document.contains(['<', '>', '\u{2028}']), "{name:?}: {document}");
        let lines = document.lines().count();
        assert_eq!(lines, 9, "{name:?} breaks no line: {document}");
    }
}

#[test]
fn strange_tenants_are_refused() {
    let (host, engine) = ready();
    let tenants = ["", " ", "a b", "a\0", "a/b", "../a", "-a", "_a", "\u{e9}", "a\u{202e}", "a.b"];
    for tenant in tenants {
        for operation in Operation::ALL {
            if operation == Operation::Execute {
                continue;
            }
            let call = Call::new(tenant, "sales", "connection-1");
            let error = host.run(operation.run(&engine, &call)).unwrap_err();
            refused(&host, &error, "validation/validate: tenant id is not valid", tenant);
        }
    }
    assert_eq!(tenant("  acme\n"), tenant("acme"), "white space around it is no part of it");
}

//! Executions from the first record to the last: bytes, counts and records when all goes well, and
//! what is left behind when it does not.

#![cfg(feature = "std")]

extern crate alloc;

mod common;

use alloc::sync::Arc;
use core::time::Duration;
use std::sync::Mutex;

use common::{
    Act, Host, Notary, Rogue, Task, brief, document, large, orders, people, stored, tenant,
};
use fetcher_engine::digest::sha256;
use fetcher_engine::encode::{Format, RowBatch, StepShape};
use fetcher_engine::memory::Table;
use fetcher_engine::ports::{Fetched, ResultHeader};
use fetcher_engine::value::ValueKind;
use fetcher_engine::{
    CancelToken, Category, Engine, EngineError, ExecuteOptions, ExtractionPlan, ExtractionRequest,
    ExtractionResult, FailurePolicy, Filter, LimitOverrides, Mode, Output, PortError,
};

const NOTHING: [&str; 0] = [];
const UNAVAILABLE: Act = Act::Fail(Category::Unavailable);

/// A request for people and orders of these datasources.
fn everything(names: &[&str]) -> ExtractionRequest {
    let request = ExtractionRequest::new().request_id("r-1").metadata("report", "monthly");
    names.iter().fold(request, |request, name| {
        request.table(*name, "people", ["name", "id"]).table(*name, "orders", ["*"])
    })
}

/// A host with these datasources, all its ports wired, and a plan for everything in them.
fn prepared(names: &[&str]) -> (Host, Engine, ExtractionPlan) {
    let host = Host::new();
    for name in names {
        host.connect("acme", name);
    }
    let plan = host.plan("acme", &everything(names));
    let engine = host.full().build().unwrap();
    (host, engine, plan)
}

fn run(
    host: &Host,
    engine: &Engine,
    plan: &ExtractionPlan,
    options: ExecuteOptions,
) -> Result<ExtractionResult, EngineError> {
    host.run(engine.execute_extraction(plan, options))
}

fn mode(mode: Mode) -> ExecuteOptions {
    ExecuteOptions::new().mode(mode)
}

fn collect() -> ExecuteOptions {
    mode(Mode::Direct).failure_policy(FailurePolicy::Collect)
}

/// The bytes of a result, wherever they are.
fn bytes(host: &Host, result: &ExtractionResult) -> String {
    match result.output {
        Output::Document(_) => document(result),
        _ => stored(host, "acme", result),
    }
}

/// Every connector was closed, each once and none only dropped; every writer ended once.
fn is_tidy(host: &Host, place: &str) {
    let count = |calls| host.probe.count(calls);
    let (built, closed) = (count("factory.build"), count("connector.close"));
    assert_eq!(built, closed, "{place}: {:?}", host.probe.calls());
    assert_eq!(count("connector.drop"), 0, "{place}");
    assert_eq!(host.clock.sleepers(), 0, "{place}");
    assert_eq!(count("sink.drop"), 0, "{place}");
    assert!(count("sink.close") + count("sink.abort") <= 1, "{place}");
}

// --- What comes out.

#[test]
fn a_direct_result_is_one_document() {
    let (host, engine, _) = prepared(&["b", "a"]);
    host.source
        .put("empty", [people(), Table::new("orders").column("id", ValueKind::I64)])
        .unwrap();
    host.connect_to("acme", "c", "empty");
    let request = everything(&["b"]).table("c", "orders", ["id"]);
    let plan = host.plan("acme", &request.table("a", "people", ["name"]));
    let result = run(&host, &engine, &plan, mode(Mode::Direct)).unwrap();
    let expected = r#"{
  "a": {
    "people": [
      {
        "name": "Ada"
      },
      {
        "name": "Grace"
      }
    ]
  },
  "b": {
    "orders": [
      {
        "id": 1,
        "total": 10
      },
      {
        "id": 2,
        "total": 20
      },
      {
        "id": 3,
        "total": 30
      }
    ],
    "people": [
      {
        "id": 1,
        "name": "Ada"
      },
      {
        "id": 2,
        "name": "Grace"
      }
    ]
  },
  "c": {
    "orders": []
  }
}"#;
    assert_eq!(document(&result), expected);
    assert_eq!(result.format, Format::Json);
    let counts = result.tables.iter().map(|t| (&*t.datasource, &*t.table, t.rows));
    let expected = [("a", "people", 2), ("b", "orders", 3), ("b", "people", 2), ("c", "orders", 0)];
    assert_eq!(counts.collect::<Vec<_>>(), expected);
    assert!(host.sink.is_empty());
}

const LINES: &str = r#"{"config":"?","table":"orders","row":{"id":1,"total":10}}
{"config":"?","table":"orders","row":{"id":2,"total":20}}
{"config":"?","table":"orders","row":{"id":3,"total":30}}
{"config":"?","table":"people","row":{"id":1,"name":"Ada"}}
{"config":"?","table":"people","row":{"id":2,"name":"Grace"}}
"#;

#[test]
fn a_stored_result_is_a_line_for_every_row() {
    let (host, engine, plan) = prepared(&["b", "a"]);
    let result = run(&host, &engine, &plan, ExecuteOptions::new()).unwrap();
    let lines = ["a", "b"].map(|name| LINES.replace('?', name)).concat();
    assert_eq!(stored(&host, "acme", &result), lines);
    assert_eq!((result.format, result.rows), (Format::Ndjson, 10));
    assert_eq!(result.bytes, lines.len() as u64);
    let sum: u64 = result.tables.iter().map(|table| table.bytes).sum();
    assert_eq!(sum, result.bytes);
    assert_eq!(result.request_id.map(|id| id.to_string()), Some("r-1".into()));
    assert_eq!(result.metadata["report"], "monthly");
    let kept = host.sink.result(&tenant("acme"), "memory/1").unwrap();
    let header = ResultHeader::new(Format::Ndjson)
        .request_id(plan.request_id().cloned())
        .metadata(plan.metadata().clone());
    assert_eq!(kept.header, header);
    is_tidy(&host, "store");
}

#[test]
fn the_bytes_are_the_same_at_any_concurrency_and_speed() {
    let names = ["a", "b", "c", "d", "e"];
    let host = Host::new();
    for (name, rows) in names.into_iter().zip([3_000, 0, 1, 1_500, 4_000]) {
        host.source.put(name, [large(rows), orders()]).unwrap();
        host.connect_to("acme", name, name);
    }
    let engine = host.full().build().unwrap();
    let mut known: [Option<(String, u64)>; 2] = [None, None];
    for concurrency in 1..=4 {
        for (at, to) in [Mode::Direct, Mode::Store].into_iter().enumerate() {
            let mut limits = LimitOverrides::default();
            limits.max_concurrency = concurrency;
            limits.read_ahead_bytes = 100_000;
            let plan = host.plan("acme", &everything(&names).limits(limits));
            for (step, name) in (1_u64..).zip(names) {
                let slow = step * 37 * u64::from(concurrency) % 11;
                let wait = Act::Wait(Duration::from_millis(slow));
                host.probe.on(&format!("connector.connect acme {name}"), wait);
                host.probe.on(&format!("connector.fetch acme {name}"), wait);
            }
            host.probe.on("sink.write", Act::Wait(Duration::from_millis(2)));
            let result = run(&host, &engine, &plan, mode(to)).unwrap();
            let text = bytes(&host, &result);
            assert_eq!(result.digest, sha256(text.as_bytes()));
            assert_eq!(result.bytes, text.len() as u64);
            assert_eq!(result.rows, 8_501 + 15);
            let sum: u64 = result.tables.iter().map(|table| table.rows).sum();
            assert_eq!(sum, result.rows);
            let known = known[at].get_or_insert((text.clone(), result.rows));
            assert!(known.0 == text, "{to:?} at {concurrency}");
            is_tidy(&host, "concurrency");
        }
    }
}

#[test]
fn only_rows_that_every_filter_keeps_come_out() {
    let (host, engine, _) = prepared(&["a"]);
    let request = everything(&["a"])
        .filter("a", "people", Filter::like("name", "%a%"))
        .filter("a", "people", Filter::gt("id", 1))
        .filter("a", "orders", Filter::is_in("total", [10, 30]));
    let plan = host.plan("acme", &request);
    let result = run(&host, &engine, &plan, ExecuteOptions::new()).unwrap();
    let rows: Vec<_> = result.tables.iter().map(|table| table.rows).collect();
    assert_eq!(rows, [2, 1]);
    assert!(stored(&host, "acme", &result).ends_with("\"row\":{\"id\":2,\"name\":\"Grace\"}}\n"));
}

#[test]
fn auto_stores_where_there_is_a_sink() {
    let (host, engine, plan) = prepared(&["a"]);
    for (options, is_stored) in
        [(mode(Mode::Auto), true), (mode(Mode::Store), true), (mode(Mode::Direct), false)]
    {
        let result = run(&host, &engine, &plan, options).unwrap();
        assert_eq!(matches!(result.output, Output::Stored(_)), is_stored);
    }
    assert_eq!((host.sink.len(), host.probe.count("sink.open")), (2, 2));
}

#[test]
fn what_the_sink_says_of_its_own_is_kept() {
    let (host, _, plan) = prepared(&["a"]);
    let engine = host.full().result_sink(Arc::new(Notary)).build().unwrap();
    let result = run(&host, &engine, &plan, ExecuteOptions::new()).unwrap();
    let Output::Stored(receipt) = result.output else {
        panic!("a stored result");
    };
    assert_eq!(receipt.reference, "s3://bucket/key");
    assert_eq!(receipt.integrity.unwrap().algorithm, "hmac-sha256");
    let protection = receipt.protection.unwrap();
    assert_eq!((protection.by.as_str(), &*protection.method), ("adapter", "aes-256-gcm"));
    let record = host.history("acme", "r-1").pop().unwrap();
    assert_eq!(record.reference.as_deref(), Some("s3://bucket/key"));
}

#[test]
fn progress_is_told_after_every_batch() {
    let (host, engine, plan) = prepared(&["a", "b"]);
    let told = Arc::new(Mutex::new(Vec::new()));
    let teller = Arc::clone(&told);
    let options = mode(Mode::Store).progress(move |now| {
        let line = (now.datasource.to_owned(), now.datasource_rows, now.datasource_done, now.rows);
        teller.lock().unwrap().push(line);
    });
    let result = run(&host, &engine, &plan, options).unwrap();
    let told = told.lock().unwrap();
    assert_eq!(told.last().map(|last| last.3), Some(result.rows));
    let done: Vec<_> = told.iter().filter(|line| line.2).collect();
    assert_eq!(done.len(), 2, "{told:?}");
    assert!(done.iter().all(|line| line.1 == 5));
}

// --- What is recorded.

#[test]
fn a_success_is_recorded_with_its_result() {
    for to in [Mode::Direct, Mode::Store] {
        let (host, engine, plan) = prepared(&["a"]);
        host.probe.on("connector.fetch", Act::Wait(Duration::from_secs(3)));
        let result = run(&host, &engine, &plan, mode(to)).unwrap();
        let [running, completed] = &host.history("acme", "r-1")[..] else {
            panic!("two states");
        };
        assert_eq!(running.state.as_str(), "running");
        assert_eq!((running.rows, running.digest), (0, None));
        assert_eq!(completed.state.as_str(), "completed");
        assert_eq!((completed.rows, completed.bytes), (result.rows, result.bytes));
        assert_eq!(completed.digest, Some(result.digest));
        assert_eq!(completed.reference.is_some(), to == Mode::Store);
        assert_eq!((completed.category, completed.stage), (None, None));
        assert_eq!(completed.metadata["report"], "monthly");
        let took = completed.at.unwrap() - running.at.unwrap();
        assert_eq!(took, Duration::from_secs(3));
    }
}

#[test]
fn a_failure_and_a_cancel_are_recorded_as_such() {
    let (host, engine, plan) = prepared(&["a"]);
    host.probe.on("connector.open", UNAVAILABLE);
    run(&host, &engine, &plan, ExecuteOptions::new()).unwrap_err();
    let failed = host.history("acme", "r-1").pop().unwrap();
    assert_eq!(failed.state.as_str(), "failed");
    assert_eq!(failed.category, Some(Category::Unavailable));
    assert_eq!(failed.stage.map(|stage| stage.as_str()), Some("query"));
    assert_eq!((failed.rows, failed.digest, failed.reference), (0, None, None));

    let token = CancelToken::new();
    token.cancel();
    run(&host, &engine, &plan, ExecuteOptions::new().cancel(token)).unwrap_err();
    let canceled = host.history("acme", "r-1").pop().unwrap();
    assert_eq!(canceled.state.as_str(), "canceled");
    assert_eq!(canceled.category, Some(Category::Canceled));
}

// --- When something fails.

#[test]
fn the_first_failure_leaves_no_result() {
    let calls = [
        ("factory.build acme b", "build", Some("b")),
        ("connector.connect acme b", "connect", Some("b")),
        ("connector.open acme b", "query", Some("b")),
        ("connector.fetch acme b", "read", Some("b")),
        ("sink.open", "persist", None),
        ("sink.write", "persist", None),
        ("sink.close", "persist", None),
    ];
    let acts = [UNAVAILABLE, Act::Panic("hunter2"), Act::PanicAtOnce("hunter2")];
    for (call, stage, datasource) in calls {
        for (act, to) in acts.into_iter().flat_map(|act| [(act, Mode::Direct), (act, Mode::Store)])
        {
            if to == Mode::Direct && datasource.is_none() {
                continue;
            }
            let (host, engine, plan) = prepared(&["a", "b", "c"]);
            host.probe.on(call, act);
            let place = format!("{call}: {act:?} in {to:?}");
            let error = run(&host, &engine, &plan, mode(to)).unwrap_err();
            assert_eq!(error.stage().as_str(), stage, "{place}");
            assert_eq!(error.datasource(), datasource, "{place}");
            assert!(!format!("{error} {error:?}").contains("hunter2"));
            assert!(host.sink.is_empty(), "{place}");
            assert_eq!(host.states("acme", "r-1"), ["running", "failed"], "{place}");
            let unbuilt = usize::from(call.starts_with("factory"));
            let count = |calls| host.probe.count(calls);
            assert_eq!(count("factory.build") - unbuilt, count("connector.close"), "{place}");
            assert_eq!(count("connector.drop") + count("sink.drop"), 0, "{place}");
            // A writer that was opened is aborted, and not closed unless it was complete.
            let opened = count("sink.open") - usize::from(call == "sink.open" && to == Mode::Store);
            assert_eq!(count("sink.abort") + count("sink.close"), opened, "{place}");
            assert_eq!(count("sink.close"), usize::from(call == "sink.close"), "{place}");
        }
    }
}

#[test]
fn of_two_failures_at_once_the_first_in_the_plan_is_told() {
    let (host, engine, plan) = prepared(&["a", "b", "c"]);
    host.probe.on("connector.fetch acme c", UNAVAILABLE);
    host.probe.on("connector.fetch acme b", UNAVAILABLE);
    let error = run(&host, &engine, &plan, ExecuteOptions::new()).unwrap_err();
    assert_eq!(error.datasource(), Some("b"));
}

#[test]
fn collecting_keeps_what_succeeds_and_lists_what_fails() {
    let calls = [
        ("factory.build acme b", "unavailable/build"),
        ("connector.connect acme b", "connect/connect"),
        ("connector.open acme b", "unavailable/query"),
        ("connector.fetch acme b", "unavailable/read"),
    ];
    for (call, expected) in calls {
        let (host, engine, plan) = prepared(&["a", "b", "c"]);
        host.probe.on(call, UNAVAILABLE);
        let result = run(&host, &engine, &plan, collect()).unwrap();
        let text = document(&result);
        assert!(text.contains("\"a\"") && text.contains("\"c\"") && !text.contains("\"b\""));
        assert_eq!(result.rows, 10, "{call}");
        assert_eq!(result.digest, sha256(text.as_bytes()));
        assert!(result.tables.iter().all(|table| &*table.datasource != "b"));
        let [failure] = &result.failures[..] else {
            panic!("one failure: {:?}", result.failures);
        };
        let (category, stage) = (failure.error.category(), failure.error.stage());
        assert_eq!(format!("{category}/{stage}"), expected);
        assert_eq!(&*failure.datasource, "b");
        assert_eq!(host.states("acme", "r-1"), ["running", "completed"]);
    }
}

#[test]
fn collecting_leaves_nothing_of_what_failed_half_way() {
    let (host, engine, _) = prepared(&["a"]);
    host.source.put("big", [large(3_000), orders()]).unwrap();
    host.connect_to("acme", "b", "big");
    let plan = host.plan("acme", &everything(&["a", "b"]));
    host.probe.on_nth("connector.fetch acme b", 2, Act::Panic("half-way"));
    let result = run(&host, &engine, &plan, collect()).unwrap();
    assert_eq!((result.rows, result.failures.len()), (5, 1));
    assert!(!document(&result).contains("\"b\""));
    assert_eq!(result.bytes, document(&result).len() as u64);
    is_tidy(&host, "collect");

    // The plan's order, not that of time.
    let later = Act::FailLater(Duration::from_secs(1), Category::Unavailable);
    host.probe.on("connector.connect acme a", later);
    host.probe.on("connector.connect acme b", UNAVAILABLE);
    let result = run(&host, &engine, &plan, collect()).unwrap();
    assert_eq!((&*document(&result), result.rows), ("{}", 0));
    let failed: Vec<_> = result.failures.iter().map(|f| &*f.datasource).collect();
    assert_eq!(failed, ["a", "b"]);
}

#[test]
fn a_limit_is_reached_at_its_last_row_and_byte_and_not_before() {
    for (to, policy) in [
        (Mode::Direct, FailurePolicy::FailFast),
        (Mode::Direct, FailurePolicy::Collect),
        (Mode::Store, FailurePolicy::FailFast),
    ] {
        let (host, engine, plan) = prepared(&["a", "b"]);
        let options = || mode(to).failure_policy(policy);
        let whole = run(&host, &engine, &plan, options()).unwrap();
        let mut row = LimitOverrides::default();
        row.max_rows = whole.rows;
        let mut byte = LimitOverrides::default();
        byte.max_result_bytes = whole.bytes;
        for limits in [row, byte] {
            let plan = host.plan("acme", &everything(&["a", "b"]).limits(limits.clone()));
            assert!(run(&host, &engine, &plan, options()).is_ok(), "{limits:?}");
            let before = host.sink.len();
            let mut less = limits.clone();
            less.max_rows = less.max_rows.saturating_sub(1);
            less.max_result_bytes = less.max_result_bytes.saturating_sub(1);
            let plan = host.plan("acme", &everything(&["a", "b"]).limits(less));
            let error = run(&host, &engine, &plan, options()).unwrap_err();
            let text = if limits.max_rows > 0 {
                "limit_exceeded/encode: result has more rows than limits.maxRows allows"
            } else {
                "limit_exceeded/encode: result is larger than limits.maxResultBytes allows"
            };
            assert_eq!(brief(&error), text);
            assert_eq!(host.sink.len(), before, "nothing was committed");
            assert_eq!(host.states("acme", "r-1").last(), Some(&"failed"));
            is_tidy(&host, "limit");
        }
    }
}

#[test]
fn a_source_without_an_end_ends_at_the_limit() {
    let fill = |mut batch: RowBatch| {
        batch.table("people", &["id"])?;
        while !batch.is_full() {
            batch.i64(7);
            // What went wrong is remembered by the batch, too.
            if batch.end_row().is_err() {
                break;
            }
        }
        Ok((batch, Fetched::More))
    };
    for to in [Mode::Direct, Mode::Store] {
        let host = Host::of(Rogue::new(&[("people", &["id"])]).fill(fill));
        host.connect("acme", "a");
        let mut limits = LimitOverrides::default();
        limits.max_result_bytes = 2 << 20;
        let request = ExtractionRequest::new().request_id("r-1");
        let request = request.table("a", "people", ["id"]).limits(limits);
        let (engine, plan) = (host.full().build().unwrap(), host.plan("acme", &request));
        let error = run(&host, &engine, &plan, mode(to)).unwrap_err();
        assert_eq!(error.category(), Category::LimitExceeded);
        assert!(host.sink.is_empty());
        is_tidy(&host, "endless");
    }
}

// --- Connectors that break their contract.

type Fill = fn(RowBatch) -> Result<(RowBatch, Fetched), PortError>;

/// Runs a plan for `t(a, b)` and `u(a)` against a connector that fills its batches so.
fn misuse(to: Mode, fill: Fill) -> (Host, Result<ExtractionResult, EngineError>) {
    let host = Host::of(Rogue::new(&[("t", &["a", "b"]), ("u", &["a"])]).fill(fill));
    host.connect("acme", "sales");
    let request = ExtractionRequest::new().request_id("r-1").table("sales", "t", ["a", "b"]).table(
        "sales",
        "u",
        ["a"],
    );
    let (engine, plan) = (host.full().build().unwrap(), host.plan("acme", &request));
    let answer = run(&host, &engine, &plan, mode(to));
    (host, answer)
}

/// Writes a row of so many values, and does not look at what the batch says.
fn row(batch: &mut RowBatch, table: &str, columns: &[&str], values: usize) {
    let _ = batch.table(table, columns);
    (0..values).for_each(|_| batch.i64(1));
    let _ = batch.end_row();
}

const BUGS: &[(&str, Fill)] = &[
    ("too few values", |mut batch| {
        row(&mut batch, "t", &["a", "b"], 1);
        Ok((batch, Fetched::End))
    }),
    ("too many values", |mut batch| {
        row(&mut batch, "t", &["a", "b"], 3);
        Ok((batch, Fetched::End))
    }),
    ("too many values, and told so", |mut batch| {
        batch.table("t", &["a", "b"])?;
        (0..3).for_each(|_| batch.i64(1));
        batch.end_row()?;
        Ok((batch, Fetched::End))
    }),
    ("an unfinished row", |mut batch| {
        let _ = batch.table("t", &["a", "b"]);
        batch.i64(1);
        Ok((batch, Fetched::More))
    }),
    ("an unfinished list", |mut batch| {
        let _ = batch.table("u", &["a"]);
        batch.begin_list();
        let _ = batch.end_row();
        Ok((batch, Fetched::End))
    }),
    ("a value before any table", |mut batch| {
        batch.i64(1);
        Ok((batch, Fetched::End))
    }),
    ("a table that nobody asked for", |mut batch| {
        row(&mut batch, "secrets", &["a", "b"], 2);
        Ok((batch, Fetched::End))
    }),
    ("a column too many", |mut batch| {
        row(&mut batch, "t", &["a", "b", "c"], 3);
        Ok((batch, Fetched::End))
    }),
    ("a column too few", |mut batch| {
        row(&mut batch, "t", &["a"], 1);
        Ok((batch, Fetched::End))
    }),
    ("another column", |mut batch| {
        row(&mut batch, "t", &["a", "c"], 2);
        Ok((batch, Fetched::End))
    }),
    ("a column twice", |mut batch| {
        row(&mut batch, "t", &["a", "a"], 2);
        Ok((batch, Fetched::End))
    }),
];

/// Holds that this is the connector's bug, in either mode, and leaves no result.
fn is_a_bug(bug: &str, fill: Fill) {
    for to in [Mode::Direct, Mode::Store] {
        let (host, answer) = misuse(to, fill);
        let answer = answer.map(|result| bytes(&host, &result));
        let error = answer.expect_err(bug);
        let text = "internal/encode: connector broke the row batch contract";
        assert_eq!(brief(&error), text, "{bug} in {to:?}");
        assert_eq!(error.datasource(), Some("sales"));
        assert!(host.sink.is_empty(), "{bug}");
        is_tidy(&host, bug);
    }
}

#[test]
fn a_connector_that_misuses_its_batch_is_a_bug_and_no_result() {
    for (bug, fill) in BUGS {
        is_a_bug(bug, *fill);
    }
}

#[test]
fn an_end_before_every_table_was_declared_is_a_bug() {
    is_a_bug("`u` was forgotten", |mut batch| {
        row(&mut batch, "t", &["a", "b"], 2);
        Ok((batch, Fetched::End))
    });
}

#[test]
fn another_batch_than_the_one_that_was_given_is_a_bug() {
    is_a_bug("another batch", |_| {
        let mut other = RowBatch::new(StepShape::open(Format::Ndjson, "elsewhere"));
        row(&mut other, "secrets", &["password"], 1);
        Ok((other, Fetched::End))
    });
}

#[test]
fn a_connector_that_does_all_right_is_believed() {
    for to in [Mode::Direct, Mode::Store] {
        let (host, answer) = misuse(to, |mut batch| {
            row(&mut batch, "u", &["a"], 1);
            row(&mut batch, "t", &["b", "a"], 2);
            row(&mut batch, "u", &["a"], 1);
            Ok((batch, Fetched::End))
        });
        let result = answer.unwrap();
        let rows: Vec<_> = result.tables.iter().map(|table| table.rows).collect();
        assert_eq!(rows, [1, 2]);
        assert_eq!(result.digest, sha256(bytes(&host, &result).as_bytes()));
    }
}

#[test]
fn a_filter_that_cannot_be_applied_is_refused_before_the_first_row() {
    let filters = [Filter::like("id", "1%"), Filter::eq("id", "one"), Filter::gt("id", 1.5)];
    for filter in filters {
        let (host, engine, _) = prepared(&["a"]);
        let request = everything(&["a"]).filter("a", "people", filter.clone());
        let plan = host.plan("acme", &request);
        let error = run(&host, &engine, &plan, ExecuteOptions::new()).unwrap_err();
        assert_eq!(brief(&error), "validation/query: query was refused", "{filter:?}");
        assert_eq!((error.datasource(), error.table()), (Some("a"), Some("people")));
        assert_eq!(host.probe.count("connector.fetch"), 0);
        assert!(host.sink.is_empty());
        is_tidy(&host, "filter");
    }
}

#[test]
fn a_table_that_a_connector_makes_up_is_not_shown() {
    let fill = |_| Err(PortError::unavailable().at_table("password=hunter2"));
    let (_, answer) = misuse(Mode::Store, fill);
    let error = answer.unwrap_err();
    assert_eq!((error.datasource(), error.table()), (Some("sales"), None));
    let (_, answer) = misuse(Mode::Store, |_| Err(PortError::unavailable().at_table("u")));
    assert_eq!(answer.unwrap_err().table(), Some("u"));
}

#[test]
fn a_progress_report_that_panics_is_internal() {
    let (host, engine, plan) = prepared(&["a", "b"]);
    let options = ExecuteOptions::new().progress(|_| panic!("hunter2"));
    let error = run(&host, &engine, &plan, options).unwrap_err();
    assert_eq!(brief(&error), "internal/read: a port panicked");
    assert!(host.sink.is_empty());
    is_tidy(&host, "progress");
}

// --- Time.

#[test]
fn a_deadline_ends_whatever_waits_and_is_recorded() {
    let calls = [
        "store.find",
        "connector.connect acme b",
        "connector.open acme b",
        "connector.fetch acme b",
        "sink.open",
        "sink.write",
        "sink.close",
    ];
    let mut limits = LimitOverrides::default();
    limits.max_duration = Duration::from_secs(60);
    limits.teardown = Duration::from_secs(2);
    for call in calls {
        let (host, engine, _) = prepared(&["a", "b", "c"]);
        let request = everything(&["a", "b", "c"]).limits(limits.clone());
        let plan = host.plan("acme", &request);
        host.probe.on(call, Act::Hang);
        let error = run(&host, &engine, &plan, ExecuteOptions::new()).unwrap_err();
        assert_eq!(brief(&error), "timeout/run: deadline passed", "{call}");
        assert_eq!(host.clock.elapsed(), Duration::from_secs(60), "{call}");
        let last = host.history("acme", "r-1").pop().unwrap();
        assert_eq!((last.state.as_str(), last.category), ("failed", Some(Category::Timeout)));
        assert!(host.sink.is_empty(), "{call}");
        is_tidy(&host, call);
    }
}

#[test]
fn a_query_is_told_how_much_time_is_left() {
    let (host, engine, _) = prepared(&["a"]);
    let mut limits = LimitOverrides::default();
    limits.max_duration = Duration::from_secs(60);
    let plan = host.plan("acme", &everything(&["a"]).limits(limits));
    let wait = Act::Wait(Duration::from_secs(43));
    host.probe.on("connector.connect", wait);
    run(&host, &engine, &plan, ExecuteOptions::new()).unwrap();
    assert_eq!(host.probe.count("connector.open acme a 17s"), 1);
    host.probe.on("connector.open", wait);
    let error = run(&host, &engine, &plan, ExecuteOptions::new()).unwrap_err();
    assert_eq!(error.category(), Category::Timeout);
    assert_eq!(host.clock.elapsed(), Duration::from_secs(43 + 60));
}

#[test]
fn a_result_that_was_closed_in_time_stands_however_long_its_record_takes() {
    let (host, engine, plan) = prepared(&["a"]);
    host.probe.on("executions.save acme r-1 completed", Act::Hang);
    host.probe.on("connector.close", Act::Hang);
    let token = CancelToken::new();
    let options = ExecuteOptions::new().cancel(token.clone());
    let mut task = Task::new(engine.execute_extraction(&plan, options));
    assert!(task.until_idle().is_none());
    assert_eq!(host.sink.len(), 1);
    token.cancel();
    let result = task.run(&host.clock);
    assert_eq!(result.unwrap().rows, 5);
    assert_eq!(host.clock.elapsed(), Duration::from_secs(5), "the teardown budget");
}

// --- Cancel and drop.

/// An execution in which everything takes some time.
fn slow(to: Mode, concurrency: u32) -> (Host, Engine, ExtractionPlan, CancelToken, ExecuteOptions) {
    let names = ["a", "b", "c"];
    let (host, engine, _) = prepared(&names);
    let mut limits = LimitOverrides::default();
    limits.max_concurrency = concurrency;
    let plan = host.plan("acme", &everything(&names).limits(limits));
    let calls = [
        "executions.save",
        "store.find",
        "connector.connect",
        "connector.open",
        "connector.fetch",
        "connector.close",
        "sink.open",
        "sink.write",
        "sink.close",
    ];
    for (at, call) in (1..).zip(calls) {
        host.probe.on(call, Act::Wait(Duration::from_millis(at)));
    }
    let token = CancelToken::new();
    let options = mode(to).cancel(token.clone());
    (host, engine, plan, token, options)
}

const SWEEPS: [(Mode, u32); 4] =
    [(Mode::Direct, 1), (Mode::Direct, 3), (Mode::Store, 1), (Mode::Store, 3)];

/// Fewer moments than this would mean that the calls take no time.
const MOMENTS_MIN: usize = 12;

/// Goes on by one poll, or by one tick of the clock where nothing is woken.
fn tick<T>(host: &Host, task: &mut Task<'_, T>) -> Option<T> {
    let is_woken = task.is_woken();
    if !is_woken {
        assert!(host.clock.advance(), "nobody will ever wake the task");
    }
    task.step()
}

#[test]
fn a_cancel_at_any_moment_leaves_all_or_nothing() {
    for (to, concurrency) in SWEEPS {
        let mut outcomes = Vec::new();
        for moment in 0.. {
            let (host, engine, plan, token, options) = slow(to, concurrency);
            let mut task = Task::new(engine.execute_extraction(&plan, options));
            let early = (0..moment).find_map(|_| tick(&host, &mut task));
            if early.is_some() {
                break;
            }
            token.cancel();
            let place = format!("{to:?} at {moment}");
            let answer = task.run(&host.clock);
            let is_ok = answer.is_ok();
            if let Err(error) = answer {
                assert_eq!(brief(&error), "canceled/run: canceled by the host", "{place}");
            }
            let last = if is_ok { "completed" } else { "canceled" };
            assert_eq!(host.states("acme", "r-1").last(), Some(&last), "{place}");
            let kept = usize::from(is_ok && to == Mode::Store);
            assert_eq!(host.sink.len(), kept, "{place}");
            is_tidy(&host, &place);
            assert_eq!(token.waiting(), 0, "{place}");
            outcomes.push(is_ok);
        }
        assert!(outcomes.len() >= MOMENTS_MIN, "{outcomes:?}");
        assert!(outcomes.is_sorted(), "once it is too late it stays so: {outcomes:?}");
        assert_eq!((outcomes.first(), outcomes.last()), (Some(&false), Some(&true)));
    }
}

#[test]
fn a_drop_at_any_moment_releases_everything_and_commits_nothing() {
    for (to, concurrency) in SWEEPS {
        for moment in 0.. {
            let (host, engine, plan, token, options) = slow(to, concurrency);
            let mut task = Task::new(engine.execute_extraction(&plan, options));
            let answer = (0..moment).find_map(|_| tick(&host, &mut task));
            drop(task);
            if answer.is_some() {
                assert!(moment >= MOMENTS_MIN);
                break;
            }
            let place = format!("{to:?} at {moment}");
            let count = |calls| host.probe.count(calls);
            let ended = count("connector.close") + count("connector.drop");
            assert_eq!(count("factory.build"), ended, "{place}");
            assert_eq!((host.clock.sleepers(), token.waiting()), (0, 0), "{place}");
            // What the sink has closed is closed; nothing else is there.
            let kept = host.sink.len();
            assert!(kept <= count("sink.close"), "{place}");
            assert_eq!(count("sink.abort"), 0, "a drop cannot wait");
        }
    }
}

#[test]
fn a_cancel_before_the_start_touches_nothing_but_the_record() {
    let (host, engine, plan, token, options) = slow(Mode::Store, 2);
    token.cancel();
    let error = run(&host, &engine, &plan, options).unwrap_err();
    assert_eq!(brief(&error), "canceled/run: canceled by the host");
    assert_eq!(host.probe.calls(), ["executions.save acme r-1 canceled"]);

    let engine = host.bare().build().unwrap();
    host.probe.clear();
    let options = ExecuteOptions::new().cancel(token);
    run(&host, &engine, &plan, options).unwrap_err();
    assert_eq!(host.probe.calls(), NOTHING);
}

#[test]
fn a_cancel_does_not_wait_for_a_port_that_never_answers() {
    for call in ["store.find", "connector.fetch", "sink.open", "sink.write", "sink.close"] {
        let (host, engine, plan) = prepared(&["a", "b"]);
        host.probe.on(call, Act::Hang);
        let token = CancelToken::new();
        let options = ExecuteOptions::new().cancel(token.clone());
        let mut task = Task::new(engine.execute_extraction(&plan, options));
        assert!(task.until_idle().is_none(), "{call}");
        token.cancel();
        let answer = task.until_idle().expect("the cancel woke it");
        assert_eq!(answer.unwrap_err().category(), Category::Canceled, "{call}");
        assert_eq!(host.clock.elapsed(), Duration::ZERO, "{call}");
        assert_eq!(host.states("acme", "r-1").last(), Some(&"canceled"), "{call}");
        assert!(host.sink.is_empty(), "{call}");
        is_tidy(&host, call);
    }
}

// --- How far it runs ahead.

#[test]
fn a_slow_sink_holds_its_sources_back() {
    let host = Host::new();
    for name in ["a", "b", "c", "d"] {
        host.source.put(name, [large(8_000), orders()]).unwrap();
        host.connect_to("acme", name, name);
    }
    let engine = host.full().build().unwrap();
    let mut limits = LimitOverrides::default();
    limits.max_concurrency = 2;
    limits.read_ahead_bytes = 1;
    let plan = host.plan("acme", &everything(&["a", "b", "c", "d"]).limits(limits));
    host.probe.on("sink.write", Act::Hang);
    let mut task = Task::new(engine.execute_extraction(&plan, mode(Mode::Store)));
    assert!(task.until_idle().is_none());
    // The first batch is with the sink and uses up the read-ahead; so does that of the second step.
    assert_eq!(host.probe.count("connector.fetch acme a"), 1);
    assert_eq!(host.probe.count("connector.fetch acme b"), 1);
    assert_eq!(host.probe.count("factory.build"), 2);
}

#[test]
fn one_plan_may_run_many_times_at_once() {
    let (host, engine, plan) = prepared(&["a", "b"]);
    host.probe.on("connector.fetch", Act::Wait(Duration::from_secs(1)));
    let mut tasks = [Mode::Direct, Mode::Store, Mode::Store]
        .map(|to| Task::new(engine.execute_extraction(&plan, mode(to))));
    assert!(tasks.iter_mut().all(|task| task.until_idle().is_none()));
    let results = tasks.map(|mut task| task.run(&host.clock).unwrap());
    assert_eq!(results[1].digest, results[2].digest);
    assert!(results.iter().all(|result| result.rows == 10));
    assert_eq!(host.sink.len(), 2);
}

#[test]
fn no_more_are_open_than_may_be_and_they_open_in_the_order_of_the_plan() {
    let names = ["a", "b", "c", "d", "e", "f"];
    for most in 1..=3_u32 {
        let (host, engine, _) = prepared(&names);
        let mut limits = LimitOverrides::default();
        limits.max_concurrency = most;
        let plan = host.plan("acme", &everything(&names).limits(limits));
        for (at, name) in (1..).zip(names) {
            let wait = Act::Wait(Duration::from_millis(7 * at % 5));
            host.probe.on(&format!("connector.fetch acme {name}"), wait);
        }
        run(&host, &engine, &plan, mode(Mode::Direct)).unwrap();
        let calls = host.probe.calls();
        let built = calls.iter().filter_map(|call| call.strip_prefix("factory.build acme "));
        assert_eq!(built.collect::<Vec<_>>(), names);
        let (mut open, mut peak) = (0, 0);
        for call in &calls {
            open += u32::from(call.starts_with("factory.build"));
            open -= u32::from(call.starts_with("connector.close"));
            peak = peak.max(open);
        }
        assert_eq!(peak, most);
    }
}

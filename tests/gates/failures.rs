//! Ports that fail, panic or never answer, in every operation that calls them: which error comes
//! out, what stays private, what the host's observer is told, and when the operation is back.

use alloc::sync::Arc;
use core::time::Duration;

use fetcher_engine::{Category, Engine, EngineError, Limits, Runtime, Sleep};

use super::common::{Act, Call, Host, Operation, Task, brief};

/// What no error may show.
const PRIVATE: &str = "password=hunter2 at 10.0.0.1";

/// A host, an engine with all ports, and a call of any operation that would succeed.
fn in_order(operation: Operation) -> (Host, Engine, Call) {
    let host = Host::new();
    host.connect("acme", "sales");
    let name = match operation {
        Operation::Create => "fresh",
        _ => "sales",
    };
    let mut call = Call::new("acme", name, "connection-1");
    if operation == Operation::Execute {
        call.plan = Some(host.plan("acme", &call.request));
    }
    let engine = host.full().build().unwrap();
    (host, engine, call)
}

/// Ports whose failure is the operation's: the call, and the stage that the error names.
#[rustfmt::skip]
const DECISIVE: &[(Operation, &str, &str)] = &[
    (Operation::Create, "store.find", "store"),
    (Operation::Create, "protector.protect", "protect"),
    (Operation::Create, "store.create", "store"),
    (Operation::Get, "store.find", "store"),
    (Operation::GetById, "store.find_by_id", "store"),
    (Operation::List, "store.list", "store"),
    (Operation::ListPaged, "store.list_paged", "store"),
    (Operation::Update, "store.find", "store"),
    (Operation::Update, "checker.has_active", "check"),
    (Operation::Update, "protector.protect", "protect"),
    (Operation::Update, "store.update", "store"),
    (Operation::UpdateById, "store.find_by_id", "store"),
    (Operation::UpdateById, "checker.has_active", "check"),
    (Operation::UpdateById, "protector.protect", "protect"),
    (Operation::UpdateById, "store.update_by_id", "store"),
    (Operation::Delete, "store.find", "store"),
    (Operation::Delete, "checker.has_active", "check"),
    (Operation::Delete, "store.delete", "store"),
    (Operation::DeleteById, "store.find_by_id", "store"),
    (Operation::DeleteById, "checker.has_active", "check"),
    (Operation::DeleteById, "store.delete_by_id", "store"),
    (Operation::Check, "store.find", "store"),
    (Operation::Check, "checker.has_active", "check"),
    (Operation::Authorize, "store.find", "store"),
    (Operation::Test, "store.find", "store"),
    (Operation::Test, "connector.connect", "connect"),
    (Operation::Discover, "store.find", "store"),
    (Operation::Discover, "connector.connect", "connect"),
    (Operation::Discover, "connector.discover", "discover"),
    (Operation::DiscoverFresh, "store.find", "store"),
    (Operation::DiscoverFresh, "connector.connect", "connect"),
    (Operation::DiscoverFresh, "connector.discover", "discover"),
    (Operation::Validate, "store.find", "store"),
    (Operation::Validate, "connector.connect", "connect"),
    (Operation::Validate, "connector.discover", "discover"),
    (Operation::Plan, "store.find", "store"),
    (Operation::Plan, "connector.connect", "connect"),
    (Operation::Plan, "connector.discover", "discover"),
    (Operation::Execute, "store.find", "store"),
    (Operation::Execute, "sink.open", "persist"),
    (Operation::Execute, "connector.connect", "connect"),
    (Operation::Execute, "connector.open", "query"),
    (Operation::Execute, "connector.fetch", "read"),
    (Operation::Execute, "sink.write", "persist"),
    (Operation::Execute, "sink.close", "persist"),
];

/// The same for calls without I/O, which can fail in one way or panic.
#[rustfmt::skip]
const AT_ONCE: &[(Operation, &str, &str)] = &[
    (Operation::Create, "registry.factory", "build"),
    (Operation::Update, "registry.factory", "build"),
    (Operation::UpdateById, "registry.factory", "build"),
    (Operation::Test, "registry.factory", "build"),
    (Operation::Test, "factory.build", "build"),
    (Operation::Discover, "factory.build", "build"),
    (Operation::Discover, "factory.canonical", "discover"),
    (Operation::DiscoverFresh, "factory.build", "build"),
    (Operation::Validate, "factory.build", "build"),
    (Operation::Plan, "factory.build", "build"),
    (Operation::Plan, "factory.canonical", "discover"),
    (Operation::Execute, "factory.build", "build"),
];

/// Ports whose failure the operation survives.
#[rustfmt::skip]
const ASIDE: &[(Operation, &str, &str)] = &[
    (Operation::Create, "cache.invalidate", "cache"),
    (Operation::Update, "cache.invalidate", "cache"),
    (Operation::UpdateById, "cache.invalidate", "cache"),
    (Operation::Delete, "cache.invalidate", "cache"),
    (Operation::DeleteById, "cache.invalidate", "cache"),
    (Operation::Test, "connector.close", "close"),
    (Operation::Discover, "cache.get", "cache"),
    (Operation::Discover, "cache.put", "cache"),
    (Operation::Discover, "connector.close", "close"),
    (Operation::DiscoverFresh, "connector.close", "close"),
    (Operation::Validate, "cache.get", "cache"),
    (Operation::Validate, "cache.put", "cache"),
    (Operation::Validate, "connector.close", "close"),
    (Operation::Plan, "cache.get", "cache"),
    (Operation::Plan, "cache.put", "cache"),
    (Operation::Plan, "connector.close", "close"),
    (Operation::Execute, "executions.save acme r-1 running", "record"),
    (Operation::Execute, "executions.save acme r-1 completed", "record"),
    (Operation::Execute, "connector.close", "close"),
];

fn shows_nothing_private(error: &EngineError) {
    for shown in [format!("{error}"), format!("{error:?}"), format!("{error:#?}")] {
        assert!(!shown.contains("hunter2"), "{shown}");
    }
    assert!(core::error::Error::source(error).is_none());
}

/// What the observer was told beside entering and leaving.
fn notices(host: &Host) -> Vec<String> {
    let mut spans = host.probe.spans();
    spans.retain(|line| line.starts_with("failed") || line.starts_with("degraded"));
    spans
}

#[test]
fn a_panic_in_a_port_is_internal_and_its_words_stay_private() {
    let acts = [Act::Panic(PRIVATE), Act::PanicAtOnce(PRIVATE)];
    for (operation, port, stage) in DECISIVE.iter().chain(AT_ONCE) {
        for act in acts {
            let (host, engine, call) = in_order(*operation);
            host.probe.on(port, act);
            let error = host.run(operation.run(&engine, &call)).unwrap_err();
            let place = format!("{operation:?}: {port}");
            let text = format!("internal/{stage}: a port panicked");
            assert_eq!(brief(&error), text, "{place}");
            shows_nothing_private(&error);
            let told = format!("failed internal/{stage}: {PRIVATE}");
            assert_eq!(notices(&host), [told], "{place}");
            let (built, dropped) = ("factory.build", "connector.drop");
            assert_eq!(host.probe.count(dropped), 0, "{place}");
            let failed = usize::from(*port == built);
            let closed = host.probe.count("connector.close");
            assert_eq!(host.probe.count(built) - failed, closed, "{place}");
        }
    }
}

#[test]
fn a_cause_reaches_the_observer_and_no_error() {
    for (operation, port, stage) in DECISIVE {
        for category in [Category::Unavailable, Category::Forbidden, Category::Internal] {
            let (host, engine, call) = in_order(*operation);
            host.probe.on(port, Act::Cause(category, PRIVATE));
            let error = host.run(operation.run(&engine, &call)).unwrap_err();
            let place = format!("{operation:?}: {port}");
            let expected = match *stage {
                "connect" => Category::Connect,
                "check" => Category::Unavailable,
                _ => category,
            };
            assert_eq!(error.category(), expected, "{place}");
            assert_eq!(error.stage().as_str(), *stage, "{place}");
            shows_nothing_private(&error);
            let told = format!("failed {expected}/{stage}: {PRIVATE}");
            assert_eq!(notices(&host), [told], "{place}");
        }
    }
}

#[test]
fn a_connector_that_cannot_be_built_says_why_in_private() {
    for operation in [Operation::Test, Operation::Discover, Operation::Plan, Operation::Execute] {
        let (host, engine, call) = in_order(operation);
        let act = Act::Cause(Category::Validation, PRIVATE);
        host.probe.on("factory.build", act);
        let error = host.run(operation.run(&engine, &call)).unwrap_err();
        assert_eq!(brief(&error), "validation/build: connector cannot be built");
        shows_nothing_private(&error);
        let told = format!("failed validation/build: {PRIVATE}");
        assert_eq!(notices(&host), [told]);
    }
}

#[test]
fn what_fails_beside_an_operation_is_told_and_changes_nothing() {
    let acts = [
        (Act::Panic(PRIVATE), "internal"),
        (Act::PanicAtOnce(PRIVATE), "internal"),
        (Act::Cause(Category::Forbidden, PRIVATE), "forbidden"),
    ];
    for (operation, port, stage) in ASIDE {
        let (host, engine, call) = in_order(*operation);
        let expected = host.run(operation.run(&engine, &call)).unwrap();
        for (act, category) in acts {
            let (host, engine, call) = in_order(*operation);
            host.probe.on(port, act);
            let answer = host.run(operation.run(&engine, &call));
            let place = format!("{operation:?}: {port}");
            assert_eq!(answer.unwrap(), expected, "{place}");
            let told = format!("degraded {category}/{stage}: {PRIVATE}");
            assert_eq!(notices(&host), [told], "{place}");
        }
    }
}

#[test]
fn a_port_that_never_answers_costs_no_more_than_deadline_and_teardown() {
    let mut limits = Limits::default();
    limits.max_duration = Some(Duration::from_secs(60));
    limits.teardown = Duration::from_secs(5);
    let most = Duration::from_secs(65);
    for (operation, port, _) in DECISIVE {
        for closes in [true, false] {
            let (host, _, call) = in_order(*operation);
            let engine = host.full().limits(limits.clone()).build().unwrap();
            let mut call = call;
            if call.plan.is_some() {
                let plan = host.run(engine.plan_extraction("acme", &call.request));
                call.plan = plan.ok();
            }
            host.probe.clear();
            let before = host.clock.elapsed();
            host.probe.on(port, Act::Hang);
            if !closes {
                host.probe.on("connector.close", Act::Hang);
                host.probe.on("sink.abort", Act::Hang);
                host.probe.on("executions.save", Act::Hang);
            }
            let error = host.run(operation.run(&engine, &call)).unwrap_err();
            let place = format!("{operation:?}: {port}, closes: {closes}");
            assert_eq!(brief(&error), "timeout/run: deadline passed", "{place}");
            let took = host.clock.elapsed() - before;
            assert!(took <= most, "{place}: {took:?}");
            assert_eq!(host.clock.sleepers(), 0, "{place}");
            assert_eq!(host.probe.count("connector.drop"), 0, "{place}");
        }
    }
}

#[test]
fn a_port_beside_an_operation_that_never_answers_costs_only_time() {
    let mut limits = Limits::default();
    limits.max_duration = Some(Duration::from_secs(60));
    for (operation, port, _) in ASIDE {
        // Without an answer from the cache there may be no time left for the datasource.
        if *port == "cache.get" {
            continue;
        }
        let (host, _, mut call) = in_order(*operation);
        let engine = host.full().limits(limits.clone()).build().unwrap();
        if call.plan.is_some() {
            let plan = host.bare().limits(limits.clone()).build().unwrap();
            call.plan = host.run(plan.plan_extraction("acme", &call.request)).ok();
            host.probe.clear();
        }
        host.probe.on(port, Act::Hang);
        let answer = host.run(operation.run(&engine, &call));
        assert!(answer.is_ok(), "{operation:?}: {port}: {answer:?}");
        let took = host.clock.elapsed();
        assert!(took <= Duration::from_secs(65), "{operation:?}: {port}");
        assert_eq!(host.clock.sleepers(), 0, "{operation:?}: {port}");
    }
}

#[test]
fn a_span_is_entered_and_left_around_every_poll() {
    for operation in Operation::ALL {
        let (host, engine, call) = in_order(operation);
        // A wait gives a second poll, and a cache that fails something to tell.
        let calls = ["store.find", "store.find_by_id", "store.list", "store.list_paged"];
        for call in calls {
            host.probe.on(call, Act::Wait(Duration::from_secs(1)));
        }
        host.run(operation.run(&engine, &call)).unwrap();
        let spans = host.probe.spans();
        let [start, polls @ .., end] = &spans[..] else {
            panic!("a span: {spans:?}");
        };
        assert_eq!(*start, format!("start {}", operation.span()));
        assert_eq!(end, "end");
        assert!(polls.len() >= 4, "{operation:?} was polled twice: {spans:?}");
        assert!(polls.chunks(2).all(|pair| pair == ["enter", "exit"]), "{spans:?}");
    }
}

#[test]
fn a_span_ends_also_when_its_operation_is_dropped() {
    for operation in Operation::ALL {
        let (host, engine, call) = in_order(operation);
        for call in ["store.find", "store.find_by_id", "store.list", "store.list_paged"] {
            host.probe.on(call, Act::Hang);
        }
        let mut task = Task::new(operation.run(&engine, &call));
        assert!(task.until_idle().is_none(), "{operation:?}");
        drop(task);
        let spans = host.probe.spans();
        assert_eq!(spans.first(), Some(&format!("start {}", operation.span())));
        assert_eq!(spans.last().map(String::as_str), Some("end"));
        assert_eq!(notices(&host), Vec::<String>::new());
        assert_eq!(host.clock.sleepers(), 0, "{operation:?}");
    }
}

#[test]
fn an_operation_may_move_from_task_to_task() {
    let wait = Act::Wait(Duration::from_secs(1));
    for operation in Operation::ALL {
        let (host, engine, call) = in_order(operation);
        let expected = host.run(operation.run(&engine, &call)).unwrap();
        let (host, engine, call) = in_order(operation);
        for (_, port, _) in DECISIVE.iter().chain(ASIDE) {
            host.probe.on(port, wait);
        }
        let answer = Task::moving(operation.run(&engine, &call)).run(&host.clock);
        assert_eq!(answer.unwrap(), expected, "{operation:?}");
        assert!(host.clock.elapsed() > Duration::ZERO, "{operation:?}");
        assert_eq!(host.clock.sleepers(), 0, "{operation:?}");
    }
}

/// A clock that is broken in every way.
struct Broken;

impl Runtime for Broken {
    fn now(&self) -> Duration {
        panic!("{PRIVATE}")
    }

    fn wall_clock(&self) -> Option<Duration> {
        panic!("{PRIVATE}")
    }

    fn sleep(&self, _: Duration) -> Sleep {
        panic!("{PRIVATE}")
    }
}

#[test]
fn a_broken_clock_is_no_time_and_no_panic() {
    for operation in Operation::ALL {
        let (host, _, call) = in_order(operation);
        let engine = host.full().runtime(Arc::new(Broken)).build().unwrap();
        let error = host.run(operation.run(&engine, &call)).unwrap_err();
        assert_eq!(brief(&error), "timeout/run: deadline passed", "{operation:?}");
        shows_nothing_private(&error);
    }
}

#[test]
fn an_observer_that_panics_changes_nothing() {
    let moments = ["span.start", "span.enter", "span.exit", "span.degraded", "span.failed"];
    for operation in Operation::ALL {
        for moment in moments {
            for fails in [false, true] {
                let answers = [false, true].map(|panics| {
                    let (host, engine, call) = in_order(operation);
                    host.probe.on("cache.get", Act::Fail(Category::Internal));
                    host.probe.on("cache.invalidate", Act::Fail(Category::Internal));
                    if fails {
                        let fail = Act::Fail(Category::Unavailable);
                        for call in ["store.find", "store.list", "store.list_paged"] {
                            host.probe.on(call, fail);
                        }
                    }
                    if panics {
                        host.probe.on(moment, Act::Panic(PRIVATE));
                    }
                    let answer = host.run(operation.run(&engine, &call));
                    (answer, host.probe.calls())
                });
                let place = format!("{operation:?}: {moment}");
                assert_eq!(answers[0], answers[1], "{place}");
            }
        }
    }
}

//! The ports: which are required, and what each of the others changes by being absent.

use alloc::sync::Arc;
use core::time::Duration;
use std::sync::Mutex;

use fetcher_engine::memory::{MemoryConnectorRegistry, MemoryDatasource};
use fetcher_engine::ports::{Connector, ConnectorContext, ConnectorFactory, ConnectorLimits};
use fetcher_engine::{
    ConnectionInput, Engine, ExecuteOptions, ExtractionRequest, LimitOverrides, Limits, Mode,
    Output, PortError,
};

use super::common::{Call, Host, Operation, Rogue, brief, document, tenant};

const NO_STORE: &str = "validation/validate: connection store is not configured";

fn registry() -> Arc<MemoryConnectorRegistry> {
    Arc::new(MemoryConnectorRegistry::new().with("memory", Arc::new(MemoryDatasource::new())))
}

fn everyone() -> ExtractionRequest {
    ExtractionRequest::new().table("sales", "people", ["*"])
}

/// A call of any operation for a connection that exists; its host and id.
fn in_order() -> (Host, Call) {
    let host = Host::new();
    let id = host.connect("acme", "sales");
    let mut call = Call::new("acme", "sales", &id);
    call.plan = Some(host.plan("acme", &call.request));
    (host, call)
}

#[test]
fn connectors_are_required() {
    let error = Engine::builder().build().unwrap_err();
    let text = "validation/configure: connector registry is required";
    assert_eq!(brief(&error), text);
}

#[test]
fn a_protector_is_required_with_encrypted_persistence() {
    let builder = Engine::builder().connectors(registry());
    let error = builder.clone().encrypted_persistence(true).build().unwrap_err();
    let text = "validation/configure: credential protector is required when encrypted \
                persistence is enabled";
    assert_eq!(brief(&error), text);
    let protector = Host::new().protector;
    assert!(builder.clone().encrypted_persistence(false).build().is_ok());
    let builder = builder.credential_protector(protector);
    assert!(builder.encrypted_persistence(true).build().is_ok());
}

#[test]
fn without_encrypted_persistence_a_password_reaches_the_store_as_it_is() {
    let host = Host::new();
    let builder = host.full().encrypted_persistence(false);
    let engine = builder.build().unwrap();
    let input = ConnectionInput::new("sales", "memory").password("hunter2");
    host.run(engine.create_connection("acme", input)).unwrap();
    let handed = host.handed.lock().unwrap().clone();
    assert_eq!(handed, [(b"hunter2".to_vec(), None)]);
    assert_eq!(host.probe.count("protector.protect"), 0);
}

#[test]
fn without_a_connection_store_nothing_works_but_limits() {
    let (host, call) = in_order();
    let engine = host.others(host.without_store()).build().unwrap();
    for operation in Operation::ALL {
        let error = host.run(operation.run(&engine, &call)).unwrap_err();
        assert_eq!(brief(&error), NO_STORE, "{operation:?}");
        assert_eq!(host.probe.calls(), Vec::<String>::new(), "{operation:?}");
    }
    assert_eq!(*engine.limits(), Limits::default());
}

#[test]
fn without_an_execution_store_no_request_id_is_needed() {
    let (host, _) = in_order();
    let plan = host.plan("acme", &everyone());
    assert_eq!(plan.request_id(), None);
    let engine = host.bare().build().unwrap();
    let run = engine.execute_extraction(&plan, ExecuteOptions::new());
    assert_eq!(host.run(run).unwrap().rows, 2);
}

#[test]
fn without_a_sink_store_mode_is_refused_and_auto_is_direct() {
    let (host, _) = in_order();
    let plan = host.plan("acme", &everyone());
    let engine = host.bare().build().unwrap();
    let options = ExecuteOptions::new().mode(Mode::Store);
    let error = host.run(engine.execute_extraction(&plan, options));
    let text = "validation/validate: store mode requires a configured result sink";
    assert_eq!(brief(&error.unwrap_err()), text);
    assert_eq!(host.probe.calls(), Vec::<String>::new());
    let run = engine.execute_extraction(&plan, ExecuteOptions::new());
    let result = host.run(run).unwrap();
    assert!(matches!(result.output, Output::Document(_)));
}

#[test]
fn without_a_cache_a_schema_is_always_discovered_live() {
    let (host, call) = in_order();
    let engine = host.bare().build().unwrap();
    for times in 1..=3 {
        host.run(Operation::Discover.run(&engine, &call)).unwrap();
        assert_eq!(host.probe.count("connector.discover"), times);
    }
}

#[test]
fn without_a_checker_updates_and_deletes_go_ahead() {
    let changes =
        [Operation::Update, Operation::UpdateById, Operation::Delete, Operation::DeleteById];
    for change in changes {
        let (host, call) = in_order();
        host.set_busy(true);
        let engine = host.bare().build().unwrap();
        let active = host.run(Operation::Check.run(&engine, &call));
        assert_eq!(active.unwrap(), "false");
        let changed = host.run(change.run(&engine, &call));
        assert!(changed.is_ok(), "{change:?}: {changed:?}");
    }
}

#[test]
fn without_observability_nothing_else_changes() {
    for operation in Operation::ALL {
        let answers = [true, false].map(|observed| {
            let (host, mut call) = in_order();
            if operation == Operation::Create {
                call.name = "other".into();
            }
            let builder = if observed { host.with_observer(host.bare()) } else { host.bare() };
            let answer = host.run(operation.run(&builder.build().unwrap(), &call));
            assert_eq!(host.probe.spans().is_empty(), !observed);
            (answer, host.probe.calls())
        });
        assert!(answers[0].0.is_ok(), "{operation:?}: {answers:?}");
        assert_eq!(answers[0], answers[1], "{operation:?}");
    }
}

#[test]
fn a_deadline_that_was_asked_for_needs_a_timer() {
    let builder = Engine::builder().connectors(registry()).without_runtime();
    let error = builder.clone().limits(Limits::default()).build();
    let text = "validation/configure: a deadline requires a runtime with a timer";
    assert_eq!(brief(&error.unwrap_err()), text);

    // Nobody asked for the default.
    let engine = builder.clone().build().unwrap();
    assert_eq!(engine.limits().max_duration, None);
    let mut limits = Limits::default();
    limits.max_duration = None;
    assert!(builder.limits(limits).build().is_ok());
}

#[test]
fn a_request_cannot_have_a_deadline_where_there_is_no_timer() {
    let (host, _) = in_order();
    let engine = host.bare().without_runtime().build().unwrap();
    let mut limits = LimitOverrides::default();
    limits.max_duration = Duration::from_secs(1);
    let request = everyone().limits(limits);
    let error = host.run(engine.plan_extraction("acme", &request));
    let text = "validation/validate: a deadline requires a runtime with a timer";
    assert_eq!(brief(&error.unwrap_err()), text);
    assert_eq!(host.probe.calls(), Vec::<String>::new());

    // Nor can a plan that was made where there is one.
    let plan = host.plan("acme", &everyone());
    let run = engine.execute_extraction(&plan, ExecuteOptions::new());
    assert_eq!(brief(&host.run(run).unwrap_err()), text);
    assert_eq!(host.probe.calls(), Vec::<String>::new());
}

#[test]
fn without_a_timer_everything_else_works() {
    let (host, call) = in_order();
    let engine = host.full().without_runtime().build().unwrap();
    let plan = host.run(engine.plan_extraction("acme", &call.request));
    let plan = plan.unwrap();
    assert_eq!(plan.limits().max_duration, None);
    let options = ExecuteOptions::new().mode(Mode::Direct);
    let result = host.run(engine.execute_extraction(&plan, options));
    assert!(document(&result.unwrap()).contains("Ada"));
    assert_eq!(host.states("acme", "r-1"), ["running", "completed"]);
    assert!(host.history("acme", "r-1").iter().all(|r| r.at.is_none()));
}

#[test]
fn no_limit_may_be_zero() {
    type Zero = fn(&mut Limits);
    let fields: [(&str, Zero); 9] = [
        ("maxDatasources", |limits| limits.max_datasources = 0),
        ("maxTablesPerDatasource", |limits| {
            limits.max_tables_per_datasource = 0;
        }),
        ("maxFieldsPerTable", |limits| {
            limits.max_fields_per_table = 0;
        }),
        ("maxConcurrency", |limits| limits.max_concurrency = 0),
        ("maxDuration", |limits| {
            limits.max_duration = Some(Duration::ZERO);
        }),
        ("maxResultBytes", |limits| limits.max_result_bytes = 0),
        ("maxRows", |limits| limits.max_rows = 0),
        ("teardown", |limits| limits.teardown = Duration::ZERO),
        ("readAheadBytes", |limits| limits.read_ahead_bytes = 0),
    ];
    for (field, zero) in fields {
        let mut limits = Limits::default();
        zero(&mut limits);
        let builder = Engine::builder().connectors(registry());
        let error = builder.limits(limits).build().unwrap_err();
        let text = format!("validation/configure: limits.{field} must not be zero");
        assert_eq!(brief(&error), text);
    }
}

/// Keeps what it is asked to build connectors for.
struct Curious(Arc<Mutex<Vec<ConnectorContext>>>);

impl ConnectorFactory for Curious {
    fn build(&self, context: ConnectorContext) -> Result<Box<dyn Connector>, PortError> {
        self.0.lock().unwrap().push(context.clone());
        Rogue::new(&[]).build(context)
    }
}

#[test]
fn a_connector_is_built_for_a_tenant_and_with_the_hosts_own_limits() {
    let seen = Arc::default();
    let host = Host::of(Curious(Arc::clone(&seen)));
    host.connect("acme", "sales");
    let builder = host.bare().connector_limit("maxCursors", "7");
    let engine = builder.build().unwrap();
    host.run(engine.test_connection("acme", "sales")).unwrap();
    let seen = seen.lock().unwrap();
    let [context] = &seen[..] else {
        panic!("one connector: {seen:?}");
    };
    let limits = ConnectorLimits::from([("maxCursors".into(), "7".into())]);
    assert_eq!(*context.limits, limits);
    assert_eq!(context.tenant, tenant("acme"));
    assert_eq!(context.connection.name.as_str(), "sales");
}

#[test]
fn futures_of_operations_are_send() {
    fn send<T: Send>(value: T) -> T {
        value
    }
    let (host, call) = in_order();
    let engine = host.full().build().unwrap();
    for operation in Operation::ALL {
        drop(send(operation.run(&engine, &call)));
    }
}

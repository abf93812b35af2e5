//! Requests: whatever is asked for, planning answers with a plan or with a clear refusal, the same
//! one each time; and a plan that is made can be executed.
#![no_main]

use std::sync::{Arc, LazyLock};

use fetcher_engine::memory::{
    MemoryConnectionStore, MemoryConnectorRegistry, MemoryDatasource, Table,
};
use fetcher_engine::value::{Value, ValueKind};
use fetcher_engine::{
    Category, ConnectionInput, Engine, ExecuteOptions, ExtractionRequest, Filter, block_on,
};
use libfuzzer_sys::fuzz_target;

static ENGINE: LazyLock<Engine> = LazyLock::new(|| {
    let source = MemoryDatasource::new();
    let table = |name: &str| {
        Table::new(name)
            .key("id", ValueKind::I64)
            .column("a", ValueKind::String)
            .row([Value::from(1), Value::from("x")])
    };
    source.put("d", [table("t"), table("u")]).expect("the rows fit");
    let engine = Engine::builder()
        .connectors(Arc::new(MemoryConnectorRegistry::new().with("memory", Arc::new(source))))
        .connection_store(Arc::new(MemoryConnectionStore::new()))
        .build()
        .expect("it is wired");
    for name in ["c", "d"] {
        let input = ConnectionInput::new(name, "memory").database("d");
        block_on(engine.create_connection("acme", input)).expect("it is new");
    }
    engine
});

fuzz_target!(|text: &str| {
    let mut request = ExtractionRequest::new();
    for line in text.lines().take(40) {
        let parts: Vec<&str> = line.split('\u{1}').collect();
        request = match parts.as_slice() {
            ["f", datasource, table, field, value] => {
                request.filter(*datasource, *table, Filter::eq(*field, *value))
            }
            ["l", datasource, table, field, value] => {
                request.filter(*datasource, *table, Filter::like(*field, *value))
            }
            ["r", id] => request.request_id(*id),
            ["m", key, value] => request.metadata(*key, *value),
            [datasource, table, fields @ ..] => {
                request.table(*datasource, *table, fields.iter().copied())
            }
            _ => request,
        };
    }
    let first = block_on(ENGINE.plan_extraction("acme", &request));
    let again = block_on(ENGINE.plan_extraction("acme", &request));
    assert_eq!(first, again, "the same request, the same answer");
    match first {
        Ok(plan) => match block_on(ENGINE.execute_extraction(&plan, ExecuteOptions::new())) {
            Ok(result) => assert!(result.rows <= 4),
            // A value that does not convert to its column's type is seen by the connector.
            Err(error) => assert_eq!(error.category(), Category::Validation),
        },
        Err(error) => assert!(
            matches!(
                error.category(),
                Category::Validation | Category::NotFound | Category::LimitExceeded
            ),
            "{error:?}"
        ),
    }
});

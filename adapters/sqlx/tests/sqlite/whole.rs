//! The engine with SQLite, from the request to the result, on one thread and without a runtime.

use std::sync::Arc;

use fetcher_engine::digest::sha256;
use fetcher_engine::extraction::ExtractionResult;
use fetcher_engine::memory::{MemoryConnectionStore, MemoryConnectorRegistry, MemoryResultSink};
use fetcher_engine::{
    Category, Engine, EngineError, ExecuteOptions, ExtractionRequest, Filter, Output, TenantId,
    block_on,
};

use crate::support::{Db, factory, open_files_at_last};

const DATA: &str = "
    CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT COLLATE NOCASE, born DATE, extra JSON);
    INSERT INTO people VALUES (1, 'Ada', '1815-12-10', '{\"a\": 1.10}'), (2, 'ada', NULL, NULL),
      (3, 'Grace', '1906-12-09', '[]');
    CREATE TABLE nobody (id INTEGER, name TEXT);
    CREATE VIEW names AS SELECT name FROM people";

/// An engine that knows the connection `lite`.
fn engine(db: &Db, sink: Option<MemoryResultSink>) -> Engine {
    let registry = MemoryConnectorRegistry::new().with("sqlite", Arc::new(factory()));
    let mut builder = Engine::builder()
        .connectors(Arc::new(registry))
        .connection_store(Arc::new(MemoryConnectionStore::new()));
    if let Some(sink) = sink {
        builder = builder.result_sink(Arc::new(sink)).encrypted_persistence(false);
    }
    let engine = builder.build().expect("it builds");
    block_on(engine.create_connection("acme", db.input())).expect("it is created");
    engine
}

fn run(engine: &Engine, request: &ExtractionRequest) -> Result<ExtractionResult, EngineError> {
    block_on(async {
        let plan = engine.plan_extraction("acme", request).await?;
        engine.execute_extraction(&plan, ExecuteOptions::new()).await
    })
}

fn document(result: ExtractionResult) -> String {
    let (digest, bytes) = (result.digest, result.bytes);
    let Output::Document(document) = result.output else { panic!("direct mode") };
    let document = document.into_vec();
    assert_eq!(sha256(&document), digest);
    assert_eq!(document.len() as u64, bytes);
    // No string here has a space or a line's end in it.
    String::from_utf8(document).expect("it is text").replace([' ', '\n'], "")
}

#[test]
fn a_document_of_all_tables_the_empty_one_too() {
    let db = Db::with(DATA);
    let engine = engine(&db, None);
    let request = ExtractionRequest::new()
        .table("lite", "people", ["*"])
        .table("lite", "main.nobody", ["name", "id"])
        .table("lite", "names", ["name"]);
    let result = run(&engine, &request).expect("it runs");
    assert_eq!(result.rows, 6);
    assert_eq!(
        document(result),
        concat!(
            r#"{"lite":{"names":[{"name":"Ada"},{"name":"ada"},{"name":"Grace"}],"nobody":[],"#,
            r#""people":[{"born":"1815-12-10","extra":{"a":1.10},"id":1,"name":"Ada"},"#,
            r#"{"born":null,"extra":null,"id":2,"name":"ada"},"#,
            r#"{"born":"1906-12-09","extra":[],"id":3,"name":"Grace"}]}}"#
        )
    );
    drop(engine);
    db.close();
    assert_eq!(open_files_at_last(&db.folder.0).unwrap_or(0), 0);
}

#[test]
fn filters_of_the_request_are_applied_or_refused() {
    let db = Db::with(DATA);
    let engine = engine(&db, None);
    let ids = |filter| {
        let request = ExtractionRequest::new().table("lite", "people", ["*"]);
        let text = document(run(&engine, &request.filter("lite", "people", filter))?);
        let ids = text.split(r#""id":"#).skip(1).map(|rest| rest[..1].to_owned());
        Ok::<_, EngineError>(ids.collect::<Vec<_>>())
    };
    assert_eq!(ids(Filter::eq("name", "ada")).unwrap(), ["2"]);
    assert_eq!(ids(Filter::like("name", "A%")).unwrap(), ["1"]);
    assert_eq!(ids(Filter::gt("born", "1900-01-01")).unwrap(), ["3"]);
    assert_eq!(ids(Filter::eq("id", "3")).unwrap(), ["3"]);
    assert_eq!(ids(Filter::lt("id", 0_i64)).unwrap(), [""; 0]);
    for refused in [Filter::gt("id", "abc"), Filter::eq("extra", "x"), Filter::eq("name", 1_i64)] {
        let error = ids(refused).unwrap_err();
        assert_eq!(error.category(), Category::Validation, "{error}");
    }
}

#[test]
fn a_stored_result_has_the_same_rows() {
    let db = Db::with(DATA);
    let sink = MemoryResultSink::new();
    let engine = engine(&db, Some(sink.clone()));
    let request = ExtractionRequest::new()
        .request_id("req-1")
        .table("lite", "nobody", ["id"])
        .table("lite", "people", ["id"]);
    let result = run(&engine, &request).expect("it runs");
    let Output::Stored(receipt) = &result.output else { panic!("store mode") };
    let tenant = TenantId::parse("acme").unwrap();
    let stored = sink.result(&tenant, &receipt.reference).expect("it is there");
    assert_eq!(sha256(&stored.bytes), result.digest);
    let text = std::str::from_utf8(&stored.bytes).unwrap();
    assert_eq!(text.matches(r#""row":{"id":"#).count(), 3, "{text}");
}

#[test]
fn one_table_by_two_names_is_refused() {
    let db = Db::with(DATA);
    let engine = engine(&db, None);
    for other in ["main.people", "\"people\"", "\"main\".\"people\""] {
        let request =
            ExtractionRequest::new().table("lite", "people", ["id"]).table("lite", other, ["name"]);
        let error = run(&engine, &request).expect_err(other);
        assert_eq!(error.category(), Category::Validation, "{other}: {error}");
    }
}

#[test]
fn a_file_that_goes_is_an_error_of_its_datasource() {
    let db = Db::with(DATA);
    db.close();
    let engine = engine(&db, None);
    let request = ExtractionRequest::new().table("lite", "people", ["id"]);
    run(&engine, &request).expect("it runs");
    std::fs::remove_file(&db.path).unwrap();
    let error = run(&engine, &request).unwrap_err();
    assert_eq!(error.category(), Category::Connect, "{error}");
    block_on(engine.test_connection("acme", "lite")).expect_err("nothing is there");
}

//! The whole way in memory: a datasource, a connection, a plan, a result.

use std::sync::Arc;

use fetcher_engine::memory::{
    MemoryConnectionStore, MemoryConnectorRegistry, MemoryDatasource, Table,
};
use fetcher_engine::value::{Value, ValueKind};
use fetcher_engine::{
    ConnectionInput, Engine, ExecuteOptions, ExtractionRequest, Filter, Output, block_on,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let people = Table::new("people")
        .key("id", ValueKind::I64)
        .column("name", ValueKind::String)
        .row([Value::from(1), Value::from("Ada")])
        .row([Value::from(2), Value::from("Grace")]);
    let source = MemoryDatasource::new();
    source.put("crm", [people])?;
    let engine = Engine::builder()
        .connectors(Arc::new(MemoryConnectorRegistry::new().with("memory", Arc::new(source))))
        .connection_store(Arc::new(MemoryConnectionStore::new()))
        .build()?;
    let request = ExtractionRequest::new().table("crm", "people", ["*"]).filter(
        "crm",
        "people",
        Filter::like("name", "A%"),
    );
    let result = block_on(async {
        let crm = ConnectionInput::new("crm", "memory").database("crm");
        engine.create_connection("acme", crm).await?;
        let plan = engine.plan_extraction("acme", &request).await?;
        engine.execute_extraction(&plan, ExecuteOptions::new()).await
    })?;
    let Output::Document(document) = result.output else {
        return Err("direct mode".into());
    };
    println!("{}", String::from_utf8(document.into_vec())?);
    Ok(())
}

//! Making a plan when every schema is in the cache: the largest request of the default limits, and
//! the smallest.

use std::hint::black_box;
use std::sync::Arc;

use fetcher_engine::memory::{
    MemoryConnectionStore, MemoryConnectorRegistry, MemoryDatasource, MemorySchemaCache, Table,
};
use fetcher_engine::value::ValueKind;
use fetcher_engine::{ConnectionInput, Engine, EngineError, ExtractionRequest, block_on};

use crate::Error;
use crate::stats::{median, say, timed};

const TENANT: &str = "bench";
const ITERATIONS: usize = 1000;

/// Runs the benchmark and says its results.
pub(crate) fn run() -> Result<(), Error> {
    say("plan_us", plan_us(10, 20, 50)?, 1);
    say("plan_small_us", plan_us(1, 1, 1)?, 2);
    Ok(())
}

/// Microseconds to make a plan for so many datasources, tables of each, fields of each, and to drop
/// it again.
fn plan_us(datasources: usize, tables: usize, fields: usize) -> Result<f64, Error> {
    let engine = engine(datasources, tables, fields)?;
    let mut request = ExtractionRequest::new();
    for datasource in 0..datasources {
        for table in 0..tables {
            let fields = (0..fields).map(field_name);
            request = request.table(datasource_name(datasource), table_name(table), fields);
        }
    }
    // This fills the cache.
    let plan = block_on(engine.plan_extraction(TENANT, &request))?;
    let planned = plan.steps().iter().flat_map(|step| step.tables());
    let planned: usize = planned.map(|table| table.fields().len()).sum();
    if planned != datasources * tables * fields {
        return Err("the plan does not have every field".into());
    }
    let measure = |_| {
        let once =
            || block_on(engine.plan_extraction(TENANT, &request)).map(|plan| drop(black_box(plan)));
        let (done, seconds) = timed(once);
        done.map(|()| seconds * 1e6)
    };
    let times: Result<Vec<f64>, EngineError> = (0..ITERATIONS).map(measure).collect();
    Ok(median(times?))
}

/// An engine with a cache, and datasources that have exactly these tables and fields.
fn engine(datasources: usize, tables: usize, fields: usize) -> Result<Engine, Error> {
    let source = MemoryDatasource::new();
    let table = |table| {
        let table = Table::new(table_name(table));
        (0..fields).fold(table, |table, field| table.column(field_name(field), ValueKind::String))
    };
    source.put("all", (0..tables).map(table))?;
    let registry = MemoryConnectorRegistry::new().with("memory", Arc::new(source));
    let engine = Engine::builder()
        .connectors(Arc::new(registry))
        .connection_store(Arc::new(MemoryConnectionStore::new()))
        .schema_cache(Arc::new(MemorySchemaCache::new()))
        .build()?;
    for datasource in 0..datasources {
        let input = ConnectionInput::new(datasource_name(datasource), "memory").database("all");
        block_on(engine.create_connection(TENANT, input))?;
    }
    Ok(engine)
}

fn datasource_name(datasource: usize) -> String {
    format!("datasource_{datasource}")
}

fn table_name(table: usize) -> String {
    format!("public.table_{table:02}")
}

fn field_name(field: usize) -> String {
    format!("field_{field:02}")
}

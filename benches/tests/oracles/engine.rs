//! Random tables through the whole engine, in both modes, from a connector that gives its rows in
//! any order of tables and columns and in any portions.

use std::future::{poll_fn, ready};
use std::sync::Arc;
use std::task::Poll;

use fetcher_engine::encode::RowBatch;
use fetcher_engine::extraction::TableCount;
use fetcher_engine::memory::{MemoryConnectionStore, MemoryConnectorRegistry, MemoryResultSink};
use fetcher_engine::ports::{
    BoxFuture, Connector, ConnectorContext, ConnectorFactory, Fetched, Query,
};
use fetcher_engine::schema::{FieldSchema, TableSchema};
use fetcher_engine::{
    ConnectionInput, Engine, ExecuteOptions, ExtractionPlan, ExtractionRequest, ExtractionResult,
    Limits, Mode, Output, PortError, TenantId, block_on,
};

use super::cells::Cell;
use super::digests::other;
use super::random::{Random, cases};
use super::text::{names, plain};
use super::tree::{Tree, assert_same};

const KIND: &str = "made-up";

/// A datasource: its tables, and how it gives their rows.
struct Source {
    name: String,
    tables: Vec<Table>,
    script: Vec<Step>,
}

struct Table {
    name: String,
    /// Every field that it has.
    fields: Vec<String>,
    /// Those that are asked for.
    asked: Vec<String>,
}

/// One step of giving rows.
enum Step {
    /// One row of this table: the columns in the order in which they are declared.
    Row(usize, Vec<(String, Cell)>),
    /// The portion ends here.
    Cut,
    /// Nothing is at hand for a moment.
    Wait,
}

impl Source {
    fn new(random: &mut Random, name: String) -> Self {
        let count = 1 + random.below(3);
        let tables: Vec<Table> = names(random, count, is_name)
            .into_iter()
            .map(|name| Table::new(random, name))
            .collect();
        // Every table is declared at least once, as the contract of the batch wants it.
        let mut script: Vec<Step> = Vec::new();
        for _ in 0..random.below(12) {
            script.push(match random.below(8) {
                0 => Step::Cut,
                1 => Step::Wait,
                _ => {
                    let at = random.below(tables.len());
                    Step::Row(at, tables[at].row(random))
                }
            });
        }
        Self { name, tables, script }
    }

    /// The rows, each with its table, in the order in which they are given.
    fn rows(&self) -> impl Iterator<Item = (&str, Tree)> {
        self.script.iter().filter_map(|step| {
            let Step::Row(table, cells) = step else {
                return None;
            };
            let mut entries: Vec<(String, Tree)> =
                cells.iter().map(|(column, cell)| (column.clone(), cell.tree())).collect();
            entries.sort_by(|a, b| a.0.as_bytes().cmp(b.0.as_bytes()));
            Some((self.tables[*table].name.as_str(), Tree::Map(entries)))
        })
    }

    /// The tables as a document has them.
    fn tree(&self) -> Tree {
        let mut tables: Vec<&Table> = self.tables.iter().collect();
        tables.sort_by(|a, b| a.name.as_bytes().cmp(b.name.as_bytes()));
        let rows_of = |table: &Table| {
            let rows = self.rows().filter(|(name, _)| *name == table.name);
            Tree::List(rows.map(|(_, row)| row).collect())
        };
        let tables = tables.into_iter();
        Tree::Map(tables.map(|table| (table.name.clone(), rows_of(table))).collect())
    }

    /// The lines of store mode.
    fn lines(&self) -> impl Iterator<Item = Tree> {
        self.rows().map(|(table, row)| {
            Tree::Map(vec![
                ("config".to_owned(), Tree::Text(self.name.clone())),
                ("table".to_owned(), Tree::Text(table.to_owned())),
                ("row".to_owned(), row),
            ])
        })
    }
}

impl Table {
    fn new(random: &mut Random, name: String) -> Self {
        let count = 1 + random.below(6);
        let fields = names(random, count, is_name);
        let mut asked = fields.clone();
        random.shuffle(&mut asked);
        asked.truncate(1 + random.below(count));
        Self { name, fields, asked }
    }

    fn row(&self, random: &mut Random) -> Vec<(String, Cell)> {
        let mut columns = self.asked.clone();
        match random.below(3) {
            0 => columns.sort(),
            1 => random.shuffle(&mut columns),
            // As they were.
            _ => {}
        }
        let cell = |random: &mut Random| {
            // Now and then a batch is full in the middle of things.
            if random.one_in(2000) {
                return Cell::Display(plain(random, 400_000));
            }
            Cell::new(random, 2)
        };
        let columns = columns.into_iter();
        columns.map(|column| (column, cell(random))).collect()
    }
}

/// What the engine takes for the name of a table or field; the asterisk has a meaning.
fn is_name(name: &str) -> bool {
    !name.trim().is_empty() && !name.contains('\0') && name != "*"
}

fn is_datasource_name(name: &str) -> bool {
    is_name(name) && !name.chars().any(char::is_control)
}

struct Factory(Arc<Vec<Source>>);

impl ConnectorFactory for Factory {
    fn build(&self, context: ConnectorContext) -> Result<Box<dyn Connector>, PortError> {
        let name = context.connection.name.as_str();
        let at = self.0.iter().position(|source| source.name == name);
        Ok(Box::new(Scripted {
            sources: Arc::clone(&self.0),
            at: at.ok_or_else(PortError::not_found)?,
            step: 0,
        }))
    }
}

struct Scripted {
    sources: Arc<Vec<Source>>,
    at: usize,
    step: usize,
}

impl Scripted {
    /// Goes through the script to where the portion ends.
    async fn fill(&mut self, batch: &mut RowBatch) -> Result<Fetched, PortError> {
        let source = &self.sources[self.at];
        if self.step == 0 {
            for table in &source.tables {
                batch.table(&table.name, &table.asked)?;
            }
        }
        while let Some(step) = source.script.get(self.step) {
            if batch.is_full() {
                return Ok(Fetched::More);
            }
            self.step += 1;
            match step {
                Step::Row(table, cells) => {
                    let columns: Vec<&str> = cells.iter().map(|(name, _)| name.as_str()).collect();
                    batch.table(&source.tables[*table].name, &columns)?;
                    cells.iter().for_each(|(_, cell)| cell.write(batch));
                    batch.end_row()?;
                }
                Step::Cut => return Ok(Fetched::More),
                Step::Wait => a_moment().await,
            }
        }
        Ok(Fetched::End)
    }
}

/// Lets others go first, once.
async fn a_moment() {
    let mut waited = false;
    poll_fn(|cx| {
        if waited {
            return Poll::Ready(());
        }
        waited = true;
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

impl Connector for Scripted {
    fn connect(&mut self) -> BoxFuture<'_, Result<(), PortError>> {
        Box::pin(ready(Ok(())))
    }

    fn discover_schema(&mut self) -> BoxFuture<'_, Result<Vec<TableSchema>, PortError>> {
        let schema = |table: &Table| {
            let fields = table.fields.iter();
            let fields = fields.map(|name| FieldSchema::new(name.as_str(), "any"));
            TableSchema::new(table.name.as_str(), fields.collect())
        };
        let tables = self.sources[self.at].tables.iter().map(schema).collect();
        Box::pin(ready(Ok(tables)))
    }

    fn open(&mut self, query: Query) -> BoxFuture<'_, Result<(), PortError>> {
        let source = &self.sources[self.at];
        assert_eq!(query.tables.len(), source.tables.len());
        for planned in query.tables.iter() {
            let table = source.tables.iter().find(|table| table.name == planned.name());
            let mut asked = table.expect("a table that was asked for").asked.clone();
            asked.sort();
            assert!(planned.fields().iter().map(|field| &**field).eq(&asked));
        }
        Box::pin(ready(Ok(())))
    }

    fn fetch(
        &mut self,
        mut batch: RowBatch,
    ) -> BoxFuture<'_, Result<(RowBatch, Fetched), PortError>> {
        Box::pin(async move {
            let fetched = self.fill(&mut batch).await?;
            Ok((batch, fetched))
        })
    }

    fn close(self: Box<Self>) -> BoxFuture<'static, Result<(), PortError>> {
        Box::pin(ready(Ok(())))
    }
}

/// An engine over some datasources, and a plan that reads what is asked for of each.
struct Case {
    engine: Engine,
    plan: ExtractionPlan,
    sink: MemoryResultSink,
    tenant: TenantId,
    /// Sorted by name.
    sources: Arc<Vec<Source>>,
}

impl Case {
    fn new(random: &mut Random) -> Self {
        let count = 1 + random.below(3);
        let mut sources: Vec<Source> = names(random, count, is_datasource_name)
            .into_iter()
            .map(|name| Source::new(random, name))
            .collect();
        sources.sort_by(|a, b| a.name.as_bytes().cmp(b.name.as_bytes()));
        let sources = Arc::new(sources);
        let sink = MemoryResultSink::new();
        let mut limits = Limits::default();
        limits.max_concurrency = 1 + random.below(4) as u32;
        limits.read_ahead_bytes = random.of(&[1, 1000, 8 << 20]);
        let factory = Arc::new(Factory(Arc::clone(&sources)));
        let engine = Engine::builder()
            .connectors(Arc::new(MemoryConnectorRegistry::new().with(KIND, factory)))
            .connection_store(Arc::new(MemoryConnectionStore::new()))
            .result_sink(Arc::new(sink.clone()))
            .limits(limits)
            .build()
            .expect("an engine");
        let tenant = TenantId::parse("tenant").expect("a tenant");
        let plan = plan(random, &engine, &tenant, &sources);
        Self { engine, plan, sink, tenant, sources }
    }

    fn execute(&self, mode: Mode) -> ExtractionResult {
        let options = ExecuteOptions::new().mode(mode);
        block_on(self.engine.execute_extraction(&self.plan, options)).expect("a result")
    }

    /// What every result says about itself.
    fn check(&self, result: &ExtractionResult, bytes: &[u8]) {
        assert_eq!(result.digest.as_bytes(), &other(bytes));
        assert_eq!(result.bytes, bytes.len() as u64);
        let counts = |source: &Source| {
            let mut names: Vec<String> = source.tables.iter().map(|t| t.name.clone()).collect();
            names.sort();
            let count = |name: &String| source.rows().filter(|(table, _)| table == name).count();
            let counts: Vec<_> = names.iter().map(|name| count(name) as u64).collect();
            let datasource = source.name.clone();
            let counts = names.into_iter().zip(counts);
            counts.map(move |(name, rows)| (datasource.clone(), name, rows))
        };
        let expected: Vec<_> = self.sources.iter().flat_map(counts).collect();
        let found = |count: &TableCount| {
            let (datasource, table) = (&*count.datasource, &*count.table);
            (datasource.to_owned(), table.to_owned(), count.rows)
        };
        let found: Vec<_> = result.tables.iter().map(found).collect();
        assert_eq!(found, expected);
        assert_eq!(result.rows, expected.iter().map(|count| count.2).sum::<u64>());
    }
}

fn plan(
    random: &mut Random,
    engine: &Engine,
    tenant: &TenantId,
    sources: &[Source],
) -> ExtractionPlan {
    let mut tables: Vec<(&str, &Table)> = sources
        .iter()
        .flat_map(|source| source.tables.iter().map(|table| (source.name.as_str(), table)))
        .collect();
    random.shuffle(&mut tables);
    let mut request = ExtractionRequest::new();
    for (datasource, table) in tables {
        let all = table.asked.len() == table.fields.len();
        let fields =
            if all && random.one_in(2) { vec!["*".to_owned()] } else { table.asked.clone() };
        request = request.table(datasource, table.name.as_str(), fields);
    }
    for source in sources {
        let input = ConnectionInput::new(source.name.as_str(), KIND);
        block_on(engine.create_connection(tenant, input)).expect("a connection");
    }
    block_on(engine.plan_extraction(tenant, &request)).expect("a plan")
}

#[test]
fn both_modes_read_back() {
    cases(5000, |random| {
        let case = Case::new(random);
        direct_reads_back(&case);
        store_reads_back(&case);
    });
}

fn direct_reads_back(case: &Case) {
    let result = case.execute(Mode::Direct);
    let Output::Document(document) = &result.output else {
        panic!("direct mode gives a document");
    };
    let bytes = document.chunks().collect::<Vec<_>>().concat();
    case.check(&result, &bytes);
    let text = String::from_utf8(bytes).expect("UTF-8");
    let sources = case.sources.iter();
    let expected = Tree::Map(sources.map(|source| (source.name.clone(), source.tree())).collect());
    let found = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
    assert_same(&found, &expected.value());
    assert_eq!(text, expected.pretty(0));
}

fn store_reads_back(case: &Case) {
    let result = case.execute(Mode::Store);
    let Output::Stored(receipt) = &result.output else {
        panic!("store mode gives a receipt");
    };
    let stored = case.sink.result(&case.tenant, &receipt.reference);
    let bytes = stored.expect("a stored result").bytes;
    case.check(&result, &bytes);
    let text = str::from_utf8(&bytes).expect("UTF-8");
    let lines: Vec<&str> = text.split_terminator('\n').collect();
    let expected: Vec<Tree> = case.sources.iter().flat_map(Source::lines).collect();
    assert_eq!(lines.len(), expected.len());
    for (line, expected) in lines.iter().zip(&expected) {
        let found = serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
        assert_same(&found, &expected.value());
        assert_eq!(*line, expected.compact());
    }
    let of_tables: u64 = result.tables.iter().map(|count| count.bytes).sum();
    assert_eq!(of_tables, result.bytes);
}

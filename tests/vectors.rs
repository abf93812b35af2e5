//! The bytes of Lerian's Go engine, case by case, in both modes: straight from row batches, and,
//! where a plan can express the case, through the whole engine.
//!
//! `FETCHER_VECTORS` names one more file of the format that `data/upstream-bytes.txt` has: lines
//! `case NAME`, then `step HEX(config)` with `row HEX(table) HEX(column)=VALUE …`, then the
//! expected
//! `direct`, `direct_sha256`, `ndjson`, `ndjson_sha256` (hex) and `rows N`, then `end`.

#![cfg(feature = "std")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fetcher_engine::digest::{Digest, sha256};
use fetcher_engine::encode::{Document, Format, RowBatch, StepShape};
use fetcher_engine::memory::{MemoryConnectionStore, MemoryConnectorRegistry, MemoryResultSink};
use fetcher_engine::ports::{Connector, ConnectorContext, ConnectorFactory, Fetched, Query};
use fetcher_engine::schema::{FieldSchema, TableSchema};
use fetcher_engine::{
    BoxFuture, ConnectionInput, Engine, ExecuteOptions, ExtractionRequest, LimitOverrides, Limits,
    Mode, Output, PortError, TenantId, Value, block_on,
};

const OWN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/upstream-bytes.txt");

#[derive(Clone, Debug, Default)]
struct Case {
    name: String,
    steps: Vec<Step>,
    direct: Vec<u8>,
    direct_sha256: String,
    ndjson: Vec<u8>,
    ndjson_sha256: String,
    rows: u64,
}

#[derive(Clone, Debug)]
struct Step {
    config: String,
    rows: Vec<Row>,
}

#[derive(Clone, Debug)]
struct Row {
    table: String,
    cells: Vec<(String, Value)>,
}

#[test]
fn own_vectors_match() {
    let cases = parse(&std::fs::read_to_string(OWN).expect("the vectors are there"));
    assert_eq!(cases.len(), 164);
    check_all(&cases);
}

#[test]
fn further_vectors_match() {
    let Ok(path) = std::env::var("FETCHER_VECTORS") else {
        return;
    };
    let cases = parse(&std::fs::read_to_string(&path).expect("FETCHER_VECTORS names a file"));
    assert!(!cases.is_empty(), "{path} holds no case");
    println!("{} further cases, {} through the engine", cases.len(), check_all(&cases));
}

/// A wrong byte anywhere is seen: the check itself is checked.
#[test]
fn a_changed_vector_does_not_match() {
    let mut cases = parse(&std::fs::read_to_string(OWN).expect("the vectors are there"));
    let case = cases.iter_mut().find(|case| case.name == "nested").expect("it is among them");
    case.direct[10] ^= 1;
    let case = case.clone();
    assert!(std::panic::catch_unwind(|| check_batches(&case)).is_err());
}

/// Checks every case both ways; tells how many a plan can express.
fn check_all(cases: &[Case]) -> usize {
    cases.iter().for_each(check_batches);
    let planned: Vec<_> = cases.iter().filter(|case| is_plannable(case)).collect();
    assert!(!planned.is_empty());
    planned.iter().for_each(|case| check_engine(case));
    planned.len()
}

fn check_batches(case: &Case) {
    let batches = |format| case.steps.iter().map(move |step| batch_of(step, format));
    let document = Document::from_batches(batches(Format::Json)).expect("rows are well formed");
    check_bytes(case, "direct", &document.into_vec(), &case.direct, &case.direct_sha256);
    let lines: Vec<u8> =
        batches(Format::Ndjson).flat_map(|batch| batch.encoded().to_vec()).collect();
    check_bytes(case, "ndjson", &lines, &case.ndjson, &case.ndjson_sha256);
    let rows: u64 = batches(Format::Ndjson).map(|batch| batch.rows()).sum();
    assert_eq!(rows, case.rows, "{}", case.name);
}

fn check_bytes(case: &Case, mode: &str, got: &[u8], expected: &[u8], digest: &str) {
    let (got_text, text) = (String::from_utf8_lossy(got), String::from_utf8_lossy(expected));
    assert_eq!(got_text, text, "{} {mode}", case.name);
    assert_eq!(got, expected, "{} {mode}", case.name);
    assert_eq!(sha256(got).to_string(), digest, "{} {mode}", case.name);
}

fn batch_of(step: &Step, format: Format) -> RowBatch {
    let mut batch = RowBatch::new(StepShape::open(format, step.config.as_str()));
    step.rows.iter().for_each(|row| write(row, &mut batch));
    batch
}

fn write(row: &Row, batch: &mut RowBatch) {
    let columns: Vec<&str> = row.cells.iter().map(|(name, _)| name.as_str()).collect();
    batch.table(&row.table, &columns).expect("columns differ");
    row.cells.iter().for_each(|(_, value)| batch.value(value));
    batch.end_row().expect("the row is whole");
}

/// Whether a plan can express it: every step has rows, every row of a table the same columns.
fn is_plannable(case: &Case) -> bool {
    case.steps.iter().all(|step| {
        let mut columns: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        let same = step.rows.iter().all(|row| {
            let names: BTreeSet<&str> = row.cells.iter().map(|(name, _)| name.as_str()).collect();
            !names.is_empty() && *columns.entry(&row.table).or_insert(names.clone()) == names
        });
        let named = |name: &&str| !name.trim().is_empty() && !name.contains('\0');
        let names = columns.iter().flat_map(|(table, fields)| fields.iter().chain([table]));
        let plain = !step.config.trim().is_empty() && !step.config.contains(char::is_control);
        same && plain && !columns.is_empty() && names.into_iter().all(named)
    })
}

fn check_engine(case: &Case) {
    let sink = MemoryResultSink::new();
    let replay = Replay(Arc::new(case.steps.clone()));
    let mut limits = Limits::default();
    (limits.max_datasources, limits.max_tables_per_datasource) = (1000, 1000);
    limits.max_fields_per_table = 1000;
    let engine = Engine::builder()
        .connectors(Arc::new(MemoryConnectorRegistry::new().with("replay", Arc::new(replay))))
        .connection_store(Arc::new(MemoryConnectionStore::new()))
        .result_sink(Arc::new(sink.clone()))
        .limits(limits)
        .build()
        .expect("it is wired");
    let mut request = ExtractionRequest::new().limits(LimitOverrides::default());
    for (at, step) in case.steps.iter().enumerate() {
        let input = ConnectionInput::new(&step.config, "replay").port(at as u16);
        block_on(engine.create_connection("acme", input)).expect("it is new");
        let mut seen = BTreeSet::new();
        for row in step.rows.iter().filter(|row| seen.insert(&row.table)) {
            let fields = row.cells.iter().map(|(name, _)| name.as_str());
            request = request.table(step.config.as_str(), row.table.as_str(), fields);
        }
    }
    let plan = block_on(engine.plan_extraction("acme", &request)).expect("the plan is made");
    for mode in [Mode::Direct, Mode::Store] {
        let options = ExecuteOptions::new().mode(mode);
        let result = block_on(engine.execute_extraction(&plan, options)).expect("it runs");
        let (bytes, expected, digest) = match &result.output {
            Output::Document(document) => {
                (document.clone().into_vec(), &case.direct, &case.direct_sha256)
            }
            Output::Stored(receipt) => {
                let tenant = TenantId::parse("acme").expect("it is one");
                let stored = sink.result(&tenant, &receipt.reference).expect("it was closed");
                (stored.bytes.to_vec(), &case.ndjson, &case.ndjson_sha256)
            }
            other => panic!("{other:?}"),
        };
        check_bytes(case, mode.as_str(), &bytes, expected, digest);
        assert_eq!(Some(result.digest), Digest::from_hex(digest), "{}", case.name);
        assert_eq!(result.rows, case.rows, "{}", case.name);
    }
}

/// A connector that gives a case's rows, three to a batch, in the case's order.
struct Replay(Arc<Vec<Step>>);

struct ReplayConnector {
    step: Step,
    at: usize,
}

impl ConnectorFactory for Replay {
    fn build(&self, context: ConnectorContext) -> Result<Box<dyn Connector>, PortError> {
        let step = self.0.get(usize::from(context.connection.endpoint.port));
        let step = step.cloned().ok_or_else(PortError::not_found)?;
        Ok(Box::new(ReplayConnector { step, at: 0 }))
    }
}

impl Connector for ReplayConnector {
    fn connect(&mut self) -> BoxFuture<'_, Result<(), PortError>> {
        Box::pin(async { Ok(()) })
    }

    fn discover_schema(&mut self) -> BoxFuture<'_, Result<Vec<TableSchema>, PortError>> {
        let mut tables: BTreeMap<&str, &Row> = BTreeMap::new();
        tables.extend(self.step.rows.iter().map(|row| (row.table.as_str(), row)));
        let schema = |(name, row): (&str, &Row)| {
            let fields = row.cells.iter().map(|(name, _)| FieldSchema::new(name.as_str(), "any"));
            TableSchema::new(name, fields.collect())
        };
        let tables = tables.into_iter().map(schema).collect();
        Box::pin(async { Ok(tables) })
    }

    fn open(&mut self, _query: Query) -> BoxFuture<'_, Result<(), PortError>> {
        Box::pin(async { Ok(()) })
    }

    fn fetch(
        &mut self,
        mut batch: RowBatch,
    ) -> BoxFuture<'_, Result<(RowBatch, Fetched), PortError>> {
        let rows = self.step.rows.iter().skip(self.at).take(3);
        rows.for_each(|row| write(row, &mut batch));
        self.at += 3;
        let more = self.at < self.step.rows.len();
        Box::pin(async move { Ok((batch, if more { Fetched::More } else { Fetched::End })) })
    }

    fn close(self: Box<Self>) -> BoxFuture<'static, Result<(), PortError>> {
        Box::pin(async { Ok(()) })
    }
}

fn parse(text: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        if word == "case" {
            cases.push(Case { name: rest.into(), ..Case::default() });
            continue;
        }
        let case = cases.last_mut().expect("a case comes first");
        match word {
            "step" => case.steps.push(Step { config: text_of(rest), rows: Vec::new() }),
            "row" => {
                let mut parts = rest.split(' ');
                let table = text_of(parts.next().expect("a row names its table"));
                let cell = |part: &str| {
                    let (name, value) = part.split_once('=').expect("a cell is name=value");
                    let mut rest = value;
                    let value = value_of(&mut rest);
                    assert!(rest.is_empty(), "{rest}");
                    (text_of(name), value)
                };
                let row = Row { table, cells: parts.map(cell).collect() };
                case.steps.last_mut().expect("a step comes first").rows.push(row);
            }
            "direct" => case.direct = bytes_of(rest),
            "direct_sha256" => case.direct_sha256 = rest.into(),
            "ndjson" => case.ndjson = bytes_of(rest),
            "ndjson_sha256" => case.ndjson_sha256 = rest.into(),
            "rows" => case.rows = rest.parse().expect("a number"),
            "end" => {}
            _ => panic!("unknown line: {line}"),
        }
    }
    cases
}

/// Reads one value from the front of the text.
fn value_of(rest: &mut &str) -> Value {
    let end = rest.find([',', ')', '(']).unwrap_or(rest.len());
    let (word, after) = rest.split_at(end);
    *rest = after;
    if let Some(inner) = rest.strip_prefix('(') {
        *rest = inner;
        return compound(word, rest);
    }
    let (kind, text) = word.split_once(':').unwrap_or((word, ""));
    let bits = || u64::from_str_radix(text, 16).expect("hex");
    match kind {
        "null" => Value::Null,
        "bool" => Value::Bool(text == "true"),
        "i64" => Value::I64(text.parse().expect("an i64")),
        "u64" => Value::U64(text.parse().expect("a u64")),
        "f64" => Value::F64(f64::from_bits(bits())),
        "f32" => Value::F32(f32::from_bits(bits() as u32)),
        "str" => Value::String(text_of(text)),
        "bytes" => Value::Bytes(bytes_of(text)),
        _ => panic!("unknown value: {word}"),
    }
}

fn compound(word: &str, rest: &mut &str) -> Value {
    let (mut items, mut entries) = (Vec::new(), BTreeMap::new());
    while !rest.starts_with(')') {
        *rest = rest.strip_prefix(',').unwrap_or(rest);
        if word == "list" {
            items.push(value_of(rest));
        } else {
            let (key, after) = rest.split_once('=').expect("an entry is key=value");
            *rest = after;
            entries.insert(text_of(key), value_of(rest));
        }
    }
    *rest = &rest[1..];
    if word == "list" { Value::List(items) } else { Value::Map(entries) }
}

fn text_of(hex: &str) -> String {
    String::from_utf8(bytes_of(hex)).expect("UTF-8")
}

fn bytes_of(hex: &str) -> Vec<u8> {
    let digits = hex.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).expect("ASCII"));
    digits.map(|pair| u8::from_str_radix(pair, 16).expect("hex")).collect()
}

//! The batch in the engine's hands: allowances to the byte, and batches that are not its own.

use std::sync::{Arc, Mutex};

use fetcher_engine::encode::{Format, RowBatch, RowFault, StepShape};
use fetcher_engine::memory::{MemoryConnectionStore, MemoryConnectorRegistry, MemoryResultSink};
use fetcher_engine::ports::{Fetched, ResultSink};
use fetcher_engine::{
    Category, ConnectionInput, Engine, EngineError, ExecuteOptions, ExtractionRequest,
    ExtractionResult, LimitOverrides, Mode, Output, TenantId, block_on,
};

#[path = "../common/rogue.rs"]
#[allow(dead_code, reason = "not all of it is used here")]
pub(crate) mod rogue;

use rogue::Rogue;

/// An engine with these datasources and this sink.
pub(crate) fn wired(sources: Vec<(&'static str, Rogue)>, sink: Arc<dyn ResultSink>) -> Engine {
    let names: Vec<_> = sources.iter().map(|(name, _)| *name).collect();
    let registry = MemoryConnectorRegistry::new();
    let registry = sources
        .into_iter()
        .fold(registry, |registry, (name, source)| registry.with(name, Arc::new(source)));
    let engine = Engine::builder()
        .connectors(Arc::new(registry))
        .connection_store(Arc::new(MemoryConnectionStore::new()))
        .result_sink(sink)
        .build()
        .expect("it is wired");
    for name in names {
        let created = engine.create_connection("acme", ConnectionInput::new(name, name));
        block_on(created).expect("it is new");
    }
    engine
}

type Fill = Arc<dyn Fn(&mut RowBatch) -> Fetched + Send + Sync>;

/// An engine with one datasource `d` that has `t(a, b)` and `u(a)`; what it fetches may change.
struct Bench {
    engine: Engine,
    sink: MemoryResultSink,
    fill: Arc<Mutex<Fill>>,
    /// The faults of the batches, as the connector saw them.
    faults: Arc<Mutex<Vec<Option<RowFault>>>>,
}

impl Bench {
    fn new() -> Self {
        let fill: Arc<Mutex<Fill>> = Arc::new(Mutex::new(Arc::new(|_| Fetched::End)));
        let faults = Arc::new(Mutex::new(Vec::new()));
        let (filling, seen) = (Arc::clone(&fill), Arc::clone(&faults));
        let rogue = Rogue::new(&[("t", &["a", "b"]), ("u", &["a"])]).fill(move |mut batch| {
            let fill = Arc::clone(&filling.lock().expect("no panic"));
            let fetched = fill(&mut batch);
            seen.lock().expect("no panic").push(batch.fault());
            Ok((batch, fetched))
        });
        let sink = MemoryResultSink::new();
        let engine = wired(vec![("d", rogue)], Arc::new(sink.clone()));
        Self { engine, sink, fill, faults }
    }

    fn fill(&self, fill: impl Fn(&mut RowBatch) -> Fetched + Send + Sync + 'static) {
        *self.fill.lock().expect("no panic") = Arc::new(fill);
        self.faults.lock().expect("no panic").clear();
    }

    /// Runs `t(a, b)`, and `u(a)` if asked for, with so many bytes and rows; 0 is the default.
    fn run(
        &self,
        mode: Mode,
        u: bool,
        bytes: u64,
        rows: u64,
    ) -> Result<ExtractionResult, EngineError> {
        let mut limits = LimitOverrides::default();
        (limits.max_result_bytes, limits.max_rows) = (bytes, rows);
        let mut request = ExtractionRequest::new().table("d", "t", ["a", "b"]).limits(limits);
        if u {
            request = request.table("d", "u", ["a"]);
        }
        let plan = block_on(self.engine.plan_extraction("acme", &request)).expect("it is planned");
        block_on(self.engine.execute_extraction(&plan, ExecuteOptions::new().mode(mode)))
    }

    fn text(&self, result: &ExtractionResult) -> String {
        let bytes = match &result.output {
            Output::Document(document) => document.clone().into_vec(),
            Output::Stored(receipt) => {
                let tenant = TenantId::parse("acme").expect("it is one");
                self.sink.result(&tenant, &receipt.reference).expect("it was closed").bytes.to_vec()
            }
            other => panic!("{other:?}"),
        };
        assert_eq!(bytes.len() as u64, result.bytes);
        String::from_utf8(bytes).expect("UTF-8")
    }

    fn last_fault(&self) -> Option<RowFault> {
        self.faults.lock().expect("no panic").last().copied().flatten()
    }

    /// One row: it fits into exactly its bytes, and into no byte less.
    fn check_allowance(&self, columns: [&'static str; 2], long: usize, write: fn(&mut RowBatch)) {
        self.fill(move |batch| {
            batch.table("t", &columns).expect("it was asked for");
            for column in columns {
                if column == "a" { batch.str(&"w".repeat(long)) } else { write(batch) }
            }
            // What went wrong is remembered by the batch.
            batch.end_row().ok();
            Fetched::End
        });
        let whole = self.run(Mode::Store, false, 0, 0).expect("it is small");
        let text = self.text(&whole);
        let exact = self.run(Mode::Store, false, whole.bytes, 0).expect("it fits exactly");
        assert_eq!(self.text(&exact), text);
        let error = self.run(Mode::Store, false, whole.bytes - 1, 0).expect_err("a byte too much");
        assert_eq!(error.category(), Category::LimitExceeded);
        assert_eq!(self.last_fault(), Some(RowFault::TooManyBytes), "{long}");
    }
}

const ORDERS: [[&str; 2]; 2] = [["a", "b"], ["b", "a"]];

/// The last write of a row in every place near the end of the memory, and at the ceiling.
#[test]
fn allowances_are_exact_to_the_byte() {
    let bench = Bench::new();
    let writes: [fn(&mut RowBatch); 7] = [
        |batch| batch.null(),
        |batch| batch.i64(7),
        |batch| batch.str("x"),
        |batch| batch.str("\u{1}"),
        |batch| batch.bytes(&[1]),
        |batch| batch.f64(1.5),
        |batch| batch.json("[1, 2]"),
    ];
    for columns in ORDERS {
        for write in writes {
            for long in (0..40).step_by(13).chain((880..1000).step_by(4)) {
                bench.check_allowance(columns, long, write);
            }
        }
    }
    // One kind whose last piece asks for far more room than it takes, at every single place.
    for long in 900..1000 {
        bench.check_allowance(["a", "b"], long, |batch| batch.bytes(&[1; 3]));
    }
}

/// However large a value is, it ends at the ceiling, and the batch says so.
#[test]
fn huge_values_end_at_the_ceiling() {
    let writes: [fn(&mut RowBatch); 9] = [
        |batch| batch.str(&"x".repeat(9_000)),
        |batch| batch.str(&"<".repeat(9_000)),
        |batch| batch.str(&("x".repeat(5_000) + &"\u{2028}".repeat(2_000))),
        |batch| batch.bytes(&[7; 9_000]),
        |batch| batch.json(&format!("[{}0]", "1,".repeat(5_000))),
        |batch| batch.json(&format!("[{}0]", "1, ".repeat(5_000))),
        |batch| batch.json(&format!("[{}0", "1, ".repeat(5_000))),
        |batch| assert!(batch.decimal_str(&"1".repeat(9_000))),
        |batch| {
            batch.begin_list();
            (0..2_000).for_each(|n| batch.i64(n));
            (0..500).for_each(|_| batch.null());
            batch.end();
        },
    ];
    let bench = Bench::new();
    for columns in ORDERS {
        for write in writes {
            for allowed in [1, 40, 1000, 1024, 1100, 5000] {
                bench.fill(move |batch| {
                    batch.table("t", &columns).expect("it was asked for");
                    write(batch);
                    write(batch);
                    assert_eq!(batch.end_row(), Err(RowFault::TooManyBytes));
                    assert_eq!((batch.rows(), batch.encoded()), (0, &b""[..]));
                    Fetched::End
                });
                for mode in [Mode::Direct, Mode::Store] {
                    let error = bench.run(mode, false, allowed, 0).expect_err("it is too large");
                    assert_eq!(error.category(), Category::LimitExceeded);
                }
            }
        }
    }
}

/// A row that would be too large does no harm once it is abandoned.
#[test]
fn rows_count_to_the_last() {
    let bench = Bench::new();
    for (rows, allowed) in [(3, 2), (3, 3), (3, 4), (1, 1), (2, 1)] {
        bench.fill(move |batch| {
            batch.table("t", &["b", "a"]).expect("it was asked for");
            for at in 0..rows {
                batch.i64(1);
                batch.abandon_row();
                batch.i64(1);
                batch.i64(2);
                let end = if at < allowed { Ok(()) } else { Err(RowFault::TooManyRows) };
                assert_eq!(batch.end_row(), end);
            }
            assert_eq!(batch.rows(), rows.min(allowed));
            Fetched::End
        });
        for mode in [Mode::Direct, Mode::Store] {
            let result = bench.run(mode, false, 0, allowed);
            assert_eq!(result.is_ok(), rows <= allowed);
            if let Err(error) = result {
                assert_eq!(error.category(), Category::LimitExceeded);
            }
        }
    }
}

/// The allowance of a later batch is what the earlier ones left, and its memory is used again.
#[test]
fn batches_share_an_allowance_and_their_memory() {
    let bench = Bench::new();
    let sizes = [10, 30_000, 5, 40_000, 0, 1000, 7_000, 3];
    for columns in ORDERS {
        let at = Arc::new(Mutex::new(0));
        let turn = Arc::clone(&at);
        bench.fill(move |batch| {
            let mut at = turn.lock().expect("no panic");
            assert_eq!((batch.rows(), batch.encoded()), (0, &b""[..]));
            for _ in 0..2 {
                batch.table("t", &columns).expect("it was asked for");
                columns.iter().for_each(|name| match *name {
                    "a" => batch.str(&"v".repeat(sizes[*at])),
                    _ => batch.u64(*at as u64),
                });
                batch.end_row().ok();
                batch.table("u", &["a"]).ok();
                batch.null();
                batch.end_row().ok();
            }
            *at += 1;
            if *at < sizes.len() && batch.fault().is_none() { Fetched::More } else { Fetched::End }
        });
        let row = |at: usize| {
            let text = "v".repeat(sizes[at]);
            let t = format!(
                "{{\"config\":\"d\",\"table\":\"t\",\"row\":{{\"a\":\"{text}\",\"b\":{at}}}}}\n"
            );
            t + "{\"config\":\"d\",\"table\":\"u\",\"row\":{\"a\":null}}\n"
        };
        let whole: String = (0..sizes.len()).map(|at| row(at).repeat(2)).collect();
        let direct = bench.run(Mode::Direct, true, 0, 0).expect("it is small");
        assert_eq!(bench.text(&direct).matches("\"b\": ").count(), 2 * sizes.len());
        *at.lock().expect("no panic") = 0;
        let stored = bench.run(Mode::Store, true, 0, 0).expect("it is small");
        assert_eq!(bench.text(&stored), whole);
        *at.lock().expect("no panic") = 0;
        let exact = bench.run(Mode::Store, true, stored.bytes, stored.rows).expect("it fits");
        assert_eq!(bench.text(&exact), whole);
        for (bytes, rows, fault) in [
            (stored.bytes - 1, 0, RowFault::TooManyBytes),
            (0, stored.rows - 1, RowFault::TooManyRows),
        ] {
            *at.lock().expect("no panic") = 0;
            let error = bench.run(Mode::Store, true, bytes, rows).expect_err("it is too much");
            assert_eq!(error.category(), Category::LimitExceeded);
            assert_eq!(bench.last_fault(), Some(fault));
        }
    }
}

/// A batch of the connector's own is refused, and so is an end before every table was declared.
#[test]
fn a_foreign_batch_and_a_missing_table_are_refused() {
    let bench = Bench::new();
    let foreign = |batch: &mut RowBatch| {
        *batch = RowBatch::new(StepShape::open(Format::Ndjson, "d"));
        Fetched::End
    };
    let one_of_two = |batch: &mut RowBatch| {
        batch.table("t", &["a", "b"]).expect("it was asked for");
        Fetched::End
    };
    let both = |batch: &mut RowBatch| {
        batch.table("u", &["a"]).expect("it was asked for");
        batch.table("t", &["b", "a"]).expect("it was asked for");
        Fetched::End
    };
    for mode in [Mode::Direct, Mode::Store] {
        bench.fill(foreign);
        let error = bench.run(mode, false, 0, 0).expect_err("it is not its batch");
        assert_eq!(error.category(), Category::Internal);
        bench.fill(one_of_two);
        let error = bench.run(mode, true, 0, 0).expect_err("one is missing");
        assert_eq!(error.category(), Category::Internal);
        assert!(bench.run(mode, false, 0, 0).is_ok());
        bench.fill(both);
        let empty = bench.run(mode, true, 0, 0).expect("both are declared");
        let nothing = "{\n  \"d\": {\n    \"t\": [],\n    \"u\": []\n  }\n}";
        let expected = if mode == Mode::Direct { nothing } else { "" };
        assert_eq!(bench.text(&empty), expected);
    }
}

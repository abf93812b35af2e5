//! Rows that are made to fill the memory: what is held stays near the limit, whatever comes.

use alloc::sync::Arc;
use core::sync::atomic::{AtomicUsize, Ordering};

use fetcher_engine::encode::{Format, RowBatch, RowFault, StepShape};
use fetcher_engine::extraction::Receipt;
use fetcher_engine::ports::{BoxFuture, Fetched, ResultHeader, ResultSink, ResultWriter};
use fetcher_engine::value::Value;
use fetcher_engine::{
    Category, ExecuteOptions, ExtractionRequest, LimitOverrides, Mode, PortError, TenantId,
};

use super::common::{Act, Host, Notary, Rogue, Task, brief, quiet};
use super::memory::peak;

const MEBI: usize = 1 << 20;

/// Writes without looking at what the batch says.
type Write = fn(&mut RowBatch);

/// Ways to write a row that has no end.
const ENDLESS: &[(&str, &[&str], Write)] = &[
    ("one long text", &["a"], |batch| batch.str(&"x".repeat(8 * MEBI))),
    ("a text of escapes", &["a"], |batch| batch.str(&"\u{1}".repeat(4 * MEBI))),
    ("many long texts", &["a"], |batch| {
        batch.begin_list();
        let text = "x".repeat(MEBI);
        (0..8).for_each(|_| batch.str(&text));
        batch.end();
    }),
    ("many short texts", &["a"], |batch| {
        batch.begin_list();
        (0..150_000).for_each(|_| batch.str("xxxxxxxxxxxx"));
        batch.end();
    }),
    ("keys", &["a"], |batch| {
        batch.begin_map();
        let text = "x".repeat(MEBI);
        (0..8).for_each(|_| {
            batch.key(&text);
            batch.null();
        });
        batch.end();
    }),
    ("bytes", &["a"], |batch| batch.bytes(&vec![0; 4 * MEBI])),
    ("JSON", &["a"], |batch| batch.json(&format!("[{}1]", "1,".repeat(MEBI)))),
    ("what is not JSON", &["a"], |batch| batch.json(&"[".repeat(4 * MEBI))),
    ("a number", &["a"], |batch| {
        assert!(batch.decimal_str(&"9".repeat(4 * MEBI)));
    }),
    ("a value", &["a"], |batch| {
        batch.value(&Value::List(vec![Value::String("x".repeat(MEBI)); 4]));
    }),
    ("columns in another order", &["b", "a"], |batch| {
        let text = "x".repeat(4 * MEBI);
        batch.str(&text);
        batch.str(&text);
    }),
];

/// How much memory a source of endless rows itself takes at most.
const OWN: usize = 16 * MEBI;

#[test]
fn a_row_without_an_end_is_over_the_limit_before_it_fills_the_memory() {
    for to in [Mode::Direct, Mode::Store] {
        for (what, columns, write) in ENDLESS {
            let columns: &'static [&'static str] = columns;
            // What the source takes for itself is counted, too, so it is written with it.
            let own = peak(|| {
                let mut batch = RowBatch::new(StepShape::open(Format::Ndjson, "d"));
                batch.begin_list();
                write(&mut batch);
            });
            assert!(own.1 < OWN, "{what}");
            let fill = move |mut batch: RowBatch| {
                batch.table("t", columns)?;
                write(&mut batch);
                let _ = batch.end_row();
                assert_eq!(batch.fault(), Some(RowFault::TooManyBytes), "canary {what}");
                assert_eq!(batch.encoded(), b"");
                Ok((batch, Fetched::More))
            };
            let host = Host::of(Rogue::new(&[("t", columns)]).fill(fill));
            host.connect("acme", "sales");
            let mut limits = LimitOverrides::default();
            limits.max_result_bytes = MEBI as u64;
            let request = ExtractionRequest::new().request_id("r-1").limits(limits);
            let request = request.table("sales", "t", columns.iter().copied());
            let (engine, plan) = (host.full().build().unwrap(), host.plan("acme", &request));
            let options = ExecuteOptions::new().mode(to);
            let run = || host.run(engine.execute_extraction(&plan, options)).unwrap_err();
            let (error, most) = peak(run);
            let text = "limit_exceeded/encode: result is larger than limits.maxResultBytes allows";
            assert_eq!(brief(&error), text, "{what}");
            let held = most.saturating_sub(own.1);
            // The row, its values in another order, and room to grow.
            assert!(held < 4 * MEBI, "{what} in {to:?}: {held} bytes beside the source's own");
            assert!(host.sink.is_empty());
        }
    }
}

/// Takes nothing, for ever.
struct Stuck;

impl ResultSink for Stuck {
    fn open_stream<'a>(
        &'a self,
        _: &'a TenantId,
        _: ResultHeader,
    ) -> BoxFuture<'a, Result<Box<dyn ResultWriter>, PortError>> {
        Box::pin(async { Ok(Box::new(Self) as Box<dyn ResultWriter>) })
    }
}

impl ResultWriter for Stuck {
    fn write<'a>(&'a mut self, _: &'a [u8]) -> BoxFuture<'a, Result<(), PortError>> {
        Box::pin(core::future::pending())
    }

    fn close(self: Box<Self>) -> BoxFuture<'static, Result<Receipt, PortError>> {
        Box::pin(core::future::pending())
    }

    fn abort(self: Box<Self>) -> BoxFuture<'static, Result<(), PortError>> {
        Box::pin(async { Ok(()) })
    }
}

#[test]
fn what_is_read_ahead_is_bounded_in_memory_and_not_only_in_bytes() {
    const AHEAD: usize = 256 << 10;
    // One full batch, and then one row at a time.
    let given = AtomicUsize::new(0);
    let fill = move |mut batch: RowBatch| {
        batch.table("t", &["a"])?;
        let first = given.fetch_add(1, Ordering::SeqCst) == 0;
        while !batch.is_full() {
            batch.str("0123456789012345678901234567890123456789");
            batch.end_row()?;
            if !first {
                break;
            }
        }
        Ok((batch, Fetched::More))
    };
    let host = Host::of(Rogue::new(&[("t", &["a"])]).fill(fill));
    host.connect("acme", "sales");
    let mut limits = LimitOverrides::default();
    limits.read_ahead_bytes = AHEAD as u64;
    let request = ExtractionRequest::new().request_id("r-1").limits(limits);
    let plan = host.plan("acme", &request.table("sales", "t", ["a"]));
    let engine = host.full().result_sink(Arc::new(Stuck)).build().unwrap();
    let options = ExecuteOptions::new().mode(Mode::Store);
    let mut task = Task::new(engine.execute_extraction(&plan, options));
    let (answer, most) = peak(|| task.until_idle());
    assert!(answer.is_none(), "the sink takes nothing");
    let fetched = host.probe.count("connector.fetch");
    assert!(fetched > 1_000, "{fetched} fetches until it is full");
    // As the run promises: what is read ahead, and a batch or two more.
    let bound = AHEAD + 3 * MEBI;
    assert!(most < bound, "{most} bytes are held for {AHEAD} read ahead in {fetched} pieces");
}

/// The next order of these columns, in lexical order; the first after the last.
fn permute(columns: &mut [&str]) {
    let Some(at) = columns.windows(2).rposition(|pair| pair[0] < pair[1]) else {
        columns.reverse();
        return;
    };
    let pivot = columns[at];
    let other = columns.iter().rposition(|column| *column > pivot).unwrap();
    columns.swap(at, other);
    columns[at + 1..].reverse();
}

#[test]
fn columns_in_ever_new_orders_do_not_fill_the_memory() {
    let names = ["a", "b", "c", "d", "e", "f", "g"];
    let mut batch = RowBatch::new(StepShape::open(Format::Ndjson, "d"));
    let mut columns = names;
    let (rows, most) = peak(|| {
        let mut rows = 0_u64;
        for _ in 0..5_040 {
            batch.table("t", &columns).unwrap();
            (0..7).for_each(|at| batch.i64(at));
            batch.end_row().unwrap();
            permute(&mut columns);
            if batch.is_full() {
                rows += batch.rows();
                batch.clear();
            }
        }
        rows + batch.rows()
    });
    assert_eq!((rows, columns), (5_040, names), "every order came once");
    assert!(most < 2 * MEBI, "{most} bytes for batches of a quarter of a mebibyte");
}

#[test]
fn rows_without_columns_end_at_the_limit_of_bytes_and_rows() {
    let fill = |mut batch: RowBatch| {
        batch.table::<&str>("t", &[])?;
        while !batch.is_full() && batch.end_row().is_ok() {}
        Ok((batch, Fetched::More))
    };
    for to in [Mode::Direct, Mode::Store] {
        for by_rows in [false, true] {
            let host = Host::of(Rogue::new(&[("t", &[])]).fill(fill));
            host.connect("acme", "sales");
            let mut limits = LimitOverrides::default();
            if by_rows {
                limits.max_rows = 1_000;
            } else {
                limits.max_result_bytes = MEBI as u64;
            }
            let request = ExtractionRequest::new().request_id("r-1").limits(limits);
            let plan = host.plan("acme", &request.table("sales", "t", ["*"]));
            let engine = host.full().result_sink(Arc::new(Notary)).build().unwrap();
            let options = ExecuteOptions::new().mode(to);
            let run = || host.run(engine.execute_extraction(&plan, options)).unwrap_err();
            let (error, most) = peak(run);
            assert_eq!(error.category(), Category::LimitExceeded);
            assert_eq!(error.stage().as_str(), "encode");
            assert!(most < 4 * MEBI, "{most}");
        }
    }
}

#[test]
fn a_batch_that_is_kept_is_missed_and_leaves_nothing() {
    quiet();
    // A connector that panics with the batch in its hands, or never gives it back.
    for act in [Act::Panic("canary"), Act::Hang] {
        for to in [Mode::Direct, Mode::Store] {
            let host = Host::new();
            host.connect("acme", "sales");
            let request = ExtractionRequest::new().request_id("r-1");
            let request = request.table("sales", "people", ["*"]);
            let (engine, plan) = (host.full().build().unwrap(), host.plan("acme", &request));
            host.probe.on("connector.fetch", act);
            let options = ExecuteOptions::new().mode(to);
            let error = host.run(engine.execute_extraction(&plan, options)).unwrap_err();
            let expected = match act {
                Act::Hang => "timeout/run: deadline passed",
                _ => "internal/read: a port panicked",
            };
            assert_eq!(brief(&error), expected);
            assert!(host.sink.is_empty());
            assert_eq!(host.probe.count("connector.close"), 1);
        }
    }
}

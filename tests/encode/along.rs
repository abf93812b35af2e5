//! The digest of a stored result, whichever way its rows were hashed: on the way, at the end of a
//! batch, or when they were written.

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;

use fetcher_engine::digest::sha256;
use fetcher_engine::encode::RowBatch;
use fetcher_engine::extraction::Receipt;
use fetcher_engine::memory::MemoryResultSink;
use fetcher_engine::ports::{Fetched, ResultHeader, ResultSink, ResultWriter};
use fetcher_engine::{
    BoxFuture, ExecuteOptions, ExtractionRequest, ExtractionResult, Mode, Output, PortError,
    TenantId, block_on,
};

use super::Rng;
use super::engine::rogue::Rogue;
use super::engine::wired;

const COLUMNS: [[&str; 4]; 3] = [["a", "b", "c", "d"], ["a", "b", "c", "d"], ["d", "b", "a", "c"]];

/// One value: most are short, as in most tables.
fn value(batch: &mut RowBatch, rng: &mut Rng) {
    match rng.below(12) {
        0 => batch.null(),
        1..=4 => batch.i64(rng.below(20_000) as i64 - 10_000),
        5 => batch.i64(rng.next().cast_signed()),
        6..=8 => batch.str(&"codes\n"[..rng.below(7) as usize]),
        9 => batch.str(&"long, and more of it ".repeat(rng.below(30) as usize)),
        10 => batch.f64(rng.below(1_000) as f64 / 8.0),
        _ => {
            batch.begin_list();
            for _ in 0..rng.below(4) {
                batch.i64(rng.below(100) as i64);
            }
            batch.end();
        }
    }
}

/// Fills a batch with a few rows or many; some are given up in the middle, and now and then all.
fn fill(batch: &mut RowBatch, rng: &mut Rng) {
    let rows = if rng.below(3) == 0 { rng.below(200) } else { rng.below(6) };
    for _ in 0..rows {
        let columns = COLUMNS[rng.below(3) as usize];
        batch.table("t", &columns).expect("it was asked for");
        let given_up = rng.below(16) == 0;
        for _ in 0..if given_up { rng.below(5) } else { 4 } {
            value(batch, rng);
        }
        if given_up {
            batch.abandon_row();
        } else {
            batch.end_row().expect("four values for four columns");
        }
        if rng.below(400) == 0 {
            batch.clear();
        }
    }
}

/// A source of a few batches; what it gave is added to `given`.
fn source(seed: u64, given: Arc<Mutex<Vec<u8>>>) -> Rogue {
    let state = Mutex::new((Rng(seed), 1 + seed % 7));
    Rogue::new(&[("t", &["a", "b", "c", "d"])]).fill(move |mut batch| {
        let (rng, left) = &mut *state.lock().expect("no panic");
        batch.table("t", &COLUMNS[0])?;
        fill(&mut batch, rng);
        given.lock().expect("no panic").extend_from_slice(batch.encoded());
        *left -= 1;
        Ok((batch, if *left == 0 { Fetched::End } else { Fetched::More }))
    })
}

type Answer<'a, T> = BoxFuture<'a, Result<T, PortError>>;

/// A sink whose every write takes so many turns.
#[derive(Clone)]
struct Slow(MemoryResultSink, u64);

struct SlowWriter(Box<dyn ResultWriter>, u64);

impl ResultSink for Slow {
    fn open_stream<'a>(
        &'a self,
        tenant: &'a TenantId,
        header: ResultHeader,
    ) -> Answer<'a, Box<dyn ResultWriter>> {
        Box::pin(async move {
            let writer = self.0.open_stream(tenant, header).await?;
            Ok(Box::new(SlowWriter(writer, self.1)) as Box<dyn ResultWriter>)
        })
    }
}

impl ResultWriter for SlowWriter {
    fn write<'a>(&'a mut self, bytes: &'a [u8]) -> Answer<'a, ()> {
        Box::pin(async move {
            let mut left = self.1;
            poll_fn(|cx| {
                if left == 0 {
                    return Poll::Ready(());
                }
                left -= 1;
                cx.waker().wake_by_ref();
                Poll::Pending
            })
            .await;
            self.0.write(bytes).await
        })
    }

    fn close(self: Box<Self>) -> Answer<'static, Receipt> {
        self.0.close()
    }

    fn abort(self: Box<Self>) -> Answer<'static, ()> {
        self.0.abort()
    }
}

/// Runs these sources, written in this order, with so many turns for each write. What is stored,
/// and what is said of it.
fn run(sources: Vec<(&'static str, Rogue)>, turns: u64) -> (Vec<u8>, ExtractionResult) {
    let request = sources.iter().fold(ExtractionRequest::new(), |request, (name, _)| {
        request.table(*name, "t", ["a", "b", "c", "d"])
    });
    let sink = Slow(MemoryResultSink::new(), turns);
    let engine = wired(sources, Arc::new(sink.clone()));
    let plan = block_on(engine.plan_extraction("acme", &request)).expect("it is planned");
    let options = ExecuteOptions::new().mode(Mode::Store);
    let result = block_on(engine.execute_extraction(&plan, options)).expect("it runs");
    let Output::Stored(receipt) = &result.output else { panic!("{:?}", result.output) };
    let tenant = TenantId::parse("acme").expect("it is one");
    let stored = sink.0.result(&tenant, &receipt.reference).expect("it was closed");
    (stored.bytes.to_vec(), result)
}

#[test]
fn the_digest_is_over_the_bytes_however_they_were_hashed() {
    let mut sizes = [0_usize; 3];
    for seed in 1..=600_u64 {
        let names = ["x", "y", "z"].into_iter().take(1 + seed as usize % 3);
        let given: Vec<_> = names.map(|name| (name, Arc::default())).collect();
        let sources = given
            .iter()
            .enumerate()
            .map(|(at, (name, given))| (*name, source(seed * 8 + at as u64, Arc::clone(given))));
        let (stored, result) = run(sources.collect(), seed / 3 % 4);
        let given: Vec<Vec<u8>> =
            given.iter().map(|(_, given)| given.lock().expect("no panic").clone()).collect();
        assert!(stored == given.concat(), "seed {seed}: other bytes were stored");
        assert_eq!(result.digest, sha256(&stored), "seed {seed}");
        sizes[given.len() - 1] += stored.len();
    }
    assert!(sizes.iter().all(|size| *size > 2_000_000), "{sizes:?}");
}

/// Rows that were read ahead wait in several pieces, unhashed, when more rows come behind them.
#[test]
fn rows_that_were_read_ahead_are_hashed_first() {
    const AHEAD: u64 = 4;
    let ahead = Arc::new(AtomicBool::new(false));
    let is_ahead = Arc::clone(&ahead);
    let first = Rogue::new(&[("t", &["a", "b", "c", "d"])]).fill(move |mut batch| {
        batch.table("t", &COLUMNS[0])?;
        let end = is_ahead.load(Ordering::SeqCst);
        Ok((batch, if end { Fetched::End } else { Fetched::More }))
    });
    let batches = Mutex::new(0_u64);
    let second = Rogue::new(&[("t", &["a", "b", "c", "d"])]).fill(move |mut batch| {
        let mut batches = batches.lock().expect("no panic");
        *batches += 1;
        batch.table("t", &COLUMNS[0])?;
        // Two of those before do not go together in one piece.
        let long = "x".repeat(if *batches <= AHEAD { 200 << 10 } else { 3 });
        for _ in 0..=*batches {
            batch.i64(batches.cast_signed());
            batch.str(&long);
            batch.null();
            batch.null();
            batch.end_row()?;
            if *batches <= AHEAD {
                break;
            }
        }
        ahead.store(*batches >= AHEAD, Ordering::SeqCst);
        Ok((batch, if *batches == 2 * AHEAD { Fetched::End } else { Fetched::More }))
    });
    let (stored, result) = run(vec![("first", first), ("second", second)], 3);
    assert_eq!(result.rows, AHEAD + (AHEAD + 1..=2 * AHEAD).map(|nth| nth + 1).sum::<u64>());
    assert_eq!(result.digest, sha256(&stored));
}

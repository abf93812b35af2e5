//! Rows to bytes and a digest: the whole engine in both modes, beside a hand-written loop.

use std::hint::black_box;
use std::sync::Arc;

use fetcher_engine::digest::{Sha256, sha256};
use fetcher_engine::encode::{Format, RowBatch, StepShape};
use fetcher_engine::{ExtractionPlan, Mode, Output};
use sha2::Digest as _;

use crate::Error;
use crate::alloc_count::counted;
use crate::fixture::{DATASOURCE, Fixture};
use crate::hand_written;
use crate::rows::{COLUMNS, Row, TABLE, pool};
use crate::stats::{mb_per_s, median, say, timed};

const ROUNDS: usize = 7;
/// What is hashed at once when only hashing is measured: as large as a batch.
const PIECE: usize = 256 << 10;
const PIECES: u64 = 256;

/// What every round measures anew.
#[derive(Default)]
struct Rates {
    store: Vec<f64>,
    hand_written: Vec<f64>,
    ratio: Vec<f64>,
    direct: Vec<f64>,
    encode_only: Vec<f64>,
    sha256: Vec<f64>,
    sha2_crate: Vec<f64>,
}

/// Runs the benchmark and says its results.
pub(crate) fn run(rows: u64) -> Result<(), Error> {
    let pool = Arc::new(pool());
    agree(&pool)?;
    let fixture = Fixture::new(&pool)?;
    let store = fixture.plan(&[DATASOURCE], rows)?;
    let four = ["crm1", "crm2", "crm3", "crm4"];
    let direct = fixture.plan(&four, rows.div_ceil(4))?;
    let piece: Vec<u8> = (0..PIECE).map(|at| (at % 251) as u8).collect();

    let mut rates = Rates::default();
    for round in 0..=ROUNDS {
        let store_rate = store_rate(&fixture, &store)?;
        let hand_rate = hand_written_rate(&pool, rows)?;
        let direct_rate = direct_rate(&fixture, &direct)?;
        let encode_only = encode_only_rate(&pool, rows)?;
        let (own, other) = (own_hash_rate(&piece), other_hash_rate(&piece));
        eprintln!(
            "round {round}: store {store_rate:.0}, hand-written {hand_rate:.0}, direct \
             {direct_rate:.0}, encode only {encode_only:.0}, sha256 {own:.0} and {other:.0} MB/s"
        );
        // The first round warms up.
        if round > 0 {
            rates.store.push(store_rate);
            rates.hand_written.push(hand_rate);
            rates.ratio.push(store_rate / hand_rate);
            rates.direct.push(direct_rate);
            rates.encode_only.push(encode_only);
            rates.sha256.push(own);
            rates.sha2_crate.push(other);
        }
    }
    let (result, store_counts) = counted(|| fixture.execute(&store, Mode::Store));
    result?;
    let (size, direct_counts) = counted(|| direct_size(&fixture, &direct));

    say("store_mb_s", median(rates.store), 1);
    say("direct_mb_s", median(rates.direct), 1);
    say("hand_written_mb_s", median(rates.hand_written), 1);
    say("store_over_hand_written", median(rates.ratio), 2);
    say("encode_only_mb_s", median(rates.encode_only), 1);
    say("sha256_mb_s", median(rates.sha256), 1);
    say("sha2_crate_mb_s", median(rates.sha2_crate), 1);
    say("allocs_per_row", store_counts.allocations as f64 / rows as f64, 5);
    say("direct_peak_over_size", direct_counts.peak as f64 / size? as f64, 3);
    Ok(())
}

/// Makes sure that both loops write the same rows, so that comparing them means something.
fn agree(pool: &[Row]) -> Result<(), Error> {
    let rows = 1000.min(pool.len() as u64);
    let mut batch = RowBatch::new(StepShape::open(Format::Ndjson, DATASOURCE));
    batch.table(TABLE, &COLUMNS)?;
    for row in pool.iter().take(1000) {
        row.write(&mut batch);
        batch.end_row()?;
    }
    let mut bytes = Vec::new();
    let written = hand_written::write(pool, rows, |piece| bytes.extend_from_slice(piece))?;
    // Go, and so the engine, writes a float without a fraction without a point.
    let lines = String::from_utf8(bytes)?.replace(".0,\"created_at\"", ",\"created_at\"");
    if lines.as_bytes() != batch.encoded() || written.digest == *sha256(b"").as_bytes() {
        return Err("the engine and the hand-written loop do not write the same".into());
    }
    Ok(())
}

fn store_rate(fixture: &Fixture, plan: &ExtractionPlan) -> Result<f64, Error> {
    let (result, seconds) = timed(|| fixture.execute(plan, Mode::Store));
    Ok(mb_per_s(result?.bytes, seconds))
}

/// Two in a row: whether the allocator has given its memory back to the system before, and gets it
/// anew page by page, tends to alternate from run to run.
fn direct_rate(fixture: &Fixture, plan: &ExtractionPlan) -> Result<f64, Error> {
    let (mut bytes, mut seconds) = (0, 0.0);
    for _ in 0..2 {
        let (result, of_one) = timed(|| fixture.execute(plan, Mode::Direct));
        bytes += result?.bytes;
        seconds += of_one;
    }
    Ok(mb_per_s(bytes, seconds))
}

/// Executes in direct mode; the document is dropped while its size is still being counted.
fn direct_size(fixture: &Fixture, plan: &ExtractionPlan) -> Result<u64, Error> {
    let result = fixture.execute(plan, Mode::Direct)?;
    match result.output {
        Output::Document(document) => Ok(document.len() as u64),
        _ => Err("direct mode gives a document".into()),
    }
}

fn hand_written_rate(pool: &[Row], rows: u64) -> Result<f64, Error> {
    let mut taken = 0;
    let write = || hand_written::write(pool, rows, |piece| taken += black_box(piece).len());
    let (written, seconds) = timed(write);
    let written = written?;
    black_box(written.digest);
    Ok(mb_per_s(written.bytes, seconds))
}

/// The row batch alone: rows are written and dropped, never ended, so that nothing is copied or
/// hashed. The nearest that one comes to the encoder from outside.
fn encode_only_rate(pool: &[Row], rows: u64) -> Result<f64, Error> {
    let mut batch = RowBatch::new(StepShape::open(Format::Ndjson, DATASOURCE));
    batch.table(TABLE, &COLUMNS)?;
    for row in pool {
        row.write(&mut batch);
        batch.end_row()?;
    }
    let row_bytes = batch.encoded().len() as f64 / pool.len() as f64;
    let mut batch = RowBatch::new(StepShape::open(Format::Ndjson, DATASOURCE));
    batch.table(TABLE, &COLUMNS)?;
    let (written, seconds) = timed(|| {
        let mut written = 0;
        for row in pool.iter().cycle().take(rows as usize) {
            row.write(&mut batch);
            batch.abandon_row();
            written += 1;
        }
        written
    });
    black_box(&batch);
    Ok(mb_per_s((row_bytes * f64::from(written)) as u64, seconds))
}

fn own_hash_rate(piece: &[u8]) -> f64 {
    let ((), seconds) = timed(|| {
        let mut hash = Sha256::new();
        for _ in 0..PIECES {
            hash.update(black_box(piece));
        }
        black_box(hash.finish());
    });
    mb_per_s(piece.len() as u64 * PIECES, seconds)
}

fn other_hash_rate(piece: &[u8]) -> f64 {
    let ((), seconds) = timed(|| {
        let mut hash = sha2::Sha256::new();
        for _ in 0..PIECES {
            hash.update(black_box(piece));
        }
        black_box(hash.finalize());
    });
    mb_per_s(piece.len() as u64 * PIECES, seconds)
}

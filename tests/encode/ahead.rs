//! Rows that come in small batches: gathered while they wait for the writer, and in a document.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use fetcher_engine::encode::Format;
use fetcher_engine::extraction::Receipt;
use fetcher_engine::ports::{Fetched, ResultHeader, ResultSink, ResultWriter};
use fetcher_engine::{
    BoxFuture, ExecuteOptions, ExtractionRequest, ExtractionResult, Mode, Output, PortError,
    TenantId, block_on,
};

use super::engine::rogue::Rogue;
use super::engine::wired;
use super::naive::row;

/// When a batch is full.
const FULL: usize = 256 << 10;

type Answer<'a, T> = BoxFuture<'a, Result<T, PortError>>;

/// Notes how long each write was.
#[derive(Clone, Default)]
struct Sizes(Arc<Mutex<Vec<usize>>>);

impl ResultSink for Sizes {
    fn open_stream<'a>(
        &'a self,
        _: &'a TenantId,
        _: ResultHeader,
    ) -> Answer<'a, Box<dyn ResultWriter>> {
        let writer: Box<dyn ResultWriter> = Box::new(self.clone());
        Box::pin(async { Ok(writer) })
    }
}

impl ResultWriter for Sizes {
    fn write<'a>(&'a mut self, bytes: &'a [u8]) -> Answer<'a, ()> {
        self.0.lock().expect("no panic").push(bytes.len());
        Box::pin(async { Ok(()) })
    }

    fn close(self: Box<Self>) -> Answer<'static, Receipt> {
        Box::pin(async { Ok(Receipt::new("r")) })
    }

    fn abort(self: Box<Self>) -> Answer<'static, ()> {
        Box::pin(async { Ok(()) })
    }
}

/// Rows, each of a table and of so many bytes, each in a batch of its own.
type Rows = &'static [(&'static str, usize)];

/// A source of `t(v)` and `u(v)`.
fn ahead(format: Format, rows: Rows, done: Arc<AtomicBool>) -> Rogue {
    let at = Mutex::new(0);
    Rogue::new(&[("t", &["v"]), ("u", &["v"])]).fill(move |mut batch| {
        let mut at = at.lock().expect("no panic");
        batch.table("u", &["v"])?;
        batch.table("t", &["v"])?;
        let Some(&(table, bytes)) = rows.get(*at) else {
            done.store(true, Ordering::SeqCst);
            return Ok((batch, Fetched::End));
        };
        *at += 1;
        let empty = row(format, "ahead", table, &[("v", "\"\"")]).len();
        batch.table(table, &["v"])?;
        batch.str(&"x".repeat(bytes - empty));
        batch.end_row()?;
        Ok((batch, Fetched::More))
    })
}

/// A source that has nothing at hand until the other has given all.
fn after(done: Arc<AtomicBool>) -> Rogue {
    Rogue::new(&[("t", &["v"])]).fill(move |mut batch| {
        batch.table("t", &["v"])?;
        let end = done.load(Ordering::SeqCst);
        Ok((batch, if end { Fetched::End } else { Fetched::More }))
    })
}

/// What comes of it, and how long each write was.
fn run(mode: Mode, rows: Rows) -> (ExtractionResult, Vec<usize>) {
    let (done, sizes) = (Arc::new(AtomicBool::new(false)), Sizes::default());
    let format = if mode == Mode::Direct { Format::Json } else { Format::Ndjson };
    // Datasources are written in the order of their names.
    let sources = vec![("after", after(Arc::clone(&done))), ("ahead", ahead(format, rows, done))];
    let engine = wired(sources, Arc::new(sizes.clone()));
    let request = ExtractionRequest::new()
        .table("after", "t", ["v"])
        .table("ahead", "t", ["v"])
        .table("ahead", "u", ["v"]);
    let plan = block_on(engine.plan_extraction("acme", &request)).expect("it is planned");
    let options = ExecuteOptions::new().mode(mode);
    let result = block_on(engine.execute_extraction(&plan, options)).expect("it runs");
    let sizes = sizes.0.lock().expect("no panic").clone();
    (result, sizes)
}

#[test]
fn rows_that_wait_are_gathered() {
    let table: [(Rows, &[usize]); 6] = [
        (&[("t", 100), ("t", 101), ("t", 102), ("t", 103)], &[406]),
        (&[("t", 100), ("u", 101), ("u", 102), ("t", 103), ("u", 104)], &[510]),
        (&[("t", FULL - 100), ("t", 100)], &[FULL]),
        (&[("u", 100), ("t", FULL - 99)], &[100, FULL - 99]),
        (&[("t", FULL - 100), ("t", 101), ("t", 102)], &[FULL - 100, 203]),
        (&[("t", FULL + 1), ("u", 100), ("u", FULL)], &[FULL + 1, 100, FULL]),
    ];
    for (rows, expected) in table {
        let (result, sizes) = run(Mode::Store, rows);
        assert_eq!(sizes, expected);
        assert_eq!(result.rows, rows.len() as u64);
        let counts = result.tables.iter().map(|count| (&*count.table, count.rows, count.bytes));
        let of = |name| {
            let bytes = rows.iter().filter(|(table, _)| *table == name).map(|(_, bytes)| *bytes);
            (name, bytes.clone().count() as u64, bytes.sum::<usize>() as u64)
        };
        assert_eq!(counts.collect::<Vec<_>>(), [("t", 0, 0), of("t"), of("u")]);
    }
}

/// Small batches are gathered in the document, too; one of half a batch stays as it is.
#[test]
fn rows_of_a_document_are_gathered() {
    let pieces = |rows| {
        let (result, sizes) = run(Mode::Direct, rows);
        assert_eq!((result.rows, sizes), (rows.len() as u64, Vec::new()));
        let Output::Document(document) = result.output else {
            panic!("a direct result: {:?}", result.output);
        };
        let long = document.chunks().map(<[u8]>::len).filter(|len| *len >= 99);
        long.collect::<Vec<_>>()
    };
    // The first row loses its comma.
    assert_eq!(pieces(&[("t", 150), ("t", 151), ("t", 152)]), [452]);
    assert_eq!(pieces(&[("t", 150), ("u", 151), ("t", 152), ("u", 153)]), [301, 303]);
    assert_eq!(pieces(&[("t", FULL / 2), ("t", FULL / 2)]), [FULL / 2 - 1, FULL / 2]);
    assert_eq!(pieces(&[("t", FULL / 2 - 1), ("t", FULL / 2 - 1)]), [FULL - 3]);
    assert_eq!(pieces(&[("t", FULL / 2 - 1), ("t", FULL / 2)]), [FULL / 2 - 2, FULL / 2]);
}

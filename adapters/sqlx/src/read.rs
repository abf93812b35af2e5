//! Reading all tables of a query, as one future that owns its connection.
//!
//! The driver's streams borrow their connection, so whoever reads cannot hand both around. This
//! future holds them; `fetch` gives it a batch, polls it until the batch comes back, and leaves it
//! where it stands. No task is spawned: dropping the future drops the connection.
//!
//! Keeps true: the end of a table is what the driver says it is; a row is kept if every filter of
//! its table keeps it; a reader that is stopped gives its connection back at once.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Instant;

use fetcher_engine::PortError;
use fetcher_engine::encode::RowBatch;
use fetcher_engine::ports::Fetched;
use fetcher_sql::fault::{malformed, out_of_order};
use futures_core::Stream;

use crate::cell::Malformed;
use crate::dialect::Dialect;
use crate::query::TableQuery;

/// After so many rows the executor gets a turn: a driver may read what has arrived without asking
/// it, and rows that no filter keeps fill no batch.
const TURN_ROWS: u32 = 1024;

/// What lies between `fetch` and the reader.
#[derive(Default)]
struct Exchange {
    /// A batch to be filled.
    empty: Option<RowBatch>,
    /// One that was.
    filled: Option<(RowBatch, Fetched)>,
}

#[derive(Default)]
struct Desk {
    exchange: Mutex<Exchange>,
    /// Whether the reader has to give up. Looked at for each row.
    stopped: AtomicBool,
    /// Whether a statement runs at the database: until its end, or its own error.
    running: AtomicBool,
}

impl Desk {
    fn lock(&self) -> MutexGuard<'_, Exchange> {
        self.exchange.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// The next batch to be filled; `None` when the reader has to give up. Whoever lays one down
    /// polls the reader afterwards, so nobody has to be woken.
    async fn batch(&self) -> Option<RowBatch> {
        poll_fn(|_| match self.lock().empty.take() {
            _ if self.is_stopped() => Poll::Ready(None),
            Some(batch) => Poll::Ready(Some(batch)),
            None => Poll::Pending,
        })
        .await
    }

    /// The next row, the end, or `None` when the reader has to give up.
    async fn row<S: Stream + Unpin>(&self, rows: &mut S) -> Option<Option<S::Item>> {
        poll_fn(|cx| {
            if self.is_stopped() {
                return Poll::Ready(None);
            }
            Pin::new(&mut *rows).poll_next(cx).map(Some)
        })
        .await
    }
}

/// What the reader leaves: its connection, and how it ended.
type Ended<C> = (C, Result<(), PortError>);

type Reading<C> = Pin<Box<dyn Future<Output = Ended<C>> + Send>>;

/// The cursor over all tables of a query.
pub(crate) struct Reader<D: Dialect> {
    /// `None` once it has ended.
    future: Option<Reading<D::Connection>>,
    desk: Arc<Desk>,
    /// The connection, once the reader has ended.
    connection: Option<D::Connection>,
}

impl<D: Dialect> Reader<D> {
    pub(crate) fn new(
        mut connection: D::Connection,
        tables: Vec<TableQuery<D::Form>>,
        deadline: Option<Instant>,
    ) -> Self {
        let desk = Arc::new(Desk::default());
        let theirs = Arc::clone(&desk);
        let future = Box::pin(async move {
            let result = read::<D>(&mut connection, &tables, &theirs, deadline).await;
            (connection, result)
        });
        Self { future: Some(future), desk, connection: None }
    }

    /// Fills one batch. A call that is dropped loses the batch.
    pub(crate) async fn fetch(
        &mut self,
        batch: RowBatch,
    ) -> Result<(RowBatch, Fetched), PortError> {
        if self.future.is_none() {
            return Err(out_of_order());
        }
        self.desk.lock().empty = Some(batch);
        poll_fn(|cx| {
            let ended = self.advance(cx);
            match (ended, self.desk.lock().filled.take()) {
                (_, Some(filled)) => Poll::Ready(Ok(filled)),
                (Some(Err(error)), None) => Poll::Ready(Err(error)),
                // PROOF: it ends well only after it has filled the last batch.
                (Some(Ok(())), None) => Poll::Ready(Err(out_of_order())),
                (None, None) => Poll::Pending,
            }
        })
        .await
    }

    /// Whether a statement runs at the database, though this may have ended.
    pub(crate) fn is_running(&self) -> bool {
        self.desk.running.load(Ordering::Relaxed)
    }

    /// Gives up, and gives the connection back.
    pub(crate) async fn stop(mut self) -> Option<D::Connection> {
        self.desk.stopped.store(true, Ordering::Relaxed);
        poll_fn(|cx| {
            if self.future.is_some() && self.advance(cx).is_none() {
                return Poll::Pending;
            }
            Poll::Ready(())
        })
        .await;
        self.connection.take()
    }

    /// Polls the future. One that panics is gone.
    fn advance(&mut self, cx: &mut Context<'_>) -> Option<Result<(), PortError>> {
        let mut future = self.future.take()?;
        match future.as_mut().poll(cx) {
            Poll::Ready((connection, result)) => {
                self.connection = Some(connection);
                Some(result)
            }
            Poll::Pending => {
                self.future = Some(future);
                None
            }
        }
    }
}

async fn read<D: Dialect>(
    connection: &mut D::Connection,
    tables: &[TableQuery<D::Form>],
    desk: &Desk,
    deadline: Option<Instant>,
) -> Result<(), PortError> {
    let Some(mut batch) = desk.batch().await else { return Ok(()) };
    let mut scratch = String::new();
    let mut rows_read = 0_u32;
    for table in tables {
        let planned = &table.planned;
        let at_table = |error: PortError| error.at_table(planned.name());
        let failed = |error| {
            let late = deadline.is_some_and(|deadline| Instant::now() >= deadline);
            at_table(D::fault(error, late))
        };
        batch.table(planned.name(), planned.fields())?;
        let rows = D::rows(connection, table.sql.clone(), &table.params);
        let mut rows = rows.map_err(failed)?;
        desk.running.store(true, Ordering::Relaxed);
        let mut ways = Vec::new();
        loop {
            if batch.is_full() {
                desk.lock().filled = Some((batch, Fetched::More));
                let Some(next) = desk.batch().await else { return Ok(()) };
                batch = next;
                batch.table(planned.name(), planned.fields())?;
            }
            let Some(row) = desk.row(&mut rows).await else { return Ok(()) };
            let row = match row {
                Some(Ok(row)) => row,
                // The driver says either only when the database has.
                None => break,
                Some(Err(error)) => {
                    desk.running.store(false, Ordering::Relaxed);
                    return Err(failed(error));
                }
            };
            let is_malformed = |_| at_table(malformed("a value is not in its type's form"));
            if ways.is_empty() {
                ways = find_ways::<D>(table, &row).map_err(is_malformed)?;
            }
            if keeps::<D>(table, &ways, &row, &mut scratch).map_err(is_malformed)? {
                let written = ways.get(..planned.fields().len()).unwrap_or_default();
                write_row::<D>(written, &row, &mut scratch, &mut batch).map_err(is_malformed)?;
                batch.end_row()?;
            }
            rows_read = rows_read.wrapping_add(1);
            if rows_read.is_multiple_of(TURN_ROWS) {
                give_turn().await;
            }
        }
        desk.running.store(false, Ordering::Relaxed);
    }
    desk.lock().filled = Some((batch, Fetched::End));
    Ok(())
}

fn find_ways<D: Dialect>(
    table: &TableQuery<D::Form>,
    row: &D::Row,
) -> Result<Vec<D::Way>, Malformed> {
    let columns = table.selected.columns.iter().enumerate();
    columns.map(|(at, column)| D::way(&column.form, row, at)).collect()
}

fn keeps<D: Dialect>(
    table: &TableQuery<D::Form>,
    ways: &[D::Way],
    row: &D::Row,
    scratch: &mut String,
) -> Result<bool, Malformed> {
    for (at, filter) in &table.filters {
        let way = ways.get(*at).ok_or(Malformed)?;
        if !filter.matches(&D::cell(way, row, *at, scratch)?.value()?) {
            return Ok(false);
        }
    }
    Ok(true)
}

#[inline]
fn write_row<D: Dialect>(
    ways: &[D::Way],
    row: &D::Row,
    scratch: &mut String,
    batch: &mut RowBatch,
) -> Result<(), Malformed> {
    for (at, way) in ways.iter().enumerate() {
        D::write(way, row, at, scratch, batch)?;
    }
    Ok(())
}

/// Lets whoever else waits on this executor run.
async fn give_turn() {
    let mut given = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut given, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

//! One datasource's part of a run: its connector, its row batch, and what waits to be written.
//!
//! ```text
//! Waiting ─▶ Busy(connect) ─▶ Busy(open) ─▶ Idle ⇄ Busy(fetch) ─End─▶ Busy(close) ─▶ Over
//!               └───────────────┴────────────┴─ error, stop ────────────▲
//! ```
//! Keeps true: a connector is in exactly one place, here or in the one call that is open on it;
//! once it is closed nothing brings it back.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::connection::ConnectionDescriptor;
use crate::encode::{Chunk, Format, Parts, RowBatch, RowFault, StepShape};
use crate::extraction::{PlannedDatasource, TableCount};
use crate::limits::Limits;
use crate::ports::{Connector, Fetched};

/// How many emptied buffers a step keeps for its next batches.
const SPARE_MAX: usize = 2;
/// The largest that is worth keeping: one that grew for a huge row is given back.
const SPARE_BYTES_MAX: usize = 1 << 20;

pub(super) enum State {
    Waiting,
    /// A call is open on the connector, and has it.
    Busy,
    /// Open, and nobody reads.
    Idle(Box<dyn Connector>),
    Over,
}

pub(super) struct Step {
    pub(super) connection: Option<ConnectionDescriptor>,
    pub(super) state: State,
    /// The batch, while no fetch has it.
    pub(super) batch: Option<RowBatch>,
    /// By which a batch is known to be this step's.
    shape: Arc<StepShape>,
    /// The cursor has ended, or the step has failed: no more rows come.
    pub(super) ended: bool,
    /// Rows that wait to be written, in order.
    pub(super) queue: VecDeque<Chunk>,
    /// Bytes that wait or are being written.
    pub(super) queued_bytes: u64,
    spare: Vec<Vec<u8>>,
    pub(super) rows: u64,
    pub(super) bytes: u64,
    /// Rows encoded per planned table, beside what was written of each.
    encoded: Vec<u64>,
    pub(super) tables: Vec<TableCount>,
    /// Direct mode: what the document gets from here.
    pub(super) parts: Option<Parts>,
}

impl Step {
    pub(super) fn new(planned: &PlannedDatasource, format: Format) -> Self {
        let datasource = planned.name.shared();
        let tables = planned.tables.iter().map(|table| TableCount {
            datasource: Arc::clone(datasource),
            table: Arc::clone(&table.name),
            rows: 0,
            bytes: 0,
        });
        let batch = RowBatch::new(planned.shape(format));
        let names = || planned.tables.iter().map(|table| Arc::clone(&table.name));
        Self {
            connection: None,
            state: State::Waiting,
            shape: Arc::clone(batch.shape()),
            batch: Some(batch),
            ended: false,
            queue: VecDeque::new(),
            queued_bytes: 0,
            spare: Vec::new(),
            rows: 0,
            bytes: 0,
            encoded: planned.tables.iter().map(|_| 0).collect(),
            tables: tables.collect(),
            parts: (format == Format::Json).then(|| Parts::new(Arc::clone(datasource), names())),
        }
    }

    /// Whether another batch may be fetched: a connector is at hand, and the rows that wait leave
    /// room.
    pub(super) fn may_fetch(&self, limits: &Limits) -> bool {
        let has_room = self.queued_bytes < limits.read_ahead_bytes || planted!(MissingAheadBound);
        matches!(self.state, State::Idle(_)) && has_room
    }

    /// Takes the connector and the batch for a fetch.
    pub(super) fn start_fetch(
        &mut self,
        limits: &Limits,
    ) -> Option<(Box<dyn Connector>, RowBatch)> {
        let batch = self.batch.take()?;
        let State::Idle(connector) = core::mem::replace(&mut self.state, State::Busy) else {
            return None;
        };
        let mut batch = batch;
        // A step alone can take no more than the whole; the run checks the sum.
        let bytes = limits.max_result_bytes.saturating_sub(self.bytes);
        batch.set_allowance(bytes, limits.max_rows.saturating_sub(self.rows));
        Some((connector, batch))
    }

    /// Takes the rows out of a batch that came back; at the end, every table must be declared.
    pub(super) fn take_rows(
        &mut self,
        mut batch: RowBatch,
        fetched: Fetched,
    ) -> Result<Chunk, RowFault> {
        if !batch.is_of(&self.shape) {
            return Err(RowFault::Foreign);
        }
        let chunk = batch.take(self.spare.pop().unwrap_or_default())?;
        if fetched == Fetched::End && !batch.is_declared() {
            return Err(RowFault::Undeclared);
        }
        self.rows += chunk.rows();
        self.bytes += chunk.len as u64;
        for run in &chunk.runs {
            if let Some(at) = self.place(&batch, run.table)
                && let Some(encoded) = self.encoded.get_mut(at)
            {
                *encoded += run.rows;
            }
        }
        let chunk = chunk.with_tables(|table| self.place(&batch, table));
        self.batch = Some(batch);
        Ok(chunk)
    }

    /// Which planned table a batch's table is.
    fn place(&self, batch: &RowBatch, table: u32) -> Option<usize> {
        let name = batch.tables().get(table as usize)?;
        self.tables.binary_search_by(|count| count.table.cmp(name)).ok()
    }

    /// Queues rows for the writer.
    pub(super) fn enqueue(&mut self, chunk: Chunk) {
        self.queued_bytes += chunk.len as u64;
        let rest = match self.queue.back_mut() {
            Some(last) => last.append(chunk),
            None => Err(chunk),
        };
        match rest {
            Ok(spare) => self.keep(spare),
            Err(chunk) => {
                let (chunk, spare) = chunk.fitted();
                self.queue.push_back(chunk);
                spare.into_iter().for_each(|spare| self.keep(spare));
            }
        }
    }

    /// Keeps a buffer for the next batches.
    fn keep(&mut self, spare: Vec<u8>) {
        let usual = spare.len() <= SPARE_BYTES_MAX;
        if self.spare.len() < SPARE_MAX && usual && !self.ended {
            self.spare.push(spare);
        }
    }

    /// The next rows to write.
    pub(super) fn dequeue(&mut self) -> Option<Chunk> {
        self.queue.pop_front()
    }

    /// Counts rows as part of the result, and keeps their memory.
    pub(super) fn delivered(&mut self, chunk: Chunk) {
        self.queued_bytes = self.queued_bytes.saturating_sub(chunk.len as u64);
        self.count(&chunk);
        self.keep(chunk.bytes);
    }

    pub(super) fn count(&mut self, chunk: &Chunk) {
        // The first row of a table loses the comma that rows of a document come with.
        let comma = u64::from(self.parts.is_some());
        for run in &chunk.runs {
            if let Some(count) = self.tables.get_mut(run.table as usize) {
                count.bytes += run.bytes as u64 - if count.rows == 0 { comma } else { 0 };
                count.rows += run.rows;
            }
        }
    }

    /// Whether every row has come and none waits.
    pub(super) fn is_drained(&self) -> bool {
        self.ended && (self.queue.is_empty() || planted!(SealedEarly))
    }

    /// Whether as many rows were delivered as were encoded, table by table.
    pub(super) fn is_consistent(&self) -> bool {
        self.tables.iter().zip(&self.encoded).all(|(count, encoded)| count.rows == *encoded)
    }

    /// Drops what the step holds beside its connector and its counts.
    pub(super) fn free(&mut self) {
        self.spare = Vec::new();
        self.batch = None;
    }

    /// Makes the step's rows as if they had never been.
    pub(super) fn discard(&mut self) {
        self.free();
        self.queue.clear();
        self.queued_bytes = 0;
        self.rows = 0;
        self.bytes = 0;
        self.parts = None;
        self.tables.clear();
        self.encoded.clear();
    }
}

//! The row batch: what a connector fills, and the encoder at the same time.
//!
//! ```text
//!            table()             write × width          end_row()
//! declared ──────────▶ at row ──────────────▶ row due ───────────▶ at row
//!                        │ table(): another table        any misuse ▶ faulty (the first stays)
//! ```
//! Keeps true: a row is whole or not there; misuse is remembered and never becomes bytes; what was
//! written never exceeds the allowance by more than a few bytes.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use super::along::Along;
use super::buffer::Buffer;
use super::chunk::{Chunk, Run};
use super::layout::{Fixed, Format, Layout, StepShape};
use super::nested::Nest;
use crate::digest::Sha256;
use crate::error::{Category, PortError};

/// At this size a batch says that it is full. Fits a second-level cache together with its copy on
/// the way to a sink, and is large enough to spread the few allocations of a port call.
pub(crate) const BATCH_BYTES: usize = 256 << 10;

/// How many tables, with their columns in one order, a batch remembers.
const LAYOUTS_MAX: usize = 64;

/// How a connector misused a row batch. A bug of the connector: `internal`, stage `encode`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum RowFault {
    /// A value was written, or a row ended, before any table was declared.
    NoTable,
    /// The table is not one of those asked for.
    UnknownTable,
    /// The columns are not exactly the fields asked for, or one occurs twice.
    Columns,
    /// More or fewer values than columns.
    Arity,
    /// A row was left unfinished.
    Unfinished,
    /// A list or map was opened, keyed or closed out of order.
    Nesting,
    /// Lists and maps lie too deep in each other.
    TooDeep,
    /// Another batch came back than the one that was handed out.
    Foreign,
    /// The cursor ended before every table was declared.
    Undeclared,
    /// More bytes than the result may have. Not a bug: the limit is reached.
    TooManyBytes,
    /// More rows than the result may have. Not a bug: the limit is reached.
    TooManyRows,
}

impl fmt::Display for RowFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoTable => "no table is declared",
            Self::UnknownTable => "the table is not one of those asked for",
            Self::Columns => "the columns are not the fields asked for",
            Self::Arity => "the row has more or fewer values than columns",
            Self::Unfinished => "a row is unfinished",
            Self::Nesting => "a list or map is out of order",
            Self::TooDeep => "lists and maps are nested too deep",
            Self::Foreign => "it is not the batch that was handed out",
            Self::Undeclared => "a table was never declared",
            Self::TooManyBytes => "the result is larger than allowed",
            Self::TooManyRows => "the result has more rows than allowed",
        })
    }
}

impl core::error::Error for RowFault {}

impl From<RowFault> for PortError {
    /// So that `?` works in a connector. The engine looks at the batch itself, too.
    fn from(fault: RowFault) -> Self {
        let category = match fault {
            RowFault::TooManyBytes | RowFault::TooManyRows => Category::LimitExceeded,
            _ => Category::Internal,
        };
        Self::new(category).caused_by(fault)
    }
}

/// An owned, reusable buffer of typed rows.
///
/// A connector gets it from the engine, declares the table and its columns, writes each row's
/// values in that order and ends the row; it gives the batch back when [`is_full`](Self::is_full)
/// or when nothing more is at hand. Declaring the columns in sorted order (that of the query's
/// fields) is fastest: values then go straight to their place. What was declared stays declared
/// from one fetch to the next.
///
/// Writes do not answer; what is wrong is told by [`end_row`](Self::end_row) and remembered.
///
/// ```
/// use fetcher_engine::encode::{Format, RowBatch, StepShape};
///
/// let mut batch = RowBatch::new(StepShape::open(Format::Ndjson, "shop"));
/// batch.table("items", &["name", "id"])?;
/// batch.str("tea");
/// batch.i64(7);
/// batch.end_row()?;
/// let line = r#"{"config":"shop","table":"items","row":{"id":7,"name":"tea"}}"#;
/// assert_eq!(batch.encoded(), format!("{line}\n").as_bytes());
/// # Ok::<(), fetcher_engine::encode::RowFault>(())
/// ```
pub struct RowBatch {
    shape: Arc<StepShape>,
    /// Every table met so far.
    tables: Vec<Arc<str>>,
    layouts: Vec<Arc<Layout>>,
    /// The one that was declared last, unless the batch is faulty.
    current: Option<Arc<Layout>>,
    /// What comes before each of its values, if they go straight to their place; otherwise nothing.
    straight: Arc<[Fixed]>,
    out: Buffer,
    /// The digest over the rows, where the run wants it taken along.
    along: Along,
    unsorted: Box<Unsorted>,
    nest: Nest,
    /// The position of the next value.
    next: usize,
    /// Where in `out` the current row begins.
    row_start: usize,
    /// The whole rows, by table.
    runs: Vec<Run>,
    rows: u64,
    rows_left: u64,
    /// After how many rows the batch is full, whatever their size.
    full_after: u64,
    fault: Option<RowFault>,
}

/// The values of a row whose columns are not declared in sorted order, until the row ends.
struct Unsorted {
    values: Buffer,
    /// Where each of them ends.
    ends: Vec<usize>,
}

impl RowBatch {
    /// A batch of this shape. Connectors are handed theirs; this is for tests of connectors.
    #[must_use]
    pub fn new(shape: StepShape) -> Self {
        Self {
            shape: Arc::new(shape),
            tables: Vec::new(),
            layouts: Vec::new(),
            current: None,
            straight: Arc::default(),
            out: Buffer::new(),
            along: Along::new(),
            unsorted: Box::new(Unsorted { values: Buffer::new(), ends: Vec::new() }),
            nest: Nest::default(),
            next: 0,
            row_start: 0,
            runs: Vec::new(),
            rows: 0,
            rows_left: u64::MAX,
            full_after: u64::MAX,
            fault: None,
        }
    }

    /// Sets how many bytes and rows this batch may still take.
    pub(crate) fn set_allowance(&mut self, bytes: u64, rows: u64) {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        self.out.set_ceiling(bytes);
        // A row's values alone are never longer than the row.
        self.unsorted.values.set_ceiling(bytes);
        self.rows_left = rows;
    }

    /// Takes this hash along with the rows to come, of which there are none yet.
    pub(crate) fn hash_along(&mut self, hash: Sha256) {
        self.along.start(hash);
    }

    /// The hash that was taken along, to the end of the rows.
    pub(crate) fn hashed(&mut self) -> Option<Sha256> {
        let rows = self.out.written().get(..self.row_start).unwrap_or_default();
        self.along.finish(rows)
    }

    /// Declares a table and its columns, in the order in which values will be written; or goes
    /// back to one that was declared before. Every table of the query must be declared once, with
    /// exactly the query's fields, in any order.
    ///
    /// # Errors
    /// The table or the columns are not those of the query; a column occurs twice; the row before
    /// is unfinished.
    pub fn table<S: AsRef<str>>(&mut self, name: &str, columns: &[S]) -> Result<(), RowFault> {
        self.standing()?;
        if self.in_row() {
            return self.fail(RowFault::Unfinished);
        }
        if let Some(layout) = &self.current
            && self.tables.get(layout.table as usize).is_some_and(|table| **table == *name)
            && layout.is_of(columns)
        {
            return Ok(());
        }
        let table = self.tables.iter().position(|table| **table == *name);
        let is_known =
            |layout: &&Arc<Layout>| Some(layout.table as usize) == table && layout.is_of(columns);
        let layout = match self.layouts.iter().find(is_known) {
            Some(layout) => Arc::clone(layout),
            None => self.declare(name, table, columns)?,
        };
        self.straight = layout.straight();
        self.current = Some(layout);
        Ok(())
    }

    fn declare<S: AsRef<str>>(
        &mut self,
        name: &str,
        table: Option<usize>,
        columns: &[S],
    ) -> Result<Arc<Layout>, RowFault> {
        let at = table.unwrap_or(self.tables.len());
        let Some(layout) = Layout::new(&self.shape, (at as u32, name), columns) else {
            return self.fail(RowFault::Columns);
        };
        if let Some(expected) = &self.shape.tables {
            match expected.binary_search_by(|(table, _)| (**table).cmp(name)) {
                // PROOF: the index was just found.
                Ok(found) if layout.covers(&expected[found].1) => {}
                Ok(_) => return self.fail(RowFault::Columns),
                Err(_) => return self.fail(RowFault::UnknownTable),
            }
        }
        if table.is_none() {
            self.tables.push(name.into());
        }
        // A source that declares its columns in ever new orders works each of them out anew.
        if self.layouts.len() == LAYOUTS_MAX {
            self.layouts.clear();
        }
        let layout = Arc::new(layout);
        self.layouts.push(Arc::clone(&layout));
        Ok(layout)
    }

    /// Ends the row.
    ///
    /// # Errors
    /// Whatever was wrong with this row or an earlier one. Once faulty, a batch stays it.
    #[inline]
    pub fn end_row(&mut self) -> Result<(), RowFault> {
        self.standing()?;
        let Some(layout) = &self.current else {
            return self.fail(RowFault::NoTable);
        };
        if self.next != layout.width() || !self.nest.is_empty() {
            return self.fail(RowFault::Arity);
        }
        if layout.order.is_some() {
            layout.assemble(&mut self.out, &self.unsorted.values, &self.unsorted.ends);
            self.unsorted.values.truncate(0);
            self.unsorted.ends.clear();
        }
        if self.next == 0 {
            layout.put_empty(&mut self.out);
        } else {
            layout.put_suffix(&mut self.out);
        }
        let table = layout.table;
        self.close_row(table)
    }

    #[inline]
    fn close_row(&mut self, table: u32) -> Result<(), RowFault> {
        if self.out.over_ceiling() {
            return self.fail(RowFault::TooManyBytes);
        }
        if self.rows_left == 0 {
            return self.fail(RowFault::TooManyRows);
        }
        self.rows_left -= 1;
        self.rows += 1;
        let bytes = self.out.len() - self.row_start;
        match self.runs.last_mut() {
            Some(run) if run.table == table => {
                run.rows += 1;
                run.bytes += bytes;
            }
            _ => self.runs.push(Run { table, rows: 1, bytes }),
        }
        self.row_start = self.out.len();
        self.next = 0;
        Ok(())
    }

    /// Drops what was written of the current row.
    pub fn abandon_row(&mut self) {
        self.out.truncate(self.row_start);
        self.unsorted.values.truncate(0);
        self.unsorted.ends.clear();
        self.nest.clear();
        self.next = 0;
    }

    /// Whether it is time to give the batch back: by bytes, so that huge rows go out one by one.
    #[inline]
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.row_start >= BATCH_BYTES || self.fault.is_some() || self.rows >= self.full_after
    }

    /// Makes the batch full after so many rows, and after one at least. For tests, and for sources
    /// whose rows are dear.
    pub fn full_after(&mut self, rows: u64) {
        self.full_after = rows.max(1);
    }

    /// How many whole rows are in it.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The bytes of the whole rows in it, as they will go out.
    #[must_use]
    pub fn encoded(&self) -> &[u8] {
        self.out.written().get(..self.row_start).unwrap_or_default()
    }

    /// Drops all rows; what was declared and what went wrong stay. For tests of connectors that
    /// read the [encoded](Self::encoded) rows and go on.
    pub fn clear(&mut self) {
        self.abandon_row();
        self.along.stop();
        self.out.truncate(0);
        (self.row_start, self.rows) = (0, 0);
        self.runs.clear();
    }

    /// What went wrong first, if anything did.
    #[must_use]
    pub fn fault(&self) -> Option<RowFault> {
        self.fault
    }

    /// Takes the rows out; the batch goes on with this memory, whatever is in it.
    pub(crate) fn take(&mut self, memory: Vec<u8>) -> Result<Chunk, RowFault> {
        self.standing()?;
        if self.in_row() {
            return self.fail(RowFault::Unfinished);
        }
        self.along.stop();
        let (bytes, len) = self.out.replace(memory);
        // As much again as this one needed, but for huge rows: they are rare, and grow by
        // themselves.
        self.out.prepare(bytes.len().min(BATCH_BYTES + BATCH_BYTES / 4));
        (self.row_start, self.rows) = (0, 0);
        let runs = core::mem::take(&mut self.runs);
        Ok(Chunk { bytes, len, runs, is_hashed: false })
    }

    /// Whether this is the batch that was made of this shape.
    pub(crate) fn is_of(&self, shape: &Arc<StepShape>) -> bool {
        Arc::ptr_eq(&self.shape, shape)
    }

    /// The shape that it was made of.
    pub(crate) fn shape(&self) -> &Arc<StepShape> {
        &self.shape
    }

    /// Whether every table that is expected was declared.
    pub(crate) fn is_declared(&self) -> bool {
        // Only expected tables can be declared, and each is in the list once.
        self.shape.tables.as_ref().is_none_or(|expected| expected.len() == self.tables.len())
    }

    /// The tables met so far; runs refer to them by index.
    pub(crate) fn tables(&self) -> &[Arc<str>] {
        &self.tables
    }

    /// The datasource, and the tables that are expected from it.
    pub(super) fn expected(&self) -> (Arc<str>, Vec<Arc<str>>) {
        let tables = self.shape.tables.iter().flatten().map(|(name, _)| Arc::clone(name));
        (Arc::clone(&self.shape.datasource), tables.collect())
    }

    fn in_row(&self) -> bool {
        self.next > 0 || !self.nest.is_empty()
    }

    fn standing(&self) -> Result<(), RowFault> {
        self.fault.map_or(Ok(()), Err)
    }

    #[cold]
    fn fail<T>(&mut self, fault: RowFault) -> Result<T, RowFault> {
        self.abandon_row();
        // Nothing is declared from here on, so nothing more is written.
        (self.current, self.straight) = (None, Arc::default());
        Err(*self.fault.get_or_insert(fault))
    }

    /// Where the next value goes, with what comes before it written.
    #[inline]
    pub(super) fn cell(&mut self) -> Option<&mut Buffer> {
        if let Some(key) = straight_key(&self.straight, &self.nest, self.next) {
            key.put(&mut self.out);
            self.next += 1;
            return Some(&mut self.out);
        }
        self.other_cell()
    }

    /// Writes the first `len` of eight bytes as the next value, the first in the lowest byte.
    #[inline]
    pub(super) fn short(&mut self, text: u64, len: usize) {
        if let Some(key) = straight_key(&self.straight, &self.nest, self.next)
            && key.put_with(&mut self.out, (text, len))
        {
            self.next += 1;
            // Two such values and their keys are about as long as what a step takes in.
            if self.next.is_multiple_of(2) {
                self.step();
            }
            return;
        }
        self.rarely_short(text, len);
    }

    #[inline(never)]
    fn rarely_short(&mut self, text: u64, len: usize) {
        self.put(|out| out.put_word(text, len));
    }

    /// Writes the next value.
    #[inline]
    pub(super) fn put(&mut self, write: impl FnOnce(&mut Buffer)) {
        if let Some(out) = self.cell() {
            write(out);
        }
        self.step();
    }

    /// Takes a step in hashing the rows, if one is due. At the end of a write, since a call in the
    /// midst of it would cost more.
    #[inline]
    fn step(&mut self) {
        if self.along.is_due(self.row_start) {
            self.along.step(&self.out);
        }
    }

    /// As `cell`, inside of a list or map, and where columns are not declared in sorted order.
    #[inline(never)]
    fn other_cell(&mut self) -> Option<&mut Buffer> {
        if !self.nest.is_empty() {
            return self.element();
        }
        let Some(layout) = &self.current else {
            return self.no_cell(RowFault::NoTable);
        };
        if self.next >= layout.width() {
            return self.no_cell(RowFault::Arity);
        }
        if self.next > 0 {
            self.unsorted.ends.push(self.unsorted.values.len());
        }
        self.next += 1;
        Some(&mut self.unsorted.values)
    }

    #[cold]
    fn no_cell(&mut self, fault: RowFault) -> Option<&mut Buffer> {
        self.fail::<()>(fault).ok();
        None
    }

    fn element(&mut self) -> Option<&mut Buffer> {
        let format = self.shape.format;
        let (out, nest) = self.inside();
        match nest.element(out, format) {
            Ok(()) => Some(self.inside().0),
            Err(fault) => self.no_cell(fault),
        }
    }

    /// The buffer of the cell that was begun last, and what is open in it.
    fn inside(&mut self) -> (&mut Buffer, &mut Nest) {
        let sorted = self.current.as_ref().is_some_and(|layout| layout.order.is_none());
        let out = if sorted { &mut self.out } else { &mut self.unsorted.values };
        (out, &mut self.nest)
    }

    pub(super) fn nesting(
        &mut self,
        act: impl FnOnce(&mut Buffer, &mut Nest, Format) -> Result<(), RowFault>,
    ) {
        let format = self.shape.format;
        let (out, nest) = self.inside();
        if let Err(fault) = act(out, nest, format) {
            self.fail::<()>(fault).ok();
        }
    }
}

/// What comes before the next value, if that goes straight to its place.
#[inline]
fn straight_key<'k>(keys: &'k [Fixed], nest: &Nest, next: usize) -> Option<&'k Fixed> {
    keys.get(next).filter(|_| nest.is_empty())
}

impl fmt::Debug for RowBatch {
    /// Never the rows.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RowBatch")
            .field("rows", &self.rows())
            .field("bytes", &self.encoded().len())
            .field("fault", &self.fault)
            .finish_non_exhaustive()
    }
}

//! Encoded rows on their way from a batch to the result. Keeps true: the runs cover exactly the
//! bytes that are meant, in order.

use alloc::vec::Vec;

use super::batch::BATCH_BYTES;

/// Rows of one table that follow each other in a batch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    /// Index into the batch's tables.
    pub(crate) table: u32,
    pub(crate) rows: u64,
    pub(crate) bytes: usize,
}

/// Encoded rows, on their way from a batch to the result.
#[derive(Debug, Default)]
pub(crate) struct Chunk {
    pub(crate) bytes: Vec<u8>,
    /// What of `bytes` is meant.
    pub(crate) len: usize,
    pub(crate) runs: Vec<Run>,
    /// Whether these are in the digest already.
    pub(crate) is_hashed: bool,
}

impl Chunk {
    pub(crate) fn written(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }

    pub(crate) fn rows(&self) -> u64 {
        self.runs.iter().map(|run| run.rows).sum()
    }

    /// Takes the rows of another, if both together are no more than a usual batch; otherwise gives
    /// it back. So that a source that gives its rows one by one does not fill the memory with
    /// buffers.
    pub(crate) fn append(&mut self, other: Self) -> Result<Vec<u8>, Self> {
        if self.len.saturating_add(other.len) > BATCH_BYTES || self.is_hashed != other.is_hashed {
            return Err(other);
        }
        self.bytes.truncate(self.len);
        self.bytes.extend_from_slice(other.written());
        self.len = self.bytes.len();
        for run in &other.runs {
            match self.runs.last_mut() {
                Some(last) if last.table == run.table => {
                    last.rows += run.rows;
                    last.bytes += run.bytes;
                }
                _ => self.runs.push(*run),
            }
        }
        Ok(other.bytes)
    }

    /// The same in as much memory as it needs, and the memory that it was in, if that is much more.
    pub(crate) fn fitted(mut self) -> (Self, Option<Vec<u8>>) {
        if self.len >= self.bytes.len() / 2 {
            return (self, None);
        }
        let fitted = self.written().to_vec();
        let spare = core::mem::replace(&mut self.bytes, fitted);
        (self, Some(spare))
    }

    /// The same with its runs' tables numbered otherwise.
    pub(crate) fn with_tables(mut self, number: impl Fn(u32) -> Option<usize>) -> Self {
        for run in &mut self.runs {
            let table = number(run.table).and_then(|table| u32::try_from(table).ok());
            run.table = table.unwrap_or(u32::MAX);
        }
        self
    }
}

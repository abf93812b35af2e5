//! The document of direct mode, put together from what each datasource gave, without a copy.
//!
//! Keeps true: the rows' bytes are moved, never duplicated; keys are sorted by bytes; a planned
//! table without rows is `[]`; the first row of a table loses the comma that it came with.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::batch::{RowBatch, RowFault};
use super::buffer::Buffer;
use super::chunk::Chunk;
use super::string::string;

/// What one datasource contributes: its tables, and each one's rows.
#[derive(Debug)]
pub(crate) struct Parts {
    datasource: Arc<str>,
    tables: BTreeMap<Arc<str>, Vec<Vec<u8>>>,
}

impl Parts {
    /// With these tables, so far without rows.
    pub(crate) fn new(datasource: Arc<str>, tables: impl IntoIterator<Item = Arc<str>>) -> Self {
        let tables = tables.into_iter().map(|name| (name, Vec::new())).collect();
        Self { datasource, tables }
    }

    /// Adds rows; `name` tells the tables that the chunk's runs refer to.
    pub(crate) fn add(&mut self, mut chunk: Chunk, name: impl Fn(u32) -> Option<Arc<str>>) {
        chunk.bytes.truncate(chunk.len);
        let name = |table: u32| name(table).unwrap_or_default();
        if let [run] = chunk.runs.as_slice()
            && chunk.len >= super::batch::BATCH_BYTES / 2
        {
            // The common case: a full batch of one table, nothing to copy. What it did not use of
            // its memory is given back.
            if chunk.bytes.capacity() - chunk.len > chunk.len / 8 {
                chunk.bytes.shrink_to_fit();
            }
            self.tables.entry(name(run.table)).or_default().push(chunk.bytes);
            return;
        }
        let mut rest = chunk.bytes.as_slice();
        for run in &chunk.runs {
            let (rows, after) = rest.split_at_checked(run.bytes).unwrap_or((rest, &[]));
            rest = after;
            let pieces = self.tables.entry(name(run.table)).or_default();
            match pieces.last_mut() {
                // Short runs are gathered, so that pieces stay few.
                Some(last) if last.len() + rows.len() <= super::batch::BATCH_BYTES => {
                    last.extend_from_slice(rows);
                }
                _ => pieces.push(rows.to_vec()),
            }
        }
    }
}

/// A direct result: one JSON document, in chunks.
///
/// It is handed out as it lies in memory, so that a large one need not exist twice.
#[derive(Clone, Default)]
pub struct Document {
    chunks: Vec<Vec<u8>>,
    len: usize,
}

impl Document {
    /// Puts the document together. Datasources come out sorted by name.
    pub(crate) fn new(mut parts: Vec<Parts>) -> Self {
        parts.sort_by(|a, b| a.datasource.cmp(&b.datasource));
        let mut document = Self::default();
        let mut glue = Buffer::new();
        glue.put(b"{");
        for (at, part) in parts.into_iter().enumerate() {
            glue.put(if at == 0 { b"\n  " } else { b",\n  " });
            string(&mut glue, &part.datasource);
            glue.put(b": {");
            let tables = part.tables.len();
            for (at, (name, pieces)) in part.tables.into_iter().enumerate() {
                glue.put(if at == 0 { b"\n    " } else { b",\n    " });
                string(&mut glue, &name);
                glue.put(b": [");
                let empty = pieces.is_empty();
                for (at, mut piece) in pieces.into_iter().enumerate() {
                    if at == 0 {
                        // The comma that the table's first row came with.
                        piece.drain(..1.min(piece.len()));
                        document.flush(&mut glue);
                    }
                    document.push(piece);
                }
                glue.put(if empty { b"]" } else { b"\n    ]" });
            }
            glue.put(if tables == 0 { b"}" } else { b"\n  }" });
            document.flush(&mut glue);
        }
        glue.put(if document.chunks.is_empty() { b"}" } else { b"\n}" });
        document.flush(&mut glue);
        document
    }

    /// The document of these batches, one whole datasource each. The engine does not use this;
    /// tests of connectors do.
    ///
    /// # Errors
    /// What was wrong with a batch.
    pub fn from_batches(batches: impl IntoIterator<Item = RowBatch>) -> Result<Self, RowFault> {
        let part = |mut batch: RowBatch| {
            let (datasource, expected) = batch.expected();
            let mut part = Parts::new(datasource, expected);
            let chunk = batch.take(Vec::new())?;
            part.add(chunk, |table| batch.tables().get(table as usize).map(Arc::clone));
            Ok(part)
        };
        batches.into_iter().map(part).collect::<Result<_, _>>().map(Self::new)
    }

    fn flush(&mut self, glue: &mut Buffer) {
        self.push(glue.written().to_vec());
        glue.truncate(0);
    }

    fn push(&mut self, chunk: Vec<u8>) {
        self.len += chunk.len();
        if !chunk.is_empty() {
            self.chunks.push(chunk);
        }
    }

    /// The document's bytes, piece by piece.
    pub fn chunks(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.chunks.iter().map(Vec::as_slice)
    }

    /// Its size in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has no bytes. A document has at least `{}`.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The document in one piece. Each chunk is given back as soon as it is copied.
    #[must_use]
    pub fn into_vec(self) -> Vec<u8> {
        let mut whole = Vec::with_capacity(self.len);
        for chunk in self.chunks {
            whole.extend_from_slice(&chunk);
        }
        whole
    }
}

impl core::fmt::Debug for Document {
    /// Never the rows.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Document").field("len", &self.len).finish_non_exhaustive()
    }
}

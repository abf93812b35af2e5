//! What surrounds the values of a row, worked out once per table: prefixes, keys, suffixes, and
//! the order in which columns come out.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::buffer::{BLOCK, Buffer};
use super::string::string;

/// The two forms of a result.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum Format {
    /// One document, two-space indent: direct mode.
    Json,
    /// One line per row: store mode.
    Ndjson,
}

impl Format {
    /// The stable string: `json` or `ndjson`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Ndjson => "ndjson",
        }
    }
}

/// What a row batch is for: the form of the result, the datasource, and the tables that may occur.
#[derive(Clone, Debug)]
pub struct StepShape {
    pub(super) format: Format,
    pub(super) datasource: Arc<str>,
    /// The tables that are expected and their fields, both sorted; `None`: whatever comes.
    pub(super) tables: Option<Vec<Expected>>,
}

/// A table and its fields.
type Expected = (Arc<str>, Arc<[Arc<str>]>);

impl StepShape {
    /// A shape that takes any table with any columns. The engine itself never uses it; tests of
    /// connectors do.
    #[must_use]
    pub fn open(format: Format, datasource: impl Into<Arc<str>>) -> Self {
        Self { format, datasource: datasource.into(), tables: None }
    }

    /// A shape that takes exactly these tables, each with exactly these columns (in any order).
    #[must_use]
    pub fn new(
        format: Format,
        datasource: impl Into<Arc<str>>,
        tables: impl IntoIterator<Item = (Arc<str>, Arc<[Arc<str>]>)>,
    ) -> Self {
        let tables = tables.into_iter().map(|(name, fields)| {
            if fields.is_sorted() {
                return (name, fields);
            }
            let mut sorted = fields.to_vec();
            sorted.sort();
            (name, sorted.into())
        });
        let mut tables: Vec<_> = tables.collect();
        tables.sort_by(|a, b| a.0.cmp(&b.0));
        Self { format, datasource: datasource.into(), tables: Some(tables) }
    }
}

/// Bytes that are written for every row: the first block in place, where it is copied whole.
pub(super) struct Fixed {
    block: [u8; BLOCK],
    /// How long they are, with the rest.
    len: usize,
    rest: Vec<u8>,
}

impl Fixed {
    fn new(bytes: &[u8]) -> Self {
        let mut block = [b' '; BLOCK];
        block.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        let rest = bytes.get(BLOCK..).unwrap_or_default().to_vec();
        Self { block, len: bytes.len(), rest }
    }

    #[inline]
    pub(super) fn put(&self, out: &mut Buffer) {
        if self.len <= BLOCK {
            return out.put_part(&self.block, self.len);
        }
        self.put_long(out);
    }

    /// The same with a short value behind it, if that can be done in one go; otherwise says no, and
    /// writes nothing.
    #[inline]
    pub(super) fn put_with(&self, out: &mut Buffer, value: (u64, usize)) -> bool {
        self.len <= BLOCK && out.put_block_and_word((&self.block, self.len), value)
    }

    #[inline(never)]
    fn put_long(&self, out: &mut Buffer) {
        out.put_array(&self.block);
        out.put(&self.rest);
    }
}

/// One table with its columns in one declared order.
pub(super) struct Layout {
    /// Which table, in the batch's own list of tables.
    pub(super) table: u32,
    /// The declared columns, to recognise the layout again.
    columns: Vec<Arc<str>>,
    /// What comes before each value, in sorted order.
    keys: Arc<[Fixed]>,
    /// For each sorted place the declared position; `None` where they are the same.
    pub(super) order: Option<Vec<u32>>,
    /// What ends a row.
    suffix: Fixed,
    /// A row without any column.
    empty: Vec<u8>,
}

impl Layout {
    /// Works it out; nothing if a column is declared twice.
    pub(super) fn new<S: AsRef<str>>(
        shape: &StepShape,
        (table, name): (u32, &str),
        columns: &[S],
    ) -> Option<Self> {
        let columns: Vec<Arc<str>> = columns.iter().map(|column| column.as_ref().into()).collect();
        let mut order: Vec<u32> = (0..).take(columns.len()).collect();
        // PROOF: `order` holds indices below `columns.len()`.
        let column = |at: u32| &columns[at as usize];
        order.sort_by_key(|&at| column(at));
        if order.windows(2).any(|pair| column(pair[0]) == column(pair[1])) {
            return None;
        }
        let keys = order
            .iter()
            .enumerate()
            .map(|(place, &at)| Fixed::new(&before_value(shape, name, place, column(at))));
        let suffix: &[u8] = match shape.format {
            Format::Json => b"\n      }",
            Format::Ndjson => b"}}\n",
        };
        Some(Self {
            table,
            keys: keys.collect(),
            suffix: Fixed::new(suffix),
            empty: empty_row(shape, name),
            order: (!order.is_sorted()).then_some(order),
            columns,
        })
    }

    /// How many columns.
    #[inline]
    pub(super) fn width(&self) -> usize {
        self.keys.len()
    }

    /// Whether this is the layout of these columns in this order.
    pub(super) fn is_of<S: AsRef<str>>(&self, columns: &[S]) -> bool {
        self.columns.len() == columns.len()
            && self.columns.iter().zip(columns).all(|(a, b)| **a == *b.as_ref())
    }

    /// Whether these are exactly the columns that are expected (sorted), in whatever order.
    pub(super) fn covers(&self, expected: &[Arc<str>]) -> bool {
        let declared = |place: usize| match &self.order {
            None => self.columns.get(place),
            Some(order) => order.get(place).and_then(|&at| self.columns.get(at as usize)),
        };
        self.columns.len() == expected.len()
            && expected.iter().enumerate().all(|(place, field)| declared(place) == Some(field))
    }

    /// What comes before each value, if values go straight to their place: the declared order is
    /// the sorted one.
    pub(super) fn straight(&self) -> Arc<[Fixed]> {
        if self.order.is_none() { Arc::clone(&self.keys) } else { Arc::default() }
    }

    /// Writes what comes after the last value.
    #[inline]
    pub(super) fn put_suffix(&self, out: &mut Buffer) {
        self.suffix.put(out);
    }

    /// Writes a row whose values lie in `values` in the declared order, each up to its end.
    pub(super) fn assemble(&self, out: &mut Buffer, values: &Buffer, ends: &[usize]) {
        let Some(order) = &self.order else { return };
        let written = values.written();
        for (key, &at) in self.keys.iter().zip(order) {
            let at = at as usize;
            // The first value begins at 0, the last ends where all end.
            let start = at.checked_sub(1).and_then(|before| ends.get(before)).copied();
            let end = ends.get(at).copied().unwrap_or(written.len());
            key.put(out);
            out.put(written.get(start.unwrap_or(0)..end).unwrap_or_default());
        }
        if values.over_ceiling() {
            out.set_overflowed();
        }
    }

    pub(super) fn put_empty(&self, out: &mut Buffer) {
        out.put(&self.empty);
    }
}

/// The bytes before a value: the row's beginning for the first, a comma for the others.
fn before_value(shape: &StepShape, table: &str, place: usize, column: &str) -> Vec<u8> {
    let mut out = Buffer::new();
    match (shape.format, place) {
        (_, 0) => out.put(&row_start(shape, table)),
        (Format::Json, _) => out.put(b",\n        "),
        (Format::Ndjson, _) => out.put(b","),
    }
    if shape.format == Format::Json && place == 0 {
        out.put(b"\n        ");
    }
    string(&mut out, column);
    out.put(match shape.format {
        Format::Json => b": ".as_slice(),
        Format::Ndjson => b":",
    });
    out.written().to_vec()
}

/// A document's rows each begin with the comma that parts them; the document drops the first.
fn row_start(shape: &StepShape, table: &str) -> Vec<u8> {
    let mut out = Buffer::new();
    match shape.format {
        Format::Json => out.put(b",\n      {"),
        Format::Ndjson => {
            out.put(b"{\"config\":");
            string(&mut out, &shape.datasource);
            out.put(b",\"table\":");
            string(&mut out, table);
            out.put(b",\"row\":{");
        }
    }
    out.written().to_vec()
}

fn empty_row(shape: &StepShape, table: &str) -> Vec<u8> {
    let mut row = row_start(shape, table);
    row.extend_from_slice(match shape.format {
        Format::Json => b"}",
        Format::Ndjson => b"}}\n",
    });
    row
}

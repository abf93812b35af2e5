//! The binary form of `COPY … TO STDOUT`, row by row.
//!
//! ```text
//! signature, flags, extension    rows: count, (length, bytes)*       count -1
//! ```
//! Keeps true: rows may be cut anywhere between two messages (the server cuts between rows, but
//! does not promise it); the end is the trailer, so that a stream that breaks off is no end.

use fetcher_engine::PortError;
use fetcher_engine::encode::RowBatch;

use crate::decode::{Decoder, Input, Malformed};
use crate::fault::malformed;
use crate::shape::Shape;

const SIGNATURE: &[u8; 11] = b"PGCOPY\n\xFF\r\n\0";
/// Signature, flags, and the length of what follows them.
const HEADER: usize = 19;
/// The count that is the trailer.
const TRAILER: i16 = -1;

/// Where in the stream it is.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
enum Place {
    #[default]
    Header,
    Rows,
    End,
}

/// Reads one stream.
#[derive(Debug, Default)]
pub(crate) struct CopyReader {
    place: Place,
    /// The beginning of a row whose end has not come yet.
    carry: Vec<u8>,
}

impl CopyReader {
    /// Takes the next message and writes the rows that it completes.
    pub(crate) fn feed(
        &mut self,
        chunk: &[u8],
        shapes: &[Shape],
        decoder: &mut Decoder,
        batch: &mut RowBatch,
    ) -> Result<(), PortError> {
        if self.carry.is_empty() {
            let read = self.rows(chunk, shapes, decoder, batch)?;
            self.carry.extend_from_slice(chunk.get(read..).unwrap_or_default());
            return Ok(());
        }
        let mut carry = std::mem::take(&mut self.carry);
        carry.extend_from_slice(chunk);
        let read = self.rows(&carry, shapes, decoder, batch)?;
        carry.drain(..read);
        self.carry = carry;
        Ok(())
    }

    /// Whether the trailer has come, and nothing behind it.
    pub(crate) fn is_complete(&self) -> bool {
        self.place == Place::End && self.carry.is_empty()
    }

    /// How many bytes were read: whole rows only.
    fn rows(
        &mut self,
        bytes: &[u8],
        shapes: &[Shape],
        decoder: &mut Decoder,
        batch: &mut RowBatch,
    ) -> Result<usize, PortError> {
        let mut rest = bytes;
        if self.place == Place::Header {
            let Some(after) = header(rest)? else { return Ok(0) };
            rest = after;
            self.place = Place::Rows;
        }
        while !rest.is_empty() {
            if self.place == Place::End {
                return Err(malformed("something follows the end of the rows"));
            }
            let Some(row) = row(rest).map_err(broken)? else { break };
            let Row { count, fields, after } = row;
            rest = after;
            if count == TRAILER {
                self.place = Place::End;
                continue;
            }
            if usize::try_from(count) != Ok(shapes.len()) {
                return Err(malformed("a row has another number of columns"));
            }
            let mut input = Input(fields);
            for shape in shapes {
                let value = input.value().map_err(broken)?;
                decoder.write(shape, value, batch).map_err(broken)?;
            }
            batch.end_row()?;
        }
        Ok(bytes.len() - rest.len())
    }
}

/// One row, whole.
struct Row<'a> {
    count: i16,
    fields: &'a [u8],
    after: &'a [u8],
}

/// The row that the bytes begin with; `None` if it is not all there.
#[inline]
fn row(bytes: &[u8]) -> Result<Option<Row<'_>>, Malformed> {
    let Some((count, fields)) = bytes.split_first_chunk() else { return Ok(None) };
    let count = i16::from_be_bytes(*count);
    let mut after = fields;
    for _ in 0..count {
        let Some((len, rest)) = after.split_first_chunk() else { return Ok(None) };
        let len = match i32::from_be_bytes(*len) {
            -1 => 0,
            len => usize::try_from(len).map_err(|_| Malformed)?,
        };
        let Some((_, rest)) = rest.split_at_checked(len) else { return Ok(None) };
        after = rest;
    }
    Ok(Some(Row { count, fields, after }))
}

/// What follows the header; `None` if it is not all there.
fn header(bytes: &[u8]) -> Result<Option<&[u8]>, PortError> {
    let Some((header, rest)) = bytes.split_first_chunk::<HEADER>() else { return Ok(None) };
    let (signature, numbers) = header.split_at(SIGNATURE.len());
    let mut numbers = Input(numbers);
    let flags = numbers.i32().map_err(broken)?;
    let extension = usize::try_from(numbers.i32().map_err(broken)?);
    // No flag is defined today; those in the upper half would change what follows.
    if signature != SIGNATURE || flags != 0 {
        return Err(malformed("it is not a binary copy"));
    }
    let extension = extension.map_err(|_| malformed("it is not a binary copy"))?;
    Ok(rest.split_at_checked(extension).map(|(_, rest)| rest))
}

pub(crate) fn broken(Malformed: Malformed) -> PortError {
    malformed("a value is not in its type's binary form")
}

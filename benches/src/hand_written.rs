//! The loop that one would write without the engine: a JSON object per row, serialised by
//! `serde_json` into a buffer that is hashed and handed on when it is full.

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::Error;
use crate::fixture::DATASOURCE;
use crate::rows::{Cursor, Row, TABLE};

/// As large as a batch of the engine.
const BUFFER_BYTES: usize = 256 << 10;

/// What the loop gives.
pub(crate) struct Written {
    pub(crate) bytes: u64,
    pub(crate) digest: [u8; 32],
}

/// Writes so many rows to `sink`, in the lines that the engine's store mode writes.
pub(crate) fn write(
    pool: &[Row],
    rows: u64,
    mut sink: impl FnMut(&[u8]),
) -> Result<Written, Error> {
    let head = format!("{{\"config\":\"{DATASOURCE}\",\"table\":\"{TABLE}\",\"row\":");
    let mut buffer = Vec::with_capacity(BUFFER_BYTES + 4096);
    let mut hash = Sha256::new();
    let mut bytes = 0;
    let mut flush = |buffer: &mut Vec<u8>| {
        hash.update(buffer.as_slice());
        bytes += buffer.len() as u64;
        sink(buffer);
        buffer.clear();
    };
    let mut cursor = Cursor::new(rows);
    while let Some(row) = cursor.next(pool) {
        buffer.extend_from_slice(head.as_bytes());
        serde_json::to_writer(&mut buffer, &object(row))?;
        buffer.extend_from_slice(b"}\n");
        if buffer.len() >= BUFFER_BYTES {
            flush(&mut buffer);
        }
    }
    flush(&mut buffer);
    let digest = hash.finalize().into();
    Ok(Written { bytes, digest })
}

fn object(row: &Row) -> Map<String, Value> {
    let mut object = Map::new();
    object.insert("active".to_owned(), Value::from(row.active));
    object.insert("amount".to_owned(), Value::from(row.amount));
    object.insert("created_at".to_owned(), Value::from(row.created_at.as_str()));
    object.insert("email".to_owned(), Value::from(row.email.as_str()));
    object.insert("id".to_owned(), Value::from(row.id));
    object.insert("name".to_owned(), Value::from(row.name.as_str()));
    object.insert("note".to_owned(), Value::from(row.note.as_deref()));
    object.insert("uuid".to_owned(), Value::from(row.uuid.as_str()));
    object
}

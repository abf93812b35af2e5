//! Lists and maps inside a cell, as [`Value`]s or written step by step.
//!
//! Keeps true: no recursion deeper than [`DEPTH_MAX`], whatever a source sends.

use alloc::vec::Vec;

use super::batch::RowFault;
use super::buffer::Buffer;
use super::layout::Format;
use super::string::string;
use super::{base64, json, number};
use crate::value::{Decimal, Text, Value};

/// The deepest nesting of lists and maps in one cell.
pub(super) const DEPTH_MAX: usize = 128;

/// How deep a cell lies in the document: its lines are indented by this many levels.
const CELL_LEVEL: usize = 4;

/// One open list or map.
#[derive(Clone, Copy)]
pub(super) struct Level {
    map: bool,
    empty: bool,
    /// A key was written and its value is due.
    keyed: bool,
}

/// The lists and maps that are open in the current cell.
#[derive(Default)]
pub(super) struct Nest {
    levels: Vec<Level>,
}

impl Nest {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.levels.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.levels.clear();
    }

    pub(super) fn open(&mut self, out: &mut Buffer, map: bool) -> Result<(), RowFault> {
        if self.levels.len() == DEPTH_MAX {
            return Err(RowFault::TooDeep);
        }
        self.levels.push(Level { map, empty: true, keyed: false });
        out.put_array(if map { b"{" } else { b"[" });
        Ok(())
    }

    /// What comes before an element of the innermost list, or a value whose key was written.
    pub(super) fn element(&mut self, out: &mut Buffer, format: Format) -> Result<(), RowFault> {
        let depth = self.levels.len();
        let Some(level) = self.levels.last_mut() else {
            return Ok(());
        };
        if level.map {
            return if core::mem::take(&mut level.keyed) { Ok(()) } else { Err(RowFault::Nesting) };
        }
        separate(out, format, depth, core::mem::take(&mut level.empty));
        Ok(())
    }

    pub(super) fn key(
        &mut self,
        out: &mut Buffer,
        format: Format,
        key: &str,
    ) -> Result<(), RowFault> {
        let depth = self.levels.len();
        let Some(level) = self.levels.last_mut() else {
            return Err(RowFault::Nesting);
        };
        if !level.map || level.keyed {
            return Err(RowFault::Nesting);
        }
        level.keyed = true;
        separate(out, format, depth, core::mem::take(&mut level.empty));
        put_key(out, format, key);
        Ok(())
    }

    pub(super) fn close(&mut self, out: &mut Buffer, format: Format) -> Result<(), RowFault> {
        let Some(level) = self.levels.pop() else {
            return Err(RowFault::Nesting);
        };
        if level.keyed {
            return Err(RowFault::Nesting);
        }
        end(out, format, self.levels.len(), level.map, level.empty);
        Ok(())
    }

    /// Writes a whole value in the place that was prepared for it.
    pub(super) fn value(
        &self,
        out: &mut Buffer,
        format: Format,
        value: &Value,
    ) -> Result<(), RowFault> {
        put_value(out, format, self.levels.len(), value)
    }
}

fn put_value(
    out: &mut Buffer,
    format: Format,
    depth: usize,
    value: &Value,
) -> Result<(), RowFault> {
    match value {
        Value::List(items) => {
            let depth = deeper(depth)?;
            out.put_array(b"[");
            for (at, item) in items.iter().enumerate() {
                separate(out, format, depth, at == 0);
                put_value(out, format, depth, item)?;
            }
            end(out, format, depth - 1, false, items.is_empty());
        }
        Value::Map(entries) => {
            let depth = deeper(depth)?;
            out.put_array(b"{");
            for (at, (key, item)) in entries.iter().enumerate() {
                separate(out, format, depth, at == 0);
                put_key(out, format, key);
                put_value(out, format, depth, item)?;
            }
            end(out, format, depth - 1, true, entries.is_empty());
        }
        scalar => put_scalar(out, scalar),
    }
    Ok(())
}

fn deeper(depth: usize) -> Result<usize, RowFault> {
    if depth < DEPTH_MAX { Ok(depth + 1) } else { Err(RowFault::TooDeep) }
}

fn put_scalar(out: &mut Buffer, value: &Value) {
    match value {
        Value::Bool(value) => boolean(out, *value),
        Value::I64(value) => number::i64(out, *value),
        Value::U64(value) => number::u64(out, *value),
        Value::F32(value) => number::f32(out, *value),
        Value::F64(value) => number::f64(out, *value),
        Value::Decimal(value) => decimal(out, value),
        Value::String(value) => string(out, value),
        Value::Bytes(value) => base64::base64(out, value),
        Value::Uuid(value) => quoted(out, &value.write_text()),
        Value::Date(value) => temporal(out, &value.text()),
        Value::Time(value) => temporal(out, &value.text()),
        Value::Timestamp(value) => temporal(out, &value.text()),
        Value::Instant(value) => temporal(out, &value.text()),
        Value::Json(value) => json_or_string(out, value),
        Value::Null | Value::List(_) | Value::Map(_) => out.put_array(b"null"),
    }
}

pub(super) fn boolean(out: &mut Buffer, value: bool) {
    if value { out.put_array(b"true") } else { out.put_array(b"false") }
}

/// A number as it is; NaN and the infinities as strings.
pub(super) fn decimal(out: &mut Buffer, value: &Decimal) {
    if value.is_finite() {
        out.put(value.as_str().as_bytes());
    } else {
        quoted(out, value.as_str().as_bytes());
    }
}

/// Text that needs no escape.
pub(super) fn quoted(out: &mut Buffer, text: &[u8]) {
    out.put_array(b"\"");
    out.put(text);
    out.put_array(b"\"");
}

/// A date, a time or both.
#[inline]
pub(super) fn temporal(out: &mut Buffer, text: &Text) {
    let (block, len) = text.in_block();
    out.put_array(b"\"");
    out.put_part(block, len);
    out.put_array(b"\"");
}

pub(super) fn json_or_string(out: &mut Buffer, text: &str) {
    if !json::json(out, text) {
        string(out, text);
    }
}

fn put_key(out: &mut Buffer, format: Format, key: &str) {
    string(out, key);
    match format {
        Format::Json => out.put_array(b": "),
        Format::Ndjson => out.put_array(b":"),
    }
}

fn separate(out: &mut Buffer, format: Format, depth: usize, first: bool) {
    if !first {
        out.put_array(b",");
    }
    if format == Format::Json {
        line(out, depth);
    }
}

fn end(out: &mut Buffer, format: Format, depth: usize, map: bool, empty: bool) {
    if format == Format::Json && !empty {
        line(out, depth);
    }
    out.put_array(if map { b"}" } else { b"]" });
}

fn line(out: &mut Buffer, depth: usize) {
    out.put_array(b"\n");
    for _ in 0..CELL_LEVEL + depth {
        out.put_array(b"  ");
    }
}

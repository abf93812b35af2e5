//! The typed writes of a row batch: one method per kind of value.
//!
//! Keeps true: each write is exactly one value of the row, or of the list or map that is open.

use alloc::string::String;
use core::fmt::{self, Write};

use super::batch::RowBatch;
use super::buffer::Buffer;
use super::string::string;
use super::{base64, json, nested, number, string};
use crate::value::{Date, Decimal, Instant, Time, Timestamp, Uuid, Value};

/// Typed writes: each is one value of the row, or of the list or map that is open.
impl RowBatch {
    /// A null.
    #[inline]
    pub fn null(&mut self) {
        self.short(u64::from_le_bytes(*b"null    "), 4);
    }

    /// A boolean.
    #[inline]
    pub fn bool(&mut self, value: bool) {
        self.put(|out| nested::boolean(out, value));
    }

    /// A signed integer.
    #[inline]
    pub fn i64(&mut self, value: i64) {
        match number::short_i64(value) {
            Some((text, len)) => self.short(text, len),
            None => self.long(number::i64, value),
        }
    }

    /// An unsigned integer.
    #[inline]
    pub fn u64(&mut self, value: u64) {
        match i64::try_from(value) {
            Ok(value) => self.i64(value),
            Err(_) => self.long(number::u64, value),
        }
    }

    #[inline(never)]
    fn long<T>(&mut self, write: impl FnOnce(&mut Buffer, T), value: T) {
        self.put(|out| write(out, value));
    }

    /// A single float, in the shortest form that reads back; NaN and infinities as strings.
    #[inline]
    pub fn f32(&mut self, value: f32) {
        self.put(|out| number::f32(out, value));
    }

    /// A double float, in the shortest form that reads back; NaN and infinities as strings.
    #[inline]
    pub fn f64(&mut self, value: f64) {
        self.put(|out| number::f64(out, value));
    }

    /// An exact decimal, its scale kept; NaN and infinities as strings.
    pub fn decimal(&mut self, value: &Decimal) {
        self.put(|out| nested::decimal(out, value));
    }

    /// The text of an exact decimal: any JSON number, or what [`Decimal::parse`] takes. Says no,
    /// and writes nothing, if it is no number. Number text that is JSON already costs no
    /// allocation.
    pub fn decimal_str(&mut self, value: &str) -> bool {
        if json::is_number(value) {
            self.put(|out| out.put(value.as_bytes()));
            return true;
        }
        let parsed = Decimal::parse(value);
        if let Some(decimal) = &parsed {
            self.decimal(decimal);
        }
        parsed.is_some()
    }

    /// Text.
    #[inline]
    pub fn str(&mut self, value: &str) {
        match string::word(value.as_bytes()) {
            Some((text, len)) => self.short(text, len),
            None => self.long(string, value),
        }
    }

    /// Text of which only the bytes are known. Says no, and writes nothing, if they are not UTF-8.
    #[inline]
    #[must_use]
    pub fn utf8(&mut self, value: &[u8]) -> bool {
        if let Some((text, len)) = string::word(value) {
            self.short(text, len);
            return true;
        }
        let text = str::from_utf8(value);
        if let Ok(text) = text {
            self.long(string, text);
        }
        text.is_ok()
    }

    /// Text that something displays.
    pub fn display(&mut self, value: &dyn fmt::Display) {
        let mut text = String::new();
        // PROOF: a `String` takes everything; a `Display` that fails leaves what it wrote.
        let _ = write!(text, "{value}");
        self.str(&text);
    }

    /// Bytes, as standard base64 with padding.
    pub fn bytes(&mut self, value: &[u8]) {
        self.put(|out| base64::base64(out, value));
    }

    /// A UUID, lower case with hyphens.
    pub fn uuid(&mut self, value: Uuid) {
        self.put(|out| nested::quoted(out, &value.write_text()));
    }

    /// A date.
    pub fn date(&mut self, value: Date) {
        self.put(|out| nested::temporal(out, &value.text()));
    }

    /// A time of day.
    pub fn time(&mut self, value: Time) {
        self.put(|out| nested::temporal(out, &value.text()));
    }

    /// A date and time without a zone.
    pub fn timestamp(&mut self, value: Timestamp) {
        self.put(|out| nested::temporal(out, &value.text()));
    }

    /// A point in time: RFC 3339 with `Z`.
    pub fn instant(&mut self, value: Instant) {
        self.put(|out| nested::temporal(out, &value.text()));
    }

    /// JSON text: without insignificant white space, otherwise token for token. What is not valid
    /// JSON goes out as a JSON string.
    pub fn json(&mut self, value: &str) {
        self.put(|out| nested::json_or_string(out, value));
    }

    /// A value of any kind.
    pub fn value(&mut self, value: &Value) {
        if self.cell().is_some() {
            self.nesting(|out, nest, format| nest.value(out, format, value));
        }
    }

    /// Opens a list; the writes that follow are its elements, until [`end`](Self::end).
    pub fn begin_list(&mut self) {
        if self.cell().is_some() {
            self.nesting(|out, nest, _| nest.open(out, false));
        }
    }

    /// Opens a map; [`key`](Self::key) comes before each of its values, until [`end`](Self::end).
    pub fn begin_map(&mut self) {
        if self.cell().is_some() {
            self.nesting(|out, nest, _| nest.open(out, true));
        }
    }

    /// The key of the next value. Keys come out in the order in which they are written.
    pub fn key(&mut self, key: &str) {
        self.nesting(|out, nest, format| nest.key(out, format, key));
    }

    /// Closes the innermost list or map.
    pub fn end(&mut self) {
        self.nesting(|out, nest, format| nest.close(out, format));
    }
}

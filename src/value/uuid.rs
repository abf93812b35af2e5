//! Universally unique identifiers: sixteen bytes and their text form.
//!
//! Any sixteen bytes are a valid identifier; version and variant are not looked at. The text form
//! is that of RFC 9562, section 4: lower case, hyphens after 8, 12, 16 and 20 digits.

use core::fmt;

/// A universally unique identifier. It orders by its bytes, as databases do.
#[derive(Clone, Copy, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[expect(clippy::exhaustive_structs, reason = "sixteen bytes are all of it")]
pub struct Uuid(pub [u8; 16]);

impl Uuid {
    /// The identifier made of these bytes, most significant first.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The bytes, most significant first.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// Reads the hyphenated or the plain form (32 digits), in either case, with or without braces
    /// around it. Anything else is `None`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = match text.strip_prefix('{') {
            Some(inner) => inner.strip_suffix('}')?,
            None => text,
        };
        let hyphenated = match text.len() {
            32 => false,
            36 => true,
            _ => return None,
        };
        let mut rest = text.as_bytes();
        let mut bytes = [0; 16];
        for (at, byte) in bytes.iter_mut().enumerate() {
            if hyphenated && matches!(at, 4 | 6 | 8 | 10) {
                rest = rest.strip_prefix(b"-")?;
            }
            let (&[high, low], after) = rest.split_first_chunk()?;
            *byte = (nibble(high)? << 4) | nibble(low)?;
            rest = after;
        }
        Some(Self(bytes))
    }

    /// The text form, for an encoder: no allocation, no formatting machinery.
    #[must_use]
    pub fn write_text(&self) -> [u8; 36] {
        let mut text = [b'-'; 36];
        let (head, tail) = self.0.split_at(10);
        // Groups of two bytes, each four digits, with where each starts.
        for (pair, at) in head.chunks_exact(2).zip([0, 4, 9, 14, 19]) {
            write_hex(&mut text, at, pair);
        }
        write_hex(&mut text, 24, tail);
        text
    }
}

impl fmt::Debug for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Uuid({self})")
    }
}

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(str::from_utf8(&self.write_text()).unwrap_or_default())
    }
}

impl From<[u8; 16]> for Uuid {
    fn from(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }
}

fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

#[inline]
fn write_hex(text: &mut [u8; 36], at: usize, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let places = text.get_mut(at..).unwrap_or_default();
    for (place, byte) in places.chunks_exact_mut(2).zip(bytes) {
        // Both indexes are below sixteen by construction.
        place.copy_from_slice(&[DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
    }
}

//! Text to JSON strings, sixteen bytes at a time.
//!
//! Escapes what Go's `encoding/json` escapes by default: the quote, the backslash, control
//! characters, `<`, `>`, `&`, U+2028 and U+2029. Keeps true: everything else goes through as it is.

use super::buffer::Buffer;

const HEX: &[u8; 16] = b"0123456789abcdef";

/// Writes a quoted JSON string.
#[inline]
pub(super) fn string(out: &mut Buffer, text: &str) {
    let bytes = text.as_bytes();
    let room = out.room(bytes.len() + 2);
    if copy_plain(room, bytes) {
        out.advance(bytes.len() + 2);
    } else {
        escaped(out, bytes);
    }
}

/// Copies the quoted text if nothing in it needs an escape and there is room for it; otherwise
/// leaves rubbish behind and says no.
#[inline]
fn copy_plain(room: &mut [u8], bytes: &[u8]) -> bool {
    let Some((quote, room)) = room.split_first_mut() else {
        return false;
    };
    *quote = b'"';
    let Some((target, rest)) = room.split_at_mut_checked(bytes.len()) else {
        return false;
    };
    let Some(quote) = rest.first_mut() else {
        return false;
    };
    *quote = b'"';
    if let (Some(last), Some(target_last)) = (bytes.last_chunk(), target.last_chunk_mut()) {
        // Sixteen or more: the last block overlaps the one before it, so there is no tail.
        let mut clean = copy_block::<16>(target_last, last);
        let (blocks, _) = bytes.as_chunks::<16>();
        let (targets, _) = target.as_chunks_mut::<16>();
        for (target, block) in targets.iter_mut().zip(blocks) {
            clean &= copy_block(target, block);
        }
        clean
    } else {
        copy_short(target, bytes)
    }
}

#[inline]
fn copy_block<const N: usize>(target: &mut [u8; N], block: &[u8; N]) -> bool {
    *target = *block;
    !block.iter().fold(false, |found, &byte| found | is_special(byte))
}

/// Fewer than sixteen bytes, again as two overlapping blocks.
#[inline]
fn copy_short(target: &mut [u8], bytes: &[u8]) -> bool {
    fn ends<const N: usize>(target: &mut [u8], bytes: &[u8]) -> Option<bool> {
        let first = copy_block::<N>(target.first_chunk_mut()?, bytes.first_chunk()?);
        let last = copy_block::<N>(target.last_chunk_mut()?, bytes.last_chunk()?);
        Some(first & last)
    }
    let each = |target: &mut [u8]| {
        target.copy_from_slice(bytes);
        !bytes.iter().any(|&byte| is_special(byte))
    };
    ends::<8>(target, bytes).or_else(|| ends::<4>(target, bytes)).unwrap_or_else(|| each(target))
}

/// Whether a byte may need an escape. E2 begins U+2028 and U+2029, and much that is harmless.
#[inline]
const fn is_special(byte: u8) -> bool {
    // `"` and `&` differ in one bit, and so do `<` and `>`.
    (byte < 0x20)
        | (byte & !0x04 == b'"')
        | (byte & !0x02 == b'<')
        | (byte == b'\\')
        | (byte == 0xE2)
}

#[cold]
#[inline(never)]
fn escaped(out: &mut Buffer, bytes: &[u8]) {
    out.put_array(b"\"");
    let mut rest = bytes;
    loop {
        let plain = plain_prefix(rest);
        let (head, tail) = rest.split_at(plain);
        out.put(head);
        let Some((&byte, after)) = tail.split_first() else {
            break;
        };
        rest = after;
        match byte {
            b'"' => out.put_array(b"\\\""),
            b'\\' => out.put_array(b"\\\\"),
            b'\n' => out.put_array(b"\\n"),
            b'\r' => out.put_array(b"\\r"),
            b'\t' => out.put_array(b"\\t"),
            0x08 => out.put_array(b"\\b"),
            0x0C => out.put_array(b"\\f"),
            0xE2 => match after {
                [0x80, 0xA8, after @ ..] => {
                    rest = after;
                    out.put_array(b"\\u2028");
                }
                [0x80, 0xA9, after @ ..] => {
                    rest = after;
                    out.put_array(b"\\u2029");
                }
                _ => out.put_array(&[byte]),
            },
            _ => {
                let digit = |nibble: u8| HEX[usize::from(nibble & 0xF)];
                out.put_array(&[b'\\', b'u', b'0', b'0', digit(byte >> 4), digit(byte)]);
            }
        }
    }
    out.put_array(b"\"");
}

/// How many bytes from the start need no escape.
fn plain_prefix(bytes: &[u8]) -> usize {
    let (blocks, _) = bytes.as_chunks::<16>();
    let clean = blocks
        .iter()
        .take_while(|block| !block.iter().fold(false, |found, &byte| found | is_special(byte)));
    let whole = clean.count() * 16;
    let rest = bytes.get(whole..).unwrap_or_default();
    whole + rest.iter().position(|&byte| is_special(byte)).unwrap_or(rest.len())
}

//! Text to JSON strings, thirty-two bytes at a time.
//!
//! Escapes what Go's `encoding/json` escapes by default: the quote, the backslash, control
//! characters, `<`, `>`, `&`, U+2028 and U+2029. Keeps true: everything else goes through as it is.
//!
//! Bytes are copied first and looked at afterwards, block by block; the blocks of the end overlap
//! those before it, so that there is no tail to be treated byte by byte.

use super::buffer::Buffer;

const HEX: &[u8; 16] = b"0123456789abcdef";

/// How many bytes are looked at together. The loops over a block compile to vector instructions.
const BLOCK: usize = 32;

/// The longest escape.
const ESCAPE: usize = 6;

/// The longest text whose quoted form is a word.
const WORD_TEXT: usize = size_of::<u64>() - 2;

/// A quoted JSON string as a word, its first byte in the lowest, and how long it is: for very short
/// texts of plain ASCII in which nothing needs an escape, as most codes and flags are.
#[inline]
pub(super) fn word(text: &[u8]) -> Option<(u64, usize)> {
    if text.len() > WORD_TEXT {
        return None;
    }
    let word = gather(text);
    let bits = 8 * text.len() as u32;
    // Behind the text: what needs no escape.
    let padded = word | (u64::from_ne_bytes([b' '; 8]) << bits);
    let quote = u64::from(b'"');
    let quoted = quote | (word << 8) | (quote << (bits + 8));
    is_plain_ascii(padded).then_some((quoted, text.len() + 2))
}

/// Fewer than eight bytes as a word, the first in the lowest: their halves, which overlap.
#[inline]
fn gather(bytes: &[u8]) -> u64 {
    let behind = |half: usize| 8 * (bytes.len() - half) as u32;
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        return u64::from(u32::from_le_bytes(*first))
            | (u64::from(u32::from_le_bytes(*last)) << behind(4));
    }
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        return u64::from(u16::from_le_bytes(*first))
            | (u64::from(u16::from_le_bytes(*last)) << behind(2));
    }
    bytes.first().map_or(0, |&byte| byte.into())
}

/// Whether every byte is ASCII and none needs an escape.
#[inline]
fn is_plain_ascii(word: u64) -> bool {
    const fn all(byte: u8) -> u64 {
        u64::from_ne_bytes([byte; 8])
    }
    const HIGH: u64 = all(0x80);
    // A byte below 0x20 borrows its highest bit; one that borrowed from is behind such a byte.
    let is_other = word | word.wrapping_sub(all(0x20));
    if is_other & HIGH != 0 {
        return false;
    }
    // All bytes are below 0x80 here: adding 0x7F sets the highest bit of all but zeros.
    let differs = |word: u64, byte: u8| (word ^ all(byte)) + all(0x7F);
    let differ =
        differs(word & !all(0x04), b'"') & differs(word & !all(0x02), b'<') & differs(word, b'\\');
    differ & HIGH == HIGH
}

/// Writes a quoted JSON string.
#[inline]
pub(super) fn string(out: &mut Buffer, text: &str) {
    let bytes = text.as_bytes();
    match copy_plain(out.room(bytes.len() + 2), bytes) {
        Ok(()) => out.advance(bytes.len() + 2),
        Err(plain) => escaped(out, bytes, plain),
    }
}

/// Copies the quoted text if nothing in it needs an escape and there is room for it; otherwise
/// tells how many bytes from the start need none, and has copied these behind the quote.
#[inline]
fn copy_plain(room: &mut [u8], bytes: &[u8]) -> Result<(), usize> {
    let (quote, room) = room.split_first_mut().ok_or(0_usize)?;
    let (target, rest) = room.split_at_mut_checked(bytes.len()).ok_or(0_usize)?;
    *quote = b'"';
    *rest.first_mut().ok_or(0_usize)? = b'"';
    if bytes.len() < BLOCK {
        return if copy_short(target, bytes) { Ok(()) } else { Err(0) };
    }
    let (blocks, _) = bytes.as_chunks::<BLOCK>();
    let (targets, _) = target.as_chunks_mut::<BLOCK>();
    for (at, (target, block)) in targets.iter_mut().zip(blocks).enumerate() {
        *target = *block;
        if !is_plain(block) {
            return Err(at * BLOCK);
        }
    }
    match copy_ends::<BLOCK>(target, bytes) {
        Some(true) => Ok(()),
        _ => Err(blocks.len() * BLOCK),
    }
}

/// Copies less than a block; says whether nothing in it needs an escape.
#[inline]
fn copy_short(target: &mut [u8], bytes: &[u8]) -> bool {
    copy_ends::<16>(target, bytes)
        .or_else(|| copy_ends::<8>(target, bytes))
        .or_else(|| copy_ends::<4>(target, bytes))
        .or_else(|| copy_ends::<2>(target, bytes))
        .or_else(|| copy_ends::<1>(target, bytes))
        .unwrap_or(true)
}

/// Copies the first and the last `N` bytes, which are all bytes where there are at most twice as
/// many; says whether none of them needs an escape. Nothing where there are fewer than `N`.
#[inline]
fn copy_ends<const N: usize>(target: &mut [u8], bytes: &[u8]) -> Option<bool> {
    let (first, last) = (bytes.first_chunk::<N>()?, bytes.last_chunk::<N>()?);
    *target.first_chunk_mut()? = *first;
    *target.last_chunk_mut()? = *last;
    Some(is_plain(first) & is_plain(last))
}

/// For each byte of a block 1 if it may need an escape, else 0; as two halves.
#[inline]
fn special(block: &[u8; BLOCK]) -> [u128; 2] {
    let mut marks = [0; BLOCK];
    for (mark, &byte) in marks.iter_mut().zip(block) {
        *mark = u8::from(is_special(byte));
    }
    let half = |half: Option<&[u8; 16]>| half.map_or(0, |half| u128::from_le_bytes(*half));
    [half(marks.first_chunk()), half(marks.last_chunk())]
}

#[inline]
fn is_plain<const N: usize>(bytes: &[u8; N]) -> bool {
    bytes.iter().fold(0, |marks, &byte| marks | u8::from(is_special(byte))) == 0
}

/// How many bytes of a block come before the first that may need an escape.
#[inline]
fn plain_prefix(block: &[u8; BLOCK]) -> usize {
    let [low, high] = special(block);
    let bits = if low == 0 { 128 + high.trailing_zeros() } else { low.trailing_zeros() };
    bits as usize / 8
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

/// Writes the text with escapes; the quote and `plain` bytes are in place already, if there is
/// room.
#[inline(never)]
fn escaped(out: &mut Buffer, bytes: &[u8], plain: usize) {
    if out.room(plain + 1).len() <= plain {
        return;
    }
    out.advance(plain + 1);
    let mut rest = bytes.get(plain..).unwrap_or_default();
    while !rest.is_empty() {
        let mut padded = [b' '; BLOCK];
        let block = match rest.first_chunk() {
            Some(block) => block,
            None => {
                padded.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
                &padded
            }
        };
        let plain = plain_prefix(block).min(rest.len());
        let Some(target) = out.room(BLOCK + ESCAPE).first_chunk_mut() else { return };
        *target = *block;
        out.advance(plain);
        rest = rest.get(plain..).unwrap_or_default();
        if plain < BLOCK
            && let Some((&byte, after)) = rest.split_first()
        {
            rest = escape(out, byte, after);
        }
    }
    out.put_array(b"\"");
}

/// Writes a byte that may need an escape; answers with what follows.
#[inline]
fn escape<'a>(out: &mut Buffer, byte: u8, after: &'a [u8]) -> &'a [u8] {
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
                out.put_array(b"\\u2028");
                return after;
            }
            [0x80, 0xA9, after @ ..] => {
                out.put_array(b"\\u2029");
                return after;
            }
            _ => out.put_array(&[byte]),
        },
        _ => {
            let digit = |nibble: u8| HEX[usize::from(nibble & 0xF)];
            out.put_array(&[b'\\', b'u', b'0', b'0', digit(byte >> 4), digit(byte)]);
        }
    }
    after
}

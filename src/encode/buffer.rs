//! A byte buffer that is written at a position. Keeps true: it never grows past its ceiling, and
//! what lies before the position is what was written.
//!
//! Its memory is initialised once and then reused, so that a write is a bounds check and a store,
//! without `unsafe` and without a call for every few bytes.

use alloc::vec::Vec;

/// How far a copy may reach past the bytes that are meant.
pub(super) const BLOCK: usize = 32;

pub(super) struct Buffer {
    /// Initialised memory; what is written is `..len`.
    bytes: Vec<u8>,
    len: usize,
    /// The most that may be written.
    ceiling: usize,
    overflowed: bool,
}

impl Buffer {
    pub(super) const fn new() -> Self {
        Self { bytes: Vec::new(), len: 0, ceiling: usize::MAX, overflowed: false }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Whether more was written than may be, or something was left out for that reason.
    #[inline]
    pub(super) fn over_ceiling(&self) -> bool {
        self.overflowed || self.len > self.ceiling
    }

    pub(super) fn set_overflowed(&mut self) {
        self.overflowed = true;
    }

    pub(super) fn set_ceiling(&mut self, ceiling: usize) {
        self.ceiling = ceiling;
    }

    pub(super) fn written(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }

    /// So many bytes from this place, all of which were written.
    #[inline]
    pub(super) fn chunk<const N: usize>(&self, at: usize) -> Option<&[u8; N]> {
        debug_assert!(at + N <= self.len, "what is asked for was written");
        self.bytes.get(at..)?.first_chunk()
    }

    pub(super) fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// Hands out what was written and goes on with `next`'s memory, whatever is in it.
    pub(super) fn replace(&mut self, next: Vec<u8>) -> (Vec<u8>, usize) {
        let len = core::mem::take(&mut self.len);
        self.overflowed = false;
        (core::mem::replace(&mut self.bytes, next), len)
    }

    /// Makes sure that this many bytes are there without another look.
    pub(super) fn prepare(&mut self, bytes: usize) {
        if self.bytes.len() < bytes {
            // A fresh allocation comes zeroed from the system for free; `resize` would write it.
            let mut fresh = alloc::vec![0; bytes];
            if let Some(head) = fresh.get_mut(..self.len) {
                head.copy_from_slice(self.written());
            }
            self.bytes = fresh;
        }
    }

    /// At least `n` bytes to write to, or nothing when the ceiling forbids it.
    #[inline]
    pub(super) fn room(&mut self, n: usize) -> &mut [u8] {
        if self.bytes.len() - self.len < n {
            self.grow(n);
        }
        // PROOF: `len <= bytes.len()` always.
        &mut self.bytes[self.len..]
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, n: usize) {
        let needed = self.len.saturating_add(n);
        // A block more than the ceiling, so that the last bytes below it need no special care.
        if needed > self.ceiling.saturating_add(2 * BLOCK) {
            self.overflowed = true;
            return;
        }
        let doubled = self.bytes.len().saturating_mul(2).max(needed).max(1024);
        let size = doubled.min(self.ceiling.saturating_add(4 * BLOCK)).max(needed);
        self.prepare(size);
    }

    /// Marks `n` bytes of the room as written.
    #[inline]
    pub(super) fn advance(&mut self, n: usize) {
        self.len += n;
        debug_assert!(self.len <= self.bytes.len(), "only room can be advanced over");
    }

    /// Appends bytes.
    #[inline]
    pub(super) fn put(&mut self, bytes: &[u8]) {
        if let Some(target) = self.room(bytes.len()).get_mut(..bytes.len()) {
            target.copy_from_slice(bytes);
            self.advance(bytes.len());
        }
    }

    /// Appends a fixed number of bytes: compiles to plain stores.
    #[inline]
    pub(super) fn put_array<const N: usize>(&mut self, bytes: &[u8; N]) {
        self.put_part(bytes, N);
    }

    /// Appends the first `len` of these bytes, which are at most two blocks. All of them are
    /// stored, which is faster than a call that copies the exact length.
    #[inline]
    pub(super) fn put_part<const N: usize>(&mut self, bytes: &[u8; N], len: usize) {
        let room = self.bytes.get_mut(self.len..);
        if let Some(target) = room.and_then(<[u8]>::first_chunk_mut) {
            *target = *bytes;
            self.advance(len);
        } else {
            self.put_grown(bytes, len);
        }
    }

    /// Appends the first `len` of eight bytes, the first in the lowest byte.
    #[inline]
    pub(super) fn put_word(&mut self, word: u64, len: usize) {
        self.put_part(&word.to_le_bytes(), len);
    }

    /// Appends the first `len` bytes of a block and those of a word behind it, with one look at the
    /// room; says no, and writes nothing, if there is none yet.
    #[inline]
    pub(super) fn put_block_and_word(
        &mut self,
        (block, block_len): (&[u8; BLOCK], usize),
        (word, len): (u64, usize),
    ) -> bool {
        let room = self.bytes.get_mut(self.len..self.len + 2 * BLOCK);
        let Some(room): Option<&mut [u8; 2 * BLOCK]> = room.and_then(<[u8]>::as_mut_array) else {
            return false;
        };
        let (first, _) = room.split_at_mut(BLOCK);
        first.copy_from_slice(block);
        let Some(place) = room.get_mut(block_len..).and_then(<[u8]>::first_chunk_mut) else {
            return false;
        };
        *place = word.to_le_bytes();
        self.advance(block_len + len);
        true
    }

    /// As `put_part`, where there is no room yet.
    #[cold]
    #[inline(never)]
    fn put_grown(&mut self, bytes: &[u8], len: usize) {
        if let Some(target) = self.room(bytes.len()).get_mut(..bytes.len()) {
            target.copy_from_slice(bytes);
            self.advance(len);
        }
    }
}

//! Hashing a batch's rows while the rows behind them are encoded.
//!
//! Encoding keeps the CPU busy, a hash keeps it waiting; a step of it now and then costs little
//! beside the encoding. Keeps true: only whole rows are hashed, in order, each byte once; what was
//! not reached on the way is hashed at the end.

use alloc::boxed::Box;
use core::mem::take;

use super::buffer::Buffer;
use crate::digest::{BLOCK, BySteps, Sha256};

/// A digest that follows the rows of a batch, while it is wanted.
pub(super) struct Along {
    /// Where the block ends in which the next step is taken; out of reach while there is none.
    end: usize,
    /// Kept from one batch to the next; a batch is moved about, and this is large.
    hash: Option<Box<Hash>>,
}

#[derive(Default)]
enum Hash {
    #[default]
    None,
    /// Over what comes before the first row.
    Before(Sha256),
    /// By blocks, the first of which begins there.
    Blocks(usize, BySteps),
}

impl Along {
    pub(super) const fn new() -> Self {
        Self { end: usize::MAX, hash: None }
    }

    /// Goes on with this hash from the first row on.
    pub(super) fn start(&mut self, hash: Sha256) {
        // The head of the first row completes a block that was begun.
        self.end = BLOCK;
        **self.hash.get_or_insert_default() = Hash::Before(hash);
    }

    /// Forgets the hash.
    pub(super) fn stop(&mut self) {
        self.finish(&[]);
    }

    /// Whether something can be hashed when the whole rows end there.
    #[inline]
    pub(super) fn is_due(&self, whole: usize) -> bool {
        whole >= self.end
    }

    /// Takes a step, which is due.
    #[inline(never)]
    pub(super) fn step(&mut self, rows: &Buffer) {
        let Some(Hash::Blocks(_, hash)) = self.hash.as_deref_mut() else {
            return self.begin(rows);
        };
        if let Some(block) = rows.chunk(self.end - BLOCK)
            && hash.take(block)
        {
            self.end += BLOCK;
        }
    }

    /// Completes the block that was begun before, and goes on by steps where that is possible.
    #[cold]
    fn begin(&mut self, rows: &Buffer) {
        self.end = usize::MAX;
        let Some(hash) = self.hash.as_deref_mut() else { return };
        let Hash::Before(before) = hash else { return };
        let head = before.to_boundary();
        let mut after = before.clone();
        after.update(rows.written().get(..head).unwrap_or_default());
        if let Some(after) = BySteps::new(after) {
            self.end = head + BLOCK;
            *hash = Hash::Blocks(head, after);
        }
    }

    /// The hash to the end of these rows, if one was started; it is over with that.
    pub(super) fn finish(&mut self, rows: &[u8]) -> Option<Sha256> {
        let done = self.end.wrapping_sub(BLOCK);
        self.end = usize::MAX;
        let (mut hash, done) = match take(self.hash.as_deref_mut()?) {
            Hash::None => return None,
            Hash::Before(hash) => (hash, 0),
            Hash::Blocks(start, hash) => (hash.finish((done - start) / BLOCK), done),
        };
        hash.update(rows.get(done..).unwrap_or_default());
        Some(hash)
    }
}

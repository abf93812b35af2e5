//! The compression function of SHA-256 in plain integer code, for any CPU.
//!
//! It is the fallback and the yardstick, not the fast path, and it keeps no state of its own.
//!
//! Kept true: no `unsafe`, no secret-dependent branch or index, the same on every target.

use super::{Block, ROUNDS, State};

/// The name that [`super::backends`] gives it.
pub(super) const NAME: &str = "portable";

/// The native backend of a build that has none: no value of it exists.
#[derive(Clone, Copy)]
#[allow(dead_code, reason = "named only by builds without a native backend")]
pub(super) enum NoNative {}

#[allow(dead_code, reason = "named only by builds without a native backend")]
impl NoNative {
    pub(super) const NAME: &str = "none";

    pub(super) const fn new() -> Option<Self> {
        None
    }

    pub(super) const fn compress(self, _: &mut State, _: &[Block]) {
        match self {}
    }

    pub(super) const fn steps(self, _: &State) -> Option<NoSteps> {
        match self {}
    }
}

/// For a backend that takes in whole blocks only: no value of it exists.
#[allow(dead_code, reason = "named only by builds for other CPUs than x86-64")]
pub(super) enum NoSteps {}

#[allow(dead_code, reason = "named only by builds for other CPUs than x86-64")]
impl NoSteps {
    pub(super) const fn take(&mut self, _: &Block) -> bool {
        match *self {}
    }

    pub(super) const fn state(&self) -> State {
        match *self {}
    }
}

/// Takes `blocks` into `state`, in order.
pub(super) fn compress(state: &mut State, blocks: &[Block]) {
    for block in blocks {
        compress_one(state, block);
    }
}

fn compress_one(state: &mut State, block: &Block) {
    let mut words = [0; 16];
    for (word, bytes) in words.iter_mut().zip(block.as_chunks().0) {
        *word = u32::from_be_bytes(*bytes);
    }
    let mut s = *state;
    let (quarters, _) = ROUNDS.as_flattened().as_flattened().as_chunks();
    for (nth, constants) in quarters.iter().enumerate() {
        if nth == 0 {
            sixteen_rounds::<false>(&mut s, &mut words, constants);
        } else {
            sixteen_rounds::<true>(&mut s, &mut words, constants);
        }
    }
    for (old, new) in state.iter_mut().zip(s) {
        *old = old.wrapping_add(new);
    }
}

/// Sixteen rounds, on these words or (if `NEXT`) on the sixteen that follow them.
///
/// Written out, and inlined, so that every index is a constant and the state stays in registers.
#[inline(always)]
fn sixteen_rounds<const NEXT: bool>(s: &mut State, w: &mut [u32; 16], constants: &[u32; 16]) {
    round::<0, NEXT>(s, w, constants);
    round::<1, NEXT>(s, w, constants);
    round::<2, NEXT>(s, w, constants);
    round::<3, NEXT>(s, w, constants);
    round::<4, NEXT>(s, w, constants);
    round::<5, NEXT>(s, w, constants);
    round::<6, NEXT>(s, w, constants);
    round::<7, NEXT>(s, w, constants);
    round::<8, NEXT>(s, w, constants);
    round::<9, NEXT>(s, w, constants);
    round::<10, NEXT>(s, w, constants);
    round::<11, NEXT>(s, w, constants);
    round::<12, NEXT>(s, w, constants);
    round::<13, NEXT>(s, w, constants);
    round::<14, NEXT>(s, w, constants);
    round::<15, NEXT>(s, w, constants);
}

/// One round. The letters of the standard move one place on in each; here the names move instead,
/// so that no word is copied.
#[inline(always)]
fn round<const I: usize, const NEXT: bool>(
    s: &mut State,
    w: &mut [u32; 16],
    constants: &[u32; 16],
) {
    if NEXT {
        let (w15, w2) = (w[(I + 1) % 16], w[(I + 14) % 16]);
        let sigma0 = w15.rotate_right(7) ^ w15.rotate_right(18) ^ (w15 >> 3);
        let sigma1 = w2.rotate_right(17) ^ w2.rotate_right(19) ^ (w2 >> 10);
        w[I] = w[I].wrapping_add(sigma0).wrapping_add(w[(I + 9) % 16]).wrapping_add(sigma1);
    }
    let [a, b, c, d, e, f, g, h] = const { letters(I) };
    let sum1 = s[e].rotate_right(6) ^ s[e].rotate_right(11) ^ s[e].rotate_right(25);
    let choice = s[g] ^ (s[e] & (s[f] ^ s[g]));
    let word = w[I].wrapping_add(constants[I]);
    let t1 = s[h].wrapping_add(word).wrapping_add(choice).wrapping_add(sum1);
    let sum0 = s[a].rotate_right(2) ^ s[a].rotate_right(13) ^ s[a].rotate_right(22);
    s[d] = s[d].wrapping_add(t1);
    // The majority of a, b and c: its two terms have no bit in common, so they can be added.
    s[h] = t1.wrapping_add(sum0).wrapping_add(s[a] & s[b]).wrapping_add(s[c] & (s[a] ^ s[b]));
}

/// Where the letters `a` to `h` are in the state in that round of sixteen.
const fn letters(round: usize) -> [usize; 8] {
    let mut at = [0; 8];
    let mut letter = 0;
    while letter < 8 {
        at[letter] = (letter + 16 - round) % 8;
        letter += 1;
    }
    at
}

//! The compression function of SHA-256 by the SHA extensions of x86-64.
//!
//! It is one of the backends, chosen by the module above, not an API.
//!
//! Kept true: a [`ShaNi`] exists only on a CPU that has every instruction used here, so that the
//! one unsafe call, from code built for any CPU into code built for those, is sound.
#![allow(unsafe_code)]

use core::arch::x86_64::{
    __m128i, _mm_add_epi32, _mm_alignr_epi8, _mm_extract_epi32, _mm_set_epi32, _mm_set_epi64x,
    _mm_sha256msg1_epu32, _mm_sha256msg2_epu32, _mm_sha256rnds2_epu32, _mm_shuffle_epi8,
    _mm_shuffle_epi32,
};

use super::{Block, ROUNDS, State};

/// Proof that this CPU has the instructions that [`compress`] is built with.
#[derive(Clone, Copy)]
pub(super) struct ShaNi(());

impl ShaNi {
    /// The name that [`super::backends`] gives it.
    pub(super) const NAME: &str = "sha-ni";

    /// The proof, where it holds. Without std it has to hold at build time.
    #[inline]
    pub(super) fn new() -> Option<Self> {
        #[cfg(feature = "std")]
        let has_all = std::arch::is_x86_feature_detected!("sha")
            && std::arch::is_x86_feature_detected!("ssse3")
            && std::arch::is_x86_feature_detected!("sse4.1");
        #[cfg(not(feature = "std"))]
        let has_all =
            cfg!(all(target_feature = "sha", target_feature = "ssse3", target_feature = "sse4.1"));
        has_all.then_some(Self(()))
    }

    /// Takes `blocks` into `state`, in order.
    #[inline]
    pub(super) fn compress(self, state: &mut State, blocks: &[Block]) {
        // SAFETY: `self` exists, so `new` has found sha, ssse3 and sse4.1 on this CPU: all the
        // features that `compress` enables.
        unsafe { compress(state, blocks) }
    }

    /// For taking in blocks by steps, from this state on.
    #[inline]
    pub(super) fn steps(self, state: &State) -> Option<Steps> {
        // SAFETY: as for `compress`.
        let halves = unsafe { halves_of(state) };
        Some(Steps { cpu: self, halves, begun: None })
    }
}

/// A state, and a block that may be begun.
pub(super) struct Steps {
    cpu: ShaNi,
    /// Without the block that is begun.
    halves: [__m128i; 2],
    begun: Option<Begun>,
}

/// A block after the first half of its rounds: the state in them, and the last words.
struct Begun {
    halves: [__m128i; 2],
    words: [__m128i; 4],
}

impl Steps {
    /// Takes one of two steps in a block; says whether it was the second.
    #[inline]
    pub(super) fn take(&mut self, block: &Block) -> bool {
        let ShaNi(()) = self.cpu;
        // SAFETY: there is a `ShaNi`, so `new` has found sha, ssse3 and sse4.1 on this CPU: all the
        // features that `step` enables.
        unsafe { step(self, block) }
    }

    /// The state after the whole blocks.
    #[inline]
    pub(super) fn state(&self) -> State {
        let ShaNi(()) = self.cpu;
        // SAFETY: as for `take`.
        unsafe { state_of(self.halves) }
    }
}

#[target_feature(enable = "sha,ssse3,sse4.1")]
fn step(steps: &mut Steps, block: &Block) -> bool {
    match steps.begun.take() {
        None => {
            steps.begun = Some(begin(steps.halves, block));
            false
        }
        Some(begun) => {
            steps.halves = complete(steps.halves, begun);
            true
        }
    }
}

#[target_feature(enable = "sha,ssse3,sse4.1")]
fn compress(state: &mut State, blocks: &[Block]) {
    let mut halves = halves_of(state);
    for block in blocks {
        halves = complete(halves, begin(halves, block));
    }
    *state = state_of(halves);
}

/// The instructions want the state in two halves, interleaved like this, first letter highest.
#[inline]
#[target_feature(enable = "sha,ssse3,sse4.1")]
fn halves_of(state: &State) -> [__m128i; 2] {
    let [a, b, c, d, e, f, g, h] = state.map(u32::cast_signed);
    [_mm_set_epi32(a, b, e, f), _mm_set_epi32(c, d, g, h)]
}

#[inline]
#[target_feature(enable = "sha,ssse3,sse4.1")]
fn state_of([abef, cdgh]: [__m128i; 2]) -> State {
    [
        _mm_extract_epi32::<3>(abef),
        _mm_extract_epi32::<2>(abef),
        _mm_extract_epi32::<3>(cdgh),
        _mm_extract_epi32::<2>(cdgh),
        _mm_extract_epi32::<1>(abef),
        _mm_extract_epi32::<0>(abef),
        _mm_extract_epi32::<1>(cdgh),
        _mm_extract_epi32::<0>(cdgh),
    ]
    .map(i32::cast_unsigned)
}

/// The first half of a block's rounds.
#[inline]
#[target_feature(enable = "sha,ssse3,sse4.1")]
fn begin(halves: [__m128i; 2], block: &Block) -> Begun {
    let [first, second, _, _] = &ROUNDS;
    let mut begun = Begun { halves, words: load(block) };
    for (&words, constants) in begun.words.iter().zip(first) {
        begun.halves = four_rounds(begun.halves, words, *constants);
    }
    next_rounds(&mut begun, second);
    begun
}

/// The second half, and what becomes of the state.
#[inline]
#[target_feature(enable = "sha,ssse3,sse4.1")]
fn complete([abef, cdgh]: [__m128i; 2], mut begun: Begun) -> [__m128i; 2] {
    let [_, _, third, fourth] = &ROUNDS;
    next_rounds(&mut begun, third);
    next_rounds(&mut begun, fourth);
    [_mm_add_epi32(begun.halves[0], abef), _mm_add_epi32(begun.halves[1], cdgh)]
}

/// Sixteen rounds, on the words that follow the last ones.
#[inline]
#[target_feature(enable = "sha,ssse3,sse4.1")]
fn next_rounds(Begun { halves, words: w }: &mut Begun, constants: &[[u32; 4]; 4]) {
    for i in 0..4 {
        w[i] = next_words(w[i], w[(i + 1) % 4], w[(i + 2) % 4], w[(i + 3) % 4]);
        *halves = four_rounds(*halves, w[i], constants[i]);
    }
}

/// The words of a block, four to a register, first lowest.
#[inline]
#[target_feature(enable = "sha,ssse3,sse4.1")]
fn load(block: &Block) -> [__m128i; 4] {
    // Each word comes big-endian: turn its four bytes round.
    let turn = _mm_set_epi64x(0x0c0d_0e0f_0809_0a0b, 0x0405_0607_0001_0203);
    let (eights, _) = block.as_chunks();
    let half = |i: usize| i64::from_le_bytes(eights[i]);
    [0, 2, 4, 6].map(|i| _mm_shuffle_epi8(_mm_set_epi64x(half(i + 1), half(i)), turn))
}

/// Four words of the message schedule, from the sixteen before them.
#[inline]
#[target_feature(enable = "sha,ssse3,sse4.1")]
fn next_words(w0: __m128i, w1: __m128i, w2: __m128i, w3: __m128i) -> __m128i {
    let nine_on = _mm_alignr_epi8::<4>(w3, w2);
    _mm_sha256msg2_epu32(_mm_add_epi32(_mm_sha256msg1_epu32(w0, w1), nine_on), w3)
}

/// Four rounds. The instruction does two, and gives the half that changes in them: the other half
/// after two rounds is what this one was before.
#[inline]
#[target_feature(enable = "sha,ssse3,sse4.1")]
fn four_rounds([abef, cdgh]: [__m128i; 2], words: __m128i, constants: [u32; 4]) -> [__m128i; 2] {
    let [k0, k1, k2, k3] = constants.map(u32::cast_signed);
    let sums = _mm_add_epi32(words, _mm_set_epi32(k3, k2, k1, k0));
    let abef2 = _mm_sha256rnds2_epu32(cdgh, abef, sums);
    let abef4 = _mm_sha256rnds2_epu32(abef, abef2, _mm_shuffle_epi32::<0x0e>(sums));
    [abef4, abef2]
}

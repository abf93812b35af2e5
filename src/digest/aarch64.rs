//! The compression function of SHA-256 by the SHA2 instructions of 64-bit Arm.
//!
//! It is one of the backends, chosen by the module above, not an API. It is written for
//! little-endian targets, where lane 0 of a register is the first in memory.
//!
//! Kept true: a [`Sha2`] exists only on a CPU that has every instruction used here, so that the
//! one unsafe call, from code built for any CPU into code built for those, is sound.
#![allow(unsafe_code)]

use core::arch::aarch64::{
    uint32x4_t, vaddq_u32, vcombine_u8, vcombine_u32, vcreate_u8, vcreate_u32, vgetq_lane_u32,
    vreinterpretq_u32_u8, vrev32q_u8, vsha256h2q_u32, vsha256hq_u32, vsha256su0q_u32,
    vsha256su1q_u32,
};

use super::portable::NoSteps;
use super::{Block, ROUNDS, State};

/// Proof that this CPU has the instructions that [`compress`] is built with.
#[derive(Clone, Copy)]
pub(super) struct Sha2(());

impl Sha2 {
    /// The name that [`super::backends`] gives it.
    pub(super) const NAME: &str = "aarch64-sha2";

    /// The proof, where it holds. Without std it has to hold at build time.
    #[inline]
    pub(super) fn new() -> Option<Self> {
        #[cfg(feature = "std")]
        let has_all = std::arch::is_aarch64_feature_detected!("sha2");
        #[cfg(not(feature = "std"))]
        let has_all = cfg!(target_feature = "sha2");
        has_all.then_some(Self(()))
    }

    /// Takes `blocks` into `state`, in order.
    #[inline]
    pub(super) fn compress(self, state: &mut State, blocks: &[Block]) {
        // SAFETY: `self` exists, so `new` has found sha2 on this CPU, the feature that `compress`
        // enables; neon, which comes with it, is in the target that this module is built for.
        unsafe { compress(state, blocks) }
    }

    /// Blocks are taken in whole.
    pub(super) const fn steps(self, _: &State) -> Option<NoSteps> {
        None
    }
}

#[target_feature(enable = "neon,sha2")]
fn compress(state: &mut State, blocks: &[Block]) {
    let [a, b, c, d, e, f, g, h] = *state;
    let mut halves = [four([a, b, c, d]), four([e, f, g, h])];

    for block in blocks {
        let [abcd, efgh] = halves;
        let mut w = load(block);
        for (nth, constants) in ROUNDS.iter().enumerate() {
            for i in 0..4 {
                if nth > 0 {
                    w[i] = next_words(w[i], w[(i + 1) % 4], w[(i + 2) % 4], w[(i + 3) % 4]);
                }
                halves = four_rounds(halves, w[i], constants[i]);
            }
        }
        halves = [vaddq_u32(halves[0], abcd), vaddq_u32(halves[1], efgh)];
    }

    let [abcd, efgh] = halves;
    *state = [
        vgetq_lane_u32::<0>(abcd),
        vgetq_lane_u32::<1>(abcd),
        vgetq_lane_u32::<2>(abcd),
        vgetq_lane_u32::<3>(abcd),
        vgetq_lane_u32::<0>(efgh),
        vgetq_lane_u32::<1>(efgh),
        vgetq_lane_u32::<2>(efgh),
        vgetq_lane_u32::<3>(efgh),
    ];
}

/// Four words to a register, first lowest.
#[inline]
#[target_feature(enable = "neon,sha2")]
fn four([w0, w1, w2, w3]: [u32; 4]) -> uint32x4_t {
    let pair = |low: u32, high: u32| vcreate_u32(u64::from(high) << 32 | u64::from(low));
    vcombine_u32(pair(w0, w1), pair(w2, w3))
}

/// The words of a block, four to a register, first lowest.
#[inline]
#[target_feature(enable = "neon,sha2")]
fn load(block: &Block) -> [uint32x4_t; 4] {
    let (eights, _) = block.as_chunks();
    let half = |i: usize| vcreate_u8(u64::from_le_bytes(eights[i]));
    // Each word comes big-endian: turn its four bytes round.
    [0, 2, 4, 6].map(|i| vreinterpretq_u32_u8(vrev32q_u8(vcombine_u8(half(i), half(i + 1)))))
}

/// Four words of the message schedule, from the sixteen before them.
#[inline]
#[target_feature(enable = "neon,sha2")]
fn next_words(w0: uint32x4_t, w1: uint32x4_t, w2: uint32x4_t, w3: uint32x4_t) -> uint32x4_t {
    vsha256su1q_u32(vsha256su0q_u32(w0, w1), w2, w3)
}

/// Four rounds. One instruction gives each half, both from the two halves before.
#[inline]
#[target_feature(enable = "neon,sha2")]
fn four_rounds(
    [abcd, efgh]: [uint32x4_t; 2],
    words: uint32x4_t,
    constants: [u32; 4],
) -> [uint32x4_t; 2] {
    let sums = vaddq_u32(words, four(constants));
    [vsha256hq_u32(abcd, efgh, sums), vsha256h2q_u32(efgh, abcd, sums)]
}

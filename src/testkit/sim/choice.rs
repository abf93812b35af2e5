//! Where decisions come from: a seed, every combination in turn, or a record of earlier ones.

use alloc::sync::Arc;
use alloc::vec::Vec;
use std::sync::{Mutex, PoisonError};

/// A source of decisions.
pub trait Choices: Send + 'static {
    /// A number below `n`; 0 when `n` is 0.
    fn below(&mut self, n: u64) -> u64;
}

/// A source that somebody else looks into, or uses again.
impl<C: Choices> Choices for Arc<Mutex<C>> {
    fn below(&mut self, n: u64) -> u64 {
        self.lock().unwrap_or_else(PoisonError::into_inner).below(n)
    }
}

/// Decisions from a seed (SplitMix64, after Steele, Lea and Flood, 2014).
#[derive(Clone, Debug)]
pub struct Seeded(u64);

impl Seeded {
    /// Starts from this seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A stream of its own for this label, so that decisions which are added elsewhere do not
    /// shift the ones that are taken from it.
    #[must_use]
    pub fn fork(&self, label: &str) -> Self {
        let mix = |state: u64, byte: u8| (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
        Self(label.bytes().fold(self.0 ^ 0xCBF2_9CE4_8422_2325, mix))
    }
}

impl Choices for Seeded {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^= z >> 31;
        // The high half of a product: no modulo bias worth the name.
        let wide = u128::from(z) * u128::from(n);
        (wide >> 64) as u64
    }
}

/// Every combination of decisions, one run after the other, like an odometer.
///
/// ```
/// use fetcher_engine::testkit::sim::{Choices, Exhaustive};
///
/// let mut all = Exhaustive::default();
/// let mut seen = Vec::new();
/// loop {
///     seen.push((all.below(2), all.below(3)));
///     if !all.next_run() { break }
/// }
/// assert_eq!(seen, [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Exhaustive {
    /// What was decided, and out of how many.
    digits: Vec<(u64, u64)>,
    at: usize,
}

impl Exhaustive {
    /// Turns to the next combination; says no when all were had.
    pub fn next_run(&mut self) -> bool {
        self.digits.truncate(self.at);
        self.at = 0;
        while let Some((digit, of)) = self.digits.pop() {
            if digit + 1 < of {
                self.digits.push((digit + 1, of));
                return true;
            }
        }
        false
    }
}

impl Choices for Exhaustive {
    fn below(&mut self, n: u64) -> u64 {
        if n <= 1 {
            return 0;
        }
        if self.at == self.digits.len() {
            self.digits.push((0, n));
        }
        let digit = self.digits.get(self.at).map_or(0, |(digit, _)| *digit);
        self.at += 1;
        digit
    }
}

/// Decisions that were taken before; 0 once they are used up.
#[derive(Clone, Debug, Default)]
pub struct Replay {
    recorded: alloc::collections::VecDeque<u64>,
}

impl Replay {
    /// Takes these.
    #[must_use]
    pub fn new(recorded: impl IntoIterator<Item = u64>) -> Self {
        Self { recorded: recorded.into_iter().collect() }
    }
}

impl Choices for Replay {
    fn below(&mut self, n: u64) -> u64 {
        self.recorded.pop_front().unwrap_or(0).min(n.saturating_sub(1))
    }
}

//! Made-up input (SplitMix64; Steele, Lea and Flood, 2014) in cases that say where they came from.

use std::env;
use std::sync::OnceLock;
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

/// A source of random numbers.
pub(crate) struct Random(u64);

impl Random {
    /// The next 64 bits.
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0)
    }

    /// A number below `end`, which is not zero.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.bits()) * end as u128) >> 64) as usize
    }

    /// Whether something that happens once in so many times happens now.
    pub(crate) fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// One of these.
    pub(crate) fn of<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())].clone()
    }

    /// A number whose length in bits is random: small ones are as likely as large ones.
    pub(crate) fn magnitude(&mut self) -> u64 {
        self.bits() >> self.below(64)
    }

    /// Puts things into a random order.
    pub(crate) fn shuffle<T>(&mut self, things: &mut [T]) {
        for at in (1..things.len()).rev() {
            things.swap(at, self.below(at + 1));
        }
    }

    /// So many random bytes.
    pub(crate) fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.bits() as u8).collect()
    }
}

const fn mix(state: u64) -> u64 {
    let state = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let state = (state ^ (state >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    state ^ (state >> 31)
}

/// Runs so many cases, each with random numbers of its own.
pub(crate) fn cases(count: u64, mut run: impl FnMut(&mut Random)) {
    for case in 0..count {
        let trace = Trace { case };
        run(&mut Random(mix(seed()).wrapping_add(mix(case))));
        drop(trace);
    }
}

/// Says which case was the one that failed.
struct Trace {
    case: u64,
}

impl Drop for Trace {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("case {} of ORACLE_SEED={}", self.case, seed());
        }
    }
}

/// The seed of this run.
fn seed() -> u64 {
    static SEED: OnceLock<u64> = OnceLock::new();
    *SEED.get_or_init(|| match env::var("ORACLE_SEED") {
        Ok(seed) => seed.parse().expect("ORACLE_SEED is a number"),
        Err(_) => {
            let now = SystemTime::now().duration_since(UNIX_EPOCH);
            now.expect("the clock is past 1970").as_nanos() as u64
        }
    })
}

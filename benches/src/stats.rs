//! The few numbers that a benchmark says, and how.

use std::time::Instant;

/// Says one result.
pub(crate) fn say(name: &str, value: f64, decimals: usize) {
    println!("{name}={value:.decimals$}");
}

/// The middle of the measurements; of an even number the lower one of the two.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len().saturating_sub(1) / 2;
    values.get(middle).copied().unwrap_or(f64::NAN)
}

/// Runs something and says how many seconds it took.
pub(crate) fn timed<T>(run: impl FnOnce() -> T) -> (T, f64) {
    let start = Instant::now();
    let answer = run();
    (answer, start.elapsed().as_secs_f64())
}

/// Millions of bytes per second.
pub(crate) fn mb_per_s(bytes: u64, seconds: f64) -> f64 {
    bytes as f64 / 1e6 / seconds
}

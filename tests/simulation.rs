//! Extractions under simulation: thousands of seeds, planted bugs, every schedule of a small plan.
//!
//! `SIM_RUNS` says how many seeds, `SIM_SEED` replays one.

#![cfg(feature = "testkit")]

#[path = "simulation/check.rs"]
mod check;
#[path = "simulation/lifecycle.rs"]
mod lifecycle;
#[path = "simulation/single.rs"]
mod single;
#[path = "simulation/world.rs"]
mod world;

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Mutex;
use std::thread;

use check::{Report, run_seed};

/// How many threads share the seeds.
const THREADS: u64 = 2;

/// Says something whether or not the test harness captures what tests print.
pub(crate) fn say(line: &str) {
    // A closed stdout is no failure of the simulation.
    let _ = writeln!(std::io::stdout(), "{line}");
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect("a number"))
}

#[test]
fn no_seed_violates_an_invariant() {
    let seeds = match number("SIM_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("SIM_RUNS").unwrap_or(20_000),
    };
    let found = Mutex::new((0_u64, Vec::new(), BTreeMap::<&str, u64>::new()));
    thread::scope(|scope| {
        for offset in 0..THREADS {
            let (seeds, found) = (seeds.clone(), &found);
            scope.spawn(move || {
                for seed in seeds.skip(offset as usize).step_by(THREADS as usize) {
                    let Report { mut violations, calls, trace, outcome } = run_seed(seed);
                    if run_seed(seed).trace != trace {
                        violations.push("the same seed gave another trace".into());
                    }
                    let mut found = found.lock().expect("no thread panics under this lock");
                    found.0 += calls;
                    *found.2.entry(outcome).or_default() += 1;
                    if !violations.is_empty() {
                        found.1.push((seed, violations));
                    }
                }
            });
        }
    });
    let (calls, mut violations, outcomes) = found.into_inner().expect("the threads are done");
    violations.sort();
    say(&format!("outcomes: {outcomes:?}"));
    let count = seeds.end - seeds.start;
    say(&format!("seeds={count} port_calls={calls} violations={}", violations.len()));
    for (seed, what) in violations.iter().take(10) {
        println!("SIM_SEED={seed} cargo test --features testkit --test simulation: {what:?}");
    }
    assert!(violations.is_empty());
}

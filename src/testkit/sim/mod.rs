//! A deterministic simulator: one seed decides everything.
//!
//! An engine owns no thread and no clock, so a whole extraction fits into one loop: [`drive`] polls
//! the future under a virtual clock ([`SimRuntime`]); ports are wrapped in decorators
//! ([`ports`](self::Sim)) that decide at every call whether it goes well, late, wrong or never;
//! a [`Choices`] source decides, be it seeded, exhaustive or a replay. Everything that happens is
//! an [`Event`], and the hash of all events is the [`trace`](Sim::trace): the same seed, the same
//! trace.
//!
//! ```
//! use fetcher_engine::testkit::sim::{Drive, Ended, Seeded, Sim, SimRuntime, drive};
//! use fetcher_engine::Runtime;
//! use std::time::Duration;
//!
//! let sim = Sim::new(Seeded::new(42));
//! let runtime = SimRuntime::new(&sim);
//! let nap = runtime.sleep(Duration::from_secs(3600));
//! let ended = drive(&sim, nap, &Drive::default());
//! assert!(matches!(ended, Ended::Ready(())));
//! assert_eq!(sim.now(), Duration::from_secs(3600), "an hour passed in no time");
//! ```

mod choice;
mod clock;
mod connector;
mod driver;
mod faults;
mod ports;
mod sink;

pub use crate::planted::{Bug, with_bug};
pub use choice::{Choices, Exhaustive, Replay, Seeded};
pub use clock::SimRuntime;
pub use connector::SimRegistry;
pub use driver::{Drive, Ended, RootWakers, drive};
pub use faults::{Event, EventKind, Failing, Faults, SECRET, Sim, Site};
pub use ports::{
    SimCache, SimChecker, SimConnectionStore, SimExecutionStore, SimObservability, SimProtector,
};
pub use sink::SimSink;

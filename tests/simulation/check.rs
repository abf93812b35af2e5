//! The invariants, checked on everything that has happened in a world.

use std::collections::BTreeMap;
use std::time::Duration;

use fetcher_engine::digest::sha256;
use fetcher_engine::ports::ExecutionState;
use fetcher_engine::testkit::sim::{Ended, Event, EventKind, Failing, Faults, Seeded, Site};
use fetcher_engine::{Category, EngineError, ExtractionResult, Output};

use crate::world::{Scenario, TEARDOWN, World, quiet_panics};

/// What a seed came to.
pub(crate) struct Report {
    pub(crate) violations: Vec<String>,
    pub(crate) calls: u64,
    pub(crate) trace: u64,
    pub(crate) outcome: &'static str,
}

/// Runs a seed: with faults, then without.
pub(crate) fn run_seed(seed: u64) -> Report {
    quiet_panics();
    let scenario = Scenario::random(seed);
    let world = World::new(&scenario, Seeded::new(seed).fork("world"));
    let plan = world.plan();
    if scenario.plan_with_faults {
        world.sim.set_faults(scenario.faults.clone());
        world.try_to_plan();
    }
    world.sim.set_faults(scenario.faults.clone());
    let (mark, start) = (world.sim.events().len(), world.sim.now());
    let ended = world.execute(&plan);
    let events = world.sim.events().split_off(mark);
    let outcome = match &ended {
        Ended::Ready(Ok(_)) => "ok",
        Ended::Ready(Err(error)) => error.category().as_str(),
        Ended::Dropped => "dropped",
        _ => "stuck",
    };
    Check { world: &world, events: &events, start }.all(&ended);
    let mut violations = world.sim.violations();
    if violations.is_empty() {
        violations.extend(without_faults(&scenario, seed));
    }
    Report { violations, calls: world.calls(), trace: world.sim.trace(), outcome }
}

/// The same extraction without faults must succeed, with the oracle's bytes.
fn without_faults(scenario: &Scenario, seed: u64) -> Vec<String> {
    let scenario = Scenario {
        faults: Faults::default(),
        cancel_at: None,
        drop_at: None,
        deadline: None,
        max_rows: u64::MAX,
        max_bytes: 1 << 30,
        ..scenario.clone()
    };
    let world = World::new(&scenario, Seeded::new(seed).fork("calm"));
    let ended = world.execute(&world.plan());
    let events = world.sim.events();
    Check { world: &world, events: &events, start: Duration::ZERO }.all(&ended);
    if !matches!(ended, Ended::Ready(Ok(_))) {
        world.sim.violate(format!("without faults: {ended:?}"));
    }
    world.sim.violations()
}

struct Check<'a> {
    world: &'a World,
    events: &'a [Event],
    start: Duration,
}

type End = Ended<Result<ExtractionResult, EngineError>>;

impl Check<'_> {
    fn all(&self, ended: &End) {
        self.check_end(ended);
        self.check_handles(ended);
        self.check_buffers();
        self.check_records(ended);
        if self.world.sim.connectors_max() > self.world.scenario.concurrency as usize {
            self.violate("more connectors were open than allowed");
        }
        if self.world.cancel.waiting() > 0 {
            self.violate("the token still has a waiter");
        }
        for violation in self.world.history() {
            self.world.check_secret(&format!("{violation:?}"));
        }
    }

    fn violate(&self, what: &str) {
        self.world.sim.violate(what);
    }

    fn check_end(&self, ended: &End) {
        match ended {
            Ended::Ready(Ok(result)) => {
                self.check_result(result);
                self.check_no_failure();
            }
            Ended::Ready(Err(error)) => {
                self.world.check_secret(&format!("{error} {error:?}"));
                self.check_cancel();
                match self.expected_error() {
                    Some((_, category)) if category == error.category() => {}
                    expected => self.violate(&format!("{error:?}, and the rule says {expected:?}")),
                }
                if !self.world.results.is_empty() && self.count(Site::SinkClose, |_| true) == 0 {
                    self.violate("a failed run left a result");
                }
            }
            Ended::Stuck(reason) => {
                self.violate(reason);
                if std::env::var("SIM_SEED").is_ok() {
                    println!("{:#?}", self.world.scenario);
                    self.events.iter().for_each(|event| println!("{event:?}"));
                }
            }
            _ => {}
        }
        if let (Some(deadline), Ended::Ready(_)) = (self.world.scenario.deadline, ended)
            && self.world.sim.now() - self.start > deadline + TEARDOWN
        {
            self.violate("it took longer than deadline and teardown");
        }
    }

    fn check_result(&self, result: &ExtractionResult) {
        self.world.check_secret(&format!("{result:?}"));
        let scenario = &self.world.scenario;
        let failed: Vec<String> =
            result.failures.iter().map(|failure| failure.datasource.to_string()).collect();
        let expected = match scenario.store {
            true => scenario.lines().concat(),
            false => scenario.document(&failed),
        };
        let bytes = match &result.output {
            Output::Document(document) => document.clone().into_vec(),
            Output::Stored(_) => self.world.sink.taken(),
            _ => Vec::new(),
        };
        if bytes != expected.as_bytes() {
            self.violate("the result is not what a sequential run gives");
        }
        if result.digest != sha256(&bytes) || result.bytes != bytes.len() as u64 {
            self.violate("the digest or the size is not that of the bytes");
        }
        let mut counts = Vec::new();
        for (at, tables) in scenario.datasources.iter().enumerate() {
            if !failed.contains(&format!("d{at}")) {
                counts.extend(tables.iter().copied());
            }
        }
        let told: Vec<u64> = result.tables.iter().map(|table| table.rows).collect();
        if told != counts || result.rows != counts.iter().sum::<u64>() {
            self.violate("the counts are not those of the rows");
        }
        if result.rows > scenario.max_rows || result.bytes > scenario.max_bytes {
            self.violate("a limit was exceeded");
        }
        let mut failing: Vec<_> = self.own_failures().map(|event| &event.subject).collect();
        failing.sort();
        failing.dedup();
        if failing.into_iter().ne(&failed) {
            self.violate("the failures listed are not those that were seen");
        }
    }

    /// Failures that fail a step.
    fn own_failures(&self) -> impl Iterator<Item = &Event> {
        self.events.iter().filter(|event| {
            let step = [Site::Build, Site::Connect, Site::Open, Site::Fetch].contains(&event.site);
            step && matches!(event.kind, EventKind::Failed(_))
        })
    }

    fn count(&self, site: Site, kind: impl Fn(&EventKind) -> bool) -> usize {
        self.events.iter().filter(|event| event.site == site && kind(&event.kind)).count()
    }

    /// A success with a failure behind it, or with a cancel that came in time, is none.
    fn check_no_failure(&self) {
        if let Some((place, category)) = self.expected_error() {
            let done = |site| {
                let mut done = self.events.iter().filter(move |event| event.site == site);
                done.rfind(|event| matches!(event.kind, EventKind::Done { .. }))
            };
            // From the sink's answer on (in direct mode: some time after the last row) a cancel and
            // a deadline come too late.
            let last = if self.world.scenario.store { Site::SinkClose } else { Site::Fetch };
            let settled = done(last).map_or(0, |event| event.poll);
            let late = place.1 < 2 && place.0 > settled;
            if !late {
                self.violate(&format!("it succeeded, and the rule says {category:?}"));
            }
        }
    }

    fn check_handles(&self, ended: &End) {
        if self.world.sim.live() > 0 {
            self.violate("a connector or a writer is left");
        }
        if !matches!(ended, Ended::Ready(_)) {
            return;
        }
        let called = |site| self.count(site, |kind| *kind == EventKind::Called);
        let opened = |site| self.count(site, |kind| *kind == EventKind::Opened);
        if opened(Site::Build) != called(Site::Close) {
            self.violate("not every connector was closed");
        }
        let (closed, aborted) = (called(Site::SinkClose), called(Site::Abort));
        let fine = match ended {
            Ended::Ready(Ok(_)) => closed == opened(Site::SinkOpen) && aborted == 0,
            _ => closed + aborted == opened(Site::SinkOpen),
        };
        if !fine {
            self.violate("the writer was not closed or aborted exactly once");
        }
    }

    /// A step holds at most its read-ahead and the batch that overran it.
    fn check_buffers(&self) {
        if !self.world.scenario.store {
            return;
        }
        let sizes: Vec<u64> =
            self.world.scenario.lines().iter().map(|lines| lines.len() as u64).collect();
        let (mut produced, mut written) = (BTreeMap::<&str, u64>::new(), 0_u64);
        let mut largest = 0;
        for event in self.events {
            match (&event.site, &event.kind) {
                (Site::Fetch, EventKind::Done { bytes, .. }) => {
                    largest = largest.max(*bytes);
                    *produced.entry(&event.subject).or_default() += bytes;
                }
                (Site::Write, EventKind::Done { bytes, .. }) => written += bytes,
                _ => continue,
            }
            let mut before = 0;
            for (at, size) in sizes.iter().enumerate() {
                let taken = written.saturating_sub(before).min(*size);
                before += size;
                let made = produced.get(format!("d{at}").as_str()).copied().unwrap_or(0);
                let bound = self.world.scenario.read_ahead + largest;
                if made.saturating_sub(taken) > bound {
                    return self.violate("a step holds more than its bound");
                }
            }
        }
    }

    fn check_records(&self, ended: &End) {
        let history = self.world.history();
        let last = history.iter().filter(|record| record.state != ExecutionState::Running).count();
        let order = history.iter().skip(1).all(|record| record.state != ExecutionState::Running);
        if last > 1 || !order {
            self.violate("the states do not follow each other as they should");
        }
        let state = history.last().map(|record| record.state);
        let Ended::Ready(result) = ended else { return };
        let expected = match result {
            Ok(_) => ExecutionState::Completed,
            Err(error) if error.category() == Category::Canceled && self.was_canceled() => {
                ExecutionState::Canceled
            }
            Err(_) => ExecutionState::Failed,
        };
        let terminal = state.filter(|state| *state != ExecutionState::Running);
        if terminal.is_some_and(|state| state != expected) {
            self.violate("the last state is not that of the outcome");
        }
        if !self.world.scenario.save_faults && terminal.is_none() {
            self.violate("the last state was not stored");
        }
    }

    /// A cancel is seen at once, not when something else happens to wake the run.
    fn check_cancel(&self) {
        let Some(((poll, 0, _), _)) = self.expected_error() else { return };
        let seen = self.world.sim.poll_times().get(poll as usize).copied();
        if seen.is_some() && seen != *self.world.canceled.lock().expect("one thread") {
            self.violate("a cancel woke nobody");
        }
    }

    fn was_canceled(&self) -> bool {
        matches!(self.expected_error(), Some(((_, 0, _), _)))
    }

    /// The rule of which error is reported: where (poll, order, rank), and its category.
    fn expected_error(&self) -> Option<((u64, u64, u64), Category)> {
        let scenario = &self.world.scenario;
        let mut first: Option<((u64, u64, u64), Category)> = None;
        let mut consider = |place, category| {
            if first.is_none_or(|(earlier, _)| place < earlier) {
                first = Some((place, category));
            }
        };
        if let Some(at) = scenario.cancel_at.filter(|_| self.world.cancel.is_canceled()) {
            consider((at, 0, 0), Category::Canceled);
        }
        if let Some(deadline) = scenario.deadline {
            let times = self.world.sim.poll_times();
            let passed = times.iter().position(|time| *time >= self.start + deadline);
            if let Some(poll) = passed {
                consider((poll as u64, 1, 0), Category::Timeout);
            }
        }
        if let Some((place, category)) = self.first_failure() {
            consider(place, category);
        }
        first
    }

    /// The first failure of a port or of a limit: by poll, then by rank in the plan.
    fn first_failure(&self) -> Option<((u64, u64, u64), Category)> {
        let scenario = &self.world.scenario;
        let mut by_place: Vec<(u64, u64, u64, &Event)> = Vec::new();
        for event in self.events {
            let rank = event.subject.strip_prefix('d').and_then(|at| at.parse::<u64>().ok());
            // Connectors are built after the answers of a round were looked at.
            let order = if event.site == Site::Build { 3 } else { 2 };
            let rank = match event.site {
                Site::Store => 0,
                Site::SinkOpen | Site::Write | Site::SinkClose => u64::MAX,
                _ => rank.unwrap_or(0) + 1,
            };
            by_place.push((event.poll, order, rank, event));
        }
        by_place.sort_by_key(|(poll, order, rank, _)| (*poll, *order, *rank));
        let (mut rows, mut bytes) = (BTreeMap::new(), BTreeMap::new());
        for (poll, order, rank, event) in by_place {
            let place = (poll, order, rank);
            match (&event.site, &event.kind) {
                (Site::Close | Site::Abort | Site::Save | Site::Observe, _) => {}
                (Site::Cache | Site::Discover, _) => {}
                (Site::Fetch, EventKind::Done { rows: more, bytes: size, .. }) => {
                    *rows.entry(&event.subject).or_insert(0) += more;
                    *bytes.entry(&event.subject).or_insert(0) += size;
                    let over = rows.values().sum::<u64>() > scenario.max_rows
                        || bytes.values().sum::<u64>() > scenario.max_bytes;
                    if over {
                        return Some((place, Category::LimitExceeded));
                    }
                }
                (site, EventKind::Failed(failing)) => {
                    let category = category_of(*site, *failing);
                    let own = *site != Site::Store && category.1;
                    if !(scenario.collect && own) {
                        return Some((place, category.0));
                    }
                    rows.remove(&event.subject);
                    bytes.remove(&event.subject);
                }
                _ => {}
            }
        }
        let failed: Vec<String> = self.own_failures().map(|event| event.subject.clone()).collect();
        let document = scenario.document(&failed).len() as u64;
        let over = !scenario.store && document > scenario.max_bytes;
        // The document is put together in the poll in which the last step ends, if all do.
        let ends = self
            .events
            .iter()
            .filter(|event| matches!(event.kind, EventKind::Done { end: true, .. }));
        let ends: Vec<_> = ends.chain(self.own_failures()).collect();
        let last = ends.iter().map(|event| event.poll).max().unwrap_or(0);
        let all = ends.len() == scenario.datasources.len();
        (over && all).then_some(((last, 4, 0), Category::LimitExceeded))
    }
}

/// The category of a failure, and whether it is a step's own.
fn category_of(site: Site, failing: Failing) -> (Category, bool) {
    match (site, failing) {
        (Site::Connect, Failing::Port(_)) => (Category::Connect, true),
        (_, Failing::Port(category)) => (category, true),
        (_, Failing::Limit) => (Category::LimitExceeded, false),
        _ => (Category::Internal, true),
    }
}

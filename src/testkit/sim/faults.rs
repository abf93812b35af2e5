//! What a simulation decides and what it has seen: the heart that all decorators share.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::Choices;
use crate::encode::RowFault;
use crate::error::{Category, PortError};
use crate::tenant::TenantId;

/// A text that is planted in every cause and in every panic of a simulation. It must never be seen
/// in what an engine gives out.
pub const SECRET: &str = "s3cr3t-canary";

/// Which call of which port a decision is about.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[non_exhaustive]
pub enum Site {
    /// `ConnectorFactory::build`.
    Build,
    /// `Connector::connect`.
    Connect,
    /// `Connector::discover_schema`.
    Discover,
    /// `Connector::open`.
    Open,
    /// `Connector::fetch`.
    Fetch,
    /// `Connector::close`.
    Close,
    /// Any call of the connection store.
    Store,
    /// Any call of the schema cache.
    Cache,
    /// `ActiveExecutionChecker::has_active`.
    Check,
    /// `ExecutionStore::save`.
    Save,
    /// `ResultSink::open_stream`.
    SinkOpen,
    /// `ResultWriter::write`.
    Write,
    /// `ResultWriter::close`.
    SinkClose,
    /// `ResultWriter::abort`.
    Abort,
    /// Any call of the credential protector.
    Protect,
    /// Any call of the observability port or of a span: may panic, and does nothing else wrong.
    Observe,
}

/// Which faults are on, and how often each call has one. All are off by default.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Faults {
    /// Of a thousand calls, how many have a fault of some kind.
    pub per_mille: u64,
    /// The call wakes its waker inside poll and answers later.
    pub yields: bool,
    /// The answer takes time.
    pub late: bool,
    /// The call fails and has no effect.
    pub fail_before: bool,
    /// The call has its effect, and fails.
    pub fail_after: bool,
    /// The call never answers.
    pub never: bool,
    /// The call panics, when it is made or when it is polled.
    pub panics: bool,
    /// Batches come empty, short or larger than asked for.
    pub odd_batches: bool,
    /// The columns are others than at planning.
    pub drift: bool,
    /// Only these sites have faults; empty: all.
    pub sites: Vec<Site>,
}

impl Faults {
    /// Every kind of fault, for so many calls of a thousand.
    #[must_use]
    pub fn all(per_mille: u64) -> Self {
        Self {
            per_mille,
            yields: true,
            late: true,
            fail_before: true,
            fail_after: true,
            never: true,
            panics: true,
            odd_batches: true,
            drift: true,
            sites: Vec::new(),
        }
    }
}

/// How a call's answer comes about.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Script {
    pub(super) yields: u64,
    pub(super) delay: Duration,
    pub(super) ending: Ending,
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) enum Ending {
    #[default]
    Well,
    FailBefore(Category),
    FailAfter(Category),
    Never,
    PanicBefore,
    PanicAfter,
    Drift,
    EmptyBatch,
    LargeBatch,
}

/// A failure that a call answered with.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Failing {
    /// A port error of this category.
    Port(Category),
    /// A panic.
    Panic,
    /// A row batch that breaks the contract.
    Batch,
    /// A row batch that would take no more: the result's limit is reached.
    Limit,
}

/// Something that happened.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Event {
    /// In which poll of the root future, counted from 0.
    pub poll: u64,
    /// At what virtual time.
    pub at: Duration,
    /// In which call.
    pub site: Site,
    /// On whose behalf: a datasource's name, or nothing.
    pub subject: String,
    /// What.
    pub kind: EventKind,
}

/// What happened in a call.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum EventKind {
    /// It was made.
    Called,
    /// It answered well; a fetch with so many rows and bytes.
    Done {
        /// Rows of the batch.
        rows: u64,
        /// Bytes of the batch.
        bytes: u64,
        /// Whether it was the end of the cursor.
        end: bool,
    },
    /// It answered with a failure.
    Failed(Failing),
    /// A handle (connector, writer) came into being.
    Opened,
    /// A handle is gone: closed, aborted or dropped.
    Released,
}

#[derive(Default)]
pub(super) struct State {
    choices: Option<Box<dyn Choices>>,
    faults: Faults,
    now: Duration,
    timers: BTreeMap<(Duration, u64), Waker>,
    next_ticket: u64,
    poll: u64,
    events: Vec<Event>,
    tenant: Option<TenantId>,
    violations: Vec<String>,
    /// Handles that are open now: connectors by datasource, writers by nothing.
    live: BTreeMap<(bool, u64), String>,
    next_handle: u64,
    batch_rows: Option<u64>,
    latency: BTreeMap<Site, Duration>,
    poll_times: Vec<Duration>,
    yield_sites: Vec<Site>,
    always_endings: bool,
    connectors_max: usize,
}

/// A simulation. Clones share it.
#[derive(Clone)]
pub struct Sim(Arc<Mutex<State>>);

impl Sim {
    /// A simulation with these decisions, at time zero, without faults.
    #[must_use]
    pub fn new(choices: impl Choices) -> Self {
        let choices: Option<Box<dyn Choices>> = Some(Box::new(choices));
        Self(Arc::new(Mutex::new(State { choices, ..State::default() })))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A decision: a number below `n`.
    pub fn below(&self, n: u64) -> u64 {
        self.lock().choices.as_mut().map_or(0, |choices| choices.below(n))
    }

    /// A decision between two.
    pub fn flip(&self) -> bool {
        self.below(2) == 1
    }

    /// Sets which faults may happen from now on.
    pub fn set_faults(&self, faults: Faults) {
        self.lock().faults = faults;
    }

    /// Sets whose calls are expected; a call for anybody else is a violation.
    pub fn expect_tenant(&self, tenant: TenantId) {
        self.lock().tenant = Some(tenant);
    }

    /// Sets how many rows a batch has at most. Without this, as many as fit.
    pub fn set_batch_rows(&self, rows: u64) {
        self.lock().batch_rows = Some(rows);
    }

    pub(super) fn batch_rows(&self) -> u64 {
        self.lock().batch_rows.unwrap_or(u64::MAX)
    }

    /// Makes every call at this site take so long, beside what faults do.
    pub fn set_latency(&self, site: Site, latency: Duration) {
        self.lock().latency.insert(site, latency);
    }

    /// Lets every call at these sites choose whether it answers at once or when polled once more.
    pub fn set_yields(&self, sites: Vec<Site>) {
        self.lock().yield_sites = sites;
    }

    /// Makes every fault one of how a call ends; without this, half of them are only of time.
    pub fn always_endings(&self) {
        self.lock().always_endings = true;
    }

    /// The virtual time of each poll of the latest drive.
    #[must_use]
    pub fn poll_times(&self) -> Vec<Duration> {
        self.lock().poll_times.clone()
    }

    /// The virtual time.
    #[must_use]
    pub fn now(&self) -> Duration {
        self.lock().now
    }

    /// How many timers run.
    #[must_use]
    pub fn armed(&self) -> usize {
        self.lock().timers.len()
    }

    /// What has happened.
    #[must_use]
    pub fn events(&self) -> Vec<Event> {
        self.lock().events.clone()
    }

    /// What should not have happened.
    #[must_use]
    pub fn violations(&self) -> Vec<String> {
        self.lock().violations.clone()
    }

    /// Notes what should not have happened.
    pub fn violate(&self, what: impl Into<String>) {
        self.lock().violations.push(what.into());
    }

    /// The most connectors that were open at the same time.
    #[must_use]
    pub fn connectors_max(&self) -> usize {
        self.lock().connectors_max
    }

    /// Handles that are open: connectors and writers that were neither closed nor dropped.
    #[must_use]
    pub fn live(&self) -> usize {
        self.lock().live.len()
    }

    /// A hash over everything that has happened.
    #[must_use]
    pub fn trace(&self) -> u64 {
        let text = format!("{:?}", self.lock().events);
        let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
        text.bytes().fold(0xCBF2_9CE4_8422_2325, mix)
    }

    pub(super) fn begin_poll(&self, poll: u64) {
        let mut state = self.lock();
        let now = state.now;
        state.poll = poll;
        if poll == 0 {
            state.poll_times.clear();
        }
        state.poll_times.push(now);
    }

    pub(super) fn arm(&self, when: Duration, ticket: &mut Option<u64>, waker: &Waker) {
        let mut state = self.lock();
        let id = *ticket.get_or_insert_with(|| {
            state.next_ticket += 1;
            state.next_ticket
        });
        state.timers.insert((when, id), waker.clone());
    }

    pub(super) fn disarm(&self, when: Duration, ticket: u64) {
        let waker = self.lock().timers.remove(&(when, ticket));
        drop(waker);
    }

    /// Lets time pass to the next timer and wakes who waits for it; says no if there is none.
    pub(super) fn pass_time(&self) -> bool {
        let waker = {
            let mut state = self.lock();
            let Some(((when, _), waker)) = state.timers.pop_first() else { return false };
            state.now = state.now.max(when);
            waker
        };
        waker.wake();
        true
    }

    pub(super) fn note(&self, site: Site, subject: &str, kind: EventKind) {
        let mut state = self.lock();
        let (poll, at) = (state.poll, state.now);
        state.events.push(Event { poll, at, site, subject: subject.into(), kind });
    }

    /// A call for this tenant: anybody else's is a violation.
    pub(super) fn call_for(&self, site: Site, tenant: &TenantId) {
        let expected = self.lock().tenant.clone();
        if expected.is_some_and(|expected| expected != *tenant) {
            self.violate(format!("{site:?} was called for another tenant"));
        }
    }

    /// A handle comes into being; it is gone when the guard is dropped.
    pub(super) fn open_handle(&self, site: Site, subject: &str) -> Handle {
        let connector = site == Site::Build;
        let id = {
            let mut state = self.lock();
            state.next_handle += 1;
            let id = state.next_handle;
            state.live.insert((connector, id), subject.into());
            let open = state.live.keys().filter(|(connector, _)| *connector).count();
            state.connectors_max = state.connectors_max.max(open);
            id
        };
        self.note(site, subject, EventKind::Opened);
        Handle { sim: self.clone(), key: (connector, id), site, subject: subject.into() }
    }

    /// What becomes of a call.
    pub(super) fn script(&self, site: Site) -> Script {
        let script = self.faulty_script(site);
        let mut state = self.lock();
        let latency = state.latency.get(&site).copied().unwrap_or_default();
        let may_yield = state.yield_sites.contains(&site);
        let choices = state.choices.as_mut().filter(|_| may_yield);
        let yields = choices.map_or(0, |choices| choices.below(2));
        Script { delay: script.delay + latency, yields: script.yields + yields, ..script }
    }

    fn faulty_script(&self, site: Site) -> Script {
        let mut state = self.lock();
        let (faults, always) = (state.faults.clone(), state.always_endings);
        let Some(choices) = state.choices.as_mut() else { return Script::default() };
        let concerned = faults.sites.is_empty() || faults.sites.contains(&site);
        if faults.per_mille == 0 || !concerned || choices.below(1000) >= faults.per_mille {
            return Script::default();
        }
        faults.script(site, &mut **choices, always)
    }

    /// Makes a call under a script: `inner` is its effect.
    pub(super) async fn play<T>(
        &self,
        site: Site,
        subject: &str,
        script: Script,
        inner: impl Future<Output = Result<T, PortError>>,
    ) -> Result<T, PortError> {
        self.wait(script).await;
        match script.ending {
            Ending::Never => core::future::pending::<()>().await,
            Ending::FailBefore(category) => return Err(self.failure(site, subject, category)),
            Ending::PanicBefore => self.panic(site, subject),
            _ => {}
        }
        let answer = inner.await;
        match script.ending {
            Ending::FailAfter(category) => Err(self.failure(site, subject, category)),
            Ending::PanicAfter => self.panic(site, subject),
            _ => answer.inspect_err(|error| {
                let limit = matches!(
                    error.cause().and_then(|cause| cause.downcast_ref()),
                    Some(RowFault::TooManyBytes | RowFault::TooManyRows)
                );
                let failing = if limit { Failing::Limit } else { Failing::Port(error.category()) };
                self.note(site, subject, EventKind::Failed(failing));
            }),
        }
    }

    async fn wait(&self, script: Script) {
        for _ in 0..script.yields {
            Yield(false).await;
        }
        if !script.delay.is_zero() {
            let runtime = super::SimRuntime::new(self);
            crate::rt::Runtime::sleep(&runtime, script.delay).await;
        }
    }

    pub(super) fn failure(&self, site: Site, subject: &str, category: Category) -> PortError {
        self.note(site, subject, EventKind::Failed(Failing::Port(category)));
        PortError::new(category).caused_by(format!("{SECRET} in the cause of {site:?}"))
    }

    pub(super) fn panic(&self, site: Site, subject: &str) -> ! {
        self.note(site, subject, EventKind::Failed(Failing::Panic));
        std::panic::panic_any(format!("{SECRET} in the panic of {site:?}"))
    }

    /// A way to order the ready calls of a round, for
    /// [`ExecuteOptions::schedule`](crate::ExecuteOptions::schedule).
    pub fn shuffle(&self) -> impl FnMut(&mut Vec<usize>) + Send + 'static {
        let sim = self.clone();
        move |ready: &mut Vec<usize>| {
            for last in (1..ready.len()).rev() {
                let other = sim.below(last as u64 + 1) as usize;
                ready.swap(last, other);
            }
        }
    }
}

impl fmt::Debug for Sim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.lock();
        f.debug_struct("Sim")
            .field("now", &state.now)
            .field("events", &state.events.len())
            .field("violations", &state.violations)
            .finish_non_exhaustive()
    }
}

impl Faults {
    fn script(&self, site: Site, choices: &mut dyn Choices, always: bool) -> Script {
        let category = |choices: &mut dyn Choices| {
            let all = Category::ALL;
            all.get(choices.below(all.len() as u64) as usize).copied().unwrap_or(Category::Internal)
        };
        let mut script = Script::default();
        if self.yields && choices.below(2) == 0 {
            script.yields = 1 + choices.below(3);
        }
        if self.late && choices.below(2) == 0 {
            script.delay = Duration::from_millis(1 + choices.below(200));
        }
        let odd = site == Site::Fetch && self.odd_batches;
        let drift = site == Site::Fetch && self.drift;
        let endings = [
            (self.fail_before, 0),
            (self.fail_after, 1),
            (self.never, 2),
            (self.panics, 3),
            (self.panics, 4),
            (odd, 5),
            (odd, 6),
            (drift, 7),
        ];
        let on: Vec<u64> = endings.iter().filter(|(on, _)| *on).map(|(_, kind)| *kind).collect();
        // As often as not a fault is only one of time.
        if on.is_empty() || (!always && choices.below(2) == 0) {
            return script;
        }
        script.ending = match on.get(choices.below(on.len() as u64) as usize) {
            Some(0) => Ending::FailBefore(category(choices)),
            Some(1) => Ending::FailAfter(category(choices)),
            Some(2) => Ending::Never,
            Some(3) => Ending::PanicBefore,
            Some(4) => Ending::PanicAfter,
            Some(5) => Ending::EmptyBatch,
            Some(6) => Ending::LargeBatch,
            _ => Ending::Drift,
        };
        script
    }
}

/// A connector or a writer that is open.
pub(super) struct Handle {
    sim: Sim,
    key: (bool, u64),
    site: Site,
    subject: String,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.sim.lock().live.remove(&self.key);
        self.sim.note(self.site, &self.subject, EventKind::Released);
    }
}

/// Wakes and is pending once.
struct Yield(bool);

impl Future for Yield {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if core::mem::replace(&mut self.0, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

//! One execution, from its first record to its last: the state, and its rounds.
//!
//! ```text
//!            ┌────────── a failure, a cancel, the deadline ──────────┐
//!            │             │            │            │               ▼
//! Recording ─▶ Resolving ─▶ Working ─▶ Sealing ─▶ Settled ─▶ done  Stopping ─▶ done
//! (running)    (store)      (rows)     (digest,   (completed,      (close all, abort,
//!                                       close)     last closes)     failed | canceled)
//! ```
//! Sealing ends with the answer of the sink's `close` (store) or with the digest (direct); from
//! then on the outcome stands, and no deadline or cancel changes it.
//!
//! Keeps true:
//! - One future owns everything. Each child is one port call that has its connector (or writer) and
//!   gives it back with the answer; dropping the future drops all of it and commits nothing.
//! - A poll is one round: every ready call is polled once, then what can be started is started.
//! - Steps are admitted in plan order, at most `max_concurrency` at a time, never more than
//!   [`WINDOW`] × `max_concurrency` ahead of the writer; each has its own read-ahead budget. A step
//!   gives its connection back when its cursor ends, not when it is written. A step holds at most
//!   its read-ahead and the batch that overran it, what is being written included, so the run holds
//!   at most `WINDOW × max_concurrency × (read_ahead_bytes + one batch)`.
//! - Which error is reported: a cancel before a deadline, both before anything else, as they are
//!   looked at first in a poll; otherwise the first round in which something fails decides, and in
//!   it the step with the lowest ordinal, steps before the sink. What fails while the run is
//!   stopping changes nothing.

mod advance;
mod records;
mod take;

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;

pub(crate) use records::is_store;

use super::output::{Assembly, Output, Writer};
use super::step::Step;
use super::{ExecuteOptions, Fault, Outcome, Ports, contained};
use crate::connection::ConnectionDescriptor;
use crate::digest::Sha256;
use crate::encode::{Chunk, Format, RowBatch};
use crate::error::Stage;
use crate::extraction::{ExtractionPlan, ExtractionResult, Receipt, StepFailure};
use crate::ports::{Connector, ExecutionState, Fetched, ResultWriter};
use crate::rt::{Budget, Canceled, Group, Pick, Stop, StopReason};

/// How many steps per place of concurrency may be open or wait to be written.
const WINDOW: usize = 2;
/// How many failures beside the result are told to the host.
const DEGRADED_MAX: usize = 64;
/// How many chunks of a document are hashed in one poll.
const HASHED_PER_POLL: usize = 16;

/// What a call answers.
enum Answer {
    Recorded(Option<Result<(), Fault>>),
    Resolved(Result<Vec<ConnectionDescriptor>, Fault>),
    Connected(usize, Box<dyn Connector>, Result<(), Fault>),
    Opened(usize, Box<dyn Connector>, Result<(), Fault>),
    Fetched(usize, Box<dyn Connector>, Result<(RowBatch, Fetched), Fault>),
    Closed(usize, Option<Result<(), Fault>>),
    SinkReady(Result<Box<dyn ResultWriter>, Fault>),
    Written(usize, Box<dyn ResultWriter>, Chunk, Result<(), Fault>),
    SinkClosed(Result<Receipt, Fault>),
    Aborted(Option<Result<(), Fault>>),
}

impl Answer {
    /// In which order the answers of one round are looked at.
    fn rank(&self) -> usize {
        match self {
            Self::Recorded(_) | Self::Resolved(_) => 0,
            Self::Connected(at, ..)
            | Self::Opened(at, ..)
            | Self::Fetched(at, ..)
            | Self::Closed(at, _) => 1 + at,
            Self::SinkReady(_) | Self::Written(..) | Self::SinkClosed(_) | Self::Aborted(_) => {
                usize::MAX
            }
        }
    }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Phase {
    Begin,
    Recording,
    Resolving,
    Working,
    Sealing,
    Settled,
    Stopping,
}

/// An execution under way.
pub(crate) struct Run {
    ports: Arc<Ports>,
    plan: ExtractionPlan,
    options: ExecuteOptions,
    pick: Box<dyn Pick>,
    stop: Stop,
    calls: Group<Answer>,
    answers: Vec<Answer>,
    phase: Phase,
    /// A record is being written.
    recording: bool,
    /// The last record of a run that did not succeed was begun.
    ended_on_record: bool,
    canceled: Option<Canceled>,
    deadline: Budget,
    deadline_at: Option<Duration>,
    teardown: Budget,
    steps: Vec<Step>,
    admitted: usize,
    /// Steps that were admitted and whose connector is not closed yet.
    open: usize,
    /// The step whose rows are being written.
    head: usize,
    output: Output,
    hash: Sha256,
    rows: u64,
    bytes: u64,
    failures: Vec<StepFailure>,
    degraded: Vec<Fault>,
    outcome: Option<Result<ExtractionResult, Fault>>,
}

impl Run {
    /// A run of this plan; `store` says where its rows go.
    pub(crate) fn new(
        ports: Arc<Ports>,
        plan: ExtractionPlan,
        mut options: ExecuteOptions,
        store: bool,
    ) -> Self {
        let format = if store { Format::Ndjson } else { Format::Json };
        let pick = options.take_pick();
        let canceled = options.cancel.as_ref().map(|token| token.canceled());
        Self {
            steps: plan.steps().iter().map(|step| Step::new(step, format)).collect(),
            output: match store {
                true => Output::Store(Writer::Unopened),
                false => Output::Direct(Assembly::default()),
            },
            ports,
            plan,
            options,
            pick,
            stop: Stop::default(),
            calls: Group::new(),
            answers: Vec::new(),
            phase: Phase::Begin,
            recording: false,
            ended_on_record: false,
            canceled,
            // Both start with the first poll; a run that waits in a queue does not age.
            deadline: Budget::new(None, None),
            deadline_at: None,
            teardown: Budget::new(None, None),
            admitted: 0,
            open: 0,
            head: 0,
            hash: Sha256::new(),
            rows: 0,
            bytes: 0,
            failures: Vec::new(),
            degraded: Vec::new(),
            outcome: None,
        }
    }
}

impl Future for Run {
    type Output = Outcome<ExtractionResult>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let run = &mut *self;
        if run.phase == Phase::Begin {
            run.begin();
        }
        run.watch(cx);
        let mut answers = core::mem::take(&mut run.answers);
        run.calls.poll_round(cx, &mut *run.pick, &mut answers);
        answers.sort_by_key(Answer::rank);
        for answer in answers.drain(..) {
            run.take(answer);
        }
        run.answers = answers;
        let more = run.advance();
        if let Some(outcome) = run.finished() {
            return Poll::Ready(outcome);
        }
        if more || run.calls.is_ready() {
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    }
}

/// Beginning, watching and ending.
impl Run {
    fn begin(&mut self) {
        let limits = self.plan.limits();
        self.deadline = self.ports.budget(limits.max_duration);
        let now = self
            .ports
            .runtime
            .as_ref()
            .and_then(|runtime| contained(Stage::Run, || runtime.now()).ok());
        self.deadline_at = now.zip(limits.max_duration).map(|(now, span)| now.saturating_add(span));
        self.phase = Phase::Recording;
        self.record(ExecutionState::Running, None);
        if !self.recording {
            self.resolve();
        }
    }

    /// Looks at the cancel token, the deadline and the teardown budget, in this order.
    fn watch(&mut self, cx: &mut Context<'_>) {
        match self.phase {
            Phase::Settled => {}
            Phase::Stopping => {
                if self.teardown.is_spent(cx) {
                    // Nobody waits for these any more; dropping them releases what they hold.
                    self.calls.clear();
                    self.recording = false;
                    self.open = 0;
                }
            }
            _ => {
                let canceled = self.canceled.as_mut();
                if canceled.is_some_and(|canceled| Pin::new(canceled).poll(cx).is_ready()) {
                    self.fail_by(StopReason::Canceled);
                } else if self.deadline.is_spent(cx) {
                    self.fail_by(StopReason::Deadline);
                }
                if self.phase == Phase::Stopping {
                    // Polled once, so that it wakes this task.
                    self.teardown.is_spent(cx);
                }
            }
        }
    }

    fn fail_by(&mut self, reason: StopReason) {
        self.stop.set(reason);
        let fault = Fault::stopped(Some(reason));
        self.fail(fault);
    }

    /// Ends the work. The first failure stays.
    fn fail(&mut self, fault: Fault) {
        if matches!(self.phase, Phase::Stopping | Phase::Settled) {
            if planted!(LastErrorWins) && fault.error.stage() != Stage::Run {
                self.outcome = Some(Err(fault));
                return;
            }
            return self.degrade(fault);
        }
        self.phase = Phase::Stopping;
        self.canceled = None;
        self.deadline = Budget::new(None, None);
        self.teardown = self.ports.teardown(self.plan.limits());
        self.stop.set(StopReason::Failure);
        if !planted!(StopWithoutWake) {
            self.calls.wake_all();
        }
        for step in &mut self.steps {
            step.queue.clear();
        }
        if let Output::Direct(assembly) = &mut self.output {
            assembly.document = None;
        }
        self.outcome = Some(Err(fault));
    }

    fn degrade(&mut self, fault: Fault) {
        // The other calls of a stopped run end too; that is no news.
        let news = !matches!(fault.error.stage(), Stage::Run);
        if news && self.degraded.len() < DEGRADED_MAX {
            self.degraded.push(fault);
        }
    }

    /// The outcome, once nothing is left to do.
    fn finished(&mut self) -> Option<Outcome<ExtractionResult>> {
        let over = matches!(self.phase, Phase::Stopping | Phase::Settled);
        if !over || self.calls.running() > 0 {
            return None;
        }
        let result = self.outcome.take()?;
        self.steps.clear();
        self.output.set_writer(Writer::Over);
        Some(Outcome { result, degraded: core::mem::take(&mut self.degraded) })
    }
}

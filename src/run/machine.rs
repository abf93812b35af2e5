//! One execution, from its first record to its last.
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
//!   gives its connection back when its cursor ends, not when it is written. Buffered bytes are at
//!   most `WINDOW × max_concurrency × (read_ahead_bytes + one batch)`.
//! - Which error is reported: a cancel before a deadline, both before anything else, as they are
//!   looked at first in a poll; otherwise the first round in which something fails decides, and in
//!   it the step with the lowest ordinal, steps before the sink. What fails while the run is
//!   stopping changes nothing.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;

use super::output::{Assembly, Output, Writer};
use super::step::{State, Step};
use super::{ExecuteOptions, Fault, Outcome, Ports, Progress, call, contained};
use crate::connection::ConnectionDescriptor;
use crate::digest::{Digest, Sha256};
use crate::encode::{Chunk, Document, Format, RowBatch};
use crate::error::{Category, EngineError, Stage, text};
use crate::extraction::{
    self, ExtractionPlan, ExtractionResult, FailurePolicy, Mode, Receipt, StepFailure,
};
use crate::ports::{
    Connector, ExecutionRecord, ExecutionState, Fetched, Query, ResultHeader, ResultWriter,
};
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
    Fetched(
        usize,
        Box<dyn Connector>,
        Result<(RowBatch, Fetched), Fault>,
    ),
    Closed(usize, Option<Result<(), Fault>>),
    SinkOpened(Result<Box<dyn ResultWriter>, Fault>),
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
            Self::SinkOpened(_) | Self::Written(..) | Self::SinkClosed(_) | Self::Aborted(_) => {
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
            steps: plan
                .steps()
                .iter()
                .map(|step| Step::new(step, format))
                .collect(),
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
        self.deadline_at = now
            .zip(limits.max_duration)
            .map(|(now, span)| now.saturating_add(span));
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
            return self.degrade(fault);
        }
        self.phase = Phase::Stopping;
        self.canceled = None;
        self.deadline = Budget::new(None, None);
        self.teardown = self.ports.teardown(self.plan.limits());
        self.stop.set(StopReason::Failure);
        self.calls.wake_all();
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

    /// Starts to write a record, if there is where to and as whom.
    fn record(&mut self, state: ExecutionState, outcome: Option<&Result<ExtractionResult, Fault>>) {
        let (Some(store), Some(id)) = (&self.ports.executions, self.plan.request_id()) else {
            return;
        };
        let mut record = ExecutionRecord::new(id.clone(), state);
        let clock = self.ports.runtime.as_ref();
        let clock = clock.map(|runtime| contained(Stage::Record, || runtime.wall_clock()));
        record.at = clock.and_then(Result::ok).flatten();
        record.metadata = self.plan.metadata().clone();
        match outcome {
            Some(Ok(result)) => {
                record.rows = result.rows;
                record.bytes = result.bytes;
                record.digest = Some(result.digest);
                if let extraction::Output::Stored(receipt) = &result.output {
                    record.reference = Some(receipt.reference.clone());
                }
            }
            Some(Err(fault)) => {
                record.category = Some(fault.error.category());
                record.stage = Some(fault.error.stage());
            }
            None => {}
        }
        let (store, tenant) = (Arc::clone(store), self.plan.tenant().clone());
        // The last record must not be lost to the reason for which the run ends.
        let stop = (state == ExecutionState::Running).then(|| self.stop.clone());
        let budget = self.ports.teardown(self.plan.limits());
        self.recording = true;
        self.calls.add(Box::pin(async move {
            let save = call(stop.as_ref(), Stage::Record, || store.save(&tenant, record));
            Answer::Recorded(budget.hold(Box::pin(save)).await)
        }));
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
        Some(Outcome {
            result,
            degraded: core::mem::take(&mut self.degraded),
        })
    }
}

/// What an answer changes.
impl Run {
    fn take(&mut self, answer: Answer) {
        match answer {
            Answer::Recorded(answer) => self.recorded(answer),
            Answer::Resolved(answer) => self.resolved(answer),
            Answer::Connected(at, connector, answer) => match answer {
                Ok(()) if self.phase == Phase::Working => self.open_cursor(at, connector),
                answer => self.broke(at, Some(connector), answer.err()),
            },
            Answer::Opened(at, connector, answer) => match (answer, self.steps.get_mut(at)) {
                (Ok(()), Some(step)) => step.state = State::Idle(connector),
                (answer, _) => self.broke(at, Some(connector), answer.err()),
            },
            Answer::Fetched(at, connector, answer) => self.fetched(at, connector, answer),
            Answer::Closed(at, answer) => {
                self.open = self.open.saturating_sub(1);
                if let Some(step) = self.steps.get_mut(at) {
                    step.state = State::Over;
                }
                self.aside(Stage::Close, answer);
            }
            Answer::SinkOpened(answer) => match answer {
                Ok(writer) => self.output.set_writer(Writer::Idle(writer)),
                Err(fault) => {
                    self.output.set_writer(Writer::Over);
                    self.fail(fault);
                }
            },
            Answer::Written(at, writer, chunk, answer) => {
                self.output.set_writer(Writer::Idle(writer));
                match (answer, self.steps.get_mut(at)) {
                    (Ok(()), Some(step)) => step.delivered(chunk),
                    (answer, _) => {
                        if let Err(fault) = answer {
                            self.fail(fault);
                        }
                    }
                }
            }
            Answer::SinkClosed(answer) => {
                self.output.set_writer(Writer::Over);
                match answer {
                    Ok(receipt) => self.settle(extraction::Output::Stored(receipt)),
                    Err(fault) => self.fail(fault),
                }
            }
            Answer::Aborted(answer) => {
                self.output.set_writer(Writer::Over);
                self.aside(Stage::Persist, answer);
            }
        }
    }

    /// The answer of a call that changes no result; `None`: it took too long.
    fn aside(&mut self, stage: Stage, answer: Option<Result<(), Fault>>) {
        let late = || Err(Fault::new(Category::Timeout, stage, text::DEADLINE));
        if let Err(fault) = answer.unwrap_or_else(late) {
            self.degrade(fault);
        }
    }

    fn recorded(&mut self, answer: Option<Result<(), Fault>>) {
        self.recording = false;
        self.aside(Stage::Record, answer);
        if self.phase == Phase::Recording {
            self.resolve();
        }
    }

    /// Asks the store for every connection of the plan, before any connector is built.
    fn resolve(&mut self) {
        self.phase = Phase::Resolving;
        let (ports, plan, stop) = (
            Arc::clone(&self.ports),
            self.plan.clone(),
            self.stop.clone(),
        );
        self.calls.add(Box::pin(async move {
            Answer::Resolved(resolve(&ports, &plan, &stop).await)
        }));
    }

    fn resolved(&mut self, answer: Result<Vec<ConnectionDescriptor>, Fault>) {
        match answer {
            Ok(connections) if self.phase == Phase::Resolving => {
                for (step, connection) in self.steps.iter_mut().zip(connections) {
                    step.connection = Some(connection);
                }
                self.phase = Phase::Working;
                self.open_sink();
            }
            Ok(_) => {}
            Err(fault) => self.fail(fault),
        }
    }

    fn fetched(
        &mut self,
        at: usize,
        connector: Box<dyn Connector>,
        answer: Result<(RowBatch, Fetched), Fault>,
    ) {
        let Some(step) = self.steps.get_mut(at) else {
            return;
        };
        let taken = answer.and_then(|(batch, fetched)| {
            step.take_rows(batch)
                .map(|chunk| (chunk, fetched))
                .map_err(Fault::rows)
        });
        let (chunk, fetched) = match taken {
            Ok(taken) => taken,
            Err(fault) => return self.broke(at, Some(connector), Some(fault)),
        };
        if self.phase != Phase::Working {
            return self.close(at, connector);
        }
        self.rows = self.rows.saturating_add(chunk.rows());
        self.bytes = self.bytes.saturating_add(chunk.len as u64);
        if let Err(fault) = self.within_limits() {
            return self.broke(at, Some(connector), Some(fault));
        }
        if chunk.len > 0 {
            self.deliver(at, chunk);
        }
        match fetched {
            Fetched::More => {
                if let Some(step) = self.steps.get_mut(at) {
                    step.state = State::Idle(connector);
                }
            }
            Fetched::End => {
                if let Some(step) = self.steps.get_mut(at) {
                    step.ended = true;
                    step.free();
                }
                self.close(at, connector);
            }
        }
        self.tell(at, fetched);
    }

    fn within_limits(&self) -> Result<(), Fault> {
        use crate::encode::RowFault;
        let limits = self.plan.limits();
        if self.bytes > limits.max_result_bytes {
            return Err(Fault::rows(RowFault::TooManyBytes));
        }
        if self.rows > limits.max_rows {
            return Err(Fault::rows(RowFault::TooManyRows));
        }
        Ok(())
    }

    fn deliver(&mut self, at: usize, chunk: Chunk) {
        let planned = self.plan.steps().get(at).map(|step| &step.tables);
        let Some(step) = self.steps.get_mut(at) else {
            return;
        };
        if step.parts.is_none() {
            return step.enqueue(chunk);
        }
        step.count(&chunk);
        if let (Some(parts), Some(tables)) = (&mut step.parts, planned) {
            parts.add(chunk, |table| {
                tables
                    .get(table as usize)
                    .map(|table| Arc::clone(&table.name))
            });
        }
    }

    fn tell(&mut self, at: usize, fetched: Fetched) {
        let (Some(progress), Some(step)) = (&mut self.options.progress, self.steps.get(at)) else {
            return;
        };
        let Some(planned) = self.plan.steps().get(at) else {
            return;
        };
        let now = Progress {
            datasource: planned.name.as_str(),
            datasource_rows: step.rows,
            datasource_bytes: step.bytes,
            datasource_done: fetched == Fetched::End,
            rows: self.rows,
            bytes: self.bytes,
        };
        if let Err(fault) = contained(Stage::Read, || progress(&now)) {
            self.fail(fault);
        }
    }

    /// A step gives no more rows: it failed, or the run is stopping.
    fn broke(&mut self, at: usize, connector: Option<Box<dyn Connector>>, fault: Option<Fault>) {
        match connector {
            Some(connector) => self.close(at, connector),
            None => {
                self.open = self.open.saturating_sub(1);
                if let Some(step) = self.steps.get_mut(at) {
                    step.state = State::Over;
                }
            }
        }
        let Some(mut fault) = fault else { return };
        if let Some(planned) = self.plan.steps().get(at)
            && fault.error.stage() != Stage::Run
        {
            let named = |name: &str| planned.tables.iter().find(|table| *table.name == *name);
            let table = fault
                .table
                .as_deref()
                .and_then(named)
                .map(|table| &table.name);
            let datasource = planned.name.shared();
            fault.error = fault.error.at_datasource(datasource).at_table(table);
        }
        // A limit is the whole run's, and so are a cancel and a deadline.
        let is_limit = fault.error.category() == Category::LimitExceeded
            && fault.error.stage() == Stage::Encode;
        let own = !is_limit && fault.error.stage() != Stage::Run;
        let collect = self.options.policy == FailurePolicy::Collect;
        if self.phase == Phase::Working && collect && own {
            self.collect(at, fault);
        } else {
            self.fail(fault);
        }
    }

    /// Keeps a step's failure and none of its rows.
    fn collect(&mut self, at: usize, fault: Fault) {
        let (Some(step), Some(planned)) = (self.steps.get_mut(at), self.plan.steps().get(at))
        else {
            return;
        };
        self.rows = self.rows.saturating_sub(step.rows);
        self.bytes = self.bytes.saturating_sub(step.bytes);
        step.discard();
        step.ended = true;
        let failure = StepFailure::new(Arc::clone(planned.name.shared()), fault.error.clone());
        self.failures.push(failure);
        self.degrade(fault);
    }
}

/// What is started next.
impl Run {
    /// Starts what can be started; says whether to come again at once.
    fn advance(&mut self) -> bool {
        if self.phase == Phase::Working {
            self.admit();
            self.fetch();
            self.write();
        }
        // The phases may follow each other at once.
        if self.phase == Phase::Sealing && self.output.is_direct() {
            return self.hash_document();
        }
        if self.phase == Phase::Stopping {
            self.tear_down();
        }
        false
    }

    fn admit(&mut self) {
        let most = usize::try_from(self.plan.limits().max_concurrency).unwrap_or(usize::MAX);
        let window = most.saturating_mul(WINDOW);
        while self.phase == Phase::Working && self.admitted < self.steps.len() && self.open < most {
            let ahead = self.admitted.saturating_sub(self.head);
            if !self.output.is_direct() && ahead >= window {
                return;
            }
            let at = self.admitted;
            self.admitted += 1;
            self.open += 1;
            self.connect(at);
        }
    }

    fn connect(&mut self, at: usize) {
        let Some(step) = self.steps.get_mut(at) else {
            return;
        };
        let Some(connection) = step.connection.take() else {
            return;
        };
        step.state = State::Busy;
        let mut connector = match super::build(&self.ports, connection) {
            Ok(connector) => connector,
            Err(fault) => return self.broke(at, None, Some(fault)),
        };
        let stop = self.stop.clone();
        self.calls.add(Box::pin(async move {
            let answer = call(Some(&stop), Stage::Connect, || connector.connect()).await;
            Answer::Connected(at, connector, answer)
        }));
    }

    fn open_cursor(&mut self, at: usize, mut connector: Box<dyn Connector>) {
        let Some(planned) = self.plan.steps().get(at) else {
            return;
        };
        let query = Query::new(Arc::clone(&planned.tables)).time_left(self.time_left());
        let stop = self.stop.clone();
        self.calls.add(Box::pin(async move {
            let answer = call(Some(&stop), Stage::Query, || connector.open(query)).await;
            Answer::Opened(at, connector, answer)
        }));
    }

    fn time_left(&self) -> Option<Duration> {
        let now = contained(Stage::Run, || self.ports.runtime.as_ref().map(|r| r.now())).ok()?;
        self.deadline_at
            .zip(now)
            .map(|(at, now)| at.saturating_sub(now))
    }

    fn fetch(&mut self) {
        for at in self.head.min(self.admitted)..self.admitted {
            let limits = self.plan.limits();
            let Some(step) = self.steps.get_mut(at) else {
                continue;
            };
            if !step.may_fetch(limits) {
                continue;
            }
            let Some((mut connector, batch)) = step.start_fetch(limits) else {
                continue;
            };
            let stop = self.stop.clone();
            self.calls.add(Box::pin(async move {
                let answer = call(Some(&stop), Stage::Read, || connector.fetch(batch)).await;
                Answer::Fetched(at, connector, answer)
            }));
        }
    }

    /// Writes the head's next rows; goes on to the next step, and in the end to sealing.
    fn write(&mut self) {
        while self.steps.get(self.head).is_some_and(Step::is_drained) {
            self.head += 1;
        }
        if self.head == self.steps.len() {
            return self.seal();
        }
        let Some(step) = self.steps.get_mut(self.head) else {
            return;
        };
        if step.queue.is_empty() {
            return;
        }
        let Some(mut writer) = self.output.take_writer() else {
            return;
        };
        let Some(chunk) = step.dequeue() else { return };
        self.hash.update(chunk.written());
        let (at, stop) = (self.head, self.stop.clone());
        self.calls.add(Box::pin(async move {
            let write = call(Some(&stop), Stage::Persist, || {
                writer.write(chunk.written())
            });
            let answer = write.await;
            Answer::Written(at, writer, chunk, answer)
        }));
    }

    fn open_sink(&mut self) {
        let Output::Store(writer) = &mut self.output else {
            return;
        };
        let Some(sink) = &self.ports.sink else { return };
        *writer = Writer::Busy;
        let header = ResultHeader::new(Format::Ndjson)
            .request_id(self.plan.request_id().cloned())
            .metadata(self.plan.metadata().clone());
        let (sink, tenant) = (Arc::clone(sink), self.plan.tenant().clone());
        let stop = self.stop.clone();
        self.calls.add(Box::pin(async move {
            let open = call(Some(&stop), Stage::Persist, || {
                sink.open_stream(&tenant, header)
            });
            Answer::SinkOpened(open.await)
        }));
    }

    /// Every row has been delivered: completes the result.
    fn seal(&mut self) {
        if let Output::Direct(assembly) = &mut self.output {
            let parts = self.steps.iter_mut().filter_map(|step| step.parts.take());
            assembly.document = Some(Document::new(parts.collect()));
            self.phase = Phase::Sealing;
            return;
        }
        // The writer may still be opening, or writing the last rows.
        let Some(writer) = self.output.take_writer() else {
            return;
        };
        if !self.steps.iter().all(Step::is_consistent) {
            self.output.set_writer(Writer::Idle(writer));
            return self.fail(Fault::new(
                Category::Internal,
                Stage::Persist,
                text::ROWS_DIFFER,
            ));
        }
        self.phase = Phase::Sealing;
        let stop = self.stop.clone();
        self.calls.add(Box::pin(async move {
            Answer::SinkClosed(call(Some(&stop), Stage::Persist, || writer.close()).await)
        }));
    }

    /// Hashes some of the document; says whether some is left.
    fn hash_document(&mut self) -> bool {
        let Output::Direct(assembly) = &mut self.output else {
            return false;
        };
        let Some(document) = &assembly.document else {
            return false;
        };
        let chunks = document.chunks();
        let total = chunks.len();
        for chunk in chunks.skip(assembly.hashed).take(HASHED_PER_POLL) {
            self.hash.update(chunk);
        }
        assembly.hashed = assembly.hashed.saturating_add(HASHED_PER_POLL);
        if assembly.hashed < total {
            return true;
        }
        let Some(document) = assembly.document.take() else {
            return false;
        };
        self.bytes = document.len() as u64;
        match self.within_limits() {
            Ok(()) => self.settle(extraction::Output::Document(document)),
            Err(fault) => {
                self.fail(fault);
                self.tear_down();
            }
        }
        false
    }

    /// The outcome is a success and stands.
    fn settle(&mut self, output: extraction::Output) {
        if self.phase != Phase::Sealing {
            return;
        }
        self.failures
            .sort_by(|a, b| a.datasource.cmp(&b.datasource));
        let digest: Digest = core::mem::take(&mut self.hash).finish();
        let result = ExtractionResult {
            request_id: self.plan.request_id().cloned(),
            format: if self.output.is_direct() {
                Format::Json
            } else {
                Format::Ndjson
            },
            rows: self.rows,
            bytes: self.bytes,
            digest,
            tables: self
                .steps
                .iter_mut()
                .flat_map(|step| step.tables.drain(..))
                .collect(),
            output,
            failures: core::mem::take(&mut self.failures),
            metadata: self.plan.metadata().clone(),
        };
        let outcome = Ok(result);
        self.phase = Phase::Settled;
        self.canceled = None;
        self.deadline = Budget::new(None, None);
        self.record(ExecutionState::Completed, Some(&outcome));
        self.outcome = Some(outcome);
    }

    /// Closes a connector within its own budget, whatever else happens.
    fn close(&mut self, at: usize, connector: Box<dyn Connector>) {
        if let Some(step) = self.steps.get_mut(at) {
            step.state = State::Busy;
        }
        let budget = self.ports.teardown(self.plan.limits());
        self.calls.add(Box::pin(async move {
            let close = call(None, Stage::Close, || connector.close());
            Answer::Closed(at, budget.hold(Box::pin(close)).await)
        }));
    }

    /// Closes and aborts whatever is at hand, and writes the last record.
    fn tear_down(&mut self) {
        for at in 0..self.steps.len() {
            let Some(step) = self.steps.get_mut(at) else {
                continue;
            };
            match core::mem::replace(&mut step.state, State::Over) {
                State::Idle(connector) => self.close(at, connector),
                other => step.state = other,
            }
        }
        if let Some(writer) = self.output.take_writer() {
            let budget = self.ports.teardown(self.plan.limits());
            self.calls.add(Box::pin(async move {
                let abort = call(None, Stage::Persist, || writer.abort());
                Answer::Aborted(budget.hold(Box::pin(abort)).await)
            }));
        }
        if self.recording || self.ended_on_record {
            return;
        }
        self.ended_on_record = true;
        let outcome = self.outcome.take();
        let is_cancel = matches!(&outcome, Some(Err(fault)) if is_host_cancel(&fault.error));
        let state = if is_cancel {
            ExecutionState::Canceled
        } else {
            ExecutionState::Failed
        };
        self.record(state, outcome.as_ref());
        self.outcome = outcome;
    }
}

fn is_host_cancel(error: &EngineError) -> bool {
    error.category() == Category::Canceled && error.stage() == Stage::Run
}

/// The scope gate of an execution: every connection is still there, and still what was planned.
async fn resolve(
    ports: &Ports,
    plan: &ExtractionPlan,
    stop: &Stop,
) -> Result<Vec<ConnectionDescriptor>, Fault> {
    let Some(store) = &ports.connections else {
        return Err(EngineError::validation(Stage::Validate, text::STORE_REQUIRED).into());
    };
    let mut connections = Vec::with_capacity(plan.steps().len());
    for step in plan.steps() {
        let find = || store.find(plan.tenant(), &step.name);
        let found = call(Some(stop), Stage::Store, find).await?;
        let at = |fault: Fault| Fault {
            error: fault.error.at_datasource(step.name.shared()),
            ..fault
        };
        let found = found.filter(|found| found.tenant == *plan.tenant() && found.name == step.name);
        let Some(found) = found else {
            return Err(at(Fault::new(
                Category::NotFound,
                Stage::Store,
                text::DATASOURCE_UNKNOWN,
            )));
        };
        if found.fingerprint() != step.fingerprint {
            return Err(at(Fault::new(
                Category::Conflict,
                Stage::Store,
                text::CHANGED,
            )));
        }
        connections.push(found);
    }
    Ok(connections)
}

/// Where an execution's rows go, or why they cannot.
pub(crate) fn is_store(ports: &Ports, options: &ExecuteOptions) -> Result<bool, EngineError> {
    let store = match options.mode {
        Mode::Auto => ports.sink.is_some(),
        Mode::Direct => false,
        Mode::Store if ports.sink.is_none() => {
            return Err(EngineError::validation(
                Stage::Validate,
                text::SINK_REQUIRED,
            ));
        }
        Mode::Store => true,
    };
    if store && options.policy == FailurePolicy::Collect {
        return Err(EngineError::validation(
            Stage::Validate,
            text::COLLECT_NEEDS_DIRECT,
        ));
    }
    Ok(store)
}

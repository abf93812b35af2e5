//! What a run starts next: steps in plan order, fetches, writes in order, the sealing, the
//! teardown.
//!
//! Keeps true: nothing is started that a limit forbids; rows are written in plan order; the digest
//! is over what is written, in that order.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::time::Duration;

use super::super::output::{Output, Writer};
use super::super::step::{State, Step};
use super::super::{Fault, build, call, contained};
use super::{Answer, HASHED_PER_POLL, Phase, Run, WINDOW};
use crate::encode::{Document, Format};
use crate::error::{Category, Stage, text};
use crate::extraction::{ExtractionResult, Output as ResultOutput};
use crate::ports::{Connector, ExecutionState, Query, ResultHeader};
use crate::rt::Budget;

impl Run {
    /// Starts what can be started; says whether to come again at once.
    pub(super) fn advance(&mut self) -> bool {
        if self.phase == Phase::Working {
            // Writing first: it moves the head on, and makes room for what is admitted and fetched.
            self.write();
            self.admit();
            self.fetch();
            // A step that failed while it was built may be the head, and then there is more to do.
            if self.phase == Phase::Working
                && self.steps.get(self.head).is_some_and(Step::is_drained)
            {
                return true;
            }
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
        let most = most.saturating_add(usize::from(planted!(ConcurrencyOffByOne)));
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
        let mut connector = match build(&self.ports, connection) {
            Ok(connector) => connector,
            Err(fault) => return self.broke(at, None, Some(fault)),
        };
        let stop = self.stop.clone();
        self.calls.add(Box::pin(async move {
            let answer = call(Some(&stop), Stage::Connect, || connector.connect()).await;
            Answer::Connected(at, connector, answer)
        }));
    }

    pub(super) fn open_cursor(&mut self, at: usize, mut connector: Box<dyn Connector>) {
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
        let left = self.deadline_at.zip(now).map(|(at, now)| at.saturating_sub(now));
        // A clock that goes back gives nobody more time than there was.
        left.zip(self.plan.limits().max_duration).map(|(left, most)| left.min(most))
    }

    fn fetch(&mut self) {
        let queued = |steps: &[Step]| steps.iter().map(|step| step.queued_bytes).sum();
        let shared: u64 = if planted!(SharedBudget) { queued(&self.steps) } else { 0 };
        for at in self.head.min(self.admitted)..self.admitted {
            let limits = self.plan.limits();
            let Some(step) = self.steps.get_mut(at) else {
                continue;
            };
            if !step.may_fetch(limits) {
                continue;
            }
            if planted!(SharedBudget) && shared >= limits.read_ahead_bytes {
                return;
            }
            // What comes back next is hashed next: at the head, and all before it is hashed.
            let is_next = at == self.head && step.queue.iter().all(|chunk| chunk.is_hashed);
            let Some((mut connector, mut batch)) = step.start_fetch(limits) else {
                continue;
            };
            if is_next && !self.output.is_direct() {
                batch.hash_along(self.hash.clone());
            }
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
        let mut at = self.head;
        if planted!(WriteOutOfOrder) {
            at = self.steps.iter().rposition(|step| !step.queue.is_empty()).unwrap_or(at);
        }
        let Some(step) = self.steps.get_mut(at).filter(|step| !step.queue.is_empty()) else {
            return;
        };
        let Some(mut writer) = self.output.take_writer() else {
            return;
        };
        let Some(chunk) = step.dequeue() else { return };
        if !chunk.is_hashed {
            self.hash.update(chunk.written());
        }
        if planted!(DigestOfOtherBytes) && step.is_drained() {
            self.hash.update(b"\n");
        }
        let stop = self.stop.clone();
        self.calls.add(Box::pin(async move {
            let write = call(Some(&stop), Stage::Persist, || writer.write(chunk.written()));
            let answer = write.await;
            Answer::Written(at, writer, chunk, answer)
        }));
    }

    pub(super) fn open_sink(&mut self) {
        let Output::Store(writer) = &mut self.output else {
            return;
        };
        let Some(sink) = &self.ports.sink else { return };
        *writer = Writer::Busy;
        let header = ResultHeader::new(Format::Ndjson)
            .request_id(self.plan.request_id().cloned())
            .metadata(self.plan.metadata().clone());
        let (sink, mut tenant) = (Arc::clone(sink), self.plan.tenant().clone());
        if planted!(WrongTenant) {
            tenant = crate::tenant::TenantId::parse("somebody-else").unwrap_or(tenant);
        }
        let stop = self.stop.clone();
        self.calls.add(Box::pin(async move {
            let open = call(Some(&stop), Stage::Persist, || sink.open_stream(&tenant, header));
            Answer::SinkReady(open.await)
        }));
    }

    /// Every row has been delivered: completes the result.
    fn seal(&mut self) {
        if let Output::Direct(assembly) = &mut self.output {
            let parts = self.steps.iter_mut().filter_map(|step| step.parts.take());
            let document = Document::new(parts.collect());
            self.bytes = document.len() as u64;
            assembly.document = Some(document);
            self.phase = Phase::Sealing;
            // With what surrounds the rows it may be over the limit now, and then it is not hashed.
            if let Err(fault) = self.within_limits() {
                self.fail(fault);
            }
            return;
        }
        // The writer may still be opening, or writing the last rows.
        let Some(writer) = self.output.take_writer() else {
            return;
        };
        if !self.steps.iter().all(Step::is_consistent) {
            self.output.set_writer(Writer::Idle(writer));
            return self.fail(Fault::new(Category::Internal, Stage::Persist, text::ROWS_DIFFER));
        }
        self.phase = Phase::Sealing;
        let stop = self.stop.clone();
        self.calls.add(Box::pin(async move {
            // Stopped before it began: the writer is still there to be aborted.
            if stop.reason().is_some() {
                return Answer::SinkReady(Ok(writer));
            }
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
        self.settle(ResultOutput::Document(document));
        false
    }

    /// The outcome is a success and stands.
    pub(super) fn settle(&mut self, output: ResultOutput) {
        if self.phase != Phase::Sealing {
            return;
        }
        self.failures.sort_by(|a, b| a.datasource.cmp(&b.datasource));
        let digest = core::mem::take(&mut self.hash).finish();
        let result = ExtractionResult {
            request_id: self.plan.request_id().cloned(),
            format: if self.output.is_direct() { Format::Json } else { Format::Ndjson },
            rows: self.rows,
            bytes: self.bytes,
            digest,
            tables: self.steps.iter_mut().flat_map(|step| step.tables.drain(..)).collect(),
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
    pub(super) fn close(&mut self, at: usize, connector: Box<dyn Connector>) {
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
                if planted!(CloseOnError) {
                    let close = call(None, Stage::Persist, || writer.close()).await;
                    return Answer::Aborted(Some(close.map(drop)));
                }
                let abort = call(None, Stage::Persist, || writer.abort());
                Answer::Aborted(budget.hold(Box::pin(abort)).await)
            }));
        }
        if self.recording || self.ended_on_record {
            return;
        }
        self.ended_on_record = true;
        let outcome = self.outcome.take();
        let is_cancel =
            matches!(&outcome, Some(Err(fault)) if super::records::is_host_cancel(&fault.error));
        let state = if is_cancel { ExecutionState::Canceled } else { ExecutionState::Failed };
        self.record(state, outcome.as_ref());
        self.outcome = outcome;
    }
}

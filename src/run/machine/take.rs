//! What a call's answer changes in a run.
//!
//! Keeps true: whatever an answer brings back, a connector or a writer, has a place afterwards; a
//! step that fails gives its connector to be closed before anybody hears of the failure.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::super::output::Writer;
use super::super::step::State;
use super::super::{Fault, Progress, contained};
use super::{Answer, Phase, Run};
use crate::connection::ConnectionDescriptor;
use crate::digest::Sha256;
use crate::encode::{Chunk, RowBatch, RowFault};
use crate::error::{Category, Stage};
use crate::extraction::{FailurePolicy, Output as ResultOutput, StepFailure};
use crate::ports::{Connector, Fetched};

impl Run {
    pub(super) fn take(&mut self, answer: Answer) {
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
            Answer::SinkReady(answer) => match answer {
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
                    Ok(receipt) => self.settle(ResultOutput::Stored(receipt)),
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
        let late = || Err(Fault::late(stage));
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
        let taken = answer.and_then(|(mut batch, fetched)| {
            let hash = batch.hashed();
            let rows = step.take_rows(batch, fetched).map_err(Fault::rows);
            rows.map(|chunk| (chunk, hash, fetched))
        });
        let (chunk, hash, fetched) = match taken {
            Ok(taken) => taken,
            Err(_) if planted!(SwallowedCursorError) => (Chunk::default(), None, Fetched::End),
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
            self.deliver(at, chunk, hash);
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

    pub(super) fn within_limits(&self) -> Result<(), Fault> {
        let limits = self.plan.limits();
        if self.bytes > limits.max_result_bytes {
            return Err(Fault::rows(RowFault::TooManyBytes));
        }
        let let_through = u64::from(planted!(LimitOffByOne));
        if self.rows > limits.max_rows.saturating_add(let_through) {
            return Err(Fault::rows(RowFault::TooManyRows));
        }
        Ok(())
    }

    /// Takes rows on, and the hash up to their end if it was taken along.
    fn deliver(&mut self, at: usize, mut chunk: Chunk, hash: Option<Sha256>) {
        if let Some(hash) = hash {
            self.hash = hash;
            chunk.is_hashed = true;
        }
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
                tables.get(table as usize).map(|table| Arc::clone(&table.name))
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
    pub(super) fn broke(
        &mut self,
        at: usize,
        connector: Option<Box<dyn Connector>>,
        fault: Option<Fault>,
    ) {
        match connector.filter(|_| !planted!(SkippedClose)) {
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
            let table = fault.table.as_deref().and_then(named).map(|table| &table.name);
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

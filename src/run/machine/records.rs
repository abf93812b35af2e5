//! What a run asks the stores: the scope gate at its beginning, and the record of its state.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::super::{ExecuteOptions, Fault, Ports, call, contained};
use super::{Answer, Phase, Run};
use crate::connection::ConnectionDescriptor;
use crate::error::{Category, EngineError, Stage, text};
use crate::extraction::{ExtractionPlan, ExtractionResult, FailurePolicy, Mode, Output};
use crate::ports::{ExecutionRecord, ExecutionState};
use crate::rt::Stop;

impl Run {
    /// Starts to write a record, if there is where to and as whom.
    pub(super) fn record(
        &mut self,
        state: ExecutionState,
        outcome: Option<&Result<ExtractionResult, Fault>>,
    ) {
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
                if let Output::Stored(receipt) = &result.output {
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
        let stop =
            (state == ExecutionState::Running || planted!(TerminalLost)).then(|| self.stop.clone());
        let budget = self.ports.teardown(self.plan.limits());
        self.recording = true;
        self.calls.add(Box::pin(async move {
            if planted!(TerminalTwice) && record.state != ExecutionState::Running {
                let _ = store.save(&tenant, record.clone()).await;
            }
            let save = call(stop.as_ref(), Stage::Record, || store.save(&tenant, record));
            Answer::Recorded(budget.hold(Box::pin(save)).await)
        }));
    }

    /// Asks the store for every connection of the plan, before any connector is built.
    pub(super) fn resolve(&mut self) {
        self.phase = Phase::Resolving;
        let (ports, plan, stop) = (Arc::clone(&self.ports), self.plan.clone(), self.stop.clone());
        self.calls
            .add(Box::pin(async move { Answer::Resolved(resolve(&ports, &plan, &stop).await) }));
    }
}

pub(super) fn is_host_cancel(error: &EngineError) -> bool {
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
        let at =
            |fault: Fault| Fault { error: fault.error.at_datasource(step.name.shared()), ..fault };
        let found = found.filter(|found| found.is(plan.tenant(), &step.name));
        let Some(found) = found else {
            return Err(at(Fault::new(Category::NotFound, Stage::Store, text::DATASOURCE_UNKNOWN)));
        };
        if found.fingerprint() != step.fingerprint {
            return Err(at(Fault::new(Category::Conflict, Stage::Store, text::CHANGED)));
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
            return Err(EngineError::validation(Stage::Validate, text::SINK_REQUIRED));
        }
        Mode::Store => true,
    };
    if store && options.policy == FailurePolicy::Collect {
        return Err(EngineError::validation(Stage::Validate, text::COLLECT_NEEDS_DIRECT));
    }
    Ok(store)
}

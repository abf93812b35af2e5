//! Planning and executing.

use alloc::sync::Arc;

use super::schemas::check;
use super::{Engine, Op, operation};
use crate::error::{EngineError, Stage, text};
use crate::extraction::{ExtractionPlan, ExtractionRequest, ExtractionResult, PlanParts, Wanted};
use crate::run::{ExecuteOptions, Fault, Run, is_store};
use crate::tenant::{AsTenant, TenantId};

impl Engine {
    /// Checks a request and seals it into a plan. Equal requests give equal plans.
    ///
    /// # Errors
    /// `validation`, `not_found` or `limit_exceeded` with the full
    /// [report](EngineError::report) of what is wrong with the request · `validation` malformed
    /// input or limits above the engine's · `connect`, `timeout`, `unavailable` when a datasource
    /// is down. A count over a limit is found before any port is touched.
    ///
    /// # Cancel safety
    /// After a drop the connections are released.
    pub async fn plan_extraction(
        &self,
        tenant: &(impl AsTenant + ?Sized),
        request: &ExtractionRequest,
    ) -> Result<ExtractionPlan, EngineError> {
        let tenant = tenant.as_tenant();
        operation!(self, "fetcher.plan_extraction", op => plan(&mut op, tenant, request))
    }

    /// Runs a plan for the tenant that it was made for.
    ///
    /// Returns within the plan's deadline and teardown budget whatever the ports do, short of
    /// blocking the thread. The same data gives the same bytes at any concurrency.
    ///
    /// # Errors
    /// `validation` store mode without a sink, [`FailurePolicy::Collect`] in store mode, an
    /// execution store without a request id (nothing is touched) or a filter that a connector
    /// cannot apply ·
    /// `not_found`, `conflict` a connection was deleted or changed after planning · `connect` ·
    /// `limit_exceeded` too many rows or bytes · `timeout`, `canceled` · `internal` a port panicked
    /// or broke its contract · `unavailable` and whatever else a port says. If several things fail,
    /// a cancel comes before a deadline, and both before the step that is first in the plan.
    ///
    /// # Cancel safety
    /// By token: calls are dropped, connectors closed, the writer aborted, `canceled` stored,
    /// within the teardown budget. By drop: connectors and the writer are dropped, nothing is
    /// committed, and the execution store is left at `running`. Once the sink has closed the
    /// result, or the document is complete, a cancel comes too late and the result stands.
    ///
    /// [`FailurePolicy::Collect`]: crate::FailurePolicy::Collect
    pub async fn execute_extraction(
        &self,
        plan: &ExtractionPlan,
        options: ExecuteOptions,
    ) -> Result<ExtractionResult, EngineError> {
        let gates = self.may_execute(plan, &options);
        let work = alloc::boxed::Box::pin(async move {
            match gates {
                Err(error) => Err(Fault::from(error)).into(),
                Ok(store) => {
                    let ports = Arc::clone(&self.0.ports);
                    Run::new(ports, plan.clone(), options, store).await
                }
            }
        });
        self.observed("fetcher.execute_extraction", work).await
    }

    /// The gates before anything is touched; says whether the result goes to the sink.
    fn may_execute(
        &self,
        plan: &ExtractionPlan,
        options: &ExecuteOptions,
    ) -> Result<bool, EngineError> {
        let ports = &self.0.ports;
        let refuse = |message| Err(EngineError::validation(Stage::Validate, message));
        if ports.connections.is_none() {
            return refuse(text::STORE_REQUIRED);
        }
        if ports.executions.is_some() && plan.request_id().is_none() {
            return refuse(text::REQUEST_ID_REQUIRED);
        }
        if ports.runtime.is_none() && plan.limits().max_duration.is_some() {
            return refuse(text::TIMER_REQUIRED);
        }
        is_store(ports, options)
    }
}

async fn plan(
    op: &mut Op,
    tenant: Result<TenantId, EngineError>,
    request: &ExtractionRequest,
) -> Result<ExtractionPlan, Fault> {
    let (_, tenant) = op.enter(tenant)?;
    let wanted = Wanted::parse(request, &op.engine.limits)?;
    if op.engine.ports.runtime.is_none() && wanted.limits.max_duration.is_some() {
        return Err(EngineError::validation(Stage::Validate, text::TIMER_REQUIRED).into());
    }
    let (request_id, limits) = (wanted.request_id.clone(), wanted.limits.clone());
    let metadata = wanted.metadata.clone();
    let (report, steps) = check(op, &tenant, wanted).await?;
    if !report.is_ok() {
        return Err(EngineError::refused(report).into());
    }
    Ok(ExtractionPlan::seal(PlanParts { tenant, request_id, limits, metadata, steps }))
}

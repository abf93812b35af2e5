//! What an extraction is: the request, the sealed plan made from it, and the result.

mod plan;
mod request;
mod result;

pub(crate) use plan::PlanParts;
pub use plan::{ExtractionPlan, PlannedDatasource, PlannedTable};
pub use request::{ExtractionRequest, RequestId, TableRequest};
pub(crate) use request::{Wanted, WantedTable};
pub use result::{
    ExtractionResult, FailurePolicy, Integrity, Mode, Output, ProtectedBy, Protection, Receipt,
    StepFailure, TableCount,
};

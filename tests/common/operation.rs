//! Every operation of the engine under one signature, so that a rule about all of them is a loop.

use core::fmt::Debug;

use fetcher_engine::{
    ConnectionInput, ConnectionPatch, Engine, EngineError, ExecuteOptions, ExtractionPlan,
    ExtractionRequest, PageQuery,
};

/// All operations but `limits()`, which asks nobody and cannot fail.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Operation {
    Create,
    Get,
    GetById,
    List,
    ListPaged,
    Update,
    UpdateById,
    Delete,
    DeleteById,
    Test,
    Check,
    Authorize,
    Discover,
    DiscoverFresh,
    Validate,
    Plan,
    Execute,
}

/// What to call an operation with; each takes what it needs.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) tenant: String,
    pub(crate) name: String,
    pub(crate) id: String,
    pub(crate) kind: String,
    /// The host in the patch; none makes the patch empty.
    pub(crate) host: Option<String>,
    pub(crate) password: Option<String>,
    pub(crate) request: ExtractionRequest,
    /// What is executed.
    pub(crate) plan: Option<ExtractionPlan>,
}

impl Call {
    /// A call for this tenant's connection of this name and id, and everything in order.
    pub(crate) fn new(tenant: &str, name: &str, id: &str) -> Self {
        Self {
            tenant: tenant.into(),
            name: name.into(),
            id: id.into(),
            kind: "memory".into(),
            host: Some("replica".into()),
            password: Some("a new password".into()),
            request: ExtractionRequest::new().request_id("r-1").table(name, "people", ["*"]),
            plan: None,
        }
    }

    fn input(&self) -> ConnectionInput {
        let input = ConnectionInput::new(self.name.clone(), self.kind.clone()).database("crm");
        match &self.password {
            Some(password) => input.password(password.clone()),
            None => input,
        }
    }

    fn patch(&self) -> ConnectionPatch {
        let Some(host) = &self.host else {
            return ConnectionPatch::new();
        };
        let patch = ConnectionPatch::new().host(host.clone()).kind(self.kind.clone());
        match &self.password {
            Some(password) => patch.password(password.clone()),
            None => patch,
        }
    }
}

impl Operation {
    pub(crate) const ALL: [Self; 17] = [
        Self::Create,
        Self::Get,
        Self::GetById,
        Self::List,
        Self::ListPaged,
        Self::Update,
        Self::UpdateById,
        Self::Delete,
        Self::DeleteById,
        Self::Test,
        Self::Check,
        Self::Authorize,
        Self::Discover,
        Self::DiscoverFresh,
        Self::Validate,
        Self::Plan,
        Self::Execute,
    ];

    /// The name of its span.
    pub(crate) fn span(self) -> &'static str {
        match self {
            Self::Create => "fetcher.create_connection",
            Self::Get => "fetcher.get_connection",
            Self::GetById => "fetcher.get_connection_by_id",
            Self::List => "fetcher.list_connections",
            Self::ListPaged => "fetcher.list_connections_paged",
            Self::Update => "fetcher.update_connection",
            Self::UpdateById => "fetcher.update_connection_by_id",
            Self::Delete => "fetcher.delete_connection",
            Self::DeleteById => "fetcher.delete_connection_by_id",
            Self::Test => "fetcher.test_connection",
            Self::Check => "fetcher.check_active_executions",
            Self::Authorize => "fetcher.authorize_connection_access",
            Self::Discover => "fetcher.discover_schema",
            Self::DiscoverFresh => "fetcher.discover_schema_fresh",
            Self::Validate => "fetcher.validate_schema",
            Self::Plan => "fetcher.plan_extraction",
            Self::Execute => "fetcher.execute_extraction",
        }
    }

    /// Runs it; a success is told by its `Debug` form.
    pub(crate) async fn run(self, engine: &Engine, call: &Call) -> Result<String, EngineError> {
        let (tenant, name, id) = (&*call.tenant, &*call.name, &*call.id);
        match self {
            Self::Create => told(engine.create_connection(tenant, call.input()).await),
            Self::Get => told(engine.get_connection(tenant, name).await),
            Self::GetById => told(engine.get_connection_by_id(tenant, id).await),
            Self::List => told(engine.list_connections(tenant).await),
            Self::ListPaged => {
                let page = PageQuery::default();
                told(engine.list_connections_paged(tenant, &page).await)
            }
            Self::Update => told(engine.update_connection(tenant, name, call.patch()).await),
            Self::UpdateById => {
                told(engine.update_connection_by_id(tenant, id, call.patch()).await)
            }
            Self::Delete => told(engine.delete_connection(tenant, name).await),
            Self::DeleteById => told(engine.delete_connection_by_id(tenant, id).await),
            Self::Test => told(engine.test_connection(tenant, name).await),
            Self::Check => told(engine.check_active_executions(tenant, name).await),
            Self::Authorize => told(engine.authorize_connection_access(tenant, name).await),
            Self::Discover => told(engine.discover_schema(tenant, name).await),
            Self::DiscoverFresh => told(engine.discover_schema_fresh(tenant, name).await),
            Self::Validate => told(engine.validate_schema(tenant, &call.request).await),
            Self::Plan => told(engine.plan_extraction(tenant, &call.request).await),
            Self::Execute => {
                let plan = call.plan.as_ref().expect("a plan to execute");
                let options = ExecuteOptions::new();
                told(engine.execute_extraction(plan, options).await)
            }
        }
    }
}

fn told<T: Debug>(answer: Result<T, EngineError>) -> Result<String, EngineError> {
    answer.map(|answer| format!("{answer:?}"))
}

/// An error as one line: `category/stage: message`.
pub(crate) fn brief(error: &EngineError) -> String {
    let (category, stage) = (error.category(), error.stage());
    format!("{category}/{stage}: {}", error.message())
}

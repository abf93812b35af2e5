//! Two tenants who call everything by the same names, all operations, and what each should see.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use core::fmt::Debug;
use std::collections::VecDeque;

use fetcher_engine::extraction::RequestId;
use fetcher_engine::memory::{MemoryResultSink, Table};
use fetcher_engine::schema::SchemaSnapshot;
use fetcher_engine::value::{Value, ValueKind};
use fetcher_engine::{
    Category, ConnectionDescriptor, ConnectionInput, ConnectionPatch, Engine, EngineError,
    ExecuteOptions, ExtractionPlan, ExtractionRequest, ExtractionResult, Mode, Output, PageQuery,
    ValidationReport,
};

use super::common::{Host, Operation, brief, document, tenant};
use super::ports::{Mixed, Sinks, Stores};

pub(crate) const TENANTS: [&str; 2] = ["acme", "globex"];
pub(crate) const NAMES: [&str; 3] = ["a", "b", "c"];

/// Seeded: the same seed, the same steps.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, sides: usize) -> usize {
        // xorshift64*
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let drawn = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        usize::try_from(drawn).unwrap() % sides
    }

    pub(crate) fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
}

/// What a tenant does next.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) operation: Operation,
    pub(crate) name: &'static str,
    pub(crate) id: String,
    /// Which of the tenant's databases a connection points at.
    pub(crate) database: usize,
    /// What a request asks for, and under which id.
    pub(crate) names: Vec<&'static str>,
    pub(crate) request_id: String,
    /// Which of the tenant's plans is executed.
    pub(crate) plan: Option<ExtractionPlan>,
    pub(crate) mode: Mode,
}

pub(crate) enum Answer {
    Nothing,
    Busy(bool),
    One(ConnectionDescriptor),
    Many(Vec<ConnectionDescriptor>),
    Schema(Arc<SchemaSnapshot>),
    Report(ValidationReport),
    Plan(ExtractionPlan),
    Result(ExtractionResult),
}

pub(crate) type Outcome = Result<Answer, EngineError>;

/// What a tenant's own databases are called, where they are, and what is in them.
pub(crate) fn mark(tenant: &str, database: usize) -> String {
    format!("{tenant}-{database}")
}

fn people(mark: &str) -> Table {
    Table::new("people")
        .key("id", ValueKind::I64)
        .column(format!("of_{mark}"), ValueKind::String)
        .row([Value::from(1), Value::from(format!("row of {mark}"))])
}

/// How the ports behave.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    /// The ports in memory, one for all.
    Shared,
    /// Each tenant has the same ids and references as the other.
    Colliding,
    /// The same, and the cache gives out the other tenant's schemas.
    Mixed,
}

pub(crate) struct World {
    pub(crate) host: Host,
    pub(crate) engine: Engine,
    sinks: Option<Arc<Sinks>>,
}

impl World {
    pub(crate) fn new(kind: Kind) -> Self {
        let host = Host::new();
        for tenant in TENANTS {
            for database in 0..3 {
                let mark = mark(tenant, database);
                host.source.put(mark.clone(), [people(&mark)]).unwrap();
            }
        }
        let builder = host.full();
        if kind == Kind::Shared {
            return Self { engine: builder.build().unwrap(), host, sinks: None };
        }
        let sinks = Arc::new(Sinks::new(&TENANTS));
        let builder = builder.connection_store(Arc::new(Stores::new(&TENANTS)));
        let builder = builder.result_sink(sinks.clone());
        let builder = match kind {
            Kind::Mixed => builder.schema_cache(Arc::new(Mixed::new())),
            _ => builder,
        };
        Self { engine: builder.build().unwrap(), host, sinks: Some(sinks) }
    }

    pub(crate) fn sink(&self, tenant_id: &str) -> &MemoryResultSink {
        self.sinks.as_ref().map_or(&self.host.sink, |sinks| &sinks.0[&tenant(tenant_id)])
    }

    pub(crate) fn run(&self, tenant: &str, step: &Step) -> Outcome {
        self.host.run(perform(&self.engine, tenant, step))
    }

    /// The bytes of a result.
    pub(crate) fn bytes(&self, tenant_id: &str, result: &ExtractionResult) -> String {
        match &result.output {
            Output::Stored(receipt) => {
                let sink = self.sink(tenant_id);
                let stored = sink.result(&tenant(tenant_id), &receipt.reference).unwrap();
                String::from_utf8(stored.bytes.to_vec()).unwrap()
            }
            _ => document(result),
        }
    }

    pub(crate) fn states(&self, tenant_id: &str, request_id: &str) -> Vec<&'static str> {
        self.host.states(tenant_id, request_id)
    }
}

pub(crate) fn request(step: &Step) -> ExtractionRequest {
    let request = ExtractionRequest::new().request_id(step.request_id.clone());
    step.names.iter().fold(request, |request, name| request.table(*name, "people", ["*"]))
}

pub(crate) async fn perform(engine: &Engine, tenant: &str, step: &Step) -> Outcome {
    let (name, id) = (step.name, &*step.id);
    let mark = mark(tenant, step.database);
    let patch = || ConnectionPatch::new().host(mark.clone()).database(mark.clone()).password("p");
    Ok(match step.operation {
        Operation::Create => {
            let input = ConnectionInput::new(name, "memory").host(mark.clone());
            let input = input.database(mark.clone()).password(mark.clone());
            Answer::One(engine.create_connection(tenant, input).await?)
        }
        Operation::Get => Answer::One(engine.get_connection(tenant, name).await?),
        Operation::GetById => Answer::One(engine.get_connection_by_id(tenant, id).await?),
        Operation::List => Answer::Many(engine.list_connections(tenant).await?),
        Operation::ListPaged => {
            let page = engine.list_connections_paged(tenant, &PageQuery::default()).await?;
            Answer::Many(page.items)
        }
        Operation::Update => Answer::One(engine.update_connection(tenant, name, patch()).await?),
        Operation::UpdateById => {
            Answer::One(engine.update_connection_by_id(tenant, id, patch()).await?)
        }
        Operation::Delete => {
            engine.delete_connection(tenant, name).await?;
            Answer::Nothing
        }
        Operation::DeleteById => {
            engine.delete_connection_by_id(tenant, id).await?;
            Answer::Nothing
        }
        Operation::Test => {
            engine.test_connection(tenant, name).await?;
            Answer::Nothing
        }
        Operation::Check => Answer::Busy(engine.check_active_executions(tenant, name).await?),
        Operation::Authorize => {
            engine.authorize_connection_access(tenant, name).await?;
            Answer::Nothing
        }
        Operation::Discover => Answer::Schema(engine.discover_schema(tenant, name).await?),
        Operation::DiscoverFresh => {
            Answer::Schema(engine.discover_schema_fresh(tenant, name).await?)
        }
        Operation::Validate => {
            Answer::Report(engine.validate_schema(tenant, &request(step)).await?)
        }
        Operation::Plan => Answer::Plan(engine.plan_extraction(tenant, &request(step)).await?),
        Operation::Execute => {
            let plan = step.plan.as_ref().expect("a plan to execute");
            let options = ExecuteOptions::new().mode(step.mode);
            Answer::Result(engine.execute_extraction(plan, options).await?)
        }
    })
}

/// An outcome in all its printed forms.
pub(crate) fn shown(outcome: &Outcome) -> String {
    fn both(value: &dyn Debug) -> String {
        format!("{value:?} {value:#?}")
    }
    match outcome {
        Ok(Answer::Nothing) => "nothing".into(),
        Ok(Answer::Busy(busy)) => both(busy),
        Ok(Answer::One(one)) => both(one),
        Ok(Answer::Many(many)) => both(many),
        Ok(Answer::Schema(schema)) => both(schema),
        Ok(Answer::Report(report)) => both(report),
        Ok(Answer::Plan(plan)) => both(plan),
        Ok(Answer::Result(result)) => both(result),
        Err(error) => format!("{error} {}", both(error)),
    }
}

/// A connection as its tenant should see it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Known {
    pub(crate) id: String,
    pub(crate) database: usize,
}

/// A plan, and what its connections were like.
pub(crate) struct Planned {
    pub(crate) plan: ExtractionPlan,
    known: BTreeMap<&'static str, Known>,
}

/// All that a tenant should see: nothing in here comes from the other.
#[derive(Default)]
pub(crate) struct Model {
    pub(crate) connections: BTreeMap<&'static str, Known>,
    pub(crate) plans: VecDeque<Planned>,
    pub(crate) states: BTreeMap<String, Vec<&'static str>>,
    pub(crate) results: Vec<(String, String)>,
    next: usize,
}

impl Model {
    fn by_id(&self, id: &str) -> Option<&'static str> {
        self.connections.iter().find(|(_, known)| known.id == id).map(|(name, _)| *name)
    }

    /// Holds an outcome against what it should be, and takes note of it.
    pub(crate) fn judge(&mut self, tenant: &str, step: &Step, outcome: &Outcome) {
        use Operation::{DeleteById, GetById, UpdateById};
        let place = format!("{tenant}: {step:?}: {}", shown(outcome));
        let is_by_id = matches!(step.operation, GetById | UpdateById | DeleteById);
        let name = if is_by_id { self.by_id(&step.id) } else { Some(step.name) };
        let known = name.and_then(|name| self.connections.get(name)).cloned();
        match (step.operation, outcome) {
            (Operation::Create, Ok(Answer::One(created))) => {
                assert!(known.is_none(), "{place}");
                self.next += 1;
                let id = created.id.as_str().to_owned();
                let known = Known { id, database: step.database };
                is_known(tenant, step.name, &known, created, &place);
                self.connections.insert(step.name, known);
            }
            (Operation::Create, Err(error)) => {
                assert!(known.is_some(), "{place}");
                let text = "conflict/store: a connection of this name exists already";
                assert_eq!(brief(error), text, "{place}");
            }
            (Operation::List | Operation::ListPaged, Ok(Answer::Many(many))) => {
                assert_eq!(many.len(), self.connections.len(), "{place}");
                for ((name, known), found) in self.connections.iter().zip(many) {
                    is_known(tenant, name, known, found, &place);
                }
            }
            (Operation::Validate, Ok(Answer::Report(report))) => {
                let missing = self.missing(&step.names);
                let told = report.mistakes().iter().map(|m| m.datasource.as_deref());
                assert!(told.eq(missing.into_iter().map(Some)), "{place}");
            }
            (Operation::Plan, Ok(Answer::Plan(plan))) => {
                assert!(self.missing(&step.names).is_empty(), "{place}");
                self.planned(tenant, step, plan, &place);
            }
            (Operation::Plan, Err(error)) => {
                assert_eq!(error.category(), Category::NotFound, "{place}");
                let told = error.report().unwrap().mistakes().iter();
                let told = told.map(|mistake| mistake.datasource.as_deref());
                assert!(told.eq(self.missing(&step.names).into_iter().map(Some)), "{place}");
            }
            (Operation::Execute, outcome) => self.executed(step, outcome.as_ref(), &place),
            (_, Err(error)) => {
                assert!(known.is_none(), "{place}");
                assert_eq!(brief(error), "not_found/store: connection is not found", "{place}");
            }
            (operation, Ok(answer)) => {
                let (name, known) = name.zip(known).expect(&place);
                self.found(tenant, (operation, step), (name, known), answer, &place);
            }
        }
    }

    /// What is answered of a connection that the tenant has.
    fn found(
        &mut self,
        tenant: &str,
        (operation, step): (Operation, &Step),
        (name, mut known): (&'static str, Known),
        answer: &Answer,
        place: &str,
    ) {
        match (operation, answer) {
            (Operation::Get | Operation::GetById, Answer::One(found)) => {
                is_known(tenant, name, &known, found, place);
            }
            (Operation::Update | Operation::UpdateById, Answer::One(updated)) => {
                known.database = step.database;
                is_known(tenant, name, &known, updated, place);
                self.connections.insert(name, known);
            }
            (Operation::Delete | Operation::DeleteById, Answer::Nothing) => {
                self.connections.remove(name);
            }
            (Operation::Discover | Operation::DiscoverFresh, Answer::Schema(schema)) => {
                let table = schema.table("people").expect(place);
                let fields: Vec<_> = table.fields().iter().map(|field| &*field.name).collect();
                let mark = format!("of_{}", mark(tenant, known.database));
                assert_eq!(fields, ["id", &mark], "{place}");
            }
            (Operation::Check, Answer::Busy(busy)) => assert!(!busy, "{place}"),
            (Operation::Test | Operation::Authorize, Answer::Nothing) => {}
            _ => panic!("another answer: {place}"),
        }
    }

    fn missing(&self, names: &[&'static str]) -> Vec<&'static str> {
        let mut missing = names.to_vec();
        missing.retain(|name| !self.connections.contains_key(name));
        missing
    }

    fn planned(&mut self, tenant: &str, step: &Step, plan: &ExtractionPlan, place: &str) {
        let known = |name: &&'static str| (*name, self.connections[name].clone());
        let known: BTreeMap<_, _> = step.names.iter().map(known).collect();
        assert_eq!(plan.steps().len(), known.len(), "{place}");
        for (planned, (name, known)) in plan.steps().iter().zip(&known) {
            assert_eq!(planned.name().as_str(), *name, "{place}");
            assert_eq!(planned.connection().as_str(), known.id, "{place}");
            let field = format!("of_{}", mark(tenant, known.database));
            assert_eq!(*planned.tables()[0].fields()[1], *field, "{place}");
        }
        self.plans.push_back(Planned { plan: plan.clone(), known });
        if self.plans.len() > 4 {
            self.plans.pop_front();
        }
    }

    fn executed(&mut self, step: &Step, outcome: Result<&Answer, &EngineError>, place: &str) {
        let plan = step.plan.as_ref().unwrap();
        let at = self.plans.iter().position(|planned| planned.plan == *plan).expect(place);
        let expected =
            self.plans[at].known.iter().find_map(|(name, then)| match self.connections.get(name) {
                None => Some("not_found/store: datasource is not found"),
                Some(now) if now != then => {
                    Some("conflict/store: connection was changed after the plan was made")
                }
                Some(_) => None,
            });
        let states = self.states.entry(plan.request_id().unwrap().as_str().into()).or_default();
        states.push("running");
        states.push(if expected.is_some() { "failed" } else { "completed" });
        match (outcome, expected) {
            (Ok(Answer::Result(result)), None) => {
                assert_eq!(result.rows, plan.steps().len() as u64, "{place}");
            }
            (Err(error), Some(text)) => assert_eq!(brief(error), text, "{place}"),
            _ => panic!("it should be {expected:?}: {place}"),
        }
    }

    /// What the tenant does next: mostly with what it has, sometimes with what it never had.
    pub(crate) fn next_step(&self, dice: &mut Dice, ids: &[String]) -> Step {
        const OFTEN: [Operation; 4] =
            [Operation::Create, Operation::Create, Operation::Plan, Operation::Execute];
        let often = dice.below(2) == 0;
        let mut operation = *dice.pick(if often { &OFTEN[..] } else { &Operation::ALL });
        let plan =
            (!self.plans.is_empty()).then(|| self.plans[dice.below(self.plans.len())].plan.clone());
        if operation == Operation::Execute && plan.is_none() {
            operation = Operation::Plan;
        }
        let mut names: Vec<_> = NAMES.into_iter().filter(|_| dice.below(2) == 0).collect();
        if names.is_empty() {
            names.push("a");
        }
        Step {
            operation,
            name: NAMES[dice.below(NAMES.len())],
            id: if ids.is_empty() { "connection-9".into() } else { dice.pick(ids).clone() },
            database: dice.below(3),
            names,
            request_id: format!("r-{}", dice.below(3)),
            plan,
            mode: *dice.pick(&[Mode::Store, Mode::Direct]),
        }
    }

    /// Holds everything that lasts against the world.
    pub(crate) fn look(&self, world: &World, tenant_id: &str) {
        for (request_id, states) in &self.states {
            assert_eq!(world.states(tenant_id, request_id), *states, "{tenant_id} {request_id}");
            let id = RequestId::parse(request_id).unwrap();
            let latest = world.host.executions.state(&tenant(tenant_id), &id).unwrap();
            assert_eq!(latest.request_id, id);
        }
        for (reference, bytes) in &self.results {
            let stored = world.sink(tenant_id).result(&tenant(tenant_id), reference).unwrap();
            assert_eq!(*stored.bytes, *bytes.as_bytes(), "{tenant_id} {reference}");
        }
    }
}

fn is_known(tenant: &str, name: &str, known: &Known, found: &ConnectionDescriptor, place: &str) {
    let mark = mark(tenant, known.database);
    assert_eq!(found.tenant.as_str(), tenant, "{place}");
    assert_eq!(found.name.as_str(), name, "{place}");
    assert_eq!(found.id.as_str(), known.id, "{place}");
    assert_eq!((&*found.endpoint.host, &*found.endpoint.database), (&*mark, &*mark), "{place}");
}

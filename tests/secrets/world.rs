//! A host full of secrets, an engine with all ports, and every operation on it.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use core::error::Error;
use core::fmt::Debug;
use core::time::Duration;
use std::sync::Mutex;

use fetcher_engine::connection::StoredCredential;
use fetcher_engine::memory::{MemoryDatasource, Table};
use fetcher_engine::ports::{
    BoxFuture, CredentialResolver, CredentialVault, Failure, Observability, Span, VaultResolver,
};
use fetcher_engine::value::{Value, ValueKind};
use fetcher_engine::{
    CancelToken, ConnectionDescriptor, ConnectionInput, ConnectionPatch, Engine, EngineBuilder,
    EngineError, ExecuteOptions, ExtractionPlan, ExtractionRequest, FailurePolicy, Filter, Mode,
    PortError, Runtime, Secret, Sleep, TenantId,
};

use super::common::{Call, Clock, Host, Operation, Probe, WatchedRegistry, quiet};

/// What must not be seen: each begins with the same word, so that one search finds all of them.
pub(crate) const PASSWORD: &str = "canary-password-the-old-one";
pub(crate) const NEW_PASSWORD: &str = "canary-password-the-new-one";
pub(crate) const ATTRIBUTE: &str = "canary-host-attribute";
pub(crate) const OPTION: &str = "canary-option-value";
pub(crate) const DATABASE: &str = "canary-dsn-in-the-database";
pub(crate) const USER: &str = "canary-user";
pub(crate) const LIMIT: &str = "canary-connector-limit";
pub(crate) const ROW: &str = "canary-row-value";
pub(crate) const OPERAND: &str = "canary-filter-operand";
pub(crate) const CAUSE: &str = "canary-cause: password=hunter2 at 10.0.0.1";
pub(crate) const BESIDE: &str = "canary-cause: token=xyzzy of the other call";

/// One operation in one situation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Scenario {
    /// With or without cached schemas.
    Call(Operation, bool),
    Execute(Mode, FailurePolicy),
}

impl Scenario {
    /// All that there are.
    pub(crate) fn all() -> Vec<Self> {
        let mut all = Vec::new();
        for operation in Operation::ALL {
            use Operation::{Discover, DiscoverFresh, Execute, Plan, Validate};
            match operation {
                Execute => {}
                Discover | DiscoverFresh | Validate | Plan => {
                    all.extend([Self::Call(operation, false), Self::Call(operation, true)]);
                }
                _ => all.push(Self::Call(operation, true)),
            }
        }
        all.push(Self::Execute(Mode::Store, FailurePolicy::FailFast));
        all.push(Self::Execute(Mode::Direct, FailurePolicy::FailFast));
        all.push(Self::Execute(Mode::Direct, FailurePolicy::Collect));
        all
    }
}

/// Hears what spans are told: what anybody may see, and what only the host may.
#[derive(Clone)]
pub(crate) struct Ear {
    probe: Probe,
    pub(crate) public: Arc<Mutex<Vec<String>>>,
    pub(crate) private: Arc<Mutex<Vec<String>>>,
}

impl Ear {
    fn hear(&self, line: &str, failure: &Failure<'_>) {
        let mut public = self.public.lock().unwrap();
        public.push(format!("{failure:?} {failure:#?}"));
        public.extend(seen_of(failure.error()));
        drop(public);
        if let Some(cause) = failure.cause() {
            self.private.lock().unwrap().push(cause.to_string());
        }
        let _ = self.probe.now(line.into());
    }
}

impl Observability for Ear {
    fn start_span(&self, operation: &'static str) -> Box<dyn Span> {
        self.public.lock().unwrap().push(operation.into());
        let _ = self.probe.now("span.start".into());
        Box::new(self.clone())
    }
}

impl Span for Ear {
    fn enter(&mut self) {
        let _ = self.probe.now("span.enter".into());
    }

    fn exit(&mut self) {
        let _ = self.probe.now("span.exit".into());
    }

    fn failed(&mut self, failure: &Failure<'_>) {
        self.hear("span.failed", failure);
    }

    fn degraded(&mut self, failure: &Failure<'_>) {
        self.hear("span.degraded", failure);
    }
}

/// A resolver and a clock behind the probe, too.
struct Watched<T>(Probe, T);

impl CredentialResolver for Watched<VaultResolver> {
    fn resolve<'a>(
        &'a self,
        tenant: &'a TenantId,
        connection: &'a ConnectionDescriptor,
    ) -> BoxFuture<'a, Result<Option<Secret>, PortError>> {
        self.0.call("resolver.resolve".into(), move || self.1.resolve(tenant, connection))
    }
}

impl Runtime for Watched<Clock> {
    fn now(&self) -> Duration {
        let _ = self.0.now("runtime.now".into());
        self.1.now()
    }

    fn wall_clock(&self) -> Option<Duration> {
        let _ = self.0.now("runtime.wall_clock".into());
        self.1.wall_clock()
    }

    fn sleep(&self, duration: Duration) -> Sleep {
        let _ = self.0.now("runtime.sleep".into());
        self.1.sleep(duration)
    }
}

pub(crate) struct World {
    pub(crate) host: Host,
    pub(crate) ear: Ear,
    pub(crate) engine: Engine,
    pub(crate) builder: EngineBuilder,
    pub(crate) plan: Option<ExtractionPlan>,
    progress: Arc<Mutex<Vec<String>>>,
    scenario: Scenario,
    id: String,
}

pub(crate) fn input(name: &str, password: &str) -> ConnectionInput {
    ConnectionInput::new(name, "memory")
        .host("primary")
        .port(5432)
        .database(DATABASE)
        .username(USER)
        .option("sslKey", OPTION)
        .host_attribute("owner", ATTRIBUTE)
        .password(password)
}

pub(crate) fn patch() -> ConnectionPatch {
    let options = BTreeMap::from([("sslKey".to_owned(), OPTION.to_owned())]);
    let attributes = BTreeMap::from([("owner".to_owned(), ATTRIBUTE.to_owned())]);
    ConnectionPatch::new()
        .host("replica")
        .database(DATABASE)
        .username(USER)
        .options(options)
        .host_attributes(attributes)
        .password(NEW_PASSWORD)
}

/// Two datasources, a filter with a secret operand.
pub(crate) fn request() -> ExtractionRequest {
    ExtractionRequest::new()
        .request_id("r-1")
        .table("sales", "people", ["*"])
        .table("shop", "people", ["name"])
        .filter("sales", "people", Filter::ne("name", OPERAND))
}

fn people() -> Table {
    Table::new("people")
        .key("id", ValueKind::I64)
        .column("name", ValueKind::String)
        .row([Value::from(1), Value::from(ROW)])
}

impl World {
    pub(crate) fn new(scenario: Scenario) -> Self {
        quiet();
        let host = Host::new();
        let probe = host.probe.clone();
        let resolver = VaultResolver::new(host.store.clone()).protector(host.protector.clone());
        let resolver = Arc::new(Watched(probe.clone(), resolver));
        let source = MemoryDatasource::new().credentials(resolver);
        source.put_protected(DATABASE, PASSWORD, [people()]).unwrap();
        let registry = WatchedRegistry::new(probe.clone()).with("memory", Arc::new(source));
        let (public, private) = Default::default();
        let ear = Ear { probe: probe.clone(), public, private };
        let builder = host
            .full()
            .connectors(Arc::new(registry))
            .observability(Arc::new(ear.clone()))
            .runtime(Arc::new(Watched(probe, host.clock.clone())))
            .connector_limit("quota", LIMIT);
        let engine = builder.clone().build().unwrap();
        let mut id = String::new();
        for name in ["sales", "shop"] {
            let created = host.run(engine.create_connection("acme", input(name, PASSWORD)));
            id = created.unwrap().id.as_str().to_owned();
        }
        let progress = Arc::default();
        let mut world = Self { host, ear, engine, builder, plan: None, progress, scenario, id };
        if matches!(scenario, Scenario::Call(_, true)) {
            for name in ["sales", "shop"] {
                world.host.run(world.engine.discover_schema("acme", name)).unwrap();
            }
        }
        if matches!(scenario, Scenario::Execute(..)) {
            let planned = world.host.run(world.engine.plan_extraction("acme", &request()));
            world.plan = Some(planned.unwrap());
        }
        world.host.probe.clear();
        world.ear.public.lock().unwrap().clear();
        world
    }

    pub(crate) fn options(&self, mode: Mode, policy: FailurePolicy) -> ExecuteOptions {
        let (probe, lines) = (self.host.probe.clone(), Arc::clone(&self.progress));
        ExecuteOptions::new().mode(mode).failure_policy(policy).cancel(CancelToken::new()).progress(
            move |progress| {
                lines.lock().unwrap().push(format!("{progress:?} {progress:#?}"));
                let _ = probe.now("host.progress".into());
            },
        )
    }

    /// Runs the operation, and says whether it succeeded and all that anybody can see afterwards.
    pub(crate) fn run(&self) -> (bool, Vec<String>) {
        let (host, engine) = (&self.host, &self.engine);
        let answer = match self.scenario {
            Scenario::Call(Operation::Create, _) => {
                let create = engine.create_connection("acme", input("fresh", NEW_PASSWORD));
                told(host.run(create))
            }
            Scenario::Call(Operation::Update, _) => {
                told(host.run(engine.update_connection("acme", "sales", patch())))
            }
            Scenario::Call(Operation::UpdateById, _) => {
                told(host.run(engine.update_connection_by_id("acme", &self.id, patch())))
            }
            Scenario::Call(operation, _) => {
                let mut call = Call::new("acme", "sales", &self.id);
                call.request = request();
                host.run(operation.run(engine, &call))
            }
            Scenario::Execute(mode, policy) => {
                let plan = self.plan.as_ref().expect("it was planned");
                let options = self.options(mode, policy);
                let answer = host.run(engine.execute_extraction(plan, options));
                if let Ok(result) = &answer {
                    self.progress.lock().unwrap().push(format!("{:#?}", result.failures));
                }
                told(answer)
            }
        };
        let mut seen = match &answer {
            Ok(answer) => vec![answer.clone()],
            Err(error) => seen_of(error),
        };
        seen.extend(self.around());
        (answer.is_ok(), seen)
    }

    /// What can be seen beside the answer.
    fn around(&self) -> Vec<String> {
        let host = &self.host;
        let mut seen = vec![
            format!("{:?} {:#?}", self.engine, self.engine),
            format!("{:?}", host.store),
            format!("{:?}", host.executions),
            format!("{:?}", host.sink),
            format!("{:?}", host.history("acme", "r-1")),
        ];
        seen.append(&mut self.progress.lock().unwrap());
        seen.append(&mut self.ear.public.lock().unwrap());
        seen
    }

    /// The ciphertext that the store has for a connection.
    pub(crate) fn ciphertext(&self) -> Vec<u8> {
        let find = self.engine.get_connection("acme", "sales");
        let found = self.host.run(find).unwrap();
        let stored = self.host.store.stored_credential(&found.tenant, &found.id);
        let StoredCredential { bytes, .. } = self.host.run(stored).unwrap().unwrap();
        bytes.expose().to_vec()
    }
}

/// All that an error shows.
pub(crate) fn seen_of(error: &EngineError) -> Vec<String> {
    let mut seen = vec![
        format!("{error} {error:?} {error:#?}"),
        format!("{:?} {:?} {:?}", error.message(), error.datasource(), error.table()),
        format!("{:?} {:#?}", error.report(), error.report()),
    ];
    let mut source = error.source();
    while let Some(error) = source {
        seen.push(format!("{error} {error:?}"));
        source = error.source();
    }
    seen
}

fn told<T: Debug>(answer: Result<T, EngineError>) -> Result<String, EngineError> {
    answer.map(|answer| format!("{answer:?} {answer:#?}"))
}

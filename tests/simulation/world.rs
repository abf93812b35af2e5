//! One simulated world: a random extraction, its ports with faults, and what must come out.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fetcher_engine::extraction::RequestId;
use fetcher_engine::memory::{
    MemoryConnectionStore, MemoryConnectorRegistry, MemoryDatasource, MemoryExecutionStore,
    MemoryResultSink, MemorySchemaCache, Table,
};
use fetcher_engine::ports::{Observability, Span};
use fetcher_engine::testkit::sim::{
    Choices, Drive, Ended, EventKind, Faults, RootWakers, Seeded, Sim, SimCache,
    SimConnectionStore, SimExecutionStore, SimObservability, SimRegistry, SimRuntime, SimSink,
    Site, drive,
};
use fetcher_engine::value::ValueKind;
use fetcher_engine::{
    CancelToken, ConnectionInput, Engine, EngineError, ExecuteOptions, ExtractionPlan,
    ExtractionRequest, ExtractionResult, FailurePolicy, LimitOverrides, Limits, Mode, TenantId,
    Value, block_on,
};

pub(crate) const TENANT: &str = "acme";
pub(crate) const TEARDOWN: Duration = Duration::from_millis(500);

/// What is extracted, how, and what may go wrong: all of it from a seed.
#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    /// Datasources with tables with numbers of rows. `d0` holds `t0`, `t1`, …
    pub(crate) datasources: Vec<Vec<u64>>,
    pub(crate) store: bool,
    pub(crate) collect: bool,
    pub(crate) concurrency: u32,
    pub(crate) read_ahead: u64,
    pub(crate) batch_rows: u64,
    pub(crate) max_rows: u64,
    pub(crate) max_bytes: u64,
    pub(crate) deadline: Option<Duration>,
    pub(crate) cancel_at: Option<u64>,
    pub(crate) drop_at: Option<u64>,
    pub(crate) wakers: RootWakers,
    pub(crate) faults: Faults,
    pub(crate) save_faults: bool,
    pub(crate) plan_with_faults: bool,
}

impl Scenario {
    pub(crate) fn random(seed: u64) -> Self {
        let mut choices = Seeded::new(seed).fork("scenario");
        let mut below = |n: u64| choices.below(n);
        let tables = |below: &mut dyn FnMut(u64) -> u64| {
            let tables = 1 + below(3);
            (0..tables).map(|_| below(6)).collect()
        };
        let datasources = (0..1 + below(5)).map(|_| tables(&mut below)).collect();
        let store = below(3) > 0;
        let mut faults = Faults::all([0, 30, 100, 300][below(4) as usize]);
        for kind in [
            &mut faults.yields,
            &mut faults.late,
            &mut faults.fail_before,
            &mut faults.fail_after,
            &mut faults.never,
            &mut faults.panics,
            &mut faults.odd_batches,
            &mut faults.drift,
        ] {
            *kind = below(2) == 0;
        }
        let save_faults = below(4) == 0;
        if !save_faults {
            let all = [Site::Build, Site::Connect, Site::Discover, Site::Open, Site::Fetch];
            let rest = [Site::Close, Site::Store, Site::Cache, Site::SinkOpen, Site::Write];
            let rest = [&rest[..], &[Site::Observe][..]].concat();
            faults.sites = [&all[..], &rest[..], &[Site::SinkClose, Site::Abort][..]].concat();
        }
        // What never answers is ended by nothing but a deadline.
        let deadline = (faults.never || below(3) == 0)
            .then(|| Duration::from_millis([1, 50, 200, 1000][below(4) as usize]));
        let wakers = [RootWakers::Stable, RootWakers::Sometimes, RootWakers::Always];
        Self {
            datasources,
            store,
            collect: !store && below(2) == 0,
            concurrency: 1 + below(4) as u32,
            read_ahead: [1, 60, 200, 1 << 20][below(4) as usize],
            batch_rows: 1 + below(4),
            max_rows: if below(5) == 0 { 1 + below(12) } else { u64::MAX },
            max_bytes: if below(5) == 0 { 1 + below(900) } else { 1 << 30 },
            deadline,
            cancel_at: (below(4) == 0).then(|| below(40)),
            drop_at: (below(5) == 0).then(|| below(40)),
            wakers: wakers[below(3) as usize],
            faults,
            save_faults,
            plan_with_faults: below(4) == 0,
        }
    }

    pub(crate) fn rows_of(at: u64, table: u64, rows: u64) -> impl Iterator<Item = (u64, String)> {
        (0..rows).map(move |row| {
            let id = at * 100 + table * 10 + row;
            (id, "x".repeat(1 + (id % 17) as usize))
        })
    }

    /// The lines of store mode, written down naively, datasource by datasource.
    pub(crate) fn lines(&self) -> Vec<String> {
        let datasource = |(at, tables): (usize, &Vec<u64>)| {
            let mut lines = String::new();
            for (table, rows) in tables.iter().enumerate() {
                for (id, text) in Self::rows_of(at as u64, table as u64, *rows) {
                    lines += &format!("{{\"config\":\"d{at}\",\"table\":\"t{table}\",");
                    lines += &format!("\"row\":{{\"id\":{id},\"text\":\"{text}\"}}}}\n");
                }
            }
            lines
        };
        self.datasources.iter().enumerate().map(datasource).collect()
    }

    /// The document of direct mode, written down naively, without these datasources.
    pub(crate) fn document(&self, without: &[String]) -> String {
        let mut configs = Vec::new();
        for (at, tables) in self.datasources.iter().enumerate() {
            if without.contains(&format!("d{at}")) {
                continue;
            }
            let mut parts = Vec::new();
            for (table, rows) in tables.iter().enumerate() {
                let row = |(id, text)| {
                    format!(
                        "      {{\n        \"id\": {id},\n        \"text\": \"{text}\"\n      }}"
                    )
                };
                let rows: Vec<_> = Self::rows_of(at as u64, table as u64, *rows).map(row).collect();
                parts.push(match rows.is_empty() {
                    true => format!("    \"t{table}\": []"),
                    false => format!("    \"t{table}\": [\n{}\n    ]", rows.join(",\n")),
                });
            }
            configs.push(format!("  \"d{at}\": {{\n{}\n  }}", parts.join(",\n")));
        }
        match configs.is_empty() {
            true => "{}".into(),
            false => format!("{{\n{}\n}}", configs.join(",\n")),
        }
    }
}

/// Observes and says nothing.
pub(crate) struct Silent;

impl Observability for Silent {
    fn start_span(&self, _operation: &'static str) -> Box<dyn Span> {
        Box::new(Self)
    }
}

impl Span for Silent {}

/// A scenario's ports, wired.
pub(crate) struct World {
    pub(crate) scenario: Scenario,
    pub(crate) sim: Sim,
    pub(crate) engine: Engine,
    pub(crate) sink: SimSink,
    pub(crate) results: MemoryResultSink,
    pub(crate) executions: Arc<MemoryExecutionStore>,
    pub(crate) request: ExtractionRequest,
    pub(crate) cancel: CancelToken,
    /// When it was canceled.
    pub(crate) canceled: Arc<Mutex<Option<Duration>>>,
    /// How often progress was told.
    pub(crate) told: Arc<AtomicU64>,
}

impl World {
    pub(crate) fn new(scenario: &Scenario, choices: impl Choices) -> Self {
        let sim = Sim::new(choices);
        sim.expect_tenant(TenantId::parse(TENANT).expect("it is one"));
        sim.set_batch_rows(scenario.batch_rows);
        let (source, mut request) = (MemoryDatasource::new(), ExtractionRequest::new());
        let connections = Arc::new(MemoryConnectionStore::new());
        let registry: Arc<MemoryConnectorRegistry> =
            Arc::new(MemoryConnectorRegistry::new().with("memory", Arc::new(source.clone())));
        let plain = Engine::builder()
            .connectors(registry.clone())
            .connection_store(connections.clone())
            .build()
            .expect("it is wired");
        for (at, tables) in scenario.datasources.iter().enumerate() {
            let name = format!("d{at}");
            let tables = tables.iter().enumerate().map(|(table, rows)| {
                let rows = Scenario::rows_of(at as u64, table as u64, *rows);
                Table::new(format!("t{table}"))
                    .key("id", ValueKind::U64)
                    .column("text", ValueKind::String)
                    .rows(rows.map(|(id, text)| [Value::from(id), Value::from(text)]))
            });
            let tables: Vec<_> = tables.collect();
            for table in 0..tables.len() {
                request = request.table(name.as_str(), format!("t{table}"), ["id", "text"]);
            }
            source.put(name.as_str(), tables).expect("the rows fit");
            let input = ConnectionInput::new(name.as_str(), "memory").database(name.as_str());
            block_on(plain.create_connection(TENANT, input)).expect("it is new");
        }
        let mut overrides = LimitOverrides::default();
        overrides.max_concurrency = scenario.concurrency;
        overrides.read_ahead_bytes = scenario.read_ahead;
        overrides.max_rows = scenario.max_rows;
        overrides.max_result_bytes = scenario.max_bytes;
        overrides.max_duration = scenario.deadline.unwrap_or_default();
        let request = request.limits(overrides).request_id("r1");
        let results = MemoryResultSink::new();
        let sink = SimSink::new(&sim, Arc::new(results.clone()));
        sink.expect(scenario.lines().concat().into_bytes());
        let executions = Arc::new(MemoryExecutionStore::new());
        let mut limits = Limits::default();
        limits.max_duration = None;
        limits.max_result_bytes = 1 << 40;
        limits.read_ahead_bytes = 1 << 40;
        limits.teardown = TEARDOWN;
        let engine = Engine::builder()
            .connectors(Arc::new(SimRegistry::new(&sim, registry)))
            .connection_store(Arc::new(SimConnectionStore::new(&sim, connections)))
            .schema_cache(Arc::new(SimCache::new(&sim, Arc::new(MemorySchemaCache::new()))))
            .execution_store(Arc::new(SimExecutionStore::new(&sim, executions.clone())))
            .result_sink(Arc::new(sink.clone()))
            .observability(Arc::new(SimObservability::new(&sim, Arc::new(Silent))))
            .runtime(Arc::new(SimRuntime::new(&sim)))
            .limits(limits)
            .build()
            .expect("it is wired");
        let (scenario, cancel) = (scenario.clone(), CancelToken::new());
        let (told, canceled) = (Arc::default(), Arc::default());
        Self { scenario, sim, engine, sink, results, executions, request, cancel, canceled, told }
    }

    /// Plans without faults.
    pub(crate) fn plan(&self) -> ExtractionPlan {
        let planning = self.engine.plan_extraction(TENANT, &self.request);
        match drive(&self.sim, planning, &Drive::default()) {
            Ended::Ready(Ok(plan)) => plan,
            other => panic!("planning without faults: {other:?}"),
        }
    }

    /// Plans with faults; only that it ends, and what it leaves, is of interest.
    pub(crate) fn try_to_plan(&self) {
        let mut limits = LimitOverrides::default();
        limits.max_concurrency = self.scenario.concurrency;
        let request = self.request.clone().limits(limits);
        let drive_how = Drive { wakers: self.scenario.wakers, ..Drive::default() };
        // The engine's own deadline bounds planning, and this one has none: what never answers is
        // ended by dropping.
        let planning = self.engine.plan_extraction(TENANT, &request);
        let ended = drive(&self.sim, planning, &drive_how);
        if let Ended::Stuck(reason) = &ended
            && !self.scenario.faults.never
        {
            self.sim.violate(format!("planning: {reason}"));
        }
        if let Ended::Ready(Err(error)) = &ended {
            self.check_secret(&format!("{error} {error:?}"));
        }
        if self.sim.live() > 0 {
            self.sim.violate("planning left a connector");
        }
    }

    pub(crate) fn execute(
        &self,
        plan: &ExtractionPlan,
    ) -> Ended<Result<ExtractionResult, EngineError>> {
        let Scenario { store, collect, wakers, cancel_at, drop_at, .. } = self.scenario;
        let told = Arc::clone(&self.told);
        let count = move |_: &fetcher_engine::Progress<'_>| {
            told.fetch_add(1, Ordering::Relaxed);
        };
        let mut options = ExecuteOptions::new()
            .mode(if store { Mode::Store } else { Mode::Direct })
            .cancel(self.cancel.clone())
            .progress(count)
            .schedule(self.sim.shuffle());
        if collect {
            options = options.failure_policy(FailurePolicy::Collect);
        }
        let token = self.cancel.clone();
        let (sim, canceled) = (self.sim.clone(), Arc::clone(&self.canceled));
        let before = cancel_at.map(|at| -> (u64, Box<dyn Fn() + Send>) {
            let act = move || {
                *canceled.lock().expect("one thread") = Some(sim.now());
                token.cancel();
            };
            (at, Box::new(act))
        });
        let how = Drive { wakers, drop_at, before, ..Drive::default() };
        let running = self.engine.execute_extraction(plan, options);
        let ended = catch_unwind(AssertUnwindSafe(|| drive(&self.sim, running, &how)));
        ended.unwrap_or_else(|_| {
            self.sim.violate("a panic came out of the engine");
            Ended::Stuck("it panicked")
        })
    }

    pub(crate) fn check_secret(&self, shown: &str) {
        if shown.contains(fetcher_engine::testkit::sim::SECRET) {
            self.sim.violate("a secret is shown");
        }
    }

    pub(crate) fn history(&self) -> Vec<fetcher_engine::ports::ExecutionRecord> {
        let tenant = TenantId::parse(TENANT).expect("it is one");
        self.executions.history(&tenant, &RequestId::parse("r1").expect("it is one"))
    }

    /// How many port calls were made.
    pub(crate) fn calls(&self) -> u64 {
        let events = self.sim.events();
        events.iter().filter(|event| event.kind == EventKind::Called).count() as u64
    }
}

/// Panics of the simulation are part of it; only others are printed.
pub(crate) fn quiet_panics() {
    static ONCE: Mutex<bool> = Mutex::new(false);
    let mut done = ONCE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if core::mem::replace(&mut *done, true) {
        return;
    }
    let shown = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let planted = info.payload().downcast_ref::<String>();
        if !planted.is_some_and(|text| text.contains(fetcher_engine::testkit::sim::SECRET)) {
            shown(info);
        }
    }));
}

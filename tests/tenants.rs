//! Two tenants call their connections, tables, ids and requests by the same names and do everything
//! there is to do, in any order and at the same time: neither ever sees anything of the other.

#![cfg(feature = "std")]

extern crate alloc;

mod common;
#[path = "tenants/ports.rs"]
mod ports;
#[path = "tenants/world.rs"]
mod world;

use alloc::sync::Arc;
use core::time::Duration;

use fetcher_engine::ports::ConnectionStore;
use fetcher_engine::{Category, ConnectionInput, Engine, Mode, Output};

use common::{Act, Host, Operation, Task, ready, tenant};
use ports::{Stores, other, own};
use world::{Answer, Dice, Kind, Model, NAMES, Outcome, Step, TENANTS, World, perform, shown};

/// Nothing in a text is of the other tenant.
fn is_own(tenant_id: &str, text: &str, place: &str) {
    let other = other(&tenant(tenant_id));
    assert!(!text.contains(other.as_str()), "{place}: {text}");
}

/// The two tenants' models, and a world in which nothing ever happened.
struct Bench {
    kind: Kind,
    world: World,
    /// For each tenant a world in which it is alone.
    alone: [World; 2],
    empty: World,
    models: [Model; 2],
    nobodys: usize,
}

impl Bench {
    fn new(kind: Kind) -> Self {
        let world = || World::new(kind);
        let models = Default::default();
        let (alone, empty) = ([world(), world()], world());
        Self { kind, world: world(), alone, empty, models, nobodys: 0 }
    }

    /// All ids that anybody has or had: a tenant tries the other's, too.
    fn ids(&self) -> Vec<String> {
        let known = self.models.iter().flat_map(|model| model.connections.values());
        known.map(|known| known.id.clone()).collect()
    }

    fn next_step(&self, dice: &mut Dice, at: usize) -> Step {
        self.models[at].next_step(dice, &self.ids())
    }

    /// Holds what came of a step against the model, against what comes of it where the tenant is
    /// alone, and against what comes of it where there is nothing.
    fn judge(&mut self, at: usize, step: &Step, outcome: &Outcome) {
        let tenant_id = TENANTS[at];
        let text = shown(outcome);
        let place = format!("{:?}: {tenant_id}: {step:?}", self.kind);
        is_own(tenant_id, &text, &place);
        self.models[at].judge(tenant_id, step, outcome);
        if let Ok(Answer::Result(result)) = outcome {
            let bytes = self.world.bytes(tenant_id, result);
            is_own(tenant_id, &bytes, &place);
            assert!(bytes.contains(&format!("row of {tenant_id}")), "{place}: {bytes}");
            if let Output::Stored(receipt) = &result.output {
                let kept = (receipt.reference.clone(), bytes);
                self.models[at].results.push(kept);
            }
        }
        if self.kind != Kind::Shared {
            let alone = shown(&self.alone[at].run(tenant_id, step));
            assert_eq!(text, alone, "{place}");
        }
        let Err(error) = outcome else { return };
        let has_none = self.models[at].connections.is_empty();
        let is_whole = error.report().is_none() || has_none;
        if error.category() == Category::NotFound && is_whole {
            // The first that is missing is told, and where there is nothing that is the first.
            let first = step.plan.as_ref().map(|plan| plan.steps()[0].name().as_str().to_owned());
            if step.operation == Operation::Execute && error.datasource() != first.as_deref() {
                return;
            }
            let nobodys = shown(&self.empty.run(tenant_id, step));
            assert_eq!(text, nobodys, "{place}");
            self.nobodys += 1;
        }
    }

    /// One step of one tenant.
    fn step(&mut self, at: usize, step: &Step) {
        let tenant_id = TENANTS[at];
        self.world.host.probe.clear();
        let outcome = self.world.run(tenant_id, step);
        for call in self.world.host.probe.calls() {
            is_own(tenant_id, &call, "a port call");
            assert!(call.contains(&format!(" {tenant_id}")), "a call for nobody: {call}");
        }
        self.judge(at, step, &outcome);
    }

    /// One step of each tenant, at the same time.
    fn both(&mut self, dice: &mut Dice, steps: &[Step; 2]) {
        let host = &self.world.host;
        host.probe.clear();
        for port in PORTS {
            host.probe.on(port, Act::Wait(Duration::from_millis(1)));
        }
        let engine: &Engine = &self.world.engine;
        let work = |at: usize| Task::new(perform(engine, TENANTS[at], &steps[at]));
        let mut tasks = [work(0), work(1)];
        let mut outcomes = [None, None];
        while outcomes.iter().any(Option::is_none) {
            let at = dice.below(2);
            let at = if outcomes[at].is_none() { at } else { 1 - at };
            if tasks[at].is_woken() {
                outcomes[at] = tasks[at].step();
            } else if outcomes[1 - at].is_some() || !tasks[1 - at].is_woken() {
                assert!(host.clock.advance(), "nobody will ever wake the task");
            }
        }
        drop(tasks);
        for (at, outcome) in outcomes.into_iter().enumerate() {
            self.judge(at, &steps[at], &outcome.unwrap());
        }
    }
}

/// Ports that take a while.
#[rustfmt::skip]
const PORTS: &[&str] = &[
    "store.create", "store.find", "store.find_by_id", "store.update", "store.update_by_id",
    "store.delete", "store.delete_by_id", "store.list", "store.list_paged", "checker.has_active",
    "protector.protect", "cache.get", "cache.put", "cache.invalidate", "connector.connect",
    "connector.discover", "connector.open", "connector.fetch", "connector.close",
    "executions.save", "sink.open", "sink.write", "sink.close",
];

fn play(kind: Kind, seed: u64, steps: usize) {
    let mut dice = Dice(seed);
    let mut bench = Bench::new(kind);
    let mut answered = [0; 2];
    for round in 0..steps {
        if dice.below(4) == 0 {
            let steps = [0, 1].map(|at| bench.next_step(&mut dice, at));
            bench.both(&mut dice, &steps);
        } else {
            let at = dice.below(2);
            let step = bench.next_step(&mut dice, at);
            bench.step(at, &step);
            answered[at] += 1;
        }
        if round % 64 == 0 {
            for (at, tenant_id) in TENANTS.into_iter().enumerate() {
                bench.models[at].look(&bench.world, tenant_id);
            }
        }
    }
    for (at, tenant_id) in TENANTS.into_iter().enumerate() {
        bench.models[at].look(&bench.world, tenant_id);
        assert!(answered[at] > steps / 4, "{answered:?}");
        let results = bench.models[at].results.len();
        assert!(results > steps / 100, "{results} results were stored");
    }
    assert!(bench.nobodys > steps / 50, "somebody else's looked like nobody's");
}

#[test]
fn tenants_who_share_everything_in_memory_see_only_their_own() {
    (1..=3).for_each(|seed| play(Kind::Shared, seed, 2_000));
}

#[test]
fn tenants_whose_ids_are_the_same_see_what_they_would_see_alone() {
    (1..=2).for_each(|seed| play(Kind::Colliding, seed, 2_000));
}

#[test]
fn a_cache_that_mixes_tenants_up_is_not_believed() {
    (1..=2).for_each(|seed| play(Kind::Mixed, seed, 2_000));
}

#[test]
fn a_schema_that_one_tenant_discovers_or_forgets_is_not_the_others() {
    let world = World::new(Kind::Shared);
    let host = &world.host;
    let run = |tenant_id: &str, operation: Operation| {
        let before = host.probe.count("connector.discover");
        let outcome = world.run(tenant_id, &step(operation));
        assert!(outcome.is_ok(), "{}", shown(&outcome));
        is_own(tenant_id, &shown(&outcome), "a schema");
        host.probe.count("connector.discover") - before
    };
    for tenant_id in TENANTS {
        run(tenant_id, Operation::Create);
    }
    for (tenant_id, live) in [("acme", 1), ("globex", 1), ("acme", 0), ("globex", 0)] {
        assert_eq!(run(tenant_id, Operation::Discover), live, "{tenant_id}");
    }
    run("globex", Operation::Update);
    for (tenant_id, live) in [("acme", 0), ("globex", 1), ("acme", 0), ("globex", 0)] {
        assert_eq!(run(tenant_id, Operation::Discover), live, "{tenant_id}");
    }
    run("globex", Operation::Delete);
    assert_eq!(run("acme", Operation::Discover), 0, "it is still remembered");
}

// --- Stores that give out somebody else's.

/// A step of any operation for the first connection.
fn step(operation: Operation) -> Step {
    Step {
        operation,
        name: "a",
        id: "connection-1".into(),
        database: 1,
        names: vec!["a"],
        request_id: "r-1".into(),
        plan: None,
        mode: Mode::Store,
    }
}

/// An engine on these stores.
fn with_stores(stores: &Arc<Stores>) -> (Host, Engine) {
    let host = World::new(Kind::Colliding).host;
    let engine = host.full().connection_store(stores.clone()).build().unwrap();
    (host, engine)
}

/// Gives a tenant a connection of every name.
fn fill(stores: &Stores, tenant_id: &str) {
    let tenant = tenant(tenant_id);
    for name in NAMES {
        let input = ConnectionInput::new(name, "memory").host(format!("{tenant_id}-1"));
        let (draft, _) = input.database(format!("{tenant_id}-1")).into_draft().unwrap();
        ready(stores.of(&tenant).create(&tenant, draft, None)).unwrap();
    }
}

fn hosts(stores: &Stores, tenant_id: &str) -> Vec<String> {
    let tenant = tenant(tenant_id);
    let listed = ready(stores.of(&tenant).list(&tenant)).unwrap();
    listed.into_iter().map(|connection| connection.endpoint.host).collect()
}

#[test]
fn a_store_that_reads_for_somebody_else_finds_nothing() {
    for operation in Operation::ALL {
        // A plan from when globex had such a connection.
        let honest = Arc::new(Stores::new(&TENANTS));
        fill(&honest, "globex");
        let (host, engine) = with_stores(&honest);
        let planned = host.run(perform(&engine, "globex", &step(Operation::Plan)));
        let Ok(Answer::Plan(plan)) = planned else {
            panic!("a plan: {}", shown(&planned));
        };
        let step = Step { plan: Some(plan), ..step(operation) };
        let answers = [false, true].map(|is_there| {
            let mut stores = Stores::new(&TENANTS);
            stores.reads = if is_there { other } else { own };
            if is_there {
                fill(&stores, "acme");
            }
            let before = hosts(&stores, "acme");
            let stores = Arc::new(stores);
            let (host, engine) = with_stores(&stores);
            let outcome = host.run(perform(&engine, "globex", &step));
            assert_eq!(hosts(&stores, "acme"), before, "{operation:?}");
            (shown(&outcome), host.probe.calls())
        });
        let [nowhere, somebodys] = answers;
        assert_eq!(somebodys, nowhere, "{operation:?}");
        is_own("globex", &somebodys.0, "somebody else's");
        let lists = matches!(operation, Operation::List | Operation::ListPaged);
        let expected = if lists { "[]" } else { "NotFound" };
        let is_create = operation == Operation::Create;
        assert!(is_create || somebodys.0.contains(expected), "{operation:?}: {}", somebodys.0);
    }
}

#[test]
fn what_a_store_answers_to_a_change_is_believed_only_of_its_own_tenant() {
    let mut shown_of_others = Vec::new();
    for operation in [Operation::Create, Operation::Update, Operation::UpdateById] {
        let mut stores = Stores::new(&TENANTS);
        fill(&stores, "acme");
        if operation != Operation::Create {
            fill(&stores, "globex");
        }
        stores.answers = other;
        let (host, engine) = with_stores(&Arc::new(stores));
        let text = shown(&host.run(perform(&engine, "globex", &step(operation))));
        if text.contains("acme") {
            shown_of_others.push(format!("{operation:?}: {text}"));
        }
    }
    assert!(shown_of_others.is_empty(), "{shown_of_others:#?}");
}

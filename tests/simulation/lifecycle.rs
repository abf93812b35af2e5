//! The life of connections under simulation: whatever the stores, the protector and the checker do,
//! an operation ends, tells no secret, and leaves a connection whole or not there.

use std::future::Future;
use std::sync::Arc;

use fetcher_engine::connection::ConnectionName;
use fetcher_engine::memory::{
    MemoryConnectionStore, MemoryConnectorRegistry, MemoryDatasource, MemorySchemaCache,
};
use fetcher_engine::ports::{
    ActiveExecutionChecker, ConnectionStore, CredentialProtector, CredentialVault, Protected,
};
use fetcher_engine::testkit::sim::{
    Choices, Drive, Ended, Faults, RootWakers, SECRET, Seeded, Sim, SimCache, SimChecker,
    SimConnectionStore, SimObservability, SimProtector, SimRegistry, SimRuntime, drive,
};
use fetcher_engine::{
    BoxFuture, ConnectionInput, ConnectionPatch, Engine, PortError, Secret, TenantId, block_on,
};

use crate::world::{Silent, TENANT, quiet_panics};

const SEEDS: u64 = 1_500;
const PASSWORD: &str = "s3cr3t-canary in a password";

/// Turns every byte around; for tests only.
struct Mirror;

impl CredentialProtector for Mirror {
    fn protect<'a>(
        &'a self,
        _tenant: &'a TenantId,
        plaintext: &'a Secret,
    ) -> BoxFuture<'a, Result<Protected, PortError>> {
        let turned: Vec<u8> = plaintext.expose().iter().map(|byte| !byte).collect();
        Box::pin(async { Ok(Protected::new(turned, "v1")) })
    }

    fn reveal<'a>(
        &'a self,
        _tenant: &'a TenantId,
        ciphertext: &'a Secret,
        _key_version: &'a str,
    ) -> BoxFuture<'a, Result<Secret, PortError>> {
        let turned: Vec<u8> = ciphertext.expose().iter().map(|byte| !byte).collect();
        Box::pin(async { Ok(Secret::new(turned)) })
    }
}

struct Idle;

impl ActiveExecutionChecker for Idle {
    fn has_active<'a>(
        &'a self,
        _tenant: &'a TenantId,
        _connection: &'a ConnectionName,
    ) -> BoxFuture<'a, Result<bool, PortError>> {
        Box::pin(async { Ok(false) })
    }
}

struct Setting {
    sim: Sim,
    engine: Engine,
    store: Arc<MemoryConnectionStore>,
    how: Drive,
}

impl Setting {
    fn new(seed: u64) -> Self {
        let sim = Sim::new(Seeded::new(seed).fork("lifecycle"));
        let tenant = TenantId::parse(TENANT).expect("it is one");
        sim.expect_tenant(tenant);
        let source = MemoryDatasource::new();
        source.put("d", []).expect("there are no rows");
        let registry = MemoryConnectorRegistry::new().with("memory", Arc::new(source));
        let store = Arc::new(MemoryConnectionStore::new());
        let cache = Arc::new(MemorySchemaCache::new());
        let engine = Engine::builder()
            .connectors(Arc::new(SimRegistry::new(&sim, Arc::new(registry))))
            .connection_store(Arc::new(SimConnectionStore::new(&sim, store.clone())))
            .credential_protector(Arc::new(SimProtector::new(&sim, Arc::new(Mirror))))
            .encrypted_persistence(true)
            .schema_cache(Arc::new(SimCache::new(&sim, cache)))
            .active_execution_checker(Arc::new(SimChecker::new(&sim, Arc::new(Idle))))
            .observability(Arc::new(SimObservability::new(&sim, Arc::new(Silent))))
            .runtime(Arc::new(SimRuntime::new(&sim)))
            .build()
            .expect("it is wired");
        let wakers = [RootWakers::Stable, RootWakers::Sometimes, RootWakers::Always];
        let wakers = wakers[Seeded::new(seed).fork("wakers").below(3) as usize];
        Self { sim, engine, store, how: Drive { wakers, ..Drive::default() } }
    }

    /// Runs an operation to its end; the deadline of five minutes ends what never answers.
    fn run<T, F>(&self, operation: F) -> bool
    where
        T: std::fmt::Debug,
        F: Future<Output = Result<T, fetcher_engine::EngineError>>,
    {
        match drive(&self.sim, operation, &self.how) {
            Ended::Ready(answer) => {
                let shown = format!("{answer:?}");
                assert!(!shown.contains(SECRET), "{shown}");
                answer.is_ok()
            }
            Ended::Stuck(reason) => panic!("stuck: {reason}"),
            _ => panic!("nobody drops it"),
        }
    }

    /// A connection is there with its ciphertext, or not at all.
    fn check_store(&self, name: &str) {
        let tenant = TenantId::parse(TENANT).expect("it is one");
        let name = ConnectionName::parse(name).expect("it is one");
        let found = block_on(self.store.find(&tenant, &name)).expect("memory does not fail");
        let Some(found) = found else { return };
        let stored = block_on(self.store.stored_credential(&tenant, &found.id));
        let stored = stored.expect("memory does not fail").expect("created with a password");
        assert_eq!(stored.key_version.as_deref(), Some("v1"));
        assert!(!stored.bytes.expose().windows(6).any(|bytes| bytes == b"s3cr3t"));
    }
}

#[test]
fn connections_stay_whole_whatever_their_ports_do() {
    quiet_panics();
    let (mut done, mut failed) = (0_u64, 0_u64);
    for seed in 0..SEEDS {
        let setting = Setting::new(seed);
        setting.sim.set_faults(Faults::all(150));
        let engine = &setting.engine;
        for round in 0..6 {
            let name = format!("c{}", round % 2);
            let input = ConnectionInput::new(name.as_str(), "memory").database("d");
            let patch = ConnectionPatch::new().host("elsewhere").password(PASSWORD);
            let well = match setting.sim.below(6) {
                0 | 1 => setting.run(engine.create_connection(TENANT, input.password(PASSWORD))),
                2 => setting.run(engine.update_connection(TENANT, &name, patch)),
                3 => setting.run(engine.delete_connection(TENANT, &name)),
                4 => setting.run(engine.discover_schema(TENANT, &name)),
                _ => setting.run(engine.test_connection(TENANT, &name)),
            };
            if well {
                done += 1
            } else {
                failed += 1
            }
            setting.check_store("c0");
            setting.check_store("c1");
        }
        assert_eq!(setting.sim.violations(), Vec::<String>::new(), "seed {seed}");
        assert_eq!(setting.sim.live(), 0, "seed {seed}");
        setting.sim.set_faults(Faults::default());
        let input = ConnectionInput::new("fresh", "memory").database("d").password(PASSWORD);
        assert!(setting.run(engine.create_connection(TENANT, input)), "seed {seed}");
        assert!(setting.run(engine.discover_schema(TENANT, "fresh")), "seed {seed}");
        assert!(setting.run(engine.delete_connection(TENANT, "fresh")), "seed {seed}");
    }
    crate::say(&format!("operations done={done} failed={failed}"));
    assert!(done > 500 && failed > 500);
}

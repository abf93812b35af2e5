//! The ports that the library does not implement, as toys: a protector that is bound to its tenant
//! but safe for tests only, a checker that counts, an observer that counts.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::Mutex;

use fetcher_engine::connection::ConnectionName;
use fetcher_engine::digest::Sha256;
use fetcher_engine::ports::{
    ActiveExecutionChecker, BoxFuture, CredentialProtector, Observability, Protected, Span,
};
use fetcher_engine::testkit::conformance::{
    active_execution_checker, credential_protector, observability,
};
use fetcher_engine::testkit::sim::SimChecker;
use fetcher_engine::{PortError, Secret, TenantId};

use crate::forward::{Layers, layers};

type Answer<'a, T> = BoxFuture<'a, Result<T, PortError>>;

// --- Checker.

pub(crate) struct Checkers(pub(crate) Layers);

#[derive(Default)]
pub(crate) struct Running(pub(crate) Mutex<BTreeMap<(TenantId, ConnectionName), usize>>);

impl Running {
    pub(crate) fn change(&self, tenant: &TenantId, connection: &ConnectionName, by: isize) {
        let mut running = self.0.lock().unwrap();
        let count = running.entry((tenant.clone(), connection.clone())).or_default();
        *count = count.checked_add_signed(by).unwrap();
    }

    pub(crate) fn count(&self, tenant: &TenantId, connection: &ConnectionName) -> usize {
        let running = self.0.lock().unwrap();
        running.get(&(tenant.clone(), connection.clone())).copied().unwrap_or_default()
    }
}

impl ActiveExecutionChecker for Running {
    fn has_active<'a>(
        &'a self,
        tenant: &'a TenantId,
        connection: &'a ConnectionName,
    ) -> Answer<'a, bool> {
        Box::pin(async move { Ok(self.count(tenant, connection) > 0) })
    }
}

pub(crate) struct CheckerFixture {
    pub(crate) running: Arc<Running>,
    pub(crate) checker: Arc<dyn ActiveExecutionChecker>,
}

impl active_execution_checker::Subject for Checkers {
    fn fresh(&self) -> BoxFuture<'_, Box<dyn active_execution_checker::Fixture>> {
        let running = Arc::new(Running::default());
        let bare = Arc::clone(&running) as _;
        let checker = layers!(ActiveExecutionChecker, self.0, bare, SimChecker);
        Box::pin(async { Box::new(CheckerFixture { running, checker }) as _ })
    }
}

impl active_execution_checker::Fixture for CheckerFixture {
    fn checker(&self) -> &dyn ActiveExecutionChecker {
        &*self.checker
    }

    fn begin<'a>(&'a self, tenant: &'a TenantId, of: &'a ConnectionName) -> BoxFuture<'a, ()> {
        Box::pin(async { self.running.change(tenant, of, 1) })
    }

    fn end<'a>(&'a self, tenant: &'a TenantId, of: &'a ConnectionName) -> BoxFuture<'a, ()> {
        Box::pin(async { self.running.change(tenant, of, -1) })
    }
}

// --- Protector.

pub(crate) struct Protectors(pub(crate) Layers);

/// Each version of the key and each tenant has a key stream, and a tag that is bound to both.
#[derive(Default)]
pub(crate) struct ToyProtector {
    pub(crate) version: AtomicUsize,
    pub(crate) faults: ProtectorFaults,
}

/// What a broken one does wrong.
#[derive(Default)]
pub(crate) struct ProtectorFaults {
    pub(crate) ends_at_zero: bool,
    pub(crate) for_any_tenant: bool,
    pub(crate) in_the_clear: bool,
    pub(crate) forgets_keys: bool,
    pub(crate) takes_anything: bool,
    /// Which call stays busy for ever once it was dropped.
    pub(crate) stays_busy: Option<&'static str>,
    pub(crate) busy: AtomicBool,
}

const TAG: usize = 32;

impl ToyProtector {
    fn hash(&self, tenant: &TenantId, version: &str, salt: &[u8], bytes: &[u8]) -> [u8; TAG] {
        let tenant = if self.faults.for_any_tenant { "anybody" } else { tenant.as_str() };
        let mut hash = Sha256::new();
        for part in [tenant.as_bytes(), version.as_bytes(), salt, bytes] {
            hash.update(&(part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        *hash.finish().as_bytes()
    }

    fn crypt(&self, tenant: &TenantId, version: &str, bytes: &[u8]) -> Vec<u8> {
        if self.faults.in_the_clear {
            return bytes.to_vec();
        }
        let block = |(n, block): (usize, &[u8])| -> Vec<u8> {
            let stream = self.hash(tenant, version, b"stream", &n.to_le_bytes());
            block.iter().zip(stream).map(|(byte, key)| byte ^ key).collect()
        };
        bytes.chunks(TAG).enumerate().flat_map(block).collect()
    }

    fn version(&self) -> String {
        format!("key-{}", self.version.load(SeqCst))
    }

    /// A broken one is busy meanwhile, and does not notice when it is dropped.
    async fn pass(&self, call: &'static str) -> Result<(), PortError> {
        if self.faults.stays_busy == Some(call) {
            if self.faults.busy.swap(true, SeqCst) {
                return Err(PortError::unavailable());
            }
            crate::forward::wait().await;
            self.faults.busy.store(false, SeqCst);
        }
        Ok(())
    }
}

impl CredentialProtector for ToyProtector {
    fn protect<'a>(&'a self, tenant: &'a TenantId, plaintext: &'a Secret) -> Answer<'a, Protected> {
        Box::pin(async move {
            self.pass("protect").await?;
            let version = self.version();
            let mut plaintext = plaintext.expose();
            if self.faults.ends_at_zero {
                plaintext = plaintext.split(|byte| *byte == 0).next().unwrap_or_default();
            }
            let mut sealed = self.crypt(tenant, &version, plaintext);
            sealed.extend(self.hash(tenant, &version, b"tag", plaintext));
            Ok(Protected::new(sealed, version))
        })
    }

    fn reveal<'a>(
        &'a self,
        tenant: &'a TenantId,
        ciphertext: &'a Secret,
        key_version: &'a str,
    ) -> Answer<'a, Secret> {
        Box::pin(async move {
            self.pass("reveal").await?;
            let version: Option<usize> =
                key_version.strip_prefix("key-").and_then(|number| number.parse().ok());
            let newest = self.version.load(SeqCst);
            let known = version.filter(|version| *version <= newest);
            if known.is_none_or(|version| self.faults.forgets_keys && version < newest) {
                return Err(PortError::unavailable());
            }
            let Some((body, tag)) = ciphertext.expose().split_last_chunk::<TAG>() else {
                return Err(PortError::internal());
            };
            let plaintext = self.crypt(tenant, key_version, body);
            if !self.faults.takes_anything
                && *tag != self.hash(tenant, key_version, b"tag", &plaintext)
            {
                return Err(PortError::internal());
            }
            Ok(plaintext.into())
        })
    }
}

pub(crate) struct ProtectorFixture {
    pub(crate) toy: Arc<ToyProtector>,
    pub(crate) protector: Arc<dyn CredentialProtector>,
}

impl credential_protector::Subject for Protectors {
    fn fresh(&self) -> BoxFuture<'_, Box<dyn credential_protector::Fixture>> {
        let toy = Arc::new(ToyProtector::default());
        let protector = layers!(CredentialProtector, self.0, Arc::clone(&toy) as _);
        Box::pin(async { Box::new(ProtectorFixture { toy, protector }) as _ })
    }
}

impl credential_protector::Fixture for ProtectorFixture {
    fn protector(&self) -> &dyn CredentialProtector {
        &*self.protector
    }

    fn rotate(&self) -> BoxFuture<'_, bool> {
        Box::pin(async {
            self.toy.version.fetch_add(1, SeqCst);
            true
        })
    }
}

// --- Observability.

pub(crate) struct Observers(pub(crate) Layers);

#[derive(Clone, Default)]
struct Counter(Arc<AtomicUsize>);

struct CountedSpan(Counter);

impl Observability for Counter {
    fn start_span(&self, _operation: &'static str) -> Box<dyn Span> {
        self.0.fetch_add(1, SeqCst);
        Box::new(CountedSpan(self.clone()))
    }
}

impl Span for CountedSpan {}

impl Drop for CountedSpan {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, SeqCst);
    }
}

struct ObserverFixture {
    counter: Counter,
    observability: Arc<dyn Observability>,
}

impl observability::Subject for Observers {
    fn fresh(&self) -> BoxFuture<'_, Box<dyn observability::Fixture>> {
        let counter = Counter::default();
        let observability = layers!(Observability, self.0, Arc::new(counter.clone()));
        Box::pin(async { Box::new(ObserverFixture { counter, observability }) as _ })
    }
}

impl observability::Fixture for ObserverFixture {
    fn observability(&self) -> &dyn Observability {
        &*self.observability
    }

    fn open_spans(&self) -> Option<usize> {
        Some(self.counter.0.load(SeqCst))
    }
}

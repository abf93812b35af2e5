//! Encrypted persistence from end to end: a password reaches the store only as ciphertext, a
//! connector gets it back, and the key is rotated.
//!
//! The protector in here is a TOY, made so that the example needs nothing but this crate. DO NOT
//! USE it: a host takes an authenticated cipher from a library that was looked at by people who
//! know, such as AES-256-GCM, and keys from a key management service.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fetcher_engine::connection::{ConnectionId, StoredCredential};
use fetcher_engine::digest::Sha256;
use fetcher_engine::memory::{
    MemoryConnectionStore, MemoryConnectorRegistry, MemoryDatasource, Table,
};
use fetcher_engine::ports::{CredentialProtector, CredentialVault, Protected, VaultResolver};
use fetcher_engine::value::{Value, ValueKind};
use fetcher_engine::{
    BoxFuture, Category, ConnectionInput, ConnectionPatch, Engine, EngineError, ExecuteOptions,
    ExtractionRequest, PortError, Secret, TenantId, block_on,
};

const PASSWORD: &str = "correct horse battery staple";
const NEW_PASSWORD: &str = "Tr0ub4dor&3";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    block_on(story())
}

async fn story() -> Result<(), Box<dyn std::error::Error>> {
    let tenant = TenantId::parse("acme")?;
    let protector = Arc::new(ToyProtector::new());
    let store = Arc::new(MemoryConnectionStore::new());
    // A connector asks this for its password. The engine never does.
    let resolver = VaultResolver::new(store.clone()).protector(protector.clone());
    let source = MemoryDatasource::new().credentials(Arc::new(resolver));
    source.put_protected("crm", PASSWORD, [people()])?;
    let registry = MemoryConnectorRegistry::new().with("memory", Arc::new(source.clone()));
    let engine = Engine::builder()
        .connectors(Arc::new(registry))
        .connection_store(store.clone())
        .credential_protector(protector.clone())
        .encrypted_persistence(true)
        .build()?;

    let crm = ConnectionInput::new("crm", "memory").database("crm").password(PASSWORD);
    let crm = engine.create_connection(&tenant, crm).await?;
    let first = stored(&store, &tenant, &crm.id).await?;
    assert_eq!(first.key_version.as_deref(), Some("1"));
    assert!(!shows(&first, PASSWORD), "the store must never see the password");
    println!("the store holds, under key 1: {}", hex(&first));

    println!("the connector gets the password: {} rows", extract(&engine, &tenant).await?);

    // The database gets a new password. With the stored one nobody comes in any more.
    source.put_protected("crm", NEW_PASSWORD, [people()])?;
    let refused = extract(&engine, &tenant).await.err();
    assert_eq!(refused.map(|error| error.category()), Some(Category::Connect));
    println!("the password is changed in the database: the old one is refused");

    // A new key for what is stored from now on; then the new password.
    protector.rotate();
    let patch = ConnectionPatch::new().password(NEW_PASSWORD);
    engine.update_connection(&tenant, "crm", patch).await?;
    let second = stored(&store, &tenant, &crm.id).await?;
    assert_eq!(second.key_version.as_deref(), Some("2"));
    assert!(!shows(&second, NEW_PASSWORD), "nor the new one");
    println!("the store holds, under key 2: {}", hex(&second));
    println!("the connector gets the new one: {} rows", extract(&engine, &tenant).await?);

    // The record from before, out of a backup, is readable for as long as key 1 is kept.
    let old = protector.reveal(&tenant, &first.bytes, "1").await?;
    assert!(old == Secret::from(PASSWORD));
    println!("what key 1 protected can still be read");
    refuses_what_is_not_genuine(&protector, &tenant, &first.bytes).await?;
    println!("but not by another tenant, not with another key, and not once it was touched");
    Ok(())
}

async fn refuses_what_is_not_genuine(
    protector: &ToyProtector,
    tenant: &TenantId,
    ciphertext: &Secret,
) -> Result<(), EngineError> {
    let other = TenantId::parse("globex")?;
    let mut touched = ciphertext.expose().to_vec();
    if let Some(last) = touched.last_mut() {
        *last ^= 1;
    }
    let touched = Secret::new(touched);
    let attempts = [(&other, ciphertext, "1"), (tenant, ciphertext, "2"), (tenant, &touched, "1")];
    for (tenant, ciphertext, version) in attempts {
        let answer = protector.reveal(tenant, ciphertext, version).await;
        assert_eq!(answer.err().map(|error| error.category()), Some(Category::Internal));
    }
    Ok(())
}

fn people() -> Table {
    Table::new("people")
        .key("id", ValueKind::I64)
        .column("name", ValueKind::String)
        .row([Value::from(1), Value::from("Ada")])
        .row([Value::from(2), Value::from("Grace")])
}

async fn extract(engine: &Engine, tenant: &TenantId) -> Result<u64, EngineError> {
    let request = ExtractionRequest::new().table("crm", "people", ["*"]);
    let plan = engine.plan_extraction(tenant, &request).await?;
    Ok(engine.execute_extraction(&plan, ExecuteOptions::new()).await?.rows)
}

/// The record in the store, as a backup or a thief would have it.
async fn stored(
    store: &MemoryConnectionStore,
    tenant: &TenantId,
    id: &ConnectionId,
) -> Result<StoredCredential, PortError> {
    store.stored_credential(tenant, id).await?.ok_or_else(PortError::not_found)
}

fn shows(stored: &StoredCredential, password: &str) -> bool {
    stored.bytes.expose().windows(password.len()).any(|bytes| bytes == password.as_bytes())
}

fn hex(stored: &StoredCredential) -> String {
    stored.bytes.expose().iter().map(|byte| format!("{byte:02x}")).collect()
}

// --- The toy. DO NOT USE.

/// A key stream of SHA-256 and a keyed SHA-256 as the seal. DO NOT USE.
///
/// A ciphertext is `nonce (8) ‖ seal (32) ‖ plaintext XOR key stream`. Tenant and key version are
/// part of what is sealed, so that it is genuine only where it was made for.
struct ToyProtector {
    keys: Mutex<Keys>,
    /// Must never repeat under one key. It begins anew with each process, as do the keys.
    next_nonce: AtomicU64,
}

struct Keys {
    current: u32,
    /// The old ones too. Taking one away makes what it protected unreadable.
    by_version: BTreeMap<String, Secret>,
}

const NONCE: usize = 8;
const SEAL: usize = 32;

impl ToyProtector {
    fn new() -> Self {
        let keys = Keys { current: 0, by_version: BTreeMap::new() };
        let toy = Self { keys: Mutex::new(keys), next_nonce: AtomicU64::new(0) };
        toy.rotate();
        toy
    }

    /// Makes a new current key. A real one would be random and would not be in the source.
    fn rotate(&self) {
        let mut keys = self.lock();
        keys.current += 1;
        let version = keys.current.to_string();
        let key = Secret::from(format!("toy key number {version}"));
        keys.by_version.insert(version, key);
    }

    fn lock(&self) -> MutexGuard<'_, Keys> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn seal(&self, tenant: &TenantId, plaintext: &Secret) -> Result<Protected, PortError> {
        let keys = self.lock();
        let version = keys.current.to_string();
        let key = keys.by_version.get(&version).ok_or_else(PortError::unavailable)?;
        let nonce = self.next_nonce.fetch_add(1, Ordering::Relaxed).to_le_bytes();
        let scope = Scope { key, tenant, version: &version, nonce: &nonce };
        let body = scope.xor(plaintext.expose());
        let ciphertext = [&nonce[..], &scope.seal(&body), &body].concat();
        Ok(Protected::new(ciphertext, version))
    }

    fn open(
        &self,
        tenant: &TenantId,
        ciphertext: &Secret,
        version: &str,
    ) -> Result<Secret, PortError> {
        let keys = self.lock();
        let gone = || PortError::unavailable().caused_by("no key of this version");
        let key = keys.by_version.get(version).ok_or_else(gone)?;
        let not_genuine = || PortError::internal().caused_by("the ciphertext is not genuine");
        let bytes = ciphertext.expose();
        let (head, body) = bytes.split_at_checked(NONCE + SEAL).ok_or_else(not_genuine)?;
        let (nonce, seal) = head.split_at(NONCE);
        let scope = Scope { key, tenant, version, nonce };
        // Secrets compare in constant time.
        if Secret::new(scope.seal(body).to_vec()) != Secret::new(seal.to_vec()) {
            return Err(not_genuine());
        }
        Ok(Secret::new(scope.xor(body)))
    }
}

impl CredentialProtector for ToyProtector {
    fn protect<'a>(
        &'a self,
        tenant: &'a TenantId,
        plaintext: &'a Secret,
    ) -> BoxFuture<'a, Result<Protected, PortError>> {
        Box::pin(async move { self.seal(tenant, plaintext) })
    }

    fn reveal<'a>(
        &'a self,
        tenant: &'a TenantId,
        ciphertext: &'a Secret,
        key_version: &'a str,
    ) -> BoxFuture<'a, Result<Secret, PortError>> {
        Box::pin(async move { self.open(tenant, ciphertext, key_version) })
    }
}

/// What one ciphertext is bound to.
struct Scope<'a> {
    key: &'a Secret,
    tenant: &'a TenantId,
    version: &'a str,
    nonce: &'a [u8],
}

impl Scope<'_> {
    /// Hashes the key, what the hash is for, and all that the ciphertext is bound to.
    fn hash(&self, purpose: &str, more: &[u8]) -> [u8; 32] {
        let tenant = self.tenant.as_str().as_bytes();
        let version = self.version.as_bytes();
        let mut inner = Sha256::new();
        for part in [self.key.expose(), purpose.as_bytes(), tenant, version, self.nonce, more] {
            // Each part with its length, so that no two lists of parts look the same.
            inner.update(&(part.len() as u64).to_le_bytes());
            inner.update(part);
        }
        // Twice, because a plain SHA-256 can be extended by whoever does not know the key.
        let mut outer = Sha256::new();
        outer.update(self.key.expose());
        outer.update(inner.finish().as_bytes());
        *outer.finish().as_bytes()
    }

    fn seal(&self, body: &[u8]) -> [u8; SEAL] {
        self.hash("seal", body)
    }

    /// Encrypts and, done again, decrypts.
    fn xor(&self, text: &[u8]) -> Vec<u8> {
        let stream = (0_u64..).flat_map(|block| self.hash("stream", &block.to_le_bytes()));
        text.iter().zip(stream).map(|(byte, key)| byte ^ key).collect()
    }
}

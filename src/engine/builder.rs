//! Wiring: which ports the host hands in. Keeps true: an engine that was built has all that its
//! configuration needs.

use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;

use super::{Engine, Inner};
use crate::error::{EngineError, Stage, text};
use crate::limits::Limits;
use crate::ports::{
    ActiveExecutionChecker, ConnectionStore, ConnectorLimits, ConnectorRegistry,
    CredentialProtector, ExecutionStore, Observability, ResultSink, SchemaCache,
};
use crate::rt::Runtime;
use crate::run::Ports;

/// Collects ports and limits.
///
/// | port | without it |
/// | --- | --- |
/// | [`connectors`](Self::connectors) | `build()` fails |
/// | [`credential_protector`](Self::credential_protector) | with encrypted persistence `build()` fails; else passwords reach the store unprotected |
/// | [`connection_store`](Self::connection_store) | every operation except `limits()` fails |
/// | [`execution_store`](Self::execution_store) | no durable execution state |
/// | [`result_sink`](Self::result_sink) | no store mode |
/// | [`schema_cache`](Self::schema_cache) | schemas are always discovered live |
/// | [`active_execution_checker`](Self::active_execution_checker) | updates and deletes go ahead |
/// | [`observability`](Self::observability) | spans vanish |
#[derive(Clone)]
pub struct EngineBuilder {
    connectors: Option<Arc<dyn ConnectorRegistry>>,
    protector: Option<Arc<dyn CredentialProtector>>,
    connections: Option<Arc<dyn ConnectionStore>>,
    executions: Option<Arc<dyn ExecutionStore>>,
    sink: Option<Arc<dyn ResultSink>>,
    cache: Option<Arc<dyn SchemaCache>>,
    checker: Option<Arc<dyn ActiveExecutionChecker>>,
    observability: Option<Arc<dyn Observability>>,
    runtime: Option<Arc<dyn Runtime>>,
    encrypted_persistence: bool,
    /// Set only where the host did.
    limits: Option<Limits>,
    connector_limits: ConnectorLimits,
}

impl Default for EngineBuilder {
    fn default() -> Self {
        #[cfg(feature = "std")]
        let runtime: Option<Arc<dyn Runtime>> = Some(Arc::new(crate::rt::StdRuntime));
        #[cfg(not(feature = "std"))]
        let runtime = None;
        Self {
            connectors: None,
            protector: None,
            connections: None,
            executions: None,
            sink: None,
            cache: None,
            checker: None,
            observability: None,
            runtime,
            encrypted_persistence: false,
            limits: None,
            connector_limits: ConnectorLimits::new(),
        }
    }
}

impl EngineBuilder {
    /// Which connectors there are. Required.
    #[must_use]
    pub fn connectors(mut self, registry: Arc<dyn ConnectorRegistry>) -> Self {
        self.connectors = Some(registry);
        self
    }

    /// What protects credentials before they reach the store.
    #[must_use]
    pub fn credential_protector(mut self, protector: Arc<dyn CredentialProtector>) -> Self {
        self.protector = Some(protector);
        self
    }

    /// Where connections live.
    #[must_use]
    pub fn connection_store(mut self, store: Arc<dyn ConnectionStore>) -> Self {
        self.connections = Some(store);
        self
    }

    /// Where the state of executions is kept.
    #[must_use]
    pub fn execution_store(mut self, store: Arc<dyn ExecutionStore>) -> Self {
        self.executions = Some(store);
        self
    }

    /// Where results go in store mode.
    #[must_use]
    pub fn result_sink(mut self, sink: Arc<dyn ResultSink>) -> Self {
        self.sink = Some(sink);
        self
    }

    /// What remembers schemas.
    #[must_use]
    pub fn schema_cache(mut self, cache: Arc<dyn SchemaCache>) -> Self {
        self.cache = Some(cache);
        self
    }

    /// What knows of active executions.
    #[must_use]
    pub fn active_execution_checker(mut self, checker: Arc<dyn ActiveExecutionChecker>) -> Self {
        self.checker = Some(checker);
        self
    }

    /// What gets spans and the private causes of failures.
    #[must_use]
    pub fn observability(mut self, observability: Arc<dyn Observability>) -> Self {
        self.observability = Some(observability);
        self
    }

    /// The host's own clock and timer. Under `std` there is a default.
    #[must_use]
    pub fn runtime(mut self, runtime: Arc<dyn Runtime>) -> Self {
        self.runtime = Some(runtime);
        self
    }

    /// No clock and no timer: deadlines and teardown budgets do not exist.
    #[must_use]
    pub fn without_runtime(mut self) -> Self {
        self.runtime = None;
        self
    }

    /// Whether credentials are protected before they reach the store. Default: they are not.
    #[must_use]
    pub fn encrypted_persistence(mut self, encrypted: bool) -> Self {
        self.encrypted_persistence = encrypted;
        self
    }

    /// The engine's limits.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = Some(limits);
        self
    }

    /// One more hard limit that only connectors understand; handed to each of them as it is.
    #[must_use]
    pub fn connector_limit(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.connector_limits.insert(name.into(), value.into());
        self
    }

    /// Builds the engine.
    ///
    /// # Errors
    /// `validation` when the configuration is not sound: no connector registry; encrypted
    /// persistence without a protector; a limit of zero; a deadline that was asked for and no
    /// runtime to keep it.
    pub fn build(self) -> Result<Engine, EngineError> {
        let refuse = |message| Err(EngineError::validation(Stage::Configure, message));
        let Some(connectors) = self.connectors else {
            return refuse(text::REGISTRY_REQUIRED);
        };
        if self.encrypted_persistence && self.protector.is_none() {
            return refuse(text::PROTECTOR_REQUIRED);
        }
        let configured = self.limits.is_some();
        let mut limits = self.limits.unwrap_or_default();
        limits.check()?;
        if self.runtime.is_none() {
            if configured && limits.max_duration.is_some() {
                return refuse(text::TIMER_REQUIRED);
            }
            // A deadline that nobody asked for is given up where nobody can keep it.
            limits.max_duration = None;
        }
        let ports = Ports {
            connectors,
            protector: self.protector,
            connections: self.connections,
            executions: self.executions,
            sink: self.sink,
            cache: self.cache,
            checker: self.checker,
            observability: self.observability,
            runtime: self.runtime,
            connector_limits: Arc::new(self.connector_limits),
        };
        Ok(Engine(Arc::new(Inner {
            ports: Arc::new(ports),
            limits,
            encrypted_persistence: self.encrypted_persistence,
        })))
    }
}

impl fmt::Debug for EngineBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EngineBuilder")
            .field("limits", &self.limits)
            .field("encrypted_persistence", &self.encrypted_persistence)
            .finish_non_exhaustive()
    }
}

//! A connector registry whose factories and connectors are behind the probe.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;

use fetcher_engine::PortError;
use fetcher_engine::encode::RowBatch;
use fetcher_engine::ports::{
    BoxFuture, Connector, ConnectorContext, ConnectorFactory, ConnectorRegistry, Fetched, Query,
};
use fetcher_engine::schema::TableSchema;

use super::Probe;

type Answer<'a, T> = BoxFuture<'a, Result<T, PortError>>;

/// Knows the factories that were put into it.
#[derive(Clone)]
pub(crate) struct WatchedRegistry {
    probe: Probe,
    factories: BTreeMap<String, Arc<dyn ConnectorFactory>>,
}

impl WatchedRegistry {
    pub(crate) fn new(probe: Probe) -> Self {
        let factories = BTreeMap::new();
        Self { probe, factories }
    }

    pub(crate) fn with(mut self, kind: &str, inner: Arc<dyn ConnectorFactory>) -> Self {
        let probe = self.probe.clone();
        let factory = Arc::new(WatchedFactory { probe, inner });
        self.factories.insert(kind.to_owned(), factory);
        self
    }
}

impl ConnectorRegistry for WatchedRegistry {
    fn factory(&self, kind: &str) -> Option<Arc<dyn ConnectorFactory>> {
        let _ = self.probe.now(format!("registry.factory {kind}"));
        self.factories.get(kind).map(Arc::clone)
    }
}

struct WatchedFactory {
    probe: Probe,
    inner: Arc<dyn ConnectorFactory>,
}

impl ConnectorFactory for WatchedFactory {
    fn build(&self, context: ConnectorContext) -> Result<Box<dyn Connector>, PortError> {
        let place = format!("{} {}", context.tenant, context.connection.name);
        self.probe.now(format!("factory.build {place}"))?;
        Ok(Box::new(WatchedConnector {
            inner: Some(self.inner.build(context)?),
            probe: self.probe.clone(),
            place,
        }))
    }

    fn canonical_table(&self, name: &str) -> Option<Arc<str>> {
        let _ = self.probe.now(format!("factory.canonical {name}"));
        self.inner.canonical_table(name)
    }
}

struct WatchedConnector {
    /// Gone once it was closed.
    inner: Option<Box<dyn Connector>>,
    probe: Probe,
    place: String,
}

impl WatchedConnector {
    fn line(&self, method: &str) -> String {
        format!("connector.{method} {}", self.place)
    }

    fn inner(&mut self) -> &mut dyn Connector {
        &mut **self.inner.as_mut().expect("the connector is not closed")
    }
}

impl Connector for WatchedConnector {
    fn connect(&mut self) -> Answer<'_, ()> {
        let (probe, line) = (self.probe.clone(), self.line("connect"));
        probe.call(line, move || self.inner().connect())
    }

    fn discover_schema(&mut self) -> Answer<'_, Vec<TableSchema>> {
        let (probe, line) = (self.probe.clone(), self.line("discover"));
        probe.call(line, move || self.inner().discover_schema())
    }

    fn open(&mut self, query: Query) -> Answer<'_, ()> {
        let (probe, line) = (self.probe.clone(), self.line("open"));
        let left = query.time_left.map(|left| format!(" {left:?}"));
        let line = line + &left.unwrap_or_default();
        probe.call(line, move || self.inner().open(query))
    }

    fn fetch(&mut self, batch: RowBatch) -> Answer<'_, (RowBatch, Fetched)> {
        let (probe, line) = (self.probe.clone(), self.line("fetch"));
        probe.call(line, move || self.inner().fetch(batch))
    }

    fn close(mut self: Box<Self>) -> Answer<'static, ()> {
        let (probe, line) = (self.probe.clone(), self.line("close"));
        let inner = self.inner.take().expect("the connector is not closed");
        probe.call(line, move || inner.close())
    }
}

impl Drop for WatchedConnector {
    fn drop(&mut self) {
        if self.inner.is_some() {
            self.probe.note(self.line("drop"));
        }
    }
}

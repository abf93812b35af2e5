//! Connectors under a simulation: any registry's, with faults; and a check of how they are used.
//!
//! Keeps true: a call out of order, on a closed connector or after a failed or dropped call is a
//! violation.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use super::faults::{Ending, Handle, Script};
use super::{EventKind, Failing, Sim, Site};
use crate::encode::RowBatch;
use crate::error::PortError;
use crate::ports::{
    BoxFuture, Connector, ConnectorContext, ConnectorFactory, ConnectorRegistry, Fetched, Query,
};
use crate::schema::TableSchema;

/// A connector registry whose connectors are under a simulation.
pub struct SimRegistry {
    sim: Sim,
    inner: Arc<dyn ConnectorRegistry>,
}

impl SimRegistry {
    /// Puts a registry under a simulation.
    #[must_use]
    pub fn new(sim: &Sim, inner: Arc<dyn ConnectorRegistry>) -> Self {
        Self { sim: sim.clone(), inner }
    }
}

impl fmt::Debug for SimRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimRegistry").field("sim", &self.sim).finish_non_exhaustive()
    }
}

impl ConnectorRegistry for SimRegistry {
    fn factory(&self, kind: &str) -> Option<Arc<dyn ConnectorFactory>> {
        let inner = self.inner.factory(kind)?;
        Some(Arc::new(SimFactory { sim: self.sim.clone(), inner }))
    }
}

struct SimFactory {
    sim: Sim,
    inner: Arc<dyn ConnectorFactory>,
}

impl ConnectorFactory for SimFactory {
    fn build(&self, context: ConnectorContext) -> Result<Box<dyn Connector>, PortError> {
        let subject: String = context.connection.name.as_str().into();
        self.sim.call_for(Site::Build, &context.tenant);
        self.sim.note(Site::Build, &subject, EventKind::Called);
        match self.sim.script(Site::Build).ending {
            Ending::FailBefore(category) | Ending::FailAfter(category) => {
                return Err(self.sim.failure(Site::Build, &subject, category));
            }
            Ending::PanicBefore | Ending::PanicAfter => self.sim.panic(Site::Build, &subject),
            _ => {}
        }
        let inner = self.inner.build(context)?;
        let handle = self.sim.open_handle(Site::Build, &subject);
        let sim = self.sim.clone();
        Ok(Box::new(SimConnector { sim, inner, subject, handle, life: Life::Built, table: None }))
    }

    fn canonical_table(&self, name: &str) -> Option<Arc<str>> {
        self.inner.canonical_table(name)
    }
}

/// What may come next.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Life {
    Built,
    Connected,
    Open,
    /// After an end, an error or a dropped call: only `close`.
    Spent,
}

struct SimConnector {
    sim: Sim,
    inner: Box<dyn Connector>,
    subject: String,
    handle: Handle,
    life: Life,
    /// A table of the query, to drift from.
    table: Option<String>,
}

impl SimConnector {
    /// Begins a call that is legal in this state. Until it answers, only `close` is.
    fn begin(&mut self, site: Site, legal: Life) -> Script {
        self.sim.note(site, &self.subject, EventKind::Called);
        if self.life != legal {
            self.sim.violate(alloc::format!("{site:?} was called in state {:?}", self.life));
        }
        self.life = Life::Spent;
        let script = self.sim.script(site);
        // Some panic while they are called, the others while they are polled.
        if script.ending == Ending::PanicBefore && script.yields == 0 && script.delay.is_zero() {
            self.sim.panic(site, &self.subject);
        }
        script
    }

    fn done(&mut self, site: Site, next: Life) {
        self.life = next;
        self.sim.note(site, &self.subject, EventKind::Done { rows: 0, bytes: 0, end: false });
    }
}

impl Connector for SimConnector {
    fn connect(&mut self) -> BoxFuture<'_, Result<(), PortError>> {
        let script = self.begin(Site::Connect, Life::Built);
        Box::pin(async move {
            let call = self.inner.connect();
            self.sim.play(Site::Connect, &self.subject, script, call).await?;
            self.done(Site::Connect, Life::Connected);
            Ok(())
        })
    }

    fn discover_schema(&mut self) -> BoxFuture<'_, Result<Vec<TableSchema>, PortError>> {
        let script = self.begin(Site::Discover, Life::Connected);
        Box::pin(async move {
            let call = self.inner.discover_schema();
            let schema = self.sim.play(Site::Discover, &self.subject, script, call).await?;
            self.done(Site::Discover, Life::Connected);
            Ok(schema)
        })
    }

    fn open(&mut self, query: Query) -> BoxFuture<'_, Result<(), PortError>> {
        let script = self.begin(Site::Open, Life::Connected);
        self.table = query.tables.first().map(|table| table.name().into());
        Box::pin(async move {
            let call = self.inner.open(query);
            self.sim.play(Site::Open, &self.subject, script, call).await?;
            self.done(Site::Open, Life::Open);
            Ok(())
        })
    }

    fn fetch(
        &mut self,
        mut batch: RowBatch,
    ) -> BoxFuture<'_, Result<(RowBatch, Fetched), PortError>> {
        let script = self.begin(Site::Fetch, Life::Open);
        Box::pin(async move {
            let rows = self.sim.batch_rows();
            match script.ending {
                Ending::EmptyBatch => {
                    let nothing = async { Ok(()) };
                    self.sim.play(Site::Fetch, &self.subject, script, nothing).await?;
                    self.done(Site::Fetch, Life::Open);
                    return Ok((batch, Fetched::More));
                }
                Ending::Drift => {
                    let table = self.table.clone().unwrap_or_default();
                    // The fault stays in the batch, and that is how it gets out.
                    let _ = batch.table(&table, &["drifted"]);
                }
                Ending::LargeBatch => batch.full_after(u64::MAX),
                _ => batch.full_after(rows),
            }
            let drifted = batch.fault().is_some();
            let call = self.inner.fetch(batch);
            let answer = self.sim.play(Site::Fetch, &self.subject, script, call).await;
            let (batch, fetched) = answer?;
            if drifted {
                let kind = EventKind::Failed(Failing::Batch);
                self.sim.note(Site::Fetch, &self.subject, kind);
                return Ok((batch, fetched));
            }
            self.life = if fetched == Fetched::End { Life::Spent } else { Life::Open };
            let (rows, bytes) = (batch.rows(), batch.encoded().len() as u64);
            let end = fetched == Fetched::End;
            self.sim.note(Site::Fetch, &self.subject, EventKind::Done { rows, bytes, end });
            Ok((batch, fetched))
        })
    }

    fn close(self: Box<Self>) -> BoxFuture<'static, Result<(), PortError>> {
        let mut this = *self;
        let legal = this.life;
        let script = this.begin(Site::Close, legal);
        Box::pin(async move {
            let Self { sim, inner, subject, handle, .. } = this;
            let answer = sim.play(Site::Close, &subject, script, inner.close()).await;
            drop(handle);
            answer
        })
    }
}

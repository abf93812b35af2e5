//! A result sink under a simulation.
//!
//! Keeps true: what it takes is at all times a prefix of what is expected; `close` comes only when
//! all of it was taken; anything else is a violation.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use std::sync::{Mutex, PoisonError};

use super::faults::{Ending, Handle, Script};
use super::{EventKind, Sim, Site};
use crate::error::PortError;
use crate::extraction::Receipt;
use crate::ports::{BoxFuture, ResultHeader, ResultSink, ResultWriter};
use crate::tenant::TenantId;

/// A sink whose writers are under a simulation.
#[derive(Clone)]
pub struct SimSink {
    sim: Sim,
    inner: Arc<dyn ResultSink>,
    stream: Arc<Mutex<Stream>>,
}

#[derive(Default)]
struct Stream {
    expected: Option<Vec<u8>>,
    taken: Vec<u8>,
}

impl SimSink {
    /// Puts a sink under a simulation.
    #[must_use]
    pub fn new(sim: &Sim, inner: Arc<dyn ResultSink>) -> Self {
        Self { sim: sim.clone(), inner, stream: Arc::default() }
    }

    /// Sets what a complete result is.
    pub fn expect(&self, bytes: Vec<u8>) {
        self.stream().expected = Some(bytes);
    }

    /// What the latest stream has taken.
    #[must_use]
    pub fn taken(&self) -> Vec<u8> {
        self.stream().taken.clone()
    }

    fn stream(&self) -> std::sync::MutexGuard<'_, Stream> {
        self.stream.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, bytes: &[u8]) {
        let mut stream = self.stream();
        stream.taken.extend_from_slice(bytes);
        let differs =
            stream.expected.as_ref().is_some_and(|expected| !expected.starts_with(&stream.taken));
        drop(stream);
        if differs {
            self.sim.violate("the sink got bytes that a sequential run does not write");
        }
    }

    fn check_complete(&self) {
        let stream = self.stream();
        let complete = stream.expected.as_ref().is_none_or(|all| all.len() == stream.taken.len());
        drop(stream);
        if !complete {
            self.sim.violate("the writer was closed before it had everything");
        }
    }
}

impl fmt::Debug for SimSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimSink").field("sim", &self.sim).finish_non_exhaustive()
    }
}

impl ResultSink for SimSink {
    fn open_stream<'a>(
        &'a self,
        tenant: &'a TenantId,
        header: ResultHeader,
    ) -> BoxFuture<'a, Result<Box<dyn ResultWriter>, PortError>> {
        let script = self.sim.begin_call(Site::SinkOpen, "", Some(tenant));
        Box::pin(async move {
            self.stream().taken.clear();
            let open = self.inner.open_stream(tenant, header);
            let inner = self.sim.play(Site::SinkOpen, "", script, open).await?;
            let handle = self.sim.open_handle(Site::SinkOpen, "");
            let writer: Box<dyn ResultWriter> =
                Box::new(SimWriter { sink: self.clone(), inner, handle, spent: false });
            Ok(writer)
        })
    }
}

struct SimWriter {
    sink: SimSink,
    inner: Box<dyn ResultWriter>,
    handle: Handle,
    /// After an error or a dropped call: only `abort`.
    spent: bool,
}

impl SimWriter {
    fn begin(&mut self, site: Site) -> Script {
        if self.spent && site != Site::Abort {
            self.sink.sim.violate(String::from("a writer was used after a failed write"));
        }
        self.sink.sim.begin_call(site, "", None)
    }
}

impl ResultWriter for SimWriter {
    fn write<'a>(&'a mut self, bytes: &'a [u8]) -> BoxFuture<'a, Result<(), PortError>> {
        let script = self.begin(Site::Write);
        self.spent = true;
        Box::pin(async move {
            let Self { sink, inner, spent, .. } = self;
            let effect = async {
                inner.write(bytes).await?;
                sink.take(bytes);
                Ok(())
            };
            sink.sim.play(Site::Write, "", script, effect).await?;
            *spent = false;
            let kind = EventKind::Done { rows: 0, bytes: bytes.len() as u64, end: false };
            sink.sim.note(Site::Write, "", kind);
            Ok(())
        })
    }

    fn close(mut self: Box<Self>) -> BoxFuture<'static, Result<Receipt, PortError>> {
        let script = self.begin(Site::SinkClose);
        self.sink.check_complete();
        Box::pin(async move {
            let Self { sink, inner, handle, .. } = *self;
            let answer = sink.sim.play(Site::SinkClose, "", script, inner.close()).await;
            if answer.is_ok() {
                sink.sim.note(
                    Site::SinkClose,
                    "",
                    EventKind::Done { rows: 0, bytes: 0, end: false },
                );
            }
            drop(handle);
            answer
        })
    }

    fn abort(mut self: Box<Self>) -> BoxFuture<'static, Result<(), PortError>> {
        let script = self.begin(Site::Abort);
        Box::pin(async move {
            let Self { sink, inner, handle, .. } = *self;
            let answer = sink.sim.play(Site::Abort, "", script, inner.abort()).await;
            drop(handle);
            answer
        })
    }
}

impl Sim {
    /// Notes a call and decides what becomes of it.
    pub(super) fn begin_call(
        &self,
        site: Site,
        subject: &str,
        tenant: Option<&TenantId>,
    ) -> Script {
        if let Some(tenant) = tenant {
            self.call_for(site, tenant);
        }
        self.note(site, subject, EventKind::Called);
        let script = self.script(site);
        // Some panic while they are called, the others while they are polled.
        if script.ending == Ending::PanicBefore && script.yields == 0 && script.delay.is_zero() {
            self.panic(site, subject);
        }
        script
    }
}

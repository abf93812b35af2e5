//! Broken result sinks.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use std::sync::Mutex;

use fetcher_engine::extraction::Receipt;
use fetcher_engine::ports::{BoxFuture, ResultHeader, ResultSink, ResultWriter};
use fetcher_engine::testkit::conformance::result_sink::{Fixture, Subject};
use fetcher_engine::{PortError, TenantId};

use crate::forward::wait;
use crate::memory::tenant;

type Answer<'a, T> = BoxFuture<'a, Result<T, PortError>>;

#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    VisibleAtOnce,
    OneTenant,
    OneBuffer,
    ReservesAPlace,
    PersistsInTwoSteps,
    WritesShort,
    OneName,
    ClosesInTwoSteps,
    AbortKeeps,
    AbortNeedsAWholeWrite,
    DropKeeps,
    AbortLeavesAnUpload,
    ClosesWithoutAStorage,
    LeavesHalfOfAPayload,
}

struct Broken(Fault);

#[derive(Clone)]
struct Sink {
    fault: Fault,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    next: usize,
    open: usize,
    is_down: bool,
    shared: Vec<u8>,
    results: BTreeMap<(TenantId, String), Vec<u8>>,
}

struct Writer {
    sink: Sink,
    key: (TenantId, String),
    bytes: Vec<u8>,
    is_writing: bool,
    is_over: bool,
}

impl Sink {
    fn is(&self, fault: Fault) -> bool {
        self.fault == fault
    }

    fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut self.state.lock().unwrap())
    }

    /// A place for one more result.
    fn key(&self, of: &TenantId) -> (TenantId, String) {
        let of = if self.is(Fault::OneTenant) { tenant() } else { of.clone() };
        let next = self.with(|state| {
            state.next += 1;
            state.next
        });
        let name = if self.is(Fault::OneName) { "result".into() } else { format!("result-{next}") };
        (of, name)
    }

    /// An error if the storage is down.
    fn up(&self) -> Result<(), PortError> {
        match self.with(|state| state.is_down) {
            true => Err(PortError::unavailable()),
            false => Ok(()),
        }
    }

    fn put(&self, key: &(TenantId, String), bytes: &[u8]) {
        self.with(|state| state.results.insert(key.clone(), bytes.to_vec()));
    }

    fn remove(&self, key: &(TenantId, String)) {
        self.with(|state| state.results.remove(key));
    }
}

impl ResultSink for Sink {
    fn open_stream<'a>(
        &'a self,
        tenant: &'a TenantId,
        _header: ResultHeader,
    ) -> Answer<'a, Box<dyn ResultWriter>> {
        Box::pin(async move {
            let (sink, key) = (self.clone(), self.key(tenant));
            if self.is(Fault::ReservesAPlace) {
                self.put(&key, b"");
                wait().await;
                self.remove(&key);
            }
            self.with(|state| state.open += 1);
            let bytes = Vec::new();
            Ok(Box::new(Writer { sink, key, bytes, is_writing: false, is_over: false }) as _)
        })
    }

    fn persist<'a>(
        &'a self,
        tenant: &'a TenantId,
        _header: ResultHeader,
        payload: &'a [u8],
    ) -> Answer<'a, Receipt> {
        Box::pin(async move {
            let key = self.key(tenant);
            if self.is(Fault::PersistsInTwoSteps) {
                self.put(&key, &payload[..payload.len() / 2]);
                wait().await;
            }
            if self.is(Fault::LeavesHalfOfAPayload) {
                self.put(&key, b"");
            }
            self.up()?;
            self.put(&key, payload);
            Ok(Receipt::new(key.1))
        })
    }
}

impl ResultWriter for Writer {
    fn write<'a>(&'a mut self, mut bytes: &'a [u8]) -> Answer<'a, ()> {
        Box::pin(async move {
            if self.sink.is(Fault::WritesShort) {
                bytes = &bytes[..bytes.len().min(65_536)];
            }
            self.is_writing = true;
            wait().await;
            self.is_writing = false;
            self.bytes.extend_from_slice(bytes);
            self.sink.with(|state| state.shared.extend_from_slice(bytes));
            if self.sink.is(Fault::VisibleAtOnce) {
                self.sink.put(&self.key, &self.bytes);
            }
            Ok(())
        })
    }

    fn close(mut self: Box<Self>) -> Answer<'static, Receipt> {
        Box::pin(async move {
            if self.sink.is(Fault::OneBuffer) {
                self.bytes = self.sink.with(|state| state.shared.clone());
            }
            if self.sink.is(Fault::ClosesInTwoSteps) {
                self.sink.put(&self.key, &self.bytes[..self.bytes.len() / 2]);
                wait().await;
            }
            self.is_over = true;
            if !self.sink.is(Fault::ClosesWithoutAStorage) {
                self.sink.up()?;
            }
            self.sink.put(&self.key, &self.bytes);
            Ok(Receipt::new(&*self.key.1))
        })
    }

    fn abort(self: Box<Self>) -> Answer<'static, ()> {
        Box::pin(async move {
            if self.sink.is(Fault::AbortKeeps) {
                self.sink.put(&self.key, &self.bytes);
            }
            if self.sink.is(Fault::AbortLeavesAnUpload) {
                self.sink.with(|state| state.open += 1);
            }
            if self.sink.is(Fault::AbortNeedsAWholeWrite) && self.is_writing {
                return Err(PortError::internal());
            }
            Ok(())
        })
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.sink.with(|state| state.open -= 1);
        if self.sink.is(Fault::DropKeeps) && !self.is_over {
            self.sink.put(&self.key, &self.bytes);
        }
    }
}

impl Subject for Broken {
    fn fresh(&self) -> BoxFuture<'_, Box<dyn Fixture>> {
        let sink = Sink { fault: self.0, state: Arc::default() };
        Box::pin(async { Box::new(sink) as _ })
    }
}

impl Fixture for Sink {
    fn sink(&self) -> &dyn ResultSink {
        self
    }

    fn results<'a>(&'a self, of: &'a TenantId) -> BoxFuture<'a, BTreeMap<String, Vec<u8>>> {
        Box::pin(async move {
            let of = if self.is(Fault::OneTenant) { tenant() } else { of.clone() };
            let results = self.with(|state| state.results.clone());
            let own = results.into_iter().filter(|((tenant, _), _)| *tenant == of);
            own.map(|((_, reference), bytes)| (reference, bytes)).collect()
        })
    }

    fn unfinished(&self) -> BoxFuture<'_, Option<usize>> {
        Box::pin(async { Some(self.with(|state| state.open)) })
    }

    fn break_down(&self) -> BoxFuture<'_, bool> {
        self.with(|state| state.is_down = true);
        Box::pin(async { true })
    }
}

crate::broken::twins! {
    result_sink,
    unbroken: Broken(Fault::None),
    c1_invisible_before_close => Broken(Fault::VisibleAtOnce),
    c2_scoped_by_tenant => Broken(Fault::OneTenant),
    c3_two_streams_do_not_disturb_each_other => Broken(Fault::OneBuffer),
    c4_a_dropped_open_leaves_nothing => Broken(Fault::ReservesAPlace),
    c5_persist_stores_all_or_nothing => Broken(Fault::PersistsInTwoSteps),
    c6_every_byte_in_the_order_of_the_calls => Broken(Fault::WritesShort),
    c7_close_makes_it_whole_or_fails => Broken(Fault::OneName),
    c8_a_dropped_close_is_whole_or_not_there => Broken(Fault::ClosesInTwoSteps),
    c9_abort_discards => Broken(Fault::AbortKeeps),
    c10_abort_is_legal_in_every_state => Broken(Fault::AbortNeedsAWholeWrite),
    c11_a_dropped_writer_discards => Broken(Fault::DropKeeps),
    ; more:
    c5_persist_stores_all_or_nothing => Broken(Fault::LeavesHalfOfAPayload),
    c7_close_makes_it_whole_or_fails => Broken(Fault::ClosesWithoutAStorage),
    c9_abort_discards => Broken(Fault::AbortLeavesAnUpload),
}

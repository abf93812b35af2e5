//! The façade: every operation, each behind the same gates in the same order.
//!
//! Store configured → tenant valid → input well-formed → limits → scope (does this tenant own it?)
//! → cache → connector. Nothing later is touched when an earlier gate refuses.

mod builder;
mod connections;
mod extractions;
mod schemas;

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};

pub use builder::EngineBuilder;

use crate::error::{EngineError, Stage, text};
use crate::limits::Limits;
use crate::ports::{BoxFuture, ConnectionStore, Failure, Span};
use crate::rt::{Stop, contain};
use crate::run::{Bounded, Fault, Outcome, Ports};
use crate::tenant::TenantId;

/// Extracts data on behalf of tenants. Built by [`Engine::builder`]; cheap to clone.
///
/// # Cancel safety
///
/// Dropping the future of an operation ends it at once: connectors and writers are dropped, which
/// releases them, and nothing is committed to a result sink. Each operation says what else may have
/// happened by then.
#[derive(Clone)]
pub struct Engine(Arc<Inner>);

struct Inner {
    ports: Arc<Ports>,
    limits: Limits,
    encrypted_persistence: bool,
}

impl Engine {
    /// Begins to wire an engine.
    #[must_use]
    pub fn builder() -> EngineBuilder {
        EngineBuilder::default()
    }

    /// The engine's limits. Works without any port.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.0.limits
    }

    fn begin(&self) -> Op {
        Op { engine: Arc::clone(&self.0), stop: Stop::default(), degraded: Vec::new() }
    }

    /// Runs an operation's work in its span, under the engine's deadline.
    async fn bounded<T: Send>(
        &self,
        operation: &'static str,
        stop: Stop,
        work: BoxFuture<'_, Outcome<T>>,
    ) -> Result<T, EngineError> {
        let bounded = Bounded::new(&self.0.ports, &self.0.limits, stop, work);
        self.observed(operation, bounded).await
    }

    /// Runs an operation's work in its span; what failed in private is told to the host there.
    async fn observed<T>(
        &self,
        operation: &'static str,
        work: impl Future<Output = Outcome<T>> + Unpin,
    ) -> Result<T, EngineError> {
        let observability = self.0.ports.observability.as_ref();
        let start = || observability.map(|port| port.start_span(operation));
        let mut spanned = Spanned { span: contain(start).ok().flatten(), work };
        let Outcome { result, degraded } = (&mut spanned).await;
        for fault in &degraded {
            spanned.tell(|span| span.degraded(&Failure::new(&fault.error, fault.cause.get())));
        }
        result.map_err(|fault| {
            spanned.tell(|span| span.failed(&Failure::new(&fault.error, fault.cause.get())));
            fault.error
        })
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("limits", &self.0.limits).finish_non_exhaustive()
    }
}

/// An operation under way.
struct Op {
    engine: Arc<Inner>,
    stop: Stop,
    degraded: Vec<Fault>,
}

impl Op {
    /// The first two gates: a store, then a tenant.
    fn enter(
        &self,
        tenant: Result<TenantId, EngineError>,
    ) -> Result<(Arc<dyn ConnectionStore>, TenantId), Fault> {
        let Some(store) = &self.engine.ports.connections else {
            return Err(EngineError::validation(Stage::Validate, text::STORE_REQUIRED).into());
        };
        Ok((Arc::clone(store), tenant?))
    }
}

/// Runs the body of an operation: `operation!(self, "name", op => body(&mut op, …))`.
macro_rules! operation {
    ($engine:expr, $name:expr, $op:ident => $body:expr) => {{
        let mut $op = $engine.begin();
        let stop = $op.stop.clone();
        let work = async move {
            let result = $body.await;
            crate::run::Outcome { result, degraded: $op.degraded }
        };
        $engine.bounded($name, stop, alloc::boxed::Box::pin(work)).await
    }};
}
use operation;

/// A future in a span, which is entered around every poll.
struct Spanned<F> {
    span: Option<Box<dyn Span>>,
    work: F,
}

impl<F> Spanned<F> {
    /// Tells the span something. One that panics is let go: observing changes nothing.
    fn tell(&mut self, say: impl FnOnce(&mut dyn Span)) {
        let Some(mut span) = self.span.take() else {
            return;
        };
        self.span = contain(move || {
            say(&mut *span);
            span
        })
        .ok();
    }
}

impl<F: Future + Unpin> Future for &mut Spanned<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut **self;
        this.tell(|span| span.enter());
        let polled = Pin::new(&mut this.work).poll(cx);
        this.tell(|span| span.exit());
        polled
    }
}

impl<F> Drop for Spanned<F> {
    fn drop(&mut self) {
        let span = self.span.take();
        let _ = contain(|| drop(span));
    }
}

//! The short form of a run: connect, look, close. For tests of connections and for discovery.
//!
//! Keeps true: a connector that was built is closed, also when the look failed or was stopped.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};

use super::{Fault, Outcome, Ports, call, contained};
use crate::connection::ConnectionDescriptor;
use crate::error::{Category, Stage, text};
use crate::limits::Limits;
use crate::ports::{BoxFuture, Connector, ConnectorContext, ConnectorFactory};
use crate::rt::{Budget, Group, InOrder, Stop, StopReason};
use crate::schema::{SchemaSnapshot, TableSchema};

/// The factory for a connection type.
pub(crate) fn factory(ports: &Ports, kind: &str) -> Result<Arc<dyn ConnectorFactory>, Fault> {
    let found = contained(Stage::Build, || ports.connectors.factory(kind))?;
    found.ok_or_else(|| Fault::new(Category::Validation, Stage::Build, text::KIND_UNKNOWN))
}

/// Builds a connector: no I/O.
pub(crate) fn build(
    ports: &Ports,
    connection: ConnectionDescriptor,
) -> Result<Box<dyn Connector>, Fault> {
    let factory = factory(ports, &connection.endpoint.kind)?;
    let context = ConnectorContext::new(connection).limits(Arc::clone(&ports.connector_limits));
    let built = contained(Stage::Build, || factory.build(context))?;
    built.map_err(|error| Fault::port(Stage::Build, error))
}

/// Connects and closes.
pub(crate) async fn probe(
    ports: &Ports,
    limits: &Limits,
    stop: &Stop,
    connection: ConnectionDescriptor,
    degraded: &mut Vec<Fault>,
) -> Result<(), Fault> {
    let mut connector = build(ports, connection)?;
    let answer = call(Some(stop), Stage::Connect, || connector.connect()).await;
    close(ports, limits, connector, degraded).await;
    answer
}

/// Connects, reads the catalogue and closes.
pub(crate) async fn discover(
    ports: &Ports,
    limits: &Limits,
    stop: &Stop,
    connection: ConnectionDescriptor,
    degraded: &mut Vec<Fault>,
) -> Result<SchemaSnapshot, Fault> {
    let origin = connection.fingerprint();
    let factory = factory(ports, &connection.endpoint.kind)?;
    let mut connector = build(ports, connection)?;
    let answer = look(&mut *connector, stop).await;
    close(ports, limits, connector, degraded).await;
    let tables = answer?;
    let canonical = |name: &str| factory.canonical_table(name);
    contained(Stage::Discover, || SchemaSnapshot::canonical(origin, tables, canonical))
}

async fn look(connector: &mut dyn Connector, stop: &Stop) -> Result<Vec<TableSchema>, Fault> {
    call(Some(stop), Stage::Connect, || connector.connect()).await?;
    call(Some(stop), Stage::Discover, || connector.discover_schema()).await
}

async fn close(
    ports: &Ports,
    limits: &Limits,
    connector: Box<dyn Connector>,
    degraded: &mut Vec<Fault>,
) {
    let budget = ports.teardown(limits);
    let close = call(None, Stage::Close, || connector.close());
    let late = || Err(Fault::late(Stage::Close));
    if let Err(fault) = budget.hold(Box::pin(close)).await.unwrap_or_else(late) {
        degraded.push(fault);
    }
}

/// An operation under a deadline. When it passes, the operation is told to stop, and has the
/// teardown budget to give back what it holds; then it is dropped.
pub(crate) struct Bounded<'a, T> {
    work: BoxFuture<'a, Outcome<T>>,
    stop: Stop,
    deadline: Budget,
    teardown: Option<Budget>,
    ports: Arc<Ports>,
    limits: Limits,
}

impl<'a, T> Bounded<'a, T> {
    pub(crate) fn new(
        ports: &Arc<Ports>,
        limits: &Limits,
        stop: Stop,
        work: BoxFuture<'a, Outcome<T>>,
    ) -> Self {
        let deadline = ports.budget(limits.max_duration);
        let (ports, limits) = (Arc::clone(ports), limits.clone());
        Self { work, stop, deadline, teardown: None, ports, limits }
    }
}

impl<T> Future for Bounded<'_, T> {
    type Output = Outcome<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        if this.teardown.is_none() && this.deadline.is_spent(cx) {
            this.stop.set(StopReason::Deadline);
            this.teardown = Some(this.ports.teardown(&this.limits));
        }
        if let Poll::Ready(answer) = this.work.as_mut().poll(cx) {
            return Poll::Ready(answer);
        }
        if this.teardown.as_mut().is_some_and(|teardown| teardown.is_spent(cx)) {
            return Poll::Ready(Err(Fault::stopped(Some(StopReason::Deadline))).into());
        }
        Poll::Pending
    }
}

/// Several jobs at a time, at most `most`; the answers in the order of the jobs.
///
/// When one fails the others are told to stop and waited for. The first failure is reported, in the
/// order of the jobs where several fail in one round; the others are told to the host all the same.
pub(crate) struct Together<T> {
    waiting: VecDeque<(usize, Job<T>)>,
    group: Group<(usize, Outcome<T>)>,
    answers: Vec<(usize, Outcome<T>)>,
    done: Vec<Option<T>>,
    failure: Option<Fault>,
    degraded: Vec<Fault>,
    most: usize,
    stop: Stop,
    stopped: bool,
}

type Job<T> = BoxFuture<'static, Outcome<T>>;

pub(crate) fn together<T>(jobs: Vec<Job<T>>, most: u32, stop: &Stop) -> Together<T> {
    Together {
        done: jobs.iter().map(|_| None).collect(),
        waiting: jobs.into_iter().enumerate().collect(),
        group: Group::new(),
        answers: Vec::new(),
        failure: None,
        degraded: Vec::new(),
        most: usize::try_from(most).unwrap_or(usize::MAX),
        stop: stop.clone(),
        stopped: false,
    }
}

// The jobs lie in boxes of their own.
impl<T> Unpin for Together<T> {}

impl<T> Together<T> {
    fn take(&mut self, at: usize, Outcome { result, degraded }: Outcome<T>) {
        self.degraded.extend(degraded);
        match result {
            Ok(answer) => {
                if let Some(done) = self.done.get_mut(at) {
                    *done = Some(answer);
                }
            }
            Err(fault) if self.failure.is_none() => {
                self.stop.set(StopReason::Failure);
                self.failure = Some(fault);
            }
            // That the others stop is no news.
            Err(fault) if fault.error.stage() == Stage::Run => {}
            Err(fault) => self.degraded.push(fault),
        }
    }
}

impl<T: Send + 'static> Future for Together<T> {
    type Output = Outcome<Vec<T>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        if !this.stopped && this.stop.reason().is_some() {
            this.stopped = true;
            this.waiting.clear();
            this.group.wake_all();
        }
        while this.group.running() < this.most
            && let Some((at, job)) = this.waiting.pop_front()
        {
            this.group.add(Box::pin(async move { (at, job.await) }));
        }
        let mut answers = core::mem::take(&mut this.answers);
        this.group.poll_round(cx, &mut InOrder, &mut answers);
        answers.sort_by_key(|(at, _)| *at);
        answers.drain(..).for_each(|(at, outcome)| this.take(at, outcome));
        this.answers = answers;
        if this.group.running() == 0 && (this.waiting.is_empty() || this.failure.is_some()) {
            let stopped = || Fault::stopped(this.stop.reason());
            let result = match this.failure.take() {
                Some(fault) => Err(fault),
                None => this.done.drain(..).collect::<Option<_>>().ok_or_else(stopped),
            };
            let degraded = core::mem::take(&mut this.degraded);
            return Poll::Ready(Outcome { result, degraded });
        }
        let may_add = this.group.running() < this.most && !this.waiting.is_empty();
        let told_to_stop = !this.stopped && this.stop.reason().is_some();
        if may_add || told_to_stop || this.group.is_ready() {
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    }
}

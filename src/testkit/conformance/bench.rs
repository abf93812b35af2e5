//! What clauses are checked with: an executor, futures that are cut short, and failures that name
//! their clause.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use core::fmt::{Debug, Display};
use core::future::poll_fn;
use core::pin::pin;
use core::task::Poll;

use crate::connection::{
    ConnectionDescriptor, ConnectionDraft, ConnectionId, ConnectionInput, ConnectionName,
};
use crate::error::{Category, PortError};
use crate::extraction::RequestId;
use crate::ports::BoxFuture;
use crate::secret::Secret;
use crate::tenant::TenantId;

/// How often at most a call is polled before it is dropped.
pub(super) const POLLS_MAX: usize = 64;

/// How much of what was seen a failure shows.
const SHOWN_CHARS: usize = 400;

/// Runs something on an executor that gives nothing back.
pub(super) fn run<T: Send>(
    block_on: &dyn Fn(BoxFuture<'_, ()>),
    work: impl Future<Output = T> + Send,
) -> T {
    let mut output = None;
    block_on(Box::pin(async {
        output = Some(work.await);
    }));
    output.expect("the executor runs a future to its end")
}

/// A clause, to fail in its name.
#[derive(Clone, Copy)]
pub(super) struct At {
    pub(super) port: &'static str,
    pub(super) number: u32,
}

impl At {
    #[track_caller]
    pub(super) fn fail(self, expected: impl Display, seen: impl Display) -> ! {
        let Self { port, number } = self;
        let seen = seen.to_string();
        let shown: String = seen.chars().take(SHOWN_CHARS).collect();
        let more = if shown.len() < seen.len() { "…" } else { "" };
        panic!("{port} C{number}: expected {expected}; seen {shown}{more}")
    }

    #[track_caller]
    pub(super) fn that(self, holds: bool, expected: impl Display, seen: impl Display) {
        if !holds {
            self.fail(expected, seen);
        }
    }

    #[track_caller]
    pub(super) fn same<T: PartialEq + Debug + ?Sized>(self, what: &str, expected: &T, seen: &T) {
        if expected != seen {
            self.fail(format!("{what} {expected:?}"), format!("{seen:?}"));
        }
    }

    #[track_caller]
    pub(super) fn ok<T>(self, what: &str, result: Result<T, PortError>) -> T {
        match result {
            Ok(value) => value,
            Err(error) => self.fail(format!("{what} to succeed"), told(&error)),
        }
    }

    #[track_caller]
    pub(super) fn refused<T>(self, what: &str, category: Category, result: Result<T, PortError>) {
        match result {
            Err(error) if error.category() == category => {}
            Err(error) => self.fail(format!("{what} to be `{category}`"), told(&error)),
            Ok(_) => self.fail(format!("{what} to be `{category}`"), "success"),
        }
    }

    /// An error of whatever category.
    #[track_caller]
    pub(super) fn failed<T>(self, what: &str, result: Result<T, PortError>) {
        if result.is_ok() {
            self.fail(format!("{what} to be an error"), "success");
        }
    }
}

/// An error with its cause: who tests an adapter may see it.
fn told(error: &PortError) -> String {
    match error.cause() {
        Some(cause) => format!("`{}` ({cause})", error.category()),
        None => format!("`{}`", error.category()),
    }
}

/// Polls a future so often at most, then drops it. `None` if it was not ready by then.
pub(super) async fn cut<F: Future>(future: F, polls: usize) -> Option<F::Output> {
    let mut left = polls;
    // Boxed, so that it is dropped when this function is left, and not with its caller's frame.
    let mut future = Box::pin(future);
    poll_fn(move |cx| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        match future.as_mut().poll(cx) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending if left == 0 => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

/// Two futures at the same time, polled in turn.
pub(super) async fn both<A: Future, B: Future>(a: A, b: B) -> (A::Output, B::Output) {
    let (mut a, mut b) = (pin!(a), pin!(b));
    let (mut first, mut second) = (None, None);
    poll_fn(|cx| {
        if first.is_none()
            && let Poll::Ready(output) = a.as_mut().poll(cx)
        {
            first = Some(output);
        }
        if second.is_none()
            && let Poll::Ready(output) = b.as_mut().poll(cx)
        {
            second = Some(output);
        }
        match (first.take(), second.take()) {
            (Some(a), Some(b)) => Poll::Ready((a, b)),
            (a, b) => {
                (first, second) = (a, b);
                Poll::Pending
            }
        }
    })
    .await
}

/// Two tenants that have nothing to do with each other.
pub(super) fn tenants() -> (TenantId, TenantId) {
    (tenant("conformance-a"), tenant("conformance-b"))
}

fn tenant(id: &str) -> TenantId {
    TenantId::parse(id).expect("the id is one")
}

pub(super) fn name(name: &str) -> ConnectionName {
    ConnectionName::parse(name).expect("the name is one")
}

pub(super) fn request(id: &str) -> RequestId {
    RequestId::parse(id).expect("the id is one")
}

/// A connection of this name with something in every field.
pub(super) fn draft(name: &str) -> ConnectionDraft {
    let input = ConnectionInput::new(name, "conformance")
        .host("db.example.com")
        .port(5432)
        .database("sales")
        .username("reporting")
        .option("sslMode", "verify-full")
        .option("naïve", "\"quoted\" \\ \u{1F980}")
        .host_attribute("team", "finance");
    input.into_draft().expect("the input is well-formed").0
}

/// The same as a store would keep it.
pub(super) fn descriptor(tenant: &TenantId, name: &str) -> ConnectionDescriptor {
    let id = ConnectionId::parse(&format!("id-of-{name}"));
    draft(name).into_descriptor(tenant.clone(), id.expect("the id is one"))
}

/// Whether two optional secrets are the same.
pub(super) fn same_secret(a: Option<&Secret>, b: Option<&[u8]>) -> bool {
    a.map(Secret::expose) == b
}

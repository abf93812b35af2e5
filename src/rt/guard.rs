//! Somebody else's call, contained: stoppable, and a panic in it is a value.
//!
//! Keeps true: once the stop flag is set the call is not polled again but dropped; under `std` a
//! panic while the call is made, polled or dropped does not leave here. Without `std` panics pass.

use alloc::boxed::Box;
use alloc::string::String;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};

use super::Stop;

/// Why a call gave no answer.
#[derive(Debug)]
pub(crate) enum Broken {
    /// It was told to stop.
    Stopped,
    /// It panicked, and said this.
    #[cfg_attr(not(feature = "std"), expect(dead_code, reason = "only `std` catches panics"))]
    Panicked(String),
}

type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A call that is made when it is first polled.
pub(crate) struct Guarded<'a, T, F> {
    make: Option<F>,
    call: Option<Boxed<'a, T>>,
    stop: Option<Stop>,
}

/// Guards a call; without a stop flag it can only end by itself, or with its owner.
pub(crate) fn guard<'a, T, F>(stop: Option<&Stop>, make: F) -> Guarded<'a, T, F>
where
    F: FnOnce() -> Boxed<'a, T>,
{
    Guarded { make: Some(make), call: None, stop: stop.cloned() }
}

// Nothing in it is pinned in place: the call lies in its own box.
impl<T, F> Unpin for Guarded<'_, T, F> {}

impl<'a, T, F> Future for Guarded<'a, T, F>
where
    F: FnOnce() -> Boxed<'a, T>,
{
    type Output = Result<T, Broken>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        if this.stop.as_ref().and_then(Stop::reason).is_some() {
            this.make = None;
            let call = this.call.take();
            return Poll::Ready(contain(|| drop(call)).and(Err(Broken::Stopped)));
        }
        // The call is out of its place while it is polled: if it panics, it is gone.
        let mut taken = this.call.take();
        let make = this.make.take();
        let polled = contain(|| {
            let mut call = match (taken.take(), make) {
                (Some(call), _) => call,
                (None, Some(make)) => make(),
                (None, None) => return (None, Poll::Pending),
            };
            let answer = call.as_mut().poll(cx);
            (Some(call), answer)
        });
        match polled {
            Ok((call, Poll::Pending)) => {
                this.call = call;
                Poll::Pending
            }
            Ok((call, Poll::Ready(answer))) => {
                // The answer counts even if dropping the finished call panics.
                let _ = contain(|| drop(call));
                Poll::Ready(Ok(answer))
            }
            Err(broken) => Poll::Ready(Err(broken)),
        }
    }
}

impl<T, F> Drop for Guarded<'_, T, F> {
    fn drop(&mut self) {
        let call = self.call.take();
        let _ = contain(|| drop(call));
    }
}

/// Runs somebody else's code; a panic in it becomes a value.
#[cfg(feature = "std")]
pub(crate) fn contain<T>(code: impl FnOnce() -> T) -> Result<T, Broken> {
    if planted!(PanicEscapes) {
        return Ok(code());
    }
    // Unwind safe: whatever the code had its hands on is dropped or never used again.
    std::panic::catch_unwind(core::panic::AssertUnwindSafe(code)).map_err(|payload| {
        let text = payload.downcast_ref::<&str>().map(|text| String::from(*text));
        let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
        // A payload whose own drop panics must not escape either; what that panic carries is left
        // alone, for it may do the same.
        let dropped = std::panic::catch_unwind(core::panic::AssertUnwindSafe(|| drop(payload)));
        dropped.unwrap_or_else(core::mem::forget);
        Broken::Panicked(text.unwrap_or_else(|| String::from("a panic without text")))
    })
}

/// Runs somebody else's code.
#[cfg(not(feature = "std"))]
pub(crate) fn contain<T>(code: impl FnOnce() -> T) -> Result<T, Broken> {
    Ok(code())
}

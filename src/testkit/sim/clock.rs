//! Virtual time. It passes when the driver says so, and never otherwise.

use alloc::boxed::Box;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;

use super::Sim;
use crate::rt::{Runtime, Sleep};

/// The runtime of a simulation.
#[derive(Clone, Debug)]
pub struct SimRuntime(Sim);

impl SimRuntime {
    /// The runtime on this simulation's clock.
    #[must_use]
    pub fn new(sim: &Sim) -> Self {
        Self(sim.clone())
    }
}

impl Runtime for SimRuntime {
    fn now(&self) -> Duration {
        self.0.now()
    }

    fn wall_clock(&self) -> Option<Duration> {
        // Some day in 2024, moving with the virtual clock.
        Some(Duration::from_secs(1_709_251_200) + self.0.now())
    }

    fn sleep(&self, duration: Duration) -> Sleep {
        let when = self.0.now().saturating_add(duration);
        Box::pin(Until { sim: self.0.clone(), when, ticket: None })
    }
}

struct Until {
    sim: Sim,
    when: Duration,
    ticket: Option<u64>,
}

impl Future for Until {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        if this.sim.now() >= this.when {
            return Poll::Ready(());
        }
        this.sim.arm(this.when, &mut this.ticket, cx.waker());
        Poll::Pending
    }
}

impl Drop for Until {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket {
            self.sim.disarm(self.when, ticket);
        }
    }
}

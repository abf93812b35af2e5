//! What the integration tests share: a host in miniature whose ports note every call and misbehave
//! on demand, and a clock that moves only when nothing else can.

#![allow(dead_code, unused_imports, reason = "each test binary uses its own part")]

mod clock;
mod connector;
mod host;
mod notary;
mod operation;
mod ports;
mod probe;
mod protector;
mod quiet;
mod rogue;

pub(crate) use clock::{Clock, Task};
pub(crate) use connector::WatchedRegistry;
pub(crate) use host::{Host, document, large, orders, people, ready, stored, tenant};
pub(crate) use notary::Notary;
pub(crate) use operation::{Call, Operation, brief};
pub(crate) use probe::{Act, NoText, Payload, Probe, When};
pub(crate) use protector::ToyProtector;
pub(crate) use quiet::{PLANTED, quiet};
pub(crate) use rogue::Rogue;

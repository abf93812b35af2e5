//! What stands before an operation: the ports that it needs, the gates in their order, the tenant.

#![cfg(feature = "std")]

extern crate alloc;

mod common;
#[path = "gates/failures.rs"]
mod failures;
#[path = "gates/order.rs"]
mod order;
#[path = "gates/tenants.rs"]
mod tenants;
#[path = "gates/wiring.rs"]
mod wiring;

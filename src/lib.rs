//! Placeholder docs.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![no_std]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

pub mod connection;
pub mod digest;
pub mod encode;
mod engine;
mod error;
pub mod extraction;
pub mod filter;
mod limits;
#[cfg(feature = "std")]
pub mod memory;
pub mod ports;
mod rt;
mod run;
pub mod schema;
mod secret;
mod tenant;
pub mod value;

pub use connection::{ConnectionDescriptor, ConnectionInput, ConnectionPatch, PageQuery};
pub use engine::{Engine, EngineBuilder};
pub use error::{
    BoxError, Category, EngineError, Mistake, MistakeKind, PortError, Stage, ValidationReport,
};
pub use extraction::{
    ExtractionPlan, ExtractionRequest, ExtractionResult, FailurePolicy, Mode, Output,
};
pub use filter::{Filter, Operator};
pub use limits::{LimitOverrides, Limits};
pub use ports::BoxFuture;
pub use rt::{CancelToken, Runtime, Sleep};
#[cfg(feature = "std")]
pub use rt::{StdRuntime, block_on};
pub use run::{ExecuteOptions, Progress};
pub use secret::Secret;
pub use tenant::{AsTenant, TENANT_ID_BYTES_MAX, TenantId};
pub use value::Value;

//! The contracts of the ports, each clause a function that an implementation passes or fails.
//!
//! A clause is known by its port and number: `result_sink C9` in the documentation of the port is
//! [`result_sink::c9_abort_discards`]. To put an adapter to the test, say how to make a fresh one
//! and what it legally cannot do (the port's `Subject`), and let [`conformance_tests!`] write one
//! `#[test]` per clause; or call the module's `all`. What a `Subject` cannot say is mandatory.
//!
//! A clause that does not hold panics: `result_sink C9: expected …; seen …`. What the types make
//! unrepresentable has no number and no test.
//!
//! ```
//! use std::sync::Arc;
//! use fetcher_engine::memory::MemorySchemaCache;
//! use fetcher_engine::ports::{BoxFuture, SchemaCache};
//! use fetcher_engine::testkit::conformance::schema_cache::{self, Subject};
//!
//! struct Memory;
//!
//! impl Subject for Memory {
//!     fn fresh(&self) -> BoxFuture<'_, Box<dyn SchemaCache>> {
//!         Box::pin(async { Box::new(MemorySchemaCache::new()) as Box<dyn SchemaCache> })
//!     }
//!     fn forgets(&self) -> bool {
//!         false
//!     }
//! }
//!
//! schema_cache::all(&Memory);
//! ```
//!
//! [`conformance_tests!`]: crate::conformance_tests

pub mod active_execution_checker;
mod bench;
pub mod connection_store;
pub mod connector;
pub mod credential_protector;
pub mod credentials;
pub mod execution_store;
pub mod observability;
pub mod result_sink;
pub mod schema_cache;

use core::fmt;

/// One clause of a port's contract.
#[non_exhaustive]
pub struct Clause<S: ?Sized + 'static> {
    /// The function's name: `c9_abort_discards`.
    pub name: &'static str,
    /// The function.
    pub check: fn(&S),
}

impl<S: ?Sized> Clause<S> {
    /// A clause of this name. Lists of clauses are made of these.
    #[must_use]
    pub const fn new(name: &'static str, check: fn(&S)) -> Self {
        Self { name, check }
    }
}

impl<S: ?Sized> fmt::Debug for Clause<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Clause").field(&self.name).finish()
    }
}

/// Writes one `#[test]` per clause of a port, each on a subject of its own.
///
/// ```
/// # use fetcher_engine::testkit::conformance::result_sink;
/// # fn subject() -> Box<dyn result_sink::Subject> {
/// #     unimplemented!()
/// # }
/// mod result_sink_in_memory {
///     fetcher_engine::conformance_tests!(result_sink, *super::subject());
/// }
/// ```
///
/// A connector's subject may need a server that is not there: behind `if` it is an `Option`, and
/// without one the tests do nothing. Whoever makes the subject says so, loudly.
#[macro_export]
macro_rules! conformance_tests {
    (active_execution_checker, $subject:expr) => {
        $crate::__conformance_active_execution_checker!([$crate::__conformance_tests!]($subject));
    };
    (connection_store, $subject:expr) => {
        $crate::__conformance_connection_store!([$crate::__conformance_tests!]($subject));
    };
    (connector, if $subject:expr) => {
        $crate::__conformance_connector!([$crate::__conformance_tests!](if $subject));
    };
    (connector, $subject:expr) => {
        $crate::__conformance_connector!([$crate::__conformance_tests!]($subject));
    };
    (credential_protector, $subject:expr) => {
        $crate::__conformance_credential_protector!([$crate::__conformance_tests!]($subject));
    };
    (credentials, $subject:expr) => {
        $crate::__conformance_credentials!([$crate::__conformance_tests!]($subject));
    };
    (execution_store, $subject:expr) => {
        $crate::__conformance_execution_store!([$crate::__conformance_tests!]($subject));
    };
    (observability, $subject:expr) => {
        $crate::__conformance_observability!([$crate::__conformance_tests!]($subject));
    };
    (result_sink, $subject:expr) => {
        $crate::__conformance_result_sink!([$crate::__conformance_tests!]($subject));
    };
    (schema_cache, $subject:expr) => {
        $crate::__conformance_schema_cache!([$crate::__conformance_tests!]($subject));
    };
}

/// A list of clauses as tests. Part of [`conformance_tests!`](crate::conformance_tests).
#[doc(hidden)]
#[macro_export]
macro_rules! __conformance_tests {
    ($port:ident (if $subject:expr) $($clause:ident)+) => {$(
        #[test]
        fn $clause() {
            if let Some(subject) = $subject {
                $crate::testkit::conformance::$port::$clause(&subject);
            }
        }
    )+};
    ($port:ident ($subject:expr) $($clause:ident)+) => {$(
        #[test]
        fn $clause() {
            $crate::testkit::conformance::$port::$clause(&$subject);
        }
    )+};
}

/// A list of clauses as a table, and the function that checks them all.
macro_rules! table {
    ($port:ident () $($clause:ident)+) => {
        /// Every clause, in order.
        pub const CLAUSES: &[$crate::testkit::conformance::Clause<dyn Subject>] =
            &[$($crate::testkit::conformance::Clause::new(stringify!($clause), $clause)),+];

        /// Checks every clause. Panics on the first that does not hold.
        pub fn all(subject: &dyn Subject) {
            $($clause(subject);)+
        }

        /// Runs a clause's work on the subject's executor.
        #[allow(dead_code, reason = "some contracts have nothing to wait for")]
        fn run<T: Send>(
            subject: &dyn Subject,
            work: impl Future<Output = T> + Send,
        ) -> T {
            $crate::testkit::conformance::bench::run(&|future| subject.block_on(future), work)
        }

        /// The clause of this number.
        const fn at(number: u32) -> $crate::testkit::conformance::bench::At {
            $crate::testkit::conformance::bench::At { port: stringify!($port), number }
        }
    };
}
use table;

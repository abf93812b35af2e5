//! The conformance kit, held against every port that there is in memory, behind decorators, in the
//! example and in the tests; and against one broken implementation per clause, which it must catch.

#![cfg(feature = "testkit")]

extern crate alloc;

#[path = "conformance/broken.rs"]
mod broken;
#[path = "../examples/extract/connector.rs"]
mod connector;
#[path = "../examples/extract/csv.rs"]
mod csv;
#[path = "conformance/folder.rs"]
mod folder;
#[path = "conformance/forward.rs"]
mod forward;
#[path = "conformance/memory.rs"]
mod memory;
#[path = "../examples/extract/sink.rs"]
mod sink;
#[path = "conformance/toys.rs"]
mod toys;

use fetcher_engine::testkit::conformance::{connector as connectors, result_sink, schema_cache};

/// The clauses of a port on one subject: bare, behind an `Arc<dyn …>`, and behind a `Box<dyn …>`
/// that makes everybody wait; and under a simulation, where there is a decorator for that.
macro_rules! layered {
    ($module:ident, $port:ident, $subject:path $(, $simulated:ident)?) => {
        mod $module {
            mod bare {
                fetcher_engine::conformance_tests!($port, $subject(crate::forward::Layers::None));
            }
            mod shared {
                fetcher_engine::conformance_tests!($port, $subject(crate::forward::Layers::Shared));
            }
            mod boxed {
                fetcher_engine::conformance_tests!($port, $subject(crate::forward::Layers::Boxed));
            }
            $(mod $simulated {
                fetcher_engine::conformance_tests!(
                    $port,
                    $subject(crate::forward::Layers::Simulated)
                );
            })?
        }
    };
}

layered!(checker_toy, active_execution_checker, crate::toys::Checkers, simulated);
layered!(connector_memory, connector, crate::memory::Datasources);
layered!(connector_csv, connector, crate::folder::CsvFolders);
layered!(protector_toy, credential_protector, crate::toys::Protectors);
layered!(credentials_plain, credentials, crate::memory::PlainCredentials);
layered!(credentials_protected, credentials, crate::memory::ProtectedCredentials);
layered!(observability_toy, observability, crate::toys::Observers);
layered!(sink_file, result_sink, crate::folder::FileSinks);
layered!(sink_memory, result_sink, crate::memory::Sinks, simulated);
layered!(store_connections, connection_store, crate::memory::Connections, simulated);
layered!(store_executions, execution_store, crate::memory::Executions, simulated);
layered!(cache_memory, schema_cache, crate::memory::Caches, simulated);

/// What the kit asks of a connector and a writer, the engine may ask: the simulator, which notes
/// every call out of order, has nothing to note.
#[test]
fn the_kit_calls_nothing_out_of_order() {
    let watched = memory::Watched::default();
    for clause in connectors::CLAUSES {
        // Here the simulation says how large a batch is.
        if !["c19_the_batch_comes_back", "c21_a_full_batch_goes_back"].contains(&clause.name) {
            (clause.check)(&watched);
        }
    }
    result_sink::all(&watched);
    assert_eq!(watched.violations(), [""; 0]);
}

/// `all` checks what the table lists, and that is what the tests are made of.
#[test]
fn all_checks_the_whole_table() {
    let caches = memory::Caches(forward::Layers::None);
    schema_cache::all(&caches);
    assert_eq!(schema_cache::CLAUSES.len(), 7);
    schema_cache::CLAUSES.iter().for_each(|clause| (clause.check)(&caches));
}

//! One deliberately broken implementation per clause: the clause must catch it, in its own name.
//! What is broken is the smallest thing that breaks the clause; unbroken, each of them passes all.

#[path = "broken/checker.rs"]
mod checker;
#[path = "broken/connector.rs"]
mod connector;
#[path = "broken/credentials.rs"]
mod credentials;
#[path = "broken/observer.rs"]
mod observer;
#[path = "broken/protector.rs"]
mod protector;
#[path = "broken/sink.rs"]
mod sink;
#[path = "broken/store.rs"]
mod store;
#[path = "broken/stores.rs"]
mod stores;

use core::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    /// Whether panics of this thread are what is wanted.
    static EXPECTED: Cell<bool> = const { Cell::new(false) };
}

/// Runs something that should panic, without a word on standard error, and gives what it said.
fn panic_of(work: impl FnOnce()) -> Option<String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            // The kit uses threads without a name; tests have one.
            let unnamed = std::thread::current().name().is_none();
            if !EXPECTED.get() && !unnamed {
                usual(info);
            }
        }));
    });
    EXPECTED.set(true);
    let caught = panic::catch_unwind(AssertUnwindSafe(work));
    EXPECTED.set(false);
    let panic = caught.err()?;
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    Some(text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default())
}

/// Checks that a clause catches a broken implementation, in its own name.
fn caught(port: &str, clause: &str, check: impl FnOnce()) {
    let number = clause.strip_prefix('c').and_then(|rest| rest.split('_').next());
    let head = format!("{port} C{}: expected ", number.expect("a clause has a number"));
    let said = panic_of(check).unwrap_or_else(|| panic!("{port} {clause} lets its twin pass"));
    assert!(said.starts_with(&head) && said.contains("; seen "), "{clause} said {said:?}");
}

/// The broken twins of a port: one test per clause, one that none is missing, and one that nothing
/// else is broken.
macro_rules! twins {
    (
        $port:ident, unbroken: $unbroken:expr, $($clause:ident => $subject:expr,)+
        $(; more: $($other:ident => $second:expr,)+)?
    ) => {
        mod twins {
            use super::*;
            use fetcher_engine::testkit::conformance::$port;

            $(
                #[test]
                fn $clause() {
                    let check = || $port::$clause(&$subject);
                    $crate::broken::caught(stringify!($port), stringify!($clause), check);
                }
            )+

            #[test]
            fn every_clause_has_a_twin() {
                let clauses: Vec<_> = $port::CLAUSES.iter().map(|clause| clause.name).collect();
                assert_eq!([$(stringify!($clause)),+].as_slice(), clauses);
            }

            $(
                /// Other ways to break a clause.
                #[test]
                fn more_of_them() {
                    $(
                        let check = || $port::$other(&$second);
                        $crate::broken::caught(stringify!($port), stringify!($other), check);
                    )+
                }
            )?

            #[test]
            fn unbroken_it_passes() {
                $port::all(&$unbroken);
            }
        }
    };
}
use twins;

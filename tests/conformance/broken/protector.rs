//! Broken credential protectors: the toy, with one of its faults.

use alloc::sync::Arc;

use fetcher_engine::ports::BoxFuture;
use fetcher_engine::testkit::conformance::credential_protector::{Fixture, Subject};

use crate::toys::{ProtectorFaults, ProtectorFixture, ToyProtector};

/// A protector with these faults.
struct Broken(fn() -> ProtectorFaults);

impl Subject for Broken {
    fn fresh(&self) -> BoxFuture<'_, Box<dyn Fixture>> {
        let faults = self.0();
        let toy = Arc::new(ToyProtector { faults, ..ToyProtector::default() });
        let protector = Arc::clone(&toy) as _;
        Box::pin(async { Box::new(ProtectorFixture { toy, protector }) as _ })
    }
}

/// The toy with this fault: `fault!(in_the_clear: true)`.
macro_rules! fault {
    ($fault:ident: $value:expr) => {
        Broken(|| ProtectorFaults { $fault: $value, ..ProtectorFaults::default() })
    };
}

crate::broken::twins! {
    credential_protector,
    unbroken: Broken(ProtectorFaults::default),
    c1_reveal_gives_back_what_was_protected => fault!(ends_at_zero: true),
    c2_bound_to_the_tenant => fault!(for_any_tenant: true),
    c3_the_plaintext_is_nowhere_in_sight => fault!(in_the_clear: true),
    c4_a_dropped_protect_leaves_nothing_behind => fault!(stays_busy: Some("protect")),
    c5_old_key_versions_stay_readable => fault!(forgets_keys: true),
    c6_a_ciphertext_that_is_not_genuine_is_refused => fault!(takes_anything: true),
    c7_a_dropped_reveal_leaves_nothing_behind => fault!(stays_busy: Some("reveal")),
}

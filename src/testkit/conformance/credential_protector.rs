//! The contract of [`CredentialProtector`], clause by clause.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use super::bench::{At, POLLS_MAX, cut, tenants};
use super::table;
use crate::error::Category;
use crate::ports::{BoxFuture, CredentialProtector, Protected};
use crate::secret::Secret;
use crate::tenant::TenantId;

/// What is put to the test.
pub trait Subject: Sync {
    /// Runs a future to its end. The default is [`block_on`](crate::block_on).
    fn block_on(&self, future: BoxFuture<'_, ()>) {
        crate::rt::block_on(future);
    }

    /// A protector with a key.
    fn fresh(&self) -> BoxFuture<'_, Box<dyn Fixture>>;
}

/// A protector, and its keys.
pub trait Fixture: Send + Sync {
    /// The protector.
    fn protector(&self) -> &dyn CredentialProtector;

    /// From now on there is a new key; the old ones are kept. `false` where that cannot be
    /// arranged.
    fn rotate(&self) -> BoxFuture<'_, bool>;
}

/// The clauses, for whoever makes tests of them.
#[doc(hidden)]
#[macro_export]
macro_rules! __conformance_credential_protector {
    ([$($then:tt)+] $arguments:tt) => {
        $($then)+ { credential_protector $arguments
            c1_reveal_gives_back_what_was_protected
            c2_bound_to_the_tenant
            c3_the_plaintext_is_nowhere_in_sight
            c4_a_dropped_protect_leaves_nothing_behind
            c5_old_key_versions_stay_readable
            c6_a_ciphertext_that_is_not_genuine_is_refused
            c7_a_dropped_reveal_leaves_nothing_behind
        }
    };
}
crate::__conformance_credential_protector!([table!]());

const PASSWORD: &str = "correct horse battery staple";

async fn protect(at: At, fixture: &dyn Fixture, tenant: &TenantId, plain: &Secret) -> Protected {
    at.ok("protect", fixture.protector().protect(tenant, plain).await)
}

async fn check(at: At, fixture: &dyn Fixture, tenant: &TenantId, of: &Protected, plain: &Secret) {
    let revealed = fixture.protector().reveal(tenant, &of.ciphertext, &of.key_version).await;
    let revealed = at.ok("reveal", revealed);
    // Lengths only: whoever reads a failure need not read a secret.
    at.that(
        revealed == *plain,
        alloc::format!("the {} bytes that were protected", plain.expose().len()),
        alloc::format!("{} other bytes", revealed.expose().len()),
    );
}

/// The same bytes come back, whatever they are.
pub fn c1_reveal_gives_back_what_was_protected(subject: &dyn Subject) {
    run(subject, async {
        let (fixture, at) = (&*subject.fresh().await, at(1));
        let (a, b) = tenants();
        let all: Vec<u8> = (0..=u8::MAX).collect();
        let plains = [PASSWORD.into(), "naïve \0\u{1F980}\n".into(), all, vec![0], vec![7; 65_537]];
        for plain in plains.map(Secret::new) {
            for tenant in [&a, &b] {
                let protected = protect(at, fixture, tenant, &plain).await;
                check(at, fixture, tenant, &protected, &plain).await;
                check(at, fixture, tenant, &protected, &plain).await;
            }
        }
    });
}

/// Revealed for another tenant, a ciphertext is an error.
pub fn c2_bound_to_the_tenant(subject: &dyn Subject) {
    run(subject, async {
        let (fixture, at) = (&*subject.fresh().await, at(2));
        let (a, b) = tenants();
        let Protected { ciphertext, key_version } =
            protect(at, fixture, &a, &PASSWORD.into()).await;
        let stolen = fixture.protector().reveal(&b, &ciphertext, &key_version).await;
        at.failed("revealing it for another tenant", stolen);
    });
}

/// Neither the ciphertext nor the key version has the plaintext or a good part of it in it.
pub fn c3_the_plaintext_is_nowhere_in_sight(subject: &dyn Subject) {
    const PART: usize = 8;
    run(subject, async {
        let (fixture, at) = (&*subject.fresh().await, at(3));
        let (a, _) = tenants();
        let Protected { ciphertext, key_version } =
            protect(at, fixture, &a, &PASSWORD.into()).await;
        for (place, bytes) in
            [("ciphertext", ciphertext.expose()), ("key version", key_version.as_bytes())]
        {
            let shown = bytes
                .windows(PART)
                .any(|seen| PASSWORD.as_bytes().windows(PART).any(|part| part == seen));
            at.that(!shown, alloc::format!("a {place} without the plaintext"), "the plaintext");
        }
    });
}

/// Protecting works as ever after a call that was dropped.
pub fn c4_a_dropped_protect_leaves_nothing_behind(subject: &dyn Subject) {
    run(subject, async {
        let (fixture, at) = (&*subject.fresh().await, at(4));
        let ((a, _), plain) = (tenants(), Secret::from(PASSWORD));
        for polls in 0..POLLS_MAX {
            let other = Secret::from("of the dropped call");
            let done = cut(fixture.protector().protect(&a, &other), polls).await.is_some();
            let protected = protect(at, fixture, &a, &plain).await;
            check(at, fixture, &a, &protected, &plain).await;
            if done {
                return;
            }
        }
    });
}

/// What an older key made stays readable, and a newer key has another version.
pub fn c5_old_key_versions_stay_readable(subject: &dyn Subject) {
    run(subject, async {
        let (fixture, at) = (&*subject.fresh().await, at(5));
        let ((a, _), plain) = (tenants(), Secret::from(PASSWORD));
        let mut kept = vec![protect(at, fixture, &a, &plain).await];
        for _ in 0..3 {
            if !fixture.rotate().await {
                return;
            }
            let newest = protect(at, fixture, &a, &plain).await;
            let known = kept.iter().any(|old| old.key_version == newest.key_version);
            at.that(!known, "a key version of its own for the new key", &newest.key_version);
            kept.push(newest);
            for protected in &kept {
                check(at, fixture, &a, protected, &plain).await;
            }
        }
    });
}

/// Changed, cut or foreign bytes are `internal`.
pub fn c6_a_ciphertext_that_is_not_genuine_is_refused(subject: &dyn Subject) {
    run(subject, async {
        let (fixture, at) = (&*subject.fresh().await, at(6));
        let (a, _) = tenants();
        let Protected { ciphertext, key_version } =
            protect(at, fixture, &a, &PASSWORD.into()).await;
        let genuine = ciphertext.expose();
        let mut forged: Vec<Vec<u8>> = vec![vec![], b"no ciphertext".to_vec()];
        for place in 0..genuine.len() {
            let mut changed = genuine.to_vec();
            changed[place] ^= 1;
            forged.push(changed);
            forged.push(genuine[..place].to_vec());
        }
        forged.push([genuine, b"x"].concat());
        for bytes in forged {
            let what = alloc::format!("{} of {} bytes, forged,", bytes.len(), genuine.len());
            let forged = Secret::new(bytes);
            let revealed = fixture.protector().reveal(&a, &forged, &key_version).await;
            at.refused(&what, Category::Internal, revealed);
        }
    });
}

/// Revealing works as ever after a call that was dropped.
pub fn c7_a_dropped_reveal_leaves_nothing_behind(subject: &dyn Subject) {
    run(subject, async {
        let (fixture, at) = (&*subject.fresh().await, at(7));
        let ((a, b), plain) = (tenants(), Secret::from(PASSWORD));
        let protected = protect(at, fixture, &a, &plain).await;
        let other = protect(at, fixture, &b, &"of the dropped call".into()).await;
        for polls in 0..POLLS_MAX {
            let Protected { ciphertext, key_version } = &other;
            let reveal = fixture.protector().reveal(&b, ciphertext, key_version);
            let done = cut(reveal, polls).await.is_some();
            check(at, fixture, &a, &protected, &plain).await;
            if done {
                return;
            }
        }
    });
}

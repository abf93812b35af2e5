//! The contracts of [`CredentialResolver`] and [`CredentialVault`], clause by clause.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;

use super::bench::{At, POLLS_MAX, cut, same_secret, tenants};
use super::table;
use crate::connection::ConnectionDescriptor;
use crate::ports::{BoxFuture, CredentialResolver, CredentialVault};
use crate::secret::Secret;
use crate::tenant::TenantId;

/// What is put to the test.
pub trait Subject: Sync {
    /// Runs a future to its end. The default is [`block_on`](crate::block_on).
    fn block_on(&self, future: BoxFuture<'_, ()>) {
        crate::rt::block_on(future);
    }

    /// A vault, a resolver or both, without a credential.
    fn fresh(&self) -> BoxFuture<'_, Box<dyn Fixture>>;
}

/// A vault, a resolver or both, and what there is to be had from them.
pub trait Fixture: Send + Sync {
    /// The resolver; `None` where only a vault is put to the test.
    fn resolver(&self) -> Option<&dyn CredentialResolver>;

    /// The vault; `None` where only a resolver is put to the test.
    fn vault(&self) -> Option<&dyn CredentialVault>;

    /// A new connection of this tenant, with this password or without one.
    fn connect<'a>(
        &'a self,
        tenant: &'a TenantId,
        name: &'a str,
        password: Option<&'a [u8]>,
    ) -> BoxFuture<'a, ConnectionDescriptor>;

    /// Another password for it. `false` where it cannot change.
    fn change<'a>(
        &'a self,
        connection: &'a ConnectionDescriptor,
        password: &'a [u8],
    ) -> BoxFuture<'a, bool>;

    /// Makes its password one that cannot be had: its key is lost, say. `false` where that cannot
    /// be arranged.
    fn spoil<'a>(&'a self, connection: &'a ConnectionDescriptor) -> BoxFuture<'a, bool>;

    /// What the vault must hold of a connection with this password: the bytes and the key version,
    /// or `None` where they cannot be told beforehand.
    fn stored(&self, tenant: &TenantId, password: &[u8]) -> Option<(Box<[u8]>, Option<String>)>;
}

/// The clauses, for whoever makes tests of them.
#[doc(hidden)]
#[macro_export]
macro_rules! __conformance_credentials {
    ([$($then:tt)+] $arguments:tt) => {
        $($then)+ { credentials $arguments
            c1_the_resolver_is_scoped_by_tenant
            c2_the_password_that_was_given_last
            c3_what_cannot_be_had_is_an_error
            c4_a_dropped_resolve_leaves_nothing_behind
            c5_the_vault_is_scoped_by_tenant
            c6_the_credential_that_was_stored_last
            c7_a_dropped_look_into_the_vault_leaves_nothing_behind
        }
    };
}
crate::__conformance_credentials!([table!]());

const PASSWORD: &[u8] = b"correct horse \xff\0 battery staple";

/// Says how long a secret is, and no more.
fn length(secret: Option<&[u8]>) -> String {
    secret.map_or_else(|| "none".into(), |secret| format!("{} bytes", secret.len()))
}

async fn resolves(
    at: At,
    resolver: &dyn CredentialResolver,
    of: &ConnectionDescriptor,
    password: Option<&[u8]>,
) {
    let seen = at.ok("resolve", resolver.resolve(&of.tenant, of).await);
    at.that(
        same_secret(seen.as_ref(), password),
        format!("the password ({}) of {}", length(password), of.name),
        format!("another ({})", length(seen.as_ref().map(Secret::expose))),
    );
}

async fn holds(at: At, fixture: &dyn Fixture, of: &ConnectionDescriptor, password: Option<&[u8]>) {
    let Some(vault) = fixture.vault() else { return };
    let seen = at.ok("the vault", vault.stored_credential(&of.tenant, &of.id).await);
    let expected = password.map(|password| fixture.stored(&of.tenant, password));
    let good = match (&seen, expected) {
        (None, None) => true,
        (Some(_), Some(None)) => true,
        (Some(seen), Some(Some((bytes, version)))) => {
            seen.bytes.expose() == &*bytes && seen.key_version == version
        }
        _ => false,
    };
    let seen = seen.map_or_else(|| "none".into(), |seen| format!("another, {seen:?}"));
    at.that(good, format!("the credential of {} ({})", of.name, length(password)), seen);
}

/// Another tenant's password is never given, whoever's descriptor is shown.
pub fn c1_the_resolver_is_scoped_by_tenant(subject: &dyn Subject) {
    run(subject, async {
        let (fixture, at) = (&*subject.fresh().await, at(1));
        let Some(resolver) = fixture.resolver() else { return };
        let (a, b) = tenants();
        let of_a = fixture.connect(&a, "crm", Some(PASSWORD)).await;
        let of_b = fixture.connect(&b, "crm", Some(b"of b")).await;
        resolves(at, resolver, &of_a, Some(PASSWORD)).await;
        resolves(at, resolver, &of_b, Some(b"of b")).await;
        let stolen = resolver.resolve(&b, &of_a).await;
        let given = stolen.is_ok_and(|secret| same_secret(secret.as_ref(), Some(PASSWORD)));
        at.that(!given, "no password of another tenant's connection", "the password");
    });
}

/// The password as it was given last, byte for byte; nothing where there is none.
pub fn c2_the_password_that_was_given_last(subject: &dyn Subject) {
    run(subject, async {
        let (fixture, at) = (&*subject.fresh().await, at(2));
        let Some(resolver) = fixture.resolver() else { return };
        let (a, _) = tenants();
        let open = fixture.connect(&a, "open", None).await;
        let crm = fixture.connect(&a, "crm", Some(PASSWORD)).await;
        let shop = fixture.connect(&a, "shop", Some(b"of the shop")).await;
        resolves(at, resolver, &open, None).await;
        resolves(at, resolver, &crm, Some(PASSWORD)).await;
        if fixture.change(&crm, b"another").await {
            resolves(at, resolver, &crm, Some(b"another")).await;
        }
        resolves(at, resolver, &shop, Some(b"of the shop")).await;
    });
}

/// A password that cannot be had is an error, never none.
pub fn c3_what_cannot_be_had_is_an_error(subject: &dyn Subject) {
    run(subject, async {
        let (fixture, at) = (&*subject.fresh().await, at(3));
        let Some(resolver) = fixture.resolver() else { return };
        let (a, _) = tenants();
        let crm = fixture.connect(&a, "crm", Some(PASSWORD)).await;
        if fixture.spoil(&crm).await {
            at.failed("resolving a lost password", resolver.resolve(&a, &crm).await);
        }
    });
}

/// A resolve that is dropped changes no later one.
pub fn c4_a_dropped_resolve_leaves_nothing_behind(subject: &dyn Subject) {
    run(subject, async {
        let (fixture, at) = (&*subject.fresh().await, at(4));
        let Some(resolver) = fixture.resolver() else { return };
        let (a, _) = tenants();
        let crm = fixture.connect(&a, "crm", Some(PASSWORD)).await;
        let shop = fixture.connect(&a, "shop", Some(b"of the shop")).await;
        for polls in 0..POLLS_MAX {
            let done = cut(resolver.resolve(&a, &shop), polls).await.is_some();
            resolves(at, resolver, &crm, Some(PASSWORD)).await;
            resolves(at, resolver, &shop, Some(b"of the shop")).await;
            if done {
                return;
            }
        }
    });
}

/// Another tenant's credential is not there.
pub fn c5_the_vault_is_scoped_by_tenant(subject: &dyn Subject) {
    run(subject, async {
        let (fixture, at) = (&*subject.fresh().await, at(5));
        let Some(vault) = fixture.vault() else { return };
        let (a, b) = tenants();
        let of_a = fixture.connect(&a, "crm", Some(PASSWORD)).await;
        let of_b = fixture.connect(&b, "crm", Some(b"of b")).await;
        holds(at, fixture, &of_a, Some(PASSWORD)).await;
        holds(at, fixture, &of_b, Some(b"of b")).await;
        // A store may number each tenant's connections alike; then this is b's own.
        if of_a.id != of_b.id {
            let stolen = at.ok("the vault", vault.stored_credential(&b, &of_a.id).await);
            at.that(stolen.is_none(), "none of another tenant's", "a credential");
        }
    });
}

/// The bytes and the key version that were stored last, or nothing.
pub fn c6_the_credential_that_was_stored_last(subject: &dyn Subject) {
    run(subject, async {
        let (fixture, at) = (&*subject.fresh().await, at(6));
        let (a, _) = tenants();
        let open = fixture.connect(&a, "open", None).await;
        let crm = fixture.connect(&a, "crm", Some(PASSWORD)).await;
        holds(at, fixture, &open, None).await;
        holds(at, fixture, &crm, Some(PASSWORD)).await;
        if fixture.change(&crm, b"another").await {
            holds(at, fixture, &crm, Some(b"another")).await;
        }
        holds(at, fixture, &open, None).await;
    });
}

/// A look that is dropped changes no later one.
pub fn c7_a_dropped_look_into_the_vault_leaves_nothing_behind(subject: &dyn Subject) {
    run(subject, async {
        let (fixture, at) = (&*subject.fresh().await, at(7));
        let Some(vault) = fixture.vault() else { return };
        let (a, _) = tenants();
        let crm = fixture.connect(&a, "crm", Some(PASSWORD)).await;
        for polls in 0..POLLS_MAX {
            let done = cut(vault.stored_credential(&a, &crm.id), polls).await.is_some();
            holds(at, fixture, &crm, Some(PASSWORD)).await;
            if done {
                return;
            }
        }
    });
}

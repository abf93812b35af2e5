//! The contract of [`SchemaCache`], clause by clause.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec;

use super::bench::{At, POLLS_MAX, cut, descriptor, name, tenants};
use super::table;
use crate::connection::ConnectionName;
use crate::ports::{BoxFuture, SchemaCache};
use crate::schema::{FieldSchema, SchemaSnapshot, TableSchema};
use crate::tenant::TenantId;

/// What is put to the test.
pub trait Subject: Sync {
    /// Runs a future to its end. The default is [`block_on`](crate::block_on).
    fn block_on(&self, future: BoxFuture<'_, ()>) {
        crate::rt::block_on(future);
    }

    /// An empty cache.
    fn fresh(&self) -> BoxFuture<'_, Box<dyn SchemaCache>>;

    /// Whether it may forget what was put just now, although it has room and nobody takes it away.
    fn forgets(&self) -> bool;
}

/// The clauses, for whoever makes tests of them.
#[doc(hidden)]
#[macro_export]
macro_rules! __conformance_schema_cache {
    ([$($then:tt)+] $arguments:tt) => {
        $($then)+ { schema_cache $arguments
            c1_scoped_by_tenant_and_name
            c2_what_was_put_comes_back_equal
            c3_a_dropped_get_leaves_nothing_behind
            c4_an_earlier_snapshot_never_comes_back
            c5_a_dropped_put_is_whole_or_not_there
            c6_what_was_invalidated_is_gone_until_the_next_put
            c7_a_dropped_invalidate_is_done_or_not
        }
    };
}
crate::__conformance_schema_cache!([table!]());

type Snapshot = Arc<SchemaSnapshot>;

/// A snapshot with everything in it that a snapshot can have; another one for every label.
fn snapshot(label: &str) -> Snapshot {
    let origin = descriptor(&tenants().0, label).fingerprint();
    let orders = vec![
        FieldSchema::new("id", "bigint").not_null().primary_key(1),
        FieldSchema::new("Id", "numeric(10,2)"),
        FieldSchema::new("naïve \"name\"", "").primary_key(2),
    ];
    let tables = [("Order Details", orders), (label, vec![]), ("", vec![])];
    let tables = tables.map(|(name, fields)| TableSchema::new(name, fields));
    Arc::new(SchemaSnapshot::new(origin, tables.into()))
}

async fn put(at: At, cache: &dyn SchemaCache, tenant: &TenantId, name: &ConnectionName, it: &str) {
    at.ok("the put", cache.put(tenant, name, snapshot(it)).await);
}

async fn get(
    at: At,
    cache: &dyn SchemaCache,
    tenant: &TenantId,
    name: &ConnectionName,
) -> Option<Snapshot> {
    at.ok("the get", cache.get(tenant, name).await)
}

/// One of these, and nothing only where the cache may forget.
fn one_of(at: At, subject: &dyn Subject, labels: &[Option<&str>], seen: Option<&Snapshot>) {
    let known = labels.iter().any(|label| label.map(snapshot).as_ref() == seen);
    let forgotten = seen.is_none() && subject.forgets();
    at.that(known || forgotten, alloc::format!("one of {labels:?}"), alloc::format!("{seen:?}"));
}

/// Every tenant and every name has a snapshot of its own.
pub fn c1_scoped_by_tenant_and_name(subject: &dyn Subject) {
    run(subject, async {
        let (cache, at) = (&*subject.fresh().await, at(1));
        let ((a, b), crm, other) = (tenants(), name("crm"), name("CRM"));
        put(at, cache, &a, &crm, "of a").await;
        at.same("for another tenant", &None, &get(at, cache, &b, &crm).await);
        at.same("for another name", &None, &get(at, cache, &a, &other).await);
        put(at, cache, &b, &crm, "of b").await;
        put(at, cache, &a, &other, "other").await;
        one_of(at, subject, &[Some("of a")], get(at, cache, &a, &crm).await.as_ref());
        one_of(at, subject, &[Some("of b")], get(at, cache, &b, &crm).await.as_ref());
        at.ok("invalidate", cache.invalidate(&b, &crm).await);
        one_of(at, subject, &[Some("of a")], get(at, cache, &a, &crm).await.as_ref());
        one_of(at, subject, &[Some("other")], get(at, cache, &a, &other).await.as_ref());
    });
}

/// What was put comes back equal, or not at all.
pub fn c2_what_was_put_comes_back_equal(subject: &dyn Subject) {
    run(subject, async {
        let (cache, at) = (&*subject.fresh().await, at(2));
        let ((a, _), crm) = (tenants(), name("naïve \"crm\""));
        at.same("before the first put", &None, &get(at, cache, &a, &crm).await);
        put(at, cache, &a, &crm, "whole").await;
        for _ in 0..3 {
            one_of(at, subject, &[Some("whole")], get(at, cache, &a, &crm).await.as_ref());
        }
    });
}

/// A get that is dropped changes no later one.
pub fn c3_a_dropped_get_leaves_nothing_behind(subject: &dyn Subject) {
    run(subject, async {
        let (cache, at) = (&*subject.fresh().await, at(3));
        let ((a, _), crm) = (tenants(), name("crm"));
        put(at, cache, &a, &crm, "kept").await;
        for polls in 0..POLLS_MAX {
            let done = cut(cache.get(&a, &crm), polls).await;
            one_of(at, subject, &[Some("kept")], get(at, cache, &a, &crm).await.as_ref());
            if done.is_some() {
                return;
            }
        }
    });
}

/// After a put, what was there before never comes back.
pub fn c4_an_earlier_snapshot_never_comes_back(subject: &dyn Subject) {
    run(subject, async {
        let (cache, at) = (&*subject.fresh().await, at(4));
        let ((a, _), crm) = (tenants(), name("crm"));
        for label in ["first", "second", "first", "third"] {
            put(at, cache, &a, &crm, label).await;
            one_of(at, subject, &[Some(label)], get(at, cache, &a, &crm).await.as_ref());
        }
    });
}

/// After a dropped put the snapshot is there, or the one before it, or none; never a part of one.
pub fn c5_a_dropped_put_is_whole_or_not_there(subject: &dyn Subject) {
    run(subject, async {
        let (cache, at) = (&*subject.fresh().await, at(5));
        let ((a, _), crm) = (tenants(), name("crm"));
        for polls in 0..POLLS_MAX {
            put(at, cache, &a, &crm, "old").await;
            let done = cut(cache.put(&a, &crm, snapshot("new")), polls).await;
            let seen = get(at, cache, &a, &crm).await;
            let legal: &[_] = match done {
                Some(_) => &[Some("new")],
                None => &[Some("new"), Some("old"), None],
            };
            one_of(at, subject, legal, seen.as_ref());
            if done.is_some() {
                return;
            }
        }
    });
}

/// What was invalidated is gone until the next put, and nothing else is.
pub fn c6_what_was_invalidated_is_gone_until_the_next_put(subject: &dyn Subject) {
    run(subject, async {
        let (cache, at) = (&*subject.fresh().await, at(6));
        let ((a, _), crm) = (tenants(), name("crm"));
        at.ok("invalidating nothing", cache.invalidate(&a, &crm).await);
        put(at, cache, &a, &crm, "old").await;
        put(at, cache, &a, &crm, "newer").await;
        at.ok("invalidate", cache.invalidate(&a, &crm).await);
        for _ in 0..2 {
            at.same("after invalidate", &None, &get(at, cache, &a, &crm).await);
        }
        put(at, cache, &a, &crm, "again").await;
        one_of(at, subject, &[Some("again")], get(at, cache, &a, &crm).await.as_ref());
    });
}

/// After a dropped invalidate the snapshot is there or gone, and a later invalidate works.
pub fn c7_a_dropped_invalidate_is_done_or_not(subject: &dyn Subject) {
    run(subject, async {
        let (cache, at) = (&*subject.fresh().await, at(7));
        let ((a, _), crm) = (tenants(), name("crm"));
        for polls in 0..POLLS_MAX {
            put(at, cache, &a, &crm, "old").await;
            let done = cut(cache.invalidate(&a, &crm), polls).await;
            one_of(at, subject, &[Some("old"), None], get(at, cache, &a, &crm).await.as_ref());
            at.ok("invalidate", cache.invalidate(&a, &crm).await);
            at.same("after invalidate", &None, &get(at, cache, &a, &crm).await);
            if done.is_some() {
                return;
            }
        }
    });
}

//! What updates and deletes promise, by name and by id alike.

use alloc::collections::BTreeMap;
use alloc::format;

use super::super::bench::{POLLS_MAX, both, cut, draft, tenants};
use super::bench::{Bench, By, PASSWORD, credential, expected, same};
use crate::connection::{ConnectionPatch, StoredCredential};
use crate::error::Category;
use crate::secret::Secret;

pub(super) async fn both_patches_stay(bench: &Bench<'_>, by: By) {
    let (a, _) = tenants();
    let crm = bench.create(&a, "patched").await;
    for n in 0..10 {
        let (host, user) = (format!("host-{n}"), format!("user-{n}"));
        let to_host = ConnectionPatch::new().host(&host);
        let to_user = ConnectionPatch::new().username(&user);
        let to_host = bench.update((by, &a, &crm), to_host, None);
        let to_user = bench.update((by, &a, &crm), to_user, None);
        let (one, two) = both(to_host, to_user).await;
        bench.at.same("the host in the answer", &host, &bench.at.ok("update", one).endpoint.host);
        let user_seen = bench.at.ok("update", two).endpoint.username;
        bench.at.same("the user in the answer", &user, &user_seen);
        let mut expected = expected(&crm);
        (expected.endpoint.host, expected.endpoint.username) = (host, user);
        bench.keeps(&expected).await;
    }
}

pub(super) async fn credential_stays(bench: &Bench<'_>, by: By) {
    let (a, _) = tenants();
    let crm = bench.create(&a, "credential").await;
    let of = (by, &a, &crm);
    let host = || ConnectionPatch::new().host("replica.example.com");
    bench.at.ok("update", bench.update(of, host(), None).await);
    bench.holds(&crm, Some((PASSWORD, Some("key-1")))).await;
    let new = Some(credential(b"new", "key-2"));
    let answer = bench.at.ok("update", bench.update(of, ConnectionPatch::new(), new).await);
    bench.holds(&crm, Some((b"new", Some("key-2")))).await;
    bench.keeps(&answer).await;
    let plain = Some(StoredCredential::unprotected(Secret::from("clear")));
    bench.at.ok("update", bench.update(of, host(), plain).await);
    bench.holds(&crm, Some((b"clear", None))).await;
}

pub(super) async fn the_rest_stays(bench: &Bench<'_>, by: By) {
    let (a, _) = tenants();
    let crm = bench.create(&a, "rest").await;
    let bystander = bench.create(&a, "bystander").await;
    let patches: [fn() -> ConnectionPatch; 7] = [
        || ConnectionPatch::new().host(""),
        || ConnectionPatch::new().port(0),
        || ConnectionPatch::new().kind("other").database("new \"database\""),
        || ConnectionPatch::new().username("na\u{ef}ve"),
        || ConnectionPatch::new().options(BTreeMap::new()),
        || ConnectionPatch::new().host_attributes(BTreeMap::new()),
        || {
            let options = BTreeMap::from([("new".into(), "option".into())]);
            let attributes = BTreeMap::from([("new".into(), "attribute".into())]);
            ConnectionPatch::new().options(options).host_attributes(attributes)
        },
    ];
    let mut expected = expected(&crm);
    for patch in patches {
        patch().apply(&mut expected);
        let answer = bench.at.ok("update", bench.update((by, &a, &crm), patch(), None).await);
        same(bench.at, "the answer", Some(&expected), Some(&answer));
        bench.keeps(&expected).await;
    }
    bench.keeps(&bystander).await;
}

pub(super) async fn nothing_to_update(bench: &Bench<'_>, by: By) {
    let (a, b) = tenants();
    let (crm, gone) = (bench.create(&a, "kept").await, bench.create(&a, "gone").await);
    bench.at.ok("delete", bench.delete(by, &a, &gone).await);
    for (tenant, of) in [(&b, &crm), (&a, &gone)] {
        let patch = ConnectionPatch::new().host("elsewhere");
        let new = Some(credential(b"stolen", "key-b"));
        let update = bench.update((by, tenant, of), patch, new).await;
        bench.at.refused("an update of nothing", Category::NotFound, update);
    }
    bench.keeps(&crm).await;
    bench.holds(&crm, Some((PASSWORD, Some("key-1")))).await;
    bench.lost(&gone).await;
}

pub(super) async fn dropped_update(bench: &Bench<'_>, by: By) {
    let (a, _) = tenants();
    for polls in 0..POLLS_MAX {
        let crm = bench.create(&a, &format!("update-{polls}")).await;
        let patch = || ConnectionPatch::new().host("new").username("new");
        let new = Some(credential(b"new", "key-2"));
        let done = cut(bench.update((by, &a, &crm), patch(), new), polls).await.is_some();
        let mut patched = expected(&crm);
        patch().apply(&mut patched);
        if done || bench.find(&a, &crm.name).await.as_ref() == Some(&patched) {
            bench.keeps(&patched).await;
            bench.holds(&crm, Some((b"new", Some("key-2")))).await;
        } else {
            bench.keeps(&expected(&crm)).await;
            bench.holds(&crm, Some((PASSWORD, Some("key-1")))).await;
        }
        if done {
            return;
        }
    }
}

pub(super) async fn name_is_free(bench: &Bench<'_>, by: By) {
    let (a, b) = tenants();
    let (crm, other) = (bench.create(&a, "deleted").await, bench.create(&a, "other").await);
    let of_b = bench.create(&b, "deleted").await;
    bench.at.ok("delete", bench.delete(by, &a, &crm).await);
    bench.lost(&crm).await;
    for kept in [&other, &of_b] {
        bench.keeps(kept).await;
        bench.holds(kept, Some((PASSWORD, Some("key-1")))).await;
    }
    let again = bench.store().create(&a, draft("deleted"), None).await;
    let again = bench.at.ok("create after delete", again);
    bench.keeps(&again).await;
    bench.holds(&again, None).await;
}

pub(super) async fn nothing_to_delete(bench: &Bench<'_>, by: By) {
    let (a, b) = tenants();
    let (crm, gone) = (bench.create(&a, "still").await, bench.create(&a, "twice").await);
    bench.at.ok("delete", bench.delete(by, &a, &gone).await);
    for (tenant, of) in [(&a, &gone), (&b, &crm)] {
        let delete = bench.delete(by, tenant, of).await;
        bench.at.refused("a delete of nothing", Category::NotFound, delete);
    }
    bench.keeps(&crm).await;
}

pub(super) async fn dropped_delete(bench: &Bench<'_>, by: By) {
    let (a, _) = tenants();
    for polls in 0..POLLS_MAX {
        let crm = bench.create(&a, &format!("delete-{polls}")).await;
        let done = cut(bench.delete(by, &a, &crm), polls).await.is_some();
        if done || bench.find(&a, &crm.name).await.is_none() {
            bench.lost(&crm).await;
        } else {
            bench.keeps(&crm).await;
            bench.holds(&crm, Some((PASSWORD, Some("key-1")))).await;
        }
        if done {
            return;
        }
    }
}

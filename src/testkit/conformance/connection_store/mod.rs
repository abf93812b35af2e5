//! The contract of [`ConnectionStore`], clause by clause.

mod bench;
mod change;

use alloc::boxed::Box;
use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;

use self::bench::{Bench, By, PASSWORD, credential, expected, same};
use super::bench::{POLLS_MAX, both, cut, draft, name, tenants};
use super::table;
use crate::connection::{
    ConnectionDescriptor, ConnectionId, ConnectionPatch, PageQuery, StoredCredential,
};
use crate::error::Category;
use crate::ports::{BoxFuture, ConnectionStore, CredentialVault};
use crate::secret::Secret;

/// What is put to the test.
pub trait Subject: Sync {
    /// Runs a future to its end. The default is [`block_on`](crate::block_on).
    fn block_on(&self, future: BoxFuture<'_, ()>) {
        crate::rt::block_on(future);
    }

    /// An empty store.
    fn fresh(&self) -> BoxFuture<'_, Box<dyn Fixture>>;

    /// How to ask for the first page, of a few connections at most so that there are several
    /// pages; `None` where the store has no pages and refuses every query for one.
    fn first_page(&self) -> Option<PageQuery>;
}

/// A store, and where its credentials are.
pub trait Fixture: Send + Sync {
    /// The store.
    fn store(&self) -> &dyn ConnectionStore;

    /// The vault of its credentials.
    fn vault(&self) -> &dyn CredentialVault;
}

/// The clauses, for whoever makes tests of them.
#[doc(hidden)]
#[macro_export]
macro_rules! __conformance_connection_store {
    ([$($then:tt)+] $arguments:tt) => {
        $($then)+ { connection_store $arguments
            c1_a_dropped_read_leaves_nothing_behind
            c2_of_two_creates_of_one_name_one_succeeds
            c3_tenants_do_not_see_each_other
            c4_create_answers_with_the_draft_and_an_id
            c5_the_credential_is_beside_the_descriptor
            c6_a_dropped_create_is_whole_or_not_there
            c7_somebody_elses_is_nobodys
            c8_names_are_compared_by_bytes
            c9_find_by_id_as_find
            c10_of_two_patches_neither_is_lost
            c11_no_credential_keeps_the_stored_one
            c12_what_a_patch_does_not_name_stays
            c13_update_of_nothing_is_not_found
            c14_a_dropped_update_is_whole_or_not_there
            c15_update_by_id_as_update
            c16_delete_frees_the_name
            c17_delete_of_nothing_is_not_found
            c18_a_dropped_delete_is_whole_or_not_there
            c19_delete_by_id_as_delete
            c20_list_is_whole_and_sorted
            c21_pages_visit_every_connection_once
            c22_an_unknown_parameter_is_refused
        }
    };
}
crate::__conformance_connection_store!([table!]());

/// Reads that are dropped change nothing.
pub fn c1_a_dropped_read_leaves_nothing_behind(subject: &dyn Subject) {
    run(subject, async {
        let bench = Bench { fixture: &*subject.fresh().await, at: at(1) };
        let (a, _) = tenants();
        let crm = bench.create(&a, "crm").await;
        let page = subject.first_page().unwrap_or_default();
        for polls in 0..POLLS_MAX {
            let done = [
                cut(bench.store().find(&a, &crm.name), polls).await.is_some(),
                cut(bench.store().find_by_id(&a, &crm.id), polls).await.is_some(),
                cut(bench.store().list(&a), polls).await.is_some(),
                cut(bench.store().list_paged(&a, &page), polls).await.is_some(),
            ];
            bench.keeps(&crm).await;
            bench.holds(&crm, Some((PASSWORD, Some("key-1")))).await;
            let listed = bench.at.ok("list", bench.store().list(&a).await);
            bench.at.same("connections:", &1, &listed.len());
            if done == [true; 4] {
                return;
            }
        }
    });
}

/// The second create of a name is a conflict, in turn and at the same time, and changes nothing.
pub fn c2_of_two_creates_of_one_name_one_succeeds(subject: &dyn Subject) {
    run(subject, async {
        let bench = Bench { fixture: &*subject.fresh().await, at: at(2) };
        let (a, _) = tenants();
        let crm = bench.create(&a, "crm").await;
        let mut other = draft("crm");
        other.endpoint.host = "elsewhere.example.com".into();
        let again = bench.store().create(&a, other.clone(), Some(credential(b"x", "x"))).await;
        bench.at.refused("the second create", Category::Conflict, again);
        bench.keeps(&crm).await;
        bench.holds(&crm, Some((PASSWORD, Some("key-1")))).await;
        for n in 0..10 {
            let mut drafts = [draft("shop"), other.clone()];
            for draft in &mut drafts {
                draft.name = name(&format!("shop-{n}"));
            }
            let [one, two] = drafts.map(|draft| bench.store().create(&a, draft, None));
            let created = match both(one, two).await {
                (Ok(created), Err(error)) | (Err(error), Ok(created)) => {
                    bench.at.refused::<()>("one create", Category::Conflict, Err(error));
                    created
                }
                (Ok(_), Ok(_)) => bench.at.fail("one of two creates to succeed", "two"),
                (Err(_), Err(_)) => bench.at.fail("one of two creates to succeed", "none"),
            };
            bench.keeps(&created).await;
        }
    });
}

/// The same name may exist once for each tenant, and no operation reaches another tenant's.
pub fn c3_tenants_do_not_see_each_other(subject: &dyn Subject) {
    run(subject, async {
        let bench = Bench { fixture: &*subject.fresh().await, at: at(3) };
        let (a, b) = tenants();
        let of_a = bench.create(&a, "crm").await;
        let of_b = bench.create(&b, "crm").await;
        bench.keeps(&of_a).await;
        bench.keeps(&of_b).await;
        let patch = ConnectionPatch::new().host("b.example.com");
        let new = Some(credential(b"of b", "key-b"));
        let changed = bench.at.ok("update", bench.update((By::Name, &b, &of_b), patch, new).await);
        bench.keeps(&of_a).await;
        bench.keeps(&changed).await;
        bench.holds(&of_a, Some((PASSWORD, Some("key-1")))).await;
        bench.at.ok("delete", bench.delete(By::Name, &a, &of_a).await);
        bench.keeps(&changed).await;
        bench.holds(&changed, Some((b"of b", Some("key-b")))).await;
    });
}

/// The answer is the draft, whole, with an id of its own.
pub fn c4_create_answers_with_the_draft_and_an_id(subject: &dyn Subject) {
    run(subject, async {
        let bench = Bench { fixture: &*subject.fresh().await, at: at(4) };
        let (a, b) = tenants();
        let mut ids = Vec::new();
        for (tenant, name) in [(&a, "crm"), (&b, "crm"), (&a, "naïve \"name\" \u{1F980}")] {
            let created = bench.create(tenant, name).await;
            same(bench.at, "the draft", Some(&expected(&created)), Some(&created));
            bench.at.same("the tenant", tenant, &created.tenant);
            bench.at.same("the name", name, created.name.as_str());
            bench.keeps(&created).await;
            let id = (tenant, created.id);
            bench.at.that(!ids.contains(&id), "an id of its own", format!("{id:?} twice"));
            ids.push(id);
        }
    });
}

/// The credential is stored, its key version too, and no descriptor has it.
pub fn c5_the_credential_is_beside_the_descriptor(subject: &dyn Subject) {
    run(subject, async {
        let bench = Bench { fixture: &*subject.fresh().await, at: at(5) };
        let (a, _) = tenants();
        let crm = bench.create(&a, "crm").await;
        bench.holds(&crm, Some((PASSWORD, Some("key-1")))).await;
        let plain = StoredCredential::unprotected(Secret::from("in the clear"));
        let made = bench.store().create(&a, draft("plain"), Some(plain)).await;
        let made = bench.at.ok("create", made);
        bench.holds(&made, Some((b"in the clear", None))).await;
        let open = bench.at.ok("create", bench.store().create(&a, draft("open"), None).await);
        bench.holds(&open, None).await;
        for created in [crm, made, open] {
            same(bench.at, "no more than the draft", Some(&expected(&created)), Some(&created));
            bench.keeps(&created).await;
        }
    });
}

/// After a dropped create the connection exists with its credential, or does not exist.
pub fn c6_a_dropped_create_is_whole_or_not_there(subject: &dyn Subject) {
    run(subject, async {
        let bench = Bench { fixture: &*subject.fresh().await, at: at(6) };
        let (a, _) = tenants();
        for polls in 0..POLLS_MAX {
            let name = name(&format!("crm-{polls}"));
            let stored = Some(credential(PASSWORD, "key-1"));
            let create = bench.store().create(&a, draft(name.as_str()), stored);
            let done = cut(create, polls).await.is_some();
            match bench.find(&a, &name).await {
                Some(found) => {
                    same(bench.at, "the draft", Some(&expected(&found)), Some(&found));
                    bench.holds(&found, Some((PASSWORD, Some("key-1")))).await;
                }
                None => bench.at.that(!done, "what was created", "nothing"),
            }
            if done {
                return;
            }
        }
    });
}

/// Another tenant's connection is as absent as one that never was.
pub fn c7_somebody_elses_is_nobodys(subject: &dyn Subject) {
    run(subject, async {
        let bench = Bench { fixture: &*subject.fresh().await, at: at(7) };
        let (a, b) = tenants();
        let crm = name("crm");
        same(bench.at, "before", None, bench.find(&a, &crm).await.as_ref());
        let created = bench.create(&a, "crm").await;
        same(bench.at, "for another tenant", None, bench.find(&b, &crm).await.as_ref());
        same(bench.at, "for its own tenant", Some(&created), bench.find(&a, &crm).await.as_ref());
    });
}

/// Case, white space and normal forms are part of a name.
pub fn c8_names_are_compared_by_bytes(subject: &dyn Subject) {
    run(subject, async {
        let bench = Bench { fixture: &*subject.fresh().await, at: at(8) };
        let (a, _) = tenants();
        let names = ["crm", "CRM", "crm ", " crm", "crm%", "na\u{ef}ve", "nai\u{308}ve", "cr_"];
        for (n, text) in names.iter().enumerate() {
            same(bench.at, "not yet", None, bench.find(&a, &name(text)).await.as_ref());
            let created = bench.create(&a, text).await;
            bench.keeps(&created).await;
            let listed = bench.at.ok("list", bench.store().list(&a).await);
            bench.at.same("connections:", &(n + 1), &listed.len());
        }
    });
}

/// By id as by name: exactly this one, and none of another tenant's.
pub fn c9_find_by_id_as_find(subject: &dyn Subject) {
    run(subject, async {
        let bench = Bench { fixture: &*subject.fresh().await, at: at(9) };
        let (a, b) = tenants();
        let (crm, shop) = (bench.create(&a, "crm").await, bench.create(&a, "shop").await);
        for it in [&crm, &shop] {
            same(bench.at, "by its id", Some(it), bench.by_id(&a, &it.id).await.as_ref());
            same(bench.at, "for another tenant", None, bench.by_id(&b, &it.id).await.as_ref());
        }
        let nobodys = ConnectionId::parse("nobody's").expect("the id is one");
        same(bench.at, "an unknown id", None, bench.by_id(&a, &nobodys).await.as_ref());
    });
}

/// Of two patches to different fields neither is lost, in turn and at the same time.
pub fn c10_of_two_patches_neither_is_lost(subject: &dyn Subject) {
    run(subject, async {
        let bench = Bench { fixture: &*subject.fresh().await, at: at(10) };
        change::both_patches_stay(&bench, By::Name).await;
    });
}

/// Without a credential the stored one stays, with its key version; with one, both are replaced.
pub fn c11_no_credential_keeps_the_stored_one(subject: &dyn Subject) {
    run(subject, async {
        let bench = Bench { fixture: &*subject.fresh().await, at: at(11) };
        change::credential_stays(&bench, By::Name).await;
    });
}

/// What a patch does not name stays as it is, and what it names is what is answered and stored.
pub fn c12_what_a_patch_does_not_name_stays(subject: &dyn Subject) {
    run(subject, async {
        let bench = Bench { fixture: &*subject.fresh().await, at: at(12) };
        change::the_rest_stays(&bench, By::Name).await;
    });
}

/// Updating what the tenant does not have is `not_found`, and touches nobody else's.
pub fn c13_update_of_nothing_is_not_found(subject: &dyn Subject) {
    run(subject, async {
        let bench = Bench { fixture: &*subject.fresh().await, at: at(13) };
        change::nothing_to_update(&bench, By::Name).await;
    });
}

/// After a dropped update the patch and its credential are there, or neither is.
pub fn c14_a_dropped_update_is_whole_or_not_there(subject: &dyn Subject) {
    run(subject, async {
        let bench = Bench { fixture: &*subject.fresh().await, at: at(14) };
        change::dropped_update(&bench, By::Name).await;
    });
}

/// By id as by name, in all of it.
pub fn c15_update_by_id_as_update(subject: &dyn Subject) {
    run(subject, async {
        let bench = Bench { fixture: &*subject.fresh().await, at: at(15) };
        change::both_patches_stay(&bench, By::Id).await;
        change::credential_stays(&bench, By::Id).await;
        change::the_rest_stays(&bench, By::Id).await;
        change::nothing_to_update(&bench, By::Id).await;
        change::dropped_update(&bench, By::Id).await;
    });
}

/// After a delete the connection and its credential are gone, the name is free, the rest is there.
pub fn c16_delete_frees_the_name(subject: &dyn Subject) {
    run(subject, async {
        let bench = Bench { fixture: &*subject.fresh().await, at: at(16) };
        change::name_is_free(&bench, By::Name).await;
    });
}

/// Deleting what the tenant does not have is `not_found`, and touches nobody else's.
pub fn c17_delete_of_nothing_is_not_found(subject: &dyn Subject) {
    run(subject, async {
        let bench = Bench { fixture: &*subject.fresh().await, at: at(17) };
        change::nothing_to_delete(&bench, By::Name).await;
    });
}

/// After a dropped delete the connection is gone with its credential, or neither is.
pub fn c18_a_dropped_delete_is_whole_or_not_there(subject: &dyn Subject) {
    run(subject, async {
        let bench = Bench { fixture: &*subject.fresh().await, at: at(18) };
        change::dropped_delete(&bench, By::Name).await;
    });
}

/// By id as by name, in all of it.
pub fn c19_delete_by_id_as_delete(subject: &dyn Subject) {
    run(subject, async {
        let bench = Bench { fixture: &*subject.fresh().await, at: at(19) };
        change::name_is_free(&bench, By::Id).await;
        change::nothing_to_delete(&bench, By::Id).await;
        change::dropped_delete(&bench, By::Id).await;
    });
}

/// Names that sort differently by bytes, by case and by number, not in order.
const NAMES: [&str; 9] = ["b", "B", "a10", "a2", "\u{1F980}", "\u{e9}", "z", "Z", "a b"];

async fn create_all(bench: &Bench<'_>) -> Vec<ConnectionDescriptor> {
    let (a, b) = tenants();
    let mut all = Vec::new();
    for name in NAMES {
        all.push(bench.create(&a, name).await);
        bench.create(&b, name).await;
        bench.create(&b, &format!("b's {name}")).await;
    }
    all.sort_by(|one, other| one.name.cmp(&other.name));
    all
}

/// All of the tenant's, whole, sorted by the bytes of their names; none of another tenant's.
pub fn c20_list_is_whole_and_sorted(subject: &dyn Subject) {
    run(subject, async {
        let bench = Bench { fixture: &*subject.fresh().await, at: at(20) };
        let (a, _) = tenants();
        bench.at.same("at first", &Vec::new(), &bench.at.ok("list", bench.store().list(&a).await));
        let mut all = create_all(&bench).await;
        bench.at.same("all", &all, &bench.at.ok("list", bench.store().list(&a).await));
        let deleted = all.remove(4);
        bench.at.ok("delete", bench.delete(By::Id, &a, &deleted).await);
        bench.at.same("the others", &all, &bench.at.ok("list", bench.store().list(&a).await));
    });
}

/// From the first page along `next` to the end: every connection once, none of another tenant's.
pub fn c21_pages_visit_every_connection_once(subject: &dyn Subject) {
    run(subject, async {
        let bench = Bench { fixture: &*subject.fresh().await, at: at(21) };
        let (a, _) = tenants();
        let Some(first) = subject.first_page() else {
            let page = bench.store().list_paged(&a, &PageQuery::default()).await;
            return bench.at.refused("a page", Category::Validation, page);
        };
        let all = create_all(&bench).await;
        let (mut seen, mut next) = (Vec::new(), Some(first));
        while let Some(query) = next {
            let page = bench.at.ok("list_paged", bench.store().list_paged(&a, &query).await);
            bench.at.that(seen.len() <= all.len(), "an end of the pages", "one page after another");
            if let Some(total) = page.total {
                bench.at.same("in all", &all.len().to_string(), &total.to_string());
            }
            bench.at.that(
                !page.items.is_empty() || page.next.is_none(),
                "a page with something on it, or the last one",
                "an empty page that is not the last",
            );
            seen.extend(page.items);
            next = page.next;
        }
        seen.sort_by(|one, other| one.name.cmp(&other.name));
        bench.at.same("each once", &all, &seen);
    });
}

/// A parameter that the store does not know is `validation`.
pub fn c22_an_unknown_parameter_is_refused(subject: &dyn Subject) {
    run(subject, async {
        let bench = Bench { fixture: &*subject.fresh().await, at: at(22) };
        let (a, _) = tenants();
        bench.create(&a, "crm").await;
        let mut query = subject.first_page().unwrap_or_default();
        query.0.insert("no such parameter".into(), "1".into());
        let page = bench.store().list_paged(&a, &query).await;
        bench.at.refused("an unknown parameter", Category::Validation, page);
    });
}

//! The contract of [`ExecutionStore`], clause by clause.

use alloc::boxed::Box;
use core::time::Duration;

use super::bench::{POLLS_MAX, cut, request, tenants};
use super::table;
use crate::digest::sha256;
use crate::error::{Category, Stage};
use crate::extraction::RequestId;
use crate::ports::{BoxFuture, ExecutionRecord, ExecutionState, ExecutionStore};
use crate::tenant::TenantId;

/// What is put to the test.
pub trait Subject: Sync {
    /// Runs a future to its end. The default is [`block_on`](crate::block_on).
    fn block_on(&self, future: BoxFuture<'_, ()>) {
        crate::rt::block_on(future);
    }

    /// An empty store.
    fn fresh(&self) -> BoxFuture<'_, Box<dyn Fixture>>;
}

/// A store, and a way to look into it.
pub trait Fixture: Send + Sync {
    /// The store.
    fn store(&self) -> &dyn ExecutionStore;

    /// The state that the store holds of an execution now.
    fn state<'a>(
        &'a self,
        tenant: &'a TenantId,
        request: &'a RequestId,
    ) -> BoxFuture<'a, Option<ExecutionRecord>>;
}

/// The clauses, for whoever makes tests of them.
#[doc(hidden)]
#[macro_export]
macro_rules! __conformance_execution_store {
    ([$($then:tt)+] $arguments:tt) => {
        $($then)+ { execution_store $arguments
            c1_tenants_may_use_the_same_request_id
            c2_the_last_save_wins
            c3_all_of_the_record_is_kept
            c4_a_dropped_save_is_whole_or_not_there
        }
    };
}
crate::__conformance_execution_store!([table!]());

fn running(id: &str) -> ExecutionRecord {
    let mut record = ExecutionRecord::new(request(id), ExecutionState::Running);
    record.at = Some(Duration::from_millis(1_709_296_496_789));
    record.metadata.insert("report".into(), "2024-03 \"final\"".into());
    record
}

fn completed(id: &str) -> ExecutionRecord {
    let mut record = running(id);
    record.state = ExecutionState::Completed;
    record.rows = 3_000_000_000;
    record.bytes = 5_000_000_000;
    record.digest = Some(sha256(id.as_bytes()));
    record.reference = Some("results/naïve name".into());
    record
}

fn failed(id: &str) -> ExecutionRecord {
    let mut record = running(id);
    record.state = ExecutionState::Failed;
    record.category = Some(Category::LimitExceeded);
    record.stage = Some(Stage::Encode);
    record
}

/// Two tenants may use the same request id.
pub fn c1_tenants_may_use_the_same_request_id(subject: &dyn Subject) {
    run(subject, async {
        let (fixture, at) = (subject.fresh().await, at(1));
        let ((a, b), id) = (tenants(), request("report"));
        at.ok("the save", fixture.store().save(&a, completed("report")).await);
        at.same("for another tenant", &None, &fixture.state(&b, &id).await);
        at.ok("the save", fixture.store().save(&b, failed("report")).await);
        at.same("the first tenant's", &Some(completed("report")), &fixture.state(&a, &id).await);
        at.same("the second tenant's", &Some(failed("report")), &fixture.state(&b, &id).await);
    });
}

/// The last save wins, over whatever was there, and only over the same execution.
pub fn c2_the_last_save_wins(subject: &dyn Subject) {
    run(subject, async {
        let (fixture, at) = (subject.fresh().await, at(2));
        let ((a, _), id) = (tenants(), request("report"));
        at.ok("the save", fixture.store().save(&a, running("Report")).await);
        for record in [running("report"), failed("report"), completed("report"), running("report")]
        {
            at.ok("the save", fixture.store().save(&a, record.clone()).await);
            at.same("the last record", &Some(record), &fixture.state(&a, &id).await);
        }
        let other = fixture.state(&a, &request("Report")).await;
        at.same("the other execution's", &Some(running("Report")), &other);
    });
}

/// Every field of a record is kept, and none of an earlier record's is left.
pub fn c3_all_of_the_record_is_kept(subject: &dyn Subject) {
    run(subject, async {
        let (fixture, at) = (subject.fresh().await, at(3));
        let (a, _) = tenants();
        let mut canceled = ExecutionRecord::new(request("x"), ExecutionState::Canceled);
        for record in [running("x"), completed("x"), failed("x"), canceled.clone()] {
            at.ok("the save", fixture.store().save(&a, record.clone()).await);
            let seen = fixture.state(&a, &record.request_id).await;
            at.same("what was saved:", &Some(record), &seen);
        }
        canceled.request_id = request("naïve id, \u{1F980}");
        at.ok("the save", fixture.store().save(&a, canceled.clone()).await);
        let seen = fixture.state(&a, &canceled.request_id).await;
        at.same("what was saved:", &Some(canceled), &seen);
    });
}

/// After a drop the record is there whole, or the one before it is.
pub fn c4_a_dropped_save_is_whole_or_not_there(subject: &dyn Subject) {
    run(subject, async {
        let (fixture, at) = (subject.fresh().await, at(4));
        let (a, _) = tenants();
        for polls in 0..POLLS_MAX {
            let id = alloc::format!("report-{polls}");
            at.ok("the save", fixture.store().save(&a, running(&id)).await);
            let done = cut(fixture.store().save(&a, completed(&id)), polls).await;
            let seen = fixture.state(&a, &request(&id)).await;
            let whole = seen == Some(completed(&id));
            at.that(
                whole || done.is_none() && seen == Some(running(&id)),
                "the record, or the one before it",
                alloc::format!("{seen:?}"),
            );
            if done.is_some() {
                return;
            }
        }
    });
}

//! The contract of [`ActiveExecutionChecker`], clause by clause.

use alloc::boxed::Box;

use super::bench::{POLLS_MAX, cut, name, tenants};
use super::table;
use crate::connection::ConnectionName;
use crate::ports::{ActiveExecutionChecker, BoxFuture};
use crate::tenant::TenantId;

/// What is put to the test.
pub trait Subject: Sync {
    /// Runs a future to its end. The default is [`block_on`](crate::block_on).
    fn block_on(&self, future: BoxFuture<'_, ()>) {
        crate::rt::block_on(future);
    }

    /// A checker that knows of no execution yet.
    fn fresh(&self) -> BoxFuture<'_, Box<dyn Fixture>>;
}

/// A checker, and executions for it to know of.
pub trait Fixture: Send + Sync {
    /// The checker.
    fn checker(&self) -> &dyn ActiveExecutionChecker;

    /// An execution of this tenant begins to use this connection.
    fn begin<'a>(
        &'a self,
        tenant: &'a TenantId,
        connection: &'a ConnectionName,
    ) -> BoxFuture<'a, ()>;

    /// It is over.
    fn end<'a>(&'a self, tenant: &'a TenantId, connection: &'a ConnectionName)
    -> BoxFuture<'a, ()>;
}

/// The clauses, for whoever makes tests of them.
#[doc(hidden)]
#[macro_export]
macro_rules! __conformance_active_execution_checker {
    ([$($then:tt)+] $arguments:tt) => {
        $($then)+ { active_execution_checker $arguments
            c1_other_tenants_never_count
            c2_true_while_one_runs_on_the_connection
            c3_a_dropped_call_leaves_nothing_behind
        }
    };
}
crate::__conformance_active_execution_checker!([table!]());

/// Another tenant's work never counts.
pub fn c1_other_tenants_never_count(subject: &dyn Subject) {
    run(subject, async {
        let (fixture, at) = (subject.fresh().await, at(1));
        let ((a, b), crm) = (tenants(), name("crm"));
        fixture.begin(&a, &crm).await;
        let own = at.ok("the question", fixture.checker().has_active(&a, &crm).await);
        at.that(own, "the tenant's own execution to count", "false");
        let other = at.ok("the question", fixture.checker().has_active(&b, &crm).await);
        at.that(!other, "another tenant's execution not to count", "true");
    });
}

/// True from the beginning of an execution to its end, for the connection that it uses.
pub fn c2_true_while_one_runs_on_the_connection(subject: &dyn Subject) {
    run(subject, async {
        let (fixture, at) = (subject.fresh().await, at(2));
        let ((a, _), crm, shop) = (tenants(), name("crm"), name("CRM"));
        let expect = async |when: &str, connection: &ConnectionName, expected: bool| {
            let seen = fixture.checker().has_active(&a, connection).await;
            at.same(when, &expected, &at.ok("the question", seen));
        };
        expect("before: ", &crm, false).await;
        fixture.begin(&a, &crm).await;
        fixture.begin(&a, &crm).await;
        expect("with two executions:", &crm, true).await;
        expect("of another connection:", &shop, false).await;
        fixture.end(&a, &crm).await;
        expect("with one execution left:", &crm, true).await;
        fixture.end(&a, &crm).await;
        expect("afterwards:", &crm, false).await;
    });
}

/// A question that is dropped changes no later answer.
pub fn c3_a_dropped_call_leaves_nothing_behind(subject: &dyn Subject) {
    run(subject, async {
        let (fixture, at) = (subject.fresh().await, at(3));
        let ((a, _), crm) = (tenants(), name("crm"));
        for polls in 0..POLLS_MAX {
            for active in [false, true] {
                if active {
                    fixture.begin(&a, &crm).await;
                }
                let done = cut(fixture.checker().has_active(&a, &crm), polls).await;
                let seen = at.ok("the question", fixture.checker().has_active(&a, &crm).await);
                at.same("after a dropped question:", &active, &seen);
                if active {
                    fixture.end(&a, &crm).await;
                    if done.is_some() {
                        return;
                    }
                }
            }
        }
    });
}

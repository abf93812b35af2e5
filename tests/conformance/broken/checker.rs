//! Broken active execution checkers.

use alloc::sync::Arc;

use fetcher_engine::connection::ConnectionName;
use fetcher_engine::ports::{ActiveExecutionChecker, BoxFuture};
use fetcher_engine::testkit::conformance::active_execution_checker::{Fixture, Subject};
use fetcher_engine::{PortError, TenantId};

use crate::forward::wait;
use crate::toys::{CheckerFixture, Running};

#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    CountsAnybodys,
    CountsTheEnded,
    CountsQuestions,
    CountsAnyConnection,
}

struct Broken(Fault);

struct Checker {
    fault: Fault,
    running: Arc<Running>,
}

impl Subject for Broken {
    fn fresh(&self) -> BoxFuture<'_, Box<dyn Fixture>> {
        let running = Arc::new(Running::default());
        let checker = Arc::new(Checker { fault: self.0, running: Arc::clone(&running) });
        Box::pin(async { Box::new(CheckerFixture { running, checker }) as _ })
    }
}

impl ActiveExecutionChecker for Checker {
    fn has_active<'a>(
        &'a self,
        tenant: &'a TenantId,
        connection: &'a ConnectionName,
    ) -> BoxFuture<'a, Result<bool, PortError>> {
        Box::pin(async move {
            match self.fault {
                Fault::None => Ok(self.running.count(tenant, connection) > 0),
                Fault::CountsAnybodys => {
                    let running = self.running.0.lock().unwrap();
                    Ok(running.iter().any(|((_, name), count)| name == connection && *count > 0))
                }
                Fault::CountsAnyConnection => {
                    let running = self.running.0.lock().unwrap();
                    Ok(running.iter().any(|((of, _), count)| of == tenant && *count > 0))
                }
                Fault::CountsTheEnded => {
                    let running = self.running.0.lock().unwrap();
                    Ok(running.contains_key(&(tenant.clone(), connection.clone())))
                }
                Fault::CountsQuestions => {
                    let count = self.running.count(tenant, connection);
                    self.running.change(tenant, connection, 1);
                    wait().await;
                    self.running.change(tenant, connection, -1);
                    Ok(count > 0)
                }
            }
        })
    }
}

crate::broken::twins! {
    active_execution_checker,
    unbroken: Broken(Fault::None),
    c1_other_tenants_never_count => Broken(Fault::CountsAnybodys),
    c2_true_while_one_runs_on_the_connection => Broken(Fault::CountsTheEnded),
    c3_a_dropped_call_leaves_nothing_behind => Broken(Fault::CountsQuestions),
    ; more:
    c2_true_while_one_runs_on_the_connection => Broken(Fault::CountsAnyConnection),
}

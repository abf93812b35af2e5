//! Broken execution stores and broken schema caches.

pub(crate) mod executions {
    //! Broken execution stores.

    use alloc::collections::BTreeMap;
    use std::sync::Mutex;

    use fetcher_engine::extraction::RequestId;
    use fetcher_engine::ports::{BoxFuture, ExecutionRecord, ExecutionStore};
    use fetcher_engine::testkit::conformance::execution_store::{Fixture, Subject};
    use fetcher_engine::{PortError, TenantId};

    use crate::forward::wait;
    use crate::memory::tenant;

    #[derive(Clone, Copy, PartialEq)]
    enum Fault {
        None,
        OneTenant,
        FirstWins,
        LosesMetadata,
        SavesInTwoSteps,
    }

    struct Broken(Fault);

    struct Store {
        fault: Fault,
        records: Mutex<BTreeMap<(TenantId, RequestId), ExecutionRecord>>,
    }

    impl Store {
        fn key(&self, of: &TenantId, request: &RequestId) -> (TenantId, RequestId) {
            let of = if self.fault == Fault::OneTenant { tenant() } else { of.clone() };
            (of, request.clone())
        }

        fn put(&self, key: (TenantId, RequestId), record: ExecutionRecord) {
            self.records.lock().unwrap().insert(key, record);
        }
    }

    impl ExecutionStore for Store {
        fn save<'a>(
            &'a self,
            tenant: &'a TenantId,
            mut record: ExecutionRecord,
        ) -> BoxFuture<'a, Result<(), PortError>> {
            Box::pin(async move {
                let key = self.key(tenant, &record.request_id);
                match self.fault {
                    Fault::FirstWins => {
                        self.records.lock().unwrap().entry(key).or_insert(record);
                        return Ok(());
                    }
                    Fault::LosesMetadata => record.metadata.clear(),
                    Fault::SavesInTwoSteps => {
                        let half = ExecutionRecord::new(record.request_id.clone(), record.state);
                        self.put(key.clone(), half);
                        wait().await;
                    }
                    _ => {}
                }
                self.put(key, record);
                Ok(())
            })
        }
    }

    impl Subject for Broken {
        fn fresh(&self) -> BoxFuture<'_, Box<dyn Fixture>> {
            let store = Store { fault: self.0, records: Mutex::default() };
            Box::pin(async { Box::new(store) as _ })
        }
    }

    impl Fixture for Store {
        fn store(&self) -> &dyn ExecutionStore {
            self
        }

        fn state<'a>(
            &'a self,
            tenant: &'a TenantId,
            request: &'a RequestId,
        ) -> BoxFuture<'a, Option<ExecutionRecord>> {
            Box::pin(async {
                self.records.lock().unwrap().get(&self.key(tenant, request)).cloned()
            })
        }
    }

    crate::broken::twins! {
        execution_store,
        unbroken: Broken(Fault::None),
        c1_tenants_may_use_the_same_request_id => Broken(Fault::OneTenant),
        c2_the_last_save_wins => Broken(Fault::FirstWins),
        c3_all_of_the_record_is_kept => Broken(Fault::LosesMetadata),
        c4_a_dropped_save_is_whole_or_not_there => Broken(Fault::SavesInTwoSteps),
    }
}

pub(crate) mod schemas {
    //! Broken schema caches.

    use alloc::collections::BTreeMap;
    use alloc::sync::Arc;
    use std::sync::Mutex;

    use fetcher_engine::connection::ConnectionName;
    use fetcher_engine::ports::{BoxFuture, SchemaCache};
    use fetcher_engine::schema::SchemaSnapshot;
    use fetcher_engine::testkit::conformance::schema_cache::Subject;
    use fetcher_engine::{PortError, TenantId};

    use crate::forward::wait;
    use crate::memory::tenant;

    type Answer<'a, T> = BoxFuture<'a, Result<T, PortError>>;
    type Key = (TenantId, ConnectionName);
    type Snapshot = Arc<SchemaSnapshot>;

    #[derive(Clone, Copy, PartialEq)]
    enum Fault {
        None,
        OneTenant,
        LosesATable,
        TakesOut,
        KeepsTheFirst,
        PutsInTwoSteps,
        NeverForgets,
        ForgetsInTwoSteps,
    }

    struct Broken(Fault);

    struct Cache {
        fault: Fault,
        entries: Mutex<BTreeMap<Key, Snapshot>>,
    }

    impl Cache {
        fn key(&self, of: &TenantId, name: &ConnectionName) -> Key {
            let of = if self.fault == Fault::OneTenant { tenant() } else { of.clone() };
            (of, name.clone())
        }

        fn insert(&self, key: &Key, snapshot: Snapshot) {
            self.entries.lock().unwrap().insert(key.clone(), snapshot);
        }

        fn remove(&self, key: &Key) -> Option<Snapshot> {
            self.entries.lock().unwrap().remove(key)
        }
    }

    /// The same with one table less.
    fn damaged(snapshot: &SchemaSnapshot) -> Snapshot {
        let tables = snapshot.tables().iter().skip(1).cloned().collect();
        Arc::new(SchemaSnapshot::new(snapshot.origin(), tables))
    }

    impl SchemaCache for Cache {
        fn get<'a>(
            &'a self,
            tenant: &'a TenantId,
            name: &'a ConnectionName,
        ) -> Answer<'a, Option<Snapshot>> {
            Box::pin(async move {
                let key = self.key(tenant, name);
                if self.fault == Fault::TakesOut {
                    let found = self.remove(&key);
                    wait().await;
                    if let Some(snapshot) = &found {
                        self.insert(&key, Arc::clone(snapshot));
                    }
                    return Ok(found);
                }
                Ok(self.entries.lock().unwrap().get(&key).cloned())
            })
        }

        fn put<'a>(
            &'a self,
            tenant: &'a TenantId,
            name: &'a ConnectionName,
            snapshot: Snapshot,
        ) -> Answer<'a, ()> {
            Box::pin(async move {
                let key = self.key(tenant, name);
                match self.fault {
                    Fault::LosesATable => self.insert(&key, damaged(&snapshot)),
                    Fault::KeepsTheFirst => {
                        self.entries.lock().unwrap().entry(key).or_insert(snapshot);
                    }
                    Fault::PutsInTwoSteps => {
                        self.insert(&key, damaged(&snapshot));
                        wait().await;
                        self.insert(&key, snapshot);
                    }
                    _ => self.insert(&key, snapshot),
                }
                Ok(())
            })
        }

        fn invalidate<'a>(
            &'a self,
            tenant: &'a TenantId,
            name: &'a ConnectionName,
        ) -> Answer<'a, ()> {
            Box::pin(async move {
                let key = self.key(tenant, name);
                if self.fault == Fault::NeverForgets {
                    return Ok(());
                }
                let removed = self.remove(&key);
                if self.fault == Fault::ForgetsInTwoSteps
                    && let Some(snapshot) = removed
                {
                    self.insert(&key, damaged(&snapshot));
                    wait().await;
                    self.remove(&key);
                }
                Ok(())
            })
        }
    }

    impl Subject for Broken {
        fn fresh(&self) -> BoxFuture<'_, Box<dyn SchemaCache>> {
            let cache = Cache { fault: self.0, entries: Mutex::default() };
            Box::pin(async { Box::new(cache) as _ })
        }

        fn forgets(&self) -> bool {
            false
        }
    }

    crate::broken::twins! {
        schema_cache,
        unbroken: Broken(Fault::None),
        c1_scoped_by_tenant_and_name => Broken(Fault::OneTenant),
        c2_what_was_put_comes_back_equal => Broken(Fault::LosesATable),
        c3_a_dropped_get_leaves_nothing_behind => Broken(Fault::TakesOut),
        c4_an_earlier_snapshot_never_comes_back => Broken(Fault::KeepsTheFirst),
        c5_a_dropped_put_is_whole_or_not_there => Broken(Fault::PutsInTwoSteps),
        c6_what_was_invalidated_is_gone_until_the_next_put => Broken(Fault::NeverForgets),
        c7_a_dropped_invalidate_is_done_or_not => Broken(Fault::ForgetsInTwoSteps),
    }
}

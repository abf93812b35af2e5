//! One tenant under another's names and ids: what is somebody else's looks like nobody's, to the
//! byte and to the call, and stays as it is.

use alloc::sync::Arc;
use std::sync::Mutex;

use fetcher_engine::connection::{
    ConnectionDraft, ConnectionId, ConnectionName, ConnectionPage, StoredCredential,
};
use fetcher_engine::ports::{BoxFuture, ConnectionStore, SchemaCache};
use fetcher_engine::schema::SchemaSnapshot;
use fetcher_engine::{
    ConnectionDescriptor, ConnectionPatch, Engine, ExecuteOptions, Mode, PageQuery, PortError,
    TenantId,
};

use super::common::{Call, Host, Operation, document, stored, tenant};

/// What there is to know about a tenant's connection.
#[derive(Debug, PartialEq)]
struct Seen {
    listed: Vec<ConnectionDescriptor>,
    credential: (Vec<u8>, Option<String>),
    schema: Arc<SchemaSnapshot>,
    discoveries: usize,
}

fn look(host: &Host, tenant: &str) -> Seen {
    let engine = host.full().build().unwrap();
    let before = host.probe.count("connector.discover");
    Seen {
        listed: host.run(engine.list_connections(tenant)).unwrap(),
        credential: host.credential(tenant, "sales"),
        schema: host.run(engine.discover_schema(tenant, "sales")).unwrap(),
        discoveries: host.probe.count("connector.discover") - before,
    }
}

/// What a call comes to: its answer in every printed form, and all calls that it made.
fn told(host: &Host, engine: &Engine, operation: Operation, call: &Call) -> (String, Vec<String>) {
    host.probe.clear();
    let answer = host.run(operation.run(engine, call));
    let shown = match &answer {
        Ok(answer) => answer.clone(),
        Err(error) => format!("{error} {error:?} {error:#?}"),
    };
    (shown, host.probe.calls())
}

#[test]
fn somebody_elses_looks_like_nobodys() {
    for operation in Operation::ALL {
        let answers = [true, false].map(|is_there| {
            let host = Host::new();
            // The plan of an execution was made when globex had such a connection.
            host.connect("globex", "sales");
            let mut call = Call::new("globex", "sales", "connection-2");
            call.plan = Some(host.plan("globex", &call.request));
            let engine = host.full().build().unwrap();
            let deleted = host.run(engine.delete_connection("globex", "sales"));
            deleted.unwrap();
            if !is_there {
                return told(&host, &engine, operation, &call);
            }
            host.connect("acme", "sales");
            look(&host, "acme");
            let before = look(&host, "acme");
            assert_eq!(before.discoveries, 0, "it is cached");
            let answer = told(&host, &engine, operation, &call);
            assert_eq!(look(&host, "acme"), before, "{operation:?}");
            answer
        });
        let [there, nowhere] = answers;
        if operation == Operation::Create {
            // It succeeds, and differs only in the id that the store counted up to.
            assert!(there.0.contains("connection-3"), "{there:?}");
            assert!(nowhere.0.contains("connection-2"), "{nowhere:?}");
            assert_eq!(there.1, nowhere.1);
        } else {
            assert_eq!(there, nowhere, "{operation:?}");
        }
        let is_list = matches!(operation, Operation::List | Operation::ListPaged);
        let expected = if is_list { "[]" } else { "NotFound" };
        let text = &nowhere.0;
        let is_answer = operation != Operation::Create;
        assert!(!is_answer || text.contains(expected), "{operation:?}: {text}");
    }
}

#[test]
fn two_tenants_may_use_one_name() {
    for operation in Operation::ALL {
        let host = Host::new();
        host.connect("acme", "sales");
        let id = host.connect("globex", "sales");
        look(&host, "acme");
        let before = look(&host, "acme");
        let mut call = Call::new("globex", "sales", &id);
        call.plan = Some(host.plan("globex", &call.request));
        let engine = host.full().build().unwrap();
        let answer = host.run(operation.run(&engine, &call));
        assert_eq!(answer.is_ok(), operation != Operation::Create, "{answer:?}");
        assert!(!format!("{answer:?}").contains("acme"), "{answer:?}");
        let calls = host.probe.calls();
        let foreign = calls.iter().find(|call| call.contains("acme"));
        assert_eq!(foreign, None, "{operation:?}");
        assert_eq!(look(&host, "acme"), before, "{operation:?}");
    }
}

#[test]
fn two_tenants_may_use_one_request_id() {
    let host = Host::new();
    let engine = host.full().build().unwrap();
    for tenant in ["acme", "globex"] {
        host.connect(tenant, "sales");
    }
    for tenant_id in ["acme", "globex"] {
        let plan = host.plan(tenant_id, &Call::new("", "sales", "").request);
        let run = engine.execute_extraction(&plan, ExecuteOptions::new());
        let result = host.run(run).unwrap();
        assert!(stored(&host, tenant_id, &result).contains("Ada"));
        let reference = host.history(tenant_id, "r-1")[1].reference.clone();
        let reference = reference.expect("where the result is");
        let other = if tenant_id == "acme" { "globex" } else { "acme" };
        assert!(host.sink.result(&tenant(other), &reference).is_none());
    }
    for tenant in ["acme", "globex"] {
        assert_eq!(host.states(tenant, "r-1"), ["running", "completed"]);
    }
}

/// A store that forgets whose record it is asked for: all belong to one tenant.
struct Careless {
    inner: Arc<dyn ConnectionStore>,
    owner: TenantId,
}

type Answer<'a, T> = BoxFuture<'a, Result<T, PortError>>;

#[rustfmt::skip]
impl ConnectionStore for Careless {
    fn create<'a>(
        &'a self, _: &'a TenantId, draft: ConnectionDraft, credential: Option<StoredCredential>,
    ) -> Answer<'a, ConnectionDescriptor> {
        self.inner.create(&self.owner, draft, credential)
    }
    fn find<'a>(
        &'a self, _: &'a TenantId, name: &'a ConnectionName,
    ) -> Answer<'a, Option<ConnectionDescriptor>> {
        self.inner.find(&self.owner, name)
    }
    fn find_by_id<'a>(
        &'a self, _: &'a TenantId, id: &'a ConnectionId,
    ) -> Answer<'a, Option<ConnectionDescriptor>> {
        self.inner.find_by_id(&self.owner, id)
    }
    fn update<'a>(
        &'a self, _: &'a TenantId, name: &'a ConnectionName, patch: ConnectionPatch,
        credential: Option<StoredCredential>,
    ) -> Answer<'a, ConnectionDescriptor> {
        self.inner.update(&self.owner, name, patch, credential)
    }
    fn update_by_id<'a>(
        &'a self, _: &'a TenantId, id: &'a ConnectionId, patch: ConnectionPatch,
        credential: Option<StoredCredential>,
    ) -> Answer<'a, ConnectionDescriptor> {
        self.inner.update_by_id(&self.owner, id, patch, credential)
    }
    fn delete<'a>(&'a self, _: &'a TenantId, name: &'a ConnectionName) -> Answer<'a, ()> {
        self.inner.delete(&self.owner, name)
    }
    fn delete_by_id<'a>(&'a self, _: &'a TenantId, id: &'a ConnectionId) -> Answer<'a, ()> {
        self.inner.delete_by_id(&self.owner, id)
    }
    fn list<'a>(&'a self, _: &'a TenantId) -> Answer<'a, Vec<ConnectionDescriptor>> {
        self.inner.list(&self.owner)
    }
    fn list_paged<'a>(
        &'a self, _: &'a TenantId, page: &'a PageQuery,
    ) -> Answer<'a, ConnectionPage> {
        self.inner.list_paged(&self.owner, page)
    }
}

/// A cache that forgets for whom and of what: it has one place.
#[derive(Default)]
struct Single(Mutex<Option<Arc<SchemaSnapshot>>>);

impl SchemaCache for Single {
    fn get<'a>(
        &'a self,
        _: &'a TenantId,
        _: &'a ConnectionName,
    ) -> Answer<'a, Option<Arc<SchemaSnapshot>>> {
        Box::pin(async { Ok(self.0.lock().unwrap().clone()) })
    }

    fn put<'a>(
        &'a self,
        _: &'a TenantId,
        _: &'a ConnectionName,
        snapshot: Arc<SchemaSnapshot>,
    ) -> Answer<'a, ()> {
        Box::pin(async {
            *self.0.lock().unwrap() = Some(snapshot);
            Ok(())
        })
    }

    fn invalidate<'a>(&'a self, _: &'a TenantId, _: &'a ConnectionName) -> Answer<'a, ()> {
        Box::pin(async { Ok(()) })
    }
}

#[test]
fn a_store_that_forgets_the_tenant_gives_nothing_away() {
    for operation in Operation::ALL {
        // Its answer to a create is its own affair.
        if operation == Operation::Create {
            continue;
        }
        let host = Host::new();
        host.connect("globex", "sales");
        let mut call = Call::new("globex", "sales", "connection-2");
        call.plan = Some(host.plan("globex", &call.request));
        let engine = host.full().build().unwrap();
        host.run(engine.delete_connection("globex", "sales")).unwrap();
        let expected = told(&host, &engine, operation, &call).0;

        host.connect("acme", "sales");
        let before = host.credential("acme", "sales");
        let careless = Careless { inner: host.store.clone(), owner: tenant("acme") };
        let builder = host.full().connection_store(Arc::new(careless));
        let answer = told(&host, &builder.build().unwrap(), operation, &call).0;
        // How many there are in all is between store and host.
        let answer = answer.replace("total: Some(1)", "total: Some(0)");
        assert_eq!(answer, expected, "{operation:?}");
        assert_eq!(host.credential("acme", "sales"), before, "{operation:?}");
    }
}

#[test]
fn a_cache_that_forgets_the_tenant_is_not_believed() {
    let host = Host::new();
    host.source.put("hr", [super::common::orders()]).unwrap();
    host.connect_to("acme", "sales", "crm");
    host.connect_to("globex", "sales", "crm");
    host.connect_to("globex", "other", "hr");
    let engine = host.bare().schema_cache(Arc::new(Single::default()));
    let engine = engine.build().unwrap();
    let discover = |tenant, name| {
        let before = host.probe.count("connector.discover");
        host.run(engine.discover_schema(tenant, name)).unwrap();
        host.probe.count("connector.discover") - before
    };
    assert_eq!(discover("acme", "sales"), 1);
    assert_eq!(discover("acme", "sales"), 0, "its own");
    assert_eq!(discover("globex", "sales"), 1, "another tenant's");
    assert_eq!(discover("globex", "other"), 1, "another connection's");
    assert_eq!(discover("globex", "other"), 0, "its own");
}

#[test]
fn a_plan_is_for_its_tenant_only() {
    let host = Host::new();
    host.connect("acme", "sales");
    host.source.put("hr", [super::common::people()]).unwrap();
    host.connect_to("globex", "sales", "hr");
    let plan = host.plan("acme", &Call::new("acme", "sales", "").request);
    assert_eq!(plan.tenant(), &tenant("acme"));
    let engine = host.full().build().unwrap();
    let options = ExecuteOptions::new().mode(Mode::Direct);
    let result = host.run(engine.execute_extraction(&plan, options));
    assert!(document(&result.unwrap()).contains("Grace"));
    let calls = host.probe.calls();
    assert!(calls.iter().all(|call| call.contains(" acme")), "{calls:?}");
}

//! The connector's contract, clause by clause, on databases of a real server.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use fetcher_engine::ConnectionDescriptor;
use fetcher_engine::filter::Operator;
use fetcher_engine::memory::MemoryConnectorRegistry;
use fetcher_engine::ports::{BoxFuture, ConnectorRegistry};
use fetcher_engine::testkit::conformance::connector::{Fixture, Subject, Table};
use fetcher_engine::value::{Value, ValueKind};
use fetcher_postgres::PostgresConnectors;

use crate::server;
use crate::support::{Db, connect};
use crate::testing::conformance::{
    Counting, PASSWORD, aside, create_table, inserts, settled, too_safe, with_plain,
};
use crate::testing::database::Database as _;
use crate::testing::reading::descriptor;
use crate::testing::runtime;
use crate::testing::server::Server;
use crate::testing::text;

const KINDS: [(ValueKind, &str); 14] = [
    (ValueKind::I64, "int8"),
    (ValueKind::Bool, "bool"),
    (ValueKind::F32, "float4"),
    (ValueKind::F64, "float8"),
    (ValueKind::Decimal, "numeric"),
    (ValueKind::String, "text"),
    (ValueKind::Bytes, "bytea"),
    (ValueKind::Uuid, "uuid"),
    (ValueKind::Date, "date"),
    (ValueKind::Time, "time"),
    (ValueKind::Timestamp, "timestamp"),
    (ValueKind::Instant, "timestamptz"),
    (ValueKind::Json, "json"),
    (ValueKind::List, "text[]"),
];

/// Who shows its connections under this name is looked for.
const APPLICATION: &str = "fetcher_conformance";

struct Postgres(&'static Server);

impl Subject for Postgres {
    fn block_on(&self, future: BoxFuture<'_, ()>) {
        runtime().block_on(future);
    }

    fn load<'a>(&'a self, tables: &'a [Table]) -> BoxFuture<'a, Box<dyn Fixture>> {
        Box::pin(async move {
            let db = Db::create(self.0).await;
            // A server that was given keeps no role of ours.
            if self.0.is_own() {
                let role = format!(
                    "DO $$ BEGIN CREATE ROLE with_plain LOGIN SUPERUSER PASSWORD '{PASSWORD}';
                     EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$"
                );
                let _ = db.client.batch_execute(&role).await;
            }
            db.run("SET TimeZone = 'UTC'").await;
            for table in tables {
                db.run(&create_table('"', table, &KINDS)).await;
                insert(&db, &table.name, &table.rows).await;
            }
            Box::new(Loaded { db: Some(db), asked: Arc::default() }) as Box<dyn Fixture>
        })
    }

    fn kinds(&self) -> Vec<ValueKind> {
        KINDS.iter().map(|(kind, _)| *kind).collect()
    }

    fn holds(&self, _: ValueKind, value: &Value) -> bool {
        let is_micro = |nanos: u32| nanos.is_multiple_of(1000);
        match value {
            Value::String(text) => !text.contains('\0'),
            Value::Time(time) => time.nanos().is_multiple_of(1000),
            Value::Timestamp(moment) => is_micro(moment.nanos()),
            Value::Instant(moment) => is_micro(moment.nanos()),
            Value::List(items) => {
                items.iter().all(|item| matches!(item, Value::String(_) | Value::Null))
            }
            _ => true,
        }
    }

    fn supports(&self, _: Operator, kind: ValueKind) -> bool {
        !matches!(kind, ValueKind::Json | ValueKind::List)
    }

    fn accepts_name(&self, name: &str) -> bool {
        // A table with dots in its name is known under another, see `names`.
        name.len() < 64 && !name.contains('.')
    }

    fn tells_case(&self) -> bool {
        true
    }

    fn cell_bytes_max(&self) -> usize {
        4 << 20
    }
}

fn quoted(name: &str) -> String {
    text::quoted('"', name)
}

async fn insert(db: &Db, table: &str, rows: &[Vec<Value>]) {
    for sql in inserts(&quoted(table), rows, 200, literal) {
        db.run(&sql).await;
    }
}

fn literal(value: &Value) -> String {
    let text = match value {
        Value::Null => return "NULL".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::I64(value) => value.to_string(),
        Value::F32(value) => format!("{value:?}").replace("inf", "Infinity"),
        Value::F64(value) => format!("{value:?}").replace("inf", "Infinity"),
        Value::Decimal(value) => value.to_string(),
        Value::String(value) | Value::Json(value) => value.clone(),
        Value::Bytes(value) => format!("\\x{}", text::hex(value)),
        Value::Uuid(value) => value.to_string(),
        Value::Date(value) => value.to_string(),
        Value::Time(value) => value.to_string(),
        Value::Timestamp(value) => value.to_string(),
        Value::Instant(value) => value.to_string(),
        Value::List(items) => {
            let items: Vec<_> = items
                .iter()
                .map(|item| match item {
                    Value::String(text) => {
                        format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
                    }
                    _ => "NULL".to_owned(),
                })
                .collect();
            format!("{{{}}}", items.join(","))
        }
        other => panic!("no literal for {:?}", other.kind()),
    };
    format!("'{}'", text.replace('\'', "''"))
}

struct Loaded {
    /// Taken only when it is dropped.
    db: Option<Db>,
    asked: Arc<AtomicU64>,
}

impl Loaded {
    fn db(&self) -> &Db {
        self.db.as_ref().expect("it is there until the end")
    }

    fn server(&self) -> &'static Server {
        self.db().server
    }

    fn input(&self) -> fetcher_engine::ConnectionInput {
        with_plain(self.server(), self.db().input())
    }

    async fn backends(&self) -> usize {
        let sql = "SELECT count(*) FROM pg_stat_activity WHERE application_name = $1 \
                   AND datname = current_database()";
        let row = self.db().client.query_one(sql, &[&APPLICATION]).await.expect("an answer");
        usize::try_from(row.get::<_, i64>(0)).expect("a count")
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        let Some(db) = self.db.take() else { return };
        aside(async move || db.remove().await);
    }
}

impl Fixture for Loaded {
    fn registry(&self) -> Arc<dyn ConnectorRegistry> {
        let resolver = Counting::new(self.server(), &self.asked);
        let factory = PostgresConnectors::new()
            .application_name(APPLICATION)
            .connect_timeout(Duration::from_secs(20))
            .credentials(Arc::new(resolver));
        Arc::new(MemoryConnectorRegistry::new().with("postgres", Arc::new(factory)))
    }

    fn connection(&self) -> ConnectionDescriptor {
        descriptor(self.input())
    }

    fn unreachable(&self) -> ConnectionDescriptor {
        descriptor(self.input().host("127.0.0.1").port(1))
    }

    fn senseless(&self) -> Option<ConnectionDescriptor> {
        Some(descriptor(self.input().option("sslMode", "perhaps")))
    }

    fn wrong_password(&self) -> Option<ConnectionDescriptor> {
        let mut input = self.input();
        "wrong".clone_into(&mut input.name);
        self.server().is_own().then(|| descriptor(input))
    }

    fn too_safe(&self) -> Option<ConnectionDescriptor> {
        too_safe(self.server(), self.input()).map(descriptor)
    }

    fn resolutions(&self) -> Option<u64> {
        Some(self.asked.load(Ordering::Relaxed))
    }

    fn held(&self) -> BoxFuture<'_, Option<usize>> {
        Box::pin(async move { Some(settled(|| self.backends()).await) })
    }

    fn append<'a>(&'a self, table: &'a str, rows: &'a [Vec<Value>]) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            let Db { server, name, .. } = self.db();
            let db = Db { server, name: name.clone(), client: connect(server, name).await };
            db.run("SET TimeZone = 'UTC'").await;
            insert(&db, table, rows).await;
            true
        })
    }

    fn break_off<'a>(&'a self, table: &'a str) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            let (name, hidden) = (quoted(table), quoted(&format!("{table} behind")));
            self.db()
                .run(&format!(
                    "ALTER TABLE {name} RENAME TO {hidden};
                     CREATE VIEW {name} AS SELECT * FROM {hidden} AS t WHERE
                       CASE WHEN t.ctid = '(0,1)' THEN true
                       ELSE pg_terminate_backend(pg_backend_pid()) END"
                ))
                .await;
            true
        })
    }
}

fetcher_engine::conformance_tests!(connector, if server::any().map(Postgres));

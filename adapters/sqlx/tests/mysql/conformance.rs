//! The connector's contract, clause by clause, on databases of a real server.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use fetcher_engine::ConnectionDescriptor;
use fetcher_engine::filter::Operator;
use fetcher_engine::memory::MemoryConnectorRegistry;
use fetcher_engine::ports::{BoxFuture, ConnectorRegistry};
use fetcher_engine::testkit::conformance::connector::{Fixture, Subject, Table};
use fetcher_engine::value::{Date, Value, ValueKind};
use fetcher_sqlx::MySqlConnectors;

use crate::server;
use crate::support::{self, Db, open, quoted};
use crate::testing::conformance::{
    Counting, PASSWORD, aside, create_table, inserts, settled, too_safe, with_plain,
};
use crate::testing::database::Database as _;
use crate::testing::reading::descriptor;
use crate::testing::server::Server;
use crate::testing::{runtime, text};

const KINDS: [(ValueKind, &str); 11] = [
    (ValueKind::I64, "bigint"),
    (ValueKind::U64, "bigint unsigned"),
    (ValueKind::F32, "float"),
    (ValueKind::F64, "double"),
    (ValueKind::Decimal, "decimal(65,0)"),
    (ValueKind::String, "longtext"),
    (ValueKind::Bytes, "longblob"),
    (ValueKind::Date, "date"),
    (ValueKind::Timestamp, "datetime(6)"),
    (ValueKind::Instant, "timestamp(6) null"),
    (ValueKind::Json, "json"),
];

struct MySql(&'static Server);

impl Subject for MySql {
    fn block_on(&self, future: BoxFuture<'_, ()>) {
        runtime().block_on(future);
    }

    fn load<'a>(&'a self, tables: &'a [Table]) -> BoxFuture<'a, Box<dyn Fixture>> {
        Box::pin(async move {
            let db = Db::create(self.0).await;
            if self.0.is_own() {
                let sql = format!(
                    "CREATE USER IF NOT EXISTS 'with_plain'@'%' IDENTIFIED BY '{PASSWORD}'; \
                     GRANT ALL PRIVILEGES ON *.* TO 'with_plain'@'%'"
                );
                db.run(&sql).await;
            }
            for table in tables {
                db.run(&create_table('`', table, &KINDS)).await;
                insert(&db, &table.name, &table.rows).await;
            }
            Box::new(Loaded { db: Some(db), asked: Arc::default() }) as Box<dyn Fixture>
        })
    }

    fn kinds(&self) -> Vec<ValueKind> {
        KINDS.iter().map(|(kind, _)| *kind).collect()
    }

    fn holds(&self, _: ValueKind, value: &Value) -> bool {
        let is_year = |date: Date, from: i32, to: i32| {
            date.ymd().is_some_and(|(year, ..)| (from..=to).contains(&year))
        };
        let is_micro = |nanos: u32| nanos.is_multiple_of(1000);
        match value {
            // MariaDB stores a negative zero as zero.
            Value::F32(value) => value.is_finite() && value.to_bits() != (-0_f32).to_bits(),
            Value::F64(value) => value.is_finite() && value.to_bits() != (-0_f64).to_bits(),
            // The column has a scale of its own, and here it is none.
            Value::Decimal(value) => {
                value.as_str().bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
            }
            Value::Date(date) => is_year(*date, 1, 9999),
            Value::Timestamp(moment) => is_year(moment.date(), 1, 9999) && is_micro(moment.nanos()),
            Value::Instant(moment) => {
                is_year(moment.date(), 1971, 2037) && is_micro(moment.nanos())
            }
            _ => true,
        }
    }

    fn supports(&self, _: Operator, kind: ValueKind) -> bool {
        kind != ValueKind::Json
    }

    fn accepts_name(&self, name: &str) -> bool {
        // The server's names are of the first plane of Unicode.
        name.chars().count() <= 64 && name.chars().all(|c| c <= '\u{FFFF}')
    }

    fn tells_case(&self) -> bool {
        // Columns do not.
        false
    }

    fn cell_bytes_max(&self) -> usize {
        4 << 20
    }
}

async fn insert(db: &Db, table: &str, rows: &[Vec<Value>]) {
    for sql in inserts(&quoted(table), rows, 50, literal) {
        db.run(&sql).await;
    }
}

fn literal(value: &Value) -> String {
    match value {
        Value::Null => "NULL".to_owned(),
        Value::I64(value) => value.to_string(),
        Value::U64(value) => value.to_string(),
        Value::F32(value) => format!("'{value:e}'"),
        Value::F64(value) => format!("'{value:e}'"),
        Value::Decimal(value) => value.to_string(),
        Value::String(value) | Value::Json(value) => support::literal(value),
        Value::Bytes(value) => format!("x'{}'", text::hex(value)),
        Value::Date(value) => format!("'{value}'"),
        Value::Timestamp(value) => format!("'{}'", value.to_string().replace('T', " ")),
        Value::Instant(value) => {
            format!("'{}'", value.to_string().replace('T', " ").replace('Z', ""))
        }
        other => panic!("no literal for {:?}", other.kind()),
    }
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
}

impl Drop for Loaded {
    fn drop(&mut self) {
        let Some(db) = self.db.take() else { return };
        let (server, name) = (db.server, db.name.clone());
        drop(db);
        aside(async move || open(server, &name).await.remove().await);
    }
}

impl Fixture for Loaded {
    fn registry(&self) -> Arc<dyn ConnectorRegistry> {
        let resolver = Counting::new(self.server(), &self.asked);
        let factory = MySqlConnectors::new()
            .connect_timeout(Duration::from_secs(20))
            .credentials(Arc::new(resolver));
        Arc::new(MemoryConnectorRegistry::new().with("mysql", Arc::new(factory)))
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
        // By a socket the server may know its user from the system, and then needs no password.
        (!self.server().host.starts_with('/')).then(|| descriptor(input))
    }

    fn too_safe(&self) -> Option<ConnectionDescriptor> {
        too_safe(self.server(), self.input()).map(descriptor)
    }

    fn resolutions(&self) -> Option<u64> {
        Some(self.asked.load(Ordering::Relaxed))
    }

    fn held(&self) -> BoxFuture<'_, Option<usize>> {
        Box::pin(async move { Some(settled(|| self.db().others("")).await) })
    }

    fn append<'a>(&'a self, table: &'a str, rows: &'a [Vec<Value>]) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            insert(self.db(), table, rows).await;
            true
        })
    }

    fn break_off<'a>(&'a self, table: &'a str) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            let (name, hidden) = (quoted(table), quoted(&format!("{table} behind")));
            let db = self.db();
            db.run(
                "CREATE FUNCTION lasts() RETURNS int NOT DETERMINISTIC READS SQL DATA BEGIN \
                 SET @rows = COALESCE(@rows, 0) + 1; \
                 IF @rows > 3 THEN KILL CONNECTION CONNECTION_ID(); END IF; RETURN 1; END",
            )
            .await;
            db.run(&format!(
                "RENAME TABLE {name} TO {hidden}; \
                 CREATE VIEW {name} AS SELECT * FROM {hidden} WHERE lasts() = 1"
            ))
            .await;
            true
        })
    }
}

fetcher_engine::conformance_tests!(connector, if server::any().map(MySql));

//! The connector's contract, clause by clause, on databases of a real server.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use fetcher_engine::filter::Operator;
use fetcher_engine::memory::MemoryConnectorRegistry;
use fetcher_engine::ports::{BoxFuture, ConnectorRegistry, CredentialResolver};
use fetcher_engine::testkit::conformance::connector::{Fixture, Subject, Table};
use fetcher_engine::value::{Date, Value, ValueKind};
use fetcher_engine::{ConnectionDescriptor, PortError, Secret, TenantId};
use fetcher_sqlx::MySqlConnectors;

use crate::server::{self, Server};
use crate::support::{self, Db, create, descriptor, quoted, remove};

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

/// That of the user who needs one, on a server of our own.
const PASSWORD: &str = "conformance-password";

struct MySql(&'static Server);

impl Subject for MySql {
    fn block_on(&self, future: BoxFuture<'_, ()>) {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime");
        runtime.block_on(future);
    }

    fn load<'a>(&'a self, tables: &'a [Table]) -> BoxFuture<'a, Box<dyn Fixture>> {
        Box::pin(async move {
            let db = create(self.0).await;
            if self.0.is_own() {
                let sql = format!(
                    "CREATE USER IF NOT EXISTS 'with_plain'@'%' IDENTIFIED BY '{PASSWORD}'; \
                     GRANT ALL PRIVILEGES ON *.* TO 'with_plain'@'%'"
                );
                db.run(&sql).await;
            }
            for table in tables {
                let columns: Vec<_> = table
                    .columns
                    .iter()
                    .map(|(name, kind)| format!("{} {}", quoted(name), sql_type(*kind)))
                    .collect();
                db.run(&format!("CREATE TABLE {} ({})", quoted(&table.name), columns.join(", ")))
                    .await;
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

fn sql_type(kind: ValueKind) -> &'static str {
    KINDS.iter().find(|(known, _)| *known == kind).map(|(_, sql)| *sql).expect("a kind")
}

async fn insert(db: &Db, table: &str, rows: &[Vec<Value>]) {
    for some in rows.chunks(50) {
        let rows: Vec<_> = some
            .iter()
            .map(|row| {
                let cells: Vec<_> = row.iter().map(literal).collect();
                format!("({})", cells.join(", "))
            })
            .collect();
        db.run(&format!("INSERT INTO {} VALUES {}", quoted(table), rows.join(", "))).await;
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
        Value::Bytes(value) => {
            let hex: Vec<_> = value.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("x'{}'", hex.concat())
        }
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

    fn is_own(&self) -> bool {
        self.db().server.is_own()
    }

    fn input(&self) -> fetcher_engine::ConnectionInput {
        let input = self.db().input();
        if self.is_own() { input.username("with_plain") } else { input }
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        let Some(db) = self.db.take() else { return };
        let (server, name) = (db.server, db.name.clone());
        drop(db);
        // A runtime cannot wait inside of another one.
        let gone = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime").block_on(async {
                remove(support::open(server, &name).await).await;
            });
        });
        let _ = gone.join();
    }
}

struct Counting {
    asked: Arc<AtomicU64>,
    password: Option<String>,
}

impl CredentialResolver for Counting {
    fn resolve<'a>(
        &'a self,
        _: &'a TenantId,
        connection: &'a ConnectionDescriptor,
    ) -> BoxFuture<'a, Result<Option<Secret>, PortError>> {
        Box::pin(async move {
            self.asked.fetch_add(1, Ordering::Relaxed);
            if connection.name.as_str() == "wrong" {
                return Ok(Some(Secret::from("not the password")));
            }
            Ok(self.password.as_deref().map(Secret::from))
        })
    }
}

impl Fixture for Loaded {
    fn registry(&self) -> Arc<dyn ConnectorRegistry> {
        let server = self.db().server;
        let own = self.is_own().then(|| PASSWORD.to_owned());
        let password = own.or_else(|| server.password.clone());
        let resolver = Counting { asked: Arc::clone(&self.asked), password };
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
        (!self.db().server.host.starts_with('/')).then(|| descriptor(input))
    }

    fn too_safe(&self) -> Option<ConnectionDescriptor> {
        // The certificate is made out to another name than this address.
        let folder = &self.db().server.folder;
        let root = std::fs::read_to_string(folder.join("root.crt")).ok()?;
        let input = self.input().host("127.0.0.1").option("sslMode", "verify-full");
        Some(descriptor(input.option("sslRootCert", root)))
    }

    fn resolutions(&self) -> Option<u64> {
        Some(self.asked.load(Ordering::Relaxed))
    }

    fn held(&self) -> BoxFuture<'_, Option<usize>> {
        Box::pin(async move {
            let (mut last, mut same) = (self.db().others("").await, 0);
            while same < 6 {
                tokio::time::sleep(Duration::from_millis(40)).await;
                let now = self.db().others("").await;
                same = if now == last { same + 1 } else { 0 };
                last = now;
            }
            Some(last)
        })
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

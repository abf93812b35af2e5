//! The connector's contract, clause by clause, on files, and without a runtime.

use std::fs;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::sync::Arc;

use fetcher_engine::ConnectionDescriptor;
use fetcher_engine::filter::Operator;
use fetcher_engine::memory::MemoryConnectorRegistry;
use fetcher_engine::ports::{BoxFuture, ConnectorRegistry};
use fetcher_engine::testkit::conformance::connector::{Fixture, Subject, Table};
use fetcher_engine::value::{Value, ValueKind};
use fetcher_sqlx::SqliteConnectors;
use sqlx::{AssertSqlSafe, Row as _};

use crate::support::{Db, connect, open_files_at_last};
use crate::testing::conformance::create_table;
use crate::testing::reading::descriptor;
use crate::testing::text::quoted;

const KINDS: [(ValueKind, &str); 6] = [
    (ValueKind::I64, "INTEGER"),
    (ValueKind::F64, "REAL"),
    (ValueKind::String, "TEXT"),
    (ValueKind::Bytes, "BLOB"),
    (ValueKind::Bool, "BOOLEAN"),
    (ValueKind::Json, "JSON"),
];

struct Sqlite;

impl Subject for Sqlite {
    fn load<'a>(&'a self, tables: &'a [Table]) -> BoxFuture<'a, Box<dyn Fixture>> {
        Box::pin(async move {
            // Small pages, so that a table has many; a writer does not wait for who reads.
            let db = Db::with("PRAGMA page_size = 512; PRAGMA journal_mode = WAL");
            for table in tables {
                db.run(&create_table('"', table, &KINDS));
            }
            db.close();
            for table in tables {
                insert(&db, &table.name, &table.rows).await;
            }
            Box::new(Loaded(db)) as Box<dyn Fixture>
        })
    }

    fn kinds(&self) -> Vec<ValueKind> {
        KINDS.iter().map(|(kind, _)| *kind).collect()
    }

    fn holds(&self, _: ValueKind, value: &Value) -> bool {
        // SQLite makes a null of NaN, and zero of negative zero.
        !matches!(value, Value::F64(number) if number.is_nan() || number.to_bits() == 1 << 63)
    }

    fn supports(&self, _: Operator, kind: ValueKind) -> bool {
        kind != ValueKind::Json
    }

    fn accepts_name(&self, name: &str) -> bool {
        // A table with dots in its name is known under another, see `names`.
        !name.starts_with("sqlite_") && !name.contains(['\0', '.'])
    }

    fn tells_case(&self) -> bool {
        false
    }

    fn cell_bytes_max(&self) -> usize {
        4 << 20
    }
}

/// Values are bound, so that they are exactly these.
async fn insert(db: &Db, table: &str, rows: &[Vec<Value>]) {
    let mut connection = connect(&db.path);
    let mut transaction = sqlx::Connection::begin(&mut connection).await.expect("it begins");
    for row in rows {
        let marks = vec!["?"; row.len()].join(", ");
        let sql = format!("INSERT INTO {} VALUES ({marks})", quoted('"', table));
        let mut query = sqlx::query(AssertSqlSafe(sql));
        for value in row {
            query = match value {
                Value::Null => query.bind(None::<i64>),
                Value::Bool(value) => query.bind(*value),
                Value::I64(value) => query.bind(*value),
                Value::F64(value) => query.bind(*value),
                Value::String(value) | Value::Json(value) => query.bind(value.clone()),
                Value::Bytes(value) => query.bind(value.clone()),
                other => panic!("nothing to bind for {:?}", other.kind()),
            };
        }
        query.execute(&mut *transaction).await.expect("it is inserted");
    }
    transaction.commit().await.expect("it commits");
    sqlx::Connection::close(connection).await.expect("it closes");
}

struct Loaded(Db);

impl Fixture for Loaded {
    fn registry(&self) -> Arc<dyn ConnectorRegistry> {
        let factory = SqliteConnectors::new().within(&self.0.folder.0);
        Arc::new(MemoryConnectorRegistry::new().with("sqlite", Arc::new(factory)))
    }

    fn connection(&self) -> ConnectionDescriptor {
        descriptor(self.0.input().database("data.db"))
    }

    fn unreachable(&self) -> ConnectionDescriptor {
        descriptor(self.0.input().database("missing.db"))
    }

    fn senseless(&self) -> Option<ConnectionDescriptor> {
        Some(descriptor(self.0.input().host("localhost")))
    }

    fn wrong_password(&self) -> Option<ConnectionDescriptor> {
        None
    }

    fn too_safe(&self) -> Option<ConnectionDescriptor> {
        None
    }

    fn resolutions(&self) -> Option<u64> {
        None
    }

    fn held(&self) -> BoxFuture<'_, Option<usize>> {
        Box::pin(async move { open_files_at_last(&self.0.folder.0) })
    }

    fn append<'a>(&'a self, table: &'a str, rows: &'a [Vec<Value>]) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            insert(&self.0, table, rows).await;
            true
        })
    }

    /// Spreads the table over many pages and overwrites the latter half of them.
    fn break_off<'a>(&'a self, table: &'a str) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            let db = &self.0;
            db.run(&format!(
                "ALTER TABLE {0} ADD COLUMN filler; UPDATE {0} SET filler = zeroblob(100);
                 PRAGMA wal_checkpoint(TRUNCATE)",
                quoted('"', table)
            ));
            let sql = "SELECT pageno FROM dbstat WHERE pagetype = 'leaf' AND name = ";
            let rows = db.rows(&format!("{sql}'{table}' ORDER BY path"));
            let pages: Vec<u64> =
                rows.iter().map(|row| row.get::<i64, _>(0).try_into().expect("a page")).collect();
            db.close();
            assert!(pages.len() > 4, "some rows come before it breaks");
            let mut file = fs::OpenOptions::new().write(true).open(&db.path).expect("the file");
            for page in &pages[pages.len() / 2..] {
                file.seek(SeekFrom::Start((page - 1) * 512)).expect("a place");
                file.write_all(&[0xFF; 512]).expect("it is written");
            }
            true
        })
    }
}

fetcher_engine::conformance_tests!(connector, Sqlite);

//! The example's CSV connector and file sink as subjects of the kit, each in a folder of its own.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use core::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::fs;
use std::path::{Path, PathBuf};

use fetcher_engine::connection::ConnectionId;
use fetcher_engine::memory::MemoryConnectorRegistry;
use fetcher_engine::ports::{BoxFuture, ConnectorRegistry, ResultHeader, ResultSink, ResultWriter};
use fetcher_engine::testkit::conformance::{connector, result_sink};
use fetcher_engine::value::{Value, ValueKind};
use fetcher_engine::{ConnectionDescriptor, ConnectionInput, Operator, PortError, TenantId};

use crate::connector::CsvFactory;
use crate::forward::{Layers, layers};
use crate::memory::tenant;
use crate::sink::FileSink;

/// A folder that is gone when this is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let name = format!("conformance-{}-{}", std::process::id(), NEXT.fetch_add(1, SeqCst));
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    /// How many files in it this process has open; only Linux tells.
    fn open_files(&self) -> Option<usize> {
        let open = fs::read_dir("/proc/self/fd").ok()?;
        let open = open.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
        Some(open.filter(|path| path.starts_with(&self.0)).count())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
        let _ = fs::remove_file(&self.0);
    }
}

// --- CSV.

pub(crate) struct CsvFolders(pub(crate) Layers);

struct CsvFixture {
    folder: Folder,
    registry: Arc<dyn ConnectorRegistry>,
    connection: ConnectionDescriptor,
}

fn path(folder: &Path, table: &str) -> PathBuf {
    folder.join(format!("{table}.csv"))
}

/// A record; everything in quotes but null, so that a text may be any.
fn record(cells: impl Iterator<Item = Option<String>>) -> String {
    let cells = cells.map(|cell| match cell {
        Some(text) => format!("\"{}\"", text.replace('"', "\"\"")),
        None => "NA".into(),
    });
    cells.collect::<Vec<_>>().join(",") + "\r\n"
}

fn row(values: &[Value]) -> String {
    record(values.iter().map(|value| match value {
        Value::Null => None,
        Value::Decimal(number) => Some(number.as_str().into()),
        Value::String(text) => Some(text.clone()),
        other => panic!("CSV has no {other:?}"),
    }))
}

/// Replaces a file as a whole, as a rename does.
fn replace(path: &Path, text: &str) {
    let new = path.with_extension("new");
    fs::write(&new, text).unwrap();
    fs::rename(new, path).unwrap();
}

impl connector::Subject for CsvFolders {
    fn load<'a>(
        &'a self,
        tables: &'a [connector::Table],
    ) -> BoxFuture<'a, Box<dyn connector::Fixture>> {
        Box::pin(async move {
            let folder = Folder::new();
            let mut input = ConnectionInput::new("data", "csv");
            for table in tables {
                let header = record(table.columns.iter().map(|(name, _)| Some(name.clone())));
                let rows = table.rows.iter().map(|values| row(values));
                let text: String = core::iter::once(header).chain(rows).collect();
                replace(&path(&folder.0, &table.name), &text);
                let numbers = table.columns.iter().filter(|column| column.1 == ValueKind::Decimal);
                let numbers: Vec<_> = numbers.map(|(name, _)| name.as_str()).collect();
                input = input.option(format!("table.{}", table.name), numbers.join(","));
            }
            let (draft, _) = input.database(folder.0.to_string_lossy()).into_draft().unwrap();
            let connection = draft.into_descriptor(tenant(), ConnectionId::parse("1").unwrap());
            let registry = MemoryConnectorRegistry::new().with("csv", Arc::new(CsvFactory));
            let registry = layers!(ConnectorRegistry, self.0, Arc::new(registry));
            Box::new(CsvFixture { folder, registry, connection }) as _
        })
    }

    fn kinds(&self) -> Vec<ValueKind> {
        vec![ValueKind::String, ValueKind::Decimal]
    }

    fn holds(&self, _kind: ValueKind, _value: &Value) -> bool {
        true
    }

    fn supports(&self, operator: Operator, kind: ValueKind) -> bool {
        operator != Operator::Like || kind == ValueKind::String
    }

    fn accepts_name(&self, name: &str) -> bool {
        // Elsewhere a file cannot have every name.
        cfg!(unix) || name.chars().all(|c| c.is_alphanumeric() || matches!(c, ' ' | '.' | '_'))
    }

    fn tells_case(&self) -> bool {
        true
    }

    fn cell_bytes_max(&self) -> usize {
        // A record has a megabyte at most, its doubled quotes included.
        crate::csv::RECORD_BYTES_MAX * 3 / 4
    }
}

impl connector::Fixture for CsvFixture {
    fn registry(&self) -> Arc<dyn ConnectorRegistry> {
        Arc::clone(&self.registry)
    }

    fn connection(&self) -> ConnectionDescriptor {
        self.connection.clone()
    }

    fn unreachable(&self) -> ConnectionDescriptor {
        let mut connection = self.connection.clone();
        connection.endpoint.database.push_str("/nowhere");
        connection
    }

    fn senseless(&self) -> Option<ConnectionDescriptor> {
        let mut connection = self.connection.clone();
        connection.endpoint.options.insert("sslMode".into(), "verify-full".into());
        Some(connection)
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
        Box::pin(async { self.folder.open_files() })
    }

    fn append<'a>(&'a self, table: &'a str, rows: &'a [Vec<Value>]) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            let path = path(&self.folder.0, table);
            let mut text = fs::read_to_string(&path).unwrap();
            text.extend(rows.iter().map(|values| row(values)));
            replace(&path, &text);
            true
        })
    }

    fn break_off<'a>(&'a self, table: &'a str) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            let path = path(&self.folder.0, table);
            let text = fs::read_to_string(&path).unwrap();
            replace(&path, &(text + "\"not\" one field\r\n"));
            true
        })
    }
}

// --- Files.

pub(crate) struct FileSinks(pub(crate) Layers);

struct FileFixture {
    folder: Arc<Folder>,
    sink: Arc<dyn ResultSink>,
}

/// What the example leaves to its host: a folder for each tenant, a name for each result.
struct Named {
    folder: Arc<Folder>,
    next: AtomicU64,
}

impl ResultSink for Named {
    fn open_stream<'a>(
        &'a self,
        tenant: &'a TenantId,
        header: ResultHeader,
    ) -> BoxFuture<'a, Result<Box<dyn ResultWriter>, PortError>> {
        Box::pin(async move {
            let folder = self.folder.0.join(tenant.as_str());
            fs::create_dir_all(&folder)
                .map_err(|error| PortError::unavailable().caused_by(error))?;
            let name = format!("{}.ndjson", self.next.fetch_add(1, SeqCst));
            FileSink::new(folder.join(name)).open_stream(tenant, header).await
        })
    }
}

impl result_sink::Subject for FileSinks {
    fn fresh(&self) -> BoxFuture<'_, Box<dyn result_sink::Fixture>> {
        let folder = Arc::new(Folder::new());
        let named = Named { folder: Arc::clone(&folder), next: AtomicU64::new(0) };
        let sink = layers!(ResultSink, self.0, Arc::new(named));
        Box::pin(async { Box::new(FileFixture { folder, sink }) as _ })
    }
}

impl FileFixture {
    /// The files of a tenant, or of all.
    fn files(&self) -> impl Iterator<Item = PathBuf> {
        let folders = fs::read_dir(&self.folder.0).into_iter().flatten();
        let folders = folders.map(|entry| entry.unwrap().path());
        folders.flat_map(|folder| fs::read_dir(folder).unwrap()).map(|entry| entry.unwrap().path())
    }
}

fn is_temporary(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "tmp")
}

impl result_sink::Fixture for FileFixture {
    fn sink(&self) -> &dyn ResultSink {
        &*self.sink
    }

    fn results<'a>(&'a self, tenant: &'a TenantId) -> BoxFuture<'a, BTreeMap<String, Vec<u8>>> {
        Box::pin(async move {
            let own = self.folder.0.join(tenant.as_str());
            let files = self.files().filter(|path| path.starts_with(&own) && !is_temporary(path));
            let read = |path: PathBuf| {
                let bytes = fs::read(&path).unwrap();
                (path.to_string_lossy().into_owned(), bytes)
            };
            files.map(read).collect()
        })
    }

    fn unfinished(&self) -> BoxFuture<'_, Option<usize>> {
        Box::pin(async { Some(self.files().filter(|path| is_temporary(path)).count()) })
    }

    fn break_down(&self) -> BoxFuture<'_, bool> {
        Box::pin(async {
            // Elsewhere a folder with an open file cannot be removed.
            if !cfg!(unix) {
                return false;
            }
            // A file where the folder was: nothing can be made or renamed in there.
            fs::remove_dir_all(&self.folder.0).unwrap();
            fs::write(&self.folder.0, "").unwrap();
            true
        })
    }
}

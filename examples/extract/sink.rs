//! A result sink that writes one file, and makes it appear whole or not at all.
//!
//! The bytes go to a temporary file beside the target. Closing it writes it through to the disk,
//! renames it and writes the folder through; a rename within a folder is atomic. Whatever ends
//! otherwise removes the temporary file. Only a process that is killed can leave one behind.
//!
//! It has one target, which is enough for one extraction. A host gives each tenant a folder of its
//! own and each result a name of its own. And as in the connector, files are written inside of
//! `poll`, where a host with an async runtime uses the runtime's file API.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use fetcher_engine::extraction::Receipt;
use fetcher_engine::ports::{BoxFuture, ResultHeader, ResultSink, ResultWriter};
use fetcher_engine::{Category, PortError, TenantId};

/// Writes results to this path. Its folder must exist.
#[derive(Debug)]
pub(crate) struct FileSink {
    target: PathBuf,
}

impl FileSink {
    pub(crate) fn new(target: impl Into<PathBuf>) -> Self {
        Self { target: target.into() }
    }
}

impl ResultSink for FileSink {
    fn open_stream<'a>(
        &'a self,
        _tenant: &'a TenantId,
        _header: ResultHeader,
    ) -> BoxFuture<'a, Result<Box<dyn ResultWriter>, PortError>> {
        Box::pin(async move {
            let (file, temporary) =
                Temporary::beside(&self.target).map_err(|error| failure(&self.target, &error))?;
            let target = self.target.clone();
            Ok(Box::new(FileWriter { file, temporary, target }) as Box<dyn ResultWriter>)
        })
    }
}

struct FileWriter {
    // Before `temporary`: Windows removes no file that is open.
    file: File,
    temporary: Temporary,
    target: PathBuf,
}

impl ResultWriter for FileWriter {
    fn write<'a>(&'a mut self, bytes: &'a [u8]) -> BoxFuture<'a, Result<(), PortError>> {
        Box::pin(async move {
            self.file.write_all(bytes).map_err(|error| failure(&self.target, &error))
        })
    }

    fn close(self: Box<Self>) -> BoxFuture<'static, Result<Receipt, PortError>> {
        Box::pin(async move {
            let Self { file, temporary, target } = *self;
            finish(file, temporary, &target).map_err(|error| failure(&target, &error))?;
            Ok(Receipt::new(target.to_string_lossy()))
        })
    }

    fn abort(self: Box<Self>) -> BoxFuture<'static, Result<(), PortError>> {
        Box::pin(async move {
            let Self { file, temporary, target } = *self;
            drop(file);
            temporary.remove().map_err(|error| failure(&target, &error))
        })
    }
}

fn finish(mut file: File, temporary: Temporary, target: &Path) -> io::Result<()> {
    file.flush()?;
    file.sync_all()?;
    drop(file);
    temporary.rename(target)?;
    sync_folder(target).inspect_err(|_| {
        // An error means that nothing is there.
        let _ = fs::remove_file(target);
    })
}

/// Without this a crash of the machine could undo the rename.
#[cfg(unix)]
fn sync_folder(target: &Path) -> io::Result<()> {
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

/// Elsewhere a folder cannot be opened as a file.
#[cfg(not(unix))]
fn sync_folder(_target: &Path) -> io::Result<()> {
    Ok(())
}

/// A file that is removed when this is dropped, unless it was renamed.
struct Temporary {
    path: PathBuf,
    is_there: bool,
}

impl Temporary {
    fn beside(target: &Path) -> io::Result<(File, Self)> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let Some(name) = target.file_name() else {
            return Err(io::Error::new(ErrorKind::InvalidInput, "the path names no file"));
        };
        let unique = format!(".{}-{}.tmp", process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let mut hidden = OsString::from(".");
        hidden.push(name);
        hidden.push(unique);
        let path = target.with_file_name(hidden);
        let file = OpenOptions::new().write(true).create_new(true).open(&path)?;
        Ok((file, Self { path, is_there: true }))
    }

    fn rename(mut self, target: &Path) -> io::Result<()> {
        fs::rename(&self.path, target)?;
        self.is_there = false;
        Ok(())
    }

    fn remove(mut self) -> io::Result<()> {
        self.is_there = false;
        fs::remove_file(&self.path)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if self.is_there {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn failure(target: &Path, error: &io::Error) -> PortError {
    let category = match error.kind() {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => Category::Forbidden,
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Category::LimitExceeded,
        _ => Category::Unavailable,
    };
    PortError::new(category).caused_by(format!("{}: {error}", target.display()))
}

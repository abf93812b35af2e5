//! What a connection's description says: a file, and files beside it, read without I/O; and where
//! they lie, which is looked at when connecting.
//!
//! Keeps true: an option or a parameter that is not known is refused, never ignored; a path that is
//! opened is absolute, so that the library cannot take it for a URI.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fetcher_engine::connection::Endpoint;
use fetcher_engine::{Category, PortError};
use fetcher_sql::fault::invalid;

/// The library's own limit.
const ATTACHED_MAX: usize = 10;

/// What a host decides for all its connections.
#[derive(Clone)]
pub(super) struct Host {
    /// The folder that files must lie in.
    pub(super) within: Option<PathBuf>,
    pub(super) busy_timeout: Duration,
    /// How many rows the driver's thread reads ahead; `None` for as many as seems right.
    pub(super) rows_ahead: Option<usize>,
}

/// A connection's description, read.
pub(super) struct Target {
    pub(super) host: Host,
    pub(super) file: PathBuf,
    /// Whether nobody writes to it.
    pub(super) immutable: bool,
    /// Schemas and their files.
    pub(super) attached: Vec<(String, PathBuf)>,
}

impl Target {
    pub(super) fn read(endpoint: &Endpoint, host: Host) -> Result<Self, PortError> {
        let Endpoint { database, options, .. } = endpoint;
        if !endpoint.host.is_empty() || endpoint.port != 0 || !endpoint.username.is_empty() {
            return Err(invalid("a file has no host, no port and no user"));
        }
        let (file, immutable) = match database.strip_prefix("file:") {
            Some(uri) => uri_of(uri)?,
            None => (database.clone(), false),
        };
        let mut attached = Vec::new();
        for (option, value) in options {
            let schema = option.strip_prefix("attach.").filter(|schema| !schema.is_empty());
            let Some(schema) = schema else {
                return Err(invalid(format!("the option {option} is not known")));
            };
            let known = attached.iter().map(|(schema, _): &(String, _)| schema.as_str());
            if known.chain(["main", "temp"]).any(|taken| taken.eq_ignore_ascii_case(schema)) {
                return Err(invalid("the schema of an attached file is taken"));
            }
            if attached.len() == ATTACHED_MAX {
                return Err(invalid("there are more attached files than SQLite takes"));
            }
            attached.push((schema.to_owned(), path_of(value)?));
        }
        Ok(Self { host, file: path_of(&file)?, immutable, attached })
    }
}

fn path_of(text: &str) -> Result<PathBuf, PortError> {
    if text.is_empty() || text == ":memory:" || text.contains('\0') {
        return Err(invalid("a connection needs the path of a file"));
    }
    Ok(PathBuf::from(text))
}

/// The path and whether it is immutable, of what follows `file:`.
fn uri_of(uri: &str) -> Result<(String, bool), PortError> {
    let uri = uri.split_once('#').map_or(uri, |(uri, _)| uri);
    let (path, query) = uri.split_once('?').unwrap_or((uri, ""));
    let path = match path.strip_prefix("//") {
        None => path,
        Some(rest) => match rest.split_once('/') {
            Some(("" | "localhost", _)) => rest.trim_start_matches("localhost"),
            _ => return Err(invalid("a URI of a file names no other machine")),
        },
    };
    let mut immutable = false;
    for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
        match parameter {
            "mode=ro" | "immutable=0" | "immutable=false" => {}
            "immutable=1" | "immutable=true" => immutable = true,
            _ => return Err(invalid("a parameter of the URI is not known")),
        }
    }
    let path = decode(path).ok_or_else(|| invalid("the URI's path cannot be read"))?;
    Ok((path, immutable))
}

/// Percent-encoded text; `None` if it is not that.
fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let (digits, after) = rest.split_at_checked(2)?;
        let digit = |byte: &u8| char::from(*byte).to_digit(16);
        let value = digits.iter().map(digit).try_fold(0, |all, digit| Some(all * 16 + digit?))?;
        bytes.push(u8::try_from(value).ok()?);
        rest = after;
    }
    String::from_utf8(bytes).ok()
}

/// Where a file lies, links followed, if that is allowed.
pub(super) fn locate(host: &Host, path: &Path) -> Result<PathBuf, PortError> {
    let unavailable = |error| PortError::unavailable().caused_by(error);
    let folder = host.within.as_deref().map(fs::canonicalize).transpose().map_err(unavailable)?;
    let path = match &folder {
        Some(folder) => folder.join(path),
        None => path.to_owned(),
    };
    let file = fs::canonicalize(path).map_err(unavailable)?;
    if folder.is_some_and(|folder| !file.starts_with(folder)) {
        let outside = PortError::from(Category::Forbidden);
        return Err(outside.caused_by("the file lies outside of the folder"));
    }
    // A pipe would be waited for, and a device read.
    if !fs::metadata(&file).map_err(unavailable)?.is_file() {
        return Err(PortError::unavailable().caused_by("it is not a regular file"));
    }
    Ok(file)
}

/// A file that is read without locks is read without its journals, too: none may be left.
pub(super) fn nothing_beside(file: &Path) -> Result<(), PortError> {
    for ending in ["-wal", "-journal"] {
        let mut journal = file.as_os_str().to_owned();
        journal.push(ending);
        if fs::metadata(journal).is_ok_and(|metadata| metadata.len() > 0) {
            let unfinished = PortError::unavailable();
            return Err(unfinished.caused_by("an immutable file has a journal beside it"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris_are_read_as_sqlite_does() {
        for (uri, path, immutable) in [
            ("data.db", "data.db", false),
            ("/a/b.db?mode=ro", "/a/b.db", false),
            ("///a/b.db?immutable=1", "/a/b.db", true),
            ("//localhost/a.db", "/a.db", false),
            ("a%20b%3f.db?mode=ro&immutable=0#part", "a b?.db", false),
        ] {
            assert_eq!(uri_of(uri).unwrap(), (path.to_owned(), immutable), "{uri}");
        }
        for refused in ["//host/a.db", "a.db?vfs=x", "a.db?mode=rwc", "a%2", "a%zz", "a%ff"] {
            assert!(uri_of(refused).is_err(), "{refused}");
        }
    }
}

//! Files: missing, strange, damaged, locked, out of bounds; and that nothing is ever written.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;

use fetcher_engine::ports::Fetched;
use fetcher_engine::{Category, ConnectionInput, PortError, block_on};
use fetcher_sqlx::SqliteConnectors;

use crate::support::{Db, Folder, factory, input, read};
use crate::testing::random::Random;
use crate::testing::reading::{batch, build, drain, planned, told};

/// What connecting says.
fn connecting(factory: &SqliteConnectors, input: ConnectionInput) -> Result<(), PortError> {
    let mut connector = build(factory, input)?;
    let answer = block_on(connector.connect());
    block_on(connector.close()).map_err(told).expect("it closes");
    answer
}

#[track_caller]
fn refused(answer: Result<(), PortError>, category: Category) {
    let error = answer.expect_err("it is refused");
    assert_eq!(error.category(), category, "{}", told(error));
}

/// A few hundred rows on many small pages.
fn filled(pragmas: &str) -> Db {
    let db = Db::with(&format!("PRAGMA page_size = 512; {pragmas}"));
    db.run(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT, b BLOB);
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400)
         INSERT INTO t SELECT i, printf('row %06d', i), zeroblob(i % 90) FROM n;
         INSERT INTO t VALUES (401, 'large', zeroblob(5000)); CREATE INDEX t_a ON t (a)",
    );
    db
}

fn read_all(path: &Path) -> Result<Vec<String>, PortError> {
    let rows = read(input(path), planned("t", &["a", "b", "id"]))?;
    Ok(rows.into_iter().map(|(_, row)| row).collect())
}

/// Names and contents of what lies in a folder.
fn listing(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).expect("the folder").flatten();
    let entries = entries.filter(|it| it.path().is_file());
    let entry = |it: fs::DirEntry| {
        let name = it.file_name().to_string_lossy().into_owned();
        (name, fs::read(it.path()).expect("it can be read"))
    };
    entries.map(entry).collect()
}

#[test]
fn what_is_no_database_is_unavailable() {
    let folder = Folder::new();
    fs::write(folder.file("text"), "nothing but text, and more of it\n".repeat(100)).unwrap();
    fs::write(folder.file("short"), "SQLite format 3").unwrap();
    fs::create_dir(folder.file("folder")).unwrap();
    for name in ["missing", "text", "short", "folder", "missing/data.db", "text/data.db"] {
        refused(connecting(&factory(), input(&folder.file(name))), Category::Unavailable);
    }
    // That is a database without tables, and stays one.
    fs::write(folder.file("empty"), "").unwrap();
    let mut connector = build(&factory(), input(&folder.file("empty"))).unwrap();
    block_on(connector.connect()).map_err(told).unwrap();
    assert_eq!(block_on(connector.discover_schema()).map_err(told).unwrap().len(), 0);
    block_on(connector.close()).unwrap();
    let names: Vec<_> = listing(&folder.0).into_keys().collect();
    assert_eq!(names, ["empty", "short", "text"]);
}

#[test]
fn a_pipe_and_a_device_are_refused_without_waiting() {
    let folder = Folder::new();
    refused(connecting(&factory(), input(Path::new("/dev/zero"))), Category::Unavailable);
    let pipe = folder.file("pipe");
    if Command::new("mkfifo").arg(&pipe).status().is_ok_and(|it| it.success()) {
        refused(connecting(&factory(), input(&pipe)), Category::Unavailable);
        let link = folder.file("link");
        symlink(&pipe, &link).unwrap();
        refused(connecting(&factory(), input(&link)), Category::Unavailable);
    }
}

#[test]
fn a_description_that_cannot_be_meant_is_refused_in_build() {
    let connection = |database: &str| ConnectionInput::new("lite", "sqlite").database(database);
    let file = || connection("data.db");
    for input in [
        connection(""),
        connection(":memory:"),
        connection("file::memory:"),
        connection("file:"),
        connection("file:a.db?mode=rwc"),
        connection("file:a.db?mode=memory"),
        connection("file:a.db?vfs=unix-none"),
        connection("file:a.db?cache=shared"),
        connection("file:a.db?nolock=1"),
        connection("file://elsewhere/a.db"),
        connection("file:a%00.db"),
        file().host("localhost"),
        file().port(1),
        file().username("root"),
        file().option("pragma", "x"),
        file().option("attach", "x"),
        file().option("attach.", "x"),
        file().option("attach.x", ":memory:"),
        file().option("attach.x", ""),
        file().option("attach.temp", "x"),
    ] {
        let what = format!("{input:?}");
        let error = build(&factory(), input).err().unwrap_or_else(|| panic!("{what}"));
        assert_eq!(error.category(), Category::Validation, "{what}");
    }
}

#[test]
fn a_uri_is_a_path_too() {
    let folder = Folder::new();
    let path = folder.file("a b?c%.db");
    let db = filled("");
    db.close();
    fs::copy(&db.path, &path).unwrap();
    let escaped = folder.file("a%20b%3fc%25.db");
    let escaped = escaped.to_str().unwrap();
    for uri in [
        format!("file:{escaped}"),
        format!("file://{escaped}?mode=ro"),
        format!("file://localhost{escaped}?immutable=1&mode=ro"),
        path.to_str().unwrap().to_owned(),
    ] {
        let input = ConnectionInput::new("lite", "sqlite").database(uri.as_str());
        let rows = read(input, planned("t", &["id"])).map_err(told).expect(&uri);
        assert_eq!(rows.len(), 401, "{uri}");
    }
    // A path is not a URI in the middle of itself.
    let odd = folder.file("x.db?mode=rwc");
    fs::copy(&db.path, &odd).unwrap();
    assert_eq!(read_all(&odd).map_err(told).unwrap().len(), 401);
    let attached = db.input().option("attach.odd", odd.to_str().unwrap());
    assert_eq!(read(attached, planned("odd.t", &["id"])).map_err(told).unwrap().len(), 401);
    assert!(!folder.file("x.db").exists());
}

#[test]
fn nothing_outside_of_the_folder_is_reached() {
    let outside = filled("");
    outside.close();
    let folder = Folder::new();
    fs::create_dir(folder.file("inner")).unwrap();
    fs::copy(&outside.path, folder.file("inside.db")).unwrap();
    fs::copy(&outside.path, folder.file("inner/inside.db")).unwrap();
    symlink(&outside.path, folder.file("link.db")).unwrap();
    symlink(&outside.folder.0, folder.file("linked")).unwrap();
    symlink(folder.file("inside.db"), folder.file("inner/fine.db")).unwrap();
    let other = outside.folder.0.file_name().unwrap().to_str().unwrap();
    let within = factory().within(&folder.0);
    let connection = |database: &str| ConnectionInput::new("lite", "sqlite").database(database);
    let absolute = outside.path.to_str().unwrap();
    let up = format!("../{other}/data.db");
    let further = format!("inner/../../{other}/data.db");
    let uri = format!("file:%2e%2e/{other}/data.db");
    for escape in [absolute, &up, &further, &uri, "link.db", "linked/data.db", "file:link.db"] {
        refused(connecting(&within, connection(escape)), Category::Forbidden);
        let attached = connection("inside.db").option("attach.x", escape);
        let answer = connecting(&within, attached);
        let is_uri = escape.starts_with("file:");
        refused(answer, if is_uri { Category::Unavailable } else { Category::Forbidden });
    }
    let own = folder.file("inside.db");
    let own = own.to_str().unwrap();
    for fine in ["inside.db", "inner/../inside.db", "inner/fine.db", own, "./inner/inside.db"] {
        connecting(&within, connection(fine)).map_err(told).expect(fine);
    }
    // A folder whose name begins like that of the other is another one.
    let sibling = folder.0.with_file_name(format!("{other}-beside"));
    refused(connecting(&factory().within(sibling), connection("x.db")), Category::Unavailable);
    let prefix = factory().within(folder.file("inn"));
    refused(connecting(&prefix, connection("../inside.db")), Category::Unavailable);
}

#[test]
fn a_file_that_is_cut_off_is_never_a_short_success() {
    let db = filled("");
    db.close();
    let whole = fs::read(&db.path).unwrap();
    let rows = read_all(&db.path).map_err(told).unwrap();
    assert_eq!(rows.len(), 401);
    let folder = Folder::new();
    let mut broken = 0;
    let cuts = (1..whole.len() / 512).map(|page| page * 512).chain([1, 15, 99, 100, 101, 511, 513]);
    for cut in cuts.chain((1..40).map(|it| it * 997 % whole.len())) {
        let path = folder.file(&format!("{cut}.db"));
        fs::write(&path, &whole[..cut]).unwrap();
        match read_all(&path) {
            Ok(seen) => assert!(seen == rows, "{cut} of {}: {} rows", whole.len(), seen.len()),
            Err(error) => {
                // A single byte is an empty database to SQLite, so the table is gone.
                let gone = if cut == 1 { Category::Validation } else { Category::Unavailable };
                let is_gone = error.category() == gone;
                assert!(is_gone, "{cut} of {}: {}", whole.len(), told(error));
                broken += 1;
            }
        }
        fs::remove_file(path).unwrap();
    }
    println!("{broken} of {} lengths break", whole.len() / 512 + 45);
    assert!(broken > 50);
}

#[test]
fn random_damage_is_an_error_or_rows() {
    let db = filled("");
    db.run("CREATE VIEW v AS SELECT a FROM t ORDER BY b");
    db.close();
    let whole = fs::read(&db.path).unwrap();
    let folder = Folder::new();
    let mut random = Random(11);
    let (mut errors, mut fine) = (0, 0);
    for round in 0..300 {
        let mut bytes = whole.clone();
        for _ in 0..1 + random.below(4) {
            let page = random.below(bytes.len() / 512) * 512;
            // Sometimes a whole page, sometimes a few bytes where a page keeps its order.
            let (from, len) = match random.below(3) {
                0 => (page, 512),
                1 => (page, 12),
                _ => (page + random.below(500), 1 + random.below(12)),
            };
            bytes[from..from + len].fill_with(|| random.below(256) as u8);
        }
        let path = folder.file(&format!("{round}.db"));
        fs::write(&path, &bytes).unwrap();
        for query in [planned("t", &["a", "b", "id"]), planned("v", &["a"])] {
            match read(input(&path), query) {
                Ok(_) => fine += 1,
                Err(error) => {
                    // A schema that is damaged may have other tables, too.
                    let category = error.category();
                    let expected = [Category::Unavailable, Category::Validation];
                    assert!(expected.contains(&category), "round {round}: {}", told(error));
                    errors += 1;
                }
            }
        }
        if let Ok(mut connector) = build(&factory(), input(&path)) {
            if block_on(connector.connect()).is_ok() {
                let _ = block_on(connector.discover_schema());
            }
            let _ = block_on(connector.close());
        }
        fs::remove_file(path).unwrap();
    }
    println!("{errors} errors, {fine} results");
    assert!(errors > 100 && fine > 10);
}

#[test]
fn reading_breaks_off_where_the_damage_is() {
    let db = filled("");
    let pages = db.rows("SELECT pageno FROM dbstat WHERE name = 't' AND pagetype = 'leaf'");
    let last: i64 = sqlx::Row::get(pages.last().unwrap(), 0);
    db.close();
    let mut bytes = fs::read(&db.path).unwrap();
    bytes[usize::try_from(last - 1).unwrap() * 512..][..512].fill(0xFF);
    fs::write(&db.path, bytes).unwrap();
    let mut connector = db.opened(planned("t", &["b", "id"]));
    let (mut rows, mut current) = (0, batch());
    let error = loop {
        current.full_after(1);
        match block_on(connector.fetch(current)) {
            Ok((_, Fetched::End)) => panic!("an end after {rows} rows"),
            Ok((filled, _)) => {
                rows += filled.rows();
                current = filled;
                current.clear();
            }
            Err(error) => break error,
        }
    };
    assert_eq!(error.category(), Category::Unavailable);
    assert_eq!(error.table(), Some("t"));
    assert!(rows > 300, "{rows}");
    assert!(block_on(connector.fetch(batch())).is_err(), "it stays over");
    block_on(connector.close()).map_err(told).unwrap();
}

#[test]
fn a_hot_journal_is_never_read_past() {
    let db = filled("PRAGMA cache_size = 5");
    // What is half written lies in the file, and its undoing in the journal.
    db.run("BEGIN; UPDATE t SET a = 'half done'");
    let copy = Folder::new();
    let path = copy.file("data.db");
    for end in ["", "-journal"] {
        let name = format!("data.db{end}");
        fs::copy(db.folder.file(&name), copy.file(&name)).unwrap();
    }
    db.run("ROLLBACK");
    assert!(fs::read(&path).unwrap().windows(9).any(|it| it == b"half done"));
    let before = listing(&copy.0);
    let answer = read_all(&path);
    let error = answer.expect_err("who may not write cannot undo");
    assert_eq!(error.category(), Category::Unavailable, "{}", told(error));
    assert!(listing(&copy.0) == before, "nothing was touched");
}

#[test]
fn a_file_in_wal_mode_is_read_as_committed() {
    let db = filled("PRAGMA journal_mode = WAL");
    db.run("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA wal_autocheckpoint = 0");
    db.run("INSERT INTO t VALUES (500, 'in the log', NULL)");
    db.run("BEGIN; INSERT INTO t VALUES (501, 'not committed', NULL)");
    let rows = read_all(&db.path).map_err(told).unwrap();
    assert_eq!(rows.len(), 402);
    assert!(rows.last().unwrap().contains("in the log"));
    db.run("COMMIT");
    assert_eq!(read_all(&db.path).map_err(told).unwrap().len(), 403);
    // Copied away with its log, whose writer never said goodbye.
    let copy = Folder::new();
    for end in ["", "-wal"] {
        let name = format!("data.db{end}");
        fs::copy(db.folder.file(&name), copy.file(&name)).unwrap();
    }
    assert_eq!(read_all(&copy.file("data.db")).map_err(told).unwrap().len(), 403);
    // And with its log cut off in the middle of the last transaction.
    let again = Folder::new();
    fs::copy(&db.path, again.file("data.db")).unwrap();
    let log = fs::read(db.folder.file("data.db-wal")).unwrap();
    fs::write(again.file("data.db-wal"), &log[..log.len() - 100]).unwrap();
    assert_eq!(read_all(&again.file("data.db")).map_err(told).unwrap().len(), 402);
}

#[test]
fn a_file_that_may_only_be_read_is_read() {
    let db = filled("");
    db.close();
    fs::set_permissions(&db.path, fs::Permissions::from_mode(0o444)).unwrap();
    fs::set_permissions(&db.folder.0, fs::Permissions::from_mode(0o555)).unwrap();
    let rows = read_all(&db.path).map_err(told);
    let immutable = format!("file:{}?immutable=1", db.path.display());
    let immutable = read(db.input().database(immutable), planned("t", &["id"])).map_err(told);
    fs::set_permissions(&db.folder.0, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(rows.unwrap().len(), 401);
    assert_eq!(immutable.unwrap().len(), 401);
}

#[test]
fn a_locked_file_is_waited_for_and_then_unavailable() {
    let db = filled("");
    db.run("BEGIN EXCLUSIVE");
    refused(connecting(&factory(), db.input()), Category::Unavailable);
    db.run("ROLLBACK");
    // Locked between `connect` and `open`, too.
    let mut connector = db.connector();
    db.run("BEGIN EXCLUSIVE");
    refused(block_on(connector.open(planned("t", &["id"]))), Category::Unavailable);
    db.run("ROLLBACK");
    block_on(connector.close()).unwrap();
    // Who reads keeps a writer waiting, and lets go at the end.
    let mut connector = db.opened(planned("t", &["id"]));
    db.run("PRAGMA busy_timeout = 10");
    assert!(db.try_run("DELETE FROM t").is_err());
    assert_eq!(block_on(drain(&mut *connector)).map_err(told).unwrap().len(), 401);
    block_on(connector.close()).map_err(told).unwrap();
    db.run("DELETE FROM t");
}

#[test]
fn nothing_is_ever_written() {
    let db = filled("");
    db.run("CREATE VIEW v AS SELECT a, b FROM t ORDER BY b, a");
    db.close();
    let before = listing(&db.folder.0);
    assert_eq!(before.len(), 1);
    let modified = fs::metadata(&db.path).unwrap().modified().unwrap();
    let mut connector = db.connector();
    block_on(connector.discover_schema()).map_err(told).unwrap();
    block_on(connector.open(planned("v", &["a", "b"]))).map_err(told).unwrap();
    // While it reads, too.
    block_on(connector.fetch(batch())).map_err(told).unwrap();
    let names: Vec<_> = fs::read_dir(&db.folder.0).unwrap().flatten().collect();
    assert_eq!(names.len(), 1);
    block_on(connector.close()).map_err(told).unwrap();
    assert_eq!(db.read("t", &["a"]).len(), 401);
    assert!(listing(&db.folder.0) == before);
    assert_eq!(fs::metadata(&db.path).unwrap().modified().unwrap(), modified);
}

#[test]
fn a_file_with_a_journal_is_not_immutable() {
    let db = Db::with("PRAGMA journal_mode = WAL; CREATE TABLE t (v); INSERT INTO t VALUES (1)");
    // A crash leaves both: what is committed is in the journal.
    let (copy, journal) = (db.folder.file("left.db"), db.folder.file("left.db-wal"));
    fs::copy(&db.path, &copy).unwrap();
    fs::copy(format!("{}-wal", db.path.display()), &journal).unwrap();
    let uri = format!("file:{}?immutable=1", copy.display());
    let immutable = || ConnectionInput::new("lite", "sqlite").database(uri.as_str());
    let error = block_on(build(&factory(), immutable()).unwrap().connect()).unwrap_err();
    assert_eq!(error.category(), Category::Unavailable);
    let rows = read(input(&copy), planned("t", &["v"])).map_err(told).unwrap();
    assert_eq!(rows, [("t".to_owned(), r#"{"v":1}"#.to_owned())]);
}

//! The type oracle: what a connector gives for a cell is what a rule, evaluated by SQLite itself,
//! says of it. Every declared type with every value, as SQLite's affinity lets it in.

use fetcher_engine::value::ValueKind;
use serde_json::Value as Json;
use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;

use crate::support::Db;
use crate::testing::text::unhex;

const DECLARED: &[&str] = &[
    "INTEGER",
    "INT",
    "TINYINT",
    "SMALLINT",
    "BIGINT",
    "UNSIGNED BIG INT",
    "INT8",
    "POINT",
    "BOOLEAN",
    "bool",
    "REAL",
    "DOUBLE",
    "DOUBLE PRECISION",
    "FLOAT",
    "NUMERIC",
    "NUMBER",
    "DECIMAL(10,5)",
    "DATE",
    "DATETIME",
    "TIMESTAMP",
    "TIME",
    "TEXT",
    "VARCHAR(10)",
    "CHAR(3)",
    "NCHAR(55)",
    "CLOB",
    "BLOB",
    "JSON",
    "JSONB",
    "",
    "STRING",
    "ANY",
    "UUID",
    "MONEY",
];

const STRICT: &[&str] = &["INT", "INTEGER", "REAL", "TEXT", "BLOB", "ANY"];

const VALUES: &[&str] = &[
    "NULL",
    "0",
    "1",
    "-1",
    "2",
    "9223372036854775807",
    "-9223372036854775808",
    "9007199254740993",
    "9223372036854775808",
    "0.1",
    "0.5",
    "1.0",
    "1e15",
    "1e20",
    "1e21",
    "1e-7",
    "5e-324",
    "2.2250738585072014e-308",
    "1.7976931348623157e308",
    "9e999",
    "-9e999",
    "-0.0",
    "0.30000000000000004",
    "9007199254740993.0",
    "TRUE",
    "FALSE",
    "''",
    "'abc'",
    "'42'",
    "' 42'",
    "'42abc'",
    "'1.10'",
    "'9007199254740993'",
    "'0x10'",
    "'1e400'",
    "'Infinity'",
    "'NaN'",
    "'{\"a\":1}'",
    "' [1, 2.50] '",
    "'true'",
    "'null'",
    "'\"x\"'",
    "'{bad'",
    "'a' || char(0) || 'b'",
    "char(0)",
    "char(0x2028) || char(0x2029)",
    "'🦀 emoji'",
    "'naïve'",
    "'</script>&<>'",
    "'a\"b\\c/'",
    "char(1, 8, 9, 10, 11, 12, 13, 31, 127)",
    "'2024-02-30'",
    "'2024-03-01'",
    "'2024-03-01T12:34:56Z'",
    "date('2024-03-01')",
    "julianday('2024-03-01')",
    "x''",
    "x'00'",
    "x'00ff'",
    "x'616263'",
    "(SELECT blob FROM every_byte)",
    "CAST(x'ff41' AS TEXT)",
    "CAST(x'eda080' AS TEXT)",
    "CAST(x'c080' AS TEXT)",
    "CAST(x'6100' AS TEXT)",
];

/// A table with a column of each declared type and every value in it.
fn fill(db: &Db) -> Vec<(String, String)> {
    let bytes: Vec<_> = (0..=255_u8).map(|byte| format!("{byte:02x}")).collect();
    db.run(&format!("CREATE TABLE every_byte AS SELECT x'{}' AS blob", bytes.concat()));
    let mut tables = Vec::new();
    let declared =
        DECLARED.iter().map(|it| (*it, "")).chain(STRICT.iter().map(|it| (*it, "STRICT")));
    for (number, (declared, strict)) in declared.enumerate() {
        let name = format!("t{number}");
        db.run(&format!("CREATE TABLE {name} (id INTEGER PRIMARY KEY, v {declared}) {strict}"));
        for (id, value) in VALUES.iter().enumerate() {
            let insert = format!("INSERT INTO {name} VALUES ({id}, {value})");
            match db.try_run(&insert) {
                Ok(()) => {}
                // A strict table does not let everything in.
                Err(_) if !strict.is_empty() => {}
                Err(error) => panic!("{declared} {value}: {error:?}"),
            }
        }
        tables.push((name, declared.to_owned()));
    }
    tables
}

/// What SQLite says of the cells of a table.
fn facts(db: &Db, table: &str) -> Vec<SqliteRow> {
    db.rows(&format!(
        "SELECT id, typeof(v), hex(v), printf('%lld', v), json_valid(CAST(v AS TEXT)),
           CAST(v AS TEXT) = 'Inf', CAST(v AS TEXT) = '-Inf', v
         FROM {table} ORDER BY id"
    ))
}

/// Whether this is what has to go out of such a cell.
fn is_right(db: &Db, table: &str, declared: &str, fact: &SqliteRow, raw: &str) -> bool {
    let (id, kind, hex): (i64, String, String) = (fact.get(0), fact.get(1), fact.get(2));
    let word = declared.to_ascii_uppercase();
    let bytes = unhex(&hex);
    let is_text = |text: &str| serde_json::from_str::<String>(raw).is_ok_and(|it| it == text);
    match kind.as_str() {
        "null" => raw == "null",
        "integer" => {
            let digits: String = fact.get(3);
            match (word.as_str(), digits.as_str()) {
                ("BOOLEAN" | "BOOL", "0") => raw == "false",
                ("BOOLEAN" | "BOOL", "1") => raw == "true",
                _ => raw == digits,
            }
        }
        "real" if fact.get(5) => is_text("Infinity"),
        "real" if fact.get(6) => is_text("-Infinity"),
        "real" => {
            // Equal to SQLite's own mind, and to the bit.
            let Ok(number) = raw.parse::<f64>() else { return false };
            let same = db
                .rows(&format!("SELECT count(*) FROM {table} WHERE id = {id} AND v = {number:?}"));
            let stored: f64 = fact.get_unchecked(7);
            same[0].get::<i64, _>(0) == 1 && number.to_bits() == stored.to_bits()
        }
        "text" => match String::from_utf8(bytes) {
            Ok(text) if matches!(word.as_str(), "JSON" | "JSONB") && fact.get(4) => {
                raw == text.replace(' ', "")
            }
            Ok(text) => is_text(&text),
            Err(error) => is_text(&base64(error.as_bytes())),
        },
        "blob" => is_text(&base64(&bytes)),
        other => panic!("{other} is a storage class"),
    }
}

/// RFC 4648, section 4.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let bits = (0..3)
            .fold(0_u32, |bits, at| bits << 8 | u32::from(three.get(at).copied().unwrap_or(0)));
        for at in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * at) & 63) as usize];
            text.push(if at <= three.len() { char::from(digit) } else { '=' });
        }
    }
    text
}

/// The raw JSON of the field `v`, of rows of the fields `id` and `v`.
fn raw(row: &str, id: i64) -> String {
    let rest = row.strip_prefix(&format!(r#"{{"id":{id},"v":"#)).unwrap_or_else(|| panic!("{row}"));
    rest.strip_suffix('}').expect("it is an object").to_owned()
}

fn compare_all(db: &Db, tables: &[(String, String)]) -> usize {
    let mut pairs = 0;
    for (table, declared) in tables {
        let rows = db.read(table, &["id", "v"]);
        let facts = facts(db, table);
        assert_eq!(rows.len(), facts.len(), "{declared}");
        for (row, fact) in rows.iter().zip(&facts) {
            let id: i64 = fact.get(0);
            let raw = raw(row, id);
            let value = VALUES[usize::try_from(id).unwrap()];
            let kind: String = fact.get(1);
            serde_json::from_str::<Json>(row)
                .unwrap_or_else(|it| panic!("{declared} {value}: {it}"));
            assert!(
                is_right(db, table, declared, fact, &raw),
                "{declared} {value}, stored as {kind}: {raw}"
            );
            pairs += 1;
        }
    }
    pairs
}

#[test]
fn every_type_with_every_value_is_what_sqlite_says() {
    let db = Db::new();
    let tables = fill(&db);
    let pairs = compare_all(&db, &tables);
    println!("{} declared types, {} values, {pairs} pairs", tables.len(), VALUES.len());
    assert!(tables.len() >= 25 && pairs >= 600, "{pairs}");
}

/// Text that is not UTF-16 cannot be kept apart there, so only what is text in both.
#[test]
fn every_value_in_a_file_of_another_encoding() {
    for encoding in ["UTF-16le", "UTF-16be"] {
        let db = Db::with(&format!("PRAGMA encoding = '{encoding}'"));
        db.run("CREATE TABLE t (id INTEGER PRIMARY KEY, v)");
        let texts: Vec<_> = VALUES.iter().filter(|it| !it.contains(['S', 'x'])).collect();
        for (id, value) in texts.iter().enumerate() {
            db.run(&format!("INSERT INTO t VALUES ({id}, {value})"));
        }
        let sql = "SELECT id, typeof(v), CAST(v AS TEXT) FROM t WHERE typeof(v) = 'text'";
        let (rows, facts) = (db.read("t", &["id", "v"]), db.rows(sql));
        assert!(facts.len() > 15, "{}", facts.len());
        for fact in facts {
            let (id, text): (i64, String) = (fact.get(0), fact.get(2));
            let seen: String =
                serde_json::from_str(&raw(&rows[usize::try_from(id).unwrap()], id)).unwrap();
            assert_eq!(seen, text, "{encoding}");
        }
    }
}

#[test]
fn json_is_itself_token_for_token() {
    let deep = format!("{}1{}", "[".repeat(40), "]".repeat(40));
    let documents = [
        "{\"a\":9007199254740993,\"b\":1.10}",
        "{\"a\":1,\"a\":2}",
        "[1e400,-0,1E+2]",
        "{ \"b\" : [ 1 , 2.50 ] }",
        "\"\\u00e9\\n</script>\"",
        "[]",
        "{}",
        "{\"\":null}",
        "true",
        "null",
        &deep,
    ];
    for declared in ["JSON", "json", "JSONB"] {
        let db = Db::with(&format!("CREATE TABLE t (id INTEGER PRIMARY KEY, v {declared})"));
        for (id, document) in documents.iter().enumerate() {
            db.run(&format!("INSERT INTO t VALUES ({id}, '{document}')"));
        }
        for (row, (id, document)) in db.read("t", &["id", "v"]).iter().zip((0..).zip(documents)) {
            // Spaces are no tokens.
            assert_eq!(raw(row, id), document.replace(' ', ""), "{declared}");
        }
    }
    // SQLite's own binary JSON is a blob, and what it takes beyond JSON is a string.
    let db = Db::with("CREATE TABLE t (v JSON); INSERT INTO t VALUES (jsonb('[1]')), ('{a:1}')");
    assert_eq!(db.read("t", &["v"]), [r#"{"v":"KxMx"}"#, r#"{"v":"{a:1}"}"#]);
}

#[test]
fn cells_go_out_as_they_are_stored_whatever_the_column() {
    let db = Db::with(
        "CREATE TABLE t (i INTEGER, t TEXT, b BLOB, none, never TEXT, flag BOOLEAN);
         INSERT INTO t VALUES ('abc', 7, 'text', '42', NULL, 2), (x'00', x'00', 1.5, 42, NULL, 'x'),
           ('8', '{\"a\":1}', 8, NULL, NULL, 1.0)",
    );
    let rows = db.read("t", &["b", "flag", "i", "never", "none", "t"]);
    assert_eq!(
        rows,
        [
            r#"{"b":"text","flag":2,"i":"abc","never":null,"none":"42","t":"7"}"#,
            r#"{"b":1.5,"flag":"x","i":"AA==","never":null,"none":42,"t":"AA=="}"#,
            r#"{"b":8,"flag":true,"i":8,"never":null,"none":null,"t":"{\"a\":1}"}"#,
        ]
    );
}

/// What the kit knows of the kinds of SQLite's cells.
#[test]
fn the_samples_of_the_kit_are_among_the_values() {
    use fetcher_engine::testkit::conformance::connector::samples;
    let db = Db::with("CREATE TABLE t (id INTEGER PRIMARY KEY, v)");
    let mut numbers = Vec::new();
    for (id, value) in samples(ValueKind::F64).into_iter().enumerate() {
        if let fetcher_engine::Value::F64(number) = value
            && number.is_finite()
        {
            db.run(&format!("INSERT INTO t VALUES ({id}, {number:?})"));
            numbers.push((i64::try_from(id).unwrap(), number));
        }
    }
    for (row, (id, number)) in db.read("t", &["id", "v"]).iter().zip(numbers) {
        assert_eq!(raw(row, id).parse::<f64>().unwrap(), number);
    }
}

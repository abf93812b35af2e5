//! Filters against [`Filter::matches`] over the same cells, at random and by hand. How a cell goes
//! out and how an operand is converted is written down here a second time, from the module docs.

use std::collections::BTreeMap;

use fetcher_engine::filter::Operator;
use fetcher_engine::value::{Decimal, Value, ValueKind};
use fetcher_engine::{Category, Filter, block_on};
use sqlx::Row as _;

use crate::support::Db;
use crate::testing::filters::{operands, refused};
use crate::testing::random::Random;
use crate::testing::reading::told;
use crate::testing::text::unhex;

/// Cells, as literals; each of them is put into columns of every type.
const CELLS: &[&str] = &[
    "NULL",
    "0",
    "1",
    "2",
    "-3",
    "9007199254740992",
    "9007199254740993",
    "9223372036854775807",
    "-9223372036854775808",
    "0.1",
    "1.5",
    "2.0",
    "9007199254740992.0",
    "9223372036854775808.0",
    "9e999",
    "-9e999",
    "-0.0",
    "''",
    "'a'",
    "'A'",
    "'ab'",
    "'ab '",
    "'a%'",
    "'a_b'",
    "'a\\b'",
    "'é'",
    "'É'",
    "'日本'",
    "'🦀'",
    "'x' || char(0)",
    "'x' || char(0) || 'y'",
    "'x'",
    "'2'",
    "' 2'",
    "'2.50'",
    "'2024-03-01'",
    "'true'",
    "'NaN'",
    "' 42 '",
    "CAST(x'ff41' AS TEXT)",
    "x''",
    "x'00'",
    "x'61'",
    "x'6162'",
    "x'7f'",
    "x'ff41'",
];

/// Columns and their types; `id` comes before them.
const COLUMNS: &[(&str, &str)] = &[
    ("i", "INTEGER"),
    ("r", "REAL"),
    ("n", "NUMERIC"),
    ("dec", "DECIMAL(10,5)"),
    ("b", "BOOLEAN"),
    ("tx", "TEXT"),
    ("tn", "TEXT COLLATE NOCASE"),
    ("tr", "VARCHAR(9) COLLATE RTRIM"),
    ("bl", "BLOB"),
    ("bn", "BLOB COLLATE NOCASE"),
    ("d", "DATE"),
    ("dn", "DATETIME COLLATE NOCASE"),
    ("st", "STRING"),
    ("x", ""),
    ("xn", "COLLATE NOCASE"),
    ("j", "JSON"),
];

const ROWS: usize = 120;

/// Tables, views and virtual tables with these cells.
fn fill(db: &Db, random: &mut Random) {
    let columns: Vec<_> = COLUMNS.iter().map(|(name, sql)| format!("{name} {sql}")).collect();
    let columns = columns.join(", ");
    db.run(&format!(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, {columns});
         CREATE TABLE w (id INTEGER, {columns}, PRIMARY KEY (id)) WITHOUT ROWID;
         CREATE TABLE s (id INTEGER PRIMARY KEY, i INT, r REAL, tx TEXT, bl BLOB, a ANY) STRICT;
         CREATE VIRTUAL TABLE f USING fts5(id UNINDEXED, tx, x);
         CREATE VIRTUAL TABLE rt USING rtree(id, low, high)"
    ));
    for (column, _) in COLUMNS {
        db.run(&format!("CREATE INDEX t_{column} ON t ({column})"));
    }
    db.run("CREATE INDEX s_a ON s (a); CREATE INDEX w_x ON w (x COLLATE NOCASE DESC); BEGIN");
    for id in 0..ROWS {
        let cells: Vec<_> = COLUMNS.iter().map(|_| *random.pick(CELLS)).collect();
        db.run(&format!("INSERT INTO t VALUES ({id}, {})", cells.join(", ")));
        let _ = db.try_run(&format!("INSERT INTO s VALUES ({id}, 2, {id} / 2.0, 'ab', x'61', 1)"));
        let a = random.pick(CELLS);
        db.run(&format!("UPDATE s SET a = {a}, i = {id} % 5 - 2 WHERE id = {id}"));
        db.run(&format!("INSERT INTO rt VALUES ({id}, {id} % 7 / 10.0, {id} % 7 / 10.0 + 1)"));
    }
    db.run(
        "INSERT INTO w SELECT * FROM t; INSERT INTO f SELECT id, tx, x FROM t; COMMIT;
         CREATE VIEW v AS SELECT * FROM t;
         CREATE VIEW e AS SELECT id, i + 0 AS i, tx || '' AS tx, +x AS x, lower(tn) AS tn,
           CAST(st AS TEXT) AS st, CAST(r AS INTEGER) AS r, CASE WHEN id % 2 THEN i ELSE tx END AS c
           FROM t;
         CREATE VIEW u AS SELECT id, i AS c, tx AS k, x, tn FROM t
           UNION ALL SELECT id + 1000, tx, i, bl, bl FROM t;
         CREATE VIEW g AS SELECT min(id) AS id, tn, count(*) AS n, max(x) AS x FROM t GROUP BY tn",
    );
}

/// One column of a relation: what it is declared as, and its cells.
struct Column {
    name: String,
    declared: String,
    strict: bool,
    cells: Vec<Value>,
}

struct Relation {
    name: &'static str,
    ids: Vec<i64>,
    columns: Vec<Column>,
}

fn relation(db: &Db, name: &'static str) -> Relation {
    let sql = format!("SELECT name, type FROM pragma_table_info('{name}') WHERE name <> 'id'");
    let columns = db.rows(&sql).into_iter().map(|row| {
        let (column, declared): (String, String) = (row.get(0), row.get(1));
        let sql =
            format!("SELECT typeof({column}), hex({column}), {column} FROM {name} ORDER BY id");
        let cells = db.rows(&sql).iter().map(|row| cell(&declared, row)).collect();
        Column { name: column, declared, strict: name == "s", cells }
    });
    let columns = columns.collect();
    let ids = db.rows(&format!("SELECT id FROM {name} ORDER BY id"));
    let ids = ids.iter().map(|row| row.get(0)).collect();
    Relation { name, ids, columns }
}

/// A cell as it goes out, of its storage class, its bytes and itself.
fn cell(declared: &str, row: &sqlx::sqlite::SqliteRow) -> Value {
    let bytes = unhex(row.get(1));
    match row.get::<String, _>(0).as_str() {
        "null" => Value::Null,
        "integer" => match (declared, row.get_unchecked::<i64, _>(2)) {
            ("BOOLEAN", 0) => Value::Bool(false),
            ("BOOLEAN", 1) => Value::Bool(true),
            (_, integer) => Value::I64(integer),
        },
        "real" => Value::F64(row.get_unchecked(2)),
        "text" => String::from_utf8(bytes)
            .map_or_else(|error| Value::Bytes(error.into_bytes()), Value::String),
        _ => Value::Bytes(bytes),
    }
}

/// What the table in the module docs says of an operand.
#[derive(Clone, Copy, PartialEq)]
enum Class {
    Booleans,
    Nothing,
    Integers,
    Reals,
    Numbers,
    Strings,
    Bytes,
    AsStored,
    Anything,
}

fn class(declared: &str, strict: bool) -> Class {
    let has = |part: &str| declared.contains(part);
    match declared.split('(').next().unwrap_or_default() {
        "BOOLEAN" => Class::Booleans,
        "JSON" => Class::Nothing,
        "NUMERIC" | "DECIMAL" => Class::Numbers,
        "" => Class::Anything,
        "ANY" if strict => Class::Anything,
        _ if has("INT") => Class::Integers,
        _ if has("CHAR") || has("CLOB") || has("TEXT") => Class::Strings,
        _ if has("BLOB") => Class::Bytes,
        _ if has("REAL") || has("FLOA") || has("DOUB") => Class::Reals,
        _ => Class::AsStored,
    }
}

fn number(value: &Value) -> Option<Value> {
    let of_text = |text: &str| match text.parse::<i64>() {
        Ok(integer) => Some(Value::I64(integer)),
        Err(_) => Decimal::parse(text)?.as_str().parse::<f64>().ok().map(Value::F64),
    };
    match value {
        Value::I64(_) | Value::F64(_) => Some(value.clone()),
        Value::U64(value) => Some(match i64::try_from(*value) {
            Ok(value) => Value::I64(value),
            Err(_) => Value::F64(*value as f64),
        }),
        Value::F32(value) => Some(Value::F64(f64::from(*value))),
        Value::Decimal(value) => of_text(value.as_str()),
        Value::String(text) => of_text(text),
        _ => None,
    }
}

/// What SQLite makes of a text in a column of numeric affinity.
type Stored = BTreeMap<&'static str, Value>;

fn stored(db: &Db) -> Stored {
    db.run("CREATE TABLE stored (v NUMERIC)");
    let store = |text: &&'static str| {
        let literal = text.replace('\'', "''").replace('\0', "' || char(0) || '");
        db.run(&format!("DELETE FROM stored; INSERT INTO stored VALUES ('{literal}')"));
        let rows = db.rows("SELECT typeof(v), hex(v), v FROM stored");
        (*text, cell("NUMERIC", &rows[0]))
    };
    TEXTS.iter().map(store).collect()
}

/// The filter as the docs convert it for such a column; `None` where they refuse it.
fn converted(declared: &str, strict: bool, filter: &Filter, stored: &Stored) -> Option<Filter> {
    filter.check().ok()?;
    let class = class(declared, strict);
    let like = filter.operator() == Operator::Like;
    if like && !matches!(class, Class::Strings | Class::AsStored | Class::Anything) {
        return None;
    }
    let operand = |value: &Value| match (class, value) {
        (_, Value::String(_)) if like => Some(value.clone()),
        (Class::Booleans, value) => value.convert_to(ValueKind::Bool),
        (Class::Integers, value) => value.convert_to(ValueKind::I64),
        (Class::Reals, value) => value.convert_to(ValueKind::F64),
        (Class::Bytes, value) => value.convert_to(ValueKind::Bytes),
        (Class::Numbers, value) => number(value),
        (Class::Strings | Class::Anything, Value::String(_)) => Some(value.clone()),
        (Class::AsStored, Value::String(text)) => Some(stored[text.as_str()].clone()),
        (Class::AsStored | Class::Anything, Value::Bytes(_)) => Some(value.clone()),
        (Class::AsStored | Class::Anything, value) => number(value),
        (Class::Nothing | Class::Strings, _) => None,
    };
    let values: Option<_> = filter.values().iter().map(operand).collect();
    Some(Filter::new(filter.field(), filter.operator(), values?))
}

const TEXTS: &[&str] = &[
    "",
    "a",
    "A",
    "ab",
    "AB",
    "ab ",
    "a%",
    "a_b",
    "a\\b",
    "é",
    "É",
    "日本",
    "🦀",
    "x\0",
    "x\0y",
    "x",
    "2",
    "2.50",
    " 2",
    "2024-03-01",
    "true",
    "zz",
    "'; DROP TABLE t; --",
    "YQ==",
    "/w==",
    "NaN",
    "inf",
    "42 ",
    "1e400",
];

const PATTERNS: &[&str] = &[
    "%", "_", "a%", "A%", "%b", "a\\%", "a\\_b", "%\\\\%", "__", "", "é", "日_", "x_", "x%y",
    "%\0%", "2%", "%-03-%", "🦀", "_%_", "ab ",
];

const NUMBERS: &[f64] =
    &[0.0, 0.1, 1.5, 2.0, -3.0, 9_007_199_254_740_992.0, 9.3e18, -9.3e18, f64::INFINITY, f64::NAN];

const INTEGERS: &[i64] =
    &[0, 1, 2, -3, 9_007_199_254_740_992, 9_007_199_254_740_993, i64::MAX, i64::MIN];

fn operand(class: Class, random: &mut Random) -> Value {
    // Now and then of any kind, so that it has to be converted or refused.
    let kind = match (random.below(14), class) {
        (0, _) => random.below(6),
        (_, Class::Booleans) => 3,
        (_, Class::Integers) => *random.pick(&[0, 0, 0, 1]),
        (_, Class::Numbers | Class::Reals) => random.below(2),
        (_, Class::Strings) => 2,
        (_, Class::Bytes) => 4,
        (_, Class::AsStored) => *random.pick(&[0, 1, 2, 2, 4]),
        (_, Class::Anything | Class::Nothing) => *random.pick(&[0, 1, 2, 4]),
    };
    match kind {
        0 => Value::I64(*random.pick(INTEGERS)),
        1 => Value::F64(*random.pick(NUMBERS)),
        2 => Value::from(*random.pick(TEXTS)),
        3 => Value::Bool(random.below(2) == 0),
        4 => {
            Value::Bytes(random.pick(&[&b""[..], b"\0", b"a", b"ab", b"\xff\x41", b"x\0"]).to_vec())
        }
        _ => match random.below(3) {
            0 => Value::U64(u64::MAX),
            1 => Value::F32(1.5),
            _ => Value::Decimal(Decimal::parse("2.50").unwrap()),
        },
    }
}

fn filter(column: &Column, random: &mut Random) -> Filter {
    let class = class(&column.declared, column.strict);
    let mut operator = *random.pick(&Operator::ALL);
    let likes = matches!(class, Class::Strings | Class::AsStored | Class::Anything);
    if operator == Operator::Like && !likes && random.below(4) > 0 {
        operator = Operator::Ne;
    }
    let values = (0..operands(operator, random)).map(|_| match operator {
        Operator::Like => Value::from(*random.pick(PATTERNS)),
        _ => operand(class, random),
    });
    Filter::new(column.name.as_str(), operator, values.collect())
}

/// The ids that are to be kept; `None` where a filter is to be refused.
fn expected(relation: &Relation, chosen: &[(usize, Filter)], stored: &Stored) -> Option<Vec<i64>> {
    let mut filters = Vec::new();
    for (at, filter) in chosen {
        let column = &relation.columns[*at];
        filters.push((column, converted(&column.declared, column.strict, filter, stored)?));
    }
    let keeps = |row: usize| filters.iter().all(|(column, it)| it.matches(&column.cells[row]));
    let kept = relation.ids.iter().enumerate().filter(|(row, _)| keeps(*row));
    let mut kept: Vec<_> = kept.map(|(_, id)| *id).collect();
    kept.sort_unstable();
    Some(kept)
}

#[test]
fn random_filters_keep_what_matches_keeps() {
    let db = Db::new();
    let mut random = Random(7);
    fill(&db, &mut random);
    let stored = stored(&db);
    let names = ["t", "w", "s", "f", "rt", "v", "e", "u", "g"];
    let relations: Vec<_> = names.map(|name| relation(&db, name)).into();
    let (mut applied, mut refused, mut kept) = (0, 0, 0);
    for round in 0..2500 {
        let relation = random.pick(&relations);
        let mut chosen = Vec::new();
        for _ in 0..1 + random.below(2) {
            let at = random.below(relation.columns.len());
            chosen.push((at, filter(&relation.columns[at], &mut random)));
        }
        let filters: Vec<_> = chosen.iter().map(|(_, filter)| filter.clone()).collect();
        let what: Vec<_> = chosen
            .iter()
            .map(|(at, it)| (&relation.columns[*at].name, it.operator(), it.values()))
            .collect();
        let what = format!("round {round}: {} {what:?}", relation.name);
        let answer = db.filtered(relation.name, &["id"], filters);
        let Some(expected) = expected(relation, &chosen, &stored) else {
            let error = answer.expect_err(&what);
            assert_eq!(error.category(), Category::Validation, "{what}");
            assert_eq!(error.table(), Some(relation.name), "{what}");
            refused += 1;
            continue;
        };
        let rows = answer.unwrap_or_else(|error| panic!("{what}: {}", told(error)));
        let id = |row: &String| row[6..row.len() - 1].parse::<i64>().unwrap();
        let mut rows: Vec<_> = rows.iter().map(id).collect();
        rows.sort_unstable();
        assert_eq!(rows, expected, "{what}");
        applied += 1;
        kept += rows.len();
    }
    println!("{applied} applied, {refused} refused, {kept} rows kept");
    assert!(applied > 1000 && refused > 100 && kept > 5000);
}

/// Whatever text a column takes in, the same text as an operand finds it.
#[test]
fn an_operand_is_what_the_column_would_have_stored() {
    let texts = "42 +42 042 -0 1e5 1E+5 1.10 -0.0 0x10 1_000 1e e5 2024 2024-03-01 12:00 true \
        9223372036854775808 123456789012345678901234567890 0.30000000000000004 - . 1.5.2 .5 5. \
        0.1000000000000000055511151231257827 -.5e1 9007199254740993.0 1e-400 \u{663} NaN nan \
        Infinity -Infinity inf 1e400 -1e400 9223372036854775807 9007199254740993";
    let texts: Vec<_> =
        texts.split_whitespace().chain(["", " ", " 42", "42 ", "\t-7\n", "\u{a0}1"]).collect();
    for declared in ["TEXT", "DATE", "STRING", "", "INTEGER", "REAL", "DECIMAL(10,5)"] {
        let db = Db::with(&format!("CREATE TABLE t (id INTEGER PRIMARY KEY, v {declared})"));
        for (id, text) in texts.iter().enumerate() {
            db.run(&format!("INSERT INTO t VALUES ({id}, '{text}')"));
        }
        // To the engine these are numbers, too, where there are nothing but numbers.
        let names = ["NaN", "nan", "Infinity", "-Infinity", "inf"];
        let numbers_only = matches!(declared, "REAL" | "DECIMAL(10,5)");
        for (id, text) in texts.iter().enumerate() {
            match db.filtered("t", &["id"], vec![Filter::eq("v", *text)]) {
                Ok(_) if numbers_only && names.contains(text) => {}
                Ok(rows) => {
                    let own = format!(r#"{{"id":{id}}}"#);
                    assert!(rows.contains(&own), "{declared} {text:?}: {rows:?}");
                }
                // A column of numbers has no strings to find.
                Err(error) => assert_eq!(error.category(), Category::Validation, "{}", told(error)),
            }
        }
    }
}

fn values(db: &Db, filter: Filter) -> Vec<String> {
    let rows = db.filtered("t", &["v"], vec![filter]).map_err(told).unwrap();
    rows.iter().map(|row| row[5..row.len() - 1].to_owned()).collect()
}

#[test]
fn no_collation_changes_what_is_equal_or_alike() {
    for collation in ["NOCASE", "RTRIM", "BINARY"] {
        let db = Db::with(&format!(
            "CREATE TABLE t (v TEXT COLLATE {collation}); CREATE INDEX i ON t (v);
             INSERT INTO t VALUES ('a'), ('A'), ('a '), ('b')"
        ));
        assert_eq!(values(&db, Filter::eq("v", "a")), [r#""a""#], "{collation}");
        assert_eq!(values(&db, Filter::is_in("v", ["A", "x"])), [r#""A""#], "{collation}");
        assert_eq!(values(&db, Filter::like("v", "A%")), [r#""A""#], "{collation}");
        assert_eq!(values(&db, Filter::gt("v", "a ")), [r#""b""#], "{collation}");
        assert_eq!(values(&db, Filter::ne("v", "a")).len(), 3, "{collation}");
        assert_eq!(values(&db, Filter::between("v", "A", "a")).len(), 2, "{collation}");
    }
}

#[test]
fn patterns_mean_what_the_engine_says() {
    let db = Db::with(
        "CREATE TABLE t (v TEXT); INSERT INTO t VALUES ('100%'), ('100'), ('a_b'), ('axb'),
           ('a\\b'), ('x' || char(0) || 'tail'), ('x'), ('É'), ('é')",
    );
    for (pattern, found) in [
        ("100\\%", r#""100%""#),
        ("a\\_b", r#""a_b""#),
        ("a\\\\b", r#""a\\b""#),
        ("%\0%", r#""x\u0000tail""#),
        ("x_tail", r#""x\u0000tail""#),
        ("%tail", r#""x\u0000tail""#),
        ("x", r#""x""#),
        ("É", r#""É""#),
    ] {
        assert_eq!(values(&db, Filter::like("v", pattern)), [found], "{pattern:?}");
    }
    assert_eq!(values(&db, Filter::like("v", "%")).len(), 9);
    // SQLite itself would refuse a pattern of this length.
    assert_eq!(values(&db, Filter::like("v", "x".repeat(60_000))), [""; 0]);
    assert_eq!(values(&db, Filter::eq("v", "x\0tail")), [r#""x\u0000tail""#]);
    assert_eq!(values(&db, Filter::eq("v", "x\0")), [""; 0]);
}

#[test]
fn numbers_compare_by_value() {
    let db = Db::with(
        "CREATE TABLE t (v NUMERIC); INSERT INTO t VALUES (9007199254740992),
           (9007199254740993), (9223372036854775807), (9223372036854775808.0), (0.1), (9e999)",
    );
    let exact = 9_007_199_254_740_993_i64;
    assert_eq!(values(&db, Filter::eq("v", exact)), ["9007199254740993"]);
    assert_eq!(values(&db, Filter::eq("v", 9_007_199_254_740_992.0)), ["9007199254740992"]);
    assert_eq!(values(&db, Filter::lt("v", exact)), ["9007199254740992", "0.1"]);
    assert_eq!(values(&db, Filter::eq("v", i64::MAX)), ["9223372036854775807"]);
    assert_eq!(values(&db, Filter::gt("v", i64::MAX)).len(), 2);
    assert_eq!(values(&db, Filter::gt("v", Value::U64(1 << 63))), [r#""Infinity""#]);
    assert_eq!(values(&db, Filter::eq("v", Decimal::parse("0.1").unwrap())), ["0.1"]);
    assert_eq!(values(&db, Filter::eq("v", "0.1")), ["0.1"]);
    // Greater than every number, and SQLite's null were it bound.
    assert_eq!(values(&db, Filter::lt("v", f64::NAN)).len(), 6);
    assert_eq!(values(&db, Filter::ne("v", f64::NAN)).len(), 6);
    assert_eq!(values(&db, Filter::gte("v", f64::NAN)).len(), 0);
    assert_eq!(values(&db, Filter::not_in("v", [f64::NAN, 0.1])).len(), 5);
    // An integer column may hold 1.5, and integers are compared with it.
    let db = Db::with("CREATE TABLE t (v INTEGER); INSERT INTO t VALUES (1), (1.5), (2)");
    assert_eq!(values(&db, Filter::gt("v", 1_i64)), ["1.5", "2"]);
    assert_eq!(values(&db, Filter::eq("v", 2.0)), ["2"]);
    // A column of reals stores the nearest one.
    let db = Db::with("CREATE TABLE t (v REAL); INSERT INTO t VALUES (9007199254740993)");
    assert_eq!(values(&db, Filter::eq("v", exact)), ["9007199254740992"]);
}

#[test]
fn more_values_than_a_statement_has_parameters() {
    let db = Db::with("CREATE TABLE t (v INTEGER PRIMARY KEY); INSERT INTO t VALUES (7), (700000)");
    for count in [32_766, 32_767, 100_000_i64] {
        assert_eq!(values(&db, Filter::is_in("v", 0..count)), ["7"], "{count}");
        assert_eq!(values(&db, Filter::not_in("v", 0..count)), ["700000"], "{count}");
    }
    // Each has room, both have not.
    let both = vec![Filter::is_in("v", 0..20_000_i64), Filter::not_in("v", 100..20_100_i64)];
    assert_eq!(db.filtered("t", &["v"], both).map_err(told).unwrap(), [r#"{"v":7}"#]);
}

/// A statement may not be deeper than a thousand.
#[test]
fn more_filters_than_a_statement_has_room_for() {
    let db = Db::with("CREATE TABLE t (v INT); INSERT INTO t VALUES (1), (5)");
    let many = (0..1200).map(|_| Filter::ne("v", 5_i64)).collect();
    assert_eq!(db.filtered("t", &["v"], many).map_err(told).unwrap(), [r#"{"v":1}"#]);
}

/// Text that is no UTF-8 goes out as bytes, and is compared as such.
#[test]
fn text_only_in_name_is_compared_as_it_goes_out() {
    for declared in ["", "BLOB", "DATE"] {
        let db = Db::with(&format!(
            "CREATE TABLE t (v {declared}); INSERT INTO t VALUES (CAST(x'ff41' AS TEXT)), (x'00')"
        ));
        let own = || Value::Bytes(vec![0xFF, 0x41]);
        assert_eq!(values(&db, Filter::eq("v", own())), [r#""/0E=""#], "{declared}");
        assert_eq!(values(&db, Filter::ne("v", own())), [r#""AA==""#], "{declared}");
        assert_eq!(values(&db, Filter::gt("v", Value::Bytes(vec![0]))).len(), 1, "{declared}");
    }
}

#[test]
fn a_value_is_a_value() {
    let db = Db::with(
        "CREATE TABLE t (v TEXT, \"a'b\\\"\"]\" TEXT);
         INSERT INTO t VALUES ('''; DROP TABLE t; --', 'y'), ('?1', 'z')",
    );
    let attack = "'; DROP TABLE t; --";
    assert_eq!(values(&db, Filter::eq("v", attack)), [r#""'; DROP TABLE t; --""#]);
    assert_eq!(values(&db, Filter::like("v", "%DROP%")).len(), 1);
    assert_eq!(values(&db, Filter::eq("v", "?1")), [r#""?1""#]);
    let odd = vec![Filter::eq("a'b\\\"]", "y")];
    assert_eq!(db.filtered("t", &["a'b\\\"]"], odd).unwrap(), [r#"{"a'b\\\"]":"y"}"#]);
    let error = db.filtered("t", &["v"], vec![Filter::eq("v\" OR 1 --", "x")]).unwrap_err();
    assert_eq!(error.category(), Category::Validation);
}

#[test]
fn what_cannot_be_meant_is_refused_before_the_first_row() {
    let db = Db::with("CREATE TABLE t (i INTEGER, b BOOLEAN, x TEXT, y BLOB, j JSON, d DATE, n)");
    let filters = [
        Filter::gt("i", "abc"),
        Filter::gt("i", true),
        Filter::gt("i", 1.5),
        Filter::eq("i", Value::U64(u64::MAX)),
        Filter::like("i", "1%"),
        Filter::eq("i", Value::Bytes(vec![1])),
        Filter::eq("i", Decimal::parse("1e999").unwrap()),
        Filter::eq("b", 1_i64),
        Filter::eq("b", "yes"),
        Filter::eq("x", 1_i64),
        Filter::eq("x", Value::Bytes(vec![1])),
        Filter::eq("y", "no base64"),
        Filter::like("y", "%"),
        Filter::eq("j", "1"),
        Filter::eq("d", true),
        Filter::eq("n", false),
        Filter::eq("missing", 1_i64),
        Filter::eq("rowid", 1_i64),
        Filter::new("i", Operator::Eq, Vec::new()),
        Filter::new("x", Operator::Like, vec![Value::from("a\\")]),
        Filter::new("x", Operator::Ne, vec![Value::Null]),
    ];
    block_on(refused(filters, async |filters| db.filtered("t", &["i"], filters)));
}

#[test]
fn a_file_of_another_encoding_orders_as_the_engine_does() {
    for encoding in ["UTF-16le", "UTF-16be"] {
        let db = Db::with(&format!("PRAGMA encoding = '{encoding}'"));
        db.run("CREATE TABLE t (v TEXT); CREATE INDEX i ON t (v)");
        // In UTF-16 the last but one would come before its forerunner.
        let texts =
            ["", "A", "a", "ab", "x\0y", "é", "日本", "\u{ffee}", "\u{1F980}", "\u{10FFFF}"];
        for text in texts {
            db.run(&format!(
                "INSERT INTO t VALUES ('{}')",
                text.replace('\0', "' || char(0) || '")
            ));
        }
        let count = |filter| values(&db, filter).len();
        for (at, text) in texts.iter().enumerate() {
            assert_eq!(count(Filter::eq("v", *text)), 1, "{encoding} {text:?}");
            assert_eq!(count(Filter::ne("v", *text)), 9, "{encoding} {text:?}");
            assert_eq!(count(Filter::lt("v", *text)), at, "{encoding} {text:?}");
            assert_eq!(count(Filter::lte("v", *text)), at + 1, "{encoding} {text:?}");
            assert_eq!(count(Filter::gt("v", *text)), 9 - at, "{encoding} {text:?}");
            assert_eq!(count(Filter::between("v", *text, "\u{10FFFF}")), 10 - at, "{text:?}");
            assert_eq!(count(Filter::is_in("v", [*text, "none"])), 1, "{encoding} {text:?}");
            assert_eq!(count(Filter::like("v", *text)), 1, "{encoding} {text:?}");
        }
        assert_eq!(count(Filter::like("v", "x_y")), 1);
        assert_eq!(count(Filter::like("v", "_")), 6);
    }
}

/// Half of a pair, which the library makes a character of on its way out.
#[test]
fn a_lone_surrogate_is_compared_as_it_goes_out() {
    let db = Db::with("PRAGMA encoding = 'UTF-16le'");
    db.run("CREATE TABLE t (v TEXT); INSERT INTO t VALUES (CAST(x'00D84100' AS TEXT))");
    let out = values(&db, Filter::ne("v", "x"));
    let text = serde_json::from_str::<String>(&out[0]).unwrap();
    assert_eq!(values(&db, Filter::eq("v", text.as_str())), out);
}

/// All pages of the table but that of the first rows are damaged: only who looks the rows up
/// through an index does not notice.
#[test]
fn an_index_serves_equality_and_order() {
    let db = Db::with(
        "PRAGMA page_size = 512;
         CREATE TABLE t (v INTEGER PRIMARY KEY, i INT, r REAL, d DECIMAL(9,2), x TEXT, at DATE,
           f BOOLEAN, n, b);
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
           INSERT INTO t SELECT i, i, i / 2.0, i, printf('k%04d', i), printf('k%04d', i), i = 2,
             printf('k%04d', i), zeroblob(20) FROM n;
         CREATE INDEX t_i ON t (i); CREATE INDEX t_r ON t (r); CREATE INDEX t_d ON t (d);
         CREATE INDEX t_x ON t (x); CREATE INDEX t_at ON t (at); CREATE INDEX t_f ON t (f);
         CREATE INDEX t_n ON t (n); ANALYZE",
    );
    let sql = "SELECT pageno FROM dbstat WHERE name = 't' AND pagetype = 'leaf' ORDER BY path";
    let pages: Vec<i64> = db.rows(sql).iter().map(|row| row.get(0)).collect();
    db.close();
    let mut bytes = std::fs::read(&db.path).unwrap();
    for page in &pages[1..] {
        bytes[usize::try_from(page - 1).unwrap() * 512..][..512].fill(0xFF);
    }
    std::fs::write(&db.path, bytes).unwrap();
    for (filter, rows) in [
        (Filter::eq("v", 2_i64), 1),
        (Filter::eq("i", 2_i64), 1),
        (Filter::eq("i", 2.0), 1),
        (Filter::eq("r", 1.0), 1),
        (Filter::eq("d", "2.00"), 1),
        (Filter::eq("x", "k0002"), 1),
        (Filter::eq("at", "k0002"), 1),
        (Filter::lte("at", "k0002"), 2),
        (Filter::eq("f", true), 1),
        (Filter::eq("n", "k0002"), 1),
        (Filter::is_in("i", [1_i64, 2, 9999]), 2),
        (Filter::is_in("x", ["k0001", "none"]), 1),
        (Filter::lt("i", 3_i64), 2),
        (Filter::lte("r", 1.0), 2),
        (Filter::between("x", "k0001", "k0002"), 2),
    ] {
        let what = format!("{} {}", filter.field(), filter.operator());
        let seen = db.filtered("t", &["b", "v"], vec![filter]).map_err(told).expect(&what);
        assert_eq!(seen.len(), rows, "{what}");
    }
    let error = db.filtered("t", &["b"], vec![Filter::ne("i", 1_i64)]).unwrap_err();
    assert_eq!(error.category(), Category::Unavailable, "the damage is there");
}

//! The type oracle: what a connector gives for a value is what a rule, written in SQL and run by
//! the server, says. One rule per type; many edge values per type; each of them in a table and
//! through a view.

use fetcher_engine::Filter;
use serde_json::Value as Json;

use crate::support::{Db, literal, quoted, with_db, with_own_db};
use crate::testing::database::Database as _;

/// What to compare with.
#[derive(Clone, Copy)]
enum Rule {
    /// An expression over `v` that is the number's text, token for token.
    Number(&'static str),
    /// The same number, to the bit.
    Float,
    Double,
    /// An expression over `v` that is a text, which goes out as a JSON string.
    Text(&'static str),
    /// The value itself, without the white space that means nothing.
    Document,
}

const PLAIN: Rule = Rule::Number("CAST(v AS CHAR)");
/// Without the zeros that fill it.
const FILLED: Rule = Rule::Number("CAST(v + 0 AS CHAR)");
const TEXT: Rule = Rule::Text("v");
const SHOWN: Rule = Rule::Text("CAST(v AS CHAR)");
const BASE64: Rule = Rule::Text("REPLACE(TO_BASE64(v), '\\n', '')");

/// Whole dates in their JSON form, all others as the server shows them.
const MOMENT: Rule = Rule::Text(concat!(
    "IF(YEAR(v) > 0 AND MONTH(v) > 0 AND DAYOFMONTH(v) BETWEEN 1 AND ",
    "DAYOFMONTH(LAST_DAY(DATE_FORMAT(v, '%Y-%m-01'))), CONCAT(DATE_FORMAT(v, ",
    "'%Y-%m-%dT%H:%i:%s'), IF(MICROSECOND(v) = 0, '', TRIM(TRAILING '0' FROM ",
    "DATE_FORMAT(v, '.%f')))), CAST(v AS CHAR))"
));

const INSTANT: Rule = Rule::Text(concat!(
    "IF(YEAR(v) > 0, CONCAT(DATE_FORMAT(v, '%Y-%m-%dT%H:%i:%s'), IF(MICROSECOND(v) = 0, '', ",
    "TRIM(TRAILING '0' FROM DATE_FORMAT(v, '.%f'))), 'Z'), CAST(v AS CHAR))"
));

/// With `WIDTH` replaced by the type's own.
const BITS: Rule = Rule::Text("LPAD(BIN(v + 0), WIDTH, '0')");

const GEOMETRY: Rule =
    Rule::Text("CONCAT(IF(ST_SRID(v) = 0, '', CONCAT('SRID=', ST_SRID(v), ';')), ST_AsText(v))");

/// The standard's points in brackets of their own, where MariaDB writes `MULTIPOINT(1 2,3 4)`.
const MULTIPOINT: Rule = Rule::Text(
    "REPLACE(REPLACE(REPLACE(REPLACE(ST_AsText(v), '((', '('), '))', ')'), ',', '),('), \
     'POINT(', 'POINT((') || ')'",
);

/// A type, its rule, its values as SQL.
type Case = (&'static str, Rule, &'static [&'static str]);

const INTEGERS: &[Case] = &[
    ("tinyint", PLAIN, &["-128", "-1", "0", "1", "2", "3", "127"]),
    ("tinyint(1)", PLAIN, &["-128", "0", "1", "2", "127"]),
    ("bool", PLAIN, &["TRUE", "FALSE", "2", "-3"]),
    ("tinyint unsigned", PLAIN, &["0", "128", "255"]),
    ("tinyint(1) unsigned", PLAIN, &["0", "1", "200", "255"]),
    ("tinyint(3) zerofill", FILLED, &["0", "7", "255"]),
    ("smallint", PLAIN, &["-32768", "0", "32767"]),
    ("smallint unsigned", PLAIN, &["0", "32768", "65535"]),
    ("mediumint", PLAIN, &["-8388608", "-1", "8388607"]),
    ("mediumint unsigned", PLAIN, &["0", "8388608", "16777215"]),
    ("int", PLAIN, &["-2147483648", "-1", "0", "2147483647"]),
    ("int unsigned", PLAIN, &["0", "2147483648", "4294967295"]),
    ("int(5) zerofill", FILLED, &["0", "42", "4294967295"]),
    ("bigint", PLAIN, &["-9223372036854775808", "0", "9007199254740993", "9223372036854775807"]),
    ("bigint unsigned", PLAIN, &["0", "9223372036854775808", "18446744073709551615"]),
    ("bigint(20) zerofill", FILLED, &["1", "18446744073709551615"]),
    ("year", FILLED, &["1901", "2024", "2155", "0", "'70'"]),
];

const NUMBERS: &[Case] = &[
    ("decimal(10,2)", PLAIN, &["0", "1.10", "-0.01", "99999999.99", "-99999999.99", "1.3"]),
    (
        "decimal(65,30)",
        PLAIN,
        &[
            "0",
            "12345678901234567890123456789012345.123456789012345678901234567891",
            "-0.000000000000000000000000000001",
            "1e-20",
            "0.1",
        ],
    ),
    (
        "decimal(65,0)",
        PLAIN,
        &["99999999999999999999999999999999999999999999999999999999999999999", "-1", "0"],
    ),
    ("decimal(30,30)", PLAIN, &["0.5", "-0.999999999999999999999999999999", "0"]),
    ("decimal(10,2) unsigned", PLAIN, &["0", "12345678.90"]),
    ("decimal(10,2) zerofill", FILLED, &["0", "1.10", "12345678.90"]),
    ("numeric(5)", PLAIN, &["12345", "-9", "0"]),
    (
        "float",
        Rule::Float,
        &["0", "1", "0.1", "3.4028234e38", "-3.4028234e38", "1.17549435e-38", "16777217", "1e-7"],
    ),
    ("float(7,3)", Rule::Float, &["0", "1.234", "9999.999", "-0.001"]),
    ("float unsigned", Rule::Float, &["0", "2.5"]),
    (
        "double",
        Rule::Double,
        &[
            "0",
            "0.1e0",
            "0.30000000000000004e0",
            "1.7976931348623157e308",
            "-1.7976931348623157e308",
            "5e-324",
            "2.2250738585072014e-308",
            "1e21",
            "1e-7",
            "9007199254740993",
            "123456789.125",
        ],
    ),
    ("double(10,2)", Rule::Double, &["0", "1.25", "12345678.91"]),
    ("double unsigned zerofill", Rule::Double, &["0", "1.5"]),
    ("real", Rule::Double, &["1.5", "-2e10"]),
    ("bit(1)", BITS, &["b'0'", "b'1'"]),
    ("bit(5)", BITS, &["b'0'", "b'10101'", "b'11111'", "1"]),
    ("bit(8)", BITS, &["b'0'", "b'11111111'", "b'10000000'"]),
    ("bit(9)", BITS, &["b'0'", "b'100000000'", "b'1'"]),
    ("bit(33)", BITS, &["b'0'", "4294967296", "7"]),
    ("bit(64)", BITS, &["b'0'", "18446744073709551615", "1", "9223372036854775808"]),
];

const TEXTS: &[Case] = &[
    ("char(5)", TEXT, &["''", "'ab'", "'abcde'", "'a b  '", "'日本'"]),
    ("char(5) character set latin1", TEXT, &["'äöü'", "'é '", "'€'"]),
    ("varchar(20)", TEXT, &["''", "'ab '", "' '", "'42'", "'null'", "'naïve'", "'🦀 emoji'"]),
    ("varchar(20) character set latin1", TEXT, &["'äöüß'", "'€ '", "'ÿ'"]),
    ("varchar(20) character set utf8mb3", TEXT, &["'日本語'", "'é'"]),
    ("varchar(20) character set ucs2", TEXT, &["'日本語'", "'a'", "''"]),
    ("varchar(20) character set utf16", TEXT, &["'🦀'", "'a '"]),
    ("varchar(20) character set utf32", TEXT, &["'🦀'", "'é'"]),
    ("varchar(20) character set ascii", TEXT, &["'plain'"]),
    ("varchar(20) collate utf8mb4_bin", TEXT, &["'A'", "'a '"]),
    ("tinytext", TEXT, &["''", "'x'"]),
    (
        "text",
        TEXT,
        &[
            "'{\"a\":1}'",
            "'[1,2]'",
            "'null'",
            "CONCAT('zero ', CHAR(0 USING utf8mb4), ' inside')",
            "CONVERT(x'E280A8E280A9' USING utf8mb4)",
            "'</script>'",
            "'a\\\"b\\\\c'",
            "CONVERT(x'01080B0C1F7F090A0D' USING utf8mb4)",
            "'100%'",
            "'&<>'",
            "REPEAT('x', 65535)",
        ],
    ),
    ("mediumtext", TEXT, &["REPEAT('é', 100000)", "'1.10'"]),
    ("longtext", TEXT, &["'{\"not\":\"checked\"}'", "REPEAT('ab', 200000)"]),
    ("enum('sad','ok','Ok so','so \"so\"','ὑγιής')", TEXT, &["'sad'", "'ὑγιής'", "4", "''"]),
    ("enum('ä','ß') character set latin1", TEXT, &["'ä'", "2"]),
    ("set('a','b','ö')", TEXT, &["''", "'a'", "'b,a'", "'a,b,ö'"]),
    ("binary(4)", BASE64, &["''", "'ab'", "x'00FF00FF'"]),
    ("varbinary(10)", BASE64, &["''", "x'00'", "'text'", "x'FFFE'"]),
    ("tinyblob", BASE64, &["''", "'x'"]),
    ("blob", BASE64, &["''", "'plain text'", "x'000102FDFEFF'", "x'DEADBEEF00'"]),
    ("mediumblob", BASE64, &["REPEAT(x'FF', 100000)"]),
    ("longblob", BASE64, &["REPEAT(x'00', 100000)", "x'E9'"]),
    ("varchar(20) character set binary", BASE64, &["'a'", "x'E9'"]),
    (
        "json",
        Rule::Document,
        &[
            "'9007199254740993'",
            "'1.10'",
            "'{\"a\":1,\"a\":2}'",
            "' { \"b\" : [ 1 , 2.50 ] } '",
            "'null'",
            "'\"\\\\u00e9\\\\n\"'",
            "CONCAT(REPEAT('[', 31), '1', REPEAT(']', 31))",
            "CONCAT(REPEAT('{\"k\":', 30), '1.0', REPEAT('}', 30))",
            "'\"</script>\"'",
            "'[]'",
            "'{}'",
            "'true'",
        ],
    ),
];

const TIMES: &[Case] = &[
    (
        "date",
        SHOWN,
        &[
            "'2024-02-29'",
            "'0001-01-01'",
            "'9999-12-31'",
            "'1970-01-01'",
            "'0000-00-00'",
            "'2022-11-00'",
            "'2022-00-00'",
            "'0000-01-01'",
            "'2023-02-31'",
            "'1582-10-10'",
        ],
    ),
    (
        "datetime",
        MOMENT,
        &[
            "'2024-03-31 02:30:00'",
            "'0001-01-01'",
            "'9999-12-31 23:59:59'",
            "'0000-00-00'",
            "'2022-11-00 20:59:22'",
            "'2022-00-00 00:00:01'",
            "'0000-05-05 01:02:03'",
            "'2023-02-31 10:00:00'",
        ],
    ),
    (
        "datetime(2)",
        MOMENT,
        &["'2024-03-31 02:30:00.5'", "'0000-00-00'", "'2022-11-00 20:59:22.05'", "'2024-01-01'"],
    ),
    (
        "datetime(6)",
        MOMENT,
        &[
            "'1969-12-31 23:59:59.999999'",
            "'2000-01-01 00:00:00.000001'",
            "'2022-11-00 20:59:22.123456'",
            "'0000-00-00'",
            "'9999-12-31 23:59:59.999999'",
        ],
    ),
    (
        "timestamp null",
        INSTANT,
        &["'2024-03-31 02:30:00'", "'1970-01-01 00:00:01'", "'2038-01-19 03:14:07'", "0"],
    ),
    ("timestamp(3) null", INSTANT, &["'2024-06-30 23:59:59.5'", "0", "'2001-09-09 01:46:40.123'"]),
    ("timestamp(6) null", INSTANT, &["'2024-06-30 23:59:59.000001'", "0"]),
    (
        "time",
        SHOWN,
        &["'-838:59:59'", "'838:59:59'", "'00:00:00'", "'23:59:59'", "'-00:00:01'", "'100:00:00'"],
    ),
    ("time(3)", SHOWN, &["'-838:59:59'", "'12:34:56.789'", "'00:00:00'", "'-00:00:00.001'"]),
    ("time(6)", SHOWN, &["'12:34:56.000001'", "'-25:00:00.5'", "'24:00:00'"]),
];

/// Those that only MariaDB has.
const MARIADB: &[Case] = &[
    (
        "uuid",
        SHOWN,
        &["'00000000-0000-0000-0000-000000000000'", "'A0EEBC999C0B4EF8BB6D6BB9BD380A11'"],
    ),
    ("inet4", SHOWN, &["'0.0.0.0'", "'255.255.255.255'", "'10.0.0.1'"]),
    (
        "inet6",
        SHOWN,
        &["'::'", "'::1'", "'fe80::1'", "'2001:db8::ff00:42'", "'::ffff:1.2.3.4'", "'1:0:0:2::3'"],
    ),
];

const SHAPES: &[Case] = &[
    (
        "geometry",
        GEOMETRY,
        &[
            "ST_GeomFromText('POINT(1 2)')",
            "ST_GeomFromText('LINESTRING(0 0,1 1,2.5 -3)')",
            "ST_GeomFromText('POINT(1.5 -2.25)', 3857)",
        ],
    ),
    (
        "point",
        GEOMETRY,
        &["ST_GeomFromText('POINT(0.5 0)')", "ST_GeomFromText('POINT(-0.1 123456.789)')"],
    ),
    ("linestring", GEOMETRY, &["ST_GeomFromText('LINESTRING(0 0,10 10)')"]),
    ("polygon", GEOMETRY, &["ST_GeomFromText('POLYGON((0 0,10 0,10 10,0 0),(5 4,6 4,6 5,5 4))')"]),
    (
        "multipoint",
        MULTIPOINT,
        &["ST_GeomFromText('MULTIPOINT(1 2,3 4)')", "ST_GeomFromText('MULTIPOINT(1 2)')"],
    ),
    ("multilinestring", GEOMETRY, &["ST_GeomFromText('MULTILINESTRING((0 0,1 1),(2 2,3 3,4 4))')"]),
    (
        "multipolygon",
        GEOMETRY,
        &["ST_GeomFromText('MULTIPOLYGON(((0 0,1 0,1 1,0 0)),((5 5,6 5,6 6,5 5)))')"],
    ),
    (
        "geometrycollection",
        GEOMETRY,
        &["ST_GeomFromText('GEOMETRYCOLLECTION(POINT(1 2),LINESTRING(0 0,1 1))')"],
    ),
];

#[test]
fn every_type_is_what_the_server_says() {
    with_db(async |db| {
        // Here `||` joins texts.
        db.run("SET SESSION sql_mode = 'ALLOW_INVALID_DATES,PIPES_AS_CONCAT'").await;
        let own = if db.is_mariadb().await { MARIADB } else { &[] };
        let (mut types, mut values) = (0, 0);
        for (name, rule, literals) in
            [INTEGERS, NUMBERS, TEXTS, TIMES, own, SHAPES].into_iter().flatten()
        {
            check(db, name, *rule, literals).await;
            types += 1;
            values += literals.len() + 1;
        }
        println!("{types} types, {values} values, each of them in a table and through a view");
        assert!(types >= 70 && values >= 330, "{types} types, {values} values");
    });
}

async fn check(db: &Db, name: &str, rule: Rule, literals: &[&str]) {
    db.run("DROP VIEW IF EXISTS w; DROP TABLE IF EXISTS t").await;
    db.run(&format!("CREATE TABLE t (id int PRIMARY KEY, v {name})")).await;
    for (at, literal) in literals.iter().enumerate() {
        db.run(&format!("INSERT INTO t VALUES ({at}, {literal})")).await;
    }
    db.run(&format!("INSERT INTO t VALUES ({}, NULL)", literals.len())).await;
    db.run("CREATE VIEW w AS SELECT id, v FROM t").await;
    let is_mariadb = db.is_mariadb().await;
    let width: String = name.chars().filter(char::is_ascii_digit).collect();
    let expression = match rule {
        Rule::Number(sql) | Rule::Text(sql) => sql.replace("WIDTH", &width),
        Rule::Float => "CAST(CAST(v AS DOUBLE) AS CHAR)".to_owned(),
        Rule::Double => "CAST(v AS CHAR)".to_owned(),
        Rule::Document if is_mariadb => "JSON_COMPACT(v)".to_owned(),
        Rule::Document => "v".to_owned(),
    };
    let expected = db.texts(&format!("SELECT {expression} FROM t ORDER BY id")).await;
    assert_eq!(expected.len(), literals.len() + 1);
    for table in ["t", "w"] {
        // MariaDB does not tell of a view's column that it is JSON.
        let as_text = matches!(rule, Rule::Document) && is_mariadb && table == "w";
        let mut rows = db.read(table, &["id", "v"]).await;
        rows.sort_by_key(|row| {
            let row: Json = serde_json::from_str(row).expect("JSON");
            row["id"].as_u64()
        });
        for (at, (row, expected)) in rows.iter().zip(&expected).enumerate() {
            let literal = literals.get(at).unwrap_or(&"NULL");
            let seen = row.strip_prefix(&format!("{{\"id\":{at},\"v\":")).expect("a row");
            let seen = seen.strip_suffix('}').expect("a row");
            let what = format!("{name} {literal:.200} in {table}");
            if as_text {
                let stored = db.texts(&format!("SELECT v FROM t WHERE id = {at}")).await;
                same(Rule::Text("v"), seen, stored[0].as_deref(), &what);
            } else {
                same(rule, seen, expected.as_deref(), &what);
            }
        }
    }
}

fn same(rule: Rule, seen: &str, expected: Option<&str>, what: &str) {
    let Some(expected) = expected else {
        assert_eq!(seen, "null", "{what}");
        return;
    };
    match rule {
        Rule::Number(_) => assert_eq!(seen, expected, "{what}"),
        Rule::Float => {
            let bits = |text: &str| text.parse::<f64>().map(|it| (it as f32).to_bits());
            assert_eq!(bits(seen), bits(expected), "{what}: {seen} {expected}");
            let shortest = seen.parse::<f32>().map(f32::to_bits);
            assert_eq!(shortest, bits(expected), "{what}: {seen} {expected}");
        }
        Rule::Double => {
            let bits = |text: &str| text.parse::<f64>().map(f64::to_bits);
            assert_eq!(bits(seen), bits(expected), "{what}: {seen} {expected}");
        }
        Rule::Text(_) => {
            let seen: Json = serde_json::from_str(seen).expect("JSON");
            assert_eq!(seen.as_str(), Some(expected), "{what}");
        }
        Rule::Document => {
            let parse = |text: &str| serde_json::from_str::<Json>(text).expect("JSON");
            assert_eq!(parse(seen), parse(expected), "{what}");
            if !expected.contains(": ") && !expected.contains(", ") {
                assert_eq!(seen, expected, "{what}");
            }
        }
    }
}

#[test]
fn generated_and_invisible_columns_are_like_any_other() {
    with_db(async |db| {
        db.run(
            "CREATE TABLE t (a int, b int AS (a + 1) VIRTUAL, c varchar(9) AS (CONCAT(a, 'x')) \
             STORED, n varchar(9)); INSERT INTO t (a) VALUES (1), (NULL)",
        )
        .await;
        let rows = db.read("t", &["a", "b", "c", "n"]).await;
        assert_eq!(
            rows,
            [r#"{"a":1,"b":2,"c":"1x","n":null}"#, r#"{"a":null,"b":null,"c":null,"n":null}"#]
        );
        if db.try_run("CREATE TABLE h (a int, b int INVISIBLE DEFAULT 7)").await.is_ok() {
            db.run("INSERT INTO h VALUES (1)").await;
            assert_eq!(db.read("h", &["a", "b"]).await, [r#"{"a":1,"b":7}"#]);
        }
    });
}

#[test]
fn what_views_compute_is_read_too() {
    with_db(async |db| {
        let expressions = [
            ("NULL", "null"),
            ("1", "1"),
            ("1.50", "1.50"),
            ("1e0 / 3", "0.3333333333333333"),
            ("'text'", "\"text\""),
            ("x'00ff'", "\"AP8=\""),
            ("18446744073709551615", "18446744073709551615"),
            ("DATE'2024-02-29'", "\"2024-02-29\""),
            ("TIMESTAMP'2024-02-29 01:02:03.5'", "\"2024-02-29T01:02:03.5\""),
            ("TIME'-01:02:03'", "\"-01:02:03\""),
            ("1 = 1", "1"),
            ("1 DIV 2", "0"),
            ("CAST(-1 AS UNSIGNED)", "18446744073709551615"),
            ("CONCAT('a', 1)", "\"a1\""),
        ];
        let columns =
            expressions.iter().enumerate().map(|(at, (sql, _))| format!("{sql} AS c{at:02}"));
        let columns = columns.collect::<Vec<_>>().join(", ");
        db.run(&format!("CREATE VIEW v AS SELECT {columns}")).await;
        let names: Vec<_> = (0..expressions.len()).map(|at| format!("c{at:02}")).collect();
        let fields: Vec<_> = names.iter().map(String::as_str).collect();
        let rows = db.read("v", &fields).await;
        let expected =
            expressions.iter().zip(&names).map(|((_, it), name)| format!("\"{name}\":{it}"));
        let expected = expected.collect::<Vec<_>>().join(",");
        assert_eq!(rows, [format!("{{{expected}}}")]);
    });
}

#[test]
fn text_that_is_no_utf8_goes_out_as_bytes() {
    with_own_db(async |db| {
        // No statement makes such a text; a file of another table, put in its place, does.
        db.run(
            "CREATE TABLE a (v varbinary(36)) ENGINE = MyISAM; \
             CREATE TABLE b (v varchar(9) CHARACTER SET utf8mb4) ENGINE = MyISAM; \
             INSERT INTO a VALUES (x'61FF62'), ('ok'); FLUSH TABLES a, b",
        )
        .await;
        let folder = db.server.folder.join("data").join(&db.name);
        for end in ["MYD", "MYI"] {
            let [from, to] = ["a", "b"].map(|table| folder.join(format!("{table}.{end}")));
            std::fs::copy(from, to).expect("a file of a table");
        }
        assert_eq!(db.read("b", &["v"]).await, [r#"{"v":"Yf9i"}"#, r#"{"v":"ok"}"#]);
        // It is not a string to a filter either.
        let ne = vec![Filter::ne("v", "x")];
        assert_eq!(db.filtered("b", &["v"], ne).await.unwrap(), [r#"{"v":"ok"}"#]);
    });
}

#[test]
fn every_byte_and_every_kind_of_character() {
    with_db(async |db| {
        let all: Vec<_> = (0..=255_u8).map(|byte| format!("{byte:02x}")).collect();
        db.run(&format!(
            "CREATE TABLE t (b blob, t text); INSERT INTO t VALUES (x'{}', {})",
            all.concat(),
            literal("\u{2028}\u{2029} 🦀 </script> \u{0} \u{7f} \u{feff} 'quoted' \\ \"x\"")
        ))
        .await;
        let rows = db.read("t", &["b", "t"]).await;
        let row: Json = serde_json::from_str(&rows[0]).expect("JSON");
        let base64 = db.texts("SELECT REPLACE(TO_BASE64(b), '\\n', '') FROM t").await;
        assert_eq!(row["b"].as_str(), base64[0].as_deref());
        assert_eq!(
            row["t"],
            "\u{2028}\u{2029} 🦀 </script> \u{0} \u{7f} \u{feff} 'quoted' \\ \"x\""
        );
    });
}

#[test]
fn a_dotted_field_leads_into_json() {
    with_db(async |db| {
        db.run(
            "CREATE TABLE t (who varchar(9), doc json, `doc.x` int);
             INSERT INTO t VALUES ('Ada', '{\"a\": {\"b b\": [1, 2.50], \"é\": \"x\"}, \
               \"n\": null, \"big\": 9007199254740993}', 9), ('Bob', NULL, NULL)",
        )
        .await;
        let fields = ["doc.a.b b", "doc.a.é", "doc.big", "doc.n", "doc.none", "doc.x"];
        let rows = db.read("t", &fields).await;
        let expected = [
            concat!(
                r#"{"doc.a.b b":[1,2.50],"doc.a.é":"x","doc.big":9007199254740993,"#,
                r#""doc.n":null,"doc.none":null,"doc.x":9}"#
            ),
            concat!(
                r#"{"doc.a.b b":null,"doc.a.é":null,"doc.big":null,"#,
                r#""doc.n":null,"doc.none":null,"doc.x":null}"#
            ),
        ];
        // MySQL itself has no 2.50.
        let rows: Vec<_> = rows.iter().map(|it| it.replace("[1,2.5]", "[1,2.50]")).collect();
        assert_eq!(rows, expected);
        for field in ["who.x", "doc.", "doc.a..b", "doc.a'b", "doc.a\"b", "doc.a\\b", "doc.\n"] {
            assert!(db.filtered("t", &[field], Vec::new()).await.is_err(), "{field}");
        }
        assert_eq!(quoted("doc.x"), "`doc.x`");
    });
}

/// Of some expressions the server sends the number's digits instead of its bits.
#[test]
fn bits_of_a_view_are_bits() {
    with_db(async |db: &Db| {
        for width in [1, 12, 16, 64] {
            db.run(&format!("CREATE OR REPLACE TABLE t (id int PRIMARY KEY, c bit({width}))"))
                .await;
            db.run("INSERT INTO t VALUES (1, 1), (2, 0)").await;
            db.run("CREATE OR REPLACE VIEW v AS SELECT id, c, coalesce(c, c) AS d FROM t").await;
            let one = format!("{:0width$b}", 1);
            let zero = "0".repeat(width);
            let row = |bits: &str| format!(r#"{{"c":"{bits}","d":"{bits}"}}"#);
            assert_eq!(db.read("v", &["c", "d"]).await, [row(&one), row(&zero)]);
            let eq = vec![Filter::eq("d", one.as_str())];
            assert_eq!(db.filtered("v", &["id"], eq).await.unwrap(), [r#"{"id":1}"#]);
        }
    });
}

//! Filters at the server against [`Filter::matches`] over the same cells, at random and by hand.

use fetcher_engine::Filter;
use fetcher_engine::filter::Operator;
use fetcher_engine::value::{Date, Decimal, Instant, Timestamp, Value, ValueKind};

use crate::support::{Db, literal, with_db};
use crate::testing::database::Database as _;
use crate::testing::filters::{Column, Trial, column, refused};
use crate::testing::random::Random;
use crate::testing::reading::told;
use crate::testing::text;

const TINY: &[&str] = &["-3", "0", "1", "2", "7", "127", "-128"];
const INTS: &[&str] = &["-3", "0", "1", "2", "7", "32767", "-32768"];
const BIG: &[&str] = &["0", "1", "9007199254740993", "9007199254740992", "9223372036854775807"];
const HUGE: &[&str] = &["0", "1", "9223372036854775808", "18446744073709551615", "2"];
const REALS: &[&str] = &["-1.5", "0", "0.1", "1", "2", "0.3", "1e30", "-1e-10"];
const MONEY: &[&str] = &["-1.50", "0.00", "1.00", "2.00", "0.10", "999999.99"];
const FINE: &[&str] = &[
    "0.000000000000000000000000000001",
    "0.100000000000000000000000000000",
    "1.000000000000000000000000000000",
    "12345678901234567890.123456789000000000000000000000",
];
const TEXTS: &[&str] = &[
    "", "a", "A", "ab", "a%", "a_b", "a\\b", "é", "e", "E", "z", "Z", "ä", "aa", "%", "日本", "_",
    "ab ", "a ", " ", "ß", "ss", "🦀", "🍣", "a\u{0}", "Ab", "ǆ", "a|b", "\u{200d}",
];
const LATIN: &[&str] = &["", "a", "A", "a ", "é", "e", "É", "ß", "ss", "a%", "€", "ÿ", "_"];
const BMP: &[&str] = &["", "a", "A", "a ", "é", "日本", "ß", "%"];
const MOODS: &[&str] = &["sad", "ok", "Ok so", "é"];
const BYTES: &[&str] = &["", "00", "0001", "ff", "61", "41", "6120", "6100"];

const COLUMNS: &[Column] = &[
    column("i1", "tinyint", ValueKind::I64, TINY),
    column("i2", "smallint, KEY (i2)", ValueKind::I64, INTS),
    column("i3", "mediumint", ValueKind::I64, INTS),
    column("i4", "int", ValueKind::I64, INTS),
    column("i8", "bigint, KEY (i8)", ValueKind::I64, BIG),
    column("u1", "tinyint unsigned, KEY (u1)", ValueKind::I64, &["0", "1", "2", "255"]),
    column("u4", "int(5) zerofill, KEY (u4)", ValueKind::I64, &["0", "7", "4294967295"]),
    column("u8", "bigint unsigned, KEY (u8)", ValueKind::U64, HUGE),
    column("yr", "year", ValueKind::I64, &["0000", "1901", "1970", "2001", "2024", "2155"]),
    column("f4", "float, KEY (f4)", ValueKind::F32, REALS),
    column("f4d", "float(7,3)", ValueKind::F32, &["1.234", "0.001", "-2.5", "100.125"]),
    column("f8", "double, KEY (f8)", ValueKind::F64, REALS),
    column("f8d", "double(10,2)", ValueKind::F64, &["1.25", "0.1", "-2.5", "100.13"]),
    column("n", "decimal(8,2), KEY (n)", ValueKind::Decimal, MONEY),
    column("nz", "decimal(8,2) zerofill", ValueKind::Decimal, &["1.10", "0.00", "20.50"]),
    column("nf", "decimal(65,30), KEY (nf)", ValueKind::Decimal, FINE),
    column(
        "n0",
        "decimal(20,0), KEY (n0)",
        ValueKind::Decimal,
        &["0", "1", "-2", "9007199254740993"],
    ),
    column("b1", "bit(1)", ValueKind::String, &["0", "1"]),
    column("b5", "bit(5), KEY (b5)", ValueKind::String, &["00000", "10101", "11111", "00001"]),
    column(
        "b64",
        "bit(64)",
        ValueKind::String,
        &[
            "0000000000000000000000000000000000000000000000000000000000000000",
            "1111111111111111111111111111111111111111111111111111111111111111",
            "1000000000000000000000000000000000000000000000000000000000000000",
        ],
    ),
    column("t", "text COLLATE utf8mb4_general_ci", ValueKind::String, TEXTS),
    column("tk", "varchar(9) COLLATE utf8mb4_general_ci, KEY (tk)", ValueKind::String, TEXTS),
    column("tb", "varchar(9) COLLATE utf8mb4_bin, KEY (tb)", ValueKind::String, TEXTS),
    column("tu", "varchar(9) COLLATE utf8mb4_unicode_ci, KEY (tu)", ValueKind::String, TEXTS),
    column("tn", "varchar(9) COLLATE NOPAD, KEY (tn)", ValueKind::String, TEXTS),
    column("tg", "varchar(9) COLLATE utf8mb4_german2_ci", ValueKind::String, TEXTS),
    column("l1", "varchar(9) COLLATE latin1_swedish_ci, KEY (l1)", ValueKind::String, LATIN),
    column("lb", "varchar(9) COLLATE latin1_bin", ValueKind::String, LATIN),
    column("lg", "varchar(9) COLLATE latin1_german2_ci", ValueKind::String, LATIN),
    column("t3", "varchar(9) COLLATE utf8mb3_general_ci, KEY (t3)", ValueKind::String, BMP),
    column("uc", "varchar(9) COLLATE ucs2_general_ci", ValueKind::String, BMP),
    column(
        "c",
        "char(4) COLLATE utf8mb4_general_ci, KEY (c)",
        ValueKind::String,
        &["", "a", "A", "ab", "a%", "é", "日本"],
    ),
    column("e", "enum('sad','ok','Ok so','é'), KEY (e)", ValueKind::String, MOODS),
    column("s", "set('a','b','ö')", ValueKind::String, &["", "a", "a,b", "b,ö"]),
    column("y", "varbinary(9), KEY (y)", ValueKind::Bytes, BYTES),
    column("yf", "binary(2)", ValueKind::Bytes, &["0000", "6120", "ffff", "6100"]),
    column("yb", "blob", ValueKind::Bytes, BYTES),
    column(
        "d",
        "date, KEY (d)",
        ValueKind::Date,
        &[
            "2024-03-01",
            "2024-03-31",
            "0001-01-01",
            "9999-12-31",
            "1970-01-01",
            "0000-00-00",
            "2024-03-00",
        ],
    ),
    column(
        "ts",
        "datetime(6), KEY (ts)",
        ValueKind::Timestamp,
        &[
            "2024-03-01T00:00:00",
            "2024-03-31T23:59:59.999999",
            "0001-01-01T00:00:00",
            "9999-12-31T23:59:59.999999",
            "2024-03-31T00:00:00",
            "0000-00-00 00:00:00.000000",
            "2024-03-00 10:00:00.000000",
        ],
    ),
    column(
        "t0",
        "datetime",
        ValueKind::Timestamp,
        &["2024-03-01T00:00:00", "2024-03-31T23:59:59", "1000-01-01T00:00:00"],
    ),
    column(
        "tz",
        "timestamp(6) NULL, KEY (tz)",
        ValueKind::Instant,
        &[
            "2024-03-01T00:00:00Z",
            "2024-03-31T23:59:59.999999Z",
            "1971-01-01T00:00:00Z",
            "2037-12-31T23:59:59.999999Z",
            "1970-01-01T00:00:01Z",
            "2038-01-19T03:14:07Z",
            "0000-00-00 00:00:00.000000",
        ],
    ),
    column(
        "h",
        "time(3)",
        ValueKind::String,
        &["00:00:00.000", "12:34:56.500", "-838:59:59.000", "100:00:00.000", "-00:00:00.001"],
    ),
];

const MARIADB: &[Column] = &[
    column(
        "u",
        "uuid, KEY (u)",
        ValueKind::String,
        &["00000000-0000-0000-0000-000000000000", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"],
    ),
    column("ip4", "inet4, KEY (ip4)", ValueKind::String, &["10.0.0.1", "9.0.0.1", "255.0.0.1"]),
    column("ip6", "inet6, KEY (ip6)", ValueKind::String, &["::1", "::", "fe80::1"]),
];

const PATTERNS: &[&str] = &[
    "%", "_", "a%", "%b", "a\\%", "a\\_b", "%\\\\%", "__", "A_", "", "é", "日_", "a|b", "%|%",
    "a_", "_\\ ", "🦀", "1%", "%:%", "%é%_",
];

/// A cell as the connector sends it.
fn value(kind: ValueKind, text: &str) -> Value {
    // Dates that are none go out as text.
    let may_be_none = matches!(kind, ValueKind::Date | ValueKind::Timestamp | ValueKind::Instant);
    let value = text::value(kind, text).or_else(|| may_be_none.then(|| text.into()));
    value.unwrap_or_else(|| panic!("{text} is a {kind}"))
}

fn sql(column: &Column, text: &str) -> String {
    match column.kind {
        ValueKind::Bytes => format!("x'{text}'"),
        _ if column.sql.starts_with("bit") => format!("b'{text}'"),
        ValueKind::Timestamp | ValueKind::Instant => {
            format!("'{}'", text.replace('T', " ").replace('Z', ""))
        }
        _ => literal(text),
    }
}

#[test]
fn random_filters_keep_what_matches_keeps() {
    with_db(async |db| {
        let (own, nopad) = if db.is_mariadb().await {
            (MARIADB, "utf8mb4_unicode_nopad_ci")
        } else {
            (&[][..], "utf8mb4_0900_ai_ci")
        };
        let trial = Trial {
            columns: COLUMNS.iter().chain(own).collect(),
            value,
            literal: sql,
            patterns: PATTERNS,
            others: vec![
                Value::from("x"),
                Value::from(2_i64),
                Value::from(i64::MIN),
                Value::from(0.1_f64),
                Value::from(f64::INFINITY),
                Value::from("2024-03-31"),
                Value::Decimal(Decimal::parse("1.005").unwrap()),
            ],
            odds: 40,
        };
        let declared = trial.columns.iter();
        let declared = declared.map(|it| format!("{} {}", it.name, it.sql.replace("NOPAD", nopad)));
        let declared: Vec<_> = declared.collect();
        db.run(&format!("CREATE TABLE t (id int PRIMARY KEY, {})", declared.join(", "))).await;
        let mut random = Random(7);
        let (cells, insert) = trial.rows(150, &mut random);
        db.run(&format!("{insert}; ANALYZE TABLE t")).await;
        let read = async |filters| {
            let mut rows = db.filtered("t", &["id"], filters).await?;
            rows.sort_by_key(|row| (row.len(), row.clone()));
            Ok(rows)
        };
        let tally = trial.hold(&cells, 1500, &mut random, read).await;
        assert!(tally.applied > 800 && tally.refused > 100 && tally.kept > 10_000);
    });
}

#[test]
fn a_value_is_a_value() {
    with_db(async |db| {
        db.run("CREATE TABLE users (a text, `a'b\\\"` text)").await;
        db.run("INSERT INTO users VALUES ('100%', 'x'), ('100', 'y'), (NULL, 'z')").await;
        let find = async |filter: Filter| db.filtered("users", &["a"], vec![filter]).await.unwrap();
        for attack in [
            "'; drop table users; --",
            "\\'; drop table users; -- ",
            "\" or 1=1 -- ",
            "` or 1=1 -- ",
            "?",
            "%s",
            "/*",
            "#",
        ] {
            assert_eq!(find(Filter::eq("a", attack)).await, [""; 0], "{attack}");
            assert_eq!(find(Filter::like("a", attack.replace('\\', "\\\\"))).await, [""; 0]);
            assert_eq!(find(Filter::ne("a", attack)).await.len(), 2, "{attack}");
        }
        assert_eq!(find(Filter::like("a", "100\\%")).await, [r#"{"a":"100%"}"#]);
        assert_eq!(find(Filter::ne("a", "x")).await.len(), 2, "a null differs from nothing");
        let odd = vec![Filter::eq("a'b\\\"", "y")];
        let rows = db.filtered("users", &["a", "a'b\\\""], odd).await.unwrap();
        assert_eq!(rows, [r#"{"a":"100","a'b\\\"":"y"}"#]);
    });
}

#[test]
fn what_cannot_be_meant_is_refused_before_the_first_row() {
    with_db(async |db| {
        db.run("CREATE TABLE t (i int, j json, u bigint unsigned, d date, y blob, x text)").await;
        let filters = [
            Filter::gt("i", "abc"),
            Filter::eq("j", "1"),
            Filter::eq("u", -1_i64),
            Filter::like("i", "1%"),
            Filter::eq("missing", 1_i64),
            Filter::eq("I", 1_i64),
            Filter::eq("d", "2024-02-30"),
            Filter::eq("y", "not base64"),
            Filter::eq("x", 1_i64),
            Filter::eq("j.a", "x"),
            Filter::new("i", Operator::Eq, Vec::new()),
        ];
        refused(filters, async |filters| db.filtered("t", &["i"], filters).await).await;
    });
}

#[test]
fn operands_beyond_what_the_server_takes_are_decided_here() {
    with_db(async |db| {
        db.run(
            "CREATE TABLE t (i smallint, n decimal(10,2), ts datetime, tz timestamp NULL, x text, \
             d date)",
        )
        .await;
        db.run("INSERT INTO t VALUES (7, 1.50, '2024-01-01', '2024-01-01', 'x', '2024-01-01')")
            .await;
        let many: Vec<_> = (0..100_000_i64).collect();
        let far = Date::from_days(20_000_000);
        let instant = |text: &str| Instant::parse(text).unwrap();
        let keeping = [
            Filter::is_in("i", many.clone()),
            Filter::is_in("x", many.iter().map(i64::to_string).chain(["x".to_owned()])),
            Filter::eq("x", "x"),
            Filter::ne("x", "y".repeat(1 << 20)),
            Filter::lt("i", i64::MAX),
            Filter::ne("n", Decimal::parse("1e400").unwrap()),
            Filter::lt("n", Decimal::parse("1e400").unwrap()),
            Filter::gt("n", Decimal::parse("1.49999999999999999999999999999999999999").unwrap()),
            Filter::lt("d", far),
            Filter::gt("ts", Timestamp::parse("2023-12-31T23:59:59.999999999").unwrap()),
            Filter::lt("tz", instant("9999-01-01T00:00:00Z")),
            Filter::gt("tz", instant("0001-01-01T00:00:00Z")),
            Filter::like("x", "%".repeat(1000)),
            Filter::like("x", format!("{}x", "%\\%".repeat(0))),
        ];
        for filter in keeping {
            let what = format!("{} {}", filter.field(), filter.operator());
            let rows = db.filtered("t", &["i"], vec![filter]).await;
            assert_eq!(rows.map_err(told).unwrap(), [r#"{"i":7}"#], "{what}");
        }
    });
}

#[test]
fn between_ends_where_the_columns_own_type_says() {
    with_db(async |db| {
        db.run("CREATE TABLE t (ts datetime(3))").await;
        db.run("INSERT INTO t VALUES ('2024-03-31'), ('2024-03-31 00:00:00.001')").await;
        let march = vec![Filter::between("ts", "2024-03-01", "2024-03-31")];
        let rows = db.filtered("t", &["ts"], march).await.unwrap();
        assert_eq!(rows, [r#"{"ts":"2024-03-31T00:00:00"}"#]);
    });
}

/// How many rows the server has handed from its tables, in this session or all of them.
async fn handed(db: &Db) -> u64 {
    let sql = "SELECT CAST(SUM(VARIABLE_VALUE) AS CHAR) FROM information_schema.GLOBAL_STATUS \
        WHERE VARIABLE_NAME IN ('HANDLER_READ_RND_NEXT')";
    db.texts(sql).await[0].as_deref().and_then(|it| it.parse::<f64>().ok()).expect("a count") as u64
}

#[test]
fn an_index_serves_equality_and_ranges() {
    // Only a server that nobody else uses can be asked what it has read.
    crate::support::with_own_db(async |db| {
        if !db.is_mariadb().await {
            return;
        }
        db.run(
            "CREATE TABLE t (id int PRIMARY KEY, k varchar(20), n decimal(10,2), d datetime, \
               KEY (k), KEY (n), KEY (d)); \
             INSERT INTO t SELECT seq, CONCAT('k', seq), seq, \
               '2000-01-01' + INTERVAL seq MINUTE FROM seq_1_to_200000; ANALYZE TABLE t",
        )
        .await;
        let filters = [
            Filter::eq("k", "k777"),
            Filter::eq("id", 777_i64),
            Filter::eq("n", 777_i64),
            Filter::between("id", 777_i64, 777_i64),
            Filter::eq("d", "2000-01-01T12:57:00"),
        ];
        for filter in filters {
            let what = format!("{} {}", filter.field(), filter.operator());
            let explained = db.filtered("t", &["id"], vec![filter]);
            let before = handed(db).await;
            assert_eq!(explained.await.map_err(told).unwrap(), [r#"{"id":777}"#], "{what}");
            let scanned = handed(db).await - before;
            assert!(scanned < 100_000, "{what}: {scanned} rows");
        }
    });
}

/// A division keeps more digits than the server sends, and `IN` looks at them.
#[test]
fn decimals_of_a_view_are_compared_as_they_go_out() {
    with_db(async |db: &Db| {
        db.run("CREATE TABLE t (id int PRIMARY KEY, c decimal(10,2))").await;
        db.run("INSERT INTO t VALUES (1, 10), (2, 1)").await;
        db.run("CREATE VIEW v AS SELECT id, c / 3 AS c, -c AS n FROM t").await;
        let decimal = |text: &str| Value::Decimal(Decimal::parse(text).unwrap());
        let both = || [decimal("3.333333"), decimal("0.333333")];
        for (filter, count) in [
            (Filter::is_in("c", both()), 2),
            (Filter::not_in("c", both()), 0),
            (Filter::is_in("c", [decimal("3.333333"), decimal("1.0")]), 1),
            (Filter::is_in("n", [decimal("-10"), decimal("-1.00")]), 2),
        ] {
            let what = format!("{} {}", filter.field(), filter.operator());
            let rows = db.filtered("v", &["id"], vec![filter]).await.map_err(told).unwrap();
            assert_eq!(rows.len(), count, "{what}");
        }
    });
}

#[test]
fn a_view_of_texts_whose_collations_disagree() {
    with_db(async |db: &Db| {
        db.run(
            "CREATE TABLE t (a varchar(9) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci,
               b varchar(9) CHARACTER SET utf8mb4 COLLATE utf8mb4_german2_ci)",
        )
        .await;
        db.run("INSERT INTO t VALUES ('x', 'y')").await;
        db.run("CREATE VIEW v AS SELECT concat(a, b) AS c FROM t").await;
        let rows = db.filtered("v", &["c"], vec![Filter::eq("c", "xy")]).await;
        assert_eq!(rows.map_err(told).unwrap(), [r#"{"c":"xy"}"#]);
    });
}

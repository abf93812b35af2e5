//! Filters at the server against [`Filter::matches`] over the same cells, at random and by hand.

use fetcher_engine::Filter;
use fetcher_engine::filter::Operator;
use fetcher_engine::value::{Date, Decimal, Time, Timestamp, Value, ValueKind};

use crate::support::with_db;
use crate::testing::database::Database as _;
use crate::testing::filters::{Column, Trial, column, refused};
use crate::testing::random::Random;
use crate::testing::text;

const INTS: &[&str] = &["-3", "0", "1", "2", "7", "32767"];
const REALS: &[&str] = &["-1.5", "0", "0.1", "1", "2", "NaN", "Infinity", "-Infinity", "0.3"];
const TEXTS: &[&str] =
    &["", "a", "A", "ab", "a%", "a_b", "a\\b", "é", "z", "Z", "ä", "aa", "%", "日本", "_", "ab "];
const MOODS: &[&str] = &["sad", "ok", "Ok"];

const COLUMNS: &[Column] = &[
    column("b", "bool", ValueKind::Bool, &["true", "false"]),
    column("i2", "int2", ValueKind::I64, INTS),
    column("i4", "int4", ValueKind::I64, INTS),
    column("i8", "int8", ValueKind::I64, INTS),
    column("f4", "float4", ValueKind::F32, REALS),
    column("f8", "float8", ValueKind::F64, REALS),
    column("n", "numeric", ValueKind::Decimal, REALS),
    column("n2", "numeric(8,2)", ValueKind::Decimal, &["-1.50", "0", "1.00", "2.00", "0.10"]),
    column("t", "text", ValueKind::String, TEXTS),
    column("td", "text COLLATE german", ValueKind::String, TEXTS),
    column("ti", "text COLLATE loose", ValueKind::String, TEXTS),
    column("v", "varchar(9)", ValueKind::String, TEXTS),
    column("c", "char(4)", ValueKind::String, &["a   ", "ab  ", "    ", "A   "]),
    column("e", "mood", ValueKind::String, MOODS),
    column("ip", "inet", ValueKind::String, &["10.0.0.1", "10.0.0.0/8", "::1"]),
    column("y", "bytea", ValueKind::Bytes, &["", "00", "0001", "ff", "61"]),
    column(
        "u",
        "uuid",
        ValueKind::Uuid,
        &["00000000-0000-0000-0000-000000000000", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"],
    ),
    column(
        "d",
        "date",
        ValueKind::Date,
        &["2024-03-01", "2024-03-31", "infinity", "-infinity", "-000043-03-15", "+010000-01-01"],
    ),
    column("h", "time", ValueKind::Time, &["00:00:00", "12:34:56.5", "24:00:00"]),
    column(
        "ts",
        "timestamp",
        ValueKind::Timestamp,
        &[
            "2024-03-01T00:00:00",
            "2024-03-31T23:59:59.999999",
            "infinity",
            "-000043-03-15T00:00:00",
        ],
    ),
    column(
        "tz",
        "timestamptz",
        ValueKind::Instant,
        &["2024-03-01T00:00:00Z", "2024-03-31T23:59:59.999999Z", "-infinity"],
    ),
    column("p", "positive", ValueKind::I64, &["1", "2", "7"]),
];

const PATTERNS: &[&str] =
    &["%", "_", "a%", "%b", "a\\%", "a\\_b", "%\\\\%", "__", "A_", "", "é", "日_"];

fn value(kind: ValueKind, text: &str) -> Value {
    text::value(kind, text).unwrap_or_else(|| panic!("{text} is a {kind}"))
}

/// The expanded years of ISO 8601 as the server reads them.
fn literal(column: &Column, text: &str) -> String {
    if column.kind == ValueKind::Bytes {
        return format!("'\\x{text}'");
    }
    let text = match text.strip_prefix("-000043") {
        Some(rest) => format!("0044{} BC", rest.replace('T', " ")),
        None => text.replace("+0", "").replace('\'', "''"),
    };
    format!("'{text}'")
}

#[test]
fn random_filters_keep_what_matches_keeps() {
    with_db(async |db| {
        db.run(
            "CREATE TYPE mood AS ENUM ('sad', 'ok', 'Ok');
             CREATE DOMAIN positive AS int4;
             CREATE COLLATION german (provider = icu, locale = 'de');
             CREATE COLLATION loose
               (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
        )
        .await;
        let columns: Vec<_> =
            COLUMNS.iter().map(|column| format!("{} {}", column.name, column.sql)).collect();
        db.run(&format!("CREATE TABLE t (id int8, {})", columns.join(", "))).await;
        let trial = Trial {
            columns: COLUMNS.iter().collect(),
            value,
            literal,
            patterns: PATTERNS,
            others: vec![Value::from("x"), Value::from(2_i64), Value::from(0.1_f64)],
            odds: 12,
        };
        let mut random = Random(7);
        let (cells, insert) = trial.rows(120, &mut random);
        db.run("SET TimeZone = 'UTC'").await;
        db.run(&insert).await;
        let read = async |filters| db.filtered("t", &["id"], filters).await;
        let tally = trial.hold(&cells, 600, &mut random, read).await;
        assert!(tally.applied > 300 && tally.refused > 20);
    });
}

#[test]
fn a_value_is_a_value() {
    with_db(async |db| {
        db.run("CREATE TABLE t (a text, \"a'b\\\" text)").await;
        db.run("INSERT INTO t VALUES ('100%', 'x'), ('100', 'y')").await;
        let eq = |value: &str| vec![Filter::eq("a", value)];
        let attack = "'; drop table t; --";
        assert_eq!(db.filtered("t", &["a"], eq(attack)).await.unwrap(), [""; 0]);
        let like = vec![Filter::like("a", "100\\%")];
        assert_eq!(db.filtered("t", &["a"], like).await.unwrap(), [r#"{"a":"100%"}"#]);
        let odd = vec![Filter::eq("a'b\\", "y")];
        let rows = db.filtered("t", &["a", "a'b\\"], odd).await.unwrap();
        assert_eq!(rows, [r#"{"a":"100","a'b\\":"y"}"#]);
    });
}

#[test]
fn what_cannot_be_meant_is_refused_before_the_first_row() {
    with_db(async |db| {
        db.run(
            "CREATE TABLE t (i int4, u uuid, j jsonb, l int4[], z timetz, o oid, n numeric,
               h time, d date, x text, ts timestamp)",
        )
        .await;
        let far = Date::from_days(2_147_000_000);
        let filters = [
            Filter::gt("i", "abc"),
            Filter::eq("u", "x"),
            Filter::eq("j", "1"),
            Filter::eq("l", 1_i64),
            Filter::eq("z", "12:00:00+00:00"),
            Filter::eq("o", 1_i64),
            Filter::like("i", "1%"),
            Filter::eq("missing", 1_i64),
            Filter::eq("n", Decimal::parse("1e999999").unwrap()),
            Filter::eq("h", Time::from_nanos(1).unwrap()),
            Filter::gt("d", far),
            Filter::eq("x", "a\0b"),
            Filter::new("i", Operator::Eq, Vec::new()),
            Filter::gt("ts", Timestamp::from_date_time(far, Time::MIDNIGHT).unwrap()),
        ];
        refused(filters, async |filters| db.filtered("t", &["i"], filters).await).await;
    });
}

#[test]
fn an_operand_beyond_the_columns_range_compares_all_the_same() {
    with_db(async |db| {
        db.run("CREATE TABLE t (i int2); INSERT INTO t VALUES (7)").await;
        let lt = vec![Filter::lt("i", i64::MAX)];
        assert_eq!(db.filtered("t", &["i"], lt).await.unwrap(), [r#"{"i":7}"#]);
        let many: Vec<_> = (0..100_000_i64).collect();
        let many = vec![Filter::is_in("i", many)];
        assert_eq!(db.filtered("t", &["i"], many).await.unwrap(), [r#"{"i":7}"#]);
    });
}

#[test]
fn between_ends_where_the_columns_own_type_says() {
    with_db(async |db| {
        db.run("CREATE TABLE t (ts timestamp)").await;
        db.run("INSERT INTO t VALUES ('2024-03-31'), ('2024-03-31 00:00:00.001')").await;
        let march = vec![Filter::between("ts", "2024-03-01", "2024-03-31")];
        let rows = db.filtered("t", &["ts"], march).await.unwrap();
        assert_eq!(rows, [r#"{"ts":"2024-03-31T00:00:00"}"#]);
    });
}

#[test]
fn an_index_serves_equality_of_text() {
    with_db(async |db| {
        db.run(
            "CREATE TABLE t (k text PRIMARY KEY);
             INSERT INTO t SELECT 'k' || n FROM generate_series(1, 20000) AS n; ANALYZE t;
             SELECT pg_stat_reset()",
        )
        .await;
        let eq = vec![Filter::eq("k", "k777")];
        assert_eq!(db.filtered("t", &["k"], eq).await.unwrap(), [r#"{"k":"k777"}"#]);
        let sql = "SELECT idx_scan::text FROM pg_stat_user_indexes WHERE relname = 't'";
        for _ in 0..100 {
            if db.texts(sql).await[0].as_deref() == Some("1") {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        panic!("the index was not used");
    });
}

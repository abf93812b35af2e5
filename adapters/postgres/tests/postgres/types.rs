//! The type oracle: what a connector gives for a value is what a rule, written in SQL and run by
//! the server, says. One rule per type; many edge values per type.

use serde_json::Value as Json;

use crate::support::{Db, with_db};
use crate::testing::database::Database as _;
use crate::testing::reading::told;

/// What to compare with: an expression over `v` that gives JSON text.
#[derive(Clone, Copy)]
enum Rule {
    /// `to_json`, token for token.
    ToJson,
    /// `to_json`, the same number to the bit.
    Float,
    /// The text that the type's output function writes, as a JSON string.
    Text,
    /// An expression of its own.
    Sql(&'static str),
}

const DATE: &str = "to_json(CASE WHEN NOT isfinite(v) THEN v::text
  ELSE iso_year(extract(year FROM v)) || '-' || lpad(extract(month FROM v)::text, 2, '0')
    || '-' || lpad(extract(day FROM v)::text, 2, '0') END)";

const TIMESTAMP: &str = "to_json(CASE WHEN NOT isfinite(v) THEN v::text
  ELSE iso_year(extract(year FROM v))
    || rtrim(rtrim(to_char(v, '-MM-DD\"T\"HH24:MI:SS.US'), '0'), '.') END)";

const INSTANT: &str = "to_json(CASE WHEN NOT isfinite(v) THEN v::text
  ELSE iso_year(extract(year FROM v))
    || rtrim(rtrim(to_char(v, '-MM-DD\"T\"HH24:MI:SS.US'), '0'), '.') || 'Z' END)";

const BASE64: &str = "to_json(replace(encode(v, 'base64'), E'\\n', ''))";

const TIME_TZ: &str = "to_json(v::time::text
  || CASE WHEN extract(timezone FROM v) < 0 THEN '-' ELSE '+' END
  || to_char(make_interval(secs => abs(extract(timezone FROM v))::float8), 'HH24:MI')
  || CASE WHEN abs(extract(timezone FROM v))::int % 60 = 0 THEN ''
     ELSE to_char(make_interval(secs => abs(extract(timezone FROM v))::float8), ':SS') END)";

const RANGE: &str = "json_build_object('lower', lower(v), 'upper', upper(v), 'bounds',
  CASE WHEN isempty(v) THEN 'empty' ELSE (CASE WHEN lower_inc(v) THEN '[' ELSE '(' END)
  || (CASE WHEN upper_inc(v) THEN ']' ELSE ')' END) END)";

const MULTIRANGE: &str = "coalesce((SELECT json_agg(json_build_object('lower', lower(r), 'upper',
  upper(r), 'bounds', (CASE WHEN lower_inc(r) THEN '[' ELSE '(' END)
  || (CASE WHEN upper_inc(r) THEN ']' ELSE ')' END))) FROM unnest(v) AS r), '[]'::json)";

/// A type, its rule, its values as literals.
type Case = (&'static str, Rule, &'static [&'static str]);

const NUMBERS: &[Case] = &[
    ("bool", Rule::ToJson, &["true", "false"]),
    ("int2", Rule::ToJson, &["-32768", "-1", "0", "1", "32767"]),
    ("int4", Rule::ToJson, &["-2147483648", "0", "7", "2147483647"]),
    (
        "int8",
        Rule::ToJson,
        &["-9223372036854775808", "9223372036854775807", "0", "9007199254740993"],
    ),
    (
        "numeric",
        Rule::ToJson,
        &[
            "1.3",
            "0.004",
            "1e-20",
            "1e-130",
            "1.0",
            "2.5",
            "3.75",
            "0",
            "0.0",
            "0.000",
            "-0.5",
            "9223372036854775808",
            "123456789012345678901234567890.123456789012345678901234567890",
            "1e40",
            "1e400",
            "-1e131071",
            "1e-16383",
            "10000",
            "9999",
            "99999999",
            "0.0001",
            "0.00010",
            "0.9999",
            "1000.0001",
            "-1234.5678",
            "100000000000000000000",
            "NaN",
            "Infinity",
            "-Infinity",
            "1.10",
            "12345.60",
            "10000.0000",
            "0.00000001",
        ],
    ),
    ("numeric(10,2)", Rule::ToJson, &["1.3", "-0.005", "99999999.99", "0", "NaN"]),
    ("numeric(20,0)", Rule::ToJson, &["12345678901234567890", "-1"]),
    (
        "float4",
        Rule::Float,
        &[
            "0",
            "-0",
            "1",
            "0.1",
            "3.4028235e38",
            "1e-45",
            "1.17549435e-38",
            "16777217",
            "NaN",
            "Infinity",
            "-Infinity",
            "1e21",
            "1e-7",
        ],
    ),
    (
        "float8",
        Rule::Float,
        &[
            "0",
            "-0",
            "0.1",
            "0.30000000000000004",
            "1.7976931348623157e308",
            "5e-324",
            "1e21",
            "1e20",
            "1e-7",
            "9007199254740993",
            "NaN",
            "Infinity",
            "-Infinity",
            "123456789.125",
        ],
    ),
    ("oid", Rule::Sql("to_json(v::int8)"), &["0", "1", "4294967295"]),
    ("xid", Rule::Sql("to_json(v::text::int8)"), &["0", "4294967295"]),
    ("cid", Rule::Sql("to_json(v::text::int8)"), &["0", "4294967295"]),
    ("xid8", Rule::Sql("to_json(v::text::numeric)"), &["0", "18446744073709551615"]),
    ("money", Rule::Text, &["1.5", "-92233720368547758.08", "0"]),
];

const TEXTS: &[Case] = &[
    (
        "text",
        Rule::ToJson,
        &[
            "",
            "a",
            "42",
            "{\"a\":1}",
            "null",
            "naïve",
            "\u{2028}\u{2029}",
            "🦀 emoji",
            "</script>",
            "a\"b\\c",
            "\u{1}\u{8}\t\u{b}\u{c}\u{1f}\u{7f}",
            "100%",
            "日本語",
            "&<>",
        ],
    ),
    ("varchar(5)", Rule::ToJson, &["", "ab", "abcde", "ab "]),
    ("char(5)", Rule::ToJson, &["", "ab", "abcde", "a b"]),
    ("name", Rule::ToJson, &["pg_class", "Order Details", "naïve"]),
    ("\"char\"", Rule::Sql("to_json(v::text)"), &["a", "", "\"", "~"]),
    ("bytea", Rule::Sql(BASE64), &["", "\\x00", "\\xff00", "\\x000102", "\\xdeadbeef00"]),
    (
        "uuid",
        Rule::ToJson,
        &["00000000-0000-0000-0000-000000000000", "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11"],
    ),
    (
        "json",
        Rule::Sql("v"),
        &[
            "9007199254740993",
            "1.10",
            "{\"a\":1,\"a\":2}",
            " { \"b\" : [ 1 , 2.50 ] } ",
            "null",
            "\"\\u00e9\\n\"",
            "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]",
            "1e400",
            "\"</script>\"",
            "[]",
            "{}",
        ],
    ),
    (
        "jsonb",
        Rule::Sql("v"),
        &["9007199254740993", "1.10", "{\"b\":1,\"a\":{\"c\":[1,null]}}", "null", "\"x\"", "[]"],
    ),
    ("xml", Rule::Text, &["<a>x</a>", "<a b=\"c\"/>", "text"]),
    ("tsvector", Rule::Text, &["a fat cat", "'a b':1A,2 c:3"]),
    ("tsquery", Rule::Text, &["fat & (rat | !cat)"]),
    ("jsonpath", Rule::Text, &["$.a[*] ? (@ > 1)"]),
    (
        "inet",
        Rule::Text,
        &[
            "10.0.0.1",
            "10.0.0.1/8",
            "192.168.1.0/24",
            "::1",
            "::",
            "fe80::1/64",
            "2001:db8::ff00:42",
            "::ffff:1.2.3.4",
            "::1.2.3.4",
            "1:0:0:2:0:0:0:3",
            "1:0:0:2:3:0:0:4",
            "0.0.0.0/0",
            "::/0",
            "1:2:3:4:5:6:7:8",
            "0:0:1::",
            "::2:0",
            "0:1:2:3:4:5:6:0",
            "::1:0:0",
            "64:ff9b::10.0.0.1",
        ],
    ),
    ("cidr", Rule::Text, &["10.0.0.0/8", "10.1.2.3/32", "::1/128", "2001:db8::/32", "10.1"]),
    ("macaddr", Rule::Text, &["08:00:2b:01:02:03"]),
    ("macaddr8", Rule::Text, &["08:00:2b:01:02:03:04:05"]),
    ("bit(3)", Rule::Text, &["101", "000"]),
    ("varbit", Rule::Text, &["", "1", "10101010", "101010101", "1111111100000000"]),
    ("pg_lsn", Rule::Text, &["0/0", "16/B374D848"]),
    ("regclass", Rule::Text, &["pg_catalog.pg_class", "0"]),
    ("regtype", Rule::Text, &["int4", "text[]"]),
    ("tid", Rule::Text, &["(0,1)", "(4294967295,65535)"]),
    ("pg_snapshot", Rule::Text, &["10:20:10,14,15"]),
];

const TIMES: &[Case] = &[
    (
        "date",
        Rule::Sql(DATE),
        &[
            "2024-02-29",
            "0001-01-01",
            "0001-12-31 BC",
            "0002-01-01 BC",
            "4713-01-01 BC",
            "9999-12-31",
            "10000-01-01",
            "99999-12-31",
            "5874897-12-31",
            "infinity",
            "-infinity",
            "1970-01-01",
            "2000-01-01",
            "1900-03-01",
        ],
    ),
    (
        "time",
        Rule::ToJson,
        &["00:00:00", "23:59:59.999999", "24:00:00", "12:34:56.7", "01:02:03.000001"],
    ),
    (
        "timetz",
        Rule::Sql(TIME_TZ),
        &["00:00:00+00", "12:34:56.789+02", "24:00:00-15:59:59", "01:00:00-03:30", "10:00+05:45"],
    ),
    (
        "timestamp",
        Rule::Sql(TIMESTAMP),
        &[
            "2024-03-31 02:30:00",
            "1969-12-31 23:59:59.999999",
            "2000-01-01 00:00:00.000001",
            "4713-01-01 00:00:00 BC",
            "0001-06-01 12:00:00 BC",
            "9999-12-31 23:59:59.999999",
            "10000-01-01",
            "294276-12-31 23:59:59.999999",
            "infinity",
            "-infinity",
            "1582-10-10",
        ],
    ),
    (
        "timestamptz",
        Rule::Sql(INSTANT),
        &[
            "2024-03-31 02:30:00+02",
            "1969-12-31 23:59:59.999999+00",
            "infinity",
            "-infinity",
            "4713-01-01 00:00:00+00 BC",
            "294276-12-31 23:59:59+00",
            "2024-06-30 23:59:59.5-11:30",
        ],
    ),
    (
        "interval",
        Rule::Text,
        &[
            "0",
            "1 year",
            "-1 year",
            "13 months",
            "-13 months",
            "1 day",
            "-1 day 1 hour",
            "1 mon -3 days 04:05:06.7",
            "-00:00:00.000001",
            "00:00:01",
            "-25:00:00",
            "100:00:00",
            "1 year 2 months 3 days 4 hours 5 minutes 6 seconds",
            "178000000 years",
            "00:59:59.5",
            "-1 min -0.5 sec",
            "1 hour -1 second",
            "2562047788 hours",
        ],
    ),
];

const NESTED: &[Case] = &[
    ("int4[]", Rule::ToJson, &["{}", "{1}", "{1,NULL,3}", "{{1,2},{3,4}}", "[5:6]={7,8}"]),
    ("int8[]", Rule::ToJson, &["{{{1,2},{3,4}},{{5,6},{7,8}}}", "{9223372036854775807}"]),
    ("text[]", Rule::ToJson, &["{}", "{a,NULL,\"NULL\",\"\",\"a,b\\\"\"}", "[-1:0]={x,y}"]),
    ("bool[]", Rule::ToJson, &["{t,f,NULL}"]),
    ("numeric[]", Rule::ToJson, &["{1.0,2.50,1e-20,NaN}"]),
    ("float8[]", Rule::ToJson, &["{0.5,1.25}"]),
    ("uuid[]", Rule::ToJson, &["{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}"]),
    ("jsonb[]", Rule::ToJson, &["{\"{\\\"a\\\": 1.10}\",\"null\"}"]),
    ("date[]", Rule::ToJson, &["{2024-02-29,NULL}"]),
    ("timestamp[]", Rule::ToJson, &["{\"2024-02-29 12:00:00\"}"]),
    ("inet[]", Rule::ToJson, &["{10.0.0.1,10.0.0.0/8}"]),
    ("char(3)[]", Rule::ToJson, &["{a,abc}"]),
    ("point[]", Rule::ToJson, &["{\"(1.5,2)\",\"(0,-1)\"}"]),
    ("box[]", Rule::ToJson, &["{(1,1),(0,0);(3,3),(2,2)}"]),
    ("money[]", Rule::ToJson, &["{1.5,2}"]),
    ("aclitem[]", Rule::ToJson, &["{}"]),
    ("int2vector", Rule::ToJson, &["1 2 3", ""]),
    ("oidvector", Rule::Sql("to_json(v::oid[]::int8[])"), &["1 4294967295"]),
    ("point", Rule::Text, &["(1.5,2)", "(-0,1e300)"]),
    ("line", Rule::Text, &["{1,2,3}"]),
    ("lseg", Rule::Text, &["[(0,0),(1,1)]"]),
    ("box", Rule::Text, &["(1,1),(0,0)"]),
    ("path", Rule::Text, &["((0,0),(1,1))", "[(0,0),(1,1)]"]),
    ("polygon", Rule::Text, &["((0,0),(1,1),(1,0))"]),
    ("circle", Rule::Text, &["<(1,2),3>"]),
    ("int4range", Rule::Sql(RANGE), &["[1,10)", "empty", "(,5]", "[7,)", "(,)", "[3,3]"]),
    ("int8range", Rule::Sql(RANGE), &["[1,9223372036854775807)"]),
    ("numrange", Rule::Sql(RANGE), &["[1.50,2.0]", "(0,1)"]),
    ("daterange", Rule::Sql(RANGE), &["[2024-01-01,2024-02-01)"]),
    ("tsrange", Rule::Sql(RANGE), &["[2024-01-01 12:00,2024-01-02)"]),
    ("int4multirange", Rule::Sql(MULTIRANGE), &["{}", "{[1,3),[5,8)}", "{(,2),[9,)}"]),
    ("nummultirange", Rule::Sql(MULTIRANGE), &["{[1.5,2.5]}"]),
];

/// Types of the test's own.
const CUSTOM: &[Case] = &[
    ("mood", Rule::ToJson, &["sad", "so \"so\"", "ὑγιής"]),
    ("mood[]", Rule::ToJson, &["{sad,NULL}", "{{sad},{sad}}"]),
    ("positive", Rule::ToJson, &["1", "2147483647"]),
    ("nested_domain", Rule::ToJson, &["5"]),
    ("positive[]", Rule::ToJson, &["{1,2}"]),
    ("ints", Rule::ToJson, &["{1,2}", "{}"]),
    ("pair", Rule::ToJson, &["(1,\"a,b\")", "(,)", "(7,\"\"\"\")"]),
    ("pair[]", Rule::ToJson, &["{\"(1,x)\",NULL,\"(,)\"}"]),
    (
        "deep",
        Rule::ToJson,
        &["(\"(1,x)\",\"{\"\"(2,y)\"\"}\",sad,1.50)", "(,,,)", "(\"(,)\",{},sad,NaN)"],
    ),
    ("odd", Rule::Text, &["(\"<(1,2),3>\",1)"]),
    ("floatrange", Rule::Sql(RANGE), &["[0.5,1.5)", "empty"]),
    ("moodrange", Rule::Sql(RANGE), &["[sad,\"so \\\"so\\\"\"]"]),
    ("sparse", Rule::ToJson, &["(1,2)"]),
    ("shelf", Rule::Text, &["(\"(1,1),(0,0)\",2)"]),
];

const CUSTOM_TYPES: &str = r#"
CREATE TYPE mood AS ENUM ('sad', 'so "so"', 'ὑγιής');
CREATE DOMAIN positive AS int4 CHECK (VALUE > 0);
CREATE DOMAIN nested_domain AS positive;
CREATE DOMAIN ints AS int4[];
CREATE TYPE pair AS ("Number" int4, text text);
CREATE TYPE deep AS (inner_pair pair, pairs pair[], feeling mood, price numeric);
CREATE TYPE odd AS (area circle, n int4);
CREATE TYPE floatrange AS RANGE (subtype = float8);
CREATE TYPE moodrange AS RANGE (subtype = mood);
CREATE TABLE sparse_table (a int4, gone text, b int4);
ALTER TABLE sparse_table DROP COLUMN gone;
CREATE DOMAIN sparse AS sparse_table;
CREATE TYPE shelf AS (at box, n int4);
-- The year as ISO 8601 counts them: four digits, or a sign and at least six.
CREATE FUNCTION iso_year(y numeric) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN y BETWEEN 1 AND 9999 THEN lpad(y::text, 4, '0')
    WHEN y > 0 THEN '+' || lpad(y::text, greatest(6, length(y::text)), '0')
    WHEN y = -1 THEN '+000000'
    ELSE '-' || lpad((-y - 1)::text, greatest(6, length((-y - 1)::text)), '0') END $$;
"#;

#[test]
fn every_type_is_what_the_server_says() {
    with_db(async |db| {
        db.run(CUSTOM_TYPES).await;
        db.run("SET TimeZone = 'UTC'; SET IntervalStyle = 'iso_8601'; SET DateStyle = 'ISO'").await;
        let mut values = 0;
        let mut types = 0;
        for (name, rule, literals) in [NUMBERS, TEXTS, TIMES, NESTED, CUSTOM].into_iter().flatten()
        {
            check(db, name, *rule, literals).await;
            types += 1;
            values += literals.len() + 1;
        }
        println!("{types} types, {values} values");
    });
}

async fn check(db: &Db, name: &str, rule: Rule, literals: &[&str]) {
    db.run("DROP TABLE IF EXISTS oracle").await;
    db.run(&format!("CREATE TABLE oracle (n int4, v {name})")).await;
    db.run("INSERT INTO oracle VALUES (0, NULL)").await;
    for (at, literal) in literals.iter().enumerate() {
        let literal = literal.replace('\'', "''");
        let insert = format!("INSERT INTO oracle VALUES ({}, '{literal}'::{name})", at + 1);
        db.run(&insert).await;
    }
    let expression = match rule {
        Rule::ToJson | Rule::Float => "to_json(v)",
        Rule::Text => "to_json(format('%s', v))",
        Rule::Sql(sql) => sql,
    };
    let expected = format!(
        "SELECT CASE WHEN v IS NOT DISTINCT FROM NULL THEN 'null' \
                 ELSE ({expression})::text END FROM oracle ORDER BY n"
    );
    let expected = db.texts(&expected).await;
    let rows = db.filtered("oracle", &["n", "v"], Vec::new()).await;
    let rows = rows.unwrap_or_else(|error| panic!("{name}: {}", told(error)));
    assert_eq!(rows.len(), literals.len() + 1, "{name}");
    for (row, expected) in rows.iter().zip(expected) {
        let row: Json = serde_json::from_str(row).unwrap_or_else(|error| panic!("{row}: {error}"));
        let text = expected.expect("a text");
        let expected: Json = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{text}: {e}"));
        let same = match rule {
            Rule::Float if expected.is_number() => {
                let bits = |json: &Json| json.to_string().parse::<f64>().map(f64::to_bits);
                match name {
                    "float4" => {
                        let bits = |json: &Json| json.to_string().parse::<f32>().map(f32::to_bits);
                        bits(&row["v"]) == bits(&expected)
                    }
                    _ => bits(&row["v"]) == bits(&expected),
                }
            }
            _ => row["v"] == expected,
        };
        assert!(same, "{name}: {} where the server says {expected}", row["v"]);
    }
}

#[test]
fn json_goes_through_token_for_token() {
    with_db(async |db| {
        db.run("CREATE TABLE t (j json, b jsonb)").await;
        db.run(r#"INSERT INTO t VALUES ('{"b":1.10,"a":9007199254740993,"a":2e5}', '1.10')"#).await;
        let rows = db.read("t", &["b", "j"]).await;
        assert_eq!(rows, [r#"{"b":1.10,"j":{"b":1.10,"a":9007199254740993,"a":2e5}}"#]);
    });
}

#[test]
fn an_unknown_type_is_its_text() {
    with_db(async |db| {
        // A type of an extension's kind: C functions borrowed from text, a cast of its own.
        db.run(
            "CREATE TYPE odd_text;
             CREATE FUNCTION odd_in(cstring) RETURNS odd_text
               LANGUAGE internal IMMUTABLE STRICT AS 'textin';
             CREATE FUNCTION odd_out(odd_text) RETURNS cstring
               LANGUAGE internal IMMUTABLE STRICT AS 'textout';
             CREATE TYPE odd_text (INPUT = odd_in, OUTPUT = odd_out);
             CREATE FUNCTION odd_cast(odd_text) RETURNS text
               LANGUAGE sql IMMUTABLE AS $$ SELECT 'not this' $$;
             CREATE CAST (odd_text AS text) WITH FUNCTION odd_cast(odd_text);
             CREATE TYPE holder AS (o odd_text, n int);
             CREATE TABLE t (a odd_text, b holder, c odd_text);
             INSERT INTO t VALUES ('x \"y\"', ROW('z', 1), NULL)",
        )
        .await;
        let rows = db.read("t", &["a", "b", "c"]).await;
        assert_eq!(rows, [r#"{"a":"x \"y\"","b":"(z,1)","c":null}"#]);
    });
}

#[test]
fn extensions_types_are_their_text() {
    with_db(async |db| {
        if db.client.batch_execute("CREATE EXTENSION hstore").await.is_err() {
            return;
        }
        db.run("CREATE TABLE t (h hstore); INSERT INTO t VALUES ('a=>1, b=>NULL'), (NULL)").await;
        let rows = db.read("t", &["h"]).await;
        assert_eq!(rows, [r#"{"h":"\"a\"=\u003e\"1\", \"b\"=\u003eNULL"}"#, r#"{"h":null}"#]);
        db.run("CREATE EXTENSION citext; CREATE TABLE c (t citext, l citext[])").await;
        db.run("INSERT INTO c VALUES ('Ab', '{Cd}')").await;
        assert_eq!(db.read("c", &["l", "t"]).await, [r#"{"l":["Cd"],"t":"Ab"}"#]);
    });
}

#[test]
fn a_column_that_is_always_null_is_there() {
    with_db(async |db| {
        db.run("CREATE TABLE t (a int, b text[]); INSERT INTO t VALUES (NULL, NULL)").await;
        assert_eq!(db.read("t", &["a", "b"]).await, [r#"{"a":null,"b":null}"#]);
    });
}

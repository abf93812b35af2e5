//! Discovery and names: what is found, under which name, and that it can be read by that name.

use fetcher_engine::extraction::PlannedTable;
use fetcher_engine::ports::{ConnectorFactory as _, Query};
use fetcher_engine::schema::TableSchema;
use fetcher_engine::{Category, ConnectionInput, Filter, block_on};
use fetcher_sqlx::SqliteConnectors;

use crate::support::{Db, connected, factory, read};
use crate::testing::names::{self, come_in_order, names};
use crate::testing::reading::{build, planned, told};
use crate::testing::text;

fn discover(input: ConnectionInput) -> Vec<TableSchema> {
    block_on(names::discover(connected(input)))
}

/// A field: its name, its type, whether it may be null, its place in the primary key.
fn fields(tables: &[TableSchema], table: &str) -> Vec<String> {
    let table = tables.iter().find(|found| found.name() == table).expect("it is found");
    let told = |field: &fetcher_engine::schema::FieldSchema| {
        let null = if field.nullable { "" } else { " not null" };
        let key = field.primary_key.map(|at| format!(" key {at}")).unwrap_or_default();
        format!("{} {}{null}{key}", field.name, field.source_type)
    };
    table.fields().iter().map(told).collect()
}

fn quoted(name: &str) -> String {
    text::quoted('"', name)
}

#[test]
fn whatever_yields_rows_is_found_and_read() {
    let db = Db::with(
        "CREATE TABLE plain (a INTEGER PRIMARY KEY AUTOINCREMENT); INSERT INTO plain VALUES (1);
         CREATE VIEW a_view AS SELECT a + 1 AS a FROM plain;
         CREATE TABLE without (a TEXT PRIMARY KEY) WITHOUT ROWID; INSERT INTO without VALUES ('w');
         CREATE TABLE exact (a ANY) STRICT; INSERT INTO exact VALUES ('1');
         CREATE VIRTUAL TABLE search USING fts5(a, b); INSERT INTO search VALUES ('x', 'y');
         CREATE VIRTUAL TABLE old_search USING fts4(a); INSERT INTO old_search VALUES ('z');
         CREATE VIRTUAL TABLE place USING rtree(a, low, high); INSERT INTO place VALUES (3, 1, 2);
         CREATE TABLE made (n INT, a AS (n * 2), stored INT AS (n * 3) STORED);
         INSERT INTO made (n) VALUES (4);
         CREATE TABLE gone (a); CREATE VIEW broken AS SELECT a FROM gone; DROP TABLE gone;
         CREATE VIEW broken_too AS SELECT no_such_function(a) AS a FROM plain;
         CREATE INDEX an_index ON plain (a); ANALYZE;
         CREATE TEMP TABLE passing (a);
         CREATE TRIGGER a_trigger AFTER INSERT ON plain BEGIN SELECT 1; END",
    );
    let tables = discover(db.input());
    assert_eq!(
        names(&tables),
        ["a_view", "exact", "made", "old_search", "place", "plain", "search", "without"]
    );
    for (table, row) in [
        ("a_view", r#"{"a":2}"#),
        ("exact", r#"{"a":"1"}"#),
        ("made", r#"{"a":8}"#),
        ("old_search", r#"{"a":"z"}"#),
        ("place", r#"{"a":3}"#),
        ("plain", r#"{"a":1}"#),
        ("search", r#"{"a":"x"}"#),
        ("without", r#"{"a":"w"}"#),
    ] {
        assert_eq!(db.read(table, &["a"]), [row], "{table}");
    }
    assert_eq!(db.read("made", &["a", "n", "stored"]), [r#"{"a":8,"n":4,"stored":12}"#]);
    assert_eq!(fields(&tables, "search"), ["a ", "b "], "its hidden columns are left out");
    assert_eq!(fields(&tables, "made")[0], "n INT");
    for hidden in
        ["sqlite_sequence", "sqlite_schema", "sqlite_stat1", "search_data", "json_each", "dbstat"]
    {
        let error = db.filtered(hidden, &["name"], Vec::new()).unwrap_err();
        assert_eq!(error.category(), Category::Validation, "{hidden}: {}", told(error));
    }
    let error = db.filtered("broken", &["a"], Vec::new()).unwrap_err();
    assert_ne!(error.category(), Category::Internal, "{}", told(error));
}

#[test]
fn columns_are_told_as_they_are_declared() {
    let db = Db::with(
        "CREATE TABLE one (id INTEGER PRIMARY KEY, name VARCHAR(20) NOT NULL, free, big BIGINT);
         CREATE TABLE two (z INT, b TEXT, a TEXT, PRIMARY KEY (a, b));
         CREATE TABLE three (z INT, b TEXT, a TEXT, PRIMARY KEY (a, b)) WITHOUT ROWID;
         CREATE TABLE four (k TEXT PRIMARY KEY);
         CREATE TABLE five (k INT PRIMARY KEY)",
    );
    let tables = discover(db.input());
    assert_eq!(
        fields(&tables, "one"),
        ["id INTEGER not null key 1", "name VARCHAR(20) not null", "free ", "big BIGINT"]
    );
    assert_eq!(fields(&tables, "two"), ["z INT", "b TEXT key 2", "a TEXT key 1"]);
    assert_eq!(
        fields(&tables, "three"),
        ["z INT", "b TEXT not null key 2", "a TEXT not null key 1"]
    );
    // Such keys do hold nulls.
    db.run("INSERT INTO four VALUES (NULL); INSERT INTO five VALUES (NULL)");
    assert_eq!(fields(&tables, "four"), ["k TEXT key 1"]);
    assert_eq!(db.read("four", &["k"]), [r#"{"k":null}"#]);
    assert_eq!(fields(&tables, "five"), ["k INT key 1"]);
}

#[test]
fn any_name_is_found_and_read() {
    let long = "n".repeat(3000);
    let parts = [
        "createdAt",
        "order",
        "select",
        "a\"b",
        "naïve",
        "a.b",
        "Order Details",
        "🦀",
        "a'b",
        "a`b",
        "[a]",
        "",
        " ",
        "t",
        "rowid",
        "--",
        "x;y",
        "a\\b",
        "\"",
        ".",
        "日本語",
        "%s",
        "?1",
        &long,
    ];
    let db = Db::new();
    for table in parts {
        let columns: Vec<_> = parts.iter().map(|it| format!("{} INT", quoted(it))).collect();
        db.run(&format!("CREATE TABLE {} ({})", quoted(table), columns.join(", ")));
        let numbers: Vec<_> = (0..parts.len()).map(|it| it.to_string()).collect();
        db.run(&format!("INSERT INTO {} VALUES ({})", quoted(table), numbers.join(", ")));
    }
    let tables = discover(db.input());
    // What has no name has none that the engine could ask for.
    let named: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    assert_eq!(tables.len(), named.len());
    for table in &tables {
        let fields: Vec<_> = table.fields().iter().map(|field| &*field.name).collect();
        assert_eq!(fields, named, "{}", table.name());
        for (number, field) in parts.iter().enumerate().filter(|(_, field)| !field.is_empty()) {
            let filter = vec![Filter::eq(*field, number as i64)];
            let rows = db.filtered(table.name(), &[field], filter).map_err(told).unwrap();
            let name = serde_json::to_string(field).unwrap();
            assert_eq!(rows, [format!("{{{name}:{number}}}")], "{}", table.name());
        }
        assert_eq!(factory().canonical_table(table.name()), None, "{} is canonical", table.name());
    }
    for unknown in ["Select", "CREATEDAT", "NAÏVE", "main", "a.b", "main.main.t"] {
        let error = db.filtered(unknown, &["t"], Vec::new()).unwrap_err();
        assert_eq!(error.category(), Category::Validation, "{unknown}");
    }
    let error = db.filtered("t", &["T"], Vec::new()).unwrap_err();
    assert_eq!(error.category(), Category::Validation, "the names of columns are exact");
}

#[test]
fn main_is_not_written() {
    let connectors = SqliteConnectors::new();
    for name in ["main.users", "\"users\"", "\"main\".\"users\""] {
        assert_eq!(connectors.canonical_table(name).as_deref(), Some("users"), "{name}");
    }
    assert_eq!(connectors.canonical_table("users"), None);
    let db = Db::with("CREATE TABLE users (a); INSERT INTO users VALUES (1)");
    assert_eq!(db.read("main.users", &["a"]), [r#"{"a":1}"#]);
}

#[test]
fn attached_files_are_schemas() {
    let db = Db::with("CREATE TABLE t (a); INSERT INTO t VALUES ('main')");
    let other = Db::with(
        "CREATE TABLE t (a); CREATE TABLE only (a); INSERT INTO t VALUES ('other');
         INSERT INTO only VALUES (1); CREATE VIEW v AS SELECT a || '!' AS a FROM t",
    );
    let path = other.path.to_str().unwrap();
    let input = || db.input().option("attach.sales", path).option("attach.a.b\"c", path);
    let tables = discover(input());
    let expected = [
        "\"a.b\"\"c\".only",
        "\"a.b\"\"c\".t",
        "\"a.b\"\"c\".v",
        "sales.only",
        "sales.t",
        "sales.v",
        "t",
    ];
    assert_eq!(names(&tables), expected);
    let plans = names(&tables).into_iter().map(|it| PlannedTable::new(it, ["a"], Vec::new()));
    let rows = read(input(), Query::new(plans.collect())).map_err(told).unwrap();
    let rows: Vec<_> = rows.iter().map(|(_, row)| row.as_str()).collect();
    assert_eq!(
        rows,
        [
            r#"{"a":1}"#,
            r#"{"a":"other"}"#,
            r#"{"a":"other!"}"#,
            r#"{"a":1}"#,
            r#"{"a":"other"}"#,
            r#"{"a":"other!"}"#,
            r#"{"a":"main"}"#
        ]
    );
    for schema in ["main", "temp", "MAIN", ""] {
        let refused = build(&factory(), db.input().option(format!("attach.{schema}"), path));
        let error = refused.err().expect("it is refused");
        assert_eq!(error.category(), Category::Validation, "{schema}");
    }
    let error = read(db.input(), planned("sales.t", &["a"])).unwrap_err();
    assert_eq!(error.category(), Category::Validation, "nothing is attached");
}

#[test]
fn a_dotted_field_leads_into_json() {
    let db = Db::with(
        "CREATE TABLE t (doc JSON, b JSONB, who TEXT, \"doc.x\" INT, \"a.b\" JSON);
         INSERT INTO t VALUES
           ('{\"a\": {\"b''\": [1, 2.50], \"c d\": \"e\"}, \"n\": null, \"x\": 1}',
             '{\"k\":1.0}', 'Ada', 9, '{\"c\":true}');
         INSERT INTO t VALUES ('no json', jsonb('{\"k\":7}'), '{\"x\":1}', NULL, '[{\"c\":1}]')",
    );
    let fields = ["a.b.c", "b.k", "doc.a.b'", "doc.a.c d", "doc.missing.x", "doc.n", "doc.x"];
    let rows = db.read("t", &fields);
    let first = concat!(
        r#"{"a.b.c":true,"b.k":1.0,"doc.a.b'":[1,2.50],"doc.a.c d":"e","#,
        r#""doc.missing.x":null,"doc.n":null,"doc.x":9}"#
    );
    assert_eq!(rows[0], first);
    let second = concat!(
        r#"{"a.b.c":null,"b.k":null,"doc.a.b'":null,"doc.a.c d":null,"#,
        r#""doc.missing.x":null,"doc.n":null,"doc.x":null}"#
    );
    assert_eq!(rows[1], second);
    for refused in ["who.x", "doc.", "doc..x", "doc.a\"b", "doc.a\\b", "missing.x", ".doc"] {
        let error = db.filtered("t", &[refused], Vec::new()).unwrap_err();
        assert_eq!(error.category(), Category::Validation, "{refused}");
        assert_eq!(error.table(), Some("t"), "{refused}");
    }
    let error = db.filtered("t", &["who"], vec![Filter::eq("doc.n", "x")]).unwrap_err();
    assert_eq!(error.category(), Category::Validation);
}

#[test]
fn tables_come_in_order_and_empty_ones_end_too() {
    let db = Db::with("CREATE TABLE a (x); CREATE TABLE b (x); CREATE TABLE c (x)");
    db.run("INSERT INTO b VALUES (1)");
    block_on(come_in_order(db.connector()));
    assert_eq!(read(db.input(), Query::new([].into())).map_err(told).unwrap(), []);
}

/// The schema is somebody else's, so what it calls may only compute.
#[test]
fn a_schema_cannot_do_more_than_compute() {
    let db = Db::with(
        "CREATE TABLE t (a); INSERT INTO t VALUES (1);
         CREATE VIEW file AS SELECT load_extension('x') AS a FROM t;
         CREATE VIEW tokens AS SELECT fts3_tokenizer('simple') AS a FROM t;
         CREATE VIEW inside AS SELECT name AS a FROM dbstat",
    );
    for view in ["file", "tokens", "inside"] {
        assert!(db.filtered(view, &["a"], Vec::new()).is_err(), "{view}");
    }
}

/// Whoever wrote the file had collations, functions and modules of its own.
#[test]
fn what_the_writer_had_and_we_have_not_is_not_needed() {
    let db = Db::with(
        "CREATE TABLE t (name TEXT COLLATE NOCASE, n INT, low AS (lower(name)));
         CREATE INDEX t_name ON t (name); CREATE INDEX t_low ON t (lower(name));
         INSERT INTO t VALUES ('a', 1), ('B', 2); CREATE VIRTUAL TABLE f USING fts5(a);
         PRAGMA writable_schema = ON;
         UPDATE sqlite_schema SET sql =
           replace(replace(replace(sql, 'NOCASE', 'unicase'), 'lower', 'theirs'), 'fts5', 'gone')",
    );
    db.close();
    let tables = discover(db.input());
    assert!(names(&tables).contains(&"t") && !names(&tables).contains(&"f"));
    assert_eq!(db.read("t", &["n", "name"]), [r#"{"n":1,"name":"a"}"#, r#"{"n":2,"name":"B"}"#]);
    for filter in [Filter::eq("name", "B"), Filter::lt("name", "a"), Filter::like("name", "B%")] {
        let rows = db.filtered("t", &["n"], vec![filter]).map_err(told).unwrap();
        assert_eq!(rows, [r#"{"n":2}"#]);
    }
    for (table, field, category) in
        [("t", "low", Category::Unavailable), ("f", "a", Category::Validation)]
    {
        let error = db.filtered(table, &[field], Vec::new()).unwrap_err();
        assert_eq!(error.category(), category, "{table}: {}", told(error));
    }
}

#[test]
fn a_schema_that_cannot_be_read_is_unavailable() {
    let db = Db::with(
        "CREATE TABLE t (a); CREATE TABLE u (a); PRAGMA writable_schema = ON;
         UPDATE sqlite_schema SET sql = 'CREATE TABLE u (' WHERE name = 'u'",
    );
    db.close();
    let error = db.filtered("t", &["a"], Vec::new()).unwrap_err();
    assert_eq!(error.category(), Category::Unavailable, "{}", told(error));
}

/// A description that cannot be meant is `validation`, in `build`.
#[test]
fn schemas_that_cannot_all_be_there_are_refused() {
    let db = Db::with("CREATE TABLE t (v)");
    let path = db.path.to_str().unwrap();
    let eleven = (0..11).fold(db.input(), |it, n| it.option(format!("attach.a{n}"), path));
    for input in [
        db.input().option("attach.x", path).option("attach.X", path),
        db.input().option("attach.Main", path),
        db.input().option("attach.", path),
        eleven,
    ] {
        let error = build(&factory(), input).err().expect("it is refused");
        assert_eq!(error.category(), Category::Validation);
    }
}

#[test]
fn a_table_without_a_name_is_left_out() {
    let db = Db::with("CREATE TABLE \"\" (v); CREATE TABLE t (v)");
    let tables = block_on(connected(db.input()).discover_schema()).map_err(told).unwrap();
    let names: Vec<_> = tables.iter().map(|table| table.name()).collect();
    assert_eq!(names, ["t"]);
}

#[test]
fn columns_that_are_called_like_row_numbers() {
    for columns in ["rowid TEXT, v", "rowid TEXT, _rowid_ TEXT, v", "oid, RowID, _ROWID_, v"] {
        let db = Db::with(&format!("CREATE TABLE t ({columns}); INSERT INTO t (v) VALUES (7)"));
        assert_eq!(db.read("t", &["v"]), [r#"{"v":7}"#], "{columns}");
    }
}

#[test]
fn a_view_that_calls_what_a_schema_may_not_is_refused() {
    let db = Db::with("CREATE VIEW v AS SELECT load_extension('x') AS a");
    let error = db.filtered("v", &["a"], Vec::new()).unwrap_err();
    assert_eq!(error.category(), Category::Validation, "{}", told(error));
}

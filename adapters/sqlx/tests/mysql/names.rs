//! Discovery and names: what is found, under which name, and that it can be read by that name.

use fetcher_engine::Category;
use fetcher_engine::extraction::PlannedTable;
use fetcher_engine::ports::{ConnectorFactory as _, Query};
use fetcher_engine::schema::TableSchema;
use fetcher_sqlx::MySqlConnectors;

use crate::support::{Db, factory, quoted, with_db, with_own_db};
use crate::testing::database::Database as _;
use crate::testing::names::{come_in_order, discover, names};
use crate::testing::reading::{batch, build, drain, planned, told};

fn fields(table: &TableSchema) -> Vec<(&str, &str, bool, Option<u32>)> {
    let fields = table.fields().iter();
    fields.map(|it| (&*it.name, &*it.source_type, it.nullable, it.primary_key)).collect()
}

#[test]
fn whatever_yields_rows_is_found_and_read() {
    with_db(async |db| {
        db.run(
            "CREATE TABLE plain (a int); INSERT INTO plain VALUES (1);
             CREATE TABLE isam (a int) ENGINE = MyISAM; INSERT INTO isam VALUES (2);
             CREATE TABLE parts (a int) PARTITION BY HASH (a) PARTITIONS 3;
             INSERT INTO parts VALUES (3);
             CREATE VIEW a_view AS SELECT a + 3 AS a FROM plain;
             CREATE TABLE gone (a int); CREATE VIEW broken AS SELECT a FROM gone;
             CREATE VIEW half_broken AS SELECT plain.a FROM plain JOIN gone; DROP TABLE gone;
             CREATE TEMPORARY TABLE temporary (a int);
             CREATE PROCEDURE a_procedure() SELECT 1",
        )
        .await;
        let mut expected = vec!["a_view", "isam", "parts", "plain"];
        if db.is_mariadb().await {
            db.run("CREATE SEQUENCE a_sequence; CREATE TABLE kept (a int) WITH SYSTEM VERSIONING")
                .await;
            db.run("INSERT INTO kept VALUES (4); UPDATE kept SET a = 5").await;
            expected.insert(2, "kept");
            assert_eq!(db.read("kept", &["a"]).await, [r#"{"a":5}"#]);
        }
        assert_eq!(names(&discover(db.connector().await).await), expected);
        for (table, a) in [("plain", 1), ("isam", 2), ("parts", 3), ("a_view", 4)] {
            assert_eq!(db.read(table, &["a"]).await, [format!(r#"{{"a":{a}}}"#)], "{table}");
        }
        for table in ["broken", "a_sequence", "missing", "PLAIN", "", "temporary"] {
            let error = db.filtered(table, &["a"], Vec::new()).await.expect_err(table);
            assert_eq!(error.category(), Category::Validation, "{table}: {}", told(error));
        }
    });
}

#[test]
fn fields_are_as_catalogued() {
    with_db(async |db| {
        db.run(
            "CREATE TABLE t (b varchar(9) NOT NULL, a int unsigned NOT NULL, c decimal(10,2), \
             e enum('x','y') NOT NULL, j datetime(3), PRIMARY KEY (b, a), UNIQUE KEY (c))",
        )
        .await;
        let tables = discover(db.connector().await).await;
        let unsigned = db
            .texts(
                "SELECT COLUMN_TYPE FROM information_schema.COLUMNS WHERE \
                    TABLE_SCHEMA = DATABASE() AND COLUMN_NAME = 'a'",
            )
            .await;
        assert_eq!(
            fields(&tables[0]),
            [
                ("b", "varchar(9)", false, Some(1)),
                ("a", unsigned[0].as_deref().unwrap(), false, Some(2)),
                ("c", "decimal(10,2)", true, None),
                ("e", "enum('x','y')", false, None),
                ("j", "datetime(3)", true, None),
            ]
        );
    });
}

#[test]
fn ugly_names_survive() {
    with_db(async |db| {
        let ugly = [
            "createdAt",
            "order",
            "select",
            "a\"b",
            "a`b",
            "naïve",
            "Order Details",
            "a.b",
            "`",
            "``",
            "x'y",
            "tab\there",
            "back\\slash",
            "--",
            "id",
            "$1",
            "%s",
            "日本語",
            "{}",
            "a;b",
            "?",
            " leading",
            "#",
            "/*",
            "new\nline",
            "1",
            "1e5",
        ];
        let columns: Vec<_> = ugly.iter().map(|it| format!("{} int", quoted(it))).collect();
        let numbers: Vec<_> = (0..ugly.len()).map(|n| n.to_string()).collect();
        for table in ugly {
            let name = quoted(table);
            db.run(&format!(
                "CREATE TABLE {name} ({}); INSERT INTO {name} VALUES ({})",
                columns.join(", "),
                numbers.join(", ")
            ))
            .await;
        }
        let found = discover(db.connector().await).await;
        assert_eq!(found.len(), ugly.len());
        let factory = factory(db.server);
        for table in &found {
            assert_eq!(factory.canonical_table(table.name()), None, "{}", table.name());
            assert!(ugly.contains(&table.name()), "{}", table.name());
            let found: Vec<_> = table.fields().iter().map(|it| &*it.name).collect();
            assert_eq!(found, ugly);
            let rows = db.read(table.name(), &ugly).await;
            let row: serde_json::Value = serde_json::from_str(&rows[0]).unwrap();
            for (at, column) in ugly.iter().enumerate() {
                assert_eq!(row[column], at, "{} {column}", table.name());
            }
        }
        // The server's names end with the first plane of Unicode.
        let error = db.filtered("🦀", &["a"], Vec::new()).await.unwrap_err();
        assert_eq!(error.category(), Category::Validation);
    });
}

#[test]
fn names_that_differ_in_case_only() {
    with_db(async |db| {
        if db.texts("SELECT CAST(@@lower_case_table_names AS CHAR)").await[0].as_deref()
            != Some("0")
        {
            return;
        }
        let upper = db.name.to_uppercase();
        db.run(&format!(
            "CREATE TABLE users (a int); CREATE TABLE Users (b int); CREATE DATABASE {upper}; \
             CREATE TABLE {upper}.elsewhere (a int); CREATE TABLE {upper}.users (c int); \
             INSERT INTO users VALUES (1); INSERT INTO Users VALUES (2)"
        ))
        .await;
        let found = discover(db.connector().await).await;
        let lower = db.read("users", &["a"]).await;
        let other = db.read("Users", &["b"]).await;
        db.run(&format!("DROP DATABASE {upper}")).await;
        assert_eq!(names(&found), ["Users", "users"]);
        assert_eq!(fields(&found[0])[0].0, "b");
        assert_eq!((lower, other), (vec![r#"{"a":1}"#.into()], vec![r#"{"b":2}"#.into()]));
    });
}

#[test]
fn only_what_may_be_read() {
    with_own_db(async |db| {
        let user = format!("reader_{}", std::process::id());
        db.run(&format!(
            "CREATE USER {user}@'%'; CREATE TABLE secret (a int);
             CREATE TABLE open (a int, j json, PRIMARY KEY (a)); CREATE TABLE half (a int, b int);
             CREATE TABLE written (a int); INSERT INTO open VALUES (1, '[1.10]');
             GRANT SELECT ON open TO {user}@'%'; GRANT SELECT (b) ON half TO {user}@'%';
             GRANT INSERT (a) ON half TO {user}@'%'; GRANT INSERT ON written TO {user}@'%'"
        ))
        .await;
        let connect = async || {
            let input = db.input().username(user.as_str());
            let mut connector = build(&MySqlConnectors::new(), input).unwrap();
            connector.connect().await.map_err(told).unwrap();
            connector
        };
        let mut connector = connect().await;
        let tables = connector.discover_schema().await.map_err(told).unwrap();
        assert_eq!(names(&tables), ["half", "open"]);
        let half = tables.iter().find(|table| table.name() == "half").unwrap();
        assert_eq!(fields(half).iter().map(|it| it.0).collect::<Vec<_>>(), ["b"]);
        let open = tables.iter().find(|table| table.name() == "open").unwrap();
        assert_eq!(fields(open)[0].3, Some(1));
        connector.close().await.unwrap();
        let mut connector = connect().await;
        connector.open(planned("open", &["a", "j"])).await.map_err(told).unwrap();
        // What is JSON is known to those who may only read.
        let rows = drain(&mut *connector).await.unwrap();
        assert_eq!(rows[0].1, r#"{"a":1,"j":[1.10]}"#);
        connector.close().await.unwrap();
        for (table, field) in [("secret", "a"), ("written", "a"), ("half", "a"), ("missing", "a")] {
            let mut connector = connect().await;
            let tables = [
                PlannedTable::new("open", ["a"], Vec::new()),
                PlannedTable::new(table, [field], Vec::new()),
            ];
            let error = connector.open(Query::new(tables.into())).await.unwrap_err();
            let expected = (Category::Forbidden, Some(table));
            assert_eq!((error.category(), error.table()), expected, "{:?}", error.cause());
            connector.close().await.unwrap();
        }
        db.run(&format!("DROP USER {user}@'%'")).await;
    });
}

#[test]
fn the_servers_own_databases_are_nobodys() {
    with_db(async |db| {
        for name in ["mysql", "information_schema", "performance_schema", "SYS"] {
            let error = build(&factory(db.server), db.input().database(name)).err().unwrap();
            assert_eq!(error.category(), Category::Validation, "{name}");
        }
        for table in ["mysql.user", "information_schema.TABLES", "`mysql`.`user`"] {
            let error = db.filtered(table, &["User"], Vec::new()).await.unwrap_err();
            assert_eq!(error.category(), Category::Validation, "{table}");
        }
    });
}

#[test]
fn tables_come_in_order_and_empty_ones_end_too() {
    with_db(async |db| {
        db.run("CREATE TABLE a (x int); CREATE TABLE b (x int); INSERT INTO b VALUES (1)").await;
        db.run("CREATE TABLE c (x int)").await;
        come_in_order(db.connector().await).await;
    });
}

#[test]
fn more_tables_than_statements_are_kept() {
    with_db(async |db| {
        let names: Vec<_> = (0..150).map(|n| format!("t{n:03}")).collect();
        for name in &names {
            db.run(&format!("CREATE TABLE {name} (x int) ENGINE = MEMORY")).await;
            db.run(&format!("INSERT INTO {name} VALUES (1)")).await;
        }
        let tables: Vec<_> =
            names.iter().map(|it| PlannedTable::new(it.as_str(), ["x"], Vec::new())).collect();
        let mut connector = db.connector().await;
        connector.open(Query::new(tables.into())).await.map_err(told).unwrap();
        let mut batch = batch();
        batch = connector.fetch(batch).await.map_err(told).unwrap().0;
        assert_eq!(batch.rows(), 150);
        connector.close().await.unwrap();
    });
}

#[test]
fn modes_and_settings_of_the_server_change_nothing() {
    with_own_db(async |db| {
        db.run(
            "CREATE TABLE `select` (id int PRIMARY KEY, `a\"b` char(5), s varchar(9), d date, \
               z timestamp NULL, c varchar(20)); \
             INSERT INTO `select` VALUES (1, 'x', 'a\\\\b', '0000-00-00', '2024-01-01 12:00:00', \
               'A'), (2, 'y', 'a''b', '2024-02-00', NULL, 'a')",
        )
        .await;
        let ask = async || {
            use fetcher_engine::Filter;
            let fields = ["a\"b", "c", "d", "id", "s", "z"];
            let mut answers = vec![db.read("select", &fields).await];
            for filter in [
                Filter::eq("s", "a\\b"),
                Filter::like("s", "a\\\\b"),
                Filter::eq("s", "a'b"),
                Filter::eq("a\"b", "x"),
                Filter::eq("c", "a"),
                Filter::eq("z", "2024-01-01T12:00:00Z"),
            ] {
                answers.push(db.filtered("select", &fields, vec![filter]).await.unwrap());
            }
            answers
        };
        let before = ask().await;
        assert!(before.iter().all(|rows| !rows.is_empty()), "{before:?}");
        assert_eq!(
            before[0],
            [
                concat!(
                    r#"{"a\"b":"x","c":"A","d":"0000-00-00","id":1,"#,
                    r#""s":"a\\b","z":"2024-01-01T12:00:00Z"}"#
                ),
                r#"{"a\"b":"y","c":"a","d":"2024-02-00","id":2,"s":"a'b","z":null}"#,
            ]
        );
        let settings = [
            (
                "sql_mode",
                "'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PAD_CHAR_TO_FULL_LENGTH,HIGH_NOT_PRECEDENCE,\
                 PIPES_AS_CONCAT,IGNORE_SPACE,NO_ZERO_DATE,NO_ZERO_IN_DATE,STRICT_ALL_TABLES'",
            ),
            ("time_zone", "'+05:30'"),
            ("sql_select_limit", "1"),
            ("autocommit", "0"),
            ("sql_quote_show_create", "0"),
            ("character_set_results", "latin1"),
            ("collation_connection", "utf8mb4_general_ci"),
            ("max_join_size", "1"),
            ("transaction_isolation", "'READ-UNCOMMITTED'"),
            ("tx_isolation", "'READ-UNCOMMITTED'"),
            ("wait_timeout", "1000"),
        ];
        for (name, value) in settings {
            let sql = format!("SELECT CAST(@@GLOBAL.{name} AS CHAR)");
            // Not every server has every one of them.
            if db.try_run(&sql).await.is_err() {
                continue;
            }
            let old = db.texts(&sql).await.remove(0).unwrap_or_default();
            db.run(&format!("SET GLOBAL {name} = {value}")).await;
            let after = ask().await;
            let old = if old.parse::<u64>().is_ok() { old } else { format!("'{old}'") };
            db.run(&format!("SET GLOBAL {name} = {old}")).await;
            assert_eq!(after, before, "{name}");
        }
    });
}

#[test]
fn a_path_into_json_of_another_character_set() {
    with_db(async |db: &Db| {
        if !db.is_mariadb().await {
            return;
        }
        db.run(
            "CREATE TABLE t (d longtext CHARACTER SET latin1 CHECK (json_valid(d)))
             CHARACTER SET utf8mb4",
        )
        .await;
        db.run("INSERT INTO t VALUES ('{\"ä\": \"ö\"}')").await;
        assert_eq!(db.read("t", &["d.ä"]).await, [r#"{"d.ä":"ö"}"#]);
    });
}

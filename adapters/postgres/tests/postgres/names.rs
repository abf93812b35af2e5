//! Discovery and names: what is found, under which name, and that it can be read by that name.

use fetcher_engine::extraction::PlannedTable;
use fetcher_engine::ports::{ConnectorFactory, Query};
use fetcher_engine::{Category, Filter};
use fetcher_postgres::PostgresConnectors;

use crate::support::{factory, with_db};
use crate::testing::database::Database as _;
use crate::testing::names::{come_in_order, discover, names};
use crate::testing::reading::{build, planned, told};
use crate::testing::text::quoted;

#[test]
fn whatever_yields_rows_is_found_and_read() {
    with_db(async |db| {
        db.run(
            "CREATE TABLE plain (a int); INSERT INTO plain VALUES (1);
             CREATE VIEW a_view AS SELECT a + 1 AS a FROM plain;
             CREATE MATERIALIZED VIEW matview AS SELECT a + 2 AS a FROM plain;
             CREATE TABLE parts (a int) PARTITION BY RANGE (a);
             CREATE TABLE part_one PARTITION OF parts FOR VALUES FROM (0) TO (10);
             INSERT INTO parts VALUES (4);
             CREATE TABLE parent (a int); CREATE TABLE child () INHERITS (parent);
             INSERT INTO child VALUES (5);
             CREATE TEMPORARY TABLE temporary (a int);
             CREATE SEQUENCE a_sequence; CREATE TYPE a_type AS (a int);
             CREATE INDEX an_index ON plain (a); CREATE TABLE no_column ()",
        )
        .await;
        let foreign = db
            .client
            .batch_execute(&format!(
                "CREATE EXTENSION postgres_fdw;
                 CREATE SERVER self FOREIGN DATA WRAPPER postgres_fdw
                   OPTIONS (host '{}', port '{}', dbname '{}');
                 CREATE USER MAPPING FOR CURRENT_USER SERVER self OPTIONS (user '{}');
                 CREATE FOREIGN TABLE far (a int) SERVER self OPTIONS (table_name 'plain')",
                db.server.host, db.server.port, db.name, db.server.user
            ))
            .await
            .is_ok();
        let found = discover(db.connector().await).await;
        let mut expected =
            vec!["a_view", "child", "matview", "no_column", "parent", "part_one", "parts", "plain"];
        if foreign {
            expected.insert(2, "far");
        }
        assert_eq!(names(&found), expected);
        for (table, a) in
            [("a_view", 2), ("matview", 3), ("parts", 4), ("part_one", 4), ("parent", 5)]
        {
            assert_eq!(db.read(table, &["a"]).await, [format!(r#"{{"a":{a}}}"#)], "{table}");
        }
        if foreign {
            assert_eq!(db.read("far", &["a"]).await, [r#"{"a":1}"#]);
            let filter = vec![Filter::eq("a", 1_i64)];
            assert_eq!(db.filtered("far", &["a"], filter).await.unwrap(), [r#"{"a":1}"#]);
        }
    });
}

#[test]
fn fields_are_as_catalogued() {
    with_db(async |db| {
        db.run(
            "CREATE DOMAIN filled AS text NOT NULL;
             CREATE TABLE t (b text, a int NOT NULL, c numeric(10,2), gone int, \"D\" int[],
               e filled, PRIMARY KEY (b, a) INCLUDE (c));
             ALTER TABLE t DROP COLUMN gone",
        )
        .await;
        let tables = discover(db.connector().await).await;
        let fields: Vec<_> = tables[0]
            .fields()
            .iter()
            .map(|it| (&*it.name, &*it.source_type, it.nullable, it.primary_key))
            .collect();
        assert_eq!(
            fields,
            [
                ("b", "text", false, Some(1)),
                ("a", "integer", false, Some(2)),
                ("c", "numeric(10,2)", true, None),
                ("D", "integer[]", true, None),
                ("e", "filled", false, None),
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
            "naïve",
            "Order Details",
            "a.b",
            "\"",
            "x'y",
            "tab\there",
            "back\\slash",
            "--",
            "id",
            "Id",
            "$1",
            "%s",
            "🦀",
            "{}",
            "a;b",
        ];
        let quote = |name| quoted('"', name);
        let columns: Vec<_> = ugly.iter().map(|it| format!("{} int", quote(it))).collect();
        let numbers: Vec<_> = (0..ugly.len()).map(|n| n.to_string()).collect();
        for schema in ["public", "Other Schema", "a.b", "q\"q"] {
            db.run(&format!("CREATE SCHEMA IF NOT EXISTS {}", quote(schema))).await;
            for table in ugly {
                let name = format!("{}.{}", quote(schema), quote(table));
                db.run(&format!(
                    "CREATE TABLE {name} ({}); INSERT INTO {name} VALUES ({})",
                    columns.join(", "),
                    numbers.join(", ")
                ))
                .await;
            }
        }
        let found = discover(db.connector().await).await;
        assert_eq!(found.len(), 4 * ugly.len());
        let factory = factory(db.server);
        for table in &found {
            assert_eq!(factory.canonical_table(table.name()), None, "{}", table.name());
            let rows = db.read(table.name(), &ugly).await;
            let row: serde_json::Value = serde_json::from_str(&rows[0]).unwrap();
            for (at, column) in ugly.iter().enumerate() {
                assert_eq!(row[column], at, "{} {column}", table.name());
            }
        }
    });
}

#[test]
fn only_what_may_be_read() {
    with_db(async |db| {
        let role = format!("reader_{}", db.name);
        db.run(&format!(
            "CREATE ROLE {role} LOGIN; CREATE SCHEMA closed; CREATE TABLE closed.t (a int);
             CREATE TABLE secret (a int); CREATE TABLE open (a int, b int);
             CREATE TABLE half (a int, b int);
             GRANT SELECT ON open TO {role}; GRANT SELECT (b) ON half TO {role};
             GRANT SELECT ON closed.t TO {role}"
        ))
        .await;
        let connect = async || {
            let input = db.input().username(role.as_str());
            let mut connector = build(&PostgresConnectors::new(), input).unwrap();
            connector.connect().await.map(|()| connector)
        };
        let Ok(mut connector) = connect().await else {
            db.run(&format!("DROP OWNED BY {role}; DROP ROLE {role}")).await;
            return;
        };
        let tables = connector.discover_schema().await.map_err(told).unwrap();
        assert_eq!(names(&tables), ["half", "open"]);
        let half = tables.iter().find(|table| table.name() == "half").unwrap();
        assert_eq!(half.fields().iter().map(|it| &*it.name).collect::<Vec<_>>(), ["b"]);
        connector.close().await.unwrap();
        let mut connector = connect().await.unwrap_or_else(|error| panic!("{}", told(error)));
        let tables = [
            PlannedTable::new("open", ["a"], Vec::new()),
            PlannedTable::new("secret", ["a"], Vec::new()),
        ];
        let error = connector.open(Query::new(tables.into())).await.unwrap_err();
        assert_eq!((error.category(), error.table()), (Category::Forbidden, Some("secret")));
        connector.close().await.unwrap();
        db.run(&format!("DROP OWNED BY {role}; DROP ROLE {role}")).await;
    });
}

#[test]
fn schemas_out_of_scope_are_neither_found_nor_read() {
    with_db(async |db| {
        db.run("CREATE SCHEMA a; CREATE SCHEMA b; CREATE TABLE a.t (x int)").await;
        db.run("CREATE TABLE b.t (x int); CREATE TABLE t (x int)").await;
        let factory = factory(db.server).schemas(["a", "public"]);
        let mut connector = build(&factory, db.input().option("schemas", "a")).unwrap();
        connector.connect().await.unwrap();
        let tables = connector.discover_schema().await.unwrap();
        assert_eq!(names(&tables), ["a.t"]);
        connector.close().await.unwrap();
        assert!(build(&factory, db.input().option("schemas", "a,b")).is_err());
        for table in ["b.t", "pg_catalog.pg_class", "information_schema.tables", "a.missing"] {
            let mut connector = build(&factory, db.input()).unwrap();
            connector.connect().await.unwrap();
            let error = connector.open(planned(table, &["x"])).await.unwrap_err();
            assert_eq!(error.category(), Category::Validation, "{table}");
            connector.close().await.unwrap();
        }
    });
}

#[test]
fn a_dotted_path_leads_into_composites_and_json() {
    with_db(async |db| {
        db.run(
            "CREATE TYPE inner_t AS (city text, \"Zip\" int4);
             CREATE TYPE address AS (street text, place inner_t);
             CREATE TABLE t (who text, home address, doc jsonb, j json, \"doc.x\" int);
             INSERT INTO t VALUES ('Ada', ROW('s', ROW('London', 7)),
               '{\"a\": {\"b''\": [1, 2.50]}, \"n\": null}', '{\"k\": 1.0}', 9);
             INSERT INTO t (who) VALUES ('Bob')",
        )
        .await;
        let fields =
            ["doc.a.b'", "doc.n", "doc.x", "home.place", "home.place.Zip", "home.street", "j.k"];
        let rows = db.read("t", &fields).await;
        assert_eq!(
            rows,
            [
                concat!(
                    r#"{"doc.a.b'":[1,2.50],"doc.n":null,"doc.x":9,"#,
                    r#""home.place":{"city":"London","Zip":7},"home.place.Zip":7,"#,
                    r#""home.street":"s","j.k":1.0}"#
                ),
                concat!(
                    r#"{"doc.a.b'":null,"doc.n":null,"doc.x":null,"home.place":null,"#,
                    r#""home.place.Zip":null,"home.street":null,"j.k":null}"#
                ),
            ]
        );
        let london = vec![Filter::eq("home.place.city", "London")];
        let rows = db.filtered("t", &["home.place.city", "who"], london).await.unwrap();
        assert_eq!(rows, [r#"{"home.place.city":"London","who":"Ada"}"#]);
        assert!(db.filtered("t", &["who.x"], Vec::new()).await.is_err());
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

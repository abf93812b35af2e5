//! Large results: a cell of 64 MB, wide rows, many rows in batches of bounded size.

use fetcher_engine::{Filter, Value};

use crate::support::{with_db, with_own_db};
use crate::testing::database::Database as _;

#[test]
fn many_rows_come_in_batches_of_bounded_size() {
    with_db(async |db| {
        db.run(
            "CREATE TABLE d (n int); INSERT INTO d VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9);
             CREATE VIEW many AS SELECT a.n + 10 * b.n + 100 * c.n + 1000 * e.n + 10000 * f.n AS n,
               CONCAT('row ', a.n, b.n) AS t FROM d a, d b, d c, d e, d f",
        )
        .await;
        for filters in [Vec::new(), vec![Filter::gte("n", Value::from(0_i64))]] {
            let seen = db.count("many", &["n", "t"], filters).await;
            assert_eq!(seen.rows, 100_000);
            assert!(seen.most < 300 << 10, "{}", seen.most);
        }
    });
}

#[test]
fn a_cell_of_64_mb() {
    // A server that is given may not take packets of that size.
    with_own_db(async |db| {
        db.run("CREATE TABLE big (t longtext, b longblob, id int)").await;
        db.run("INSERT INTO big VALUES (REPEAT('x', 67108864), NULL, 1)").await;
        db.run("INSERT INTO big VALUES (NULL, REPEAT(x'fe', 67108864), 2)").await;
        db.run("INSERT INTO big VALUES ('', '', 3)").await;
        // A large first column is not taken for the end of the rows.
        let seen = db.count("big", &["t"], Vec::new()).await;
        assert_eq!(seen.rows, 3);
        assert!(seen.bytes > 67_108_864);
        let seen = db.count("big", &["b", "id", "t"], Vec::new()).await;
        assert_eq!(seen.rows, 3);
        assert!(seen.bytes > 156_000_000, "{}", seen.bytes);
    });
}

#[test]
fn a_row_of_many_wide_columns() {
    with_db(async |db| {
        let columns: Vec<_> = (0..102).map(|n| format!("c{n:03}")).collect();
        let selected: Vec<_> =
            columns.iter().map(|it| format!("REPEAT('{it}', 10000) AS {it}")).collect();
        db.run("CREATE TABLE d (n int); INSERT INTO d VALUES (1), (2), (3), (4), (5)").await;
        db.run(&format!("CREATE VIEW wide AS SELECT {} FROM d a, d b", selected.join(", "))).await;
        let fields: Vec<_> = columns.iter().map(String::as_str).collect();
        let seen = db.count("wide", &fields, Vec::new()).await;
        assert_eq!(seen.rows, 25);
        assert!(seen.bytes > 25 * 102 * 40_000);
        assert!(seen.most < 5 << 20, "one row at a time: {}", seen.most);
    });
}

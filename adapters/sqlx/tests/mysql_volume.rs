//! Five million rows in constant memory: a process of its own, for the most memory that it ever had
//! is what counts.

#[path = "mysql/server.rs"]
#[expect(dead_code, reason = "what only the other tests need")]
mod server;
#[path = "mysql/support.rs"]
#[expect(dead_code, reason = "what only the other tests need")]
mod support;

use fetcher_engine::ports::Fetched;

use support::{batch, planned, told, with_db};

/// The most memory that this process has had, in megabytes, where the system tells.
fn peak_mb() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<usize>().ok()? / 1024)
}

#[test]
fn five_million_rows() {
    with_db(async |db| {
        db.run(
            "CREATE TABLE d (n int); INSERT INTO d VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9);
             CREATE VIEW many AS SELECT a.n + 10 * b.n AS n, 'some text' AS t
               FROM d a, d b, d c, d e, d f, d g, (SELECT n FROM d WHERE n < 5) h",
        )
        .await;
        let mut connector = db.connector().await;
        connector.open(planned("many", &["n", "t"])).await.map_err(told).unwrap();
        let before = peak_mb();
        let mut batch = batch();
        let mut rows = 0;
        loop {
            let (filled, fetched) = connector.fetch(batch).await.map_err(told).unwrap();
            batch = filled;
            rows += batch.rows();
            batch.clear();
            if fetched == Fetched::End {
                break;
            }
        }
        connector.close().await.map_err(told).unwrap();
        assert_eq!(rows, 5_000_000);
        if let (Some(before), Some(after)) = (before, peak_mb()) {
            println!("{before} MB before, {after} MB after");
            assert!(after - before < 20, "{before} MB before, {after} MB after");
        }
    });
}

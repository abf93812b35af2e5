//! How far the engine is from the bare driver, on one table of a MySQL or MariaDB server:
//!
//! - `drain`: sqlx alone, every row received and dropped;
//! - `hand_written`: sqlx, serde_json and sha2, the loop that one would write;
//! - `engine`: a plan and its execution in store mode, from connecting to the digest.

use std::sync::Arc;

use fetcher_engine::ConnectionInput;
use fetcher_sqlx::MySqlConnectors;
use sqlx::mysql::{MySqlConnectOptions, MySqlConnection, MySqlSslMode};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Executor as _};
use tokio::runtime;
use url::Url;

use crate::Error;
use crate::by_sqlx::{drain, hand_written};
use crate::database::{Contestant, DRAIN, ENGINE, Extraction, Options, Password, input, race};

/// Runs the benchmark and says its results.
pub(crate) fn run(args: &[&str]) -> Result<(), Error> {
    let options = Options::parse(args)?;
    let url: Url = options.url()?.parse()?;
    let Options { table: name, make_rows, runs, .. } = options;
    let table = format!("`{}`", name.replace('`', "``"));
    let select = &format!("SELECT * FROM {table}");
    // One thread for all of them; without TLS, as for the engine.
    let tokio = runtime::Builder::new_current_thread().enable_all().build()?;
    let driver = MySqlConnectOptions::from_url(&url)?.ssl_mode(MySqlSslMode::Disabled);
    let driver = &driver.disable_statement_logging();
    if let Some(rows) = make_rows {
        tokio.block_on(make(driver, &table, rows))?;
    }
    let mut connectors = MySqlConnectors::new();
    if let Some(password) = url.password() {
        connectors = connectors.credentials(Arc::new(Password(password.as_bytes().to_vec())));
    }
    let extraction = Extraction::new(Arc::new(connectors), connection(&url)?, name);
    let extraction = tokio.block_on(extraction)?;
    let contestants = vec![
        Contestant::new(DRAIN, || {
            tokio.block_on(async {
                let mut connection = driver.connect().await?;
                drain(sqlx::query(AssertSqlSafe(select.as_str())).fetch(&mut connection)).await
            })
        }),
        Contestant::new("hand_written", || {
            tokio.block_on(async {
                let mut connection = driver.connect().await?;
                hand_written(sqlx::query(AssertSqlSafe(select.as_str())).fetch(&mut connection))
                    .await
            })
        }),
        Contestant::new(ENGINE, || tokio.block_on(extraction.run())),
    ];
    race(runs, contestants)
}

/// The same server for the engine: a socket where the URL names one, as the driver has it.
fn connection(url: &Url) -> Result<ConnectionInput, Error> {
    let socket = url.query_pairs().find(|(name, _)| name == "socket");
    let host = match &socket {
        Some((_, path)) => path,
        None => url.host_str().ok_or("the URL names no host")?,
    };
    Ok(input()
        .host(host)
        .port(url.port().unwrap_or(3306))
        .database(url.path().trim_start_matches('/'))
        .username(url.username())
        .option("sslMode", "disable"))
}

/// Makes a table like the flights from New York: nineteen columns, the same for every run. The
/// numbers come from eight digits, which every server can count.
async fn make(driver: &MySqlConnectOptions, table: &str, rows: u64) -> Result<(), Error> {
    const DIGIT: &str = "(SELECT 0 AS d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3
        UNION ALL SELECT 4 UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7
        UNION ALL SELECT 8 UNION ALL SELECT 9)";
    let digits = (0..8).map(|at| format!("{DIGIT} AS d{at}")).collect::<Vec<_>>().join(", ");
    let number = (0..8).map(|at| format!("d{at}.d * {}", 10_u64.pow(at)));
    let number = number.collect::<Vec<_>>().join(" + ");
    let mut connection: MySqlConnection = driver.connect().await?;
    for sql in [
        format!("DROP TABLE IF EXISTS {table}"),
        format!(
            "CREATE TABLE {table} (year INT, month INT, day INT, dep_time INT, sched_dep_time INT,
               dep_delay INT, arr_time INT, sched_arr_time INT, arr_delay INT, carrier VARCHAR(2),
               flight INT, tailnum VARCHAR(6), origin VARCHAR(3), dest VARCHAR(3), air_time INT,
               distance INT, hour INT, minute INT, time_hour DATETIME) CHARACTER SET utf8mb4"
        ),
        format!(
            "INSERT INTO {table} SELECT 2013, n DIV 27000 % 12 + 1, n DIV 900 % 28 + 1,
               IF(n % 41 = 0, NULL, n % 2359), n * 7 % 2359,
               IF(n % 41 = 0, NULL, n % 200 - 20), n * 3 % 2359, n * 11 % 2359, n % 180 - 30,
               SUBSTR('UAAAB6DLEVMQUSWN', n % 8 * 2 + 1, 2), n % 5000,
               CONCAT('N', LPAD(n % 99999, 5, '0')), SUBSTR('EWRLGAJFK', n % 3 * 3 + 1, 3),
               SUBSTR('IAHMIABQNATLORDFLL', n % 6 * 3 + 1, 3), n % 400 + 20, n % 3000 + 100,
               n % 24, n % 60, TIMESTAMP('2013-01-01') + INTERVAL n % 8760 HOUR
             FROM (SELECT {number} + 1 AS n FROM {digits}) AS numbers WHERE n <= {rows}"
        ),
        format!("ANALYZE TABLE {table}"),
    ] {
        connection.execute(AssertSqlSafe(sql)).await?;
    }
    Ok(())
}

//! How far the engine is from the bare driver, on one table:
//!
//! `cargo run --release -p fetcher-postgres --example bench_postgres -- --url URL --table NAME
//! [--make-rows N] [--runs N]`
//!
//! - `drain`: tokio-postgres alone, every row received and dropped;
//! - `hand_written`: tokio-postgres, serde_json and sha2, the loop that one would write;
//! - `copy_row_to_json`: `COPY (SELECT row_to_json(t) …) TO STDOUT`, hashed;
//! - `engine`: plan and execution in store mode into a sink that drops, digest included.
//!
//! They alternate, and the median of the runs counts.

use std::error::Error;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

use fetcher_engine::extraction::Receipt;
use fetcher_engine::memory::{MemoryConnectionStore, MemoryConnectorRegistry};
use fetcher_engine::ports::{
    BoxFuture, CredentialResolver, ResultHeader, ResultSink, ResultWriter,
};
use fetcher_engine::{
    ConnectionDescriptor, ConnectionInput, Engine, ExecuteOptions, ExtractionRequest, Limits, Mode,
    PortError, Secret, TenantId, value,
};
use fetcher_postgres::PostgresConnectors;
use sha2::{Digest, Sha256};
use tokio_postgres::config::Host;
use tokio_postgres::types::{FromSql, Type};
use tokio_postgres::{Client, Config, NoTls, Row};

type Answer<T> = Result<T, Box<dyn Error>>;

struct Options {
    url: String,
    table: String,
    make_rows: Option<u64>,
    runs: usize,
}

fn main() -> Answer<()> {
    let options = options()?;
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(run(&options))
}

fn options() -> Answer<Options> {
    let mut options =
        Options { url: String::new(), table: "bench_flights".to_owned(), make_rows: None, runs: 5 };
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or("an option needs a value")?;
        match name.as_str() {
            "--url" => options.url = value,
            "--table" => options.table = value,
            "--make-rows" => options.make_rows = Some(value.parse()?),
            "--runs" => options.runs = value.parse()?,
            _ => return Err(format!("{name} is not an option").into()),
        }
    }
    Ok(options)
}

async fn run(options: &Options) -> Answer<()> {
    let config: Config = options.url.parse()?;
    let client = connect(&config).await?;
    let table = options.table.as_str();
    if let Some(rows) = options.make_rows {
        make(&client, table, rows).await?;
    }
    let engine = engine(&config)?;
    engine.create_connection("bench", input(&config)?).await?;
    let mut times = [const { Vec::new() }; 4];
    let (mut rows, mut peak) = (0, 0);
    for _ in 0..options.runs.max(1) {
        let began = Instant::now();
        rows = drain(&client, table).await?;
        times[0].push(began.elapsed().as_secs_f64());
        let began = Instant::now();
        let by_hand = hand_written(&client, table).await?;
        times[1].push(began.elapsed().as_secs_f64());
        let began = Instant::now();
        copy_row_to_json(&client, table).await?;
        times[2].push(began.elapsed().as_secs_f64());
        reset_peak();
        let began = Instant::now();
        let request = ExtractionRequest::new().table("pg", table, ["*"]);
        let plan = engine.plan_extraction("bench", &request).await?;
        let result =
            engine.execute_extraction(&plan, ExecuteOptions::new().mode(Mode::Store)).await?;
        times[3].push(began.elapsed().as_secs_f64());
        peak = peak.max(peak_mb());
        if result.rows != rows || by_hand != rows {
            return Err("they read different numbers of rows".into());
        }
    }
    let [drain, hand, copy, engine] = times.map(median);
    println!("rows={rows}");
    println!("drain_s={drain:.3}");
    println!("hand_written_s={hand:.3}");
    println!("copy_row_to_json_s={copy:.3}");
    println!("engine_s={engine:.3}");
    println!("engine_over_drain={:.3}", engine / drain);
    println!("peak_mb={peak}");
    Ok(())
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

async fn connect(config: &Config) -> Answer<Client> {
    let (client, connection) = config.connect(NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

/// A table like the flights from New York: nineteen columns, the same for every run.
async fn make(client: &Client, table: &str, rows: u64) -> Answer<()> {
    let sql = format!(
        "DROP TABLE IF EXISTS {table};
         CREATE TABLE {table} AS SELECT
           2013 AS year, (n / 27000 % 12 + 1)::int4 AS month, (n / 900 % 28 + 1)::int4 AS day,
           CASE WHEN n % 41 = 0 THEN NULL ELSE (n % 2359)::int4 END AS dep_time,
           (n * 7 % 2359)::int4 AS sched_dep_time,
           CASE WHEN n % 41 = 0 THEN NULL ELSE (n % 200 - 20)::int4 END AS dep_delay,
           (n * 3 % 2359)::int4 AS arr_time, (n * 11 % 2359)::int4 AS sched_arr_time,
           (n % 180 - 30)::int4 AS arr_delay,
           (ARRAY['UA','AA','B6','DL','EV','MQ','US','WN'])[n % 8 + 1] AS carrier,
           (n % 5000)::int4 AS flight, 'N' || lpad((n % 99999)::text, 5, '0') AS tailnum,
           (ARRAY['EWR','LGA','JFK'])[n % 3 + 1] AS origin,
           (ARRAY['IAH','MIA','BQN','ATL','ORD','FLL'])[n % 6 + 1] AS dest,
           (n % 400 + 20)::int4 AS air_time, (n % 3000 + 100)::int4 AS distance,
           (n % 24)::int4 AS hour, (n % 60)::int4 AS minute,
           timestamptz '2013-01-01 00:00:00+00' + make_interval(hours => (n % 8760)::int4)
             AS time_hour
         FROM generate_series(1, {rows}) AS n;
         ANALYZE {table}"
    );
    Ok(client.batch_execute(&sql).await?)
}

async fn drain(client: &Client, table: &str) -> Answer<u64> {
    let rows = client.query_raw(&format!("SELECT * FROM {table}"), [""; 0]).await?;
    let mut rows = pin!(rows);
    let mut count = 0;
    while let Some(row) = next(&mut rows).await {
        drop(row?);
        count += 1;
    }
    Ok(count)
}

async fn next<S: futures_core::Stream>(stream: &mut std::pin::Pin<&mut S>) -> Option<S::Item> {
    std::future::poll_fn(|cx| match stream.as_mut().poll_next(cx) {
        Poll::Ready(item) => Poll::Ready(item),
        Poll::Pending => Poll::Pending,
    })
    .await
}

async fn hand_written(client: &Client, table: &str) -> Answer<u64> {
    let rows = client.query_raw(&format!("SELECT * FROM {table}"), [""; 0]).await?;
    let mut rows = pin!(rows);
    let (mut count, mut hash, mut line) = (0, Sha256::new(), Vec::new());
    while let Some(row) = next(&mut rows).await {
        line.clear();
        write_row(&row?, &mut line)?;
        line.push(b'\n');
        hash.update(&line);
        count += 1;
    }
    std::hint::black_box(hash.finalize());
    Ok(count)
}

fn write_row(row: &Row, line: &mut Vec<u8>) -> Answer<()> {
    line.push(b'{');
    for (at, column) in row.columns().iter().enumerate() {
        if at > 0 {
            line.push(b',');
        }
        serde_json::to_writer(&mut *line, column.name())?;
        line.push(b':');
        match *column.type_() {
            Type::INT4 => serde_json::to_writer(&mut *line, &row.try_get::<_, Option<i32>>(at)?)?,
            Type::TEXT => serde_json::to_writer(&mut *line, &row.try_get::<_, Option<&str>>(at)?)?,
            Type::TIMESTAMPTZ => {
                let moment = row.try_get::<_, Option<Moment>>(at)?;
                let text = moment.and_then(|Moment(micros)| {
                    let seconds = micros.div_euclid(1_000_000) + 946_684_800;
                    let nanos = micros.rem_euclid(1_000_000) as u32 * 1000;
                    value::Instant::new(seconds, nanos).map(|instant| instant.to_string())
                });
                serde_json::to_writer(&mut *line, &text)?;
            }
            ref other => return Err(format!("the loop does not know {other}").into()),
        }
    }
    line.push(b'}');
    Ok(())
}

/// Microseconds since 2000.
struct Moment(i64);

impl<'a> FromSql<'a> for Moment {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self(i64::from_be_bytes(raw.try_into()?)))
    }

    fn accepts(kind: &Type) -> bool {
        *kind == Type::TIMESTAMPTZ
    }
}

async fn copy_row_to_json(client: &Client, table: &str) -> Answer<()> {
    let sql = format!("COPY (SELECT row_to_json(t) FROM {table} AS t) TO STDOUT");
    let stream = client.copy_out(&sql).await?;
    let mut stream = pin!(stream);
    let mut hash = Sha256::new();
    while let Some(chunk) = next(&mut stream).await {
        hash.update(&chunk?);
    }
    std::hint::black_box(hash.finalize());
    Ok(())
}

fn engine(config: &Config) -> Answer<Engine> {
    let mut connectors = PostgresConnectors::new();
    if let Some(password) = config.get_password() {
        connectors = connectors.credentials(Arc::new(Fixed(password.to_vec())));
    }
    let registry = MemoryConnectorRegistry::new().with("postgres", Arc::new(connectors));
    let mut limits = Limits::default();
    (limits.max_result_bytes, limits.max_duration) = (u64::MAX, None);
    let engine = Engine::builder()
        .connectors(Arc::new(registry))
        .connection_store(Arc::new(MemoryConnectionStore::new()))
        .result_sink(Arc::new(Nowhere))
        .limits(limits);
    Ok(engine.build()?)
}

fn input(config: &Config) -> Answer<ConnectionInput> {
    let host = match config.get_hosts().first() {
        Some(Host::Tcp(host)) => host.clone(),
        Some(Host::Unix(path)) => path.display().to_string(),
        None => return Err("the URL names no host".into()),
    };
    Ok(ConnectionInput::new("pg", "postgres")
        .host(host)
        .port(config.get_ports().first().copied().unwrap_or(5432))
        .database(config.get_dbname().ok_or("the URL names no database")?)
        .username(config.get_user().ok_or("the URL names no user")?)
        .option("sslMode", "disable"))
}

struct Fixed(Vec<u8>);

impl CredentialResolver for Fixed {
    fn resolve<'a>(
        &'a self,
        _: &'a TenantId,
        _: &'a ConnectionDescriptor,
    ) -> BoxFuture<'a, Result<Option<Secret>, PortError>> {
        Box::pin(async { Ok(Some(Secret::from(self.0.clone()))) })
    }
}

/// Takes everything and keeps nothing.
struct Nowhere;

impl ResultSink for Nowhere {
    fn open_stream<'a>(
        &'a self,
        _: &'a TenantId,
        _: ResultHeader,
    ) -> BoxFuture<'a, Result<Box<dyn ResultWriter>, PortError>> {
        Box::pin(async { Ok(Box::new(Self) as Box<dyn ResultWriter>) })
    }
}

impl ResultWriter for Nowhere {
    fn write<'a>(&'a mut self, bytes: &'a [u8]) -> BoxFuture<'a, Result<(), PortError>> {
        std::hint::black_box(bytes);
        Box::pin(async { Ok(()) })
    }

    fn close(self: Box<Self>) -> BoxFuture<'static, Result<Receipt, PortError>> {
        Box::pin(async { Ok(Receipt::new("nowhere")) })
    }

    fn abort(self: Box<Self>) -> BoxFuture<'static, Result<(), PortError>> {
        Box::pin(async { Ok(()) })
    }
}

/// Forgets the peak so far, where the system can.
fn reset_peak() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// The most memory since then, in megabytes; 0 where the system does not tell.
fn peak_mb() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kb| kb.parse::<usize>().ok()).unwrap_or(0) / 1024
}

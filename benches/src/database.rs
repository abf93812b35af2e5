//! What the benchmarks of all databases share: their options, the engine with a sink that keeps
//! nothing, and the race of several ways to read one table.
//!
//! Keeps true: those who are compared take turns within each round, and have all read the same
//! number of rows.

use std::sync::Arc;

use fetcher_engine::memory::{MemoryConnectionStore, MemoryConnectorRegistry};
use fetcher_engine::ports::{BoxFuture, ConnectorFactory, CredentialResolver};
use fetcher_engine::{
    ConnectionDescriptor, ConnectionInput, Engine, ExecuteOptions, ExtractionRequest, Limits, Mode,
    PortError, Secret, TenantId,
};

use crate::fixture::Discard;
use crate::memory::{forget_peak, peak_bytes};
use crate::stats::{median, say, timed};
use crate::{Error, count, usage};

/// The contestant that only receives.
pub(crate) const DRAIN: &str = "drain";
/// The contestant that is measured against it.
pub(crate) const ENGINE: &str = "engine";

const TENANT: &str = "bench";
const DATASOURCE: &str = "db";
const KIND: &str = "database";

/// The table where no other is named.
const TABLE: &str = "fetcher_bench_flights";

/// Which table, and how often.
pub(crate) struct Options<'a> {
    /// Where the database is; `None` where it can be made.
    pub(crate) url: Option<&'a str>,
    pub(crate) table: &'a str,
    /// Makes the table anew, with so many rows.
    pub(crate) make_rows: Option<u64>,
    pub(crate) runs: u64,
}

impl<'a> Options<'a> {
    /// Reads `[--url URL] [--table NAME] [--make-rows N] [--runs N]`.
    pub(crate) fn parse(args: &[&'a str]) -> Result<Self, Error> {
        let (mut url, mut table, mut make_rows, mut runs) = (None, TABLE, None, 5);
        let (pairs, rest) = args.as_chunks::<2>();
        for &[name, value] in pairs {
            match name {
                "--url" => url = Some(value),
                "--table" => table = value,
                "--make-rows" => make_rows = Some(count(value)?),
                "--runs" => runs = count(value)?,
                unknown => return Err(usage(&format!("there is no option {unknown:?}"))),
            }
        }
        if let [name] = rest {
            return Err(usage(&format!("{name:?} needs a value")));
        }
        Ok(Self { url, table, make_rows, runs })
    }

    /// Where the database is, which must be said.
    pub(crate) fn url(&self) -> Result<&'a str, Error> {
        self.url.ok_or_else(|| usage("which --url?"))
    }
}

/// A connection to whatever [`Extraction`] has a factory for; the rest is the database's own.
pub(crate) fn input() -> ConnectionInput {
    ConnectionInput::new(DATASOURCE, KIND)
}

/// The whole of one table through the engine, digest included, again and again.
pub(crate) struct Extraction {
    engine: Engine,
    request: ExtractionRequest,
}

impl Extraction {
    /// Over an [`input`] and the factory for it, with every limit out of the way.
    pub(crate) async fn new(
        factory: Arc<dyn ConnectorFactory>,
        input: ConnectionInput,
        table: &str,
    ) -> Result<Self, Error> {
        let mut limits = Limits::default();
        (limits.max_result_bytes, limits.max_duration) = (u64::MAX, None);
        let engine = Engine::builder()
            .connectors(Arc::new(MemoryConnectorRegistry::new().with(KIND, factory)))
            .connection_store(Arc::new(MemoryConnectionStore::new()))
            .result_sink(Arc::new(Discard::default()))
            .limits(limits)
            .build()?;
        engine.create_connection(TENANT, input).await?;
        let request = ExtractionRequest::new().table(DATASOURCE, table, ["*"]);
        Ok(Self { engine, request })
    }

    /// Connects, plans, connects again, extracts in store mode; the number of rows.
    pub(crate) async fn run(&self) -> Result<u64, Error> {
        let plan = self.engine.plan_extraction(TENANT, &self.request).await?;
        let options = ExecuteOptions::new().mode(Mode::Store);
        Ok(self.engine.execute_extraction(&plan, options).await?.rows)
    }
}

/// The password that a URL names.
pub(crate) struct Password(pub(crate) Vec<u8>);

impl CredentialResolver for Password {
    fn resolve<'a>(
        &'a self,
        _: &'a TenantId,
        _: &'a ConnectionDescriptor,
    ) -> BoxFuture<'a, Result<Option<Secret>, PortError>> {
        Box::pin(async { Ok(Some(Secret::from(self.0.clone()))) })
    }
}

/// One way to read the table, and how it did.
pub(crate) struct Contestant<'a> {
    name: &'static str,
    read: Box<dyn FnMut() -> Result<u64, Error> + 'a>,
    seconds: Vec<f64>,
    /// The most memory that this process had while it read, where the system tells.
    peak: Option<u64>,
}

impl<'a> Contestant<'a> {
    /// Reads the table once with each call and gives the number of rows.
    pub(crate) fn new(name: &'static str, read: impl FnMut() -> Result<u64, Error> + 'a) -> Self {
        Self { name, read: Box::new(read), seconds: Vec::new(), peak: None }
    }

    fn run(&mut self) -> Result<u64, Error> {
        forget_peak();
        let (rows, seconds) = timed(&mut self.read);
        self.seconds.push(seconds);
        self.peak = self.peak.max(peak_bytes().ok());
        rows
    }
}

/// Lets them read in turn, so many times, and says who was how fast. [`DRAIN`] and [`ENGINE`] are
/// among them.
pub(crate) fn race(runs: u64, mut contestants: Vec<Contestant<'_>>) -> Result<(), Error> {
    let mut agreed = None;
    for round in 1..=runs {
        eprint!("round {round}:");
        for contestant in &mut contestants {
            let rows = contestant.run()?;
            let seconds = contestant.seconds.last().copied().unwrap_or(f64::NAN);
            eprint!(" {} {seconds:.3}", contestant.name);
            if *agreed.get_or_insert(rows) != rows {
                return Err(format!("{} read {rows} rows", contestant.name).into());
            }
        }
        eprintln!(" s");
    }
    say("rows", agreed.unwrap_or(0) as f64, 0);
    for Contestant { name, seconds, .. } in &contestants {
        say(&format!("{name}_s"), median(seconds.clone()), 3);
    }
    let find = |name| contestants.iter().find(|contestant| contestant.name == name);
    let (Some(drain), Some(engine)) = (find(DRAIN), find(ENGINE)) else {
        return Err("nothing to compare".into());
    };
    let both = engine.seconds.iter().zip(&drain.seconds);
    say("engine_over_drain", median(both.map(|(engine, drain)| engine / drain).collect()), 3);
    if let Some(peak) = engine.peak {
        say("peak_mb", peak as f64 / 1e6, 1);
    }
    Ok(())
}

//! Measures the engine: `encode`, `memory`, `plan`; and its adapters: `postgres`, `sqlite`,
//! `mysql`.
//!
//! Results go to standard output as `name=value` lines, one to a line and nothing else; notes go to
//! standard error. A usage error is told there, too, and ends with exit status 2.
//!
//! MB are millions of bytes. Times are wall-clock times on one thread, medians of several rounds;
//! what is compared alternates within each round, so that a noisy machine disturbs all alike.

mod alloc_count;
mod by_sqlx;
mod database;
mod encode;
mod fixture;
mod hand_written;
mod memory;
mod mysql;
mod plan;
mod postgres;
mod rows;
mod sqlite;
mod stats;

use std::env;
use std::fmt;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: alloc_count::Counting = alloc_count::Counting;

const USAGE: &str = "\
usage: fetcher-benches encode [--rows N]     store and direct mode beside a hand-written loop
       fetcher-benches memory [--rows A,B]   peak resident memory of store mode, per size
       fetcher-benches plan                  making a plan from a warm schema cache
       fetcher-benches postgres --url URL [--table NAME] [--make-rows N] [--runs N]
       fetcher-benches mysql --url URL [--table NAME] [--make-rows N] [--runs N]
       fetcher-benches sqlite [--url PATH] [--table NAME] [--make-rows N] [--runs N]
                                             one table, beside the bare driver; without a path
                                             a file is made";

/// Why a benchmark did not come to its end.
type Error = Box<dyn std::error::Error + Send + Sync>;

/// The command line is wrong.
#[derive(Debug)]
struct Usage(String);

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.is::<Usage>() => {
            eprintln!("error: {error}\n{USAGE}");
            ExitCode::from(2)
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &[&str]) -> Result<(), Error> {
    match args {
        ["encode", options @ ..] => {
            let [rows] = sizes(options, "1000000")?[..] else {
                return Err(usage("encode takes one number of rows"));
            };
            encode::run(rows)
        }
        ["memory", options @ ..] => memory::run(&sizes(options, "1000000,10000000")?),
        // What `memory` starts in a process of its own.
        [memory::CHILD, rows] => memory::child(count(rows)?),
        ["plan"] => plan::run(),
        ["plan", unknown, ..] => Err(usage(&format!("plan takes no {unknown:?}"))),
        ["postgres", options @ ..] => postgres::run(options),
        ["mysql", options @ ..] => mysql::run(options),
        ["sqlite", options @ ..] => sqlite::run(options),
        [unknown, ..] => Err(usage(&format!("there is no benchmark {unknown:?}"))),
        [] => Err(usage("which benchmark?")),
    }
}

/// Reads `--rows A,B,…`.
fn sizes(options: &[&str], default: &str) -> Result<Vec<u64>, Error> {
    let rows = match options {
        [] => default,
        ["--rows", rows] => rows,
        ["--rows"] => return Err(usage("--rows needs a number")),
        [unknown, ..] => return Err(usage(&format!("there is no option {unknown:?}"))),
    };
    rows.split(',').map(count).collect()
}

fn count(text: &str) -> Result<u64, Error> {
    match text.parse() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err(usage(&format!("{text:?} is no number above zero"))),
    }
}

fn usage(text: &str) -> Error {
    Usage(text.to_owned()).into()
}

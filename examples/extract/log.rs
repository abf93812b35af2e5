//! Where private causes come out: this host's own log, which is standard error.

use std::fmt::Display;
use std::io::{self, Write};

use fetcher_engine::ports::{Failure, Observability, Span};

/// Writes a line to standard error. It may be closed, and that is nobody's problem here.
pub(crate) fn note(line: impl Display) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// Logs why operations fail. Such a cause may hold a file's name, a driver's words, even a
/// password: it belongs into a log that only the host reads, and never into an answer to a caller.
#[derive(Debug)]
pub(crate) struct Log;

impl Observability for Log {
    fn start_span(&self, operation: &'static str) -> Box<dyn Span> {
        Box::new(Operation(operation))
    }
}

struct Operation(&'static str);

impl Operation {
    fn log(&self, what: &str, failure: &Failure<'_>) {
        let Self(operation) = self;
        match failure.cause() {
            Some(cause) => note(format_args!("log: {operation} {what}: {cause}")),
            None => note(format_args!("log: {operation} {what}: {}", failure.error())),
        }
    }
}

impl Span for Operation {
    fn failed(&mut self, failure: &Failure<'_>) {
        self.log("failed", failure);
    }

    fn degraded(&mut self, failure: &Failure<'_>) {
        self.log("went on without something", failure);
    }
}

//! What every SQL adapter refuses, in the same words. Keeps true: no value of a tenant's, and
//! nothing secret, is in a text; what a driver said goes along as the private cause.

use fetcher_engine::PortError;
use fetcher_engine::extraction::PlannedTable;

/// The connection's own description is wrong: `validation`.
#[must_use]
pub fn invalid(what: impl Into<String>) -> PortError {
    PortError::validation().caused_by(what.into())
}

/// The source sent what the adapter cannot read: `internal`.
#[must_use]
pub fn malformed(what: &'static str) -> PortError {
    PortError::internal().caused_by(what)
}

/// A method was called when its contract does not allow it: `internal`.
#[must_use]
pub fn out_of_order() -> PortError {
    PortError::internal().caused_by("a connector method was called out of order")
}

/// A table of the query cannot be read as asked: `validation`, with its name.
#[must_use]
pub fn refused(table: &PlannedTable, why: &'static str) -> PortError {
    PortError::validation().at_table(table.name()).caused_by(why)
}

/// The query asks for a table that is not there, or not in scope.
pub const NO_TABLE: &str = "there is no such table in scope";

/// The query asks for a column that is not there.
pub const NO_COLUMN: &str = "there is no such column";

/// A filter cannot mean here what it means in the engine.
pub const NO_FILTER: &str = "a filter does not apply to its column";

//! What goes wrong, as categories. Keeps true: what the library said is in the private cause only.

use fetcher_engine::{Category, PortError};

/// The result codes that are told apart; see SQLite's "Result and Error Codes".
const ERROR: i32 = 1;
const BUSY: i32 = 5;
const INTERRUPT: i32 = 9;

/// What was said while reading. `late` is whether the deadline has passed.
pub(super) fn reading(error: sqlx::Error, late: bool) -> PortError {
    let category = if late && is_code(&error, INTERRUPT) {
        Category::Timeout
    } else if is_code(&error, ERROR) && is_unknown(&error) {
        Category::Validation
    } else {
        Category::Unavailable
    };
    PortError::new(category).caused_by(error)
}

/// What was said where neither a deadline nor a query counts.
pub(super) fn querying(error: sqlx::Error) -> PortError {
    PortError::unavailable().caused_by(error)
}

/// What was said while a lock was waited for. `cut_short` is whether only until the deadline.
pub(super) fn waiting(error: sqlx::Error, cut_short: bool) -> PortError {
    let category =
        if cut_short && is_code(&error, BUSY) { Category::Timeout } else { Category::Unavailable };
    PortError::from(category).caused_by(error)
}

fn is_code(error: &sqlx::Error, code: i32) -> bool {
    let found = error.as_database_error().and_then(|error| error.code()?.parse::<i32>().ok());
    // The lowest byte is the primary code.
    found.is_some_and(|found| found & 0xFF == code)
}

/// Whether a name is not known, or what it names may not be used by a schema: the only way to tell
/// is the text.
fn is_unknown(error: &sqlx::Error) -> bool {
    let is = |message: &str| message.starts_with("no such") || message.starts_with("unsafe use");
    error.as_database_error().is_some_and(|error| is(error.message()))
}

//! What goes wrong, as categories. Keeps true: a password is in no cause, for the driver is never
//! shown one in a place that it prints; what the server said is in the private cause only.

use fetcher_engine::Category;
use fetcher_engine::PortError;
use tokio_postgres::error::SqlState;

/// What the driver or the server said while connecting.
pub(crate) fn connecting(error: tokio_postgres::Error) -> PortError {
    let code = error.code();
    let is = |codes: &[SqlState]| code.is_some_and(|code| codes.contains(code));
    let category =
        if is(&[SqlState::INVALID_PASSWORD, SqlState::INVALID_AUTHORIZATION_SPECIFICATION]) {
            Category::Unauthorized
        } else if is(&[SqlState::INSUFFICIENT_PRIVILEGE]) {
            Category::Forbidden
        } else {
            Category::Unavailable
        };
    PortError::new(category).caused_by(error)
}

/// What it said while a query was opened or read. `late` is whether the deadline that the server
/// was told has passed.
pub(crate) fn querying(error: tokio_postgres::Error, late: bool) -> PortError {
    let category = match error.code() {
        Some(code) if *code == SqlState::INSUFFICIENT_PRIVILEGE => Category::Forbidden,
        Some(code) if *code == SqlState::QUERY_CANCELED && late => Category::Timeout,
        _ => Category::Unavailable,
    };
    PortError::new(category).caused_by(error)
}

/// What it said about a statement that has not been run yet: here the fault may lie in the query.
pub(crate) fn preparing(error: tokio_postgres::Error, late: bool) -> PortError {
    /// Data exceptions, syntax errors and unknown names, operators, types.
    const OF_THE_QUERY: [&str; 2] = ["22", "42"];
    match error.code() {
        Some(code)
            if *code != SqlState::INSUFFICIENT_PRIVILEGE
                && OF_THE_QUERY.iter().any(|class| code.code().starts_with(class)) =>
        {
            PortError::validation().caused_by(error)
        }
        _ => querying(error, late),
    }
}

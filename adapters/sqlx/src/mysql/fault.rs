//! What goes wrong, as categories. Keeps true: what the server said is in the private cause only,
//! and what the driver says of a key is not even there.

use fetcher_engine::{Category, PortError};
use sqlx::Error;
use sqlx::mysql::MySqlDatabaseError;

/// The number of the server's error.
pub(super) fn number(error: &Error) -> Option<u16> {
    let error = error.as_database_error()?;
    Some(error.try_downcast_ref::<MySqlDatabaseError>()?.number())
}

/// What was said while connecting. `shows_key` is whether a client's key was part of it.
pub(super) fn connecting(error: Error, shows_key: bool) -> PortError {
    let category = match number(&error) {
        // Access denied, to the server or the database; host not allowed; account locked, password
        // expired.
        Some(1044 | 1045 | 1130 | 1698 | 1820 | 1862 | 3118 | 4151) => Category::Unauthorized,
        // Unknown database.
        Some(1049) => Category::Validation,
        // Encrypted or not at all, says the server.
        Some(3159) => Category::Forbidden,
        _ => Category::Unavailable,
    };
    let failed = PortError::from(category);
    match error {
        // The driver quotes what it could not read.
        Error::Configuration(_) if shows_key => {
            failed.caused_by("the client's certificate or key cannot be read")
        }
        Error::Configuration(_) => {
            failed.caused_by("this server's way of logging in needs an encrypted connection")
        }
        error => failed.caused_by(error),
    }
}

/// What was said of a statement or while reading. `late` is whether the deadline has passed.
pub(super) fn querying(error: Error, late: bool) -> PortError {
    let category = match number(&error) {
        // No privilege on a table, a column, a routine; on what a view is made of.
        Some(1142 | 1143 | 1370 | 1345) => Category::Forbidden,
        // Unknown or ambiguous columns and tables, syntax, collations, broken views, wrong values.
        Some(1052 | 1054 | 1064 | 1109 | 1146 | 1267 | 1271 | 1292 | 1305 | 1356 | 1525) => {
            Category::Validation
        }
        // Its own timer, or a kill.
        Some(1317 | 1969 | 3024) if late => Category::Timeout,
        _ => Category::Unavailable,
    };
    PortError::from(category).caused_by(error)
}

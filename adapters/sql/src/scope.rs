//! What a connection may see of what its host allows. Keeps true: a connection narrows the scope
//! and never widens it.

use std::sync::Arc;

use fetcher_engine::PortError;

use crate::fault::invalid;

/// Reads a list of schemas, separated by commas, within those that are allowed (`None`: all).
///
/// # Errors
/// `validation` for a list without a name and for a name that is not allowed.
pub fn narrow(allowed: Option<&[String]>, list: &str) -> Result<Arc<[String]>, PortError> {
    let asked = list.split(',').map(str::trim).filter(|schema| !schema.is_empty());
    let asked: Vec<_> = asked.map(str::to_owned).collect();
    if asked.is_empty() {
        return Err(invalid("schemas names no schema"));
    }
    if allowed.is_some_and(|allowed| asked.iter().any(|schema| !allowed.contains(schema))) {
        return Err(invalid("schemas names one that is out of scope"));
    }
    Ok(asked.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_narrows_and_never_widens() {
        let allowed = ["a".to_owned(), "b".to_owned()];
        assert_eq!(*narrow(Some(&allowed), " b ,").unwrap(), ["b".to_owned()]);
        assert_eq!(*narrow(None, "x,y").unwrap(), ["x".to_owned(), "y".to_owned()]);
        for refused in ["c", "a,c", "", " , "] {
            assert!(narrow(Some(&allowed), refused).is_err(), "{refused}");
        }
    }
}

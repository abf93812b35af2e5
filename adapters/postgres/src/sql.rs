//! What is PostgreSQL's own in names and literals.

use std::fmt::Write as _;

use fetcher_sql::name::{self, Naming, TableName};

/// `public` is not written.
pub(crate) const NAMING: Naming = Naming::new("public");

/// The table in SQL.
pub(crate) fn table(name: &TableName) -> String {
    format!("{}.{}", identifier(&name.schema), identifier(&name.table))
}

/// Whether it lies in a schema of the system's own.
pub(crate) fn is_system(name: &TableName) -> bool {
    name.schema == "information_schema" || name.schema.starts_with("pg_")
}

/// A name as a quoted identifier.
pub(crate) fn identifier(name: &str) -> String {
    name::identifier(name, '"')
}

/// The keys of a path into JSON, as a literal of type `text[]`. They are names, not values.
pub(crate) fn json_path(keys: &[&str]) -> String {
    let mut path = String::new();
    for key in keys {
        push_element(&mut path, key);
    }
    // An escape string means the same whatever the server's settings are.
    let path = format!("{{{path}}}").replace('\\', r"\\").replace('\'', "''");
    format!("E'{path}'::pg_catalog.text[]")
}

/// The text form of an array of these texts.
pub(crate) fn array_text<T: AsRef<str>>(elements: impl IntoIterator<Item = T>) -> String {
    let mut array = String::from("{");
    for element in elements {
        if array.len() > 1 {
            array.push(',');
        }
        array.push('"');
        for c in element.as_ref().chars() {
            if matches!(c, '"' | '\\') {
                array.push('\\');
            }
            array.push(c);
        }
        array.push('"');
    }
    array.push('}');
    array
}

fn push_element(path: &mut String, key: &str) {
    let separator = if path.is_empty() { "" } else { "," };
    let key = key.replace('\\', r"\\").replace('"', "\\\"");
    // PROOF: writing to a string cannot fail.
    let _ = write!(path, "{separator}\"{key}\"");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_arrays_are_one_token() {
        assert_eq!(json_path(&["a'b", "c\"\\"]), r#"E'{"a''b","c\\"\\\\"}'::pg_catalog.text[]"#);
        assert_eq!(array_text(["a", "\"\\", ""]), r#"{"a","\"\\",""}"#);
    }
}

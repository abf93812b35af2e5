//! Names and literals as SQL, and table names as the engine sees them.
//!
//! Keeps true: whatever a name contains, it stays one identifier; the name of a table that the
//! engine sees leads back to exactly one schema and table.

use std::fmt::Write as _;
use std::sync::Arc;

/// The schema whose name is not written.
const DEFAULT_SCHEMA: &str = "public";

/// A table as the catalogue knows it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct TableName {
    pub(crate) schema: String,
    pub(crate) table: String,
}

impl TableName {
    /// Reads `table` or `schema.table`. A part in double quotes may hold dots; a quote in it is
    /// doubled. `None` for anything else.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        let (first, rest) = part(name)?;
        let Some(rest) = rest else {
            return Some(Self { schema: DEFAULT_SCHEMA.to_owned(), table: first });
        };
        match part(rest)? {
            (table, None) => Some(Self { schema: first, table }),
            _ => None,
        }
    }

    /// The canonical name.
    pub(crate) fn canonical(&self) -> String {
        let mut name = String::with_capacity(self.schema.len() + self.table.len() + 1);
        if self.schema != DEFAULT_SCHEMA {
            push_part(&mut name, &self.schema);
            name.push('.');
        }
        push_part(&mut name, &self.table);
        name
    }

    /// The table in SQL.
    pub(crate) fn sql(&self) -> String {
        format!("{}.{}", identifier(&self.schema), identifier(&self.table))
    }

    /// Whether it lies in a schema of the system's own.
    pub(crate) fn is_system(&self) -> bool {
        self.schema == "information_schema" || self.schema.starts_with("pg_")
    }
}

/// The canonical form of a name, if the name is not that already.
pub(crate) fn canonical(name: &str) -> Option<Arc<str>> {
    let canonical = TableName::parse(name)?.canonical();
    (canonical != name).then(|| canonical.into())
}

/// The first part of a name, and what follows its dot.
fn part(name: &str) -> Option<(String, Option<&str>)> {
    let Some(mut rest) = name.strip_prefix('"') else {
        let (part, rest) = match name.split_once('.') {
            Some((part, rest)) => (part, Some(rest)),
            None => (name, None),
        };
        return (!part.is_empty()).then(|| (part.to_owned(), rest));
    };
    let mut part = String::new();
    loop {
        let (before, after) = rest.split_once('"')?;
        part.push_str(before);
        match after.strip_prefix('"') {
            Some(after) => {
                part.push('"');
                rest = after;
            }
            None if part.is_empty() => return None,
            None if after.is_empty() => return Some((part, None)),
            None => return Some((part, Some(after.strip_prefix('.')?))),
        }
    }
}

fn push_part(name: &mut String, part: &str) {
    if part.contains('.') || part.starts_with('"') {
        push_quoted(name, part, '"');
    } else {
        name.push_str(part);
    }
}

fn push_quoted(sql: &mut String, text: &str, quote: char) {
    sql.push(quote);
    for c in text.chars() {
        if c == quote {
            sql.push(quote);
        }
        sql.push(c);
    }
    sql.push(quote);
}

/// A name as a quoted identifier.
pub(crate) fn identifier(name: &str) -> String {
    let mut sql = String::with_capacity(name.len() + 2);
    push_quoted(&mut sql, name, '"');
    sql
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
    fn names_lead_back_to_their_table() {
        let parts = ["users", "Order Details", "a.b", "a\"b", "\"", "\"a\".\"b\"", "naïve", "."];
        for schema in parts.iter().chain(&["public"]) {
            for table in parts {
                let name = TableName { schema: (*schema).to_owned(), table: table.to_owned() };
                let canonical = name.canonical();
                assert_eq!(TableName::parse(&canonical).as_ref(), Some(&name), "{canonical}");
                assert_eq!(super::canonical(&canonical), None, "{canonical} is canonical");
            }
        }
    }

    #[test]
    fn the_default_schema_is_not_written() {
        for name in ["public.users", "\"public\".users", "\"users\"", "public.\"users\""] {
            assert_eq!(canonical(name).as_deref(), Some("users"), "{name}");
        }
        assert_eq!(canonical("\"a\".b.c"), None);
        assert_eq!(canonical("sales.\"x\"").as_deref(), Some("sales.x"));
        for malformed in ["", ".", "a.", ".a", "a.b.c", "\"a", "\"\"", "\"a\"b", "\"a\"."] {
            assert_eq!(TableName::parse(malformed), None, "{malformed}");
        }
    }

    #[test]
    fn identifiers_and_paths_are_one_token() {
        assert_eq!(identifier("a\"; drop table users; --"), "\"a\"\"; drop table users; --\"");
        assert_eq!(json_path(&["a'b", "c\"\\"]), r#"E'{"a''b","c\\"\\\\"}'::pg_catalog.text[]"#);
        assert_eq!(array_text(["a", "\"\\", ""]), r#"{"a","\"\\",""}"#);
    }
}

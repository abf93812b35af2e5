//! Names: table names as the engine sees them, and identifiers in SQL.
//!
//! Keeps true: whatever a name contains, it stays one identifier; the name of a table that the
//! engine sees leads back to exactly one schema and table.

use std::sync::Arc;

/// A table as the catalogue knows it.
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "a table has these two names")]
pub struct TableName {
    /// The schema that it lies in.
    pub schema: String,
    /// Its own name.
    pub table: String,
}

/// How one database writes names: which schema goes without saying.
#[derive(Clone, Copy, Debug)]
pub struct Naming {
    default_schema: &'static str,
}

impl Naming {
    /// Names in which this schema is not written.
    #[must_use]
    pub const fn new(default_schema: &'static str) -> Self {
        Self { default_schema }
    }

    /// Reads `table` or `schema.table`. A part in double quotes may hold dots; a quote in it is
    /// doubled. `None` for anything else.
    #[must_use]
    pub fn parse(self, name: &str) -> Option<TableName> {
        let (first, rest) = part(name)?;
        let Some(rest) = rest else {
            return Some(TableName { schema: self.default_schema.to_owned(), table: first });
        };
        match part(rest)? {
            (table, None) => Some(TableName { schema: first, table }),
            _ => None,
        }
    }

    /// The name as the engine sees it.
    #[must_use]
    pub fn write(self, name: &TableName) -> String {
        let mut text = String::with_capacity(name.schema.len() + name.table.len() + 1);
        if name.schema != self.default_schema {
            push_part(&mut text, &name.schema);
            text.push('.');
        }
        push_part(&mut text, &name.table);
        text
    }

    /// The canonical form of a name, if the name is not that already.
    #[must_use]
    pub fn canonical(self, name: &str) -> Option<Arc<str>> {
        let canonical = self.write(&self.parse(name)?);
        (canonical != name).then(|| canonical.into())
    }
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
        name.push_str(&identifier(part, '"'));
    } else {
        name.push_str(part);
    }
}

/// Every way to take a dotted path for a parent and the rest of the path, the longest parent first.
pub fn parents(path: &str) -> impl Iterator<Item = (&str, &str)> {
    path.rmatch_indices('.').filter_map(|(dot, _)| Some((path.get(..dot)?, path.get(dot + 1..)?)))
}

/// A name as a quoted identifier; a quote in it is doubled.
#[must_use]
pub fn identifier(name: &str, quote: char) -> String {
    let mut sql = String::with_capacity(name.len() + 2);
    sql.push(quote);
    for c in name.chars() {
        if c == quote {
            sql.push(quote);
        }
        sql.push(c);
    }
    sql.push(quote);
    sql
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMING: Naming = Naming::new("public");

    #[test]
    fn names_lead_back_to_their_table() {
        let parts = ["users", "Order Details", "a.b", "a\"b", "\"", "\"a\".\"b\"", "naïve", "."];
        for schema in parts.iter().chain(&["public"]) {
            for table in parts {
                let name = TableName { schema: (*schema).to_owned(), table: table.to_owned() };
                let written = NAMING.write(&name);
                assert_eq!(NAMING.parse(&written).as_ref(), Some(&name), "{written}");
                assert_eq!(NAMING.canonical(&written), None, "{written} is canonical");
            }
        }
    }

    #[test]
    fn the_default_schema_is_not_written() {
        for name in ["public.users", "\"public\".users", "\"users\"", "public.\"users\""] {
            assert_eq!(NAMING.canonical(name).as_deref(), Some("users"), "{name}");
        }
        assert_eq!(NAMING.canonical("\"a\".b.c"), None);
        assert_eq!(NAMING.canonical("sales.\"x\"").as_deref(), Some("sales.x"));
        for malformed in ["", ".", "a.", ".a", "a.b.c", "\"a", "\"\"", "\"a\"b", "\"a\"."] {
            assert_eq!(NAMING.parse(malformed), None, "{malformed}");
        }
    }

    #[test]
    fn the_longest_parent_comes_first() {
        let found: Vec<_> = parents("a.b.c").collect();
        assert_eq!(found, [("a.b", "c"), ("a", "b.c")]);
        assert_eq!(parents("a").count(), 0);
    }

    #[test]
    fn identifiers_are_one_token() {
        let attack = identifier("a\"; drop table users; --", '"');
        assert_eq!(attack, "\"a\"\"; drop table users; --\"");
        assert_eq!(identifier("a`b\"", '`'), "`a``b\"`");
    }
}

//! What a cell, a row or a document should be, and a writer of it that is slow and obvious.

use serde_json::{Map, Value};

/// A JSON value that knows the order of its keys and the text of its numbers.
#[derive(Clone, Debug)]
pub(crate) enum Tree {
    /// Text that is JSON already.
    Raw(String),
    Text(String),
    List(Vec<Self>),
    Map(Vec<(String, Self)>),
}

impl Tree {
    /// Without white space.
    pub(crate) fn compact(&self) -> String {
        let joined = |parts: Vec<String>| parts.join(",");
        match self {
            Self::Raw(raw) => raw.clone(),
            Self::Text(text) => quote(text),
            Self::List(items) => format!("[{}]", joined(items.iter().map(Self::compact).collect())),
            Self::Map(entries) => {
                let entry = |(key, item): &(String, Self)| quote(key) + ":" + &item.compact();
                format!("{{{}}}", joined(entries.iter().map(entry).collect()))
            }
        }
    }

    /// With two spaces per level, as a value that lies in so many levels.
    pub(crate) fn pretty(&self, depth: usize) -> String {
        let line = |depth| format!("\n{}", "  ".repeat(depth));
        let (open, close, parts): (_, _, Vec<String>) = match self {
            Self::List(items) => {
                let part = |item: &Self| item.pretty(depth + 1);
                ('[', ']', items.iter().map(part).collect())
            }
            Self::Map(entries) => {
                let part =
                    |(key, item): &(String, Self)| quote(key) + ": " + &item.pretty(depth + 1);
                ('{', '}', entries.iter().map(part).collect())
            }
            leaf => return leaf.compact(),
        };
        if parts.is_empty() {
            return format!("{open}{close}");
        }
        let inner = line(depth + 1);
        let between = format!(",{inner}");
        format!("{open}{inner}{}{}{close}", parts.join(&between), line(depth))
    }

    /// As `serde_json` sees it.
    pub(crate) fn value(&self) -> Value {
        match self {
            Self::Raw(raw) => serde_json::from_str(raw).expect("raw JSON is JSON"),
            Self::Text(text) => Value::String(text.clone()),
            Self::List(items) => Value::Array(items.iter().map(Self::value).collect()),
            Self::Map(entries) => {
                let entries = entries.iter().map(|(key, item)| (key.clone(), item.value()));
                Value::Object(entries.collect::<Map<_, _>>())
            }
        }
    }
}

/// A JSON string with what Go's encoder escapes beyond the standard's demands.
pub(crate) fn quote(text: &str) -> String {
    let quoted = serde_json::to_string(text).expect("text is a JSON string");
    let escapes = [
        ('<', "\\u003c"),
        ('>', "\\u003e"),
        ('&', "\\u0026"),
        ('\u{2028}', "\\u2028"),
        ('\u{2029}', "\\u2029"),
    ];
    escapes.iter().fold(quoted, |quoted, (c, escape)| quoted.replace(*c, escape))
}

/// Whether two JSON values are the same, down to the text of numbers and the order of keys.
pub(crate) fn assert_same(found: &Value, expected: &Value) {
    assert_eq!(found, expected);
    // `==` does not look at the order of keys; the text does.
    assert_eq!(found.to_string(), expected.to_string(), "the order of keys");
}

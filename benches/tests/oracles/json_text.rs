//! JSON text that a source holds, against a tokenizer of this test's own and `serde_json`.

use fetcher_engine::encode::{Format, RowBatch, StepShape};
use serde::de::IgnoredAny;

use super::random::{Random, cases};
use super::text::text;
use super::tree::{Tree, assert_same};

/// The deepest text that goes out as JSON.
const DEPTH_MAX: usize = 1024;

/// Valid JSON as its tokens.
pub(crate) struct Document(Vec<String>);

impl Document {
    /// Any; half a surrogate pair only if it may be.
    pub(crate) fn new(random: &mut Random, surrogates: bool) -> Self {
        let mut tokens = Vec::new();
        let depth = random.below(6);
        push_value(random, surrogates, depth, &mut tokens);
        Self(tokens)
    }

    /// With white space between the tokens wherever the standard allows it.
    pub(crate) fn noisy(&self, random: &mut Random) -> String {
        let often = random.of(&[1, 2, 8, 1000]);
        let mut noisy = String::new();
        let space = |random: &mut Random, noisy: &mut String| {
            while random.one_in(often + 1) {
                noisy.push(random.of(&[' ', '\t', '\n', '\r']));
            }
        };
        for token in &self.0 {
            space(random, &mut noisy);
            noisy.push_str(token);
        }
        space(random, &mut noisy);
        noisy
    }
}

fn push_value(random: &mut Random, surrogates: bool, depth: usize, tokens: &mut Vec<String>) {
    let sign = |sign: &str| sign.to_owned();
    match random.below(if depth > 0 { 9 } else { 5 }) {
        0 => tokens.push(sign(random.of(&["true", "false", "null"]))),
        1 | 2 => tokens.push(number(random)),
        3 | 4 => tokens.push(string(random, surrogates)),
        5 | 6 => {
            tokens.push(sign("["));
            for at in 0..random.below(4) {
                if at > 0 {
                    tokens.push(sign(","));
                }
                push_value(random, surrogates, depth - 1, tokens);
            }
            tokens.push(sign("]"));
        }
        _ => {
            tokens.push(sign("{"));
            for at in 0..random.below(4) {
                if at > 0 {
                    tokens.push(sign(","));
                }
                tokens.push(string(random, surrogates));
                tokens.push(sign(":"));
                push_value(random, surrogates, depth - 1, tokens);
            }
            tokens.push(sign("}"));
        }
    }
}

/// A number in any spelling that JSON has.
fn number(random: &mut Random) -> String {
    let digits = |random: &mut Random| {
        let count = 1 + random.below(25);
        (0..count).map(|_| (b'0' + random.below(10) as u8) as char).collect::<String>()
    };
    let mut text = random.of(&["", "-"]).to_string();
    match random.below(3) {
        0 => text.push('0'),
        _ => {
            text.push((b'1' + random.below(9) as u8) as char);
            if random.one_in(2) {
                text += &digits(random);
            }
        }
    }
    if random.one_in(2) {
        text.push('.');
        text += &digits(random);
    }
    if random.one_in(3) {
        text += random.of(&["e", "E"]);
        text += random.of(&["", "+", "-"]);
        text += random.of(&["0", "00", "5", "005", "17", "308", "999999999999"]);
    }
    text
}

/// A string in any spelling that JSON has.
fn string(random: &mut Random, surrogates: bool) -> String {
    const ESCAPES: &[&str] = &[
        "\\\"",
        "\\\\",
        "\\/",
        "\\b",
        "\\f",
        "\\n",
        "\\r",
        "\\t",
        "\\u0000",
        "\\u001F",
        "\\u00e9",
        "\\uABCD",
        "\\u2028",
        "\\ud83d\\ude00",
    ];
    const HALVES: &[&str] = &["\\ud83d", "\\uDE00", "\\ude00\\ud83d"];
    let mut string = "\"".to_owned();
    for _ in 0..random.below(5) {
        match random.below(4) {
            0 => string += random.of(ESCAPES),
            1 if surrogates => string += random.of(HALVES),
            _ => string
                .extend(text(random).chars().filter(|c| *c >= ' ' && !matches!(c, '"' | '\\'))),
        }
    }
    string + "\""
}

/// Cuts text into tokens by their letters alone. Whether they make sense is not its business.
fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start_matches([' ', '\t', '\n', '\r']);
    while let Some(first) = rest.chars().next() {
        let is_end = |c: char| " \t\n\r{}[]:,\"".contains(c);
        let length = match first {
            '"' => {
                let mut escaped = false;
                let end = rest.char_indices().skip(1).find(|(_, c)| {
                    let is_end = *c == '"' && !escaped;
                    escaped = *c == '\\' && !escaped;
                    is_end
                });
                end.map_or(rest.len(), |(at, _)| at + 1)
            }
            '{' | '}' | '[' | ']' | ':' | ',' => 1,
            _ => rest.find(is_end).unwrap_or(rest.len()),
        };
        let (token, after) = rest.split_at(length);
        tokens.push(token);
        rest = after.trim_start_matches([' ', '\t', '\n', '\r']);
    }
    tokens
}

/// Whether a text is JSON by the grammar alone: `serde_json` reads it without making values, so
/// that neither half a surrogate pair nor its recursion limit is in the way.
fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

fn depth(tokens: &[&str]) -> usize {
    let mut open = 0;
    let depths = tokens.iter().map(|token| {
        match *token {
            "{" | "[" => open += 1,
            "}" | "]" => open -= 1,
            _ => {}
        }
        open
    });
    depths.max().unwrap_or(0)
}

/// What JSON text has to be in a result.
pub(crate) fn tree(text: &str) -> Tree {
    if is_json(text) && depth(&tokens(text)) <= DEPTH_MAX {
        Tree::Raw(tokens(text).concat())
    } else {
        Tree::Text(text.to_owned())
    }
}

/// What the engine makes of JSON text.
fn written(text: &str) -> String {
    let mut batch = RowBatch::new(StepShape::open(Format::Ndjson, "d"));
    batch.table("t", &["j"]).expect("a table");
    batch.json(text);
    batch.end_row().expect("a row");
    let line = str::from_utf8(batch.encoded()).expect("UTF-8");
    let cell = line.strip_prefix(r#"{"config":"d","table":"t","row":{"j":"#);
    let cell = cell.and_then(|cell| cell.strip_suffix("}}\n"));
    cell.expect("a line").to_owned()
}

/// Holds the engine to what the oracles say; tells whether the text was JSON.
fn check(text: &str) -> bool {
    let out = written(text);
    assert!(is_json(&out), "not JSON: {out}");
    let valid = is_json(text) && depth(&tokens(text)) <= DEPTH_MAX;
    if valid {
        assert_eq!(tokens(&out), tokens(text));
        assert_eq!(out, tokens(text).concat(), "white space is left");
        if let Ok(value) = serde_json::from_str(text) {
            let found = serde_json::from_str(&out).expect("what was read before");
            assert_same(&found, &value);
        }
    } else {
        let back: String = serde_json::from_str(&out).expect("a string");
        assert_eq!(back, text);
    }
    assert_eq!(out, tree(text).compact());
    valid
}

#[test]
fn valid_text_keeps_its_tokens() {
    cases(20_000, |random| {
        let document = Document::new(random, true);
        let text = document.noisy(random);
        assert_eq!(tokens(&text), document.0, "the tokenizer of this test");
        assert!(check(&text), "serde_json refuses {text}");
    });
}

#[test]
fn broken_text_becomes_a_string() {
    let (mut valid, mut invalid) = (0, 0);
    cases(40_000, |random| {
        let mut text: Vec<char> = Document::new(random, true).noisy(random).chars().collect();
        for _ in 0..1 + random.below(3) {
            mutate(random, &mut text);
        }
        let text: String = text.into_iter().collect();
        *(if check(&text) { &mut valid } else { &mut invalid }) += 1;
    });
    // Both kinds must occur, or nothing was tested.
    assert!(valid > 1000 && invalid > 1000, "{valid} {invalid}");
}

fn mutate(random: &mut Random, text: &mut Vec<char>) {
    const CHARS: &[char] = &[
        '{', '}', '[', ']', '"', ',', ':', '\\', 'u', '0', '1', '9', '-', '+', '.', 'e', 'E', 't',
        'f', 'n', ' ', '\t', '\n', '\r', '\u{b}', '\0', '\u{1f}', 'é', '\u{feff}', '\u{a0}', '/',
        'N', 'x', '\'', '😀',
    ];
    let at = random.below(text.len() + 1);
    let c = random.of(CHARS);
    match random.below(6) {
        0 if at < text.len() => drop(text.remove(at)),
        1 if at < text.len() => text[at] = c,
        2 if at < text.len() => text.insert(at, text[at]),
        3 => text.truncate(at),
        4 => drop(text.drain(..at)),
        _ => text.insert(at, c),
    }
}

#[test]
fn hostile_text_is_never_broken_json() {
    cases(10_000, |random| {
        check(&text(random));
    });
}

#[test]
fn depth_has_a_limit() {
    for depth in [0, 1, 63, 64, 65, 127, 128, 129, 1022, 1023, 1024, 1025, 1026, 5000] {
        let lists = "[".repeat(depth) + "1" + &"]".repeat(depth);
        assert_eq!(check(&lists), depth <= DEPTH_MAX, "{depth}");
        let maps = "{\"a\" : ".repeat(depth) + "[]" + &" }".repeat(depth);
        assert_eq!(check(&maps), depth < DEPTH_MAX, "{depth}");
        assert!(!check(&"[".repeat(depth)), "{depth}");
    }
}

//! One file, cut into comments, literals and the tokens of its code, and what rules look for there.

use alloc::collections::BTreeSet;
use core::ops::Range;

/// A word, a `::`, a `->` or one other sign of the code; never a part of a comment or a literal.
#[derive(Clone, Copy)]
pub(crate) struct Token<'a> {
    pub(crate) line: usize,
    pub(crate) text: &'a str,
}

pub(crate) struct Source<'a> {
    pub(crate) path: &'a str,
    pub(crate) text: &'a str,
    pub(crate) tokens: Vec<Token<'a>>,
    /// The comments of each line; the first line is at index 0.
    comments: Vec<String>,
    /// Of each line, whether it has code or a part of a literal.
    has_code: Vec<bool>,
}

impl<'a> Source<'a> {
    pub(crate) fn new(path: &'a str, text: &'a str) -> Self {
        let pieces = if path.ends_with(".rs") { split(text) } else { Vec::new() };
        let count = text.split('\n').count();
        let mut comments = vec![String::new(); count];
        let mut has_code = vec![false; count];
        let mut tokens = Vec::new();
        let mut line = 1;
        for (kind, piece) in pieces {
            for (number, part) in (line..).zip(piece.split('\n')) {
                match kind {
                    Kind::Comment => comments[number - 1].push_str(part),
                    _ => has_code[number - 1] |= !part.trim().is_empty(),
                }
                if kind == Kind::Code {
                    tokenize(part, number, &mut tokens);
                }
            }
            line += piece.matches('\n').count();
        }
        Self { path, text, tokens, comments, has_code }
    }

    pub(crate) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    pub(crate) fn is_under(&self, dir: &str) -> bool {
        self.is_rust() && is_under(self.path, dir)
    }

    /// The module of `src/` that the file belongs to.
    pub(crate) fn module(&self) -> Option<&'a str> {
        self.module_path().first().copied()
    }

    fn module_path(&self) -> Vec<&'a str> {
        let Some(inner) = self.path.strip_prefix("src/") else {
            return Vec::new();
        };
        let mut path: Vec<_> = inner.trim_end_matches(".rs").split('/').collect();
        path.pop_if(|last| *last == "mod");
        path
    }

    /// The tokens of a file under `dir` at which `matches` holds for what starts there.
    pub(crate) fn find(
        &self,
        dir: &str,
        matches: impl Fn(&[Token<'_>]) -> bool,
    ) -> impl Iterator<Item = Token<'a>> {
        let count = if self.is_under(dir) { self.tokens.len() } else { 0 };
        (0..count).filter(move |at| matches(&self.tokens[*at..])).map(|at| self.tokens[at])
    }

    /// Whether a comment on the line, or in the block of comments right above it, has `word`.
    pub(crate) fn has_comment(&self, line: usize, word: &str) -> bool {
        let is_comment = |at: &usize| !self.has_code[*at] && !self.comments[*at].is_empty();
        let above = (0..line - 1).rev().take_while(is_comment);
        above.chain([line - 1]).any(|at| self.comments[at].contains(word))
    }

    /// The doc lines of the item that starts on `line`, without their `///`, the last one first.
    pub(crate) fn docs_above(&self, line: usize) -> Vec<&'a str> {
        let is_end = |token: &&Token<'_>| [";", "{", "}"].contains(&token.text);
        let ends = self.tokens.iter().filter(is_end).map(|token| token.line);
        let before = ends.take_while(|end| *end < line).last().unwrap_or(0);
        let above: Vec<_> = self.text.split('\n').take(line - 1).skip(before).collect();
        let docs = above.into_iter().rev().map(str::trim).take_while(|text| !text.is_empty());
        docs.filter_map(|text| text.strip_prefix("///")).map(str::trim).collect()
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Code,
    Comment,
    Literal,
}

/// Cuts a file into code, comments, and literals of strings and characters.
fn split(text: &str) -> Vec<(Kind, &str)> {
    let mut pieces = Vec::new();
    let (mut from, mut at) = (0, 0);
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        if let Some((kind, length)) = comment_or_literal(rest) {
            pieces.push((Kind::Code, &text[from..at]));
            pieces.push((kind, &rest[..length]));
            at += length;
            from = at;
        } else {
            // A whole word at once: the `r` that ends one starts no raw string.
            let word = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            at += word.max(first.len_utf8());
        }
    }
    pieces.push((Kind::Code, &text[from..]));
    pieces
}

/// The comment or literal that `rest` starts with, if it does, and how long it is.
fn comment_or_literal(rest: &str) -> Option<(Kind, usize)> {
    if rest.starts_with("//") {
        return Some((Kind::Comment, rest.find('\n').unwrap_or(rest.len())));
    }
    if rest.starts_with("/*") {
        return Some((Kind::Comment, block_comment(rest)));
    }
    if rest.starts_with('"') {
        return Some((Kind::Literal, quoted(rest, '"')));
    }
    if let Some(inner) = rest.strip_prefix('\'') {
        // Otherwise it is a lifetime.
        let mut chars = inner.chars();
        let is_char = chars.next() == Some('\\') || chars.next() == Some('\'');
        return is_char.then(|| (Kind::Literal, quoted(rest, '\'')));
    }
    let raw = ["r", "br", "cr"].iter().find_map(|prefix| rest.strip_prefix(prefix))?;
    let body = raw.trim_start_matches('#').strip_prefix('"')?;
    let hashes = raw.len() - body.len() - 1;
    let end = format!("\"{}", &raw[..hashes]);
    let length = body.find(&end).map_or(body.len(), |at| at + end.len());
    Some((Kind::Literal, rest.len() - body.len() + length))
}

fn block_comment(rest: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < rest.len() {
        match &rest.as_bytes()[at..] {
            [b'/', b'*', ..] => depth += 1,
            [b'*', b'/', ..] => depth -= 1,
            _ => {
                at += 1;
                continue;
            }
        }
        at += 2;
        if depth == 0 {
            return at;
        }
    }
    rest.len()
}

fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

fn tokenize<'a>(code: &'a str, line: usize, tokens: &mut Vec<Token<'a>>) {
    let mut rest = code.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = match rest.find(|c| !is_word(c)) {
            None => rest.len(),
            Some(0) if rest.starts_with("::") || rest.starts_with("->") => 2,
            Some(0) => first.len_utf8(),
            Some(length) => length,
        };
        let (text, after) = rest.split_at(length);
        tokens.push(Token { line, text });
        rest = after.trim_start();
    }
}

fn is_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

/// Whether `path` is the module or the directory `dir`, or inside it.
pub(crate) fn is_under(path: &str, dir: &str) -> bool {
    path.strip_prefix(dir).is_some_and(|rest| rest.starts_with('/') || rest == ".rs")
}

pub(crate) struct Function<'a> {
    pub(crate) name: &'a str,
    /// Where its `fn` is.
    pub(crate) at: usize,
    /// Where its signature ends.
    pub(crate) end: usize,
    /// Where the brace that opens its body is, if it has one.
    pub(crate) body: Option<usize>,
}

/// The functions whose `fn` is among the tokens of `range`.
pub(crate) fn functions<'a>(source: &Source<'a>, range: Range<usize>) -> Vec<Function<'a>> {
    let tokens = &source.tokens;
    let mut found = Vec::new();
    for at in range.filter(|at| tokens[*at].text == "fn") {
        let name = text(tokens, at + 1);
        // `fn(` is a type.
        if !name.starts_with(is_word) {
            continue;
        }
        let mut depth = 0;
        let end = tokens[at..].iter().position(|token| {
            match token.text {
                "(" | "[" => depth += 1,
                ")" | "]" => depth -= 1,
                _ => {}
            }
            depth == 0 && ["{", ";"].contains(&token.text)
        });
        let end = end.map_or(tokens.len(), |offset| at + offset);
        let body = (text(tokens, end) == "{").then_some(end);
        found.push(Function { name, at, end, body });
    }
    found
}

/// The bracket that closes the one at `open`, or the last token of a broken file.
pub(crate) fn close(tokens: &[Token<'_>], open: usize) -> usize {
    let mut depth = 0;
    let end = tokens[open..].iter().position(|token| {
        match token.text {
            "{" | "[" | "(" => depth += 1,
            "}" | "]" | ")" => depth -= 1,
            _ => {}
        }
        depth == 0
    });
    end.map_or(tokens.len() - 1, |offset| open + offset)
}

/// Where the attribute that starts at `at` closes, if one starts there.
pub(crate) fn attribute_end(tokens: &[Token<'_>], at: usize) -> Option<usize> {
    let open = if text(tokens, at + 1) == "!" { at + 2 } else { at + 1 };
    let is_one = text(tokens, at) == "#" && text(tokens, open) == "[";
    is_one.then(|| close(tokens, open))
}

fn text<'a>(tokens: &[Token<'a>], at: usize) -> &'a str {
    tokens.get(at).map_or("", |token| token.text)
}

/// The lines that only a test build compiles.
pub(crate) fn test_lines(source: &Source<'_>) -> BTreeSet<usize> {
    if source.path.ends_with("/tests.rs") || source.path.contains("/tests/") {
        return (1..=source.has_code.len()).collect();
    }
    let tokens = &source.tokens;
    let mut lines = BTreeSet::new();
    for at in 0..tokens.len() {
        let Some(end) = attribute_end(tokens, at) else {
            continue;
        };
        let says = |word| tokens[at..end].iter().any(|token| token.text == word);
        if !says("cfg") || !says("test") || says("not") {
            continue;
        }
        let item = (end..tokens.len()).find(|at| ["{", ";"].contains(&tokens[*at].text));
        if let Some(open) = item.filter(|open| tokens[*open].text == "{") {
            lines.extend(tokens[at].line..=tokens[close(tokens, open)].line);
        }
    }
    lines
}

/// Every path in the code that starts with a word of `roots`, followed through groups and `super`,
/// with the line on which it ends; `crate` itself is left out.
pub(crate) fn paths_from<'a>(source: &Source<'a>, roots: &[&str]) -> Vec<(usize, Vec<&'a str>)> {
    let tokens = &source.tokens;
    let mut here = source.module_path();
    // Where the inline modules around the token close.
    let mut ends = Vec::new();
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if text(tokens, at) == "mod" && text(tokens, at + 2) == "{" {
            here.push(text(tokens, at + 1));
            ends.push(close(tokens, at + 2));
        }
        if ends.pop_if(|end| *end == at).is_some() {
            here.pop();
        }
        let is_start = at == 0 || text(tokens, at - 1) != "::";
        if is_start && roots.contains(&text(tokens, at)) {
            at = follow(tokens, at, here.clone(), &mut found);
        } else {
            at += 1;
        }
    }
    found
}

/// Follows one path or group of paths, relative to the module `path`; returns where it ends.
fn follow<'a>(
    tokens: &[Token<'a>],
    mut at: usize,
    mut path: Vec<&'a str>,
    found: &mut Vec<(usize, Vec<&'a str>)>,
) -> usize {
    loop {
        match text(tokens, at) {
            "crate" => path.clear(),
            "super" => drop(path.pop()),
            "self" => {}
            "{" => return follow_group(tokens, at, &path, found),
            segment if segment == "*" || segment.starts_with(is_word) => path.push(segment),
            _ => break,
        }
        at += 1;
        if text(tokens, at) != "::" {
            break;
        }
        at += 1;
    }
    let names_a_macro = path.len() == 1 && text(tokens, at) == "!";
    if let Some(last) = tokens.get(at.saturating_sub(1)).filter(|_| !names_a_macro) {
        found.push((last.line, path));
    }
    if text(tokens, at) == "as" { at + 2 } else { at }
}

fn follow_group<'a>(
    tokens: &[Token<'a>],
    open: usize,
    path: &[&'a str],
    found: &mut Vec<(usize, Vec<&'a str>)>,
) -> usize {
    let end = close(tokens, open);
    let mut at = open + 1;
    while at < end {
        at = follow(tokens, at, path.to_vec(), found);
        // Past the comma; also past what no path may hold, so that a broken file cannot stall us.
        at += 1;
    }
    end + 1
}

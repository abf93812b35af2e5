//! JSON text that a source holds: validated, insignificant white space removed, otherwise kept
//! token for token (RFC 8259). Keeps true: what is not valid JSON is never put out as JSON.

use super::buffer::Buffer;

/// The deepest nesting that is taken for JSON. Deeper text goes out as a string.
pub(super) const DEPTH_MAX: usize = 1024;

/// Writes the text compacted; says no, and writes nothing, if it is not valid JSON.
pub(super) fn json(out: &mut Buffer, text: &str) -> bool {
    let start = out.len();
    let mut scan = Scan { bytes: text.as_bytes(), at: 0, copied: 0, out };
    let valid = scan.document().is_some();
    if !valid {
        out.truncate(start);
    }
    valid
}

/// Whether the text is a JSON number and nothing else.
pub(super) fn is_number(text: &str) -> bool {
    let mut scan = Scan { bytes: text.as_bytes(), at: 0, copied: 0, out: &mut Buffer::new() };
    scan.number().is_some() && scan.at == text.len()
}

struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
    /// What lies before this is written.
    copied: usize,
    out: &'a mut Buffer,
}

/// One bit per level: an object or a list.
struct Levels {
    bits: [u64; DEPTH_MAX / 64],
    depth: usize,
}

impl Levels {
    fn push(&mut self, object: bool) -> Option<()> {
        let word = self.bits.get_mut(self.depth / 64)?;
        let bit = 1 << (self.depth % 64);
        if object {
            *word |= bit
        } else {
            *word &= !bit
        }
        self.depth += 1;
        Some(())
    }

    /// Whether the innermost level is an object; `None` outside all.
    fn top(&self) -> Option<bool> {
        let level = self.depth.checked_sub(1)?;
        Some(self.bits.get(level / 64)? >> (level % 64) & 1 == 1)
    }
}

impl Scan<'_> {
    fn document(&mut self) -> Option<()> {
        let mut levels = Levels { bits: [0; DEPTH_MAX / 64], depth: 0 };
        loop {
            // Here a value is due.
            self.space();
            match self.peek()? {
                open @ (b'{' | b'[') => {
                    self.at += 1;
                    levels.push(open == b'{')?;
                    self.space();
                    if self.peek()? == open + 2 {
                        self.at += 1;
                        levels.depth -= 1;
                    } else if open == b'{' {
                        self.key()?;
                        continue;
                    } else {
                        continue;
                    }
                }
                b'"' => self.string()?,
                b't' => self.word(b"true")?,
                b'f' => self.word(b"false")?,
                b'n' => self.word(b"null")?,
                _ => self.number()?,
            }
            // Here a value has ended.
            if !self.after_value(&mut levels)? {
                return Some(());
            }
        }
    }

    /// Goes on to where the next value is due; says no at the end of the text.
    fn after_value(&mut self, levels: &mut Levels) -> Option<bool> {
        loop {
            self.space();
            match (levels.top(), self.peek()) {
                (None, None) => {
                    self.flush();
                    return Some(false);
                }
                (Some(object), Some(b',')) => {
                    self.at += 1;
                    if object {
                        self.space();
                        self.key()?;
                    }
                    return Some(true);
                }
                (Some(true), Some(b'}')) | (Some(false), Some(b']')) => {
                    self.at += 1;
                    levels.depth -= 1;
                }
                _ => return None,
            }
        }
    }

    fn key(&mut self) -> Option<()> {
        if self.peek()? != b'"' {
            return None;
        }
        self.string()?;
        self.space();
        (self.peek()? == b':').then(|| self.at += 1)
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Skips white space; what came before it is written.
    fn space(&mut self) {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let blank = |byte: &&u8| matches!(**byte, b' ' | b'\t' | b'\n' | b'\r');
        let spaces = rest.iter().take_while(blank).count();
        if spaces > 0 {
            self.flush();
            self.at += spaces;
            self.copied = self.at;
        }
    }

    fn flush(&mut self) {
        self.out.put(self.bytes.get(self.copied..self.at).unwrap_or_default());
        self.copied = self.at;
    }

    fn word(&mut self, word: &[u8]) -> Option<()> {
        self.bytes.get(self.at..)?.starts_with(word).then(|| self.at += word.len())
    }

    fn string(&mut self) -> Option<()> {
        self.at += 1;
        loop {
            let rest = self.bytes.get(self.at..)?;
            let plain = |byte: &u8| *byte == b'"' || *byte == b'\\' || *byte < 0x20;
            let stop = rest.iter().position(plain)?;
            self.at += stop + 1;
            match rest.get(stop)? {
                b'"' => return Some(()),
                b'\\' => {
                    let escape = self.peek()?;
                    self.at += 1;
                    match escape {
                        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => {}
                        b'u' => {
                            let digits = self.bytes.get(self.at..self.at + 4)?;
                            if !digits.iter().all(u8::is_ascii_hexdigit) {
                                return None;
                            }
                            self.at += 4;
                        }
                        _ => return None,
                    }
                }
                _ => return None,
            }
        }
    }

    fn number(&mut self) -> Option<()> {
        if self.peek()? == b'-' {
            self.at += 1;
        }
        if self.peek()? == b'0' {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        Some(())
    }

    /// One digit or more.
    fn digits(&mut self) -> Option<()> {
        let rest = self.bytes.get(self.at..)?;
        let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += count;
        (count > 0).then_some(())
    }
}

//! Hostile text: whatever an encoder could trip over.

use super::random::Random;

const PIECES: &[&str] = &[
    "\"",
    "\\",
    "/",
    "<",
    ">",
    "&",
    "'",
    "\n",
    "\r",
    "\t",
    "\u{8}",
    "\u{c}",
    "\0",
    "\u{1}",
    "\u{b}",
    "\u{1f}",
    " ",
    "\u{7f}",
    "\u{80}",
    "\u{85}",
    "\u{a0}",
    "é",
    "ß",
    "€",
    "\u{2027}",
    "\u{2028}",
    "\u{2029}",
    "\u{202a}",
    "\u{2128}",
    "\u{e000}",
    "\u{feff}",
    "\u{fffd}",
    "\u{ffff}",
    "😀",
    "👩‍👩‍👧",
    "\u{10ffff}",
    "漢字",
    "a\u{301}",
    "\\u0041",
    "\\\"",
    "</script>",
    "{}",
    "[",
    "null",
    "plain",
    "a longer plain piece of text",
    "0",
];

/// Any text.
pub(crate) fn text(random: &mut Random) -> String {
    match random.below(8) {
        0 => String::new(),
        1 => plain(random, 40),
        // Around the sizes of the blocks that a fast encoder copies.
        2 => {
            let sizes = [7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 48, 49, 63, 64, 65];
            let mut text = plain(random, 0);
            let size = random.of(&sizes);
            text.extend((0..size).map(|_| (b'a' + random.below(26) as u8) as char));
            if random.one_in(2) {
                let at = random.below(text.len());
                text.replace_range(at..at + 1, random.of(PIECES));
            }
            text
        }
        3 => char::from_u32(random.below(0x11_0000) as u32).map(String::from).unwrap_or_default(),
        _ => (0..random.below(7)).map(|_| random.of(PIECES)).collect(),
    }
}

/// Letters, up to so many.
pub(crate) fn plain(random: &mut Random, most: usize) -> String {
    let count = random.below(most + 1);
    let letter = |_| (b'a' + random.below(26) as u8) as char;
    (0..count).map(letter).collect()
}

/// So many different texts that `allowed` lets through.
pub(crate) fn names(
    random: &mut Random,
    count: usize,
    allowed: impl Fn(&str) -> bool,
) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    while names.len() < count {
        let name = if random.one_in(2) { plain(random, 12) } else { text(random) };
        if allowed(&name) && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

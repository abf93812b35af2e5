//! JSON text: every branch of the grammar (RFC 8259), what is refused, and number text.

use fetcher_engine::value::Value;

use super::naive::string;
use super::{Rng, cell, cells};

/// What goes out as it is.
const KEPT: &[&str] = &[
    "null",
    "true",
    "false",
    "0",
    "-0",
    "7",
    "-7",
    "10",
    "123456789012345678901234567890",
    "0.5",
    "-0.50",
    "1.0e5",
    "1E+5",
    "1e-05",
    "0e0",
    "12.340E-1",
    "[]",
    "{}",
    "[[]]",
    "[{}]",
    "[1]",
    "[1,2]",
    "[null,true,false,\"a\",-1.5e3,[],{}]",
    "{\"a\":1}",
    "{\"a\":1,\"b\":2}",
    "{\"b\":1,\"a\":2,\"b\":3}",
    "{\"a\":{\"b\":{\"c\":[]}}}",
    "{\"\":\"\"}",
    "{\"a\":[1],\"b\":{}}",
    "[{\"a\":1},{\"b\":2}]",
    "[[1,2],[3,4]]",
    "\"\"",
    "\"a\"",
    "\"a b\"",
    "\" \\t \"",
    "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"",
    "\"\\u0000\"",
    "\"\\u00e9\\uABCD\\uabcd\\u09Af\"",
    "\"\\ud83d\\ude00\"",
    "\"\\ud83d\"",
    "\"\\ude00x\"",
    "\"é€😀\u{2028}<&>\u{7f}\"",
    "\"[{:,}]\"",
    "{\"k\\n\":1}",
    "\"\\u1234\"",
];

/// What is not JSON, and so goes out as a string.
const REFUSED: &[&str] = &[
    "",
    " ",
    "\n",
    "nul",
    "nulL",
    "nulll",
    "tru",
    "truE",
    "truee",
    "fals",
    "falsy",
    "falsee",
    "n",
    "True",
    "NaN",
    "Infinity",
    "-",
    "+1",
    "01",
    "-01",
    "00",
    "1.",
    ".5",
    "-.5",
    "1.e5",
    "1e",
    "1e+",
    "1e-",
    "1E",
    "e5",
    "1.5.",
    "1e5.5",
    "0x1",
    "1 2",
    "--1",
    "-a",
    "1-",
    "1a",
    "1_0",
    "1,",
    ",1",
    "[",
    "]",
    "{",
    "}",
    "[1",
    "[1,",
    "[1,]",
    "[,1]",
    "[,]",
    "[1 2]",
    "[1,,2]",
    "[}",
    "{]",
    "[1}",
    "[]]",
    "[][]",
    "[],",
    "{}}",
    "{}{}",
    "{\"a\"}",
    "{\"a\":}",
    "{\"a\":1",
    "{\"a\":1,",
    "{\"a\":1,}",
    "{\"a\":1]",
    "{,}",
    "{,\"a\":1}",
    "{\"a\" 1}",
    "{\"a\",1}",
    "{a:1}",
    "{1:1}",
    "{null:1}",
    "{\"a\":1 \"b\":2}",
    "{\"a\":1,b:2}",
    "{\"a\":1,2}",
    "{\"a\"::1}",
    "{\"a",
    "{\"a\"",
    "{\"a\":",
    "\"",
    "\"a",
    "a\"",
    "\"\\\"",
    "\"\\",
    "\"\\x\"",
    "\"\\u\"",
    "\"\\u1\"",
    "\"\\u12\"",
    "\"\\u123\"",
    "\"\\u123g\"",
    "\"\\uG123\"",
    "\"\\u 123\"",
    "\"\\u123",
    "\"\\u1234",
    "\"\\U1234\"",
    "\"\\a\"",
    "\"\\'\"",
    "\"\\0\"",
    "'a'",
    "\"a\"b",
    "\"a\" \"b\"",
    "\"\n\"",
    "\"\t\"",
    "\"\0\"",
    "\"\u{1f}\"",
    "\u{feff}1",
    "\u{a0}1",
    "1\u{b}",
    "\u{c}1",
    "/**/1",
    "1//",
    "[1]x",
    "x[1]",
    "{\"a\":1}x",
    "\"\\u00\u{e9}0\"",
    "[\"a]",
    "{\"a:1}",
    "[1:2]",
    "{\"a\":1:2}",
    "[\"a\":1]",
    "é",
    ":",
    "{:1}",
    "\\",
    "[\\]",
    "[1;2]",
    "[1]]",
    "[[1]",
    "{\"a\":[1}",
    "{\"a\":{}",
    "[{\"a\":1]}",
];

#[test]
fn what_is_json_is_kept_token_for_token() {
    for text in KEPT {
        assert_eq!(cell(|batch| batch.json(text)), *text);
        assert_eq!(cell(|batch| batch.value(&Value::Json((*text).into()))), *text);
    }
    assert_eq!(cells(KEPT, |batch, text| batch.json(text)), KEPT);
}

#[test]
fn what_is_no_json_is_a_string() {
    for text in REFUSED {
        assert_eq!(cell(|batch| batch.json(text)), string(text), "{text:?}");
    }
    let expected: Vec<String> = REFUSED.iter().map(|text| string(text)).collect();
    assert_eq!(cells(REFUSED, |batch, text| batch.json(text)), expected);
}

/// Every prefix of a document is no document, and so is one with something behind it.
#[test]
fn a_part_of_json_is_no_json() {
    for text in KEPT {
        let number = text.ends_with(|last: char| last.is_ascii_digit());
        for (end, _) in text.char_indices().filter(|_| !number) {
            let part = &text[..end];
            assert_eq!(cell(|batch| batch.json(part)), string(part), "{part:?}");
        }
        for after in [",", "]", "}", "x", "\"", "null", "{}", "1e", ".", " 1", "\u{b}"] {
            let more = format!("{text}{after}");
            assert_eq!(cell(|batch| batch.json(&more)), string(&more), "{more:?}");
        }
    }
}

/// White space goes, wherever it may be, and only outside strings.
#[test]
fn white_space_is_removed() {
    let tokens: [&[&str]; 5] = [
        &[
            "{", "\"a b\"", ":", "[", "1", ",", "-2.5e+3", ",", "null", "]", ",", "\"c\"", ":",
            "{", "}", "}",
        ],
        &["[", "]"],
        &["[", "[", "]", ",", "{", "}", ",", "true", ",", "false", "]"],
        &["\" \\n \""],
        &["-1"],
    ];
    for tokens in tokens {
        for space in [" ", "\t", "\n", "\r", " \r\n\t ", &" ".repeat(40)] {
            let noisy = space.to_owned() + &tokens.join(space) + space;
            assert_eq!(cell(|batch| batch.json(&noisy)), tokens.concat());
            for at in 0..=tokens.len() {
                let (before, after) = tokens.split_at(at);
                let noisy = [&before.concat(), space, &after.concat()].concat();
                assert_eq!(cell(|batch| batch.json(&noisy)), tokens.concat());
            }
        }
        for other in ["\u{b}", "\u{c}", "\u{a0}", "\0", "\u{2028}"] {
            let noisy = tokens.concat() + other;
            assert_eq!(cell(|batch| batch.json(&noisy)), string(&noisy));
            let noisy = other.to_owned() + &tokens.concat();
            assert_eq!(cell(|batch| batch.json(&noisy)), string(&noisy));
        }
    }
    assert_eq!(cell(|batch| batch.json("[1, 2 2]")), "\"[1, 2 2]\"", "nothing of it stays");
    assert_eq!(cell(|batch| batch.json("- 1")), "\"- 1\"");
}

/// Brackets of this many levels; each is an object where `object` says so.
fn nested(depth: usize, object: impl Fn(usize) -> bool) -> (String, String) {
    let open = (0..depth).map(|level| if object(level) { "{\"k\":" } else { "[" }).collect();
    let close = (0..depth).rev().map(|level| if object(level) { "}" } else { "]" }).collect();
    (open, close)
}

#[test]
fn depth_is_bounded() {
    let objects: [fn(usize) -> bool; 4] =
        [|_| false, |_| true, |level| level % 2 == 0, |level| level % 3 == 1];
    for object in objects {
        for depth in [1, 2, 63, 64, 65, 127, 128, 129, 1023, 1024] {
            let (open, close) = nested(depth, object);
            let text = format!("{open}1{close}");
            assert_eq!(cell(|batch| batch.json(&text)), text);
            // Empty lists and objects count.
            let (open, close) = nested(depth - 1, object);
            for inner in ["[]", "{}"] {
                let text = format!("{open}{inner}{close}");
                assert_eq!(cell(|batch| batch.json(&text)), text);
            }
        }
        for depth in [1025, 1026, 5000] {
            let (open, close) = nested(depth, object);
            let text = format!("{open}1{close}");
            assert_eq!(cell(|batch| batch.json(&text)), string(&text));
        }
        let (open, close) = nested(1024, object);
        for inner in ["[]", "{}"] {
            let text = format!("{open}{inner}{close}");
            assert_eq!(cell(|batch| batch.json(&text)), string(&text));
        }
    }
}

/// Each level remembers what it is: closed by the other bracket, it is no JSON.
#[test]
fn levels_are_closed_by_their_own_bracket() {
    let mut rng = Rng(3);
    for _ in 0..30 {
        let depth = 1 + rng.below(200) as usize;
        let kinds: Vec<bool> = (0..depth).map(|_| rng.below(2) == 0).collect();
        let (open, close) = nested(depth, |level| kinds[level]);
        let text = format!("{open}1{close}");
        assert_eq!(cell(|batch| batch.json(&text)), text);
        // After a level was left and entered anew as another kind, too.
        let mixed = format!("[{text},{text}]");
        assert_eq!(cell(|batch| batch.json(&mixed)), mixed);
        let other = nested(depth, |level| !kinds[level]);
        let mixed = format!("[{text},{}2{}]", other.0, other.1);
        assert_eq!(cell(|batch| batch.json(&mixed)), mixed);
        let at = rng.below(depth as u64) as usize;
        let mut wrong = close.into_bytes();
        wrong[at] = if wrong[at] == b'}' { b']' } else { b'}' };
        let text = format!("{open}1{}", String::from_utf8(wrong).expect("ASCII"));
        assert_eq!(cell(|batch| batch.json(&text)), string(&text));
    }
}

/// The text of a number is kept if it is JSON, and rewritten if it is not.
#[test]
fn number_text() {
    let kept =
        KEPT.iter().filter(|text| text.starts_with(|c: char| c == '-' || c.is_ascii_digit()));
    for text in kept {
        assert_eq!(cell(|batch| assert!(batch.decimal_str(text))), **text);
    }
    let rewritten = [
        ("+1", "1"),
        ("007", "7"),
        ("-007.10", "-7.10"),
        (".5", "0.5"),
        ("5.", "5"),
        ("-.5", "-0.5"),
        ("nan", "\"NaN\""),
        ("inf", "\"Infinity\""),
        ("-Infinity", "\"-Infinity\""),
    ];
    for (text, expected) in rewritten {
        assert_eq!(cell(|batch| assert!(batch.decimal_str(text))), expected);
    }
    let refused =
        ["", " ", "1 ", " 1", "x", "-", "1e", "1e+", "1.5.", "0x1", "1,5", "true", "[1]", "."];
    for text in refused {
        let mut batch = super::one_column();
        assert!(!batch.decimal_str(text), "{text:?}");
        // Nothing was written: a value is still due.
        batch.null();
        assert_eq!(batch.end_row(), Ok(()));
        assert_eq!(super::cells_of(&batch), ["null"]);
    }
}

//! Strings, bytes and what is written as text, against naive escapers.

use fetcher_engine::encode::Format;
use fetcher_engine::value::{Date, Decimal, Instant, Time, Timestamp, Uuid, Value};

use super::naive::{base64, string};
use super::{cell, cells, encoded, open};

/// The letters of the alphabet, over and over, so that a byte in a wrong place shows.
fn plain(len: usize) -> String {
    (0..len).map(|at| char::from(b'a' + (at % 23) as u8)).collect()
}

/// What this text is when a character is put in the place of the byte at `at`.
fn with(text: &str, at: usize, char: &str) -> String {
    [&text[..at], char, &text[at + 1..]].concat()
}

fn check(texts: &[String]) {
    let found = cells(texts, |batch, text| batch.str(text));
    let by_bytes = cells(texts, |batch, text| assert!(batch.utf8(text.as_bytes())));
    // Behind a key as short as most are.
    let mut batch = open(Format::Ndjson);
    batch.table("t", &["a", "b", "c"]).expect("the table is new");
    for ((found, by_bytes), text) in found.iter().zip(by_bytes).zip(texts) {
        let expected = string(text);
        assert_eq!(*found, expected);
        assert_eq!(by_bytes, expected, "as bytes");
        batch.null();
        batch.str(text);
        assert!(batch.utf8(text.as_bytes()));
        batch.end_row().expect("three values for three columns");
        let row = format!(r#""row":{{"a":null,"b":{expected},"c":{expected}}}}}"#);
        assert!(encoded(&batch).trim_end().ends_with(&row), "{} {row}", encoded(&batch));
        batch.clear();
    }
}

#[test]
fn strings_of_every_length() {
    let texts: Vec<String> = (0..300).map(plain).collect();
    check(&texts);
    let texts: Vec<String> = (0..100).map(|len| "é€😀".repeat(len)).collect();
    check(&texts);
    let texts: Vec<String> = (0..100).map(|len| "\"".repeat(len)).collect();
    check(&texts);
    let texts: Vec<String> = (0..100).map(|len| "\u{2028}".repeat(len) + &plain(len)).collect();
    check(&texts);
}

#[test]
fn a_special_character_at_every_place() {
    for special in ["\"", "<", "\u{1}", "\u{2028}", "\u{20ac}"] {
        for len in 1..100 {
            let text = plain(len);
            let texts: Vec<String> = (0..len).map(|at| with(&text, at, special)).collect();
            check(&texts);
        }
    }
}

#[test]
fn two_special_characters_at_every_distance() {
    for (first, second) in [("\\", "&"), ("\n", "\u{2029}"), ("\u{20ac}", ">")] {
        let text = plain(80);
        for at in [0, 1, 14, 15, 16, 17, 30, 31, 32, 33, 62, 63, 64] {
            let texts = (at + 1..80).map(|other| with(&with(&text, other, second), at, first));
            check(&texts.collect::<Vec<_>>());
        }
    }
}

/// Every character of one byte, the neighbours of the two that are escaped, and many others.
#[test]
fn every_character_is_escaped_or_not() {
    let chars = ('\0'..'\u{100}').chain('\u{2000}'..'\u{2100}').chain('\u{d7f0}'..'\u{e010}');
    let chars = chars.chain(['\u{800}', '\u{fff}', '\u{2fff}', '\u{ffff}', '\u{10000}', '😀']);
    let texts: Vec<String> = chars
        .flat_map(|char| {
            [0, 5, 20, 40].map(|before| format!("{}{char}{}", plain(before), plain(50 - before)))
        })
        .collect();
    check(&texts);
    let texts: Vec<String> = ('\0'..'\u{80}').map(|char| char.to_string()).collect();
    check(&texts);
}

#[test]
fn known_strings() {
    let table = [
        ("", "\"\""),
        ("a\"b", r#""a\"b""#),
        ("\\", r#""\\""#),
        ("\u{8}\u{c}\n\r\t", r#""\b\f\n\r\t""#),
        ("\0\u{1f}\u{7f}", "\"\\u0000\\u001f\u{7f}\""),
        ("<a>&</a>", r#""\u003ca\u003e\u0026\u003c/a\u003e""#),
        ("\u{2027}\u{2028}\u{2029}\u{202a}", "\"\u{2027}\\u2028\\u2029\u{202a}\""),
        ("\u{e2}\u{20ac}", "\"\u{e2}\u{20ac}\""),
    ];
    for (text, expected) in table {
        assert_eq!(cell(|batch| batch.str(text)), expected);
        assert_eq!(cell(|batch| batch.value(&Value::from(text))), expected);
        assert_eq!(cell(|batch| batch.display(&text)), expected);
        assert_eq!(string(text), expected, "the oracle");
    }
}

/// Every byte at every place of texts around a word's length, beside the library's own reading.
#[test]
fn bytes_that_are_no_text_are_refused_and_leave_nothing() {
    let mut refused = 0;
    for len in 1..=18 {
        for at in 0..len {
            for byte in 0..=u8::MAX {
                let mut bytes = plain(len).into_bytes();
                bytes[at] = byte;
                let expected = match str::from_utf8(&bytes) {
                    Ok(text) => string(text),
                    Err(_) => "\"none\"".to_owned(),
                };
                let found = cell(|batch| {
                    if !batch.utf8(&bytes) {
                        batch.str("none");
                    }
                });
                assert_eq!(found, expected, "{bytes:?}");
                refused += u32::from(expected == "\"none\"");
            }
        }
    }
    assert_eq!(refused, 171 * 128);
}

#[test]
fn a_display_that_fails_leaves_what_it_wrote() {
    struct Half;
    impl core::fmt::Display for Half {
        fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
            f.write_str("half")?;
            Err(core::fmt::Error)
        }
    }
    assert_eq!(cell(|batch| batch.display(&Half)), "\"half\"");
    assert_eq!(cell(|batch| batch.display(&1.5)), "\"1.5\"");
}

#[test]
fn bytes_of_every_length() {
    let bytes = |len: usize| (0..len).map(|at| (at * 37 + len * 11) as u8).collect::<Vec<_>>();
    let all: Vec<Vec<u8>> = (0..200).map(bytes).chain([(0..=255).collect()]).collect();
    for (found, bytes) in cells(&all, |batch, bytes| batch.bytes(bytes)).iter().zip(&all) {
        assert_eq!(*found, base64(bytes));
        assert_eq!(cell(|batch| batch.value(&Value::Bytes(bytes.clone()))), base64(bytes));
    }
    // RFC 4648, section 10.
    let table = ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"];
    for (len, expected) in table.into_iter().enumerate() {
        assert_eq!(cell(|batch| batch.bytes(&b"foobar"[..len])), format!("\"{expected}\""));
    }
    assert_eq!(cell(|batch| batch.bytes(&[0xFB, 0xEF, 0xFF])), "\"++//\"");
}

#[test]
fn the_simple_kinds() {
    assert_eq!(cell(|batch| batch.null()), "null");
    assert_eq!(cell(|batch| batch.bool(true)), "true");
    assert_eq!(cell(|batch| batch.bool(false)), "false");
    assert_eq!(cell(|batch| batch.value(&Value::Null)), "null");
    assert_eq!(cell(|batch| batch.value(&Value::Bool(true))), "true");
    assert_eq!(cell(|batch| batch.value(&Value::Bool(false))), "false");
    assert_eq!(cell(|batch| batch.value(&Value::I64(-7))), "-7");
    assert_eq!(cell(|batch| batch.value(&Value::U64(u64::MAX))), u64::MAX.to_string());
}

#[test]
fn decimals_keep_their_scale() {
    let table = [
        ("0", "0"),
        ("1.50", "1.50"),
        ("-0.000", "-0.000"),
        ("1e400", "1e400"),
        ("123456789012345678901234567890.12", "123456789012345678901234567890.12"),
        ("NaN", "\"NaN\""),
        ("Infinity", "\"Infinity\""),
        ("-Infinity", "\"-Infinity\""),
    ];
    for (text, expected) in table {
        let decimal = Decimal::parse(text).expect("a decimal");
        assert_eq!(cell(|batch| batch.decimal(&decimal)), expected);
        assert_eq!(cell(|batch| batch.value(&Value::Decimal(decimal.clone()))), expected);
        assert_eq!(cell(|batch| assert!(batch.decimal_str(text))), expected);
    }
}

#[test]
fn dates_and_times() {
    for text in
        ["2024-02-29", "0001-01-01", "+099999-12-31", "-004712-01-01", "infinity", "-infinity"]
    {
        let date = Date::parse(text).expect("a date");
        assert_eq!(cell(|batch| batch.date(date)), format!("\"{text}\""));
        assert_eq!(cell(|batch| batch.value(&Value::Date(date))), format!("\"{text}\""));
    }
    for text in ["00:00:00", "23:59:59.999999999", "12:34:56.5", "24:00:00"] {
        let time = Time::parse(text).expect("a time");
        assert_eq!(cell(|batch| batch.time(time)), format!("\"{text}\""));
        assert_eq!(cell(|batch| batch.value(&Value::Time(time))), format!("\"{text}\""));
    }
    for text in ["2024-02-29T12:34:56.789", "infinity", "-infinity"] {
        let stamp = Timestamp::parse(text).expect("a timestamp");
        assert_eq!(cell(|batch| batch.timestamp(stamp)), format!("\"{text}\""));
        assert_eq!(cell(|batch| batch.value(&Value::Timestamp(stamp))), format!("\"{text}\""));
    }
    for text in ["2024-02-29T12:34:56.789Z", "-infinity", "+012345-01-01T00:00:00Z"] {
        let instant = Instant::parse(text).expect("an instant");
        assert_eq!(cell(|batch| batch.instant(instant)), format!("\"{text}\""));
        assert_eq!(cell(|batch| batch.value(&Value::Instant(instant))), format!("\"{text}\""));
    }
    let text = "01234567-89ab-cdef-0123-456789abcdef";
    let uuid = Uuid::parse(text).expect("a UUID");
    assert_eq!(cell(|batch| batch.uuid(uuid)), format!("\"{text}\""));
    assert_eq!(cell(|batch| batch.value(&Value::Uuid(uuid))), format!("\"{text}\""));
}

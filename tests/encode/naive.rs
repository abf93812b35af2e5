//! The oracles: every form as its definition words it, one character after the other.

use core::fmt::Write as _;

use fetcher_engine::encode::Format;
use fetcher_engine::value::Value;

/// A JSON string with what Go's `encoding/json` escapes.
pub(crate) fn string(text: &str) -> String {
    let mut out = String::from("\"");
    for char in text.chars() {
        match char {
            '"' => out += "\\\"",
            '\\' => out += "\\\\",
            '\n' => out += "\\n",
            '\r' => out += "\\r",
            '\t' => out += "\\t",
            '\u{8}' => out += "\\b",
            '\u{c}' => out += "\\f",
            '\0'..'\u{20}' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                write!(out, "\\u{:04x}", u32::from(char)).expect("a string takes everything");
            }
            char => out.push(char),
        }
    }
    out + "\""
}

/// RFC 4648, section 4: bits in groups of six, the last group filled up, then padding.
pub(crate) fn base64(bytes: &[u8]) -> String {
    let alphabet: Vec<char> =
        ('A'..='Z').chain('a'..='z').chain('0'..='9').chain(['+', '/']).collect();
    let bits: Vec<u8> =
        bytes.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1)).collect();
    let digit = |six: &[u8]| {
        let padded = six.iter().copied().chain([0; 5]).take(6);
        alphabet[padded.fold(0, |sum, bit| sum << 1 | usize::from(bit))]
    };
    let mut text: String = bits.chunks(6).map(digit).collect();
    while !text.len().is_multiple_of(4) {
        text.push('=');
    }
    format!("\"{text}\"")
}

/// A value inside a cell, this many levels deep.
pub(crate) fn value(value: &Value, format: Format, depth: usize) -> String {
    let items: Vec<String> = match value {
        Value::List(items) => {
            items.iter().map(|item| self::value(item, format, depth + 1)).collect()
        }
        Value::Map(entries) => {
            let colon = if format == Format::Json { ": " } else { ":" };
            let entry = |(key, item): (&String, &Value)| {
                string(key) + colon + &self::value(item, format, depth + 1)
            };
            entries.iter().map(entry).collect()
        }
        Value::Null => return "null".into(),
        Value::I64(value) => return value.to_string(),
        Value::String(value) => return string(value),
        other => panic!("not needed in lists: {other:?}"),
    };
    let (open, close) = if matches!(value, Value::Map(_)) { ("{", "}") } else { ("[", "]") };
    let line = |depth: usize| match format {
        Format::Json => "\n".to_owned() + &"  ".repeat(4 + depth),
        _ => String::new(),
    };
    if items.is_empty() {
        return format!("{open}{close}");
    }
    let separator = ",".to_owned() + &line(depth + 1);
    [open, &line(depth + 1), &items.join(&separator), &line(depth), close].concat()
}

/// A row whose cells are sorted and already text.
pub(crate) fn row(format: Format, datasource: &str, table: &str, cells: &[(&str, &str)]) -> String {
    match format {
        Format::Json if cells.is_empty() => ",\n      {}".into(),
        Format::Json => {
            let cell = |(name, text): &(&str, &str)| format!("        {}: {text}", string(name));
            let cells: Vec<String> = cells.iter().map(cell).collect();
            format!(",\n      {{\n{}\n      }}", cells.join(",\n"))
        }
        _ => {
            let cell = |(name, text): &(&str, &str)| format!("{}:{text}", string(name));
            let cells: Vec<String> = cells.iter().map(cell).collect();
            let (datasource, table) = (string(datasource), string(table));
            let cells = cells.join(",");
            format!("{{\"config\":{datasource},\"table\":{table},\"row\":{{{cells}}}}}\n")
        }
    }
}

/// The shortest digits that read back and the power of ten of the first; of those the nearest to
/// the number, and of two that are equally near the even one. `exact` is `d.ddd…e±x`.
pub(crate) fn shortest(exact: &str, reads_back: impl Fn(&str) -> bool) -> (String, i32) {
    let (mantissa, exponent) = exact.split_once('e').expect("an exponent");
    let exponent: i32 = exponent.parse().expect("a number");
    let digits = mantissa.replace('.', "");
    for count in 1..18 {
        let (low, rest) = digits.split_at(count);
        let number: u64 = low.parse().expect("at most eighteen digits");
        let high = (number + 1).to_string();
        let carry = i32::from(high.len() > count);
        let high = &high[..count];
        let reads = |digits: &str, exponent: i32| {
            reads_back(&format!("{digits}e{}", exponent + 1 - count as i32))
        };
        let half = "5".to_owned() + &"0".repeat(rest.len() - 1);
        let even = number.is_multiple_of(2);
        let up = rest > half.as_str() || (rest == half && !even);
        match (reads(low, exponent), reads(high, exponent + carry)) {
            (true, true) if up => return (high.into(), exponent + carry),
            (true, _) => return (low.into(), exponent),
            (false, true) => return (high.into(), exponent + carry),
            (false, false) => {}
        }
    }
    panic!("seventeen digits are enough: {exact}")
}

/// The layout that Go gives these digits.
pub(crate) fn go_layout(digits: &str, exponent: i32, scientific: bool) -> String {
    let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or(0));
    let (count, place) = (digits.len() as i32, exponent + 1);
    if scientific {
        let (first, rest) = digits.split_at(1);
        let point = if rest.is_empty() { "" } else { "." };
        format!("{first}{point}{rest}e{exponent:+}")
    } else if place <= 0 {
        format!("0.{}{digits}", zeros(-place))
    } else if count <= place {
        format!("{digits}{}", zeros(place - count))
    } else {
        let (whole, fraction) = digits.split_at(place as usize);
        format!("{whole}.{fraction}")
    }
}

//! Scalars one by one: decimals, dates and times, identifiers, bytes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use fetcher_engine::value::{Date, Decimal, Instant, Time, Timestamp, Uuid, Value, ValueKind};

use super::calendar::{civil, date_text, day_text, instant_text, time_text, timestamp_text};
use super::cells;
use super::random::{Random, cases};

/// A number as a database may spell it.
pub(crate) fn number_text(random: &mut Random) -> String {
    let digits = |random: &mut Random, least: usize| {
        let count = {
            let most = random.of(&[2, 5, 40]);
            least + random.below(most)
        };
        let digit = |_| (b'0' + random.below(10) as u8) as char;
        (0..count).map(digit).collect::<String>()
    };
    let mut text = random.of(&["", "", "-", "+"]).to_string();
    match random.below(4) {
        0 => text += &digits(random, 1),
        1 => text += &(digits(random, 1) + "."),
        2 => text += &(digits(random, 0) + "." + &digits(random, 1)),
        _ => text += &(random.of(&["0", "00", "007"]).to_string() + "." + &digits(random, 1)),
    }
    if random.one_in(3) {
        text += random.of(&["e", "E"]);
        text += random.of(&["", "+", "-"]);
        text += random.of(&["0", "3", "005", "28", "400", "999999999", "9223372036854775807"]);
    }
    text
}

/// A spelling taken apart.
#[derive(Debug, PartialEq)]
struct Number {
    negative: bool,
    /// Without zeros in front.
    whole: String,
    /// With all of its digits: they are the scale.
    fraction: String,
    exponent: i64,
}

/// By a grammar of this test's own: a sign, digits with a point among them, an exponent.
fn number(text: &str) -> Option<Number> {
    let (sign, unsigned) = text.split_at(usize::from(text.starts_with(['+', '-'])));
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => {
            let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
            (!digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())).then_some(())?;
            (mantissa, exponent.parse().ok()?)
        }
        None => (unsigned, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = [whole, fraction].concat();
    (!all.is_empty() && all.bytes().all(|b| b.is_ascii_digit())).then(|| Number {
        negative: sign == "-",
        whole: whole.trim_start_matches('0').to_owned(),
        fraction: fraction.to_owned(),
        exponent,
    })
}

#[test]
fn decimals_keep_the_number_and_its_scale() {
    cases(20_000, |random| {
        let text = number_text(random);
        let decimal = Decimal::parse(&text).unwrap_or_else(|| panic!("{text} is refused"));
        assert_eq!(number(decimal.as_str()), number(&text), "{text}");
        let json = serde_json::from_str::<serde_json::Number>(decimal.as_str());
        assert!(json.is_ok(), "{text} becomes {decimal}, which is no JSON");
    });
}

#[test]
fn what_is_no_number_is_no_decimal() {
    cases(20_000, |random| {
        let mut text: Vec<char> = number_text(random).chars().collect();
        for _ in 0..1 + random.below(2) {
            let at = random.below(text.len() + 1);
            match random.below(3) {
                0 if at < text.len() => drop(text.remove(at)),
                1 if at < text.len() => text.insert(at, text[at]),
                _ => text.insert(at, random.of(&['+', '-', '.', 'e', 'E', '0', ' ', '_', '٣'])),
            }
        }
        let text: String = text.into_iter().collect();
        let found = Decimal::parse(&text).map(|decimal| decimal.as_str().to_owned());
        assert_eq!(found.is_some(), number(&text).is_some(), "{text}");
        assert_eq!(found.as_deref().and_then(number), number(&text), "{text}");
    });
}

#[test]
fn decimals_compare_as_numbers() {
    cases(20_000, |random| {
        // Both as whole numbers of the smallest unit that either has.
        let make = |random: &mut Random| {
            let n = i128::from((random.magnitude() as i64) >> random.below(40));
            let scale = random.below(6) as u32;
            let digits = format!("{:0width$}", n.abs(), width = scale as usize + 1);
            let (whole, fraction) = digits.split_at(digits.len() - scale as usize);
            let sign = if n < 0 { "-" } else { "" };
            let decimal = Decimal::parse(&format!("{sign}{whole}.{fraction}"));
            (n, scale, decimal.expect("a number"))
        };
        let (a, a_scale, a_decimal) = make(random);
        let (b, b_scale, b_decimal) = if random.one_in(3) {
            // The same number in another scale.
            let decimal = Decimal::parse(&format!("{}e-{}", a * 10, a_scale + 1));
            (a * 10, a_scale + 1, decimal.expect("a number"))
        } else {
            make(random)
        };
        let expected = (a * 10_i128.pow(b_scale)).cmp(&(b * 10_i128.pow(a_scale)));
        assert_eq!(a_decimal.compare(&b_decimal), expected, "{a_decimal} {b_decimal}");
    });
}

#[test]
fn dates_are_those_of_the_calendar() {
    let check = |days: i32| {
        let date = Date::from_days(days);
        assert_eq!(date.to_string(), date_text(date), "{days}");
        assert_eq!(Date::parse(&date.to_string()), Some(date), "{days}");
        if date.is_finite() {
            let (year, month, day) = civil(days);
            assert_eq!(date.ymd(), Some((year, month, day)), "{days}");
            assert_eq!(Date::from_ymd(year, month, day), Some(date), "{days}");
            // The day after the last of the month is none, or the month goes on.
            let next = Date::from_ymd(year, month, day + 1);
            let goes_on = civil(days.saturating_add(1)).1 == month;
            if days < i32::MAX - 1 {
                assert_eq!(next.is_some(), goes_on, "{days}");
            }
        }
    };
    (-800_000..=800_000).step_by(7).for_each(check);
    (i32::MIN..i32::MIN + 1000).for_each(check);
    (i32::MAX - 1000..=i32::MAX).for_each(check);
    cases(50_000, |random| check(random.bits() as i32));
}

#[test]
fn times_and_moments_read_as_written() {
    cases(20_000, |random| {
        let time = cells::time(random);
        assert_eq!(time.to_string(), time_text(time));
        assert_eq!(Time::parse(&time.to_string()), Some(time));
        let timestamp = cells::timestamp(random);
        assert_eq!(timestamp.to_string(), timestamp_text(timestamp));
        assert_eq!(Timestamp::parse(&timestamp.to_string()), Some(timestamp));
        let instant = cells::instant(random);
        assert_eq!(instant.to_string(), instant_text(instant));
        assert_eq!(Instant::parse(&instant.to_string()), Some(instant));
    });
}

#[test]
fn an_offset_is_taken_off() {
    cases(20_000, |random| {
        let day = (random.bits() as i32) >> 12;
        let second = random.below(86_400) as u64;
        let clock = time_text(Time::from_nanos(second * 1_000_000_000).expect("a time"));
        let (hours, minutes) = (random.below(24) as i64, random.below(60) as i64);
        let sign = random.of(&["+", "-"]);
        let (text, offset) = match random.below(4) {
            0 => ("Z".to_owned(), 0),
            1 => (format!("{sign}{hours:02}"), hours * 3600),
            2 => (format!("{sign}{hours:02}{minutes:02}"), hours * 3600 + minutes * 60),
            _ => (format!("{sign}{hours:02}:{minutes:02}"), hours * 3600 + minutes * 60),
        };
        let offset = if sign == "-" { -offset } else { offset };
        let text = format!("{}{}{clock}{text}", day_text(day), random.of(&["T", "t", " "]));
        let local = i64::from(day) * 86_400 + second.cast_signed();
        let expected = Instant::new(local - offset, 0);
        assert_eq!(Instant::parse(&text), expected, "{text}");
    });
}

#[test]
fn identifiers_are_those_of_the_uuid_crate() {
    cases(10_000, |random| {
        let id = cells::uuid(random);
        let other = uuid::Uuid::from_bytes(*id.as_bytes());
        assert_eq!(id.to_string(), other.hyphenated().to_string());
        let mut text = match random.below(4) {
            0 => other.simple().to_string(),
            1 => other.braced().to_string(),
            _ => other.hyphenated().to_string(),
        };
        if random.one_in(2) {
            text = text.to_uppercase();
        }
        assert_eq!(Uuid::parse(&text), Some(id), "{text}");
        // A broken one is broken for both.
        let at = random.below(text.len());
        text.replace_range(at..at + 1, random.of(&["-", "g", "", "0", "é", "00", " "]));
        let parsed = uuid::Uuid::parse_str(&text).map(uuid::Uuid::into_bytes).ok();
        assert_eq!(Uuid::parse(&text).map(|id| *id.as_bytes()), parsed, "{text}");
    });
}

#[test]
fn base64_is_that_of_the_base64_crate() {
    cases(20_000, |random| {
        let most = random.of(&[10, 100]);
        let size = random.below(most);
        let bytes = random.bytes(size);
        let mut text = STANDARD.encode(&bytes);
        let decode = |text: &str| Value::from(text).convert_to(ValueKind::Bytes);
        assert_eq!(decode(&text), Some(Value::Bytes(bytes)));
        // A broken one is broken for both.
        let at = random.below(text.len() + 1);
        match random.below(3) {
            0 => text.truncate(at),
            1 => text.insert_str(at, random.of(&["=", "A", "-", "_", "\n", "é"])),
            _ if at < text.len() => text.replace_range(at..at + 1, random.of(&["=", "B", "/"])),
            _ => {}
        }
        assert_eq!(decode(&text), STANDARD.decode(&text).ok().map(Value::Bytes), "{text}");
    });
}

//! Floats against another algorithm for the shortest digits (`zmij`), laid out by Go's rule.

use fetcher_engine::encode::{Format, RowBatch, StepShape};

use super::random::{Random, cases};
use super::tree::Tree;

/// The shortest decimal digits that read as a number, and the power of ten of the first of them.
struct Shortest {
    digits: String,
    exponent: i32,
}

impl Shortest {
    /// Reads the digits and the exponent out of any layout.
    fn of(text: &str) -> Self {
        let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let exponent: i32 = exponent.parse().expect("an exponent");
        let all = [whole, fraction].concat();
        let digits = all.trim_start_matches('0');
        let zeros = all.len() - digits.len();
        let exponent = exponent + whole.len() as i32 - zeros as i32 - 1;
        let digits = digits.trim_end_matches('0').to_owned();
        if digits.is_empty() {
            return Self { digits: "0".to_owned(), exponent: 0 };
        }
        Self { digits, exponent }
    }

    /// As `encoding/json` of Go writes it, after `strconv.AppendFloat`.
    fn layout(&self, negative: bool, scientific: bool) -> String {
        let Self { digits, exponent } = self;
        let sign = if negative { "-" } else { "" };
        let count = digits.len() as i32;
        if scientific {
            let (first, rest) = digits.split_at(1);
            let point = if rest.is_empty() { "" } else { "." };
            return format!("{sign}{first}{point}{rest}e{exponent:+}");
        }
        let zeros = |count: i32| "0".repeat(count.unsigned_abs() as usize);
        if *exponent < 0 {
            format!("{sign}0.{}{digits}", zeros(-exponent - 1))
        } else if count <= exponent + 1 {
            format!("{sign}{digits}{}", zeros(exponent + 1 - count))
        } else {
            let (whole, fraction) = digits.split_at(*exponent as usize + 1);
            format!("{sign}{whole}.{fraction}")
        }
    }
}

/// What a double has to be in a result.
pub(crate) fn tree_f64(value: f64) -> Tree {
    if !value.is_finite() {
        return special(value);
    }
    let magnitude = value.abs();
    let scientific = magnitude != 0.0 && !(1e-6..1e21).contains(&magnitude);
    let text = zmij::Buffer::new().format_finite(magnitude).to_owned();
    Tree::Raw(Shortest::of(&text).layout(value.is_sign_negative(), scientific))
}

/// What a single float has to be in a result.
pub(crate) fn tree_f32(value: f32) -> Tree {
    if !value.is_finite() {
        return special(f64::from(value));
    }
    let magnitude = value.abs();
    let scientific = magnitude != 0.0 && !(1e-6..1e21).contains(&magnitude);
    let text = zmij::Buffer::new().format_finite(magnitude).to_owned();
    Tree::Raw(Shortest::of(&text).layout(value.is_sign_negative(), scientific))
}

fn special(value: f64) -> Tree {
    let text = match (value.is_nan(), value > 0.0) {
        (true, _) => "NaN",
        (false, true) => "Infinity",
        (false, false) => "-Infinity",
    };
    Tree::Text(text.to_owned())
}

/// Any double, and likely one that a person would write.
pub(crate) fn any_f64(random: &mut Random) -> f64 {
    match random.below(8) {
        0 => random.of(&[0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY]),
        1..=3 => human(random),
        4 => random.magnitude().cast_signed() as f64,
        _ => f64::from_bits(random.bits()),
    }
}

/// Any single float.
pub(crate) fn any_f32(random: &mut Random) -> f32 {
    match random.below(8) {
        0 => random.of(&[0.0, -0.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY]),
        1..=3 => human(random) as f32,
        _ => f32::from_bits(random.bits() as u32),
    }
}

/// A decimal number of a few digits.
fn human(random: &mut Random) -> f64 {
    let n = random.magnitude() as i64;
    let number = n as f64 / 10_f64.powi(random.below(12) as i32);
    if random.one_in(2) { -number } else { number }
}

/// The texts that the engine writes for these numbers.
fn written<T: Copy>(numbers: &[T], write: impl Fn(&mut RowBatch, T)) -> Vec<String> {
    const HEAD: &str = r#"{"config":"d","table":"t","row":{"x":"#;
    let mut texts = Vec::with_capacity(numbers.len());
    for numbers in numbers.chunks(4096) {
        let mut batch = RowBatch::new(StepShape::open(Format::Ndjson, "d"));
        batch.table("t", &["x"]).expect("a table");
        for number in numbers {
            write(&mut batch, *number);
            batch.end_row().expect("a row");
        }
        let lines = str::from_utf8(batch.encoded()).expect("UTF-8").lines();
        texts.extend(lines.map(|line| {
            let rest = line.strip_prefix(HEAD).expect("the head of a line");
            rest.strip_suffix("}}").expect("the end of a line").to_owned()
        }));
    }
    assert_eq!(texts.len(), numbers.len());
    texts
}

fn check_f64(numbers: &[f64]) {
    for (number, text) in numbers.iter().zip(written(numbers, RowBatch::f64)) {
        let bits = number.to_bits();
        assert_eq!(text, tree_f64(*number).compact(), "{number:e} {bits:#x}");
        if number.is_finite() {
            let read: f64 = text.parse().expect("a number");
            assert_eq!(read.to_bits(), bits, "{text} does not read back");
        }
    }
}

fn check_f32(numbers: &[f32]) {
    for (number, text) in numbers.iter().zip(written(numbers, RowBatch::f32)) {
        let bits = number.to_bits();
        assert_eq!(text, tree_f32(*number).compact(), "{number:e} {bits:#x}");
        if number.is_finite() {
            let read: f32 = text.parse().expect("a number");
            assert_eq!(read.to_bits(), bits, "{text} does not read back");
        }
    }
}

/// A number and those around it, and all of them with the other sign.
fn around_f64(number: f64) -> impl Iterator<Item = f64> {
    let bits = number.to_bits();
    let near = bits.saturating_sub(20)..=bits.saturating_add(20);
    near.map(f64::from_bits).flat_map(|number| [number, -number])
}

fn around_f32(number: f32) -> impl Iterator<Item = f32> {
    let bits = number.to_bits();
    let near = bits.saturating_sub(20)..=bits.saturating_add(20);
    near.map(f32::from_bits).flat_map(|number| [number, -number])
}

#[test]
fn random_doubles() {
    cases(50, |random| {
        let bits: Vec<f64> = (0..5000).map(|_| f64::from_bits(random.bits())).collect();
        check_f64(&bits);
        let mixed: Vec<f64> = (0..1000).map(|_| any_f64(random)).collect();
        check_f64(&mixed);
    });
}

#[test]
fn doubles_that_people_write() {
    cases(50, |random| {
        let numbers: Vec<f64> = (0..4000).map(|_| human(random)).collect();
        check_f64(&numbers);
        // Up to sixteen digits, where a fast path must know its limits.
        let digits = |random: &mut Random| {
            let digits = 1 + random.below(16) as u32;
            let n = random.bits() % 10_u64.pow(digits);
            let text = format!("{n}e-{}", random.below(24));
            text.parse().expect("a number")
        };
        let numbers: Vec<f64> = (0..4000).map(|_| digits(random)).collect();
        check_f64(&numbers);
    });
}

#[test]
fn every_small_amount_of_money() {
    let cents: Vec<f64> = (0..100_000).map(|n| f64::from(n) / 100.0).collect();
    check_f64(&cents);
    let thousandths: Vec<f64> = (0..100_000).map(|n| f64::from(n) / 1000.0).collect();
    check_f64(&thousandths);
}

#[test]
fn doubles_at_every_power() {
    let twos = (-1074..=1023).map(|n| 2_f64.powi(n));
    let tens = (-323..=308).map(|n| format!("1e{n}").parse().expect("a number"));
    let near: Vec<f64> = twos.chain(tens).flat_map(around_f64).collect();
    check_f64(&near);
}

#[test]
fn doubles_at_boundaries() {
    let edges = [
        0.0,
        1e-6,
        1e-7,
        1e15,
        1e16,
        1e17,
        1e20,
        1e21,
        1e22,
        9_007_199_254_740_992.0,
        18_446_744_073_709_551_616.0,
        f64::MIN_POSITIVE,
        f64::MAX,
        f64::EPSILON,
        999_999_999_999_999.0,
        0.1,
        0.3,
        123_456_789.012_345_67,
        5e-324,
        2.225_073_858_507_201e-308,
    ];
    let near: Vec<f64> = edges.into_iter().flat_map(around_f64).collect();
    check_f64(&near);
    check_f64(&[f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY]);
}

#[test]
fn single_floats() {
    cases(20, |random| {
        let bits = |random: &mut Random| f32::from_bits(random.bits() as u32);
        let numbers: Vec<f32> = (0..5000).map(|_| bits(random)).collect();
        check_f32(&numbers);
        let mixed: Vec<f32> = (0..2000).map(|_| any_f32(random)).collect();
        check_f32(&mixed);
    });
    let twos = (-149..=127).map(|n| 2_f32.powi(n));
    let tens = (-45..=38).map(|n| format!("1e{n}").parse().expect("a number"));
    let edges = [0.0, 1e-6, 1e21, 16_777_216.0, f32::MAX, f32::MIN_POSITIVE];
    let near: Vec<f32> = twos.chain(tens).chain(edges).flat_map(around_f32).collect();
    check_f32(&near);
}

//! Integers at every count of digits, and floats against exact decimal arithmetic.

use fetcher_engine::encode::RowBatch;
use fetcher_engine::value::Value;

use super::naive::{go_layout, shortest};
use super::{Rng, cell, cells};

#[test]
fn integers_of_every_count_of_digits() {
    let tens = (0..20).map(|power| 10_u64.pow(power));
    let near = tens.flat_map(|ten| [ten - 1, ten, ten + 1, ten.saturating_mul(7), ten / 9 * 9]);
    let patterns = (1..20).map(|count| "9081726354".repeat(2)[..count].parse().expect("a number"));
    let unsigned: Vec<u64> = near
        .chain(patterns)
        .chain(0..1001)
        .chain([u64::MAX, u64::MAX - 1, i64::MAX as u64, i64::MIN.unsigned_abs()])
        .collect();
    for (text, number) in cells(&unsigned, |batch, n| batch.u64(*n)).iter().zip(&unsigned) {
        assert_eq!(*text, number.to_string());
    }
    let signed: Vec<i64> = unsigned
        .iter()
        .filter_map(|n| i64::try_from(*n).ok())
        .flat_map(|n| [n, -n])
        .chain([i64::MIN, i64::MIN + 1])
        .collect();
    for (text, number) in cells(&signed, |batch, n| batch.i64(*n)).iter().zip(&signed) {
        assert_eq!(*text, number.to_string());
    }
}

/// What a double has to be.
fn text_of_f64(value: f64) -> String {
    let magnitude = value.abs();
    let sign = if value.is_sign_negative() { "-" } else { "" };
    let exact = format!("{magnitude:.780e}");
    let reads = |text: &str| text.parse::<f64>().is_ok_and(|read| read == magnitude);
    let (digits, exponent) = shortest(&exact, reads);
    let scientific = magnitude != 0.0 && !(1e-6..1e21).contains(&magnitude);
    sign.to_owned() + &go_layout(&digits, exponent, scientific)
}

fn text_of_f32(value: f32) -> String {
    let magnitude = value.abs();
    let sign = if value.is_sign_negative() { "-" } else { "" };
    let exact = format!("{magnitude:.160e}");
    let reads = |text: &str| text.parse::<f32>().is_ok_and(|read| read == magnitude);
    let (digits, exponent) = shortest(&exact, reads);
    let scientific = magnitude != 0.0 && !(1e-6..1e21).contains(&magnitude);
    sign.to_owned() + &go_layout(&digits, exponent, scientific)
}

fn check_f64(numbers: &[f64]) {
    for (text, number) in cells(numbers, |batch, n| batch.f64(*n)).iter().zip(numbers) {
        assert_eq!(*text, text_of_f64(*number), "{:#x}", number.to_bits());
        let read: f64 = text.parse().expect("a number");
        assert_eq!(read.to_bits(), number.to_bits(), "{text}");
    }
}

fn check_f32(numbers: &[f32]) {
    for (text, number) in cells(numbers, |batch, n| batch.f32(*n)).iter().zip(numbers) {
        assert_eq!(*text, text_of_f32(*number), "{:#x}", number.to_bits());
        let read: f32 = text.parse().expect("a number");
        assert_eq!(read.to_bits(), number.to_bits(), "{text}");
    }
}

/// Texts that were looked up, so that the oracle itself is held to something.
#[test]
fn known_doubles() {
    let table: [(f64, &str); 40] = [
        (0.0, "0"),
        (-0.0, "-0"),
        (1.0, "1"),
        (-1.5, "-1.5"),
        (0.1, "0.1"),
        (0.1 + 0.2, "0.30000000000000004"),
        (1.0 / 3.0, "0.3333333333333333"),
        (2.0 / 3.0, "0.6666666666666666"),
        (123.456, "123.456"),
        (100.0, "100"),
        (120.50, "120.5"),
        (1e-6, "0.000001"),
        (9.999_999_999_999_997e-7, "9.999999999999997e-7"),
        (1e-7, "1e-7"),
        (1.5e-9, "1.5e-9"),
        (1.000_000_000_000_000_2e-6, "0.0000010000000000000002"),
        (1e14, "100000000000000"),
        (1e15, "1000000000000000"),
        (999_999_999_999_999.0, "999999999999999"),
        (999_999_999_999_999.9, "999999999999999.9"),
        (1e20, "100000000000000000000"),
        (999_999_999_999_999_868_928.0, "999999999999999900000"),
        (1e21, "1e+21"),
        (1.000_000_000_000_000_1e21, "1.0000000000000001e+21"),
        (1.25e100, "1.25e+100"),
        (f64::MAX, "1.7976931348623157e+308"),
        (f64::MIN_POSITIVE, "2.2250738585072014e-308"),
        (2.225_073_858_507_201e-308, "2.225073858507201e-308"),
        (5e-324, "5e-324"),
        (1_560_088_624_778_898.25, "1560088624778898.2"),
        (-1_560_088_624_778_898.75, "-1560088624778898.8"),
        (9_007_199_254_740_993.0, "9007199254740992"),
        (4_503_599_627_370_495.5, "4503599627370495.5"),
        (2.980_232_238_769_531_25e-8, "2.9802322387695312e-8"),
        (9.313_225_746_154_785e-10, "9.313225746154785e-10"),
        (5.960_464_477_539_063e-8, "5.960464477539063e-8"),
        (123_456.789_012_345, "123456.789012345"),
        (0.000_123, "0.000123"),
        (1234.000_000_001, "1234.000000001"),
        (72_057_594_037_927_936.0, "72057594037927940"),
    ];
    for (number, text) in table {
        assert_eq!(cell(|batch| batch.f64(number)), text, "{number:e}");
        assert_eq!(cell(|batch| batch.value(&Value::F64(number))), text, "{number:e}");
        assert_eq!(text_of_f64(number), text, "the oracle");
    }
}

#[test]
fn known_single_floats() {
    let table: [(f32, &str); 18] = [
        (0.0, "0"),
        (-0.0, "-0"),
        (1.0, "1"),
        (0.1, "0.1"),
        (-1_065_218.25, "-1065218.2"),
        (1_065_218.75, "1065218.8"),
        (16_777_216.0, "16777216"),
        (33_554_432.0, "33554432"),
        (1e-6, "0.000001"),
        (9.999_999e-7, "9.999999e-7"),
        (1e-7, "1e-7"),
        (1e20, "100000000000000000000"),
        (1e21, "1e+21"),
        (2.980_232_2e-8, "2.9802322e-8"),
        (f32::MAX, "3.4028235e+38"),
        (f32::MIN_POSITIVE, "1.1754944e-38"),
        (1e-45, "1e-45"),
        (8.589_935e9, "8589935000"),
    ];
    for (number, text) in table {
        assert_eq!(cell(|batch| batch.f32(number)), text, "{number:e}");
        assert_eq!(cell(|batch| batch.value(&Value::F32(number))), text, "{number:e}");
        assert_eq!(text_of_f32(number), text, "the oracle");
    }
}

#[test]
fn what_is_no_number_is_a_string() {
    type Write = fn(&mut RowBatch, f64);
    let double: Write = |batch, value| batch.f64(value);
    let single: Write = |batch, value| batch.f32(value as f32);
    let value: Write = |batch, value| batch.value(&Value::F64(value));
    for write in [double, single, value] {
        let of = |value| cell(|batch| write(batch, value));
        assert_eq!(of(f64::NAN), "\"NaN\"");
        assert_eq!(of(-f64::NAN), "\"NaN\"");
        assert_eq!(of(f64::INFINITY), "\"Infinity\"");
        assert_eq!(of(f64::NEG_INFINITY), "\"-Infinity\"");
    }
}

/// A number, its two neighbours, and all of them with the other sign.
fn around_f64(number: f64) -> impl Iterator<Item = f64> {
    [number, number.next_down(), number.next_up()]
        .into_iter()
        .filter(|number| number.is_finite())
        .flat_map(|number| [number, -number])
}

fn around_f32(number: f32) -> impl Iterator<Item = f32> {
    [number, number.next_down(), number.next_up()]
        .into_iter()
        .filter(|number| number.is_finite())
        .flat_map(|number| [number, -number])
}

#[test]
fn powers_of_two_and_ten() {
    let twos = (-1074..=1023).map(|n| 2_f64.powi(n));
    check_f64(&twos.collect::<Vec<_>>());
    let near_twos = (-100..=100).map(|n| 2_f64.powi(n)).flat_map(around_f64);
    let tens = (-323..=308).map(|n| format!("1e{n}").parse().expect("a number"));
    check_f64(&near_twos.chain(tens).collect::<Vec<_>>());
    let near_tens = (-30..=30).map(|n| format!("1e{n}").parse().expect("a number"));
    check_f64(&near_tens.flat_map(around_f64).collect::<Vec<_>>());
    let twos = (-149..=127).map(|n| 2_f32.powi(n));
    let tens = (-45..=38).map(|n| format!("1e{n}").parse().expect("a number"));
    check_f32(&twos.chain(tens).flat_map(around_f32).collect::<Vec<_>>());
}

/// Every count of digits before and behind the point that a person would write.
#[test]
fn short_decimals_of_every_scale() {
    let digits = ["1", "9", "12", "305", "1001", "72910", "123456789", "999999999999999"];
    let texts =
        digits.iter().flat_map(|digits| (0..26).map(move |scale| format!("{digits}e-{scale}")));
    let more = (1..18).flat_map(|count| {
        let digits = "98765432123456789"[..count].to_owned();
        (0..20).map(move |scale| format!("{digits}e-{scale}"))
    });
    let numbers: Vec<f64> = texts.chain(more).map(|text| text.parse().expect("a number")).collect();
    check_f64(&numbers);
    let singles: Vec<f32> = numbers.iter().map(|number| *number as f32).collect();
    check_f32(&singles);
    let cents: Vec<f64> = (0..2000).map(|n| f64::from(n * 7) / 100.0).collect();
    check_f64(&cents);
}

/// Odd numbers over a power of two whose shortest form lies exactly half a unit away.
#[test]
fn ties_of_every_count_of_decimals() {
    let mut rng = Rng(1);
    let mut ties = Vec::new();
    for decimals in 0..24 {
        let power = 2_f64.powi(-(decimals + 1));
        let least = ((1_u64 << 53) as f64 / 5_f64.powi(decimals)).max(1.0) as u64;
        for at in 0..24 {
            // Some just above where the unit is coarse enough, some anywhere.
            let span = if at % 2 == 0 { least + 64 } else { 1 << 53 };
            let low = least / 2;
            let odd = (low + rng.below(span.max(low + 2) - low)) | 1;
            ties.extend([odd as f64 * power, -(odd as f64) * power]);
        }
    }
    check_f64(&ties);
    let mut ties = Vec::new();
    for decimals in 0..13 {
        let power = 2_f32.powi(-(decimals + 1));
        let least = ((1_u64 << 24) as f32 / 5_f32.powi(decimals)).max(1.0) as u64;
        for at in 0..48 {
            let span = if at % 2 == 0 { least + 64 } else { 1 << 24 };
            let low = least / 2;
            let odd = (low + rng.below(span.max(low + 2) - low)) | 1;
            ties.extend([odd as f32 * power, -(odd as f32) * power]);
        }
    }
    check_f32(&ties);
}

#[test]
fn any_floats() {
    let mut rng = Rng(2);
    let bits: Vec<f64> = (0..1500).map(|_| f64::from_bits(rng.next())).collect();
    check_f64(&bits.into_iter().filter(|number| number.is_finite()).collect::<Vec<_>>());
    let numbers: Vec<f64> = (0..1500)
        .map(|_| (rng.next() >> (rng.below(63) + 1)) as f64 / 2_f64.powi(rng.below(60) as i32))
        .collect();
    check_f64(&numbers);
    let bits: Vec<f32> = (0..1500).map(|_| f32::from_bits(rng.next() as u32)).collect();
    check_f32(&bits.into_iter().filter(|number| number.is_finite()).collect::<Vec<_>>());
}

//! Numbers against independent oracles: text expansion for decimals, digit-by-digit doubling for
//! floats, wide integers for integers.

use core::cmp::Ordering;

use fetcher_engine::value::{Decimal, Value, compare};

use super::{Rng, decimal, value};

#[test]
fn decimals_keep_their_text_and_are_brought_to_json_grammar() {
    let table = [
        ("0", "0"),
        ("-0", "-0"),
        ("1.0", "1.0"),
        ("3.75", "3.75"),
        ("0.00000000000000000001", "0.00000000000000000001"),
        ("1e-130", "1e-130"),
        ("1E+05", "1E+05"),
        ("+1", "1"),
        ("+.5", "0.5"),
        ("007", "7"),
        ("-007.10", "-7.10"),
        ("000", "0"),
        (".5", "0.5"),
        ("-.5e1", "-0.5e1"),
        ("5.", "5"),
        ("5.e3", "5e3"),
        ("1e9223372036854775807", "1e9223372036854775807"),
        ("1e-000000000000000000000000001", "1e-000000000000000000000000001"),
        ("nan", "NaN"),
        ("Inf", "Infinity"),
        ("+infinity", "Infinity"),
        ("-INFINITY", "-Infinity"),
        ("-inf", "-Infinity"),
    ];
    for (text, kept) in table {
        assert_eq!(decimal(text).as_str(), kept, "{text}");
        assert_eq!(decimal(text).to_string(), kept);
        assert_eq!(decimal(text).is_finite(), !kept.contains(['N', 'I']), "{text}");
    }
    let long = "9".repeat(100_000);
    assert_eq!(decimal(&long).as_str(), long);
    for refused in [
        "",
        "+",
        "-",
        ".",
        "-.",
        "e5",
        ".e5",
        "1e",
        "1e+",
        "1e5.",
        "1.2.3",
        "--1",
        "+-1",
        "1 ",
        " 1",
        "1_000",
        "0x1",
        "1,5",
        "1e9223372036854775808",
        "-nan",
        "+nan",
        "infinit",
        "١",
        "1é",
        "é",
        "-",
        "1ee5",
        "1e--5",
        "$1",
    ] {
        assert_eq!(Decimal::parse(refused), None, "{refused:?}");
    }
    assert_eq!(Decimal::from(i64::MIN).as_str(), i64::MIN.to_string());
    assert_eq!(Decimal::from(u64::MAX).as_str(), u64::MAX.to_string());
    assert_eq!(Decimal::from(i128::MIN).as_str(), i128::MIN.to_string());
    assert_ne!(decimal("1.0"), decimal("1.00"));
}

/// Sign and digits of fixed width, so that the order of numbers is the order of texts.
fn expand(text: &str) -> (bool, String) {
    const WIDTH: usize = 1200;
    let (negative, text) = (text.starts_with('-'), text.trim_start_matches('-'));
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let exponent: isize = exponent.parse().expect("small exponent");
    let (int, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let mut places = vec![b'0'; 2 * WIDTH];
    let first = WIDTH as isize - int.len() as isize - exponent;
    for (at, digit) in int.bytes().chain(fraction.bytes()).enumerate() {
        if digit != b'0' {
            places[(first + at as isize) as usize] = digit;
        }
    }
    let digits = String::from_utf8(places).expect("digits");
    (negative && digits.contains(|digit| digit != '0'), digits)
}

fn naive_order(a: &str, b: &str) -> Ordering {
    match (expand(a), expand(b)) {
        ((false, a), (false, b)) => a.cmp(&b),
        ((true, a), (true, b)) => b.cmp(&a),
        ((a, _), (b, _)) => b.cmp(&a),
    }
}

#[test]
fn decimals_order_like_their_expansions() {
    let mut rng = Rng(1);
    let mut random = move || {
        let len = rng.below(4);
        let sign = ["", "-"][rng.below(2) as usize];
        let mut text = format!("{sign}{}", rng.digits(1 + len));
        if rng.below(2) == 0 {
            let len = rng.below(6);
            text += &format!(".{}", rng.digits(1 + len));
        }
        if rng.below(2) == 0 {
            text += &format!("e{}", rng.below(9) as i64 - 4);
        }
        text
    };
    let mut equal = 0;
    for _ in 0..4000 {
        let (a, b) = (random(), random());
        let order = decimal(&a).compare(&decimal(&b));
        assert_eq!(order, naive_order(&a, &b), "{a} {b}");
        equal += usize::from(order.is_eq());
    }
    assert!(equal > 50, "the inputs meet too rarely to say much: {equal}");
}

#[test]
fn decimals_of_any_exponent_and_length_compare_at_once() {
    let many = "0".repeat(50_000);
    let ascending = [
        "-inf".to_owned(),
        "-1e9223372036854775807".to_owned(),
        format!("-1{many}"),
        "-1".to_owned(),
        "-1e-9223372036854775808".to_owned(),
        "0e9223372036854775807".to_owned(),
        "1e-9223372036854775808".to_owned(),
        "1.0000001e-9223372036854775808".to_owned(),
        format!("0.{many}1"),
        "1e-50000".to_owned(),
        "1".to_owned(),
        format!("1.{many}1"),
        format!("1{many}"),
        "1e50001".to_owned(),
        "1e999999999".to_owned(),
        "9.9e999999999".to_owned(),
        "1e9223372036854775807".to_owned(),
        "10e9223372036854775807".to_owned(),
        "Infinity".to_owned(),
        "NaN".to_owned(),
    ];
    let ascending = ascending.map(|text| decimal(&text));
    for (i, a) in ascending.iter().enumerate() {
        for (j, b) in ascending.iter().enumerate() {
            assert_eq!(a.compare(b), i.cmp(&j), "{i} {j}");
        }
    }
    for (a, b) in [("-0", "0.000"), ("1e3", "1000.0"), ("0.1e-2", "0.001"), ("0e5", "-0e-7")] {
        assert!(decimal(a).compare(&decimal(b)).is_eq(), "{a} {b}");
    }
    assert!(decimal(&format!("0.{many}1")).compare(&decimal("1e-50001")).is_eq());
}

/// Every digit of a double: its integer mantissa doubled, or multiplied by five with the point
/// moved, as often as its exponent says.
fn exact_text(x: f64) -> String {
    let bits = x.to_bits();
    let exponent = (bits >> 52 & 0x7ff) as i32;
    let fraction = bits & ((1 << 52) - 1);
    let (mantissa, exponent) = match exponent {
        0 => (fraction, -1074),
        _ => (fraction | 1 << 52, exponent - 1075),
    };
    let zeros = mantissa.trailing_zeros().min(52);
    let (mantissa, exponent) = (mantissa >> zeros, exponent + zeros as i32);
    let mut digits: Vec<u8> = mantissa.to_string().bytes().rev().map(|b| b - b'0').collect();
    for _ in 0..exponent.unsigned_abs() {
        let mut carry = 0;
        for digit in &mut digits {
            let n = *digit * if exponent > 0 { 2 } else { 5 } + carry;
            (*digit, carry) = (n % 10, n / 10);
        }
        if carry > 0 {
            digits.push(carry);
        }
    }
    let text: String = digits.iter().rev().map(|&digit| char::from(b'0' + digit)).collect();
    format!("{}{text}e{}", if x.is_sign_negative() { "-" } else { "" }, exponent.min(0))
}

#[test]
fn a_float_meets_a_decimal_at_its_exact_value() {
    let mut rng = Rng(2);
    let mut floats = vec![0.1, 1.0, 0.5, 1e22, 1e23, 9_007_199_254_740_993.0, 5e-324, f64::MAX];
    floats.extend([f64::MIN_POSITIVE, f64::from_bits(0x000f_ffff_ffff_ffff), 1.0 / 3.0]);
    for _ in 0..60 {
        let exponent = 1023 - 80 + rng.below(160);
        floats.push(f64::from_bits(exponent << 52 | rng.next() >> 12));
    }
    for x in floats.iter().flat_map(|&x| [x, -x]) {
        let exact = exact_text(x);
        let away = if x < 0.0 { Ordering::Less } else { Ordering::Greater };
        let (mantissa, exponent) = exact.split_once('e').expect("has an exponent");
        let check = |text: &str, order: Ordering| {
            assert_eq!(compare(&value(text), &Value::F64(x)), Some(order), "{text} {x:e}");
            assert_eq!(compare(&Value::F64(x), &value(text)), Some(order.reverse()));
        };
        check(&exact, Ordering::Equal);
        check(&format!("{mantissa}.000001e{exponent}"), away);
        check(&format!("{mantissa}.{}1e{exponent}", "0".repeat(2000)), away);
        // What the float prints as is mostly not what it is worth.
        let printed = format!("{x:e}");
        check(&printed, naive_order(&printed, &exact));
        check("1e400", Ordering::Greater);
        check("-1e9223372036854775807", Ordering::Less);
        check("1e-400", if x < 0.0 { Ordering::Greater } else { Ordering::Less });
    }
    // Bits that read the wrong way round only if a text of many zeros is cut short.
    let small = format!("0.{}1e700000", "0".repeat(699_999));
    assert_eq!(compare(&value(&small), &Value::F64(1.0)), Some(Ordering::Equal));
}

#[test]
fn an_integer_meets_a_float_without_rounding() {
    let mut rng = Rng(3);
    let edges = [0, 1 << 53, (1 << 53) + 1, 1 << 62, i64::MAX as i128, u64::MAX as i128, 1 << 24];
    for _ in 0..5_000 {
        let base = edges[rng.below(edges.len() as u64) as usize];
        let sign = if rng.below(2) == 0 { -1 } else { 1 };
        let near = sign * (base + i128::from(rng.below(5)) - 2);
        let integer = near.clamp(i128::from(i64::MIN), i128::from(u64::MAX));
        let halves = rng.below(9) as f64 / 2.0 - 2.0;
        let float = (integer as f64 + halves) * if rng.below(8) == 0 { -1.0 } else { 1.0 };
        // Both are whole numbers of halves, and both fit.
        let expected = (2 * integer).cmp(&((2.0 * float) as i128));
        let value = match i64::try_from(integer) {
            Ok(n) => Value::I64(n),
            Err(_) => Value::U64(integer as u64),
        };
        assert_eq!(compare(&value, &Value::F64(float)), Some(expected), "{integer} {float}");
        let text = Value::Decimal(Decimal::from(integer));
        assert_eq!(compare(&text, &Value::F64(float)), Some(expected), "{integer} {float}");
        assert_eq!(compare(&text, &value), Some(Ordering::Equal));
    }
}

#[test]
fn numbers_of_all_kinds_form_one_order() {
    // Groups of equals in ascending order.
    let groups: [&[Value]; 14] = [
        &[Value::F64(f64::NEG_INFINITY), Value::F32(f32::NEG_INFINITY), value("-inf")],
        &[value("-1e400")],
        &[Value::F64(f64::MIN)],
        &[Value::I64(i64::MIN), Value::F64(i64::MIN as f64), value("-9223372036854775808")],
        &[Value::F64(-0.0), Value::F32(0.0), Value::I64(0), Value::U64(0), value("-0.00")],
        &[value("0.1")],
        &[Value::F64(0.1)],
        &[Value::F32(0.1), Value::F64(f64::from(0.1_f32))],
        &[Value::I64(1), Value::U64(1), Value::F32(1.0), value("1.000")],
        &[Value::I64(i64::MAX), Value::U64(i64::MAX as u64), value("9223372036854775807")],
        &[Value::U64(u64::MAX), value("18446744073709551615")],
        &[Value::F64(18_446_744_073_709_551_616.0), value("18446744073709551616")],
        &[Value::F64(f64::INFINITY), Value::F32(f32::INFINITY), value("Infinity")],
        &[Value::F64(f64::NAN), Value::F64(-f64::NAN), Value::F32(f32::NAN), value("NaN")],
    ];
    for (i, a) in groups.iter().enumerate() {
        for (j, b) in groups.iter().enumerate() {
            for (a, b) in a.iter().flat_map(|a| b.iter().map(move |b| (a, b))) {
                assert_eq!(compare(a, b), Some(i.cmp(&j)), "{a:?} {b:?}");
            }
        }
    }
}

//! Filters against truth tables and naive oracles: what each operator keeps, what is unknown, what
//! is malformed, and what a column of another kind makes of it.

#[path = "common/rng.rs"]
mod rng;

use fetcher_engine::{
    filter::{Filter, FilterFault, Operator},
    value::{Date, Decimal, Instant, Time, Timestamp, Uuid, Value, ValueKind},
};
use rng::Rng;

impl Rng {
    fn text(&mut self, alphabet: &[&str], longest: u64) -> String {
        let len = self.below(longest + 1);
        (0..len).map(|_| alphabet[self.below(alphabet.len() as u64) as usize]).collect()
    }
}

fn decimal(text: &str) -> Value {
    Value::Decimal(Decimal::parse(text).expect("a decimal"))
}

const T: Option<bool> = Some(true);
const F: Option<bool> = Some(false);
const U: Option<bool> = None;

#[test]
fn operators_have_their_names() {
    let names = ["eq", "gt", "gte", "lt", "lte", "between", "in", "nin", "ne", "like"];
    assert_eq!(Operator::ALL.map(Operator::as_str), names);
    for operator in Operator::ALL {
        assert_eq!(Operator::parse(operator.as_str()), Some(operator));
        assert_eq!(operator.to_string(), operator.as_str());
    }
    for name in ["", "EQ", "eq ", "not", "equals"] {
        assert_eq!(Operator::parse(name), None, "{name}");
    }
}

#[test]
fn conveniences_are_what_they_say() {
    let one = |operator| Filter::new("f", operator, vec![Value::I64(1)]);
    assert!(Filter::eq("f", 1) == one(Operator::Eq));
    assert!(Filter::gt("f", 1) == one(Operator::Gt));
    assert!(Filter::gte("f", 1) == one(Operator::Gte));
    assert!(Filter::lt("f", 1) == one(Operator::Lt));
    assert!(Filter::lte("f", 1) == one(Operator::Lte));
    assert!(Filter::ne("f", 1) == one(Operator::Ne));
    assert!(Filter::is_in("f", [1]) == one(Operator::In));
    assert!(Filter::not_in("f", [1]) == one(Operator::Nin));
    assert!(Filter::like("f", 1) == one(Operator::Like));
    let between = Filter::between("g", 1, "x");
    assert_eq!((between.field(), between.operator()), ("g", Operator::Between));
    assert_eq!(between.values(), [Value::I64(1), Value::from("x")]);
    assert!(Filter::eq("f", 1) != Filter::eq("f", 1_u64));
    assert!(Filter::eq("f", 1) != Filter::eq("g", 1));
    assert!(Filter::eq("f", f64::NAN) == Filter::eq("f", f64::NAN));
}

#[test]
fn every_operator_on_a_number_a_null_and_a_stranger() {
    // Of the cells 1, 2, 3, null and a text.
    let table: [(Filter, [Option<bool>; 5]); 17] = [
        (Filter::eq("f", 2), [F, T, F, U, U]),
        (Filter::ne("f", 2), [T, F, T, U, U]),
        (Filter::gt("f", 2), [F, F, T, U, U]),
        (Filter::gte("f", 2), [F, T, T, U, U]),
        (Filter::lt("f", 2), [T, F, F, U, U]),
        (Filter::lte("f", 2), [T, T, F, U, U]),
        (Filter::between("f", 2, 3), [F, T, T, U, U]),
        (Filter::between("f", 3, 2), [F, F, F, U, U]),
        // AND: false decides, unknown does not.
        (Filter::between("f", 2, "z"), [F, U, U, U, U]),
        (Filter::between("f", "a", 2), [U, U, F, U, U]),
        (Filter::new("f", Operator::Eq, vec![1.into(), 3.into()]), [T, F, T, U, U]),
        (Filter::is_in("f", [1, 3]), [T, F, T, U, U]),
        (Filter::not_in("f", [1, 3]), [F, T, F, U, U]),
        // OR: true decides, unknown does not.
        (Filter::is_in("f", [Value::from("x"), Value::from(2)]), [U, T, U, U, T]),
        (Filter::not_in("f", [Value::from("x"), Value::from(2)]), [U, F, U, U, F]),
        (Filter::like("f", "%"), [U, U, U, U, T]),
        (Filter::like("f", "y"), [U, U, U, U, F]),
    ];
    let cells = [1.into(), 2.into(), 3.into(), Value::Null, Value::from("x")];
    for (filter, answers) in table {
        assert_eq!(filter.check(), Ok(()));
        for (cell, answer) in cells.iter().zip(answers) {
            assert_eq!(filter.evaluate(cell), answer, "{filter:?} {:?} {cell:?}", filter.values());
            assert_eq!(filter.matches(cell), answer == T);
        }
    }
}

#[test]
fn nan_is_above_every_number_and_equals_itself() {
    let nans = [Value::F64(f64::NAN), Value::F32(-f32::NAN), decimal("nan")];
    for nan in &nans {
        for operand in [Value::I64(5), Value::F64(f64::INFINITY), decimal("1e999")] {
            let of = |operator| Filter::new("f", operator, vec![operand.clone()]).evaluate(nan);
            assert_eq!([Operator::Gt, Operator::Gte, Operator::Ne, Operator::Nin].map(of), [T; 4]);
            assert_eq!([Operator::Lt, Operator::Lte, Operator::Eq, Operator::In].map(of), [F; 4]);
        }
        for other in &nans {
            assert!(Filter::eq("f", nan.clone()).matches(other));
            assert!(Filter::between("f", 0, nan.clone()).matches(other));
            assert!(!Filter::gt("f", nan.clone()).matches(other));
        }
        assert!(!Filter::gt("f", nan.clone()).matches(&Value::F64(f64::INFINITY)));
    }
}

#[test]
fn numbers_match_across_kinds_by_value() {
    let one = [1_i64.into(), 1_u64.into(), 1.0_f32.into(), 1.0_f64.into(), decimal("1.00")];
    for (a, b) in one.iter().flat_map(|a| one.iter().map(move |b| (a, b))) {
        assert!(Filter::eq("f", a.clone()).matches(b), "{a:?} {b:?}");
    }
    let big = Value::I64(9_007_199_254_740_993);
    assert!(!Filter::eq("f", 9_007_199_254_740_992.0).matches(&big));
    assert!(Filter::gt("f", 9_007_199_254_740_992.0).matches(&big));
    assert!(Filter::ne("f", decimal("0.1")).matches(&Value::F64(0.1)));
}

#[test]
fn malformed_filters_say_why_and_keep_nothing() {
    let values = |n: usize| vec![Value::from("a"); n];
    for operator in Operator::ALL {
        for n in 0..4 {
            let fault = match operator {
                Operator::Eq | Operator::In | Operator::Nin => {
                    (n == 0).then_some(FilterFault::NoValue)
                }
                Operator::Between => (n != 2).then_some(FilterFault::NotTwoValues),
                _ => (n != 1).then_some(FilterFault::NotOneValue),
            };
            let filter = Filter::new("f", operator, values(n));
            assert_eq!(filter.check().err(), fault, "{operator} {n}");
            if fault.is_some() {
                assert_eq!(filter.evaluate(&"a".into()), None, "{operator} {n}");
                assert!(filter.for_column(ValueKind::String).is_none());
                continue;
            }
            let mut with_null = values(n);
            with_null[n - 1] = Value::Null;
            let filter = Filter::new("f", operator, with_null);
            assert_eq!(filter.check(), Err(FilterFault::NullValue), "{operator}");
            assert_eq!(filter.evaluate(&"b".into()), None);
            assert_eq!(filter.evaluate(&Value::Null), None);
        }
    }
    assert_eq!(Filter::like("f", 5).check(), Err(FilterFault::PatternNotString));
    for (pattern, whole) in [
        (r"\", false),
        (r"\\", true),
        (r"a\\\", false),
        (r"a\%", true),
        (r"\\\\", true),
        ("", true),
    ] {
        let fault = (!whole).then_some(FilterFault::PatternEndsInEscape);
        assert_eq!(Filter::like("f", pattern).check().err(), fault, "{pattern}");
    }
    let text = FilterFault::NullValue.as_str();
    assert_eq!(FilterFault::NullValue.to_string(), text);
}

// ---- like

/// One step at a time, trying every run that a `%` could stand for.
fn naive_like(text: &[char], pattern: &[char]) -> bool {
    match (pattern, text) {
        ([], []) => true,
        (['%', rest @ ..], _) => (0..=text.len()).any(|skip| naive_like(&text[skip..], rest)),
        (['_', p @ ..], [_, t @ ..]) => naive_like(t, p),
        (['\\', c, p @ ..], [d, t @ ..]) => c == d && naive_like(t, p),
        ([c, p @ ..], [d, t @ ..]) => *c != '\\' && c == d && naive_like(t, p),
        _ => false,
    }
}

#[test]
fn like_agrees_with_its_definition() {
    let mut rng = Rng(8);
    let (mut kept, mut faults) = (0, 0);
    for _ in 0..20_000 {
        let pattern = rng.text(&["a", "b", "é", "%", "%", "_", "\\%", "\\\\", "\\a", "\\"], 6);
        let text = rng.text(&["a", "b", "a", "é", "%", "_", "\\"], 8);
        let filter = Filter::like("f", pattern.as_str());
        if filter.check().is_err() {
            faults += 1;
            continue;
        }
        let chars = |text: &str| text.chars().collect::<Vec<_>>();
        let expected = naive_like(&chars(&text), &chars(&pattern));
        assert_eq!(filter.matches(&text.as_str().into()), expected, "{text:?} like {pattern:?}");
        kept += usize::from(expected);
    }
    assert!(kept > 1000 && faults > 100, "one-sided inputs: {kept} kept, {faults} malformed");
}

#[test]
fn like_on_chosen_texts() {
    for (text, pattern, keeps) in [
        ("", "", true),
        ("", "%", true),
        ("", "_", false),
        ("a", "", false),
        ("100%", r"100\%", true),
        ("1000", r"100\%", false),
        ("Straße", "stra%", false),
        ("日本語", "___", true),
        ("😀", "_", true),
        ("e\u{301}", "_", false),
        ("a\nb\0c", "a%c", true),
        (r"C:\dir", r"C:\\d__", true),
        ("'; drop table users; --", "'; drop%", true),
        ("mississippi", "%iss%ip%", true),
        ("mississippi", "m%iss%issi", false),
        ("abab", "%ab", true),
        ("aXbXc", "a%b%c", true),
        ("x", r"\x", true),
    ] {
        assert_eq!(Filter::like("f", pattern).evaluate(&text.into()), Some(keeps), "{pattern}");
    }
    // Every `%` could end anywhere; only the latest is ever reconsidered.
    let text = Value::from("a".repeat(5_000));
    assert!(!Filter::like("f", format!("{}b", "%a".repeat(200))).matches(&text));
    assert!(Filter::like("f", "%a".repeat(200)).matches(&text));
}

// ---- columns

const KINDS: [ValueKind; 16] = [
    ValueKind::Bool,
    ValueKind::I64,
    ValueKind::U64,
    ValueKind::F32,
    ValueKind::F64,
    ValueKind::Decimal,
    ValueKind::String,
    ValueKind::Bytes,
    ValueKind::Uuid,
    ValueKind::Date,
    ValueKind::Time,
    ValueKind::Timestamp,
    ValueKind::Instant,
    ValueKind::Json,
    ValueKind::List,
    ValueKind::Map,
];

#[test]
fn a_filter_applies_to_the_columns_that_its_values_fit() {
    use ValueKind as K;
    let day = Value::from(Date::from_days(0));
    let table: [(Filter, &[ValueKind]); 12] = [
        (Filter::eq("f", 7), &[K::I64, K::U64, K::F32, K::F64, K::Decimal]),
        (Filter::eq("f", -7), &[K::I64, K::F32, K::F64, K::Decimal]),
        (Filter::gt("f", 0.5), &[K::F32, K::F64, K::Decimal]),
        (Filter::gt("f", "abc"), &[K::String]),
        (Filter::lt("f", "7"), &[K::I64, K::U64, K::F32, K::F64, K::Decimal, K::String]),
        (Filter::is_in("f", ["7", "x"]), &[K::String]),
        (Filter::ne("f", day.clone()), &[K::Date, K::Timestamp, K::Instant]),
        (Filter::ne("f", Time::MIDNIGHT), &[K::Time]),
        (Filter::ne("f", Timestamp::INFINITY), &[K::Timestamp]),
        (Filter::not_in("f", [day, Instant::INFINITY.into()]), &[K::Instant]),
        (Filter::eq("f", Uuid([0; 16])), &[K::Uuid]),
        (Filter::like("f", "true"), &[K::String]),
    ];
    for (filter, columns) in table {
        for kind in KINDS {
            let applied = filter.for_column(kind);
            assert_eq!(applied.is_some(), columns.contains(&kind), "{filter:?} {kind}");
            if let Some(applied) = applied {
                assert_eq!((applied.field(), applied.operator()), ("f", filter.operator()));
                assert_eq!(applied.check(), Ok(()));
                assert_eq!(applied.values().len(), filter.values().len());
                assert!(applied.values().iter().all(|value| value.kind() == Some(kind)));
            }
        }
    }
    for composite in [Value::Json("1".into()), Value::List(vec![]), Value::Map([].into())] {
        let filter = Filter::eq("f", composite.clone());
        assert!(KINDS.iter().all(|&kind| filter.for_column(kind).is_none()));
        assert_eq!(filter.evaluate(&composite), None);
    }
}

#[test]
fn between_dates_is_inclusive_by_the_columns_own_type() {
    let days = Filter::between("f", "2024-03-01", "2024-03-31");
    let date = |text| Value::from(Date::parse(text));
    let dates = days.for_column(ValueKind::Date).expect("dates");
    for (text, keeps) in [("2024-02-29", false), ("2024-03-01", true), ("2024-03-31", true)] {
        assert_eq!(dates.evaluate(&date(text)), Some(keeps), "{text}");
    }
    let moments = days.for_column(ValueKind::Timestamp).expect("timestamps");
    for (text, keeps) in [
        ("2024-02-29T23:59:59.999999999", false),
        ("2024-03-01T00:00:00", true),
        ("2024-03-31T00:00:00", true),
        ("2024-03-31T00:00:00.000000001", false),
        ("infinity", false),
    ] {
        let cell = Value::from(Timestamp::parse(text));
        assert_eq!(moments.evaluate(&cell), Some(keeps), "{text}");
    }
    // Not converted, the operands are texts, and a date compares with none.
    assert_eq!(days.evaluate(&date("2024-03-15")), None);
}

#[test]
fn debug_prints_no_operand() {
    let filter = Filter::is_in("email", ["ada@example.org", "secret"]);
    let text = format!("{filter:?} {filter:#?}");
    assert!(text.contains("email") && text.contains("In") && text.contains("values: 2"));
    assert!(!text.contains("ada") && !text.contains("secret"), "{text}");
}

//! Made-up cells: how each is written, and what has to come out.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use fetcher_engine::encode::RowBatch;
use fetcher_engine::value::{Date, Decimal, Instant, Time, Timestamp, Uuid, Value};

use super::random::Random;
use super::text::{plain, text};
use super::tree::Tree;
use super::{calendar, floats, json_text};

/// A cell, and the way to write it.
#[derive(Clone, Debug)]
pub(crate) enum Cell {
    /// By the one method that takes any value.
    Whole(Value),
    /// By the method of the value's kind.
    Typed(Value),
    /// As text that something displays.
    Display(String),
    /// Element by element.
    List(Vec<Self>),
    /// Entry by entry, in an order of its own.
    Map(Vec<(String, Self)>),
}

impl Cell {
    /// Any cell, with up to so many levels of lists and maps.
    pub(crate) fn new(random: &mut Random, depth: usize) -> Self {
        match random.below(10) {
            0..=2 => Self::Whole(value(random, depth)),
            3 => Self::Display(text(random)),
            4 if depth > 0 => {
                let items = (0..random.below(4)).map(|_| Self::new(random, depth - 1));
                Self::List(items.collect())
            }
            5 if depth > 0 => {
                let count = random.below(4);
                let keys = super::text::names(random, count, |_| true);
                let entries = keys.into_iter().map(|key| (key, Self::new(random, depth - 1)));
                Self::Map(entries.collect())
            }
            6 if random.one_in(40) => Self::deep(random),
            _ => Self::Typed(value(random, 0)),
        }
    }

    /// Lists and maps in each other, deeper than anybody needs.
    fn deep(random: &mut Random) -> Self {
        let mut cell = Self::Typed(Value::Null);
        for _ in 0..random.below(100) {
            cell = match random.below(3) {
                0 => Self::List(vec![cell]),
                1 => Self::List(vec![Self::Typed(Value::from(7)), cell]),
                _ => Self::Map(vec![(plain(random, 3), cell)]),
            };
        }
        cell
    }

    /// Writes the cell.
    pub(crate) fn write(&self, batch: &mut RowBatch) {
        match self {
            Self::Whole(value) => batch.value(value),
            Self::Typed(value) => write_typed(batch, value),
            Self::Display(text) => batch.display(text),
            Self::List(items) => {
                batch.begin_list();
                for item in items {
                    item.write(batch);
                }
                batch.end();
            }
            Self::Map(entries) => {
                batch.begin_map();
                for (key, item) in entries {
                    batch.key(key);
                    item.write(batch);
                }
                batch.end();
            }
        }
    }

    /// What has to come out.
    pub(crate) fn tree(&self) -> Tree {
        match self {
            Self::Whole(value) | Self::Typed(value) => tree(value),
            Self::Display(text) => Tree::Text(text.clone()),
            Self::List(items) => Tree::List(items.iter().map(Self::tree).collect()),
            Self::Map(entries) => {
                let entries = entries.iter().map(|(key, item)| (key.clone(), item.tree()));
                Tree::Map(entries.collect())
            }
        }
    }
}

fn write_typed(batch: &mut RowBatch, value: &Value) {
    match value {
        Value::Null => batch.null(),
        Value::Bool(value) => batch.bool(*value),
        Value::I64(value) => batch.i64(*value),
        Value::U64(value) => batch.u64(*value),
        Value::F32(value) => batch.f32(*value),
        Value::F64(value) => batch.f64(*value),
        Value::Decimal(value) => batch.decimal(value),
        Value::String(value) => batch.str(value),
        Value::Bytes(value) => batch.bytes(value),
        Value::Uuid(value) => batch.uuid(*value),
        Value::Date(value) => batch.date(*value),
        Value::Time(value) => batch.time(*value),
        Value::Timestamp(value) => batch.timestamp(*value),
        Value::Instant(value) => batch.instant(*value),
        Value::Json(value) => batch.json(value),
        other => batch.value(other),
    }
}

/// Any value, with up to so many levels of lists and maps.
pub(crate) fn value(random: &mut Random, depth: usize) -> Value {
    match random.below(if depth > 0 { 22 } else { 18 }) {
        0 => Value::Null,
        1 => Value::Bool(random.one_in(2)),
        2 => Value::I64(random.magnitude().cast_signed()),
        3 => Value::I64(random.magnitude().cast_signed().wrapping_neg()),
        4 => Value::U64(random.magnitude()),
        5 => Value::F32(floats::any_f32(random)),
        6 => Value::F64(floats::any_f64(random)),
        7 => Value::Decimal(decimal(random)),
        8..=10 => Value::String(text(random)),
        11 => {
            let count = random.below(70);
            Value::Bytes(random.bytes(count))
        }
        12 => Value::Uuid(uuid(random)),
        13 => Value::Date(date(random)),
        14 => Value::Time(time(random)),
        15 => Value::Timestamp(timestamp(random)),
        16 => Value::Instant(instant(random)),
        17 => Value::Json(json(random)),
        18 | 19 => {
            let items = (0..random.below(4)).map(|_| value(random, depth - 1));
            Value::List(items.collect())
        }
        _ => {
            let entries = (0..random.below(4)).map(|_| (text(random), value(random, depth - 1)));
            Value::Map(entries.collect())
        }
    }
}

/// By rules that are this test's own: what a value is in a result.
fn tree(value: &Value) -> Tree {
    match value {
        Value::Null => Tree::Raw("null".to_owned()),
        Value::Bool(value) => Tree::Raw(value.to_string()),
        Value::I64(value) => Tree::Raw(value.to_string()),
        Value::U64(value) => Tree::Raw(value.to_string()),
        Value::F32(value) => floats::tree_f32(*value),
        Value::F64(value) => floats::tree_f64(*value),
        Value::Decimal(value) => match value.as_str() {
            special @ ("NaN" | "Infinity" | "-Infinity") => Tree::Text(special.to_owned()),
            number => Tree::Raw(number.to_owned()),
        },
        Value::String(value) => Tree::Text(value.clone()),
        Value::Bytes(value) => Tree::Text(STANDARD.encode(value)),
        Value::Uuid(value) => {
            let other = uuid::Uuid::from_bytes(*value.as_bytes());
            Tree::Text(other.hyphenated().to_string())
        }
        Value::Date(value) => Tree::Text(calendar::date_text(*value)),
        Value::Time(value) => Tree::Text(calendar::time_text(*value)),
        Value::Timestamp(value) => Tree::Text(calendar::timestamp_text(*value)),
        Value::Instant(value) => Tree::Text(calendar::instant_text(*value)),
        Value::Json(text) => json_text::tree(text),
        Value::List(items) => Tree::List(items.iter().map(tree).collect()),
        Value::Map(entries) => {
            let entries = entries.iter().map(|(key, item)| (key.clone(), tree(item)));
            Tree::Map(entries.collect())
        }
        other => panic!("a kind of value that this test does not know: {other:?}"),
    }
}

pub(crate) fn decimal(random: &mut Random) -> Decimal {
    let text = match random.below(12) {
        0 => "NaN".to_owned(),
        1 => "Infinity".to_owned(),
        2 => "-Infinity".to_owned(),
        _ => super::scalars::number_text(random),
    };
    Decimal::parse(&text).expect("a number")
}

pub(crate) fn uuid(random: &mut Random) -> Uuid {
    let (a, b) = (random.bits(), random.bits());
    Uuid::from_bytes((u128::from(a) << 64 | u128::from(b)).to_be_bytes())
}

pub(crate) fn date(random: &mut Random) -> Date {
    match random.below(10) {
        0 => Date::INFINITY,
        1 => Date::NEG_INFINITY,
        2..=5 => Date::from_days(random.bits() as i32),
        _ => Date::from_days((random.bits() as i32) >> 14),
    }
}

pub(crate) fn time(random: &mut Random) -> Time {
    let end = Time::END_OF_DAY.nanos() + 1;
    let nanos = random.bits() % end;
    // Whole units now and then: the fraction is what varies in length.
    let unit = random.of(&[1, 1000, 1_000_000, 1_000_000_000]);
    Time::from_nanos(nanos / unit * unit).expect("a time of day")
}

pub(crate) fn timestamp(random: &mut Random) -> Timestamp {
    Timestamp::from_date_time(date(random), time(random)).unwrap_or(Timestamp::INFINITY)
}

pub(crate) fn instant(random: &mut Random) -> Instant {
    Instant::from_date_time(date(random), time(random)).unwrap_or(Instant::NEG_INFINITY)
}

/// JSON text as a column may hold it; now and then it is not valid.
fn json(random: &mut Random) -> String {
    if random.one_in(5) {
        return text(random);
    }
    let surrogates = false;
    json_text::Document::new(random, surrogates).noisy(random)
}

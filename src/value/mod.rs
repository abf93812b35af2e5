//! The values that travel through the engine: what a database cell, or a filter's operand, can be.
//!
//! Kept true here:
//!
//! - **Exact.** A value is what the database holds. No variant rounds, goes through a float or
//!   changes the type; where a conversion is lossy by nature, [`Value::convert_to`] says so.
//! - **Total.** No constructor, parser, comparison or conversion panics, whatever its input.
//! - **Two equalities.** `==` is structural: floats by their bits (so NaN equals itself), decimals
//!   by their text; equal requests are equal. [`compare`] is the order that filters use: numbers
//!   by value across kinds, null comparable with nothing.

mod calendar;
mod compare;
mod convert;
mod decimal;
mod moment;
mod parse;
mod temporal;
mod text;
mod uuid;

use alloc::{borrow::ToOwned, collections::BTreeMap, string::String, vec::Vec};
use core::fmt;

pub use compare::compare;
pub use decimal::Decimal;
pub use moment::{Instant, Timestamp};
pub use temporal::{Date, Time};
pub(crate) use text::{Text, pair};
pub use uuid::Uuid;

/// One value: a cell that a connector read, or an operand of a filter.
///
/// `==` is structural, see the [module](self) docs; it says whether two values are the *same*, not
/// whether a filter would call them equal. For that there is [`compare`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Value {
    /// The absent value. It has no kind and equals nothing in a filter.
    Null,
    /// A truth value, from a column that is *declared* boolean.
    Bool(bool),
    /// A signed integer of any width up to 64 bits.
    I64(i64),
    /// An unsigned integer of any width up to 64 bits.
    U64(u64),
    /// A single-precision float, NaN and infinities included.
    F32(f32),
    /// A double-precision float, NaN and infinities included.
    F64(f64),
    /// An exact decimal number of any length, its scale kept.
    Decimal(Decimal),
    /// Text.
    String(String),
    /// Binary data.
    Bytes(Vec<u8>),
    /// A universally unique identifier.
    Uuid(Uuid),
    /// A calendar date.
    Date(Date),
    /// A time of day, in no zone.
    Time(Time),
    /// A date and time of day, in no zone.
    Timestamp(Timestamp),
    /// A point in time.
    Instant(Instant),
    /// JSON text as the database holds it. Whoever writes it out validates it.
    Json(String),
    /// An ordered list.
    List(Vec<Self>),
    /// A mapping from names to values, in byte order of the names.
    Map(BTreeMap<String, Self>),
}

impl Value {
    /// The kind of the value; null has none.
    #[must_use]
    pub const fn kind(&self) -> Option<ValueKind> {
        Some(match self {
            Self::Null => return None,
            Self::Bool(_) => ValueKind::Bool,
            Self::I64(_) => ValueKind::I64,
            Self::U64(_) => ValueKind::U64,
            Self::F32(_) => ValueKind::F32,
            Self::F64(_) => ValueKind::F64,
            Self::Decimal(_) => ValueKind::Decimal,
            Self::String(_) => ValueKind::String,
            Self::Bytes(_) => ValueKind::Bytes,
            Self::Uuid(_) => ValueKind::Uuid,
            Self::Date(_) => ValueKind::Date,
            Self::Time(_) => ValueKind::Time,
            Self::Timestamp(_) => ValueKind::Timestamp,
            Self::Instant(_) => ValueKind::Instant,
            Self::Json(_) => ValueKind::Json,
            Self::List(_) => ValueKind::List,
            Self::Map(_) => ValueKind::Map,
        })
    }

    /// Whether this is [`Value::Null`].
    #[must_use]
    pub const fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::I64(a), Self::I64(b)) => a == b,
            (Self::U64(a), Self::U64(b)) => a == b,
            (Self::F32(a), Self::F32(b)) => a.to_bits() == b.to_bits(),
            (Self::F64(a), Self::F64(b)) => a.to_bits() == b.to_bits(),
            (Self::Decimal(a), Self::Decimal(b)) => a == b,
            (Self::String(a), Self::String(b)) | (Self::Json(a), Self::Json(b)) => a == b,
            (Self::Bytes(a), Self::Bytes(b)) => a == b,
            (Self::Uuid(a), Self::Uuid(b)) => a == b,
            (Self::Date(a), Self::Date(b)) => a == b,
            (Self::Time(a), Self::Time(b)) => a == b,
            (Self::Timestamp(a), Self::Timestamp(b)) => a == b,
            (Self::Instant(a), Self::Instant(b)) => a == b,
            (Self::List(a), Self::List(b)) => a == b,
            (Self::Map(a), Self::Map(b)) => a == b,
            _ => false,
        }
    }
}

impl Eq for Value {}

/// The kind of a [`Value`]: what a column holds, or what a filter's operand must become.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[non_exhaustive]
pub enum ValueKind {
    /// [`Value::Bool`].
    Bool,
    /// [`Value::I64`].
    I64,
    /// [`Value::U64`].
    U64,
    /// [`Value::F32`].
    F32,
    /// [`Value::F64`].
    F64,
    /// [`Value::Decimal`].
    Decimal,
    /// [`Value::String`].
    String,
    /// [`Value::Bytes`].
    Bytes,
    /// [`Value::Uuid`].
    Uuid,
    /// [`Value::Date`].
    Date,
    /// [`Value::Time`].
    Time,
    /// [`Value::Timestamp`].
    Timestamp,
    /// [`Value::Instant`].
    Instant,
    /// [`Value::Json`].
    Json,
    /// [`Value::List`].
    List,
    /// [`Value::Map`].
    Map,
}

impl ValueKind {
    /// The stable name of the kind: its variant in lower case.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::I64 => "i64",
            Self::U64 => "u64",
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::Decimal => "decimal",
            Self::String => "string",
            Self::Bytes => "bytes",
            Self::Uuid => "uuid",
            Self::Date => "date",
            Self::Time => "time",
            Self::Timestamp => "timestamp",
            Self::Instant => "instant",
            Self::Json => "json",
            Self::List => "list",
            Self::Map => "map",
        }
    }
}

impl fmt::Display for ValueKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// `From` for one type per line: `source => variant, how`.
macro_rules! from {
    ($($source:ty => $variant:ident, $convert:expr;)+) => {$(
        impl From<$source> for Value {
            fn from(value: $source) -> Self {
                Self::$variant($convert(value))
            }
        }
    )+};
}

from! {
    bool => Bool, core::convert::identity;
    i8 => I64, i64::from;
    i16 => I64, i64::from;
    i32 => I64, i64::from;
    i64 => I64, core::convert::identity;
    u8 => U64, u64::from;
    u16 => U64, u64::from;
    u32 => U64, u64::from;
    u64 => U64, core::convert::identity;
    f32 => F32, core::convert::identity;
    f64 => F64, core::convert::identity;
    Decimal => Decimal, core::convert::identity;
    &str => String, str::to_owned;
    String => String, core::convert::identity;
    &[u8] => Bytes, <[u8]>::to_vec;
    Vec<u8> => Bytes, core::convert::identity;
    Uuid => Uuid, core::convert::identity;
    Date => Date, core::convert::identity;
    Time => Time, core::convert::identity;
    Timestamp => Timestamp, core::convert::identity;
    Instant => Instant, core::convert::identity;
    Vec<Value> => List, core::convert::identity;
    BTreeMap<String, Value> => Map, core::convert::identity;
}

impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

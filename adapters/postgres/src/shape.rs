//! What a column's type is made of, and how it is read: the tree that `decode` walks.
//!
//! Keeps true: a type that is not known here is read as its text, never dropped; a type is read in
//! binary only where every part of it is known.

use std::collections::BTreeMap;
use std::sync::Arc;

use fetcher_engine::value::ValueKind;
use tokio_postgres::types::{Kind, Oid, Type};

/// Types that contain each other more deeply than this are read as text.
const DEPTH_MAX: usize = 32;

/// How a value of one type is read.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Shape {
    Bool,
    I16,
    I32,
    I64,
    /// Object identifiers and transaction numbers.
    U32,
    U64,
    F32,
    F64,
    Numeric,
    /// Text, and whatever the server was asked to write as text.
    Text,
    /// Text whose trailing blanks count.
    Padded,
    /// The internal one-byte type.
    Char,
    Bytes,
    Uuid,
    Date,
    Time,
    TimeTz,
    Timestamp,
    Instant,
    Interval,
    Json,
    Jsonb,
    Inet,
    Bits,
    Enum,
    /// Not known: the server writes its text.
    Unknown,
    Array(Box<Self>),
    Composite(Box<[(Arc<str>, Self)]>),
    Range(Box<Self>),
    Multirange(Box<Self>),
}

/// What the catalogue says of types that are not built in.
pub(crate) type Catalogue = BTreeMap<Oid, Custom>;

/// One type that is not built in.
#[derive(Clone, Debug)]
pub(crate) enum Custom {
    Enum,
    Domain(Oid),
    Array(Oid),
    Composite(Vec<(Arc<str>, Oid)>),
    Range(Oid),
    Multirange(Oid),
    Other,
}

impl Shape {
    /// The shape of a type. `Err` names the first type that the catalogue has to be asked about.
    pub(crate) fn of(oid: Oid, catalogue: &Catalogue) -> Self {
        Self::within(oid, catalogue, 0)
    }

    fn within(oid: Oid, catalogue: &Catalogue, depth: usize) -> Self {
        if depth > DEPTH_MAX {
            return Self::Unknown;
        }
        if let Some(scalar) = scalar(oid) {
            return scalar;
        }
        let inner = |oid: Oid| Box::new(Self::within(oid, catalogue, depth + 1));
        if let Some(builtin) = Type::from_oid(oid) {
            return match builtin.kind() {
                Kind::Array(element) => Self::Array(inner(element.oid())),
                Kind::Range(bound) => Self::Range(inner(bound.oid())),
                Kind::Multirange(bound) => Self::Multirange(inner(bound.oid())),
                _ => Self::Unknown,
            };
        }
        match catalogue.get(&oid) {
            Some(Custom::Enum) => Self::Enum,
            Some(Custom::Domain(base)) => *inner(*base),
            Some(Custom::Array(element)) => Self::Array(inner(*element)),
            Some(Custom::Range(bound)) => Self::Range(inner(*bound)),
            Some(Custom::Multirange(bound)) => Self::Multirange(inner(*bound)),
            Some(Custom::Composite(fields)) => {
                let fields = fields.iter();
                Self::Composite(
                    fields.map(|(name, oid)| (Arc::clone(name), *inner(*oid))).collect(),
                )
            }
            Some(Custom::Other) | None => Self::Unknown,
        }
    }

    /// Whether the catalogue must be asked before the shape of this type can be told.
    pub(crate) fn is_custom(oid: Oid) -> bool {
        scalar(oid).is_none() && Type::from_oid(oid).is_none()
    }

    /// Whether every part can be read in binary.
    fn is_binary(&self) -> bool {
        match self {
            Self::Unknown => false,
            Self::Array(inner) | Self::Range(inner) | Self::Multirange(inner) => inner.is_binary(),
            Self::Composite(fields) => fields.iter().all(|(_, field)| field.is_binary()),
            _ => true,
        }
    }

    /// The expression that reads this column so that `decode` can read it, and as what.
    pub(crate) fn select(self, column: &str) -> (String, Self) {
        if self.is_binary() {
            return (column.to_owned(), self);
        }
        if let Self::Array(_) = self {
            let texts = Self::Array(Box::new(Self::Text));
            return (format!("{column}::pg_catalog.text[]"), texts);
        }
        (text_of(column), Self::Text)
    }

    /// What a filter on such a column compares, and the kind of its operands; `None` where no
    /// filter can mean the same here and in [`Filter::matches`](fetcher_engine::Filter::matches).
    pub(crate) fn compared(&self, column: &str) -> Option<(String, ValueKind)> {
        let own = || column.to_owned();
        Some(match self {
            Self::Bool => (own(), ValueKind::Bool),
            Self::I16 | Self::I32 | Self::I64 => (own(), ValueKind::I64),
            Self::F32 => (own(), ValueKind::F32),
            Self::F64 => (own(), ValueKind::F64),
            Self::Numeric => (own(), ValueKind::Decimal),
            Self::Text => (format!("{column}::pg_catalog.text"), ValueKind::String),
            Self::Padded
            | Self::Interval
            | Self::Inet
            | Self::Bits
            | Self::Enum
            | Self::Unknown => (text_of(column), ValueKind::String),
            Self::Bytes => (own(), ValueKind::Bytes),
            Self::Uuid => (own(), ValueKind::Uuid),
            Self::Date => (own(), ValueKind::Date),
            Self::Time => (own(), ValueKind::Time),
            Self::Timestamp => (own(), ValueKind::Timestamp),
            Self::Instant => (own(), ValueKind::Instant),
            Self::Json | Self::Jsonb => (own(), ValueKind::Json),
            Self::Array(_) => (own(), ValueKind::List),
            Self::Composite(_) | Self::Range(_) | Self::Multirange(_) => (own(), ValueKind::Map),
            Self::U32 | Self::U64 | Self::Char | Self::TimeTz => return None,
        })
    }
}

/// The text that the type's own output function writes. A cast to text is not that for every type
/// (`inet`, `char(n)`, types with a cast of their own).
fn text_of(column: &str) -> String {
    format!(
        "CASE WHEN {column} IS NOT DISTINCT FROM NULL THEN NULL \
         ELSE pg_catalog.format('%s', {column}) END"
    )
}

fn scalar(oid: Oid) -> Option<Shape> {
    Some(match Type::from_oid(oid)? {
        Type::BOOL => Shape::Bool,
        Type::INT2 => Shape::I16,
        Type::INT4 => Shape::I32,
        Type::INT8 => Shape::I64,
        Type::OID | Type::XID | Type::CID => Shape::U32,
        Type::XID8 => Shape::U64,
        Type::FLOAT4 => Shape::F32,
        Type::FLOAT8 => Shape::F64,
        Type::NUMERIC => Shape::Numeric,
        Type::TEXT | Type::VARCHAR | Type::NAME => Shape::Text,
        Type::BPCHAR => Shape::Padded,
        Type::CHAR => Shape::Char,
        Type::BYTEA => Shape::Bytes,
        Type::UUID => Shape::Uuid,
        Type::DATE => Shape::Date,
        Type::TIME => Shape::Time,
        Type::TIMETZ => Shape::TimeTz,
        Type::TIMESTAMP => Shape::Timestamp,
        Type::TIMESTAMPTZ => Shape::Instant,
        Type::INTERVAL => Shape::Interval,
        Type::JSON => Shape::Json,
        Type::JSONB => Shape::Jsonb,
        Type::INET | Type::CIDR => Shape::Inet,
        Type::BIT | Type::VARBIT => Shape::Bits,
        // These two are arrays that the type system does not call so.
        Type::INT2_VECTOR => Shape::Array(Box::new(Shape::I16)),
        Type::OID_VECTOR => Shape::Array(Box::new(Shape::U32)),
        _ => return None,
    })
}

//! The types: which form each of them has, and what its filters are compared as.

use fetcher_engine::value::ValueKind;

/// How the values of a column are read and compared.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Form {
    /// Every integer but `BIGINT UNSIGNED`.
    Integer,
    /// `BIGINT UNSIGNED`.
    Unsigned,
    Year,
    Decimal,
    /// `fixed` is whether it has a number of digits, to which the server rounds when it compares.
    Float {
        fixed: bool,
    },
    Double {
        fixed: bool,
    },
    Bit {
        width: u8,
    },
    /// `CHAR`, `VARCHAR` and `TEXT`. `plain` is whether the server holds it in `utf8mb4`.
    Text {
        plain: bool,
    },
    /// What goes out as text but is none to the server: `ENUM`, `SET`, `UUID`, `INET6`.
    Word,
    Bytes,
    Date,
    /// `digits` behind the seconds.
    DateTime {
        digits: u8,
    },
    Timestamp {
        digits: u8,
    },
    Time {
        digits: u8,
    },
    Json,
    Geometry,
    /// A type that is not known here.
    Other,
}

/// What the catalogue says of a column.
#[derive(Clone, Copy, Debug)]
pub(super) struct Declared<'a> {
    /// `bigint`
    pub(super) data_type: &'a str,
    /// `bigint(20) unsigned`
    pub(super) column_type: &'a str,
    /// Digits behind the seconds.
    pub(super) precision: Option<&'a str>,
    pub(super) charset: Option<&'a str>,
    /// Whether the server takes it for JSON, whatever its type says.
    pub(super) is_json: bool,
}

impl Form {
    pub(super) fn of(declared: &Declared<'_>) -> Self {
        let column_type = declared.column_type.to_ascii_lowercase();
        let digits = declared.precision.and_then(|it| it.parse().ok()).unwrap_or(0);
        let fixed = column_type.contains(',');
        match declared.data_type.to_ascii_lowercase().as_str() {
            "bigint" if column_type.contains("unsigned") => Self::Unsigned,
            "tinyint" | "smallint" | "mediumint" | "int" | "bigint" => Self::Integer,
            "year" => Self::Year,
            "decimal" => Self::Decimal,
            "float" => Self::Float { fixed },
            "double" => Self::Double { fixed },
            "bit" => Self::Bit { width: width(&column_type) },
            "json" => Self::Json,
            "longtext" if declared.is_json => Self::Json,
            "char" | "varchar" | "tinytext" | "text" | "mediumtext" | "longtext" => {
                Self::Text { plain: declared.charset == Some("utf8mb4") }
            }
            "enum" | "set" | "uuid" | "inet4" | "inet6" | "xmltype" => Self::Word,
            "binary" | "varbinary" | "tinyblob" | "blob" | "mediumblob" | "longblob" | "vector" => {
                Self::Bytes
            }
            "date" => Self::Date,
            "datetime" => Self::DateTime { digits },
            "timestamp" => Self::Timestamp { digits },
            "time" => Self::Time { digits },
            "geometry" | "point" | "linestring" | "polygon" | "multipoint" | "multilinestring"
            | "multipolygon" | "geometrycollection" | "geomcollection" => Self::Geometry,
            _ if declared.charset.is_some() => Self::Word,
            _ => Self::Other,
        }
    }

    /// What a filter's operands are converted to.
    pub(super) const fn kind(&self) -> ValueKind {
        match self {
            Self::Integer | Self::Year => ValueKind::I64,
            Self::Unsigned => ValueKind::U64,
            Self::Decimal => ValueKind::Decimal,
            Self::Float { .. } => ValueKind::F32,
            Self::Double { .. } => ValueKind::F64,
            Self::Bit { .. } | Self::Text { .. } | Self::Word | Self::Time { .. } => {
                ValueKind::String
            }
            Self::Geometry => ValueKind::String,
            Self::Bytes | Self::Other => ValueKind::Bytes,
            Self::Date => ValueKind::Date,
            Self::DateTime { .. } => ValueKind::Timestamp,
            Self::Timestamp { .. } => ValueKind::Instant,
            Self::Json => ValueKind::Json,
        }
    }
}

/// The width of `bit(5)`.
fn width(column_type: &str) -> u8 {
    let inner = column_type.split_once('(').and_then(|(_, rest)| rest.split_once(')'));
    inner.and_then(|(width, _)| width.trim().parse().ok()).unwrap_or(1)
}

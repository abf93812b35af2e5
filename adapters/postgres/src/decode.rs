//! PostgreSQL's binary forms, read straight into a row batch: no value in between.
//!
//! Keeps true: every byte is looked at through a checked slice, so that whatever a server sends,
//! the answer is a value or [`Malformed`]; depth is bounded by the shape, not by the data.

use fetcher_engine::encode::RowBatch;
use fetcher_engine::value::{Date, Instant, Time, Timestamp, Uuid};

use crate::shape::Shape;
use crate::text;

/// What the server sent is not what the type's binary form is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Malformed;

/// Days and seconds from 1970-01-01 to 2000-01-01, where PostgreSQL counts from.
const EPOCH_DAYS: i32 = 10_957;
const EPOCH_SECONDS: i64 = 946_684_800;
const MICROS: i64 = 1_000_000;

/// The length that stands for null.
const NULL: i32 = -1;

/// Reads values; its memory is used again for each.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    scratch: String,
}

impl Decoder {
    /// Writes one value.
    #[inline]
    pub(crate) fn write(
        &mut self,
        shape: &Shape,
        value: Option<&[u8]>,
        batch: &mut RowBatch,
    ) -> Result<(), Malformed> {
        let Some(bytes) = value else {
            batch.null();
            return Ok(());
        };
        match shape {
            Shape::Text | Shape::Padded | Shape::Enum => {
                if !batch.utf8(bytes) {
                    return Err(Malformed);
                }
            }
            Shape::I32 => batch.i64(i32::from_be_bytes(exact(bytes)?).into()),
            Shape::I64 => batch.i64(i64::from_be_bytes(exact(bytes)?)),
            Shape::I16 => batch.i64(i16::from_be_bytes(exact(bytes)?).into()),
            Shape::F64 => batch.f64(f64::from_be_bytes(exact(bytes)?)),
            Shape::Bool => match exact(bytes)? {
                [byte] => batch.bool(byte != 0),
            },
            Shape::Timestamp => timestamp(i64::from_be_bytes(exact(bytes)?), batch)?,
            Shape::Instant => instant(i64::from_be_bytes(exact(bytes)?), batch)?,
            Shape::Numeric => {
                text::numeric(&mut self.scratch, bytes).ok_or(Malformed)?;
                if !batch.decimal_str(&self.scratch) {
                    return Err(Malformed);
                }
            }
            _ => self.write_rare(shape, bytes, batch)?,
        }
        Ok(())
    }

    fn write_rare(
        &mut self,
        shape: &Shape,
        bytes: &[u8],
        batch: &mut RowBatch,
    ) -> Result<(), Malformed> {
        match shape {
            Shape::U32 => batch.u64(u32::from_be_bytes(exact(bytes)?).into()),
            Shape::U64 => batch.u64(u64::from_be_bytes(exact(bytes)?)),
            Shape::F32 => batch.f32(f32::from_be_bytes(exact(bytes)?)),
            Shape::Bytes => batch.bytes(bytes),
            Shape::Uuid => batch.uuid(Uuid(exact(bytes)?)),
            Shape::Date => batch.date(date(i32::from_be_bytes(exact(bytes)?))?),
            Shape::Time => batch.time(time(i64::from_be_bytes(exact(bytes)?))?),
            Shape::Json => batch.json(utf8(bytes)?),
            Shape::Jsonb => match bytes.split_first() {
                Some((1, json)) => batch.json(utf8(json)?),
                _ => return Err(Malformed),
            },
            Shape::Array(element) => self.array(element, bytes, batch)?,
            Shape::Composite(_) => self.composite(shape, bytes, batch)?,
            Shape::Range(bound) => self.range(bound, bytes, batch)?,
            Shape::Multirange(bound) => self.multirange(bound, bytes, batch)?,
            _ => {
                let write = match shape {
                    Shape::Char => text::char,
                    Shape::TimeTz => text::time_tz,
                    Shape::Interval => text::interval,
                    Shape::Inet => text::inet,
                    Shape::Bits => text::bits,
                    // Every other shape is handled above; `Unknown` is never selected as it is.
                    _ => return Err(Malformed),
                };
                write(&mut self.scratch, bytes).ok_or(Malformed)?;
                batch.str(&self.scratch);
            }
        }
        Ok(())
    }

    /// Dimensions become lists in lists. Their lower bounds are not kept: JSON lists have none.
    fn array(
        &mut self,
        element: &Shape,
        bytes: &[u8],
        batch: &mut RowBatch,
    ) -> Result<(), Malformed> {
        /// The server's own limit.
        const DIMENSIONS_MAX: usize = 6;
        let mut input = Input(bytes);
        let dimensions = usize::try_from(input.i32()?).map_err(|_| Malformed)?;
        let (_flags, _element) = (input.i32()?, input.i32()?);
        if dimensions > DIMENSIONS_MAX {
            return Err(Malformed);
        }
        let mut lens = [0_u32; DIMENSIONS_MAX];
        for len in lens.iter_mut().take(dimensions) {
            *len = u32::try_from(input.i32()?).map_err(|_| Malformed)?;
            // An array without elements has no dimensions; a vector has one.
            if *len == 0 && dimensions > 1 {
                return Err(Malformed);
            }
            let _lower_bound = input.i32()?;
        }
        let lens = lens.get(..dimensions).ok_or(Malformed)?;
        if lens.is_empty() {
            batch.begin_list();
            batch.end();
        } else {
            self.dimension(element, lens, &mut input, batch)?;
        }
        input.end()
    }

    fn dimension(
        &mut self,
        element: &Shape,
        lens: &[u32],
        input: &mut Input<'_>,
        batch: &mut RowBatch,
    ) -> Result<(), Malformed> {
        let Some((len, inner)) = lens.split_first() else {
            return self.write(element, input.value()?, batch);
        };
        batch.begin_list();
        for _ in 0..*len {
            // A length may lie; there is no element without a byte.
            if input.0.is_empty() {
                return Err(Malformed);
            }
            self.dimension(element, inner, input, batch)?;
        }
        batch.end();
        Ok(())
    }

    fn composite(
        &mut self,
        shape: &Shape,
        bytes: &[u8],
        batch: &mut RowBatch,
    ) -> Result<(), Malformed> {
        let Shape::Composite(fields) = shape else { return Err(Malformed) };
        let mut input = Input(bytes);
        if usize::try_from(input.i32()?) != Ok(fields.len()) {
            return Err(Malformed);
        }
        batch.begin_map();
        for (name, field) in fields {
            let _type = input.i32()?;
            batch.key(name);
            self.write(field, input.value()?, batch)?;
        }
        batch.end();
        input.end()
    }

    fn range(
        &mut self,
        bound: &Shape,
        bytes: &[u8],
        batch: &mut RowBatch,
    ) -> Result<(), Malformed> {
        const EMPTY: u8 = 0x01;
        const LOWER_INCLUSIVE: u8 = 0x02;
        const UPPER_INCLUSIVE: u8 = 0x04;
        const LOWER_INFINITE: u8 = 0x08;
        const UPPER_INFINITE: u8 = 0x10;
        let (&flags, rest) = bytes.split_first().ok_or(Malformed)?;
        let mut input = Input(rest);
        let has = |flag: u8| flags & flag != 0;
        batch.begin_map();
        for (key, infinite) in [("lower", LOWER_INFINITE), ("upper", UPPER_INFINITE)] {
            batch.key(key);
            let value = if has(EMPTY | infinite) { None } else { input.value()? };
            self.write(bound, value, batch)?;
        }
        batch.key("bounds");
        batch.str(match (has(EMPTY), has(LOWER_INCLUSIVE), has(UPPER_INCLUSIVE)) {
            (true, ..) => "empty",
            (_, true, true) => "[]",
            (_, true, false) => "[)",
            (_, false, true) => "(]",
            (_, false, false) => "()",
        });
        batch.end();
        input.end()
    }

    fn multirange(
        &mut self,
        bound: &Shape,
        bytes: &[u8],
        batch: &mut RowBatch,
    ) -> Result<(), Malformed> {
        let mut input = Input(bytes);
        let count = input.i32()?;
        batch.begin_list();
        for _ in 0..count {
            let range = input.value()?.ok_or(Malformed)?;
            self.range(bound, range, batch)?;
        }
        batch.end();
        input.end()
    }
}

/// Bytes that are read from their front.
pub(crate) struct Input<'a>(pub(crate) &'a [u8]);

impl<'a> Input<'a> {
    #[inline]
    pub(crate) fn i16(&mut self) -> Result<i16, Malformed> {
        let (bytes, rest) = self.0.split_first_chunk().ok_or(Malformed)?;
        self.0 = rest;
        Ok(i16::from_be_bytes(*bytes))
    }

    #[inline]
    pub(crate) fn i32(&mut self) -> Result<i32, Malformed> {
        let (bytes, rest) = self.0.split_first_chunk().ok_or(Malformed)?;
        self.0 = rest;
        Ok(i32::from_be_bytes(*bytes))
    }

    /// A length, and so many bytes; or the null.
    #[inline]
    pub(crate) fn value(&mut self) -> Result<Option<&'a [u8]>, Malformed> {
        let len = self.i32()?;
        if len == NULL {
            return Ok(None);
        }
        let len = usize::try_from(len).map_err(|_| Malformed)?;
        let (value, rest) = self.0.split_at_checked(len).ok_or(Malformed)?;
        self.0 = rest;
        Ok(Some(value))
    }

    pub(crate) fn end(&self) -> Result<(), Malformed> {
        if self.0.is_empty() { Ok(()) } else { Err(Malformed) }
    }
}

#[inline]
fn exact<const N: usize>(bytes: &[u8]) -> Result<[u8; N], Malformed> {
    bytes.try_into().map_err(|_| Malformed)
}

#[inline]
fn utf8(bytes: &[u8]) -> Result<&str, Malformed> {
    str::from_utf8(bytes).map_err(|_| Malformed)
}

fn date(days: i32) -> Result<Date, Malformed> {
    match days {
        i32::MAX => Ok(Date::INFINITY),
        i32::MIN => Ok(Date::NEG_INFINITY),
        days => {
            let days = days.checked_add(EPOCH_DAYS).map(Date::from_days);
            days.filter(|date| date.is_finite()).ok_or(Malformed)
        }
    }
}

pub(crate) fn time(micros: i64) -> Result<Time, Malformed> {
    let nanos = u64::try_from(micros).ok().and_then(|micros| micros.checked_mul(1000));
    nanos.and_then(Time::from_nanos).ok_or(Malformed)
}

fn timestamp(micros: i64, batch: &mut RowBatch) -> Result<(), Malformed> {
    batch.timestamp(match micros {
        i64::MAX => Timestamp::INFINITY,
        i64::MIN => Timestamp::NEG_INFINITY,
        micros => {
            let (seconds, nanos) = since_1970(micros);
            Timestamp::new(seconds, nanos).ok_or(Malformed)?
        }
    });
    Ok(())
}

fn instant(micros: i64, batch: &mut RowBatch) -> Result<(), Malformed> {
    batch.instant(match micros {
        i64::MAX => Instant::INFINITY,
        i64::MIN => Instant::NEG_INFINITY,
        micros => {
            let (seconds, nanos) = since_1970(micros);
            Instant::new(seconds, nanos).ok_or(Malformed)?
        }
    });
    Ok(())
}

#[inline]
fn since_1970(micros: i64) -> (i64, u32) {
    // The remainder is below a million, so the product fits.
    let nanos = micros.rem_euclid(MICROS) as u32 * 1000;
    (micros.div_euclid(MICROS) + EPOCH_SECONDS, nanos)
}

#[cfg(test)]
mod tests {
    use fetcher_engine::encode::{Format, StepShape};

    use super::*;

    fn shapes() -> Vec<Shape> {
        let array = |shape: Shape| Shape::Array(Box::new(shape));
        let pair = Shape::Composite([("a".into(), Shape::I32), ("b".into(), Shape::Text)].into());
        vec![
            Shape::Bool,
            Shape::I16,
            Shape::U64,
            Shape::F32,
            Shape::Numeric,
            Shape::Text,
            Shape::Char,
            Shape::Uuid,
            Shape::Date,
            Shape::Time,
            Shape::TimeTz,
            Shape::Timestamp,
            Shape::Instant,
            Shape::Interval,
            Shape::Jsonb,
            Shape::Inet,
            Shape::Bits,
            Shape::Unknown,
            array(Shape::I32),
            array(array(pair.clone())),
            pair,
            Shape::Range(Box::new(Shape::Numeric)),
            Shape::Multirange(Box::new(Shape::Date)),
        ]
    }

    /// Bytes that look a little like what a server sends: small numbers, lengths, extremes.
    fn bytes(random: &mut u64) -> Vec<u8> {
        let mut next = || {
            *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (*random >> 33) as usize
        };
        let mut bytes = Vec::new();
        for _ in 0..next() % 12 {
            match next() % 6 {
                0 => bytes.extend_from_slice(&[0, 0, 0, (next() % 9) as u8]),
                1 => bytes.extend_from_slice(&[0xFF; 4]),
                2 => bytes.extend_from_slice(&[0x7F, 0xFF, 0xFF, 0xFF]),
                3 => bytes.extend_from_slice(&[0x80, 0, 0, 0]),
                4 => bytes.extend_from_slice(&[(next() % 256) as u8, (next() % 256) as u8]),
                _ => bytes.push((next() % 40) as u8),
            }
        }
        bytes
    }

    #[test]
    fn no_bytes_make_it_panic_or_hang() {
        let mut random = 11;
        let mut decoder = Decoder::default();
        for _ in 0..20_000 {
            let bytes = bytes(&mut random);
            for shape in shapes() {
                let mut batch = RowBatch::new(StepShape::open(Format::Ndjson, "pg"));
                batch.table("t", &["v"]).unwrap();
                if decoder.write(&shape, Some(&bytes), &mut batch).is_ok() {
                    batch.end_row().unwrap();
                }
            }
        }
    }
}

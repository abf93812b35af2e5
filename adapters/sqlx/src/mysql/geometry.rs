//! Geometries as text: `POINT(1.5 2)`, with `SRID=4326;` in front where there is one.
//!
//! The server sends four bytes of SRID and then the geometry's well-known binary form (OGC Simple
//! Feature Access). Coordinates are written as they are stored, the first one first, as the
//! shortest numbers that read back.

use std::fmt::Write as _;

/// Collections in collections in collections: nobody means more, and the stack has an end.
const DEPTH_MAX: u32 = 32;

/// Clears the string and writes the text; `None` for malformed bytes.
pub(super) fn write(out: &mut String, bytes: &[u8]) -> Option<()> {
    out.clear();
    let (srid, bytes) = bytes.split_first_chunk::<4>()?;
    let srid = u32::from_le_bytes(*srid);
    if srid != 0 {
        // PROOF: writing to a string cannot fail.
        let _ = write!(out, "SRID={srid};");
    }
    let mut input = Input { bytes, big_endian: false };
    input.geometry(out, 0, None)?;
    input.bytes.is_empty().then_some(())
}

struct Input<'a> {
    bytes: &'a [u8],
    big_endian: bool,
}

impl Input<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.bytes.split_first_chunk::<N>()?;
        self.bytes = rest;
        Some(*taken)
    }

    fn u32(&mut self) -> Option<u32> {
        let bytes = self.take()?;
        Some(if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
    }

    fn coordinate(&mut self, out: &mut String) -> Option<()> {
        let bytes = self.take()?;
        let number =
            if self.big_endian { f64::from_be_bytes(bytes) } else { f64::from_le_bytes(bytes) };
        let start = out.len();
        // PROOF: writing to a string cannot fail.
        let _ = write!(out, "{number:?}");
        if out.get(start..)?.ends_with(".0") {
            out.truncate(out.len() - 2);
        }
        Some(())
    }

    fn point(&mut self, out: &mut String) -> Option<()> {
        self.coordinate(out)?;
        out.push(' ');
        self.coordinate(out)
    }

    /// So many of these, in brackets.
    fn list(
        &mut self,
        out: &mut String,
        mut item: impl FnMut(&mut Self, &mut String) -> Option<()>,
    ) -> Option<()> {
        let count = self.u32()?;
        if count == 0 {
            out.push_str(" EMPTY");
            return Some(());
        }
        out.push('(');
        for at in 0..count {
            if at > 0 {
                out.push(',');
            }
            item(self, out)?;
        }
        out.push(')');
        Some(())
    }

    /// A geometry of any kind, or, within a multiple one, of the kind that it consists of, whose
    /// name goes without saying.
    fn geometry(&mut self, out: &mut String, depth: u32, within: Option<u32>) -> Option<()> {
        if depth > DEPTH_MAX {
            return None;
        }
        self.big_endian = match self.take()? {
            [0] => true,
            [1] => false,
            _ => return None,
        };
        let kind = self.u32()?;
        if within.is_some_and(|within| within != kind) {
            return None;
        }
        let name = match kind {
            1 => "POINT",
            2 => "LINESTRING",
            3 => "POLYGON",
            4 => "MULTIPOINT",
            5 => "MULTILINESTRING",
            6 => "MULTIPOLYGON",
            7 => "GEOMETRYCOLLECTION",
            _ => return None,
        };
        if within.is_none() {
            out.push_str(name);
        }
        match kind {
            1 => {
                out.push('(');
                self.point(out)?;
                out.push(')');
                Some(())
            }
            2 => self.list(out, Self::point),
            3 => self.list(out, |input, out| input.list(out, Self::point)),
            4..=6 => self.list(out, |input, out| input.geometry(out, depth + 1, Some(kind - 3))),
            _ => self.list(out, |input, out| input.geometry(out, depth + 1, None)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Little-endian, without SRID.
    fn point(x: f64, y: f64) -> Vec<u8> {
        let header = [1, 1, 0, 0, 0];
        [&header[..], &x.to_le_bytes(), &y.to_le_bytes()].concat()
    }

    fn text(srid: u32, bytes: &[u8]) -> Option<String> {
        let mut out = String::from("left over");
        write(&mut out, &[&srid.to_le_bytes()[..], bytes].concat())?;
        Some(out)
    }

    #[test]
    fn points_of_either_order() {
        assert_eq!(text(0, &point(1.0, -2.5)).as_deref(), Some("POINT(1 -2.5)"));
        assert_eq!(text(4326, &point(1e300, 0.1)).as_deref(), Some("SRID=4326;POINT(1e300 0.1)"));
        let header = [0, 0, 0, 0, 1];
        let big = [&header[..], &1_f64.to_be_bytes(), &2_f64.to_be_bytes()].concat();
        assert_eq!(text(0, &big).as_deref(), Some("POINT(1 2)"));
    }

    #[test]
    fn what_is_malformed_is_no_text() {
        let whole = point(1.0, 2.0);
        for len in 0..whole.len() {
            assert_eq!(text(0, &whole[..len]), None, "{len}");
        }
        assert_eq!(text(0, &[&whole[..], &[0]].concat()), None, "something behind it");
        // A count without anything behind it ends at once.
        assert_eq!(text(0, &[1, 2, 0, 0, 0, 255, 255, 255, 255]), None);
        // A multiple point of a line.
        let line = [&[1, 4, 0, 0, 0, 1, 0, 0, 0][..], &[1, 2, 0, 0, 0, 0, 0, 0, 0]].concat();
        assert_eq!(text(0, &line), None);
        let nested = [1, 7, 0, 0, 0, 1, 0, 0, 0].repeat(100_000);
        assert_eq!(text(0, &nested), None);
        assert_eq!(
            text(0, &[1, 7, 0, 0, 0, 0, 0, 0, 0]).as_deref(),
            Some("GEOMETRYCOLLECTION EMPTY")
        );
    }
}

//! Binary forms whose JSON form is a text of their own: numbers, intervals, addresses, bits.
//!
//! Each function clears the string, writes the text and answers `None` for malformed bytes. Where
//! not said otherwise the text is the server's own.

use std::fmt::Write as _;

use crate::decode::Input;

/// A decimal number with its scale, `NaN`, `Infinity` or `-Infinity`.
pub(crate) fn numeric(out: &mut String, bytes: &[u8]) -> Option<()> {
    const NEGATIVE: u16 = 0x4000;
    const NAN: u16 = 0xC000;
    const INFINITY: u16 = 0xD000;
    const NEG_INFINITY: u16 = 0xF000;
    out.clear();
    let mut input = Input(bytes);
    let count = input.i16().ok()?.cast_unsigned();
    let weight = input.i16().ok()?;
    let sign = input.i16().ok()?.cast_unsigned();
    let scale = usize::try_from(input.i16().ok()?).ok()?;
    let (groups, []) = input.0.as_chunks::<2>() else { return None };
    match sign {
        0 => {}
        NEGATIVE => out.push('-'),
        NAN => out.push_str("NaN"),
        INFINITY => out.push_str("Infinity"),
        NEG_INFINITY => out.push_str("-Infinity"),
        _ => return None,
    }
    if sign & NAN == NAN {
        return groups.is_empty().then_some(());
    }
    if groups.len() != usize::from(count) {
        return None;
    }
    // Groups of four digits, the first of them worth ten thousand to the power of the weight.
    let group = |power: i32| {
        let at = i32::from(weight) - power;
        let group = usize::try_from(at).ok().and_then(|at| groups.get(at));
        group.map_or(0, |group| u16::from_be_bytes(*group))
    };
    if groups.iter().any(|group| u16::from_be_bytes(*group) > 9999) {
        return None;
    }
    push_integer(out, weight, group);
    if scale > 0 {
        out.push('.');
        let end = out.len() + scale;
        for power in 1..=i32::try_from(scale.div_ceil(4)).ok()? {
            push_four(out, group(-power));
        }
        out.truncate(end);
    }
    Some(())
}

fn push_integer(out: &mut String, weight: i16, group: impl Fn(i32) -> u16) {
    let mut begun = false;
    for power in (0..=i32::from(weight)).rev() {
        let digits = group(power);
        if begun {
            push_four(out, digits);
        } else if digits > 0 {
            push(out, digits);
            begun = true;
        }
    }
    if !begun {
        out.push('0');
    }
}

fn push(out: &mut String, number: impl std::fmt::Display) {
    // PROOF: writing to a string cannot fail.
    let _ = write!(out, "{number}");
}

fn push_four(out: &mut String, digits: u16) {
    for unit in [1000, 100, 10, 1] {
        out.push(char::from(b'0' + (digits / unit % 10) as u8));
    }
}

/// One byte: nothing for zero, itself if ASCII, else its octal number behind a backslash (as
/// PostgreSQL 16 and later write it; the byte alone would be no text).
pub(crate) fn char(out: &mut String, bytes: &[u8]) -> Option<()> {
    out.clear();
    match bytes {
        [0] => {}
        [byte] if byte.is_ascii() => out.push(char::from(*byte)),
        // PROOF: writing to a string cannot fail.
        [byte] => write!(out, "\\{byte:03o}").ok()?,
        _ => return None,
    }
    Some(())
}

/// A time of day and its offset: `12:34:56.789+02:00`, with seconds where the offset has some.
pub(crate) fn time_tz(out: &mut String, bytes: &[u8]) -> Option<()> {
    const DAY: i64 = 86_400_000_000;
    out.clear();
    let (micros, west) = bytes.split_first_chunk::<8>()?;
    let micros = i64::from_be_bytes(*micros);
    let west = i32::from_be_bytes(west.try_into().ok()?);
    if !(0..=DAY).contains(&micros) || west.unsigned_abs() >= 86_400 {
        return None;
    }
    let seconds = micros / 1_000_000;
    push_clock(out, seconds / 3600, seconds / 60 % 60, seconds % 60);
    push_fraction(out, (micros % 1_000_000).unsigned_abs());
    out.push(if west > 0 { '-' } else { '+' });
    let offset = west.unsigned_abs();
    let (hours, minutes, seconds) = (offset / 3600, offset / 60 % 60, offset % 60);
    // PROOF: writing to a string cannot fail.
    let _ = write!(out, "{hours:02}:{minutes:02}");
    if seconds > 0 {
        // PROOF: as above.
        let _ = write!(out, ":{seconds:02}");
    }
    Some(())
}

fn push_clock(out: &mut String, hours: i64, minutes: i64, seconds: i64) {
    // PROOF: writing to a string cannot fail.
    let _ = write!(out, "{hours:02}:{minutes:02}:{seconds:02}");
}

/// The millionths after a second, without trailing zeros, if there are any.
fn push_fraction(out: &mut String, micros: u64) {
    if micros > 0 {
        // PROOF: writing to a string cannot fail.
        let _ = write!(out, ".{micros:06}");
        out.truncate(out.trim_end_matches('0').len());
    }
}

/// ISO 8601 as the server writes it with `IntervalStyle` `iso_8601`: `P1Y2M-3DT4H5M6.7S`. Every
/// part has its own sign; `infinity` and `-infinity` (PostgreSQL 17) are words.
pub(crate) fn interval(out: &mut String, bytes: &[u8]) -> Option<()> {
    out.clear();
    let (micros, rest) = bytes.split_first_chunk::<8>()?;
    let (days, months) = rest.split_first_chunk::<4>()?;
    let micros = i64::from_be_bytes(*micros);
    let days = i32::from_be_bytes(*days);
    let months = i32::from_be_bytes(months.try_into().ok()?);
    match (micros, days, months) {
        (0, 0, 0) => out.push_str("PT0S"),
        (i64::MAX, i32::MAX, i32::MAX) => out.push_str("infinity"),
        (i64::MIN, i32::MIN, i32::MIN) => out.push_str("-infinity"),
        _ => {
            out.push('P');
            push_part(out, (months / 12).into(), 'Y');
            push_part(out, (months % 12).into(), 'M');
            push_part(out, days.into(), 'D');
            if micros != 0 {
                out.push('T');
                push_part(out, micros / 3_600_000_000, 'H');
                push_part(out, micros / 60_000_000 % 60, 'M');
                push_seconds(out, micros % 60_000_000);
            }
        }
    }
    Some(())
}

fn push_part(out: &mut String, value: i64, unit: char) {
    if value != 0 {
        push(out, value);
        out.push(unit);
    }
}

fn push_seconds(out: &mut String, micros: i64) {
    if micros == 0 {
        return;
    }
    if micros < 0 {
        out.push('-');
    }
    let micros = micros.unsigned_abs();
    push(out, micros / 1_000_000);
    push_fraction(out, micros % 1_000_000);
    out.push('S');
}

/// A network address; its prefix length where the type or the value has one.
pub(crate) fn inet(out: &mut String, bytes: &[u8]) -> Option<()> {
    out.clear();
    let [family, bits, is_cidr, len, address @ ..] = bytes else { return None };
    if usize::from(*len) != address.len() {
        return None;
    }
    let full = match (family, address) {
        (2, [a, b, c, d]) => {
            // PROOF: writing to a string cannot fail.
            let _ = write!(out, "{a}.{b}.{c}.{d}");
            32
        }
        (3, address) => {
            push_ipv6(out, address.try_into().ok()?);
            128
        }
        _ => return None,
    };
    if *bits > full {
        return None;
    }
    if *bits < full || *is_cidr != 0 {
        out.push('/');
        push(out, bits);
    }
    Some(())
}

/// The longest run of zeros is left out, the first of equals; IPv4 in IPv6 is written with dots.
fn push_ipv6(out: &mut String, address: [u8; 16]) {
    let (pairs, _) = address.as_chunks::<2>();
    let mut words = [0_u16; 8];
    for (word, pair) in words.iter_mut().zip(pairs) {
        *word = u16::from_be_bytes(*pair);
    }
    let (start, len) = longest_zeros(&words);
    let dotted =
        start == 0 && (len == 6 || (len == 5 && words[5] == 0xFFFF) || (len == 7 && words[7] != 1));
    let count = if dotted { 6 } else { 8 };
    for (at, word) in words.iter().take(count).enumerate() {
        if (start..start + len).contains(&at) {
            if at == start {
                out.push(':');
            }
            continue;
        }
        if at > 0 {
            out.push(':');
        }
        // PROOF: writing to a string cannot fail.
        let _ = write!(out, "{word:x}");
    }
    if dotted {
        let [.., a, b, c, d] = address;
        // PROOF: as above.
        let _ = write!(out, ":{a}.{b}.{c}.{d}");
    } else if len > 0 && start + len == 8 {
        out.push(':');
    }
}

/// Where the longest run of two zero words or more begins, and how long it is.
fn longest_zeros(words: &[u16; 8]) -> (usize, usize) {
    let mut best = (0, 0);
    let mut run = 0;
    for (at, word) in words.iter().enumerate() {
        run = if *word == 0 { run + 1 } else { 0 };
        if run > best.1 && run > 1 {
            best = (at + 1 - run, run);
        }
    }
    best
}

/// Bits as zeros and ones.
pub(crate) fn bits(out: &mut String, bytes: &[u8]) -> Option<()> {
    out.clear();
    let mut input = Input(bytes);
    let count = usize::try_from(input.i32().ok()?).ok()?;
    if input.0.len() != count.div_ceil(8) {
        return None;
    }
    let bits = input.0.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1));
    out.extend(bits.take(count).map(|bit| if bit == 1 { '1' } else { '0' }));
    Some(())
}

//! The proleptic Gregorian calendar as pure arithmetic: day numbers to dates and back.
//!
//! The formulas are the Euclidean affine functions of Cassio Neri and Lorenz Schneider,
//! "Euclidean affine functions and their application to calendar algorithms", Software: Practice
//! and Experience 53(4), 2023. They count from 0000-03-01, so that the leap day ends a year, and
//! divide by constants only. Here they run in 64 bits and are shifted by whole 400-year eras, so
//! that every `i32` day number is in their range.

/// Days in 400 years.
const ERA_DAYS: i64 = 146_097;
/// Eras added so that nothing below is negative: enough for `i32::MIN` days.
const ERAS: i64 = 14_704;
/// From 0000-03-01 to 1970-01-01, plus the eras.
const SHIFT: i64 = 719_468 + ERAS * ERA_DAYS;

/// Year, month and day of a number of days since 1970-01-01.
#[inline]
pub(super) const fn civil_from_days(days: i32) -> (i32, u8, u8) {
    let n = (days as i64 + SHIFT).cast_unsigned();
    let n1 = 4 * n + 3;
    let century = n1 / 146_097;
    let n2 = (n1 % 146_097) | 3;
    let p2 = 2_939_745 * n2;
    let year_of_century = p2 >> 32;
    let day_of_year = (p2 & 0xffff_ffff) / 2_939_745 / 4;
    let n3 = 2_141 * day_of_year + 197_913;
    let month = n3 >> 16;
    let day = (n3 & 0xffff) / 2_141;
    // January and February belong to the next civil year.
    let wraps = (day_of_year >= 306) as u64;
    let year = (100 * century + year_of_century + wraps).cast_signed() - 400 * ERAS;
    (year as i32, (month - 12 * wraps) as u8, (day + 1) as u8)
}

/// Days since 1970-01-01 of a date; `None` if there is no such date or it does not fit an `i32`.
#[inline]
pub(super) const fn days_from_civil(year: i32, month: u8, day: u8) -> Option<i32> {
    // Far beyond an `i32` of days either way, and keeps the shifted year positive.
    if year < -5_880_000 || year > 5_882_000 || day == 0 || day > days_in_month(year, month) {
        return None;
    }
    let wraps = (month <= 2) as i64;
    let shifted_year = year as i64 + 400 * ERAS - wraps;
    let shifted_month = month as i64 + 12 * wraps;
    let century = shifted_year / 100;
    let year_days = 1_461 * shifted_year / 4 - century + century / 4;
    let month_days = (979 * shifted_month - 2_919) / 32;
    let days = year_days + month_days + day as i64 - 1 - SHIFT;
    if days < i32::MIN as i64 || days > i32::MAX as i64 {
        return None;
    }
    Some(days as i32)
}

/// Zero for a month that does not exist.
const fn days_in_month(year: i32, month: u8) -> u8 {
    match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 0,
    }
}

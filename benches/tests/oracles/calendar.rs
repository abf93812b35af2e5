//! Dates and times as the `time` crate counts them, with the text form written out by hand.

use fetcher_engine::value::{Date, Instant, Time, Timestamp};
use time::OffsetDateTime;

/// Days in the four hundred years after which the calendar repeats.
const ERA: i32 = 146_097;

/// Year, month and day so many days after 1970-01-01.
///
/// Where `time` ends, its answer for the same day of another era is moved.
pub(crate) fn civil(days: i32) -> (i32, u8, u8) {
    let unix = OffsetDateTime::UNIX_EPOCH.date().to_julian_day();
    let direct = days.checked_add(unix);
    let direct = direct.and_then(|julian| time::Date::from_julian_day(julian).ok());
    let (date, eras) = match direct {
        Some(date) => (date, 0),
        None => {
            let date = time::Date::from_julian_day(unix + days.rem_euclid(ERA));
            (date.expect("a day of this era"), days.div_euclid(ERA))
        }
    };
    (date.year() + 400 * eras, u8::from(date.month()), date.day())
}

pub(crate) fn date_text(date: Date) -> String {
    match date.days() {
        i32::MAX => "infinity".to_owned(),
        i32::MIN => "-infinity".to_owned(),
        days => day_text(days),
    }
}

pub(crate) fn day_text(days: i32) -> String {
    let (year, month, day) = civil(days);
    let year = match year {
        1..=9999 => format!("{year:04}"),
        0.. => format!("+{year:06}"),
        _ => format!("-{:06}", -year),
    };
    format!("{year}-{month:02}-{day:02}")
}

pub(crate) fn time_text(time: Time) -> String {
    clock_text(time.nanos() / 1_000_000_000, (time.nanos() % 1_000_000_000) as u32)
}

fn clock_text(seconds: u64, nanos: u32) -> String {
    let (minutes, second) = (seconds / 60, seconds % 60);
    let (hour, minute) = (minutes / 60, minutes % 60);
    let fraction = match nanos {
        0 => String::new(),
        nanos => format!(".{nanos:09}").trim_end_matches('0').to_owned(),
    };
    format!("{hour:02}:{minute:02}:{second:02}{fraction}")
}

pub(crate) fn timestamp_text(timestamp: Timestamp) -> String {
    moment_text(timestamp.seconds(), timestamp.nanos(), "")
}

pub(crate) fn instant_text(instant: Instant) -> String {
    moment_text(instant.seconds(), instant.nanos(), "Z")
}

fn moment_text(seconds: i64, nanos: u32, zone: &str) -> String {
    match seconds {
        i64::MAX => "infinity".to_owned(),
        i64::MIN => "-infinity".to_owned(),
        _ => {
            let days = i32::try_from(seconds.div_euclid(86_400)).expect("a day that has a name");
            let clock = clock_text(seconds.rem_euclid(86_400).unsigned_abs(), nanos);
            format!("{}T{clock}{zone}", day_text(days))
        }
    }
}

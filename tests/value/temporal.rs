//! Dates, times and moments against a calendar that is walked day by day, and their text forms
//! against tables.

use fetcher_engine::value::{Date, Instant, Time, Timestamp};

use super::Rng;

const fn days_in_month(year: i32, month: u8) -> u8 {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 => 28 + leap as u8,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[test]
fn dates_agree_with_a_calendar_walked_day_by_day() {
    for direction in [1, -1] {
        let (mut year, mut month, mut day) = (1970_i32, 1_u8, 1_u8);
        let mut days = 0;
        while (-1300..4200).contains(&year) {
            let date = Date::from_days(days);
            assert_eq!(date.ymd(), Some((year, month, day)));
            assert_eq!(Date::from_ymd(year, month, day), Some(date));
            if day == days_in_month(year, month) {
                assert_eq!(Date::from_ymd(year, month, day + 1), None);
            }
            if days % 89 == 0 {
                let text = match year {
                    1..=9999 => format!("{year:04}-{month:02}-{day:02}"),
                    _ => format!("{year:+07}-{month:02}-{day:02}"),
                };
                assert_eq!(date.to_string(), text);
                assert_eq!(Date::parse(&text), Some(date));
            }
            days += direction;
            if direction > 0 {
                day += 1;
                if day > days_in_month(year, month) {
                    (month, day) = (month + 1, 1);
                }
                if month > 12 {
                    (year, month) = (year + 1, 1);
                }
            } else {
                day -= 1;
                if day == 0 {
                    month -= 1;
                    if month == 0 {
                        (year, month) = (year - 1, 12);
                    }
                    day = days_in_month(year, month);
                }
            }
        }
    }
}

/// Era by era, year by year, month by month.
fn naive_days(year: i32, month: u8, day: u8) -> i64 {
    let eras = i64::from(year - 2000).div_euclid(400);
    let first = 2000 + (year - 2000).rem_euclid(400);
    let months = (2000..first).flat_map(|y| (1..=12).map(move |m| (y, m)));
    let months = months.chain((1..month).map(|m| (first, m)));
    let passed: i64 = months.map(|(y, m)| i64::from(days_in_month(y, m))).sum();
    10_957 + eras * 146_097 + passed + i64::from(day) - 1
}

#[test]
fn dates_agree_with_the_calendar_up_to_their_ends() {
    let mut rng = Rng(5);
    for _ in 0..300 {
        let days = rng.next() as i32;
        let (year, month, day) = Date::from_days(days).ymd().expect("finite");
        assert_eq!(naive_days(year, month, day), i64::from(days), "{days}");
        assert_eq!(Date::from_ymd(year, month, day), Some(Date::from_days(days)));
        let date = Date::from_days(days);
        assert_eq!(Date::parse(&date.to_string()), Some(date), "{date}");
    }
    let (first, last) = (Date::from_days(i32::MIN + 1), Date::from_days(i32::MAX - 1));
    assert_eq!(last.ymd().map(|(y, m, d)| naive_days(y, m, d)), Some(i64::from(i32::MAX - 1)));
    assert_eq!(first.ymd().map(|(y, m, d)| naive_days(y, m, d)), Some(i64::from(i32::MIN + 1)));
    for (date, step) in [(last, 1), (first, -1)] {
        let (year, month, day) = date.ymd().expect("finite");
        assert_eq!(Date::from_ymd(year, month, day), Some(date));
        // One more stands for an infinity, two more do not fit.
        for n in [1, 2, 3] {
            let day = (i16::from(day) + n * step) as u8;
            assert!((1..=28).contains(&day), "the ends lie inside a month");
            assert_eq!(Date::from_ymd(year, month, day), None);
        }
        assert_eq!(date.to_string().len(), 14);
    }
    for (year, month, day) in [(i32::MAX, 1, 1), (i32::MIN, 12, 31), (2024, 0, 1), (2024, 13, 1)] {
        assert_eq!(Date::from_ymd(year, month, day), None);
    }
    for (year, month, day) in [(2024, 1, 0), (2023, 2, 29), (1900, 2, 29), (2024, 255, 255)] {
        assert_eq!(Date::from_ymd(year, month, day), None);
    }
    assert_eq!((Date::INFINITY.ymd(), Date::NEG_INFINITY.ymd()), (None, None));
    assert!(Date::NEG_INFINITY < first && last < Date::INFINITY);
}

#[test]
fn dates_are_read_strictly() {
    for (text, year, month, day) in [
        ("2024-03-01", 2024, 3, 1),
        ("0001-01-01", 1, 1, 1),
        ("9999-12-31", 9999, 12, 31),
        ("+099999-12-31", 99_999, 12, 31),
        ("-004712-01-01", -4712, 1, 1),
        ("+000000-02-29", 0, 2, 29),
        ("+5881580-07-10", 5_881_580, 7, 10),
    ] {
        let date = Date::from_ymd(year, month, day).expect("a date");
        assert_eq!(Date::parse(text), Some(date), "{text}");
        assert_eq!(date.to_string(), text);
        assert_eq!(format!("{date:?}"), format!("Date({text})"));
    }
    // Read, but written otherwise.
    assert_eq!(Date::parse("+002024-03-01"), Date::from_ymd(2024, 3, 1));
    assert_eq!(Date::parse("0000-01-01"), Date::from_ymd(0, 1, 1));
    assert_eq!(Date::parse("INFINITY"), Some(Date::INFINITY));
    assert_eq!(Date::parse("-Infinity"), Some(Date::NEG_INFINITY));
    assert_eq!(Date::INFINITY.to_string(), "infinity");
    assert_eq!(Date::NEG_INFINITY.to_string(), "-infinity");
    for refused in [
        "",
        "2024",
        "2024-03",
        "2024-3-1",
        "24-03-01",
        "02024-03-01",
        "+2024-03-01",
        "-000000-01-01",
        "2024-00-10",
        "2022-11-00",
        "0000-00-00",
        "2023-02-29",
        "2024-03-01 ",
        " 2024-03-01",
        "2024-03-01T00:00:00",
        "2024/03/01",
        "20240301",
        "2024-03-1a",
        "+99999999999999999999-01-01",
        "+5881580-07-12",
        "infinity ",
        "inf",
        "٢٠٢٤-٠٣-٠١",
        "2024-03-0é",
    ] {
        assert_eq!(Date::parse(refused), None, "{refused:?}");
    }
}

#[test]
fn times_reach_the_end_of_the_day_and_no_further() {
    for (text, nanos) in [
        ("00:00:00", 0),
        ("12:34:56", 45_296_000_000_000),
        ("12:34:56.789", 45_296_789_000_000),
        ("12:34:56.000000001", 45_296_000_000_001),
        ("12:34:56.1", 45_296_100_000_000),
        ("23:59:59.999999999", 86_399_999_999_999),
        ("24:00:00", 86_400_000_000_000),
    ] {
        let time = Time::from_nanos(nanos).expect("a time");
        assert_eq!(Time::parse(text), Some(time), "{text}");
        assert_eq!(time.to_string(), text);
        assert_eq!(time.nanos(), nanos);
    }
    assert_eq!(Time::parse("12:34:56.780"), Time::from_hms_nano(12, 34, 56, 780_000_000));
    assert_eq!(Time::from_hms(24, 0, 0), Some(Time::END_OF_DAY));
    assert_eq!(Time::from_nanos(86_400_000_000_001), None);
    for (h, m, s, n) in [(24, 0, 0, 1), (24, 0, 1, 0), (25, 0, 0, 0), (255, 0, 0, 0)] {
        assert_eq!(Time::from_hms_nano(h, m, s, n), None);
    }
    for (m, s, n) in [(60, 0, 0), (0, 60, 0), (0, 0, 1_000_000_000), (59, 255, u32::MAX)] {
        assert_eq!(Time::from_hms_nano(23, m, s, n), None);
    }
    for refused in [
        "",
        "12:34",
        "1:02:03",
        "12:34:56.",
        "12:34:56.1234567890",
        "12:34:56,5",
        "23:59:60",
        "24:00:00.1",
        "24:00:01",
        "-838:59:59",
        "12:34:56Z",
        "12:34:56 ",
        "123456",
        "12:60:00",
        ".5",
    ] {
        assert_eq!(Time::parse(refused), None, "{refused:?}");
    }
}

#[test]
fn timestamps_and_instants_are_written_alike_but_for_the_zone() {
    for (text, seconds, nanos) in [
        ("1970-01-01T00:00:00", 0, 0),
        ("2024-03-01T12:34:56.789", 1_709_296_496, 789_000_000),
        ("1969-12-31T23:59:59.999999999", -1, 999_999_999),
        ("0001-01-01T00:00:00", -62_135_596_800, 0),
        ("+000000-12-31T23:59:59", -62_135_596_801, 0),
        ("9999-12-31T23:59:59", 253_402_300_799, 0),
        ("+010000-01-01T00:00:00", 253_402_300_800, 0),
        ("-004712-01-01T00:00:00", -210_863_520_000, 0),
        ("+294276-12-31T23:59:59.999999", 9_224_318_015_999, 999_999_000),
    ] {
        let timestamp = Timestamp::new(seconds, nanos).expect("a timestamp");
        assert_eq!(timestamp.to_string(), text);
        assert_eq!(Timestamp::parse(text), Some(timestamp), "{text}");
        assert_eq!(Timestamp::parse(&text.replace('T', " ")), Some(timestamp));
        assert_eq!(Timestamp::parse(&text.replace('T', "t")), Some(timestamp));
        assert_eq!((timestamp.seconds(), timestamp.nanos()), (seconds, nanos));
        let utc = format!("{text}Z");
        let instant = Instant::new(seconds, nanos).expect("an instant");
        assert_eq!(instant.to_string(), utc);
        assert_eq!(Instant::parse(&utc), Some(instant), "{utc}");
        assert_eq!((Timestamp::parse(&utc), Instant::parse(text)), (None, None));
    }
}

#[test]
fn offsets_are_taken_off() {
    let instant = Instant::parse("2024-03-01T00:30:00Z");
    assert!(instant.is_some());
    for same in [
        "2024-03-01 00:30:00z",
        "2024-03-01T00:30:00+00:00",
        "2024-03-01T00:30:00.000-00",
        "2024-03-01T02:30:00+02:00",
        "2024-03-01 02:30:00+02",
        "2024-02-29T21:00:00-0330",
        "2024-03-01T24:29:00+23:59",
        "2024-02-29T24:00:00-00:30",
    ] {
        // 24:00:00 is midnight; 24:29 is not a time.
        let expected = if same.contains("24:29") { None } else { instant };
        assert_eq!(Instant::parse(same), expected, "{same}");
    }
    for refused in [
        "2024-03-01T00:30:00",
        "2024-03-01",
        "2024-03-01T00:30:00+2",
        "2024-03-01T00:30:00+02:",
        "2024-03-01T00:30:00+02:0",
        "2024-03-01T00:30:00+24:00",
        "2024-03-01T00:30:00+02:60",
        "2024-03-01T00:30:00+02:00:00",
        "2024-03-01T00:30:00ZZ",
        "2024-03-01T00:30:00 Z",
        "2024-03-01  00:30:00Z",
        "2024-03-0100:30:00Z",
        "2024-03-01T00:30Z",
        "infinityZ",
        "2024-03-01T23:59:60Z",
    ] {
        assert_eq!(Instant::parse(refused), None, "{refused}");
    }
}

#[test]
fn moments_end_where_dates_end() {
    let (first, last) = (Date::from_days(i32::MIN + 1), Date::from_days(i32::MAX - 1));
    let end = Time::from_nanos(86_399_999_999_999).expect("a time");
    let first = Timestamp::from_date_time(first, Time::MIDNIGHT).expect("in range");
    let last = Timestamp::from_date_time(last, end).expect("in range");
    assert!(Timestamp::NEG_INFINITY < first && last < Timestamp::INFINITY);
    assert_eq!(Timestamp::new(first.seconds() - 1, 0), None);
    assert_eq!(Timestamp::new(last.seconds() + 1, 0), None);
    assert_eq!(Timestamp::new(0, 1_000_000_000), None);
    assert_eq!(Timestamp::from_date_time(last.date(), Time::END_OF_DAY), None);
    for seconds in [i64::MIN, i64::MIN + 1, i64::MAX - 1, i64::MAX] {
        assert_eq!(Instant::new(seconds, 0), None);
    }
    assert_eq!(Instant::parse(&format!("{last}-00:01")), None);
    assert_eq!(Instant::parse(&format!("{first}+00:01")), None);
    for moment in [first, last] {
        assert_eq!(Timestamp::parse(&moment.to_string()), Some(moment));
    }
    let infinite = Timestamp::INFINITY;
    assert_eq!((infinite.date(), infinite.time()), (Date::INFINITY, None));
    assert_eq!(Instant::NEG_INFINITY.date(), Date::NEG_INFINITY);
    assert_eq!(Instant::from_date_time(Date::INFINITY, end), Some(Instant::INFINITY));
    assert_eq!(Instant::parse("Infinity"), Some(Instant::INFINITY));
    assert_eq!(Timestamp::parse("-INFINITY"), Some(Timestamp::NEG_INFINITY));
    assert_eq!((infinite.is_finite(), last.is_finite()), (false, true));
    assert_eq!(Instant::NEG_INFINITY.to_string(), "-infinity");
}

#[test]
fn moments_survive_their_text_and_their_parts() {
    let mut rng = Rng(6);
    for _ in 0..3000 {
        let seconds = (rng.next() as i64) >> (16 + rng.below(30));
        let digits = 10_u32.pow(rng.below(10) as u32);
        let nanos = (rng.below(u64::from(digits)) as u32) * (1_000_000_000 / digits);
        let Some(instant) = Instant::new(seconds, nanos) else {
            continue;
        };
        assert_eq!(Instant::parse(&instant.to_string()), Some(instant), "{instant}");
        let time = instant.time().expect("finite");
        assert_eq!(Instant::from_date_time(instant.date(), time), Some(instant));
        let parts = format!("{}T{time}Z", instant.date());
        assert_eq!(instant.to_string(), parts);
        assert_eq!(Time::parse(&time.to_string()), Some(time));
    }
}

#[test]
fn no_text_makes_a_parser_panic() {
    let mut rng = Rng(7);
    let pieces = [
        "2024-03-01",
        "T",
        "12:34:56",
        ".5",
        "Z",
        "+02:00",
        "-",
        "+",
        "infinity",
        "0",
        "99",
        ":",
        " ",
        "é",
        "\u{1f600}",
        "{",
        "e",
        "-0000001",
        "24:00:00",
        "",
    ];
    for _ in 0..20_000 {
        let text: String =
            (0..rng.below(7)).map(|_| pieces[rng.below(pieces.len() as u64) as usize]).collect();
        if let Some(instant) = Instant::parse(&text) {
            assert_eq!(Instant::parse(&instant.to_string()), Some(instant), "{text}");
            assert_eq!(Timestamp::parse(&text).is_some(), !instant.is_finite());
        }
        let _ = (Date::parse(&text), Time::parse(&text), Timestamp::parse(&text));
        let _ = super::Decimal::parse(&text).map(|decimal| super::decimal(decimal.as_str()));
        let _ = super::Uuid::parse(&text);
    }
}

//! Dates of HTTP headers [RFC 9110 section 5.6.7].

use time::{Date, Month, OffsetDateTime, Time};

use crate::clock::Timestamp;

/// Reads a date in any of its three formats.
///
/// > Recipients of timestamp values [...] MUST accept all three HTTP-date formats.
pub(super) fn parse(text: &str) -> Option<Timestamp> {
    let parts: Vec<_> = text.split([' ', ',', '-']).filter(|part| !part.is_empty()).collect();
    let (day, month, year, time) = match *parts.as_slice() {
        // Sun, 06 Nov 1994 08:49:37 GMT, and Sunday, 06-Nov-94 08:49:37 GMT
        [_, day, month, year, time, "GMT"] => (day, month, year, time),
        // Sun Nov  6 08:49:37 1994
        [_, month, day, time, year] => (day, month, year, time),
        _ => return None,
    };
    let date = Date::from_calendar_date(full_year(year)?, named_month(month)?, number(day)?).ok()?;
    let [hour, minute, second] = *time.split(':').collect::<Vec<_>>().as_slice() else { return None };
    // A leap second counts as the second before it.
    let second = number::<u8>(second)?.min(59);
    let time = Time::from_hms(number(hour)?, number(minute)?, second).ok()?;
    Timestamp::try_from(OffsetDateTime::new_utc(date, time)).ok()
}

/// A year of two digits is between 1970 and 2069.
fn full_year(text: &str) -> Option<i32> {
    let year: i32 = number(text)?;
    match (text.len(), year) {
        (2, 70..) => Some(year + 1900),
        (2, _) => Some(year + 2000),
        (4, _) => Some(year),
        _ => None,
    }
}

fn named_month(text: &str) -> Option<Month> {
    const NAMES: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let place = NAMES.iter().position(|name| *name == text)?;
    Month::try_from(u8::try_from(place + 1).ok()?).ok()
}

fn number<N: std::str::FromStr>(text: &str) -> Option<N> {
    text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_formats_are_read() {
        for text in ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"] {
            assert_eq!(parse(text), Some(Timestamp::from_seconds(784_111_777)), "{text}");
        }
        assert_eq!(parse("Sunday, 06-Nov-69 08:49:37 GMT"), parse("Sun, 06 Nov 2069 08:49:37 GMT"));
        assert_eq!(parse("Sat, 31 Dec 2016 23:59:60 GMT"), parse("Sat, 31 Dec 2016 23:59:59 GMT"));
        for bad in [
            "",
            "0",
            "-1",
            "now",
            "Sun, 06 Nov 1994 08:49:37",
            "Sun, 06 Nov 1994 08:49:37 CET",
            "Sun, 32 Nov 1994 08:49:37 GMT",
            "Sun, 06 nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 24:49:37 GMT",
            "Sun, 06 Nov 1994 8:49 GMT",
            "Sun, 06 Nov 194 08:49:37 GMT",
            "Sun, 06 Nov 1969 08:49:37 GMT",
            "Sun, +6 Nov 1994 08:49:37 GMT",
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}

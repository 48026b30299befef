//! Numbers on the command line.

use std::{fmt::Display, ops::RangeInclusive, str::FromStr};

/// Reads whole numbers of a range; the error for any other text names the range.
pub fn whole<T>(
    range: RangeInclusive<T>,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static
where
    T: FromStr + PartialOrd + Display + Clone + Send + Sync + 'static,
{
    move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| not_in(text, range.start(), range.end()))
    }
}

/// Reads a count from 1 on. It accepts 0, for which a later check has a better error.
pub fn count<T: FromStr>(text: &str) -> Result<T, String> {
    let most = u64::MAX;
    text.parse().map_err(|_| not_in(text, &1, &most))
}

fn not_in<T: Display>(text: &str, least: &T, most: &T) -> String {
    // A number that is too large for the type is a whole number, too.
    if text.parse::<i128>().is_ok() {
        format!("{text} is not in {least}..={most}")
    } else {
        format!("not a whole number in {least}..={most}")
    }
}

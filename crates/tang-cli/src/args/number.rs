//! Numbers on the command line.

use std::{fmt::Display, ops::RangeInclusive, str::FromStr};

/// Reads whole numbers of a range; the error of any other text names it.
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

/// Reads a count, from 1 on. 0 passes: a later error says more about it.
pub fn count<T: FromStr>(text: &str) -> Result<T, String> {
    let most = u64::MAX;
    text.parse().map_err(|_| not_in(text, &1, &most))
}

fn not_in<T: Display>(text: &str, least: &T, most: &T) -> String {
    // A number that is too large for the type is one as well.
    if text.parse::<i128>().is_ok() {
        format!("{text} is not in {least}..={most}")
    } else {
        format!("not a whole number in {least}..={most}")
    }
}

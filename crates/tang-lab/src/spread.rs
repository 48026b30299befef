//! The spread of repeated timings.

use std::fmt;

use serde::Serialize;

use crate::average::median;

/// Least, median and largest of some durations, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spread {
    /// The shortest.
    pub min_ms: f64,
    /// The one in the middle.
    pub median_ms: f64,
    /// The longest.
    pub max_ms: f64,
}

impl Spread {
    /// The spread of at least one duration, each in milliseconds.
    ///
    /// # Panics
    ///
    /// If there is none.
    pub fn of(mut durations_ms: Vec<f64>) -> Self {
        durations_ms.sort_by(f64::total_cmp);
        Self {
            min_ms: durations_ms[0],
            median_ms: median(&durations_ms).expect("there is a shortest"),
            max_ms: durations_ms[durations_ms.len() - 1],
        }
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals = match self.median_ms {
            ..1.0 => 3,
            ..10.0 => 2,
            ..1000.0 => 1,
            _ => 0,
        };
        write!(
            f,
            "{:.decimals$} ({:.decimals$}-{:.decimals$})",
            self.median_ms, self.min_ms, self.max_ms
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_of_odd_and_even_numbers() {
        let spread = Spread::of(vec![3.0, 1.0, 10.0]);
        assert_eq!(
            (spread.min_ms, spread.median_ms, spread.max_ms),
            (1.0, 3.0, 10.0)
        );
        assert_eq!(Spread::of(vec![4.0, 1.0, 2.0, 9.0]).median_ms, 3.0);
    }

    #[test]
    fn small_times_have_more_decimals() {
        let shown = |ms: f64| Spread::of(vec![ms, ms, 2.0 * ms]).to_string();
        assert_eq!(shown(0.25), "0.250 (0.250-0.500)");
        assert_eq!(shown(3.0), "3.00 (3.00-6.00)");
        assert_eq!(shown(25.0), "25.0 (25.0-50.0)");
        assert_eq!(shown(2500.0), "2500 (2500-5000)");
    }
}

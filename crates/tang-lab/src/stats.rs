//! Repeated measurements: their median and spread, and how they grow with length.

use std::{fmt, time::Instant};

use serde::Serialize;

use crate::LabError;

/// The mean; `None` for an empty slice.
pub(crate) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The middle value, or the mean of the two in the middle; `None` for an empty slice.
pub(crate) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (low, high) = (sorted.len().checked_sub(1)? / 2, sorted.len() / 2);
    Some(f64::midpoint(sorted[low], sorted[high]))
}

/// Milliseconds that some work takes.
pub(crate) fn milliseconds<T, E>(work: impl FnOnce() -> Result<T, E>) -> Result<f64, E> {
    let started = Instant::now();
    work()?;
    Ok(started.elapsed().as_secs_f64() * 1e3)
}

/// The results of runs 1 to `runs`, after run 0 to warm up.
pub(crate) fn after_warm_up<T>(
    runs: usize,
    mut run: impl FnMut(usize) -> Result<T, LabError>,
) -> Result<Vec<T>, LabError> {
    run(0)?;
    (1..=runs).map(run).collect()
}

/// Least, median and largest of some durations.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Spread {
    pub min_ms: f64,
    pub median_ms: f64,
    pub max_ms: f64,
}

impl Spread {
    /// The spread of one figure, in milliseconds, over at least one run.
    pub fn over<R>(runs: &[R], milliseconds: impl Fn(&R) -> f64) -> Self {
        let mut sorted: Vec<f64> = runs.iter().map(milliseconds).collect();
        sorted.sort_by(f64::total_cmp);
        Self {
            min_ms: sorted[0],
            median_ms: median(&sorted).expect("there is a first"),
            max_ms: sorted[sorted.len() - 1],
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
        let [min, median, max] = [self.min_ms, self.median_ms, self.max_ms];
        write!(f, "{median:.decimals$} ({min:.decimals$}-{max:.decimals$})")
    }
}

/// The power law `factor * n^exponent` that is closest to some points: with the exponent 1, twice the
/// length takes twice as much, with 2 four times.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct PowerLaw {
    pub factor: f64,
    pub exponent: f64,
}

impl PowerLaw {
    /// Fits points (n, value) by least squares on log value against log n, where a power law is a
    /// straight line. `None` for fewer than two different n, or a number that is not above 0.
    pub fn fit(points: &[(f64, f64)]) -> Option<Self> {
        if points.iter().any(|(n, value)| !(*n > 0.0 && *value > 0.0)) {
            return None;
        }
        let logs: Vec<(f64, f64)> = points.iter().map(|(n, v)| (n.ln(), v.ln())).collect();
        let count = logs.len() as f64;
        let mean_x = logs.iter().map(|(x, _)| x).sum::<f64>() / count;
        let mean_y = logs.iter().map(|(_, y)| y).sum::<f64>() / count;
        let variance: f64 = logs.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
        let common: f64 = logs.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
        let exponent = common / variance;
        let factor = (mean_y - exponent * mean_x).exp();
        exponent.is_finite().then_some(Self { factor, exponent })
    }
}

/// The growth of one figure over all lengths, and between the two longest alone, where constant costs
/// weigh least.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Growth {
    pub all: PowerLaw,
    pub longest: PowerLaw,
}

impl Growth {
    /// The growth over points in order of length; `None` where there is no [`PowerLaw`].
    pub fn of(points: &[(f64, f64)]) -> Option<Self> {
        let last_two = &points[points.len().saturating_sub(2)..];
        Some(Self { all: PowerLaw::fit(points)?, longest: PowerLaw::fit(last_two)? })
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn means_and_medians() {
        assert_eq!((mean(&[]), median(&[])), (None, None));
        assert_eq!(mean(&[3.0, 1.0, 11.0]), Some(5.0));
        assert_eq!(median(&[3.0, 1.0, 11.0]), Some(3.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 9.0]), Some(3.0));
    }

    fn spread(values: &[f64]) -> Spread {
        Spread::over(values, |value| *value)
    }

    #[test]
    fn median_of_odd_and_even_numbers() {
        let odd = spread(&[3.0, 1.0, 10.0]);
        assert_eq!((odd.min_ms, odd.median_ms, odd.max_ms), (1.0, 3.0, 10.0));
        assert_eq!(spread(&[4.0, 1.0, 2.0, 9.0]).median_ms, 3.0);
    }

    #[test]
    fn small_times_have_more_decimals() {
        let shown = |ms: f64| spread(&[ms, ms, 2.0 * ms]).to_string();
        assert_eq!(shown(0.25), "0.250 (0.250-0.500)");
        assert_eq!(shown(3.0), "3.00 (3.00-6.00)");
        assert_eq!(shown(25.0), "25.0 (25.0-50.0)");
        assert_eq!(shown(2500.0), "2500 (2500-5000)");
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    #[test]
    fn a_power_law_is_found_again() {
        for (factor, exponent) in [(3.0, 2.0), (0.25, 1.0), (7.0, 0.0), (1.0, -1.5)] {
            let points = [32.0, 64.0, 120.0, 500.0].map(|n: f64| (n, factor * n.powf(exponent)));
            let fit = PowerLaw::fit(&points).unwrap();
            assert!(close(fit.factor, factor) && close(fit.exponent, exponent), "{fit:?}");
        }
    }

    #[test]
    fn the_longest_lengths_show_where_it_tends_to() {
        let points = [32.0, 64.0, 120.0, 500.0, 1000.0].map(|n: f64| (n, n * (n + 1.0) / 2.0));
        let growth = Growth::of(&points).unwrap();
        assert!(growth.all.exponent > 1.98 && growth.all.exponent < growth.longest.exponent);
        assert!(growth.longest.exponent < 2.0);
    }

    #[test]
    fn noise_is_averaged_on_the_logarithms() {
        // Off by the same factor up and down at the same place: the line stays.
        let points = [(1.0, 2.0), (1.0, 0.5), (4.0, 8.0), (4.0, 2.0)];
        let fit = PowerLaw::fit(&points).unwrap();
        assert!(close(fit.factor, 1.0) && close(fit.exponent, 1.0), "{fit:?}");
    }

    #[test]
    fn no_line_through_one_place_or_through_zero() {
        for points in [
            &[][..],
            &[(2.0, 3.0)],
            &[(2.0, 3.0), (2.0, 4.0)],
            &[(1.0, 0.0), (2.0, 1.0)],
            &[(0.0, 1.0), (2.0, 1.0)],
            &[(1.0, f64::NAN), (2.0, 1.0)],
        ] {
            assert_eq!(PowerLaw::fit(points), None, "{points:?}");
            assert_eq!(Growth::of(points), None, "{points:?}");
        }
    }
}

//! How a figure grows with length.

use serde::Serialize;

/// The power law c n^k that is closest to some points.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PowerLaw {
    /// The factor c.
    pub factor: f64,
    /// The exponent k: 1 doubles with the length, 2 is four times as much.
    pub exponent: f64,
}

impl PowerLaw {
    /// Fits points (n, value) by least squares on log value against log n, where a power law is a
    /// straight line and k its slope. `None` for fewer than two different n, or a number that is
    /// not above 0.
    pub fn fit(points: &[(f64, f64)]) -> Option<Self> {
        if points.iter().any(|(n, value)| !(*n > 0.0 && *value > 0.0)) {
            return None;
        }
        let logs: Vec<(f64, f64)> = points.iter().map(|(n, v)| (n.ln(), v.ln())).collect();
        let count = logs.len() as f64;
        let mean_x = logs.iter().map(|(x, _)| x).sum::<f64>() / count;
        let mean_y = logs.iter().map(|(_, y)| y).sum::<f64>() / count;
        let spread: f64 = logs.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
        let common: f64 = logs.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
        let exponent = common / spread;
        let fit = Self {
            factor: (mean_y - exponent * mean_x).exp(),
            exponent,
        };
        exponent.is_finite().then_some(fit)
    }
}

/// The growth of one figure: over all lengths, and between the two longest alone, where what does
/// not grow weighs least.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Growth {
    /// Over all lengths.
    pub all: PowerLaw,
    /// Between the two longest.
    pub longest: PowerLaw,
}

impl Growth {
    /// The growth over points in order of length; `None` where there is no [`PowerLaw`].
    pub fn of(points: &[(f64, f64)]) -> Option<Self> {
        let last_two = &points[points.len().saturating_sub(2)..];
        Some(Self {
            all: PowerLaw::fit(points)?,
            longest: PowerLaw::fit(last_two)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    #[test]
    fn a_power_law_is_found_again() {
        for (factor, exponent) in [(3.0, 2.0), (0.25, 1.0), (7.0, 0.0), (1.0, -1.5)] {
            let points = [32.0, 64.0, 120.0, 500.0].map(|n: f64| (n, factor * n.powf(exponent)));
            let fit = PowerLaw::fit(&points).unwrap();
            assert!(
                close(fit.factor, factor) && close(fit.exponent, exponent),
                "{fit:?}"
            );
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
        assert!(
            close(fit.factor, 1.0) && close(fit.exponent, 1.0),
            "{fit:?}"
        );
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

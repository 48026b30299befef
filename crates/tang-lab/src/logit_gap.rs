//! How far apart logits are that should be the same.

use crate::LabError;

/// The largest difference that rounding may make, over the largest logit, or over 1 if that is more.
const TOLERANCE: f32 = 1e-4;

/// What is allowed, for reports.
pub(crate) const ALLOWED: &str = "allowed: 1e-4 of the largest logit, or 1e-4 if that is below 1";

/// What rounding may make of logits: a part in 10,000 of the largest, for larger numbers are rounded in larger
/// steps.
pub(crate) fn tolerance(logits: &[f32]) -> f32 {
    let largest = logits
        .iter()
        .fold(1.0, |largest: f32, logit| largest.max(logit.abs()));
    TOLERANCE * largest
}

/// The largest difference of many, and the one that is the most beside what rounding may make.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogitGap {
    /// NaN if any number is.
    pub largest: f32,
    /// A difference and its tolerance.
    worst: [f32; 2],
}

impl LogitGap {
    /// Nothing compared yet.
    pub(crate) const NONE: Self = Self {
        largest: 0.0,
        worst: [0.0, TOLERANCE],
    };

    /// Between two rows of logits, one a token.
    pub(crate) fn between(a: &[f32], b: &[f32]) -> Self {
        let differences = a.iter().zip(b).map(|(a, b)| (a - b).abs());
        let largest = differences.fold(0.0, larger);
        Self {
            largest,
            worst: [largest, tolerance(a).min(tolerance(b))],
        }
    }

    /// Takes another one into account.
    pub(crate) fn widen(&mut self, other: Self) {
        self.largest = larger(self.largest, other.largest);
        let beside = |[difference, tolerance]: [f32; 2]| difference / tolerance;
        let (own, others) = (beside(self.worst), beside(other.worst));
        if others.is_nan() || others > own {
            self.worst = other.worst;
        }
    }

    /// The largest difference.
    ///
    /// # Errors
    ///
    /// [`LabError::Logits`] if any is more than rounding can make, or no number.
    pub(crate) fn checked(self, what: &str) -> Result<f32, LabError> {
        let [difference, tolerance] = self.worst;
        if difference.is_nan() || difference > tolerance {
            return Err(LabError::Logits {
                what: what.to_owned(),
                difference,
                tolerance,
            });
        }
        Ok(self.largest)
    }
}

/// The larger one; NaN if either is.
fn larger(a: f32, b: f32) -> f32 {
    if a.is_nan() || a > b { a } else { b }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nan_is_a_difference() {
        let largest = |a: [f32; 2], b: [f32; 2]| LogitGap::between(&a, &b).largest;
        assert_eq!(largest([1.0, 2.0], [1.5, 2.25]), 0.5);
        for at in [0, 1] {
            let mut nan = [1.0, 1.0];
            nan[at] = f32::NAN;
            let gap = LogitGap::between(&nan, &[1.0, 2.0]);
            assert!(gap.largest.is_nan() && gap.checked("nan").is_err());
            let mut all = LogitGap::between(&[1.0], &[2.0]);
            all.widen(gap);
            all.widen(LogitGap::between(&[1.0], &[9.0]));
            assert!(all.largest.is_nan() && all.checked("nan").is_err());
        }
    }

    #[test]
    fn large_logits_may_differ_by_more() {
        for (logits, off, good) in [
            ([0.5, -0.2], 9e-5, true),
            ([0.5, -0.2], 1.1e-4, false),
            ([10.0, -2.0], 0.9e-3, true),
            ([10.0, -2.0], 1.1e-3, false),
            ([3.0, -150.0], 0.014, true),
            ([150.0, -150.0], -0.014, true),
            ([150.0, -150.0], 0.016, false),
        ] {
            let others = [logits[0] + off, logits[1]];
            for [a, b] in [[logits, others], [others, logits]] {
                let gap = LogitGap::between(&a, &b);
                assert_eq!(gap.checked("").is_ok(), good, "{logits:?} {off}");
            }
        }
    }

    #[test]
    fn a_small_fault_is_not_hidden_by_a_large_rounding() {
        let mut gap = LogitGap::NONE;
        gap.widen(LogitGap::between(&[150.0], &[150.01]));
        assert!(gap.checked("").is_ok());
        gap.widen(LogitGap::between(&[1.0], &[1.005]));
        let error = gap.checked("a fault").unwrap_err().to_string();
        assert!(error.contains("5.00e-3, more than 1e-4"), "{error}");
        assert!((gap.largest - 0.01).abs() < 1e-3);
    }
}

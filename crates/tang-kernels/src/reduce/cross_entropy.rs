//! Cross-entropy over rows of logits, and its gradient, in two passes over each row.

use pulp::{Arch, Simd, WithSimd};

use super::lanes;
use crate::pointwise::exp::exp;

/// Appends the nats of each row's target to `nats`; each row then becomes `scale` times the gradient of
/// its nats with respect to its logits: softmax(row) - onehot(target).
///
/// # Shapes
///
/// - logits: rows of `width` each, as many as `targets`
///
/// # Panics
///
/// If the shapes do not fit or a target is not below `width`.
pub fn cross_entropy_gradient(
    logits: &mut [f32],
    width: usize,
    targets: &[u32],
    scale: f32,
    nats: &mut Vec<f64>,
) {
    assert_eq!(logits.len(), width * targets.len(), "one row a target");
    for (row, target) in logits.chunks_exact_mut(width).zip(targets) {
        let target = *target as usize;
        let logit = row[target];
        let (max, sum) = Arch::new().dispatch(ScaledSoftmax { row, scale });
        row[target] -= scale;
        nats.push(f64::from(sum).ln() - f64::from(logit - max));
    }
}

/// Turns logits into probabilities times a factor; gives the largest logit of the row, and the sum of
/// e^(logit - largest).
struct ScaledSoftmax<'a> {
    row: &'a mut [f32],
    scale: f32,
}

impl WithSimd for ScaledSoftmax<'_> {
    type Output = (f32, f32);

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Self::Output {
        let max = lanes::max(self.row);
        for x in self.row.iter_mut() {
            *x = exp(*x - max);
        }
        let sum = lanes::sum(self.row);
        let factor = self.scale / sum;
        for x in self.row.iter_mut() {
            *x *= factor;
        }
        (max, sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIDTH: usize = 101;

    fn logits() -> Vec<f32> {
        (0..3 * WIDTH)
            .map(|i| 20.0 * (i as f32 * 0.618).sin())
            .collect()
    }

    #[test]
    fn matches_its_definition() {
        let (targets, scale) = ([0, 100, 37], 0.25);
        let mut nats = Vec::new();
        let mut gradient = logits();
        cross_entropy_gradient(&mut gradient, WIDTH, &targets, scale, &mut nats);
        for (row, target) in targets.into_iter().enumerate() {
            let row_of = |values: &[f32]| values[row * WIDTH..][..WIDTH].to_vec();
            let logits = row_of(&logits());
            let sum: f64 = logits.iter().map(|x| f64::from(*x).exp()).sum();
            let wanted = sum.ln() - f64::from(logits[target as usize]);
            assert!((nats[row] - wanted).abs() < 1e-5, "{} {wanted}", nats[row]);
            for (i, (got, x)) in row_of(&gradient).iter().zip(&logits).enumerate() {
                let hit = if i == target as usize { 1.0 } else { 0.0 };
                let wanted = 0.25 * (f64::from(*x).exp() / sum - hit);
                assert!((f64::from(*got) - wanted).abs() < 1e-7, "{got} {wanted}");
            }
        }
    }

    #[test]
    fn what_is_no_number_is_not_hidden() {
        let mut logits = vec![0.0; WIDTH];
        logits[5] = f32::NAN;
        let mut nats = Vec::new();
        cross_entropy_gradient(&mut logits, WIDTH, &[1], 1.0, &mut nats);
        assert!(nats.iter().all(|nats| nats.is_nan()), "{nats:?}");
    }
}

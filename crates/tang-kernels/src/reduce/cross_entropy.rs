//! Cross-entropy over rows of logits, and its gradient.

use super::softmax;
use crate::simd::vectorized;

/// Appends the nats of each row's target to `nats`; each row then becomes its weight times the gradient of
/// its nats with respect to its logits: softmax(row) - onehot(target).
///
/// # Shapes
///
/// - logits: `[targets, width]`
/// - weights: `[targets]`
///
/// # Panics
///
/// If the shapes do not fit or a target is not below `width`.
pub fn cross_entropy_gradient(
    logits: &mut [f32],
    width: usize,
    targets: &[u32],
    weights: &[f32],
    nats: &mut Vec<f64>,
) {
    assert_eq!(logits.len(), width * targets.len(), "one row per target");
    assert_eq!(weights.len(), targets.len(), "one weight per target");
    let rows = logits.chunks_exact_mut(width);
    for ((row, target), weight) in rows.zip(targets).zip(weights) {
        let target = *target as usize;
        let logit = row[target];
        let (max, sum) = vectorized!({ softmax(row, *weight) });
        row[target] -= weight;
        // nats = ln(sum over j of e^(logit[j] - max)) - (logit[target] - max)
        nats.push(f64::from(sum).ln() - f64::from(logit - max));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIDTH: usize = 101;

    fn logits() -> Vec<f32> {
        (0..3 * WIDTH).map(|i| 20.0 * (i as f32 * 0.618).sin()).collect()
    }

    #[test]
    fn matches_its_definition() {
        let (targets, weights) = ([0, 100, 37], [0.25, 1.0, 0.5]);
        let mut nats = Vec::new();
        let mut gradient = logits();
        cross_entropy_gradient(&mut gradient, WIDTH, &targets, &weights, &mut nats);
        for (row, target) in targets.into_iter().enumerate() {
            let row_of = |values: &[f32]| values[row * WIDTH..][..WIDTH].to_vec();
            let logits = row_of(&logits());
            let sum: f64 = logits.iter().map(|x| f64::from(*x).exp()).sum();
            let wanted = sum.ln() - f64::from(logits[target as usize]);
            assert!((nats[row] - wanted).abs() < 1e-5, "{} {wanted}", nats[row]);
            for (i, (got, x)) in row_of(&gradient).iter().zip(&logits).enumerate() {
                let hit = if i == target as usize { 1.0 } else { 0.0 };
                let wanted = f64::from(weights[row]) * (f64::from(*x).exp() / sum - hit);
                assert!((f64::from(*got) - wanted).abs() < 1e-7, "{got} {wanted}");
            }
        }
    }

    #[test]
    fn nan_logits_give_nan_nats() {
        let mut logits = vec![0.0; WIDTH];
        logits[5] = f32::NAN;
        let mut nats = Vec::new();
        cross_entropy_gradient(&mut logits, WIDTH, &[1], &[1.0], &mut nats);
        assert!(nats.iter().all(|nats| nats.is_nan()), "{nats:?}");
    }
}

//! One step of AdamW, all of it in one pass.

use crate::simd::vectorized;

/// Settings of a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AdamW {
    /// Learning rate.
    pub rate: f32,
    /// Weight decay.
    pub decay: f32,
    /// Share of the old first and second moment that stays.
    pub betas: [f32; 2],
    /// Added to the root of the second moment.
    pub epsilon: f32,
    /// Count of steps, this one included.
    pub time: i32,
}

impl AdamW {
    /// Moves parameters and moments (Loshchilov & Hutter, *Decoupled Weight Decay Regularization*,
    /// 2019). With p a parameter, g its gradient, m and v its moments and t the time:
    ///
    /// ```text
    /// m = beta1 m + (1 - beta1) g
    /// v = beta2 v + (1 - beta2) g^2
    /// p = (1 - rate decay) p - rate m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + epsilon)
    /// ```
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    pub fn step(
        self,
        parameters: &mut [f32],
        gradient: &[f32],
        moments_1: &mut [f32],
        moments_2: &mut [f32],
    ) {
        for len in [gradient.len(), moments_1.len(), moments_2.len()] {
            assert_eq!(parameters.len(), len);
        }
        let Self { rate, epsilon, .. } = self;
        let [beta_1, beta_2] = self.betas;
        let correction_1 = 1.0 / (1.0 - beta_1.powi(self.time));
        let correction_2 = 1.0 / (1.0 - beta_2.powi(self.time));
        let kept = 1.0 - rate * self.decay;
        vectorized!({
            let moments = moments_1.iter_mut().zip(moments_2);
            for ((p, g), (m, v)) in parameters.iter_mut().zip(gradient).zip(moments) {
                *m = beta_1 * *m + (1.0 - beta_1) * g;
                *v = beta_2 * *v + (1.0 - beta_2) * g * g;
                let root = (*v * correction_2).sqrt();
                *p = kept * *p - rate * *m * correction_1 / (root + epsilon);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_step_goes_by_the_rate_against_the_sign() {
        let numbers = AdamW { rate: 0.1, decay: 0.5, betas: [0.9, 0.95], epsilon: 1e-8, time: 1 };
        let (mut parameters, mut first, mut second) = ([1.0, -2.0, 4.0], [0.0; 3], [0.0; 3]);
        numbers.step(&mut parameters, &[0.5, -3.0, 0.0], &mut first, &mut second);
        // Decay by 0.1 x 0.5, then 0.1 each; no gradient, no step.
        for (got, wanted) in parameters.into_iter().zip([0.85, -1.8, 3.8]) {
            assert!((got - wanted).abs() < 1e-6_f32, "{got} {wanted}");
        }
        assert!((first[0] - 0.05).abs() < 1e-7 && (second[1] - 0.45).abs() < 1e-6);
    }
}

//! One step of AdamW, all of it in one pass.

use pulp::{Arch, Simd, WithSimd};

/// The numbers of a step.
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
    /// Steps, this one included.
    pub time: i32,
}

impl AdamW {
    /// Moves parameters and moments (Loshchilov & Hutter, *Decoupled Weight Decay Regularization*,
    /// 2019).
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
        Arch::new().dispatch(Step {
            numbers: self,
            parameters,
            gradient,
            moments_1,
            moments_2,
        });
    }
}

struct Step<'a> {
    numbers: AdamW,
    parameters: &'a mut [f32],
    gradient: &'a [f32],
    moments_1: &'a mut [f32],
    moments_2: &'a mut [f32],
}

impl WithSimd for Step<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let AdamW {
            rate,
            decay,
            betas: [beta_1, beta_2],
            epsilon,
            time,
        } = self.numbers;
        // The moments start at 0, and are corrected for it.
        let correction_1 = 1.0 / (1.0 - beta_1.powi(time));
        let correction_2 = 1.0 / (1.0 - beta_2.powi(time));
        let kept = 1.0 - rate * decay;
        let moments = self.moments_1.iter_mut().zip(self.moments_2);
        let pairs = self.parameters.iter_mut().zip(self.gradient);
        for ((parameter, g), (moment_1, moment_2)) in pairs.zip(moments) {
            *moment_1 = beta_1 * *moment_1 + (1.0 - beta_1) * g;
            *moment_2 = beta_2 * *moment_2 + (1.0 - beta_2) * g * g;
            let root = (*moment_2 * correction_2).sqrt();
            *parameter = kept * *parameter - rate * *moment_1 * correction_1 / (root + epsilon);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_step_goes_by_the_rate_against_the_sign() {
        let numbers = AdamW {
            rate: 0.1,
            decay: 0.5,
            betas: [0.9, 0.95],
            epsilon: 1e-8,
            time: 1,
        };
        let (mut parameters, mut first, mut second) = ([1.0, -2.0, 4.0], [0.0; 3], [0.0; 3]);
        numbers.step(&mut parameters, &[0.5, -3.0, 0.0], &mut first, &mut second);
        // Decay by 0.1 x 0.5, then 0.1 each; no gradient, no step.
        for (got, wanted) in parameters.into_iter().zip([0.85, -1.8, 3.8]) {
            assert!((got - wanted).abs() < 1e-6_f32, "{got} {wanted}");
        }
        assert!((first[0] - 0.05).abs() < 1e-7 && (second[1] - 0.45).abs() < 1e-6);
    }
}

//! Dropout, in training alone.

use std::cell::RefCell;

use burn::tensor::{Tensor, TensorData};
use rand::{Rng, SeedableRng, rngs::ChaCha8Rng};

/// Sets a share of the numbers to 0 and scales the others up, so that their mean stays (Srivastava
/// et al., *Dropout: A Simple Way to Prevent Neural Networks from Overfitting*, 2014).
///
/// The draws come from the host, one byte per number, so that a seed gives the same ones on every
/// device; the share is therefore a multiple of 1/256.
#[derive(Debug)]
pub struct Dropout {
    /// Bytes below this drop their number.
    threshold: u8,
    draws: RefCell<ChaCha8Rng>,
}

impl Dropout {
    /// Dropout of about `share`; every stream of a seed has draws of its own. `None` if the share rounds to
    /// 0.
    ///
    /// # Panics
    ///
    /// If the share is not between 0 and 0.9.
    pub fn new(share: f64, seed: u64, stream: u64) -> Option<Self> {
        assert!((0.0..=0.9).contains(&share), "a share of {share}");
        let threshold = (share * 256.0).round() as u8;
        let mut draws = ChaCha8Rng::seed_from_u64(seed);
        draws.set_stream(stream);
        (threshold > 0).then_some(Self { threshold, draws: RefCell::new(draws) })
    }

    /// # Shapes
    ///
    /// - input, output: `[batch, length, width]`
    fn apply(&self, input: Tensor<3>) -> Tensor<3> {
        let shape = input.dims();
        let mut bytes = vec![0; shape.iter().product()];
        self.draws.borrow_mut().fill_bytes(&mut bytes);
        let kept = 256.0 / (256.0 - f32::from(self.threshold));
        let factors: Vec<f32> =
            bytes.into_iter().map(|byte| if byte < self.threshold { 0.0 } else { kept }).collect();
        let factors = TensorData::new(factors, shape);
        let factors = Tensor::from_data(factors, &input.device());
        input * factors
    }
}

/// The input after dropout; the input itself if `dropout` is `None`.
///
/// # Shapes
///
/// - input, output: `[batch, length, width]`
pub(crate) fn dropped(input: Tensor<3>, dropout: Option<&Dropout>) -> Tensor<3> {
    match dropout {
        Some(dropout) => dropout.apply(input),
        None => input,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device;

    fn dropped(share: f64, stream: u64) -> Vec<f32> {
        let ones = Tensor::<3>::ones([4, 32, 64], &device::cpu());
        let dropout = Dropout::new(share, 7, stream).unwrap();
        dropout.apply(ones).into_data().try_into_vec_as().unwrap()
    }

    #[test]
    fn drops_its_share_and_keeps_the_mean() {
        let values = dropped(0.25, 0);
        let zeros = values.iter().filter(|value| **value == 0.0).count() as f32;
        assert!((zeros / values.len() as f32 - 0.25).abs() < 0.02, "{zeros}");
        assert!(values.iter().all(|v| *v == 0.0 || (v - 4.0 / 3.0).abs() < 1e-6));
    }

    #[test]
    fn streams_differ_and_repeat() {
        assert_eq!(dropped(0.25, 1), dropped(0.25, 1));
        assert_ne!(dropped(0.25, 1), dropped(0.25, 2));
        assert!(Dropout::new(0.0, 0, 0).is_none());
    }
}

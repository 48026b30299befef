//! Rotary positions.

use burn::tensor::{Device, Tensor, TensorData};

use crate::{device::CpuTensor, kv_cache::Positions};

/// Cosines and sines that turn queries and keys by an angle that grows with the position (Su et
/// al., *RoFormer*, 2021), in Hugging Face's half-split form: number i of a head is turned together
/// with number i + head_dim / 2.
#[derive(Debug, Clone)]
pub(crate) struct Rotation {
    /// `[1 or batch, 1, length, head_dim]`
    cos: Tensor<4>,
    /// `[1 or batch, 1, length, head_dim]`
    sin: Tensor<4>,
}

impl Rotation {
    /// The rotation of `length` new tokens at these positions.
    pub(crate) fn new(
        theta: f64,
        head_dim: usize,
        positions: &Positions,
        length: usize,
        device: &Device,
    ) -> Self {
        let starts = match positions.uniform() {
            Some(start) => &[start][..],
            None => positions.starts(),
        };
        let half = head_dim / 2;
        // angle of pair i at position p: p * theta^(-2 i / head_dim)
        let frequencies: Vec<f64> = (0..half)
            .map(|pair| theta.powf(-2.0 * pair as f64 / head_dim as f64))
            .collect();
        let positions = starts.iter().flat_map(|start| *start..start + length);
        let (mut cos, mut sin) = (Vec::new(), Vec::new());
        for position in positions {
            let angles = frequencies
                .iter()
                .map(|frequency| position as f64 * frequency);
            let (cosines, sines): (Vec<f32>, Vec<f32>) = angles
                .map(|angle| (angle.cos() as f32, angle.sin() as f32))
                .unzip();
            // Both numbers of a pair have one angle.
            cos.extend(cosines.repeat(2));
            sin.extend(sines.repeat(2));
        }
        let shape = [starts.len(), 1, length, head_dim];
        Self {
            cos: Tensor::from_data(TensorData::new(cos, shape), device),
            sin: Tensor::from_data(TensorData::new(sin, shape), device),
        }
    }

    /// # Shapes
    ///
    /// - input: `[batch, heads, length, head_dim]`
    /// - output: `[batch, heads, length, head_dim]`
    pub(crate) fn apply(&self, input: Tensor<4>) -> Tensor<4> {
        let half = input.dims()[3] / 2;
        let first = input.clone().narrow(3, 0, half);
        let second = input.clone().narrow(3, half, half);
        let turned = Tensor::cat(vec![second.neg(), first], 3);
        input * self.cos.clone() + turned * self.sin.clone()
    }

    /// Cosines and sines for a kernel, each `[1 or batch, length, head_dim]`.
    pub(crate) fn tables(&self) -> (CpuTensor, CpuTensor) {
        (
            CpuTensor::of(self.cos.clone()),
            CpuTensor::of(self.sin.clone()),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device;

    fn rotated(start: usize, values: &[f32]) -> Vec<f32> {
        let device = device::cpu();
        let positions = Positions::at(start);
        let rotation = Rotation::new(100.0, 4, &positions, 1, &device);
        let data = TensorData::new(values.to_vec(), [1, 1, 1, 4]);
        rotation
            .apply(Tensor::from_data(data, &device))
            .into_data()
            .try_into_vec_as()
            .unwrap()
    }

    #[test]
    fn pairs_turn_by_their_angle() {
        // Pair 0 turns by 1 a position, pair 1 by 100^(-1/2) = 0.1.
        let turned = rotated(3, &[1.0, 1.0, 0.0, 0.0]);
        let wanted = [3_f32.cos(), 0.3_f32.cos(), 3_f32.sin(), 0.3_f32.sin()];
        for (got, wanted) in turned.iter().zip(wanted) {
            assert!((got - wanted).abs() < 1e-6, "{turned:?}");
        }
        assert_eq!(rotated(0, &[1.0, 2.0, 3.0, 4.0]), [1.0, 2.0, 3.0, 4.0]);
    }

    #[test]
    fn products_depend_on_the_distance_alone() {
        let (query, key) = ([0.3, -1.0, 0.7, 0.2], [1.1, 0.4, -0.5, 0.9]);
        let product = |a: usize, b: usize| -> f32 {
            let pairs = rotated(a, &query).into_iter().zip(rotated(b, &key));
            pairs.map(|(q, k)| q * k).sum()
        };
        assert!((product(9, 4) - product(6, 1)).abs() < 1e-5);
        assert!((product(9, 4) - product(9, 5)).abs() > 1e-3);
    }
}

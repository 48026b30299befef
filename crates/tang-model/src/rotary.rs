//! Rotary positions.

use burn::tensor::{Device, Tensor, TensorData};
use tang_checkpoint::Rope;

use crate::{device_cache::Positions, fused::rotary};

/// Cosines and sines that turn queries and keys by an angle that grows with the position (Su et
/// al., *RoFormer*, 2021), in Hugging Face's half-split form: number i of a head is turned together
/// with number i + head_dim / 2.
#[derive(Debug, Clone)]
pub(crate) struct Rotation {
    /// `[1 or batch, length, head_dim / 2]`: both numbers of a pair have one angle.
    cos: Tensor<3>,
    /// `[1 or batch, length, head_dim / 2]`
    sin: Tensor<3>,
}

impl Rotation {
    /// The rotation of `length` new tokens at these positions.
    pub(crate) fn new(
        rope: &Rope,
        head_dim: usize,
        positions: &Positions,
        length: usize,
        device: &Device,
    ) -> Self {
        let starts = match positions.uniform() {
            Some(start) => &[start][..],
            None => positions.starts(),
        };
        let positions = starts.iter().flat_map(|start| *start..start + length);
        let (cos, sin) = rope.tables(head_dim, positions);
        let shape = [starts.len(), length, head_dim / 2];
        Self {
            cos: Tensor::from_data(TensorData::new(cos, shape), device),
            sin: Tensor::from_data(TensorData::new(sin, shape), device),
        }
    }

    /// Turns the first `heads` heads of a packed projection.
    ///
    /// # Shapes
    ///
    /// - projected, output: `[batch, length, columns]`
    pub(crate) fn apply(&self, projected: Tensor<3>, heads: usize) -> Tensor<3> {
        rotary(projected, self.cos.clone(), self.sin.clone(), heads)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device;

    fn rotated(start: usize, values: &[f32]) -> Vec<f32> {
        let device = device::cpu();
        let positions = Positions::at(start);
        let rotation = Rotation::new(&Rope::unscaled(100.0), 4, &positions, 1, &device);
        let data = TensorData::new(values.to_vec(), [1, 1, 4]);
        rotation
            .apply(Tensor::from_data(data, &device), 1)
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

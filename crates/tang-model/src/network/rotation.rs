//! Rotary positions.

use burn::tensor::{Device, Tensor, TensorData};
use tang_checkpoint::{Family, ModelConfig};

/// Cosines and sines of the angles by which queries and keys are rotated (Su et al., *RoFormer*, 2021), each
/// `[1 or batch, length, head_dim / 2]`.
#[derive(Debug)]
pub(crate) struct Rotation {
    pub(crate) cos: Tensor<3>,
    pub(crate) sin: Tensor<3>,
}

impl Rotation {
    /// The rotation of `length` new tokens per row from `starts` on; `None` in GPT-2.
    pub(crate) fn new(
        config: &ModelConfig,
        starts: &[usize],
        length: usize,
        device: &Device,
    ) -> Option<Self> {
        let Family::Llama { rope } = config.family else {
            return None;
        };
        let positions = starts.iter().flat_map(|start| *start..start + length);
        let (cos, sin) = rope.tables(config.head_dim(), positions);
        let shape = [starts.len(), length, config.head_dim() / 2];
        let table = |values| Tensor::from_data(TensorData::new(values, shape), device);
        Some(Self { cos: table(cos), sin: table(sin) })
    }
}

#[cfg(test)]
mod tests {
    use tang_checkpoint::Rope;

    use super::*;
    use crate::{device, fused::rotary};

    fn rotated(start: usize, values: &[f32]) -> Vec<f32> {
        let device = device::cpu();
        let config = ModelConfig {
            family: Family::Llama { rope: Rope::unscaled(100.0) },
            width: 4,
            heads: 1,
            ..ModelConfig::minimind_4l(1)
        };
        let Rotation { cos, sin } = Rotation::new(&config, &[start], 1, &device).unwrap();
        let data = TensorData::new(values.to_vec(), [1, 1, 4]);
        rotary(Tensor::from_data(data, &device), cos, sin, 1).into_data().try_into_vec_as().unwrap()
    }

    #[test]
    fn pairs_turn_by_their_angle() {
        // Pair 0 turns by 1 per position, pair 1 by 100^(-1/2) = 0.1.
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

//! A linear layer, or a shard of one.

use std::ops::Range;

use tang_checkpoint::Weights;
use tang_kernels::{PackedMatrix, add_to_rows};

/// y = x W + b.
#[derive(Debug)]
pub(crate) struct Linear {
    matrix: PackedMatrix,
    bias: Option<Vec<f32>>,
}

/// The matrix `[inputs, outputs]` and the bias of a layer, in the weights of a model.
pub(crate) struct LinearWeights<'a> {
    matrix: &'a [f32],
    inputs: usize,
    bias: Option<&'a [f32]>,
}

impl<'a> LinearWeights<'a> {
    /// The layer at `path`, with `inputs` inputs.
    pub(crate) fn of(weights: &'a Weights, path: &str, inputs: usize, with_bias: bool) -> Self {
        Self {
            matrix: weights.values(&format!("{path}.weight")),
            inputs,
            bias: with_bias.then(|| weights.values(&format!("{path}.bias"))),
        }
    }

    /// A column shard: some outputs, with their bias.
    pub(crate) fn outputs(&self, columns: &[Range<usize>]) -> Linear {
        let width = self.matrix.len() / self.inputs;
        let some = |rows: &[f32]| {
            let mut kept = Vec::new();
            for row in rows.chunks_exact(width) {
                for range in columns {
                    kept.extend_from_slice(&row[range.clone()]);
                }
            }
            kept
        };
        Linear {
            matrix: PackedMatrix::new(&some(self.matrix), self.inputs),
            bias: self.bias.map(some),
        }
    }

    /// A row shard: some inputs, whose products are a part of each output. The first shard has the bias.
    pub(crate) fn inputs(&self, inputs: Range<usize>) -> Linear {
        let width = self.matrix.len() / self.inputs;
        let matrix = &self.matrix[inputs.start * width..inputs.end * width];
        Linear {
            matrix: PackedMatrix::new(matrix, inputs.len()),
            bias: self.bias.filter(|_| inputs.start == 0).map(<[f32]>::to_vec),
        }
    }
}

impl Linear {
    /// # Shapes
    ///
    /// - x: `[tokens, inputs]`
    /// - output: `[tokens, outputs]`
    pub(crate) fn forward(&self, x: &[f32]) -> Vec<f32> {
        let mut y = self.matrix.multiply(x);
        if let Some(bias) = &self.bias {
            add_to_rows(&mut y, bias);
        }
        y
    }

    /// Count of outputs.
    pub(crate) fn outputs(&self) -> usize {
        self.matrix.columns()
    }
}

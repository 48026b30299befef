//! The one list of a model's parameters: paths, shapes, starting values, and the tensors of a
//! Hugging Face checkpoint that they come from.
//!
//! Loading, saving, counting, initialising and weight decay all follow this list.

use crate::{Family, ModelConfig};

/// Name of the output head in the checkpoints of both families; a tied one may be stored, too.
pub(crate) const OUTPUT_HEAD: &str = "lm_head.weight";

/// Path of the token embedding.
pub(crate) const TOKEN_EMBEDDING: &str = "token_embedding";
/// Path of the output head.
pub(crate) const UNTIED_HEAD: &str = "output_head";

/// How a parameter starts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Initial {
    /// Drawn from a normal distribution around 0.
    Normal {
        /// Its standard deviation.
        std: f32,
    },
    /// All 0.
    Zeros,
    /// All 1.
    Ones,
}

impl Initial {
    /// N(0, 0.02), as GPT-2 starts.
    pub(crate) const NORMAL: Self = Self::Normal { std: 0.02 };

    /// For a projection that writes into the residual stream: scaled by 1 / sqrt(2 x layers), so
    /// that the stream's variance does not grow with depth.
    pub(crate) fn residual(config: &ModelConfig) -> Self {
        Self::Normal {
            std: 0.02 / (2.0 * config.layers as f32).sqrt(),
        }
    }
}

/// One parameter of the network.
#[derive(Debug, Clone, PartialEq)]
pub struct ParameterSpec {
    /// Its path in the network, for instance `blocks.0.attention.input.weight`.
    pub path: String,
    /// Its shape; matrices are `[in, out]`.
    pub shape: Vec<usize>,
    /// How training starts it.
    pub initial: Initial,
    /// Where a checkpoint keeps it.
    pub stored: Stored,
}

/// How a checkpoint keeps a parameter.
#[derive(Debug, Clone, PartialEq)]
pub enum Stored {
    /// As one tensor of the same shape.
    AsIs {
        /// The tensor's name.
        name: String,
    },
    /// As matrices `[out, in]` that stand side by side, transposed, in the parameter.
    Transposed {
        /// Names, and columns of the parameter that each gives.
        parts: Vec<(String, usize)>,
    },
}

impl ParameterSpec {
    /// A parameter that a checkpoint keeps as it is.
    pub(crate) fn as_stored(
        path: impl Into<String>,
        name: impl Into<String>,
        shape: &[usize],
        initial: Initial,
    ) -> Self {
        Self {
            path: path.into(),
            shape: shape.to_vec(),
            initial,
            stored: Stored::AsIs { name: name.into() },
        }
    }

    /// A matrix with `rows` inputs that a checkpoint keeps as one or more matrices `[out, in]`.
    pub(crate) fn transposed(
        path: impl Into<String>,
        rows: usize,
        parts: impl IntoIterator<Item = (String, usize)>,
        initial: Initial,
    ) -> Self {
        let parts: Vec<_> = parts.into_iter().collect();
        let columns = parts.iter().map(|(_, columns)| columns).sum();
        Self {
            path: path.into(),
            shape: vec![rows, columns],
            initial,
            stored: Stored::Transposed { parts },
        }
    }

    /// The output head, which a tied model does not have.
    pub(crate) fn output_head(config: &ModelConfig) -> Option<Self> {
        let shape = [config.vocab_size, config.width];
        (!config.tied_head)
            .then(|| Self::as_stored(UNTIED_HEAD, OUTPUT_HEAD, &shape, Initial::NORMAL))
    }

    /// How many numbers the parameter has.
    pub fn numel(&self) -> usize {
        self.shape.iter().product()
    }
}

/// Every parameter of a model, in the order of the forward pass.
pub fn parameters(config: &ModelConfig) -> Vec<ParameterSpec> {
    Family::parameters(config)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn counts_the_presets() {
        let count =
            |config| -> usize { parameters(&config).iter().map(ParameterSpec::numel).sum() };
        // 6289*128 + 128*128 + 4 * (12*128^2 + 13*128) + 2*128
        assert_eq!(count(ModelConfig::tang_4l(6289)), 1_614_720);
        // 6289*128 + 4 * (128*(128 + 2*64) + 128^2 + 3*128*384 + 2*128) + 128
        assert_eq!(count(ModelConfig::minimind_4l(6289)), 1_592_576);
    }

    #[test]
    fn paths_are_distinct() {
        for config in [ModelConfig::tang_4l(10), ModelConfig::minimind_4l(10)] {
            let untied = ModelConfig {
                tied_head: false,
                ..config
            };
            let list = parameters(&untied);
            assert_eq!(list.len(), parameters(&config).len() + 1);
            let paths: HashSet<_> = list.iter().map(|p| &p.path).collect();
            assert_eq!(paths.len(), list.len());
        }
    }
}

//! The geometry of a model in one line.

use std::fmt;

use serde::Serialize;
use tang_checkpoint::{ModelConfig, ParameterSpec, parameters};

use crate::table::thousands;

/// What decides how much work and memory a model takes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ModelSummary {
    /// GPT-2 or Llama.
    pub family: &'static str,
    /// Numbers that were trained.
    pub parameters: usize,
    /// Blocks.
    pub layers: usize,
    /// Width of the residual stream.
    pub width: usize,
    /// Query heads.
    pub heads: usize,
    /// Key/value heads.
    pub kv_heads: usize,
    /// Width of a head.
    pub head_dim: usize,
    /// Positions.
    pub context: usize,
    /// Characters.
    pub vocab_size: usize,
}

impl ModelSummary {
    /// The summary of a network of this geometry.
    pub fn of(config: &ModelConfig) -> Self {
        Self {
            family: config.family.name(),
            parameters: parameters(config).iter().map(ParameterSpec::numel).sum(),
            layers: config.layers,
            width: config.width,
            heads: config.heads,
            kv_heads: config.kv_heads,
            head_dim: config.head_dim(),
            context: config.context,
            vocab_size: config.vocab_size,
        }
    }
}

impl fmt::Display for ModelSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {} parameters, {} layers, {} wide, {} query heads and {} key/value heads of {}, context {}, vocabulary {}",
            self.family,
            thousands(self.parameters),
            self.layers,
            self.width,
            self.heads,
            self.kv_heads,
            self.head_dim,
            self.context,
            self.vocab_size
        )
    }
}

#[cfg(test)]
mod tests {
    use tang_checkpoint::ModelConfig;

    use super::*;
    use crate::lab_model::tests::small;

    #[test]
    fn names_what_decides_work_and_memory() {
        let text = ModelSummary::of(small(ModelConfig::minimind_4l).model.config()).to_string();
        let wanted = "2 layers, 16 wide, 4 query heads and 2 key/value heads of 4, context 48";
        assert!(text.contains(wanted), "{text}");
    }
}

//! The one list of a model's parameters: names, shapes and starting values.
//!
//! Loading, saving, counting, initialising and weight decay all follow this list.

use burn::module::ParamId;
use sha2::{Digest, Sha256};

use crate::ModelConfig;

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

/// One parameter, as it stands in the checkpoint.
#[derive(Debug, Clone, PartialEq)]
pub struct ParameterSpec {
    /// The tensor's name in a Hugging Face checkpoint.
    pub name: String,
    /// The tensor's shape in a Hugging Face checkpoint. GPT-2 stores matrices as [in, out].
    pub shape: Vec<usize>,
    /// How training starts it.
    pub initial: Initial,
}

impl ParameterSpec {
    /// How many numbers the parameter has.
    pub fn numel(&self) -> usize {
        self.shape.iter().product()
    }
}

/// Every parameter of a model, in the order of the forward pass.
///
/// Starting values are those of GPT-2: N(0, 0.02), with the two projections that write into the
/// residual stream scaled by 1 / sqrt(2 x layers) so that its variance does not grow with depth.
pub fn parameters(config: &ModelConfig) -> Vec<ParameterSpec> {
    let normal = Initial::Normal { std: 0.02 };
    let residual = Initial::Normal {
        std: 0.02 / (2.0 * config.layers as f32).sqrt(),
    };
    let (width, inner) = (config.width, config.feed_forward_width());
    let mut list = Vec::new();
    let mut add = |name: String, shape: &[usize], initial| {
        list.push(ParameterSpec {
            name,
            shape: shape.to_vec(),
            initial,
        });
    };
    add(
        "transformer.wte.weight".into(),
        &[config.vocab_size, width],
        normal,
    );
    add(
        "transformer.wpe.weight".into(),
        &[config.context, width],
        normal,
    );
    for layer in 0..config.layers {
        let path = |rest: &str| format!("transformer.h.{layer}.{rest}");
        add(path("ln_1.weight"), &[width], Initial::Ones);
        add(path("ln_1.bias"), &[width], Initial::Zeros);
        add(path("attn.c_attn.weight"), &[width, 3 * width], normal);
        add(path("attn.c_attn.bias"), &[3 * width], Initial::Zeros);
        add(path("attn.c_proj.weight"), &[width, width], residual);
        add(path("attn.c_proj.bias"), &[width], Initial::Zeros);
        add(path("ln_2.weight"), &[width], Initial::Ones);
        add(path("ln_2.bias"), &[width], Initial::Zeros);
        add(path("mlp.c_fc.weight"), &[width, inner], normal);
        add(path("mlp.c_fc.bias"), &[inner], Initial::Zeros);
        add(path("mlp.c_proj.weight"), &[inner, width], residual);
        add(path("mlp.c_proj.bias"), &[width], Initial::Zeros);
    }
    add("transformer.ln_f.weight".into(), &[width], Initial::Ones);
    add("transformer.ln_f.bias".into(), &[width], Initial::Zeros);
    list
}

/// The identity of a parameter inside Burn, derived from its name.
///
/// Optimiser state is keyed by this identity, so it must be the same after a reload.
pub fn parameter_id(name: &str) -> ParamId {
    let digest = Sha256::digest(name.as_bytes());
    let (first, _) = digest
        .split_first_chunk::<8>()
        .expect("a SHA-256 digest has 32 bytes");
    ParamId::from(u64::from_le_bytes(*first))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn counts_the_default_model() {
        let list = parameters(&ModelConfig::tang_4l(6289));
        // 6289*128 + 128*128 + 4 * (12*128^2 + 13*128) + 2*128
        assert_eq!(
            list.iter().map(ParameterSpec::numel).sum::<usize>(),
            1_614_720
        );
        assert_eq!(list.len(), 2 + 4 * 12 + 2);
    }

    #[test]
    fn names_and_ids_are_distinct() {
        let list = parameters(&ModelConfig::tang_4l(10));
        let names: HashSet<_> = list.iter().map(|p| &p.name).collect();
        let ids: HashSet<_> = list.iter().map(|p| parameter_id(&p.name)).collect();
        assert_eq!((names.len(), ids.len()), (list.len(), list.len()));
    }
}

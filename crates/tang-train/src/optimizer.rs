//! AdamW with decay on matrices only.

use burn::{
    module::ParamGroup,
    optim::{AdamWConfig, ModuleOptimizer},
};
use tang_model::{ModelConfig, parameter_id, parameters};

/// AdamW (Loshchilov & Hutter, *Decoupled Weight Decay Regularization*, 2019) with the betas that
/// small language models use; biases and norms are not decayed.
pub(crate) fn optimizer(model: &ModelConfig, weight_decay: f32) -> ModuleOptimizer {
    let adam = |decay| {
        AdamWConfig::new()
            .with_beta_1(0.9)
            .with_beta_2(0.95)
            .with_epsilon(1e-8)
            .with_weight_decay(decay)
            .build()
    };
    let matrices = parameters(model)
        .into_iter()
        .filter(|spec| spec.shape.len() == 2)
        .map(|spec| parameter_id(&spec.path))
        .collect();
    ModuleOptimizer::from(adam(0.0)).with_group(
        ParamGroup::from_ids(matrices),
        adam(weight_decay),
        None,
    )
}

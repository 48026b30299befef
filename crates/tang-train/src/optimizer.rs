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

#[cfg(test)]
mod tests {
    use burn::{
        module::{Module, ModuleVisitor, Param},
        optim::GradientsParams,
        tensor::Tensor,
    };
    use tang_model::{Transformer, Weights, device};

    use super::*;

    /// Gives every parameter a gradient of zeros.
    struct Zeros(GradientsParams);

    impl ModuleVisitor for Zeros {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            self.0.register(param.id, param.val().inner().zeros_like());
        }
    }

    #[test]
    fn matrices_decay_and_vectors_do_not() {
        let config = ModelConfig {
            width: 8,
            feed_forward_width: 16,
            layers: 1,
            ..ModelConfig::tang_4l(7)
        };
        let before = Weights::random(&config, 4);
        let device = device::cpu().autodiff();
        let model = Transformer::new(config, before.clone(), &device).unwrap();
        let mut zeros = Zeros(GradientsParams::new());
        model.visit(&mut zeros);
        let after = optimizer(&config, 0.5).step(0.1, model, zeros.0);
        let after = Weights::of(&after.valid());
        for spec in parameters(&config) {
            // With no gradient a step is the decay alone: 1 - rate x decay.
            let factor = if spec.shape.len() == 2 { 0.95 } else { 1.0 };
            let pairs = before
                .values(&spec.path)
                .iter()
                .zip(after.values(&spec.path));
            for (a, b) in pairs {
                assert!((a * factor - b).abs() < 1e-7, "{}: {a} {b}", spec.path);
            }
        }
    }
}

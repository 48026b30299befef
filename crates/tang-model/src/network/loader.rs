//! Parameters on a device from weights on the host, and back.

use std::collections::BTreeMap;

use burn::{
    module::{Module, ModuleVisitor, Param, ParamId},
    nn::Linear,
    tensor::{Device, Tensor, TensorData},
};
use sha2::{Digest, Sha256};
use tang_checkpoint::{Family, ModelError, Weights, parameters};

use super::Transformer;
use crate::{FLOATS, fused::linear};

/// The identity of a parameter inside Burn, derived from its path.
///
/// Optimiser state is keyed by this identity, so it must be the same after a reload.
pub fn parameter_id(path: &str) -> ParamId {
    let digest = Sha256::digest(path.as_bytes());
    let (first, _) = digest.split_first_chunk::<8>().expect("a SHA-256 digest has 32 bytes");
    ParamId::from(u64::from_le_bytes(*first))
}

/// Takes parameters out of weights, onto a device.
pub(crate) struct Loader<'a> {
    pub(crate) weights: Weights,
    pub(crate) device: &'a Device,
}

impl Loader<'_> {
    /// Takes one parameter, with the identity that its path gives.
    ///
    /// # Errors
    ///
    /// If it is missing or has another shape.
    pub(crate) fn take<const D: usize>(
        &mut self,
        path: &str,
        shape: [usize; D],
    ) -> Result<Param<Tensor<D>>, ModelError> {
        let data = TensorData::new(self.weights.take(path, &shape)?, shape);
        let mut param = Param::from_tensor(Tensor::from_data(data, self.device));
        param.id = parameter_id(path);
        Ok(param)
    }

    /// Takes a linear layer, with a bias in GPT-2.
    ///
    /// # Errors
    ///
    /// If a parameter is missing or has another shape.
    pub(crate) fn take_linear(
        &mut self,
        family: Family,
        path: &str,
        [d_input, d_output]: [usize; 2],
    ) -> Result<Linear, ModelError> {
        let weight = self.take(&format!("{path}.weight"), [d_input, d_output])?;
        let bias = match family {
            Family::Gpt2 => Some(self.take(&format!("{path}.bias"), [d_output])?),
            Family::Llama { .. } => None,
        };
        Ok(Linear { weight, bias })
    }
}

/// Applies a layer to each position: `[batch, length, inputs]` -> `[batch, length, outputs]`.
pub(crate) fn project(layer: &Linear, x: Tensor<3>) -> Tensor<3> {
    linear(x, layer.weight.val(), layer.bias.as_ref().map(Param::val))
}

/// Copies the values of all parameters to the host.
pub(crate) fn host_weights(model: &Transformer) -> Weights {
    let paths = parameters(model.config())
        .into_iter()
        .map(|spec| (parameter_id(&spec.path), spec.path))
        .collect();
    let mut collector = Collector { paths, weights: Weights::default() };
    model.visit(&mut collector);
    collector.weights
}

struct Collector {
    paths: BTreeMap<ParamId, String>,
    weights: Weights,
}

impl ModuleVisitor for Collector {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let path = self.paths.remove(&param.id);
        let path = path.expect("each parameter is in the list of the network once");
        let value = param.val();
        let shape = value.dims().to_vec();
        let values = value.into_data().try_into_vec_as().expect(FLOATS);
        self.weights.insert(path, shape, values);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use tang_checkpoint::ModelConfig;

    use super::*;
    use crate::device;

    fn tiny(config: ModelConfig) -> ModelConfig {
        ModelConfig { context: 8, width: 16, layers: 2, feed_forward_width: 24, ..config }
    }

    #[test]
    fn identities_are_distinct() {
        for config in [ModelConfig::tang_4l(10), ModelConfig::minimind_4l(10)] {
            let list = parameters(&config);
            let ids: HashSet<_> = list.iter().map(|p| parameter_id(&p.path)).collect();
            assert_eq!(ids.len(), list.len());
        }
    }

    #[test]
    fn a_network_gives_back_its_weights() {
        for config in [ModelConfig::tang_4l(11), ModelConfig::minimind_4l(11)] {
            for tied_head in [true, false] {
                let config = ModelConfig { tied_head, ..tiny(config) };
                let weights = Weights::random(&config, 3);
                let model = Transformer::new(config, weights.clone(), &device::cpu()).unwrap();
                assert_eq!(model.weights(), weights);
            }
        }
    }

    #[test]
    fn missing_extra_and_misshapen_tensors_are_named() {
        let config = tiny(ModelConfig::tang_4l(11));
        let error = |edit: &dyn Fn(&mut Weights)| {
            let mut weights = Weights::random(&config, 3);
            edit(&mut weights);
            Transformer::new(config, weights, &device::cpu()).unwrap_err()
        };
        let missing = error(&|w| drop(w.take("blocks.1.attention.input.weight", &[16, 48])));
        assert!(missing.to_string().contains("`blocks.1.attention.input.weight` is missing"));
        let extra = error(&|w| w.insert("blocks.2.x", vec![1], vec![0.0]));
        assert!(extra.to_string().contains("`blocks.2.x` has no place"));
        let shape = error(&|w| w.insert("final_norm.weight", vec![3], vec![0.0; 3]));
        assert!(shape.to_string().contains("[3]") && shape.to_string().contains("[16]"));
    }
}

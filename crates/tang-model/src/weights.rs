//! The numbers of a model on the host, by path: drawn at random, read from a file, or taken from
//! a network.

use std::{collections::BTreeMap, path::Path};

use burn::{
    module::{Module, ModuleVisitor, Param, ParamId},
    nn::Linear,
    tensor::{Device, Tensor, TensorData},
};
use rand::{SeedableRng, rngs::ChaCha8Rng};
use rand_distr::{Distribution, Normal};

use crate::{
    Family, Initial, ModelConfig, ModelError, Transformer,
    host_tensor::HostTensor,
    parameter_id, parameters,
    parameters::{TOKEN_EMBEDDING, UNTIED_HEAD},
    tensor_file::TensorFile,
};

/// All numbers of one model, by the path of the parameter.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Weights {
    pub(crate) tensors: BTreeMap<String, HostTensor>,
}

impl Weights {
    /// Starting values for training, a function of `seed` alone.
    pub fn random(config: &ModelConfig, seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut weights = Self::default();
        for spec in parameters(config) {
            let count = spec.numel();
            let values = match spec.initial {
                Initial::Zeros => vec![0.0; count],
                Initial::Ones => vec![1.0; count],
                Initial::Normal { std } => {
                    let normal = Normal::new(0.0, std).expect("a standard deviation is finite");
                    (0..count).map(|_| normal.sample(&mut rng)).collect()
                }
            };
            weights.insert(spec.path, spec.shape, values);
        }
        weights
    }

    /// The numbers that a network holds now.
    pub fn of(model: &Transformer) -> Self {
        let paths = parameters(model.config())
            .into_iter()
            .map(|spec| (parameter_id(&spec.path), spec.path))
            .collect();
        let mut collector = Collector {
            paths,
            weights: Self::default(),
        };
        model.visit(&mut collector);
        collector.weights
    }

    /// The contents of a safetensors file that [`from_bytes`](Self::from_bytes) reads.
    pub fn to_bytes(&self) -> Vec<u8> {
        TensorFile::to_bytes(&self.tensors, BTreeMap::new())
    }

    /// Reads what [`to_bytes`](Self::to_bytes) gave; `path` is for error messages.
    ///
    /// # Errors
    ///
    /// If the bytes are damaged.
    pub fn from_bytes(bytes: &[u8], path: &Path) -> Result<Self, ModelError> {
        let TensorFile { tensors, .. } = TensorFile::from_bytes(bytes, path)?;
        Ok(Self { tensors })
    }

    /// The numbers of one parameter.
    ///
    /// # Panics
    ///
    /// If there is none of that path.
    pub fn values(&self, path: &str) -> &[f32] {
        &self.tensors[path].values
    }

    /// Adds a tensor, or replaces the one of that path.
    ///
    /// # Panics
    ///
    /// If the shape asks for another number of values.
    pub fn insert(&mut self, path: impl Into<String>, shape: Vec<usize>, values: Vec<f32>) {
        self.tensors
            .insert(path.into(), HostTensor::new(shape, values));
    }

    /// Leaves the rows of the first `count` tokens in the token embedding and in the output head.
    ///
    /// # Panics
    ///
    /// If there are fewer tokens.
    pub(crate) fn keep_tokens(&mut self, config: &ModelConfig, count: usize) {
        assert!(
            count <= config.vocab_size,
            "{count} tokens of {}",
            config.vocab_size
        );
        for path in [TOKEN_EMBEDDING, UNTIED_HEAD] {
            if let Some(tensor) = self.tensors.get_mut(path) {
                tensor.values.truncate(count * config.width);
                tensor.shape[0] = count;
            }
        }
    }

    /// Takes one parameter out, onto a device, with the identity that its path gives.
    ///
    /// # Errors
    ///
    /// If it is missing or has another shape.
    pub(crate) fn take<const D: usize>(
        &mut self,
        path: &str,
        shape: [usize; D],
        device: &Device,
    ) -> Result<Param<Tensor<D>>, ModelError> {
        let tensor = self
            .tensors
            .remove(path)
            .ok_or_else(|| ModelError::MissingTensor {
                name: path.to_owned(),
            })?;
        if tensor.shape != shape {
            return Err(ModelError::Shape {
                name: path.to_owned(),
                wanted: shape.to_vec(),
                got: tensor.shape,
            });
        }
        let data = TensorData::new(tensor.values, shape);
        let mut param = Param::from_tensor(Tensor::from_data(data, device));
        param.id = parameter_id(path);
        Ok(param)
    }

    /// Takes a linear layer, with a bias if the family has them.
    pub(crate) fn take_linear(
        &mut self,
        family: Family,
        path: &str,
        [d_input, d_output]: [usize; 2],
        device: &Device,
    ) -> Result<Linear, ModelError> {
        let weight = self.take(&format!("{path}.weight"), [d_input, d_output], device)?;
        let bias = match family {
            Family::Gpt2 => Some(self.take(&format!("{path}.bias"), [d_output], device)?),
            Family::Llama { .. } => None,
        };
        Ok(Linear { weight, bias })
    }

    /// Checks that every tensor has been taken.
    ///
    /// # Errors
    ///
    /// [`ModelError::ExtraTensor`] naming the first that is left.
    pub(crate) fn finish(self) -> Result<(), ModelError> {
        match self.tensors.into_keys().next() {
            Some(name) => Err(ModelError::ExtraTensor { name }),
            None => Ok(()),
        }
    }
}

/// Copies every parameter that a module visits to the host.
struct Collector {
    paths: BTreeMap<ParamId, String>,
    weights: Weights,
}

impl ModuleVisitor for Collector {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let path = self
            .paths
            .get(&param.id)
            .expect("every parameter of a network is in its list")
            .clone();
        let value = param.val();
        let shape = value.dims().to_vec();
        let values = value
            .into_data()
            .try_into_vec_as()
            .expect("parameters are 32-bit floats");
        self.weights.insert(path, shape, values);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device;

    fn tiny(config: ModelConfig) -> ModelConfig {
        ModelConfig {
            context: 8,
            width: 16,
            layers: 2,
            feed_forward_width: 24,
            ..config
        }
    }

    #[test]
    fn random_weights_follow_the_seed() {
        let config = ModelConfig::tang_4l(6289);
        let weights = Weights::random(&config, 1);
        assert_eq!(weights, Weights::random(&config, 1));
        assert_ne!(weights, Weights::random(&config, 2));
        let embedding = &weights.tensors["token_embedding"].values;
        let square: f32 = embedding.iter().map(|v| v * v).sum();
        let std = (square / embedding.len() as f32).sqrt();
        assert!((std - 0.02).abs() < 2e-4, "{std}");
    }

    #[test]
    fn a_network_gives_back_its_weights() {
        for config in [ModelConfig::tang_4l(11), ModelConfig::minimind_4l(11)] {
            for tied_head in [true, false] {
                let config = ModelConfig {
                    tied_head,
                    ..tiny(config)
                };
                let weights = Weights::random(&config, 3);
                let model = Transformer::new(config, weights.clone(), &device::cpu()).unwrap();
                assert_eq!(Weights::of(&model), weights);
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
        let missing = error(&|w| drop(w.tensors.remove("blocks.1.attention.input.weight")));
        assert!(
            missing
                .to_string()
                .contains("`blocks.1.attention.input.weight` is missing")
        );
        let extra = error(&|w| w.insert("blocks.2.x", vec![1], vec![0.0]));
        assert!(extra.to_string().contains("`blocks.2.x` has no place"));
        let shape = error(&|w| w.insert("final_norm.weight", vec![3], vec![0.0; 3]));
        assert!(shape.to_string().contains("[3]") && shape.to_string().contains("[16]"));
    }
}

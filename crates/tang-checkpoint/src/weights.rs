//! The numbers of a model on the host, by path: drawn at random, or read from a file.

use std::{collections::BTreeMap, path::Path};

use rand::{SeedableRng, rngs::ChaCha8Rng};
use rand_distr::{Distribution, Normal};

use crate::{
    ModelConfig, ModelError,
    host_tensor::HostTensor,
    hugging_face::{Initial, ParameterSpec, TOKEN_EMBEDDING, UNTIED_HEAD, parameters},
    model_folder::TensorFile,
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
                Initial::Normal(std) => {
                    let normal = Normal::new(0.0, std).expect("a standard deviation is finite");
                    (0..count).map(|_| normal.sample(&mut rng)).collect()
                }
            };
            weights.insert(spec.path, spec.shape, values);
        }
        weights
    }

    /// A safetensors file that [`from_bytes`](Self::from_bytes) reads.
    pub fn to_bytes(&self) -> Vec<u8> {
        TensorFile::to_bytes(&self.tensors, &BTreeMap::new())
    }

    /// Reads what [`to_bytes`](Self::to_bytes) gave; `path` is for error messages.
    ///
    /// # Errors
    ///
    /// [`ModelError::Damaged`].
    pub fn from_bytes(bytes: &[u8], path: &Path) -> Result<Self, ModelError> {
        let TensorFile { tensors, .. } = TensorFile::parse(bytes, path, |_| true)?;
        Ok(Self { tensors: tensors.into_iter().collect() })
    }

    /// The numbers of one parameter.
    ///
    /// # Panics
    ///
    /// If there is none of that path.
    pub fn values(&self, path: &str) -> &[f32] {
        &self.tensors[path].values
    }

    /// Checks that these are the weights of a model of this geometry, no more and no fewer.
    ///
    /// # Errors
    ///
    /// [`ModelError::Tensor`] for the first that is missing, has another shape, or is left over.
    pub fn check(&self, config: &ModelConfig) -> Result<(), ModelError> {
        let specs = parameters(config);
        for ParameterSpec { path, shape, .. } in &specs {
            let tensor = self.tensors.get(path).ok_or_else(|| ModelError::missing(path))?;
            tensor.check_shape(path, shape)?;
        }
        let has_place = |path: &&String| specs.iter().any(|spec| spec.path == **path);
        match self.tensors.keys().find(|path| !has_place(path)) {
            Some(path) => Err(ModelError::extra(path)),
            None => Ok(()),
        }
    }

    /// Adds a tensor, or replaces the one of that path.
    ///
    /// # Panics
    ///
    /// If the shape asks for another number of values.
    pub fn insert(&mut self, path: impl Into<String>, shape: Vec<usize>, values: Vec<f32>) {
        self.tensors.insert(path.into(), HostTensor::new(shape, values));
    }

    /// Keeps only the rows of the first `count` tokens in the token embedding and in the output
    /// head.
    pub(crate) fn keep_tokens(&mut self, config: &ModelConfig, count: usize) {
        let all = config.vocab_size;
        assert!(count <= all, "{count} tokens of {all}");
        for path in [TOKEN_EMBEDDING, UNTIED_HEAD] {
            if let Some(tensor) = self.tensors.get_mut(path) {
                tensor.values.truncate(count * config.width);
                tensor.shape[0] = count;
            }
        }
    }

    /// Takes the values of one parameter out.
    ///
    /// # Errors
    ///
    /// [`ModelError::Tensor`] if it is missing or has another shape.
    pub fn take(&mut self, path: &str, shape: &[usize]) -> Result<Vec<f32>, ModelError> {
        let tensor = self.tensors.remove(path).ok_or_else(|| ModelError::missing(path))?;
        tensor.check_shape(path, shape)?;
        Ok(tensor.values)
    }

    /// Checks that every tensor has been taken.
    ///
    /// # Errors
    ///
    /// [`ModelError::Tensor`] naming the first that is left.
    pub fn finish(self) -> Result<(), ModelError> {
        match self.tensors.into_keys().next() {
            Some(path) => Err(ModelError::extra(&path)),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}

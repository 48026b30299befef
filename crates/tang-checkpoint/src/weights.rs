//! The numbers of a model on the host, by path: drawn at random, or read from
//! a file.

use std::{collections::BTreeMap, path::Path};

use rand::{SeedableRng, rngs::ChaCha8Rng};
use rand_distr::{Distribution, Normal};

use crate::{
    HostTensor, Initial, ModelConfig, ModelError, parameters,
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

    /// Checks that these are the weights of a model of this geometry, no more and no fewer.
    ///
    /// # Errors
    ///
    /// [`ModelError::MissingTensor`], [`ModelError::Shape`] or [`ModelError::ExtraTensor`] for the
    /// first that does not fit.
    pub fn check(&self, config: &ModelConfig) -> Result<(), ModelError> {
        let specs = parameters(config);
        for spec in &specs {
            let name = || spec.path.clone();
            let tensor = self.tensors.get(&spec.path);
            let tensor = tensor.ok_or_else(|| ModelError::MissingTensor { name: name() })?;
            if tensor.shape != spec.shape {
                return Err(ModelError::Shape {
                    name: name(),
                    wanted: spec.shape.clone(),
                    got: tensor.shape.clone(),
                });
            }
        }
        let has_place = |path: &&String| specs.iter().any(|spec| spec.path == **path);
        match self.tensors.keys().find(|path| !has_place(path)) {
            Some(name) => Err(ModelError::ExtraTensor { name: name.clone() }),
            None => Ok(()),
        }
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

    /// Takes the values of one parameter out.
    ///
    /// # Errors
    ///
    /// [`ModelError::MissingTensor`]; [`ModelError::Shape`] if it has another shape.
    pub fn take(&mut self, path: &str, shape: &[usize]) -> Result<Vec<f32>, ModelError> {
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
        Ok(tensor.values)
    }

    /// Checks that every tensor has been taken.
    ///
    /// # Errors
    ///
    /// [`ModelError::ExtraTensor`] naming the first that is left.
    pub fn finish(self) -> Result<(), ModelError> {
        match self.tensors.into_keys().next() {
            Some(name) => Err(ModelError::ExtraTensor { name }),
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

//! The numbers of a model on the host, by name: drawn at random, read from a file, or taken from
//! a network.

use std::{borrow::Cow, collections::BTreeMap, path::Path};

use burn::{
    module::{Module, ModuleVisitor, Param, ParamId},
    nn::{LayerNorm, LayerNormConfig, Linear},
    tensor::{Device, Tensor, TensorData},
};
use rand::{SeedableRng, rngs::ChaCha8Rng};
use rand_distr::{Distribution, Normal};
use safetensors::{Dtype, SafeTensors, View, tensor::TensorView};
use tang_files::write_atomically;

use crate::{Initial, ModelConfig, ModelError, Transformer, parameter_id, parameters};

/// All numbers of one model, by Hugging Face tensor name.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Weights {
    tensors: BTreeMap<String, HostTensor>,
}

#[derive(Debug, Clone, PartialEq)]
struct HostTensor {
    shape: Vec<usize>,
    values: Vec<f32>,
}

impl Weights {
    /// Starting values for training, a function of `seed` alone.
    pub fn random(config: &ModelConfig, seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let tensors = parameters(config)
            .into_iter()
            .map(|spec| {
                let count = spec.numel();
                let values = match spec.initial {
                    Initial::Zeros => vec![0.0; count],
                    Initial::Ones => vec![1.0; count],
                    Initial::Normal { std } => {
                        let normal = Normal::new(0.0, std).expect("a standard deviation is finite");
                        (0..count).map(|_| normal.sample(&mut rng)).collect()
                    }
                };
                let shape = spec.shape;
                (spec.name, HostTensor { shape, values })
            })
            .collect();
        Self { tensors }
    }

    /// The numbers that a network holds now.
    pub fn of(model: &Transformer) -> Self {
        let names = parameters(model.config())
            .into_iter()
            .map(|spec| (parameter_id(&spec.name), spec.name))
            .collect();
        let mut collector = Collector {
            names,
            weights: Self::default(),
        };
        model.visit(&mut collector);
        collector.weights
    }

    /// Reads the tensors and the metadata of a safetensors file.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, is no safetensors file, or holds a tensor that is not F32.
    pub fn read(path: &Path) -> Result<(Self, BTreeMap<String, String>), ModelError> {
        let bytes = std::fs::read(path).map_err(ModelError::io(path))?;
        Self::from_bytes(&bytes, path)
    }

    /// Writes a safetensors file with this metadata, by rename.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn write(
        &self,
        path: &Path,
        metadata: &BTreeMap<String, String>,
    ) -> Result<(), ModelError> {
        write_atomically(path, &self.to_bytes(metadata)).map_err(ModelError::io(path))
    }

    /// The contents of a safetensors file with this metadata.
    pub fn to_bytes(&self, metadata: &BTreeMap<String, String>) -> Vec<u8> {
        let metadata = metadata.clone().into_iter().collect();
        safetensors::serialize(&self.tensors, Some(metadata))
            .expect("a host tensor has as many numbers as its shape says")
    }

    /// Reads what [`to_bytes`](Self::to_bytes) gave; `path` is for error messages.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read).
    pub fn from_bytes(
        bytes: &[u8],
        path: &Path,
    ) -> Result<(Self, BTreeMap<String, String>), ModelError> {
        let not_readable = |e| {
            let reason = format!("not a readable safetensors file ({e}): fetch or train it again");
            ModelError::damaged(path, reason)
        };
        let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(not_readable)?;
        let file = SafeTensors::deserialize(bytes).map_err(not_readable)?;
        let tensors = file
            .iter()
            .map(|(name, view)| Ok((name.to_owned(), HostTensor::from_view(name, &view)?)))
            .collect::<Result<_, ModelError>>()?;
        let metadata = metadata.metadata().clone().unwrap_or_default();
        Ok((Self { tensors }, metadata.into_iter().collect()))
    }

    /// Adds a tensor, or replaces the one of that name.
    ///
    /// # Panics
    ///
    /// If the shape asks for another number of values.
    pub fn insert(&mut self, name: impl Into<String>, shape: Vec<usize>, values: Vec<f32>) {
        assert_eq!(
            shape.iter().product::<usize>(),
            values.len(),
            "shape {shape:?} does not hold {} values",
            values.len()
        );
        self.tensors
            .insert(name.into(), HostTensor { shape, values });
    }

    /// Takes one parameter out, onto a device, with the identity that its name gives.
    ///
    /// # Errors
    ///
    /// If it is missing or has another shape.
    pub(crate) fn take<const D: usize>(
        &mut self,
        name: &str,
        shape: [usize; D],
        device: &Device,
    ) -> Result<Param<Tensor<D>>, ModelError> {
        let tensor = self
            .tensors
            .remove(name)
            .ok_or_else(|| ModelError::MissingTensor {
                name: name.to_owned(),
            })?;
        if tensor.shape != shape {
            return Err(ModelError::Shape {
                name: name.to_owned(),
                wanted: shape.to_vec(),
                got: tensor.shape,
            });
        }
        let data = TensorData::new(tensor.values, shape);
        let mut param = Param::from_tensor(Tensor::from_data(data, device));
        param.id = parameter_id(name);
        Ok(param)
    }

    /// Takes a linear layer whose matrix is stored as `[in, out]`, with its bias.
    pub(crate) fn take_linear(
        &mut self,
        path: &str,
        [d_input, d_output]: [usize; 2],
        device: &Device,
    ) -> Result<Linear, ModelError> {
        Ok(Linear {
            weight: self.take(&format!("{path}.weight"), [d_input, d_output], device)?,
            bias: Some(self.take(&format!("{path}.bias"), [d_output], device)?),
        })
    }

    /// Takes a layer norm over the model's width.
    pub(crate) fn take_norm(
        &mut self,
        path: &str,
        config: &ModelConfig,
        device: &Device,
    ) -> Result<LayerNorm, ModelError> {
        let mut norm = LayerNormConfig::new(config.width)
            .with_epsilon(config.norm_eps)
            .init(device);
        norm.gamma = self.take(&format!("{path}.weight"), [config.width], device)?;
        norm.beta = Some(self.take(&format!("{path}.bias"), [config.width], device)?);
        Ok(norm)
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

impl HostTensor {
    fn from_view(name: &str, view: &TensorView<'_>) -> Result<Self, ModelError> {
        if view.dtype() != Dtype::F32 {
            return Err(ModelError::Dtype {
                name: name.to_owned(),
                dtype: view.dtype().to_string(),
            });
        }
        let (numbers, _) = view.data().as_chunks::<4>();
        Ok(Self {
            shape: view.shape().to_vec(),
            values: numbers.iter().copied().map(f32::from_le_bytes).collect(),
        })
    }
}

impl View for &HostTensor {
    fn dtype(&self) -> Dtype {
        Dtype::F32
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        let bytes = self.values.iter().flat_map(|v| v.to_le_bytes());
        Cow::Owned(bytes.collect())
    }

    fn data_len(&self) -> usize {
        size_of_val(self.values.as_slice())
    }
}

/// Copies every parameter that a module visits to the host.
struct Collector {
    names: BTreeMap<ParamId, String>,
    weights: Weights,
}

impl ModuleVisitor for Collector {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let name = self
            .names
            .get(&param.id)
            .expect("every parameter of a network is in its list")
            .clone();
        let value = param.val();
        let shape = value.dims().to_vec();
        let values = value
            .into_data()
            .try_into_vec_as()
            .expect("parameters are 32-bit floats");
        self.weights.insert(name, shape, values);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tiny() -> ModelConfig {
        ModelConfig {
            vocab_size: 11,
            context: 8,
            width: 8,
            layers: 2,
            heads: 2,
            norm_eps: 1e-5,
        }
    }

    #[test]
    fn random_weights_follow_the_seed() {
        let weights = Weights::random(&tiny(), 1);
        assert_eq!(weights, Weights::random(&tiny(), 1));
        assert_ne!(weights, Weights::random(&tiny(), 2));
        let embedding =
            &Weights::random(&ModelConfig::tang_4l(6289), 1).tensors["transformer.wte.weight"];
        let square: f32 = embedding.values.iter().map(|v| v * v).sum();
        let std = (square / embedding.values.len() as f32).sqrt();
        assert!((std - 0.02).abs() < 2e-4, "{std}");
    }

    #[test]
    fn file_and_network_round_trip() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.safetensors");
        let metadata = BTreeMap::from([("format".to_owned(), "pt".to_owned())]);
        let weights = Weights::random(&tiny(), 3);
        weights.write(&path, &metadata).unwrap();
        assert_eq!(Weights::read(&path).unwrap(), (weights.clone(), metadata));

        let model = Transformer::new(tiny(), weights.clone(), &crate::device::cpu()).unwrap();
        assert_eq!(Weights::of(&model), weights);
    }

    #[test]
    fn refuses_damaged_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.safetensors");
        Weights::random(&tiny(), 3)
            .write(&path, &BTreeMap::new())
            .unwrap();
        let bytes = std::fs::read(&path).unwrap();
        for damaged in [
            &bytes[..bytes.len() - 3],
            &bytes[..4],
            b"",
            b"\x80\x02pickle",
        ] {
            std::fs::write(&path, damaged).unwrap();
            let error = Weights::read(&path).unwrap_err();
            assert!(matches!(error, ModelError::Damaged { .. }), "{error}");
        }
        let error = Weights::read(folder.path()).unwrap_err();
        assert!(matches!(error, ModelError::Io { .. }), "{error}");
    }
}

//! The two families of networks: what differs between them, by name.

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{ModelConfig, ModelError, ParameterSpec, gpt2, llama};

/// Which network the geometry belongs to.
///
/// All that differs follows from it: norms, positions, the feed-forward network, biases, and how a Hugging Face checkpoint names and lays out its tensors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Family {
    /// GPT-2 (Radford et al., *Language Models are Unsupervised Multitask Learners*, 2019):
    /// learned positions, layer norm, GELU, biases.
    Gpt2,
    /// Llama (Touvron et al., *LLaMA*, 2023): rotary positions, RMS norm, SwiGLU, no biases, and
    /// fewer key/value heads than query heads if wanted (Ainslie et al., *GQA*, 2023).
    Llama {
        /// Base of the rotary wavelengths.
        rope_theta: f64,
    },
}

impl Family {
    /// The name that people know it by.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gpt2 => "GPT-2",
            Self::Llama { .. } => "Llama",
        }
    }

    /// Reads a Hugging Face `config.json` of either family.
    pub(crate) fn config_from_json(json: Value) -> Result<ModelConfig, ModelError> {
        let config = match json["model_type"].as_str() {
            Some(gpt2::MODEL_TYPE) => gpt2::config_from_json(json),
            Some(llama::MODEL_TYPE) => llama::config_from_json(json),
            other => Err(ModelError::Config {
                reason: format!(
                    "model_type `{}` instead of `{}` or `{}`",
                    other.unwrap_or("missing"),
                    gpt2::MODEL_TYPE,
                    llama::MODEL_TYPE
                ),
            }),
        }?;
        config.validate()?;
        Ok(config)
    }

    /// The Hugging Face `config.json` of a geometry.
    pub(crate) fn config_to_json(config: &ModelConfig) -> Value {
        match config.family {
            Self::Gpt2 => gpt2::config_to_json(config),
            Self::Llama { rope_theta } => llama::config_to_json(config, rope_theta),
        }
    }

    /// Every parameter of a geometry, in the order of the forward pass.
    pub(crate) fn parameters(config: &ModelConfig) -> Vec<ParameterSpec> {
        match config.family {
            Self::Gpt2 => gpt2::parameters(config),
            Self::Llama { .. } => llama::parameters(config),
        }
    }

    /// The full name of a tensor in a checkpoint; `None` for one that holds no parameter.
    pub(crate) fn canonical_name(self, name: &str) -> Option<String> {
        match self {
            Self::Gpt2 => gpt2::canonical_name(name),
            Self::Llama { .. } => llama::canonical_name(name),
        }
    }
}

/// Reads the part of a `config.json` that a family needs.
pub(crate) fn parse<T: DeserializeOwned>(json: Value) -> Result<T, ModelError> {
    serde_json::from_value(json).map_err(|e| ModelError::Config {
        reason: e.to_string(),
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Asserts that a configuration is refused with `word` once `key` is `value`.
    #[track_caller]
    pub(crate) fn assert_refused(good: &Value, key: &str, value: Value, word: &str) {
        Family::config_from_json(good.clone()).unwrap();
        let mut json = good.clone();
        json[key] = value;
        let error = Family::config_from_json(json).unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
    }
}

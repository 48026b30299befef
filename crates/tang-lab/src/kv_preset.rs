//! Geometries with a name, for working out what their caches cost.

use std::{fmt, str::FromStr};

use tang_checkpoint::{ModelConfig, ModelPreset};

use crate::{Dtype, KvGeometry, LabError};

/// A geometry that `tang kv-cost --preset` knows by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KvPreset {
    /// The smallest GPT-2 (Radford et al., *Language Models are Unsupervised Multitask Learners*,
    /// 2019).
    Gpt2,
    /// Llama 2 of 7 billion parameters (Touvron et al., *Llama 2*, 2023).
    Llama7b,
    /// Llama 2 of 70 billion parameters, whose query heads share key/value heads.
    Llama70b,
    /// Llama 3 of 8 billion parameters.
    Llama3_8b,
    /// Mistral of 7 billion parameters, version 0.3, which has no sliding window.
    Mistral7b,
    /// Qwen2.5 of 7 billion parameters, the instructed one.
    Qwen25_7b,
    /// Qwen3 of 4 billion parameters, whose heads are wider together than the residual stream.
    Qwen3_4b,
    /// Gemma of 7 billion parameters, whose heads are, too.
    Gemma7b,
    /// A geometry that this project trains.
    Tang(ModelPreset),
}

impl KvPreset {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Gpt2,
        Self::Llama7b,
        Self::Llama70b,
        Self::Llama3_8b,
        Self::Mistral7b,
        Self::Qwen25_7b,
        Self::Qwen3_4b,
        Self::Gemma7b,
        Self::Tang(ModelPreset::Tang4l),
        Self::Tang(ModelPreset::MiniMind4l),
    ];

    /// The name as typed on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gpt2 => "gpt2",
            Self::Llama7b => "llama-7b",
            Self::Llama70b => "llama-70b",
            Self::Llama3_8b => "llama-3-8b",
            Self::Mistral7b => "mistral-7b",
            Self::Qwen25_7b => "qwen2.5-7b",
            Self::Qwen3_4b => "qwen3-4b",
            Self::Gemma7b => "gemma-7b",
            Self::Tang(preset) => preset.name(),
        }
    }

    /// The geometry, in the number format of the published weights.
    pub fn geometry(self) -> KvGeometry {
        self.published().0
    }

    /// Positions that the model was trained with.
    pub fn context(self) -> u64 {
        self.published().1
    }

    /// Geometry and positions, as the `config.json` of each model says.
    fn published(self) -> (KvGeometry, u64) {
        let ([layers, width, heads, kv_heads, head_dim], dtype, context) = match self {
            Self::Gpt2 => ([12, 768, 12, 12, 64], Dtype::F32, 1024),
            Self::Llama7b => ([32, 4096, 32, 32, 128], Dtype::F16, 4096),
            Self::Llama70b => ([80, 8192, 64, 8, 128], Dtype::F16, 4096),
            Self::Llama3_8b => ([32, 4096, 32, 8, 128], Dtype::Bf16, 8192),
            Self::Mistral7b => ([32, 4096, 32, 8, 128], Dtype::Bf16, 32_768),
            Self::Qwen25_7b => ([28, 3584, 28, 4, 128], Dtype::Bf16, 32_768),
            Self::Qwen3_4b => ([36, 2560, 32, 8, 128], Dtype::Bf16, 40_960),
            Self::Gemma7b => ([28, 3072, 16, 16, 256], Dtype::Bf16, 8192),
            Self::Tang(preset) => {
                let config = config(preset);
                return (KvGeometry::from(&config), config.context as u64);
            }
        };
        let geometry = KvGeometry {
            layers,
            width,
            heads,
            kv_heads,
            head_dim,
            dtype,
        };
        (geometry, context)
    }
}

/// The size of the vocabulary has no part in the cache.
fn config(preset: ModelPreset) -> ModelConfig {
    preset.config(1)
}

impl fmt::Display for KvPreset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for KvPreset {
    type Err = LabError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|preset| preset.name() == name)
            .ok_or_else(|| LabError::UnknownName {
                what: "preset",
                name: name.to_owned(),
                known: Self::ALL.map(Self::name).join(", "),
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_geometries() {
        for preset in KvPreset::ALL {
            assert_eq!(preset.name().parse::<KvPreset>().unwrap(), preset);
            preset.geometry().validate().unwrap();
        }
        let error = "llama".parse::<KvPreset>().unwrap_err().to_string();
        assert!(error.contains("`llama`") && error.contains("gpt2, llama-7b"));
    }

    #[test]
    fn this_projects_models_have_the_geometry_of_their_caches() {
        for (preset, bytes) in [(ModelPreset::Tang4l, 4096), (ModelPreset::MiniMind4l, 2048)] {
            let geometry = KvPreset::Tang(preset).geometry();
            assert_eq!(geometry.bytes_per_token().unwrap().0, bytes, "{preset}");
            let counted = preset.config(97).cache_bytes_per_token();
            assert_eq!(counted as u64, bytes, "{preset}");
            assert_eq!(KvPreset::Tang(preset).context(), 128);
        }
    }
}

//! Names of geometries and of number formats.

use std::str::FromStr;

use serde::Serialize;
use tang_checkpoint::ModelPreset;

use crate::{KvGeometry, LabError};

/// The format of a stored number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Dtype {
    /// 32-bit float.
    F32,
    /// 16-bit float of IEEE 754.
    F16,
    /// 16-bit float with the range of a 32-bit one.
    Bf16,
    /// 8-bit integer; its scales are not counted.
    Int8,
}

impl Dtype {
    /// Each with its name and its bytes per number.
    pub(crate) const ALL: [(&'static str, (Self, u64)); 4] = [
        ("f32", (Self::F32, 4)),
        ("f16", (Self::F16, 2)),
        ("bf16", (Self::Bf16, 2)),
        ("int8", (Self::Int8, 1)),
    ];

    pub(crate) fn bytes(self) -> u64 {
        Self::ALL[self as usize].1.1
    }
}

impl FromStr for Dtype {
    type Err = LabError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Ok(named("number format", &Self::ALL, name)?.0)
    }
}

/// The value with this name.
fn named<T: Copy>(what: &str, all: &[(&str, T)], name: &str) -> Result<T, LabError> {
    let found = all.iter().find(|(known, _)| *known == name);
    found.map(|(_, value)| *value).ok_or_else(|| {
        let known: Vec<&str> = all.iter().map(|(known, _)| *known).collect();
        let known = known.join(", ");
        LabError::Input(format!("no {what} `{name}`: use one of {known}"))
    })
}

/// A geometry with a name, and the positions that the model was trained with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KvPreset {
    /// The geometry, in the number format of the published weights.
    pub geometry: KvGeometry,
    /// Positions that the model was trained with.
    pub context: u64,
}

impl KvPreset {
    /// All of them by name, as the `config.json` of each model says: GPT-2 (Radford et al., *Language Models are
    /// Unsupervised Multitask Learners*, 2019), Llama 2 (Touvron et al., 2023), Llama 3, Mistral v0.3, which
    /// has no sliding window, Qwen2.5 Instruct, Qwen3 and Gemma, whose heads are wider together than the residual
    /// stream, and the models of this project.
    pub(crate) fn all() -> Vec<(&'static str, Self)> {
        let published = [
            ("gpt2", [12, 768, 12, 12, 64], Dtype::F32, 1024),
            ("llama-7b", [32, 4096, 32, 32, 128], Dtype::F16, 4096),
            ("llama-70b", [80, 8192, 64, 8, 128], Dtype::F16, 4096),
            ("llama-3-8b", [32, 4096, 32, 8, 128], Dtype::Bf16, 8192),
            ("mistral-7b", [32, 4096, 32, 8, 128], Dtype::Bf16, 32_768),
            ("qwen2.5-7b", [28, 3584, 28, 4, 128], Dtype::Bf16, 32_768),
            ("qwen3-4b", [36, 2560, 32, 8, 128], Dtype::Bf16, 40_960),
            ("gemma-7b", [28, 3072, 16, 16, 256], Dtype::Bf16, 8192),
        ];
        let published = published.map(|(name, sizes, dtype, context)| {
            let [layers, width, heads, kv_heads, head_dim] = sizes;
            let geometry = KvGeometry { layers, width, heads, kv_heads, head_dim, dtype };
            (name, Self { geometry, context })
        });
        let own = ModelPreset::ALL.map(|preset| {
            // The size of the vocabulary has no part in the cache.
            let config = preset.config(1);
            let context = config.context as u64;
            (preset.name(), Self { geometry: KvGeometry::from(&config), context })
        });
        published.into_iter().chain(own).collect()
    }
}

impl FromStr for KvPreset {
    type Err = LabError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        named("preset", &Self::all(), name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_geometries() {
        for (name, preset) in KvPreset::all() {
            assert_eq!(name.parse::<KvPreset>().unwrap(), preset);
            preset.geometry.validate().unwrap();
        }
        let error = "llama".parse::<KvPreset>().unwrap_err().to_string();
        assert!(error.contains("`llama`") && error.contains("gpt2, llama-7b"));
    }

    #[test]
    fn this_projects_models_have_the_geometry_of_their_caches() {
        for (preset, bytes) in [(ModelPreset::Tang4l, 4096), (ModelPreset::MiniMind4l, 2048)] {
            let KvPreset { geometry, context } = preset.name().parse().unwrap();
            assert_eq!(geometry.bytes_per_token().unwrap().0, bytes, "{preset}");
            let counted = preset.config(97).cache_bytes_per_token();
            assert_eq!(counted as u64, bytes, "{preset}");
            assert_eq!(context, 128);
        }
    }

    #[test]
    fn names_and_sizes() {
        for (name, (dtype, bytes)) in Dtype::ALL {
            assert_eq!(name.parse::<Dtype>().unwrap(), dtype);
            assert_eq!(dtype.bytes(), bytes);
        }
        assert_eq!(Dtype::ALL.map(|(_, (_, bytes))| bytes), [4, 2, 2, 1]);
        let error = "f64".parse::<Dtype>().unwrap_err().to_string();
        assert_eq!(error, "no number format `f64`: use one of f32, f16, bf16, int8");
    }
}

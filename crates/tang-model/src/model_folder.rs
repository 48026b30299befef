//! A checkpoint folder in Hugging Face layout.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use burn::tensor::Device;
use serde_json::json;
use tang_files::write_atomically;

use crate::{ModelConfig, ModelError, Transformer, Weights};

/// The file of a checkpoint folder that holds the weights.
pub const WEIGHTS_FILE: &str = "model.safetensors";
const CONFIG_FILE: &str = "config.json";
const GENERATION_FILE: &str = "generation_config.json";
/// Key in the weights' metadata: the fingerprint of the vocabulary they were trained with.
const VOCABULARY_KEY: &str = "vocabulary_sha256";

/// What a checkpoint folder holds: `config.json`, `model.safetensors`, `generation_config.json`.
///
/// The vocabulary lies beside them but is not this crate's: its fingerprint is, so that weights
/// are never used with another one.
#[derive(Debug)]
pub struct ModelFolder {
    path: PathBuf,
    config: ModelConfig,
    weights: Weights,
    vocabulary: Option<String>,
}

impl ModelFolder {
    /// Reads a folder.
    ///
    /// # Errors
    ///
    /// [`ModelError::NoModel`] if a file is missing; [`ModelError::Damaged`] if one is not what
    /// it should be.
    pub fn open(path: &Path) -> Result<Self, ModelError> {
        for file in [CONFIG_FILE, WEIGHTS_FILE] {
            if !path.join(file).exists() {
                return Err(ModelError::NoModel {
                    path: path.to_owned(),
                    missing: file.to_owned(),
                });
            }
        }
        let config_path = path.join(CONFIG_FILE);
        let json = std::fs::read(&config_path).map_err(ModelError::io(&config_path))?;
        let config =
            serde_json::from_slice(&json).map_err(|e| ModelError::damaged(&config_path, e))?;
        let (weights, mut metadata) = Weights::read(&path.join(WEIGHTS_FILE))?;
        Ok(Self {
            path: path.to_owned(),
            config,
            weights,
            vocabulary: metadata.remove(VOCABULARY_KEY),
        })
    }

    /// The geometry.
    pub fn config(&self) -> &ModelConfig {
        &self.config
    }

    /// The fingerprint of the vocabulary that the weights were trained with, if they carry one.
    pub fn vocabulary_fingerprint(&self) -> Option<&str> {
        self.vocabulary.as_deref()
    }

    /// Puts the network on a device.
    ///
    /// # Errors
    ///
    /// If the weights are not those that the configuration describes.
    pub fn into_model(self, device: &Device) -> Result<Transformer, ModelError> {
        let path = self.path.join(WEIGHTS_FILE);
        Transformer::new(self.config, self.weights, device)
            .map_err(|e| ModelError::damaged(&path, e))
    }

    /// Writes a network into an existing folder, each file by rename, the weights last.
    ///
    /// # Errors
    ///
    /// If a file cannot be written.
    pub fn save(path: &Path, model: &Transformer, vocabulary: &str) -> Result<(), ModelError> {
        let config = json!(model.config());
        write_json(&path.join(CONFIG_FILE), &config)?;
        let generation = json!({"bos_token_id": 0, "eos_token_id": 0});
        write_json(&path.join(GENERATION_FILE), &generation)?;
        let metadata = BTreeMap::from([
            // transformers reads only files that say which framework's tensors they hold.
            ("format".to_owned(), "pt".to_owned()),
            (VOCABULARY_KEY.to_owned(), vocabulary.to_owned()),
        ]);
        Weights::of(model).write(&path.join(WEIGHTS_FILE), &metadata)
    }
}

fn write_json(path: &Path, value: &serde_json::Value) -> Result<(), ModelError> {
    write_atomically(path, format!("{value:#}\n").as_bytes()).map_err(ModelError::io(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device;

    fn saved() -> (tempfile::TempDir, Weights) {
        let folder = tempfile::tempdir().unwrap();
        let config = ModelConfig {
            vocab_size: 11,
            context: 8,
            width: 8,
            layers: 2,
            heads: 2,
            norm_eps: 1e-5,
        };
        let weights = Weights::random(&config, 3);
        let model = Transformer::new(config, weights.clone(), &device::cpu()).unwrap();
        ModelFolder::save(folder.path(), &model, "abc").unwrap();
        (folder, weights)
    }

    #[test]
    fn round_trip() {
        let (folder, weights) = saved();
        let opened = ModelFolder::open(folder.path()).unwrap();
        assert_eq!(opened.vocabulary_fingerprint(), Some("abc"));
        let model = opened.into_model(&device::cpu()).unwrap();
        assert_eq!(Weights::of(&model), weights);
    }

    #[test]
    fn each_damage_has_its_own_message() {
        let (folder, _) = saved();
        let config = folder.path().join(CONFIG_FILE);
        let good = std::fs::read_to_string(&config).unwrap();
        let open = || -> String {
            ModelFolder::open(folder.path())
                .and_then(|opened| opened.into_model(&device::cpu()).map(|_| ()))
                .unwrap_err()
                .to_string()
        };
        for (from, to, message) in [
            ("\"n_embd\": 8", "\"n_embd\": 16", "[11, 8]"),
            (
                "\"n_layer\": 2",
                "\"n_layer\": 3",
                "transformer.h.2.ln_1.weight` is missing",
            ),
            ("\"n_layer\": 2", "\"n_layer\": 1", "has no place"),
            ("\"vocab_size\": 11", "\"vocab_size\": 12", "[12, 8]"),
            ("{", "", "config.json"),
        ] {
            let damaged = good.replacen(from, to, 1);
            assert_ne!(damaged, good, "{from} is not in {good}");
            std::fs::write(&config, damaged).unwrap();
            let error = open();
            assert!(error.contains(message), "{error}");
        }
        std::fs::remove_file(&config).unwrap();
        assert!(open().contains("holds no model"));
    }
}

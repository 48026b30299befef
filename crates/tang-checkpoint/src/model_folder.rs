//! A model folder in Hugging Face layout.

mod json_file;
mod tensor_file;
mod weight_files;

use std::{collections::BTreeMap, path::Path};

use serde_json::{Value, json};
use tang_files::{read_at_most, write_atomically};

use self::weight_files::{WEIGHTS_FILE, read_weights, weights_name};
use crate::{
    ModelConfig, ModelError, Weights,
    hugging_face::{Format, from_hf, to_hf},
};

pub(crate) use tensor_file::TensorFile;

const CONFIG_FILE: &str = "config.json";
const GENERATION_FILE: &str = "generation_config.json";
/// The most bytes of a configuration; usual ones have one or two thousand.
const MAX_CONFIG: u64 = 1 << 20;
/// Key of the weights' metadata: the fingerprint of the vocabulary they were trained with.
const VOCABULARY_KEY: &str = "vocabulary_sha256";

/// The model of a folder with `config.json`, `model.safetensors` (or shards with their index) and
/// `generation_config.json`.
///
/// The vocabulary beside them is read elsewhere; its fingerprint is kept here, so that weights are never used with
/// another one.
#[derive(Debug)]
pub struct ModelFolder {
    config: ModelConfig,
    weights: Weights,
    vocabulary: Option<String>,
}

impl ModelFolder {
    /// Reads a folder.
    ///
    /// # Errors
    ///
    /// [`ModelError::NoModel`] if a file is missing; [`ModelError::Damaged`] if one is not what it should be, was
    /// written by another program, or describes a model that is not computed here.
    pub fn open(path: &Path) -> Result<Self, ModelError> {
        if path.is_file() {
            return Err(ModelError::damaged(
                path,
                "is a file; give the folder with config.json and model.safetensors in it",
            ));
        }
        let config_path = path.join(CONFIG_FILE);
        if !config_path.exists() {
            return Err(ModelError::NoModel {
                path: path.to_owned(),
                missing: CONFIG_FILE.to_owned(),
            });
        }
        let bytes = read_at_most(MAX_CONFIG, &config_path).map_err(ModelError::io(&config_path))?;
        let config = parse_config(&bytes, &config_path)?;
        let stored = read_weights(path, is_parameter(&config))?;
        Self::new(config, stored, &path.join(weights_name(path)))
    }

    /// Reads the bytes of `config.json` and of `model.safetensors`, such as those of a model that is part of
    /// a program.
    ///
    /// # Errors
    ///
    /// [`ModelError::Damaged`] if they are not what they should be, or describe a model that is not
    /// computed here.
    pub fn from_bytes(config: &[u8], weights: &[u8]) -> Result<Self, ModelError> {
        let path = Path::new(WEIGHTS_FILE);
        let config = parse_config(config, Path::new(CONFIG_FILE))?;
        let stored = TensorFile::parse(weights, path, is_parameter(&config))?;
        Self::new(config, stored, path)
    }

    /// Makes the model of the parameters among the tensors of `path`.
    fn new(config: ModelConfig, mut stored: TensorFile, path: &Path) -> Result<Self, ModelError> {
        let weights =
            from_hf(&config, stored.tensors).map_err(|error| ModelError::damaged(path, error))?;
        Ok(Self { config, weights, vocabulary: stored.metadata.remove(VOCABULARY_KEY) })
    }

    /// Keeps the first `count` tokens. The tokens after them have no character: without them, they
    /// are never drawn and have no probability.
    ///
    /// # Panics
    ///
    /// If the model has fewer tokens.
    pub fn keep_tokens(&mut self, count: usize) {
        self.weights.keep_tokens(&self.config, count);
        self.config.vocab_size = count;
    }

    /// The geometry.
    pub fn config(&self) -> &ModelConfig {
        &self.config
    }

    /// The fingerprint of the vocabulary that the weights were trained with, if their file has one.
    pub fn vocabulary_fingerprint(&self) -> Option<&str> {
        self.vocabulary.as_deref()
    }

    /// The geometry and the weights.
    pub fn into_parts(self) -> (ModelConfig, Weights) {
        (self.config, self.weights)
    }

    /// Writes a network into an existing folder, each file by rename, the weights last. The same network
    /// gives the same files.
    ///
    /// # Errors
    ///
    /// [`ModelError::Io`].
    pub fn save(
        path: &Path,
        config: &ModelConfig,
        weights: &Weights,
        vocabulary: &str,
    ) -> Result<(), ModelError> {
        write_json(&path.join(CONFIG_FILE), &json!(config))?;
        let generation = json!({"bos_token_id": 0, "eos_token_id": 0});
        write_json(&path.join(GENERATION_FILE), &generation)?;
        let metadata = BTreeMap::from([
            // transformers reads only files with this key, which names a framework.
            ("format".to_owned(), "pt".to_owned()),
            (VOCABULARY_KEY.to_owned(), vocabulary.to_owned()),
        ]);
        let tensors = to_hf(config, weights);
        let path = path.join(WEIGHTS_FILE);
        let bytes = TensorFile::to_bytes(&tensors, &metadata);
        write_atomically(&path, &bytes).map_err(ModelError::io(&path))
    }
}

/// Reads a `config.json`; `path` is for error messages.
fn parse_config(bytes: &[u8], path: &Path) -> Result<ModelConfig, ModelError> {
    let json: Value = json_file::parse(bytes, path)?;
    ModelConfig::try_from(json).map_err(|error| ModelError::damaged(path, error))
}

/// Whether a tensor of this name is a parameter of the model.
fn is_parameter(config: &ModelConfig) -> impl Fn(&str) -> bool {
    let format = Format::of(config.family);
    |name| format.canonical_name(name).is_some()
}

fn write_json(path: &Path, value: &Value) -> Result<(), ModelError> {
    write_atomically(path, format!("{value:#}\n").as_bytes()).map_err(ModelError::io(path))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    struct Saved {
        folder: tempfile::TempDir,
        weights: Weights,
    }

    impl Saved {
        fn new(config: ModelConfig) -> Self {
            let folder = tempfile::tempdir().unwrap();
            let config =
                ModelConfig { context: 8, width: 16, layers: 2, feed_forward_width: 24, ..config };
            let weights = Weights::random(&config, 3);
            ModelFolder::save(folder.path(), &config, &weights, "abc").unwrap();
            Self { folder, weights }
        }

        fn file(&self, name: &str) -> PathBuf {
            self.folder.path().join(name)
        }

        fn open(&self) -> Result<(ModelConfig, Weights), ModelError> {
            Ok(ModelFolder::open(self.folder.path())?.into_parts())
        }

        fn error(&self) -> String {
            self.open().unwrap_err().to_string()
        }
    }

    #[test]
    fn both_families_round_trip() {
        for config in [ModelConfig::tang_4l(11), ModelConfig::minimind_4l(11)] {
            let saved = Saved::new(config);
            let opened = ModelFolder::open(saved.folder.path()).unwrap();
            assert_eq!(opened.vocabulary_fingerprint(), Some("abc"));
            assert_eq!(saved.open().unwrap().1, saved.weights);
        }
    }

    #[test]
    fn bytes_are_read_as_their_files() {
        let saved = Saved::new(ModelConfig::tang_4l(11));
        let config = std::fs::read(saved.file(CONFIG_FILE)).unwrap();
        let weights = std::fs::read(saved.file(WEIGHTS_FILE)).unwrap();
        let opened = ModelFolder::from_bytes(&config, &weights).unwrap();
        assert_eq!(opened.vocabulary_fingerprint(), Some("abc"));
        assert_eq!(opened.into_parts(), saved.open().unwrap());
        for (config, weights, wanted) in [
            (&b"{"[..], &weights[..], "config.json: not JSON"),
            (&config, &weights[..9], "model.safetensors: not a readable"),
        ] {
            let error = ModelFolder::from_bytes(config, weights).unwrap_err().to_string();
            assert!(error.starts_with(wanted), "{error}");
        }
    }

    #[test]
    fn another_geometry_is_named() {
        let saved = Saved::new(ModelConfig::tang_4l(11));
        let config = saved.file(CONFIG_FILE);
        let good = std::fs::read_to_string(&config).unwrap();
        for (from, to, message) in [
            ("\"n_embd\": 16", "\"n_embd\": 32", "[11, 32]"),
            ("\"n_layer\": 2", "\"n_layer\": 3", "`transformer.h.2.ln_1"),
            ("\"n_layer\": 2", "\"n_layer\": 1", "has no place"),
            ("\"vocab_size\": 11", "\"vocab_size\": 12", "[12, 16]"),
            ("\"gpt2\"", "\"mamba\"", "`mamba`"),
            ("{", "", "config.json"),
        ] {
            let damaged = good.replacen(from, to, 1);
            assert_ne!(damaged, good, "{from} is not in {good}");
            std::fs::write(&config, damaged).unwrap();
            let error = saved.error();
            assert!(error.contains(message), "{error}");
        }
    }

    #[test]
    fn missing_and_damaged_files_are_named() {
        let saved = Saved::new(ModelConfig::minimind_4l(11));
        let weights = saved.file(WEIGHTS_FILE);
        let bytes = std::fs::read(&weights).unwrap();
        std::fs::write(&weights, &bytes[..bytes.len() - 3]).unwrap();
        assert!(saved.error().contains("not a readable safetensors file"));
        std::fs::remove_file(&weights).unwrap();
        assert!(saved.error().contains("holds no model"));
        std::fs::create_dir(&weights).unwrap();
        assert!(saved.error().contains(WEIGHTS_FILE));

        let file = saved.file(CONFIG_FILE);
        let error = ModelFolder::open(&file).unwrap_err().to_string();
        assert!(error.contains("is a file"), "{error}");
    }
}

//! A copy of a reference model, to change.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use safetensors::{Dtype, SafeTensors, tensor::TensorView};
use serde_json::Value;
use tang_checkpoint::{ModelConfig, ModelFolder, Weights};
use tang_engine::{Engine, KvCache, Threads};
use tang_tokenizer::TokenId;
use tempfile::TempDir;

pub const TOLERANCE: f32 = 1e-4;
pub const GPT2: &str = "gpt2-tiny";
pub const LLAMA: &str = "llama-gqa-tiny";

/// Type, shape and bytes of each tensor.
pub type Tensors = BTreeMap<String, (Dtype, Vec<usize>, Vec<u8>)>;

/// A copy of a reference model, to change.
pub struct Copied {
    pub folder: TempDir,
    pub config: Value,
    pub tensors: Tensors,
}

pub fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tang-checkpoint/tests/golden").join(name)
}

pub fn json_of(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

impl Copied {
    pub fn new(name: &str) -> Self {
        let bytes = fs::read(golden(name).join("model.safetensors")).unwrap();
        let file = SafeTensors::deserialize(&bytes).unwrap();
        let tensors = file
            .iter()
            .map(|(name, view)| {
                let parts = (view.dtype(), view.shape().to_vec(), view.data().to_vec());
                (name.to_owned(), parts)
            })
            .collect();
        Self {
            folder: tempfile::tempdir().unwrap(),
            config: json_of(&golden(name).join("config.json")),
            tensors,
        }
    }

    pub fn write_tensors(&self, file: &str, is_in: impl Fn(&str) -> bool) {
        let views = self.tensors.iter().filter(|(name, _)| is_in(name)).map(
            |(name, (dtype, shape, bytes))| {
                (name, TensorView::new(*dtype, shape.clone(), bytes).unwrap())
            },
        );
        let bytes = safetensors::serialize(views, None).unwrap();
        fs::write(self.folder.path().join(file), bytes).unwrap();
    }

    pub fn write_config(&self) {
        let text = self.config.to_string();
        fs::write(self.folder.path().join("config.json"), text).unwrap();
    }

    pub fn open(&self) -> Result<ModelFolder, String> {
        self.write_config();
        self.write_tensors("model.safetensors", |_| true);
        ModelFolder::open(self.folder.path()).map_err(|error| error.to_string())
    }

    pub fn model(&self) -> Loaded {
        Loaded::new(self.open().unwrap())
    }

    pub fn insert(&mut self, name: &str, dtype: Dtype, shape: &[usize], bytes: Vec<u8>) {
        let tensor = (dtype, shape.to_vec(), bytes);
        self.tensors.insert(name.to_owned(), tensor);
    }

    /// Removes the prefix of all names.
    pub fn without_prefix(&mut self, prefix: &str) {
        self.tensors = std::mem::take(&mut self.tensors)
            .into_iter()
            .map(|(name, tensor)| (name.strip_prefix(prefix).unwrap_or(&name).to_owned(), tensor))
            .collect();
    }
}

/// A model that was read.
pub struct Loaded {
    pub config: ModelConfig,
    pub weights: Weights,
    engine: Engine,
}

impl Loaded {
    pub fn new(folder: ModelFolder) -> Self {
        let (config, weights) = folder.into_parts();
        Self { config, engine: Engine::pack(&config, &weights).unwrap(), weights }
    }

    /// Writes it into a new folder and reads it again.
    pub fn saved_again(&self) -> (TempDir, Self) {
        let folder = tempfile::tempdir().unwrap();
        ModelFolder::save(folder.path(), &self.config, &self.weights, "abc").unwrap();
        let again = ModelFolder::open(folder.path()).unwrap();
        (folder, Self::new(again))
    }

    /// The logits of every position.
    pub fn logits(&self, tokens: &[TokenId]) -> Vec<Vec<f32>> {
        self.logits_after(tokens, &mut KvCache::new(&self.config, 1))
    }

    /// The logits of every position of tokens that follow those in a cache.
    pub fn logits_after(&self, tokens: &[TokenId], cache: &mut KvCache) -> Vec<Vec<f32>> {
        let hidden = self.engine.forward(&[tokens], cache, Threads::ONE).unwrap();
        let logits = self.engine.logits(&hidden, Threads::ONE).unwrap();
        logits.rows().map(<[f32]>::to_vec).collect()
    }
}

/// The largest difference of two rows.
pub fn distance(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    let pairs = a.iter().zip(b);
    pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

/// Asserts that a model gives the logits of the reference model.
#[track_caller]
pub fn assert_same(model: &Loaded, name: &str) {
    let expected = json_of(&golden(name).join("expected.json"));
    let tokens: Vec<TokenId> = serde_json::from_value(expected["tokens"].clone()).unwrap();
    let wanted: Vec<Vec<f32>> = serde_json::from_value(expected["logits"].clone()).unwrap();
    let got = model.logits(&tokens);
    assert_eq!(got.len(), wanted.len());
    for (got, wanted) in got.iter().zip(&wanted) {
        assert!(distance(got, wanted) < TOLERANCE);
    }
}

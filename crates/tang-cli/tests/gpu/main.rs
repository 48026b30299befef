//! A GPU gives what the CPU gives. Built with the feature `wgpu` only; needs an adapter, and one in
//! software will do.

#![cfg(test)]

mod cache;
mod command;
mod golden;
mod poems;
mod training;
// Not all of it is needed here.
#[allow(dead_code)]
#[path = "../tang/work.rs"]
mod work;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use tang_checkpoint::ModelFolder;
use tang_engine::{Engine, Logits, Model, Threads};
use tang_model::{NetworkModel, Transformer, device};
use tang_tokenizer::TokenId;

/// How far numbers of two devices may differ.
const TOLERANCE: f32 = 1e-3;

/// A path of the repository.
fn at_root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// A model on the CPU and on the GPU.
fn on_both(checkpoint: &Path) -> [Box<dyn Model>; 2] {
    let (config, weights) = ModelFolder::open(checkpoint).unwrap().into_parts();
    let engine = Arc::new(Engine::pack(&config, &weights).unwrap());
    [Box::new(engine), on_gpu(checkpoint)]
}

/// A model on the GPU.
fn on_gpu(checkpoint: &Path) -> Box<dyn Model> {
    let folder = ModelFolder::open(checkpoint).unwrap();
    let network = Transformer::from_folder(folder, &device::gpu().unwrap()).unwrap();
    Box::new(NetworkModel(Arc::new(network)))
}

/// The logits after every token of a text, in one pass without a cache.
fn position_logits(model: &dyn Model, text: &[TokenId]) -> Logits {
    let mut decoder = model.uncached(Threads::ONE);
    decoder.start(1);
    decoder.position_logits(text).unwrap()
}

/// The largest difference between two rows of numbers.
fn difference(got: &[f32], wanted: &[f32]) -> f32 {
    assert_eq!(got.len(), wanted.len());
    let pairs = got.iter().zip(wanted);
    pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

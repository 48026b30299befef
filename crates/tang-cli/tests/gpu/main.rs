//! A GPU gives what the CPU gives. Built with the feature `wgpu` only; needs an adapter, and one in
//! software will do.

mod cache;
mod command;
mod golden;
mod poems;
mod training;
// Not all of it is needed here.
#[allow(dead_code)]
#[path = "../tang/work.rs"]
mod work;

use std::path::{Path, PathBuf};

use tang_model::{ModelFolder, Transformer, device};

/// How far numbers of two devices may differ.
const TOLERANCE: f32 = 1e-3;

/// A path of the repository.
fn at_root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path)
}

/// A model on the CPU and on the GPU.
fn on_both(checkpoint: &Path) -> [Transformer; 2] {
    [device::cpu(), device::gpu().unwrap()].map(|device| {
        let folder = ModelFolder::open(checkpoint).unwrap();
        Transformer::from_folder(folder, &device).unwrap()
    })
}

/// The largest difference between two rows of numbers.
fn difference(got: &[f32], wanted: &[f32]) -> f32 {
    assert_eq!(got.len(), wanted.len());
    let pairs = got.iter().zip(wanted);
    pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

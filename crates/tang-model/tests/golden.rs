//! Models that Hugging Face transformers wrote give the logits and the greedy tokens that they give
//! there.

use std::path::{Path, PathBuf};

use burn::tensor::{Int, Tensor, TensorData};
use serde::Deserialize;
use tang_model::{KvCache, ModelFolder, Transformer, device};

const MODELS: [&str; 4] = [
    "gpt2-tiny",
    "llama-mha-tiny",
    "llama-gqa-tiny",
    "llama-mqa-tiny",
];
const TOLERANCE: f32 = 1e-4;

#[derive(Deserialize)]
struct Expected {
    tokens: Vec<i32>,
    logits: Vec<Vec<f32>>,
    greedy_prompt: Vec<i32>,
    greedy_tokens: Vec<i32>,
    smallest_top1_margin: f32,
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../tang-checkpoint/tests/golden")
        .join(name)
}

fn open(folder: &Path) -> Transformer {
    let opened = ModelFolder::open(folder).unwrap();
    assert_eq!(opened.vocabulary_fingerprint(), None);
    Transformer::from_folder(opened, &device::cpu()).unwrap()
}

fn expected(name: &str) -> Expected {
    let text = std::fs::read_to_string(folder(name).join("expected.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// The logits of every position.
fn logits(model: &Transformer, tokens: &[i32], cache: Option<&mut KvCache>) -> Vec<Vec<f32>> {
    let data = TensorData::new(tokens.to_vec(), [1, tokens.len()]);
    let ids = Tensor::<2, Int>::from_data(data, &device::cpu());
    let config = model.config();
    let hidden = model.forward(ids, cache).unwrap();
    let flat: Vec<f32> = model
        .logits(hidden.reshape([tokens.len(), config.width]))
        .into_data()
        .try_into_vec_as()
        .unwrap();
    flat.chunks(config.vocab_size)
        .map(<[f32]>::to_vec)
        .collect()
}

fn best(logits: &[f32]) -> i32 {
    let (token, _) = logits
        .iter()
        .enumerate()
        .max_by(|a, b| a.1.total_cmp(b.1))
        .unwrap();
    token as i32
}

#[track_caller]
fn assert_logits(model: &Transformer, expected: &Expected, name: &str) {
    let got = logits(model, &expected.tokens, None);
    assert_eq!(got.len(), expected.logits.len());
    for (got, wanted) in got.iter().flatten().zip(expected.logits.iter().flatten()) {
        assert!((got - wanted).abs() < TOLERANCE, "{name}: {got} {wanted}");
    }
}

#[test]
fn logits_are_those_of_transformers() {
    for name in MODELS {
        assert_logits(&open(&folder(name)), &expected(name), name);
    }
}

#[test]
fn greedy_tokens_are_those_of_transformers_to_the_last_position() {
    for name in MODELS {
        let (model, expected) = (open(&folder(name)), expected(name));
        // No rounding within the tolerance can turn a choice.
        assert!(expected.smallest_top1_margin > 2.0 * TOLERANCE);
        let context = model.config().context;
        assert_eq!(expected.greedy_tokens.len(), context);

        let mut full = expected.greedy_prompt.clone();
        while full.len() < context {
            let last = logits(&model, &full, None).pop().unwrap();
            full.push(best(&last));
        }
        assert_eq!(full, expected.greedy_tokens, "{name} without the cache");

        let mut cache = KvCache::new(model.config(), 1, context, &device::cpu());
        let mut cached = expected.greedy_prompt.clone();
        let mut new = cached.clone();
        while cached.len() < context {
            let last = logits(&model, &new, Some(&mut cache)).pop().unwrap();
            new = vec![best(&last)];
            cached.extend(&new);
        }
        assert_eq!(cached, expected.greedy_tokens, "{name} with the cache");
    }
}

#[test]
fn what_is_saved_again_gives_the_same_logits() {
    for name in MODELS {
        let copy = tempfile::tempdir().unwrap();
        let model = open(&folder(name));
        ModelFolder::save(copy.path(), model.config(), &model.weights(), "abc").unwrap();
        let opened = ModelFolder::open(copy.path()).unwrap();
        let model = Transformer::from_folder(opened, &device::cpu()).unwrap();
        assert_logits(&model, &expected(name), name);
    }
}

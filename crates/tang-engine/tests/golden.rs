//! Models that Hugging Face transformers wrote give the logits and the greedy tokens that they give
//! there.

#![cfg(test)]

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::Deserialize;
use tang_checkpoint::ModelFolder;
use tang_engine::{CachedDecoder, Decoder, Engine, FullDecoder, KvCache, Threads};
use tang_tokenizer::TokenId;

const MODELS: [&str; 4] = ["gpt2-tiny", "llama-mha-tiny", "llama-gqa-tiny", "llama-mqa-tiny"];
const TOLERANCE: f32 = 1e-4;

#[derive(Deserialize)]
struct Expected {
    tokens: Vec<TokenId>,
    logits: Vec<Vec<f32>>,
    greedy_prompt: Vec<TokenId>,
    greedy_tokens: Vec<TokenId>,
    smallest_top1_margin: f32,
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tang-checkpoint/tests/golden").join(name)
}

fn engine(folder: &Path) -> Arc<Engine> {
    let (config, weights) = ModelFolder::open(folder).unwrap().into_parts();
    Arc::new(Engine::pack(&config, &weights).unwrap())
}

fn expected(name: &str) -> Expected {
    let text = std::fs::read_to_string(folder(name).join("expected.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn best(logits: &[f32]) -> TokenId {
    let best = (0..).zip(logits).max_by(|a, b| a.1.total_cmp(b.1));
    best.unwrap().0
}

#[track_caller]
fn assert_logits(engine: &Engine, expected: &Expected, name: &str) {
    let mut cache = KvCache::new(engine.config(), 1);
    let hidden = engine.forward(&[&expected.tokens], &mut cache, Threads::ONE).unwrap();
    let logits = engine.logits(&hidden, Threads::ONE).unwrap();
    assert_eq!(logits.rows().len(), expected.logits.len());
    for (got, wanted) in logits.rows().flatten().zip(expected.logits.iter().flatten()) {
        assert!((got - wanted).abs() < TOLERANCE, "{name}: {got} {wanted}");
    }
}

#[test]
fn logits_are_those_of_transformers() {
    for name in MODELS {
        assert_logits(&engine(&folder(name)), &expected(name), name);
    }
}

#[test]
fn greedy_tokens_are_those_of_transformers_to_the_last_position() {
    for name in MODELS {
        let (engine, expected) = (engine(&folder(name)), expected(name));
        // No rounding within the tolerance can turn a choice.
        assert!(expected.smallest_top1_margin > 2.0 * TOLERANCE);
        assert_eq!(expected.greedy_tokens.len(), engine.config().context);
        let cached = greedy(CachedDecoder::new(&engine, Threads::new(2)), &expected);
        assert_eq!(cached, expected.greedy_tokens, "{name} with the cache");
        let full = greedy(FullDecoder::new(&engine, Threads::ONE), &expected);
        assert_eq!(full, expected.greedy_tokens, "{name} without the cache");
    }
}

fn greedy(mut decoder: impl Decoder, expected: &Expected) -> Vec<TokenId> {
    let mut tokens = expected.greedy_prompt.clone();
    let mut logits = decoder.prefill(&[&tokens]).unwrap();
    loop {
        let token = best(logits.row(0));
        tokens.push(token);
        if tokens.len() == decoder.context() {
            return tokens;
        }
        logits = decoder.decode(&[token]).unwrap();
    }
}

#[test]
fn what_is_saved_again_gives_the_same_logits() {
    for name in MODELS {
        let copy = tempfile::tempdir().unwrap();
        let (config, weights) = ModelFolder::open(&folder(name)).unwrap().into_parts();
        ModelFolder::save(copy.path(), &config, &weights, "abc").unwrap();
        assert_logits(&engine(copy.path()), &expected(name), name);
    }
}

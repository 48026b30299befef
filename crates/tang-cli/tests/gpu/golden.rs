//! Models that Hugging Face transformers wrote.

use std::fs;

use serde::Deserialize;
use tang_engine::{Decoder, Threads};
use tang_tokenizer::TokenId;

use crate::{TOLERANCE, at_root, difference, on_gpu, position_logits};

const MODELS: [&str; 4] = ["gpt2-tiny", "llama-mha-tiny", "llama-gqa-tiny", "llama-mqa-tiny"];

#[derive(Deserialize)]
struct Expected {
    tokens: Vec<TokenId>,
    logits: Vec<Vec<f32>>,
    greedy_prompt: Vec<TokenId>,
    greedy_tokens: Vec<TokenId>,
}

#[test]
fn logits_and_greedy_tokens_are_those_of_transformers() {
    for name in MODELS {
        let folder = at_root("crates/tang-checkpoint/tests/golden").join(name);
        let expected = fs::read_to_string(folder.join("expected.json")).unwrap();
        let expected: Expected = serde_json::from_str(&expected).unwrap();
        let model = on_gpu(&folder);

        let logits = position_logits(&*model, &expected.tokens);
        assert_eq!(logits.rows().count(), expected.logits.len());
        for (got, wanted) in logits.rows().zip(&expected.logits) {
            let gap = difference(got, wanted);
            assert!(gap < TOLERANCE, "{name}: {gap}");
        }
        for mut decoder in [model.cached(Threads::ONE), model.uncached(Threads::ONE)] {
            let tokens =
                greedy(&mut *decoder, &expected.greedy_prompt, expected.greedy_tokens.len());
            assert_eq!(tokens, expected.greedy_tokens, "{name}");
        }
    }
}

fn greedy(decoder: &mut dyn Decoder, prompt: &[TokenId], length: usize) -> Vec<TokenId> {
    let mut tokens = prompt.to_vec();
    let mut logits = decoder.prefill(&[prompt]).unwrap();
    loop {
        let best = logits.row(0).iter().enumerate();
        let (best, _) = best.max_by(|a, b| a.1.total_cmp(b.1)).unwrap();
        tokens.push(best as TokenId);
        if tokens.len() == length {
            return tokens;
        }
        logits = decoder.decode(&[best as TokenId]).unwrap();
    }
}

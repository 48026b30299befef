//! The cache on a GPU.

use tang_engine::{Model, Threads};
use tang_tokenizer::TokenId;

use crate::{TOLERANCE, at_root, difference, on_both, position_logits};

const MODELS: [&str; 2] = ["checkpoints/tang-4l", "checkpoints/minimind-4l"];

/// Tokens of a text: longer than the blocks in which kernels for GPUs read it.
const LENGTH: usize = 80;

fn tokens(seed: u32) -> Vec<TokenId> {
    let ids = (0..LENGTH as u32).map(|i| (i * i * 97 + i * 31 + seed * 1009) % 6289);
    ids.collect()
}

#[test]
fn every_way_through_the_cache_gives_what_the_cpu_gives_without_it() {
    for name in MODELS {
        let [cpu, gpu] = on_both(&at_root(name));
        let text = tokens(1);
        let wanted = position_logits(&*cpu, &text);
        let check = |what: &str, from: usize, got: &[&[f32]]| {
            for (got, wanted) in got.iter().zip(wanted.rows().skip(from)) {
                let gap = difference(got, wanted);
                assert!(gap < TOLERANCE, "{name}, {what}: {gap}");
            }
        };
        let whole = position_logits(&*gpu, &text);
        check("without", 0, &whole.rows().collect::<Vec<_>>());
        for cut in [1, 40, LENGTH - 1] {
            let mut decoder = gpu.cached(Threads::ONE);
            decoder.start(1);
            for (from, piece) in [(0, &text[..cut]), (cut, &text[cut..])] {
                let logits = decoder.position_logits(piece).unwrap();
                check("cut", from, &logits.rows().collect::<Vec<_>>());
            }
        }
        let mut decoder = gpu.cached(Threads::ONE);
        let first = decoder.prefill(&[&text[..1]]).unwrap();
        check("prefill", 0, &[first.row(0)]);
        for (place, token) in text.iter().enumerate().skip(1) {
            let logits = decoder.decode(&[*token]).unwrap();
            check("token by token", place, &[logits.row(0)]);
        }
    }
}

#[test]
fn rows_of_different_lengths_give_what_each_gives_alone() {
    for name in MODELS {
        let [cpu, gpu] = on_both(&at_root(name));
        let texts = [tokens(2), tokens(3), tokens(4)];
        let lengths = [5, 60, 12];
        let alone = |row: usize, added: usize| last(&*cpu, &texts[row][..lengths[row] + added]);
        let mut decoder = gpu.cached(Threads::ONE);
        let prompts: Vec<&[TokenId]> = texts.iter().zip(lengths).map(|(t, n)| &t[..n]).collect();
        let logits = decoder.prefill(&prompts).unwrap();
        for row in 0..3 {
            let gap = difference(logits.row(row), &alone(row, 0));
            assert!(gap < TOLERANCE, "{name}, prefill, row {row}: {gap}");
        }
        // Row 1 ends, and the others go on in another order.
        let order = [2, 0];
        decoder.select(&order);
        for step in 0..4 {
            let next = order.map(|row| texts[row][lengths[row] + step]);
            let logits = decoder.decode(&next).unwrap();
            for (place, row) in order.into_iter().enumerate() {
                let gap = difference(logits.row(place), &alone(row, step + 1));
                assert!(gap < TOLERANCE, "{name}, step {step}, row {row}: {gap}");
            }
        }
        // A truncated token is not attended to any more.
        decoder.truncate(&[lengths[2], lengths[0]]);
        let next = order.map(|row| texts[row][lengths[row]]);
        let logits = decoder.decode(&next).unwrap();
        for (place, row) in order.into_iter().enumerate() {
            let gap = difference(logits.row(place), &alone(row, 1));
            assert!(gap < TOLERANCE, "{name}, again, row {row}: {gap}");
        }
    }
}

fn last(model: &dyn Model, text: &[TokenId]) -> Vec<f32> {
    let logits = position_logits(model, text);
    logits.row(text.len() - 1).to_vec()
}

//! Logits are the same bits alone and in a batch, on one thread and several, with the cache and
//! without, and with the prompt cut anywhere.

#![cfg(test)]

use std::sync::Arc;

use tang_checkpoint::{ModelConfig, Weights, parameters};
use tang_engine::{CachedDecoder, Decoder, Engine, EngineError, FullDecoder, KvCache, Threads};
use tang_tokenizer::TokenId;

const CONTEXT: usize = 40;
const VOCABULARY: usize = 67;
const TWO: Threads = Threads::new(2);

/// One model of each kind: multi-head with learned positions; multi-head, grouped and multi-query
/// with rotary ones; and one whose head is not its embedding.
fn engines() -> Vec<Arc<Engine>> {
    let small = |config| ModelConfig {
        context: CONTEXT,
        width: 32,
        layers: 3,
        feed_forward_width: 72,
        ..config
    };
    let llama = |kv_heads| ModelConfig { kv_heads, ..small(ModelConfig::minimind_4l(VOCABULARY)) };
    let gpt2 = small(ModelConfig::tang_4l(VOCABULARY));
    let untied = ModelConfig { tied_head: false, ..llama(2) };
    [gpt2, llama(4), llama(2), llama(1), untied].map(|config| engine(&config)).into()
}

/// Trained weights are far from their small starting values; these are, too.
fn engine(config: &ModelConfig) -> Arc<Engine> {
    let mut weights = Weights::default();
    for (n, spec) in parameters(config).into_iter().enumerate() {
        let values = (0..spec.numel())
            .map(|i| ((i * 7919 + n * 104_729) as f32 * 0.618).sin() * 0.5)
            .collect();
        weights.insert(spec.path, spec.shape, values);
    }
    Arc::new(Engine::pack(config, &weights).unwrap())
}

fn tokens(seed: usize, count: usize) -> Vec<TokenId> {
    (0..count).map(|i| ((i * i * 5 + i * 3 + seed * 11) % VOCABULARY) as TokenId).collect()
}

/// The bits of the logits at every position of a row, in one pass without a cache.
fn full(engine: &Engine, row: &[TokenId]) -> Vec<Vec<u32>> {
    let mut scratch = KvCache::new(engine.config(), 1);
    let hidden = engine.forward(&[row], &mut scratch, Threads::ONE).unwrap();
    let logits = engine.logits(&hidden, Threads::ONE).unwrap();
    logits.rows().map(bits).collect()
}

fn bits(logits: &[f32]) -> Vec<u32> {
    logits.iter().map(|logit| logit.to_bits()).collect()
}

#[test]
fn logits_of_different_positions_differ() {
    // Without this, the comparisons below could pass on a network that ignores its input.
    for engine in engines() {
        let logits = full(&engine, &tokens(0, 4));
        let [second, third] = [1, 2].map(|position| f32::from_bits(logits[position][0]));
        assert!((second - third).abs() > 1e-3);
    }
}

#[test]
fn no_position_sees_a_later_one() {
    for engine in engines() {
        let mut row = tokens(0, CONTEXT);
        let before = full(&engine, &row);
        for changed in (1..CONTEXT).rev() {
            row[changed] = (row[changed] + 1) % VOCABULARY as TokenId;
            let after = full(&engine, &row);
            assert_eq!(before[..changed], after[..changed]);
            assert_ne!(before[changed], after[changed]);
        }
    }
}

#[test]
fn the_loss_of_random_weights_is_that_of_a_uniform_guess() {
    for config in [ModelConfig::tang_4l(6289), ModelConfig::minimind_4l(6289)] {
        let engine = Engine::pack(&config, &Weights::random(&config, 0)).unwrap();
        let mut decoder = CachedDecoder::new(&Arc::new(engine), Threads::ONE);
        let row: Vec<TokenId> = (0..64).map(|i| (i * 97) % 6289).collect();
        decoder.start(1);
        let logits = decoder.position_logits(&row[..63]).unwrap();
        let nats: f64 = (0..63).map(|position| -logits.log_prob(position, row[position + 1])).sum();
        let (loss, uniform) = (nats / 63.0, 6289_f64.ln());
        assert!((loss / uniform - 1.0).abs() < 0.05, "{loss} {uniform}");
    }
}

#[test]
fn token_by_token_gives_the_bits_of_one_pass() {
    for engine in engines() {
        let row = tokens(1, CONTEXT);
        let wanted = full(&engine, &row);
        for threads in [Threads::ONE, TWO] {
            let mut decoder = CachedDecoder::new(&engine, threads);
            let first = decoder.prefill(&[&row[..1]]).unwrap();
            assert_eq!(bits(first.row(0)), wanted[0]);
            for (position, token) in row.iter().enumerate().skip(1) {
                let logits = decoder.decode(&[*token]).unwrap();
                assert_eq!(bits(logits.row(0)), wanted[position], "at {position}");
            }
        }
    }
}

#[test]
fn a_prompt_cut_anywhere_gives_the_bits_of_one_pass() {
    for engine in engines() {
        let row = tokens(2, CONTEXT);
        let wanted = full(&engine, &row);
        for cut in 1..CONTEXT {
            let mut cache = KvCache::new(engine.config(), 1);
            engine.forward(&[&row[..cut]], &mut cache, TWO).unwrap();
            let hidden = engine.forward(&[&row[cut..]], &mut cache, TWO).unwrap();
            let logits = engine.logits(&hidden, TWO).unwrap();
            for (logits, wanted) in logits.rows().zip(&wanted[cut..]) {
                assert_eq!(&bits(logits), wanted, "cut at {cut}");
            }
        }
    }
}

#[test]
fn any_batch_gives_each_row_the_bits_that_it_has_alone() {
    for engine in engines() {
        for batch in [2, 3, 4, 5, 9, 17] {
            for threads in [Threads::ONE, TWO, Threads::new(3)] {
                let rows: Vec<Vec<TokenId>> =
                    (0..batch).map(|seed| tokens(seed, 1 + seed * 7 % 23)).collect();
                let prompts: Vec<&[TokenId]> = rows.iter().map(Vec::as_slice).collect();
                let mut cached = CachedDecoder::new(&engine, threads);
                let mut uncached = FullDecoder::new(&engine, threads);
                let mut logits =
                    [cached.prefill(&prompts).unwrap(), uncached.prefill(&prompts).unwrap()];
                let mut texts = rows.clone();
                for step in 0..3 {
                    for (index, text) in texts.iter_mut().enumerate() {
                        let wanted = full(&engine, text).pop().unwrap();
                        for logits in &logits {
                            assert_eq!(bits(logits.row(index)), wanted, "row {index} of {batch}");
                        }
                        text.push((index + step) as TokenId);
                    }
                    // One token per row, or one more in some rows.
                    let mut new = Vec::new();
                    for (index, text) in texts.iter_mut().enumerate() {
                        let first = text.len() - 1;
                        text.extend(tokens(index, step * (index % 2)));
                        new.push(first..text.len());
                    }
                    let rows: Vec<&[TokenId]> =
                        texts.iter().zip(new).map(|(text, new)| &text[new]).collect();
                    logits = [cached.append(&rows).unwrap(), uncached.append(&rows).unwrap()];
                }
            }
        }
    }
}

#[test]
fn selected_and_truncated_rows_go_on_where_they_were() {
    for engine in engines() {
        let rows: Vec<Vec<TokenId>> = (0..4).map(|seed| tokens(seed, 3 + 5 * seed)).collect();
        let prompts: Vec<&[TokenId]> = rows.iter().map(Vec::as_slice).collect();
        for order in [&[0, 1, 2, 3][..], &[3, 1], &[2, 2, 0], &[1, 0, 3, 2, 1], &[]] {
            let mut decoder = CachedDecoder::new(&engine, TWO);
            decoder.prefill(&prompts).unwrap();
            decoder.select(order);
            let lengths: Vec<usize> = order.iter().map(|row| rows[*row].len() - row).collect();
            decoder.truncate(&lengths);
            let next: Vec<TokenId> = (0..order.len() as TokenId).collect();
            let logits = decoder.decode(&next).unwrap();
            assert_eq!(logits.rows().len(), order.len());
            for (index, row) in order.iter().enumerate() {
                let mut text = rows[*row][..lengths[index]].to_vec();
                text.push(next[index]);
                let wanted = full(&engine, &text).pop().unwrap();
                assert_eq!(bits(logits.row(index)), wanted, "{order:?}, row {index}");
            }
        }
    }
}

#[test]
fn a_full_cache_is_an_error_and_stays_as_it_is() {
    let engine = engines().remove(0);
    let row = tokens(0, CONTEXT + 1);
    let mut decoder = CachedDecoder::new(&engine, Threads::ONE);
    let too_long = decoder.prefill(&[&row]);
    assert!(matches!(too_long, Err(EngineError::TextTooLong { length: 41, context: 40 })));
    decoder.prefill(&[&row[..CONTEXT - 1]]).unwrap();
    decoder.decode(&[1]).unwrap();
    let full = decoder.decode(&[2]);
    assert!(matches!(full, Err(EngineError::ContextFull { held: 40, added: 1, capacity: 40 })));
    assert_eq!(decoder.cache().lengths(), [CONTEXT]);
}

#[test]
fn rows_grow_with_their_tokens() {
    let config = ModelConfig { context: 1000, ..*engines()[2].config() };
    let engine = engine(&config);
    let per_token = config.cache_bytes_per_token();
    let mut cache = KvCache::new(&config, 2);
    assert_eq!((cache.allocated_bytes(), cache.used_bytes()), (0, 0));
    cache.reserve(2, 20).unwrap();
    let rows = [tokens(0, 3), tokens(1, 5)];
    engine.forward(&[&rows[0], &rows[1]], &mut cache, Threads::ONE).unwrap();
    // Memory is in blocks of 16 tokens.
    assert_eq!(cache.allocated_bytes(), 2 * 32 * per_token);
    assert_eq!(cache.used_bytes(), 8 * per_token);

    // A row that grows keeps what it holds.
    let row = tokens(4, 400);
    let wanted = full(&engine, &row);
    let mut decoder = CachedDecoder::new(&engine, Threads::ONE);
    decoder.reserve(1, 400).unwrap();
    decoder.prefill(&[&row[..1]]).unwrap();
    assert_eq!(decoder.cache().allocated_bytes(), 128 * per_token);
    for (token, wanted) in row.iter().zip(&wanted).skip(1) {
        let logits = decoder.decode(&[*token]).unwrap();
        assert_eq!(&bits(logits.row(0)), wanted);
    }
    assert_eq!(decoder.cache().allocated_bytes(), 400 * per_token);
}

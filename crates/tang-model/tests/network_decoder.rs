//! A network of tensor operations gives the logits that the engine gives.

#![cfg(test)]

use std::sync::Arc;

use tang_checkpoint::{ModelConfig, Weights, parameters};
use tang_engine::{CachedDecoder, Decoder, Engine, EngineError, Logits, Threads};
use tang_model::{NetworkDecoder, Transformer, device};
use tang_tokenizer::TokenId;

const TOLERANCE: f32 = 1e-4;
const VOCABULARY: usize = 301;

/// Both families in their own sizes; and sizes that fill no vector.
fn configs() -> [ModelConfig; 4] {
    let odd = |config| ModelConfig {
        width: 36,
        heads: 6,
        kv_heads: 6,
        feed_forward_width: 50,
        layers: 2,
        context: 200,
        ..config
    };
    let (gpt2, llama) = (ModelConfig::tang_4l(VOCABULARY), ModelConfig::minimind_4l(VOCABULARY));
    let shared = ModelConfig { kv_heads: 2, tied_head: false, ..odd(llama) };
    [gpt2, llama, odd(gpt2), shared]
}

/// The engine, the network with a cache, and without.
fn decoders(config: &ModelConfig) -> [Box<dyn Decoder>; 3] {
    let mut weights = Weights::default();
    for (n, spec) in parameters(config).into_iter().enumerate() {
        // Trained weights are far from their small starting values; these are, too.
        let values = (0..spec.numel())
            .map(|i| ((i * 7919 + n * 104_729) as f32 * 0.618).sin() * 0.2)
            .collect();
        weights.insert(spec.path, spec.shape, values);
    }
    let engine = Arc::new(Engine::pack(config, &weights).unwrap());
    let network = Arc::new(Transformer::new(*config, weights, &device::cpu()).unwrap());
    [
        Box::new(CachedDecoder::new(&engine, Threads::ONE)),
        Box::new(NetworkDecoder::cached(&network)),
        Box::new(NetworkDecoder::uncached(&network)),
    ]
}

fn tokens(seed: usize, count: usize) -> Vec<TokenId> {
    (0..count).map(|i| ((i * i * 5 + i * 3 + seed * 11) % VOCABULARY) as TokenId).collect()
}

#[track_caller]
fn assert_close(got: &Logits, wanted: &Logits, step: &str) {
    assert_eq!(got.rows().len(), wanted.rows().len(), "{step}");
    for (row, (got, wanted)) in got.rows().zip(wanted.rows()).enumerate() {
        for (a, b) in got.iter().zip(wanted) {
            assert!((a - b).abs() < TOLERANCE, "{step}, row {row}: {a} {b}");
        }
    }
}

/// Does a step with all decoders and compares their logits.
#[track_caller]
fn compare(
    decoders: &mut [Box<dyn Decoder>; 3],
    step: &str,
    work: impl Fn(&mut dyn Decoder) -> Logits,
) {
    let [engine, network, uncached] = decoders.each_mut().map(|decoder| work(&mut **decoder));
    assert_close(&network, &engine, &format!("{step}, with a cache"));
    assert_close(&uncached, &engine, &format!("{step}, without"));
}

#[test]
fn every_position_of_a_text() {
    for config in configs() {
        let mut decoders = decoders(&config);
        for length in [1, 7, 31, 120] {
            let text = tokens(1, length);
            let step = format!("{:?}, {length} tokens", config.family);
            compare(&mut decoders, &step, |decoder| {
                decoder.start(1);
                decoder.position_logits(&text).unwrap()
            });
            compare(&mut decoders, &format!("{step} and 3 more"), |decoder| {
                decoder.position_logits(&[5, 6, 7]).unwrap()
            });
        }
    }
}

#[test]
fn rows_with_their_own_lengths() {
    for config in configs() {
        let mut decoders = decoders(&config);
        let family = config.family;
        let prompts: Vec<Vec<TokenId>> = [6, 2, 5, 6, 3]
            .into_iter()
            .enumerate()
            .map(|(seed, length)| tokens(seed, length))
            .collect();
        let prompts: Vec<&[TokenId]> = prompts.iter().map(Vec::as_slice).collect();
        let decode = |tokens: &'static [TokenId]| {
            move |decoder: &mut dyn Decoder| decoder.decode(tokens).unwrap()
        };
        compare(&mut decoders, &format!("{family:?}, prefill"), |decoder| {
            decoder.prefill(&prompts).unwrap()
        });
        compare(&mut decoders, "one token each", decode(&[1, 2, 3, 4, 5]));
        for decoder in &mut decoders {
            decoder.select(&[0, 2, 4]);
        }
        compare(&mut decoders, "three rows", decode(&[9, 8, 7]));
        for decoder in &mut decoders {
            // Reordered, doubled and shortened.
            decoder.select(&[2, 0, 0, 1]);
            decoder.truncate(&[5, 3, 8, 1]);
        }
        compare(&mut decoders, "four rows", decode(&[3, 1, 4, 1]));
        let ragged: [&[TokenId]; 4] = [&[1], &[2, 3, 4], &[5, 6], &[7]];
        compare(&mut decoders, "ragged", |decoder| decoder.append(&ragged).unwrap());
    }
}

/// Padding of the shorter rows goes beyond the context.
#[test]
fn a_ragged_append_near_the_context() {
    for config in [configs()[2], configs()[3]] {
        let mut decoders = decoders(&config);
        let (long, short, new) = (tokens(1, config.context - 1), tokens(2, 3), tokens(3, 90));
        for decoder in &mut decoders {
            decoder.prefill(&[&long, &short]).unwrap();
        }
        compare(&mut decoders, "ragged", |decoder| decoder.append(&[&[1], &new]).unwrap());
        for decoder in &mut decoders {
            decoder.select(&[1, 1]);
        }
        compare(&mut decoders, "after it", |decoder| decoder.decode(&[5, 6]).unwrap());
    }
}

#[test]
fn a_cache_grows_to_the_context_and_stops_there() {
    let config = configs()[3];
    let mut decoders = decoders(&config);
    let text = tokens(4, config.context - 1);
    compare(&mut decoders, "prefill", |decoder| decoder.prefill(&[&text[..100]]).unwrap());
    compare(&mut decoders, "more than twice as many", |decoder| {
        decoder.append(&[&text[100..]]).unwrap()
    });
    compare(&mut decoders, "the last one", |decoder| decoder.decode(&[1]).unwrap());
    for decoder in &mut decoders {
        assert!(matches!(
            decoder.decode(&[1]),
            Err(EngineError::ContextFull { held: 200, added: 1, capacity: 200 })
        ));
        assert!(matches!(
            decoder.prefill(&[&tokens(0, 201)]),
            Err(EngineError::TextTooLong { length: 201, context: 200 })
        ));
    }
}

//! The laboratory takes no peculiarity of a model for a fault of the cache.

use std::sync::Arc;

use tang_checkpoint::{ModelConfig, ParameterSpec, Weights, parameters};
use tang_engine::{Engine, Threads};
use tang_lab::{
    BenchPlan, LabModel, Provenance, batch_exactness, bench_cache, cache_paths, exactness,
    fresh_runs, prefix_reuse,
};
use tang_tokenizer::Vocabulary;

const TEXT: &str = "床前明月光，疑是地上霜。举头望山月，低头思故乡。春眠不觉晓，夏秋冬风一路平安高";

/// A model whose parameter number `n` has the value `value(specification, n, i)` at place i.
fn lab(
    config: impl Fn(usize) -> ModelConfig,
    value: impl Fn(&ParameterSpec, usize, usize) -> f32,
) -> LabModel {
    let vocabulary = Vocabulary::from_texts([TEXT]);
    let config = ModelConfig {
        width: 64,
        feed_forward_width: 64,
        layers: 2,
        tied_head: false,
        ..config(vocabulary.len())
    };
    assert!(vocabulary.len() <= config.width);
    let mut weights = Weights::default();
    for (n, spec) in parameters(&config).into_iter().enumerate() {
        let values = (0..spec.numel()).map(|i| value(&spec, n, i)).collect();
        weights.insert(spec.path, spec.shape, values);
    }
    LabModel {
        model: Box::new(Arc::new(Engine::pack(&config, &weights).unwrap())),
        vocabulary,
        name: "odd".to_owned(),
        threads: Threads::available(),
    }
}

/// A model that is sure of token `next(t)` after token t.
fn sure(next: impl Fn(usize) -> usize) -> LabModel {
    lab(ModelConfig::minimind_4l, |spec, _, i| {
        let [row, column] = [i / 64, i % 64];
        match spec.path.as_str() {
            "token_embedding" => f32::from(u8::from(row == column)),
            "output_head" => 5.0 * f32::from(u8::from(row == next(column))),
            path if path.contains("norm") => 1.0,
            _ => 0.0,
        }
    })
}

#[test]
fn a_model_that_is_sure_of_every_token() {
    let size = Vocabulary::from_texts([TEXT]).len();
    // It never ends, ends at once, or ends after each token.
    let chains: [&dyn Fn(usize) -> usize; 3] =
        [&|token| 1 + token % (size - 1), &|_| 0, &|token| {
            if token == 0 { 5 } else { 0 }
        }];
    for next in chains {
        let labs = [sure(next)];
        let provenance = Provenance::this("CPU".to_owned(), None);
        let bench = bench_cache(&labs, BenchPlan::QUICK, provenance, &mut |_| {}).unwrap();
        let batch = &bench.models[0].batch;
        assert_eq!((batch.draws, batch.distinct_draws), (16, 1));
        assert!(batch.same_draws_probability > 0.99, "{batch}");
        let page = bench.to_string();
        assert!(page.contains("all are the same 100 times in 100"), "{page}");
    }
}

/// Weights as large as trained ones, and some times larger in the head or everywhere.
fn scaled(config: impl Fn(usize) -> ModelConfig, head: f32, all: f32) -> LabModel {
    lab(config, |spec, n, i| {
        let value = ((i * 7919 + n * 104_729) as f32 * 0.618).sin();
        match spec.path.as_str() {
            "output_head" => head * value,
            path if path.contains("norm") => 1.0,
            _ => all * value,
        }
    })
}

#[test]
fn logits_of_any_size_are_the_same_bits() {
    // Logits up to 20, 45, 1,300 and 1.3 million.
    for (head, all) in [(0.5, 0.5), (1.0, 1.0), (30.0, 0.5), (3e4, 0.5)] {
        for config in [ModelConfig::tang_4l, ModelConfig::minimind_4l] {
            let lab = scaled(config, head, all);
            let paths = cache_paths(&lab).unwrap();
            let exact = exactness(&lab, 40, &mut |_| {}).unwrap();
            let batch = batch_exactness(&lab, 16).unwrap();
            fresh_runs(&lab).unwrap();
            prefix_reuse(&lab, 1).unwrap();
            // Sums are added in one order, whatever is around them.
            let differences = [
                paths.token_by_token,
                paths.prefill_plus_one,
                paths.cut_prefill,
                exact.largest_logit_difference,
                batch.largest_logit_difference,
            ];
            assert_eq!(differences, [0.0; 5]);
        }
    }
}

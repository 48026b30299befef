//! The suite on small models, and on odd ones.

#![cfg(test)]

use std::sync::{Arc, Mutex};

use serde_json::json;
use tang_checkpoint::{ModelConfig, ParameterSpec, Weights, parameters};
use tang_engine::{Engine, Threads};
use tang_tokenizer::Vocabulary;

use super::*;

/// A model of these weights that knows the characters of some texts.
pub(crate) fn lab(config: &ModelConfig, weights: &Weights, vocabulary: Vocabulary) -> LabModel {
    LabModel {
        model: Box::new(Arc::new(Engine::pack(config, weights).unwrap())),
        vocabulary,
        name: "untrained".to_owned(),
        threads: Threads::available(),
        is_exact: true,
        on_progress: Arc::new(|_| {}),
    }
}

/// A model with random weights that knows the characters of some texts.
pub(crate) fn untrained<'a>(
    texts: impl IntoIterator<Item = &'a str>,
    config: impl Fn(usize) -> ModelConfig,
) -> LabModel {
    let vocabulary = Vocabulary::from_texts(texts);
    let config = ModelConfig { width: 16, feed_forward_width: 64, ..config(vocabulary.len()) };
    lab(&config, &Weights::random(&config, 1), vocabulary)
}

/// A model as small as can be.
pub(crate) fn small(config: impl Fn(usize) -> ModelConfig) -> LabModel {
    untrained(["床前明月光疑是地上霜"], |size| ModelConfig {
        layers: 2,
        context: 48,
        ..config(size)
    })
}

const TEXT: &str = "床前明月光，疑是地上霜。举头望山月，低头思故乡。春眠不觉晓，夏秋冬风一路平安高";

fn suite_lab() -> LabModel {
    let text = format!("{TEXT}水长天下");
    untrained([text.as_str()], |size| ModelConfig { layers: 2, ..ModelConfig::tang_4l(size) })
}

/// A model that keeps its notes.
fn noting(mut lab: LabModel) -> (LabModel, Arc<Mutex<Vec<String>>>) {
    let notes = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&notes);
    lab.on_progress = Arc::new(move |note: &str| kept.lock().unwrap().push(note.to_owned()));
    (lab, notes)
}

#[test]
fn the_cache_is_exact_on_every_path() {
    let lab = suite_lab();
    let paths = serde_json::to_value(cache_paths(&lab).unwrap()).unwrap();
    assert_eq!(paths["lengths"], 128);
    let exact = exactness(&lab, 40).unwrap();
    assert_eq!((exact.cases, exact.ties), (40, 0));
    assert!(exact.tokens > 40 * 15, "{exact}");
    assert!(exact.smallest_margin > 0.0 && exact.smallest_margin < 0.1);
}

#[test]
fn a_batch_is_exact_and_rows_that_ended_cost_nothing() {
    let batch = batch_exactness(&suite_lab(), 40).unwrap();
    let json = serde_json::to_value(batch).unwrap();
    let number = |name: &str| json[name].as_f64().unwrap();
    assert_eq!((number("rows"), number("ties")), (40.0, 0.0));
    let [shortest, longest] = ["shortest_prompt", "longest_prompt"].map(number);
    assert!(shortest < longest, "{batch}");
    assert_eq!(number("places"), 10.0);
    // Rows that join find beginnings of their prompts in their places.
    assert!(number("reused") > 0.0, "{batch}");
    let work = number("forwarded") + number("reused");
    assert_eq!(work, number("forwarded_alone"));
    assert_eq!(number("largest_logit_difference"), 0.0);
    assert_eq!(number("distinct_draws"), number("draws"));
}

#[test]
fn runs_leave_nothing_behind_and_end_with_the_context() {
    let fresh = serde_json::to_value(fresh_runs(&suite_lab()).unwrap()).unwrap();
    assert_eq!(fresh["repeated"], 24);
    let wanted = json!([
        {"asked": 127, "got": 127, "finish_reason": "max_new_tokens"},
        {"asked": 128, "got": 128, "finish_reason": "max_new_tokens"},
        {"asked": 129, "got": 129, "finish_reason": "max_new_tokens"},
        {"asked": 130, "got": 129, "finish_reason": "context_full"},
    ]);
    assert_eq!(fresh["limits"], wanted);
}

#[test]
fn a_kept_prefix_is_exact_and_costs_the_rest() {
    let reuse = prefix_reuse(&suite_lab(), 1).unwrap();
    let json = serde_json::to_value(&reuse).unwrap();
    assert_eq!((&json["prefix"], &json["prompt"]), (&96.into(), &100.into()));
    assert_eq!(json["forwarded"], 4);
    assert_eq!(json["forwarded_without"], 100);
    // The prompt of 100 leaves 28 positions, and the last token needs none.
    assert_eq!(json["exactness"]["tokens"], 8 * 29);
}

#[test]
fn the_laboratory_proves_first_and_times_then() {
    let (lab, notes) = noting(suite_lab());
    let labs = [lab];
    let provenance = Provenance::this("CPU".to_owned(), None);
    let bench = bench_cache(&labs, BenchPlan::QUICK, provenance).unwrap();
    let notes = notes.lock().unwrap();
    let place = |part: &str| {
        let with = (0..notes.len()).filter(|i| notes[*i].contains(part));
        (with.clone().min().unwrap(), with.max().unwrap())
    };
    assert!(place("exactness").1 < place("counting").0, "{notes:?}");
    assert!(place("counting").1 < place("timing").0, "{notes:?}");

    let model = serde_json::to_value(&bench.models[0]).unwrap();
    assert_eq!(model["exactness"]["cases"], 24);
    assert_eq!(model["bytes"]["bytes_per_token"], 2 * 2 * 16 * 4);
    let last = model["counting"]["rows"].as_array().unwrap().last().unwrap();
    assert_eq!((&last["cached"], &last["uncached"]), (&246.into(), &13_728.into()));
    for series in ["trained", "long"] {
        for row in model["timing"][series]["rows"].as_array().unwrap() {
            let n = row["characters"].as_u64().unwrap();
            assert_eq!(row["cached"]["forwarded_tokens"], n);
            assert_eq!(row["uncached"]["forwarded_tokens"], n * (n + 1) / 2);
        }
    }

    let page = bench.to_string();
    let places: Vec<_> = [
        "It changes no result",
        "It saves work",
        "| 246 | 13,728 | 56x |",
        "It takes memory",
        "It saves time",
        "random weights, context 512",
        "What it does not help",
        "prefix kept",
        "What sampling does",
    ]
    .map(|part| page.find(part).unwrap_or_else(|| panic!("{part} is not in\n{page}")))
    .into();
    assert!(places.is_sorted(), "{places:?}");
    assert!(!page[..places[1]].contains(" ms"), "no time before exactness");

    let plots = bench.plots().unwrap();
    assert_eq!(plots.len(), 3);
    for (file, svg) in plots {
        assert!(page.contains(&format!("(<{file}>)")), "{file}");
        assert!(svg.matches("<circle").count() > 3, "{file}");
    }
}

#[test]
fn the_report_has_all_its_parts() {
    let (lab, notes) = noting(suite_lab());
    let text = report(&lab, true).unwrap();
    for part in [
        "# untrained",
        "The cache changes no result",
        "poems (",
        "| 32 |",
        "256 bytes per token",
        "temperature 1.5, top-k 20",
        "### Continuations",
        "春风",
        "### Acrostics",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    assert!(!notes.lock().unwrap().is_empty());
}

/// A model whose parameter number `n` has the value `value(specification, n, i)` at place i: no peculiarity
/// of it is a fault of the cache.
fn odd(
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
    lab(&config, &weights, vocabulary)
}

/// A model that is sure of token `next(t)` after token t.
fn sure(next: impl Fn(usize) -> usize) -> LabModel {
    odd(ModelConfig::minimind_4l, |spec, _, i| {
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
        let bench = bench_cache(&labs, BenchPlan::QUICK, provenance).unwrap();
        let batch = &bench.models[0].proof.batch;
        let json = serde_json::to_value(batch).unwrap();
        assert_eq!((&json["draws"], &json["distinct_draws"]), (&16.into(), &1.into()));
        assert!(json["same_draws_probability"].as_f64().unwrap() > 0.99, "{batch}");
        let page = bench.to_string();
        assert!(page.contains("all are the same 100 times in 100"), "{page}");
    }
}

#[test]
fn logits_of_any_size_are_the_same_bits() {
    // Logits up to 20, 45, 1,300 and 1.3 million: as large as trained ones, or some times larger in the head or
    // everywhere.
    for (head, all) in [(0.5, 0.5), (1.0, 1.0), (30.0, 0.5), (3e4, 0.5)] {
        for config in [ModelConfig::tang_4l, ModelConfig::minimind_4l] {
            let lab = odd(config, |spec, n, i| {
                let value = ((i * 7919 + n * 104_729) as f32 * 0.618).sin();
                match spec.path.as_str() {
                    "output_head" => head * value,
                    path if path.contains("norm") => 1.0,
                    _ => all * value,
                }
            });
            // Sums are added in one order, whatever is around them.
            let paths = serde_json::to_value(cache_paths(&lab).unwrap()).unwrap();
            for way in ["token_by_token", "prefill_plus_one", "cut_prefill"] {
                assert_eq!(paths[way], 0.0, "{way}");
            }
            let exact = exactness(&lab, 40).unwrap();
            assert_eq!(exact.largest_logit_difference, 0.0);
            let batch = serde_json::to_value(batch_exactness(&lab, 16).unwrap()).unwrap();
            assert_eq!(batch["largest_logit_difference"], 0.0);
            fresh_runs(&lab).unwrap();
            prefix_reuse(&lab, 1).unwrap();
        }
    }
}

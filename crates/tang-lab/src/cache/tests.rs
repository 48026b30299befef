//! The suite on small models, and on odd ones.

#![cfg(test)]

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use serde_json::json;
use tang_checkpoint::{ModelConfig, ParameterSpec, Weights, parameters};
use tang_engine::{CacheBytes, Decoder, Engine, EngineError, Logits, Threads};
use tang_tokenizer::{TokenId, Vocabulary};

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
    let config = ModelConfig {
        width: 16,
        feed_forward_width: 64,
        ..config(vocabulary.len())
    };
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

const VOCABULARY: usize = 20;

/// A decoder without a model, to show that measurements find what is wrong: it wants the token after the last
/// one, and the one after that second; it counts as the cache does.
#[derive(Debug)]
pub(crate) struct FakeDecoder {
    /// By how much the second token is behind.
    pub lead: f32,
    /// What is added to the logits of the others.
    pub others: f32,
    /// What is added to the second one's logit at one step, from 0.
    pub fault: Option<(usize, f32)>,
    /// Tokens that each prefill counts too many.
    pub extra_forwarded: usize,
    /// Steps since the last prefill.
    pub steps: usize,
    /// Tokens counted.
    pub forwarded: Arc<AtomicUsize>,
}

impl Default for FakeDecoder {
    fn default() -> Self {
        Self {
            lead: 1e4,
            others: 0.0,
            fault: None,
            extra_forwarded: 0,
            steps: 0,
            forwarded: Arc::default(),
        }
    }
}

impl FakeDecoder {
    fn logits(&mut self, last: TokenId) -> Logits {
        let rest = |i| -2.0 * self.lead + self.others - i as f32 / VOCABULARY as f32;
        let mut values: Vec<f32> = (0..VOCABULARY).map(rest).collect();
        values[0] = 0.0;
        values[1] = -self.lead;
        if let Some((_, fault)) = self.fault.filter(|(step, _)| *step == self.steps) {
            values[1] += fault;
        }
        values.rotate_right(last as usize + 1);
        self.steps += 1;
        Logits::new(values, VOCABULARY)
    }
}

impl Decoder for FakeDecoder {
    fn context(&self) -> usize {
        usize::MAX
    }

    fn reserve(&mut self, _: usize, _: usize) -> Result<(), EngineError> {
        Ok(())
    }

    fn start(&mut self, _: usize) {
        self.steps = 0;
        self.forwarded
            .fetch_add(self.extra_forwarded, Ordering::Relaxed);
    }

    fn append(&mut self, rows: &[&[TokenId]]) -> Result<Logits, EngineError> {
        self.forwarded.fetch_add(rows[0].len(), Ordering::Relaxed);
        Ok(self.logits(rows[0][rows[0].len() - 1]))
    }

    fn position_logits(&mut self, tokens: &[TokenId]) -> Result<Logits, EngineError> {
        let rows = tokens.iter().map(|token| self.logits(*token));
        let values: Vec<f32> = rows.flat_map(|logits| logits.row(0).to_vec()).collect();
        Ok(Logits::new(values, VOCABULARY))
    }

    fn select(&mut self, _: &[usize]) {}

    fn truncate(&mut self, _: &[usize]) {}

    fn fork(&self) -> Option<Box<dyn Decoder>> {
        Some(Box::new(Self {
            steps: 0,
            forwarded: Arc::clone(&self.forwarded),
            ..*self
        }))
    }

    fn forwarded_tokens(&self) -> usize {
        self.forwarded.load(Ordering::Relaxed)
    }

    fn cache_bytes(&self) -> CacheBytes {
        CacheBytes::default()
    }

    fn capacity_for(&self, _: usize) -> usize {
        0
    }

    fn threads(&self) -> Threads {
        Threads::ONE
    }

    fn set_threads(&mut self, _: Threads) {}
}

/// A plan of few cases that times nothing.
const PROOFS: BenchPlan = BenchPlan {
    cases: 40,
    batch: 40,
    samples: 1,
    runs: 1,
    lengths: &[],
    long_lengths: &[],
    prompts: &[],
};

const TEXT: &str = "床前明月光，疑是地上霜。举头望山月，低头思故乡。春眠不觉晓，夏秋冬风一路平安高";

fn suite_lab() -> LabModel {
    let text = format!("{TEXT}水长天下");
    untrained([text.as_str()], |size| ModelConfig {
        layers: 2,
        ..ModelConfig::tang_4l(size)
    })
}

/// A model that keeps its notes.
fn noting(mut lab: LabModel) -> (LabModel, Arc<Mutex<Vec<String>>>) {
    let notes = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&notes);
    lab.on_progress = Arc::new(move |note: &str| kept.lock().unwrap().push(note.to_owned()));
    (lab, notes)
}

#[test]
fn the_cache_changes_nothing() {
    let proof = Proof::of(&suite_lab(), &PROOFS).unwrap();
    let json = serde_json::to_value(&proof).unwrap();
    assert_eq!(json["paths"]["lengths"], 128);
    let exact = proof.exactness;
    assert_eq!((exact.cases, exact.ties), (40, 0));
    assert!(exact.tokens > 40 * 15, "{exact}");
    assert!(exact.smallest_margin > 0.0 && exact.smallest_margin < 0.1);

    // A batch is exact and rows that ended cost nothing.
    let batch = &json["batch"];
    let number = |name: &str| batch[name].as_f64().unwrap();
    assert_eq!((number("rows"), number("ties")), (40.0, 0.0));
    assert!(number("shortest_prompt") < number("longest_prompt"));
    assert_eq!(number("places"), 10.0);
    // Rows that join find beginnings of their prompts in their places.
    assert!(number("reused") > 0.0);
    let work = number("forwarded") + number("reused");
    assert_eq!(work, number("forwarded_alone"));
    assert_eq!(number("largest_logit_difference"), 0.0);
    assert_eq!(number("distinct_draws"), number("draws"));

    // Runs leave nothing behind and end with the context.
    assert_eq!(json["fresh"]["repeated"], 24);
    let limits = json["fresh"]["limits"].as_array().unwrap().iter();
    let limits: Vec<String> = limits.map(ToString::to_string).collect();
    let wanted = [
        (127, 127, "max_new_tokens"),
        (128, 128, "max_new_tokens"),
        (129, 129, "max_new_tokens"),
        (130, 129, "context_full"),
    ];
    let wanted = wanted.map(|(asked, got, finish_reason)| {
        let limit = json!({"asked": asked, "got": got, "finish_reason": finish_reason});
        limit.to_string()
    });
    assert_eq!(limits, wanted);
}

#[test]
fn a_kept_prefix_is_exact_and_costs_the_rest() {
    let reuse = prefix_reuse(&suite_lab(), 1).unwrap();
    let json = serde_json::to_value(&reuse).unwrap();
    assert_eq!(
        (&json["prefix"], &json["prompt"]),
        (&96.into(), &100.into())
    );
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
    let last = model["counting"]["rows"]
        .as_array()
        .unwrap()
        .last()
        .unwrap();
    assert_eq!(
        (&last["cached"], &last["uncached"]),
        (&246.into(), &13_728.into())
    );
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
    .map(|part| {
        page.find(part)
            .unwrap_or_else(|| panic!("{part} is not in\n{page}"))
    })
    .into();
    assert!(places.is_sorted(), "{places:?}");
    assert!(
        !page[..places[1]].contains(" ms"),
        "no time before exactness"
    );

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
        assert_eq!(
            (&json["draws"], &json["distinct_draws"]),
            (&16.into(), &1.into())
        );
        assert!(
            json["same_draws_probability"].as_f64().unwrap() > 0.99,
            "{batch}"
        );
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

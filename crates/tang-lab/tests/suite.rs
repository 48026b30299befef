//! The suite runs on an untrained model and says what it should.

use std::sync::Arc;

use tang_checkpoint::{ModelConfig, Weights};
use tang_engine::{Engine, Threads};
use tang_lab::{
    BenchPlan, LabModel, Provenance, batch_exactness, bench_cache, cache_paths, exactness,
    fresh_runs, prefix_reuse, report,
};
use tang_tokenizer::Vocabulary;

fn lab() -> LabModel {
    let vocabulary = Vocabulary::from_texts([
        "床前明月光，疑是地上霜。举头望山月，低头思故乡。春眠不觉晓，夏秋冬风一路平安山高水长天下",
    ]);
    let config = ModelConfig {
        width: 16,
        feed_forward_width: 64,
        layers: 2,
        ..ModelConfig::tang_4l(vocabulary.len())
    };
    LabModel {
        model: Box::new(Arc::new(
            Engine::pack(&config, &Weights::random(&config, 1)).unwrap(),
        )),
        vocabulary,
        name: "untrained".to_owned(),
        threads: Threads::available(),
    }
}

#[test]
fn the_cache_is_exact_on_every_path() {
    let lab = lab();
    let paths = cache_paths(&lab).unwrap();
    assert_eq!(paths.lengths, 128);
    let exact = exactness(&lab, 40, &mut |_| {}).unwrap();
    assert_eq!((exact.cases, exact.ties), (40, 0));
    assert!(exact.tokens > 40 * 15, "{exact}");
    assert!(exact.smallest_margin > 0.0 && exact.smallest_margin < 0.1);
}

#[test]
fn a_batch_is_exact_and_rows_that_ended_cost_nothing() {
    let batch = batch_exactness(&lab(), 40).unwrap();
    assert_eq!((batch.rows, batch.ties), (40, 0));
    assert!(batch.shortest_prompt < batch.longest_prompt, "{batch}");
    assert_eq!(batch.places, 10);
    // Rows that join find beginnings of their prompts in their places.
    assert!(batch.reused > 0, "{batch}");
    assert_eq!(batch.forwarded + batch.reused, batch.forwarded_alone);
    assert!(batch.largest_logit_difference < 1e-4);
    assert_eq!(batch.distinct_draws, batch.draws);
}

#[test]
fn runs_leave_nothing_behind_and_end_with_the_context() {
    let fresh = fresh_runs(&lab()).unwrap();
    assert_eq!(fresh.repeated, 24);
    let limits: Vec<_> = fresh
        .limits
        .iter()
        .map(|limit| (limit.asked, limit.got, limit.finish_reason))
        .collect();
    assert_eq!(
        limits,
        [
            (127, 127, "max_new_tokens"),
            (128, 128, "max_new_tokens"),
            (129, 129, "max_new_tokens"),
            (130, 129, "context_full"),
        ]
    );
}

#[test]
fn a_kept_prefix_is_exact_and_costs_the_rest() {
    let reuse = prefix_reuse(&lab(), 1).unwrap();
    assert_eq!((reuse.prefix, reuse.prompt), (96, 100));
    assert_eq!((reuse.forwarded, reuse.forwarded_without), (4, 100));
    // The prompt of 100 leaves 28 positions, and the last token needs none.
    assert_eq!(reuse.exactness.tokens, 8 * 29);
}

#[test]
fn the_laboratory_proves_first_and_times_then() {
    let mut notes = Vec::new();
    let labs = [lab()];
    let mut note = |text: &str| notes.push(text.to_owned());
    let provenance = Provenance::this("CPU".to_owned(), None);
    let bench = bench_cache(&labs, BenchPlan::QUICK, provenance, &mut note).unwrap();
    let place = |part: &str| {
        let with = (0..notes.len()).filter(|i| notes[*i].contains(part));
        (with.clone().min().unwrap(), with.max().unwrap())
    };
    assert!(place("exactness").1 < place("counting").0, "{notes:?}");
    assert!(place("counting").1 < place("timing").0, "{notes:?}");

    let model = &bench.models[0];
    assert_eq!(model.exactness.cases, 24);
    assert_eq!(model.bytes.bytes_per_token, 2 * 2 * 16 * 4);
    let last = model.counting.rows.last().unwrap();
    assert_eq!((last.cached, last.uncached), (246, 13_728));
    for series in [&model.timing.trained, &model.timing.long] {
        for row in &series.rows {
            let n = row.characters;
            assert_eq!(row.cached.forwarded_tokens, n);
            assert_eq!(row.uncached.forwarded_tokens, n * (n + 1) / 2);
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
    let mut notes = Vec::new();
    let text = report(&lab(), true, &mut |note| notes.push(note.to_owned())).unwrap();
    for part in [
        "# untrained",
        "The cache changes no result",
        "poems (",
        "| 32 |",
        "256 bytes a token",
        "temperature 1.5, top-k 20",
        "### Continuations",
        "春风",
        "### Acrostics",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    assert!(!notes.is_empty());
}

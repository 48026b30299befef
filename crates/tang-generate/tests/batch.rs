//! A batch gives each poem what it would be alone, and is kept full.

#![cfg(test)]

use std::sync::{Arc, Mutex};

use tang_engine::{CacheBytes, CachedDecoder, Decoder, EngineError, FullDecoder, Logits, Threads};
use tang_generate::{Batch, GenerationConfig, Sequence, Task, generate_batch};
use tang_tokenizer::TokenId;

#[path = "support/cases.rs"]
mod cases;
mod support;

use cases::{configs, run, tasks};
use support::{CONTEXT, TWO, model, vocabulary};

#[test]
fn a_batch_gives_what_each_row_gives_alone() {
    let vocabulary = vocabulary();
    let model = model(&vocabulary);
    for config in configs() {
        // Prompts of different lengths, with rows that end early.
        let all: Vec<(Task, GenerationConfig)> = tasks(&vocabulary)
            .into_iter()
            .cycle()
            .take(8)
            .zip(0..)
            .map(|(task, seed)| {
                let config = GenerationConfig { seed, ..config.clone() };
                (task, config)
            })
            .collect();
        let alone: Vec<Vec<TokenId>> = all
            .iter()
            .map(|(task, config)| run(&mut CachedDecoder::new(&model, TWO), task, config))
            .collect();
        let sequences = || -> Vec<Sequence> {
            all.iter().map(|(task, config)| Sequence::new(task.clone(), config).unwrap()).collect()
        };
        let tokens = |sequences: Vec<Sequence>| -> Vec<Vec<TokenId>> {
            sequences.iter().map(|s| s.tokens().to_vec()).collect()
        };
        let cached = generate_batch(&mut CachedDecoder::new(&model, TWO), sequences()).unwrap();
        assert_eq!(tokens(cached), alone, "{config:?}");
        let full = generate_batch(&mut FullDecoder::new(&model, TWO), sequences()).unwrap();
        assert_eq!(tokens(full), alone, "{config:?}");
    }
}

/// Writes down how many rows each step decodes, one list per decoder.
struct Watched {
    decoder: Box<dyn Decoder>,
    rows: Vec<usize>,
    all: Arc<Mutex<Vec<Vec<usize>>>>,
    /// Steps until it fails; its forks do not.
    steps: usize,
    has_begun: bool,
}

impl Watched {
    fn new(decoder: CachedDecoder, all: &Arc<Mutex<Vec<Vec<usize>>>>, steps: usize) -> Self {
        Self {
            decoder: Box::new(decoder),
            rows: Vec::new(),
            all: Arc::clone(all),
            steps,
            has_begun: false,
        }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.all.lock().unwrap().push(std::mem::take(&mut self.rows));
    }
}

impl Decoder for Watched {
    fn context(&self) -> usize {
        self.decoder.context()
    }

    fn reserve(&mut self, rows: usize, tokens: usize) -> Result<(), EngineError> {
        self.decoder.reserve(rows, tokens)
    }

    fn start(&mut self, rows: usize) {
        self.has_begun = false;
        self.decoder.start(rows);
    }

    fn lengths(&self) -> Vec<usize> {
        self.decoder.lengths()
    }

    fn append(&mut self, rows: &[&[TokenId]]) -> Result<Logits, EngineError> {
        // The prefill does not count.
        if std::mem::replace(&mut self.has_begun, true) {
            self.steps = self.steps.checked_sub(1).ok_or(EngineError::Overflow)?;
            self.rows.push(rows.len());
        }
        self.decoder.append(rows)
    }

    fn position_logits(&mut self, tokens: &[TokenId]) -> Result<Logits, EngineError> {
        self.decoder.position_logits(tokens)
    }

    fn select(&mut self, rows: &[usize]) {
        self.decoder.select(rows);
    }

    fn truncate(&mut self, lengths: &[usize]) {
        self.decoder.truncate(lengths);
    }

    fn fork(&self) -> Option<Box<dyn Decoder>> {
        Some(Box::new(Self {
            decoder: self.decoder.fork()?,
            rows: Vec::new(),
            all: Arc::clone(&self.all),
            steps: usize::MAX,
            has_begun: false,
        }))
    }

    fn forwarded_tokens(&self) -> usize {
        self.decoder.forwarded_tokens()
    }

    fn cache_bytes(&self) -> CacheBytes {
        self.decoder.cache_bytes()
    }

    fn capacity_for(&self, tokens: usize) -> usize {
        self.decoder.capacity_for(tokens)
    }

    fn threads(&self) -> Threads {
        self.decoder.threads()
    }

    fn set_threads(&mut self, threads: Threads) {
        self.decoder.set_threads(threads);
    }
}

#[test]
fn a_place_that_becomes_free_is_taken_at_once() {
    const TASKS: usize = 40;
    let vocabulary = vocabulary();
    let model = model(&vocabulary);
    // Longer prompts than those before them, shorter ones, and such that begin alike.
    let mut kinds = tasks(&vocabulary);
    for text in ["七上三丁丈万下", "七上三丁丈万", "七上"] {
        kinds.push(Task::continuation(text, &vocabulary).unwrap());
    }
    for config in configs() {
        let sequences: Vec<Sequence> = kinds
            .iter()
            .cycle()
            .take(TASKS)
            .zip(0..)
            .map(|(task, seed)| {
                let config = GenerationConfig {
                    seed,
                    max_new_tokens: 5 + 7 * (seed as usize % 5),
                    ..config.clone()
                };
                Sequence::new(task.clone(), &config).unwrap()
            })
            .collect();
        let alone: Vec<Vec<TokenId>> = sequences
            .iter()
            .map(|sequence| {
                let one = vec![sequence.clone()];
                let ended = generate_batch(&mut CachedDecoder::new(&model, TWO), one).unwrap();
                ended[0].tokens().to_vec()
            })
            .collect();
        // The prefix that each prompt, without its last token, shares with the text before it.
        let pairs = sequences[1..].iter().zip(&alone);
        let in_common: usize = pairs
            .map(|(next, before)| {
                let prompt = next.tokens();
                let places = prompt[..prompt.len() - 1].iter().zip(before);
                places.take_while(|(a, b)| a == b).count()
            })
            .sum();
        assert!(in_common > 0);
        let through_the_model: usize = alone.iter().map(|tokens| tokens.len() - 1).sum();
        for places in [1, 3, 16] {
            let all = Arc::default();
            let mut cached = Watched::new(CachedDecoder::new(&model, TWO), &all, usize::MAX);
            let waiting = || sequences.iter().cloned().map(Ok);
            let mut batch = Batch::with_places(&mut cached, waiting(), places);
            let together: Vec<Vec<TokenId>> =
                batch.by_ref().map(|sequence| sequence.unwrap().tokens().to_vec()).collect();
            assert_eq!(together, alone, "{places} places, {config:?}");
            let reused = batch.reused_tokens();
            if places == 1 {
                assert_eq!(reused, in_common);
            }
            drop(batch);
            assert_eq!(cached.forwarded_tokens() + reused, through_the_model);
            drop(cached);
            let all = all.lock().unwrap();
            assert_eq!(all.len(), places.min(TWO.count()));
            assert_eq!(all.iter().map(|rows| rows[0]).sum::<usize>(), places);
            for rows in all.iter() {
                // Full until nobody waits, and from then on only the last ones run.
                assert!(rows.is_sorted_by(|a, b| a >= b), "{rows:?}");
                let full = rows.iter().filter(|count| **count == rows[0]).count();
                assert!(rows.len() - full < CONTEXT, "{rows:?}");
            }

            let mut full = FullDecoder::new(&model, TWO);
            let together: Vec<Vec<TokenId>> = Batch::with_places(&mut full, waiting(), places)
                .map(|sequence| sequence.unwrap().tokens().to_vec())
                .collect();
            assert_eq!(together, alone, "{places} places, no cache, {config:?}");
        }
    }
}

#[test]
fn a_prompt_that_is_too_long_keeps_no_other_waiting() {
    let vocabulary = vocabulary();
    let model = model(&vocabulary);
    let config = GenerationConfig::default();
    let long: String = std::iter::repeat_n('七', CONTEXT).collect();
    let texts = ["一", &long, "七上", "三", &long];
    let sequences = texts.map(|text| {
        let task = Task::continuation(text, &vocabulary).unwrap();
        Sequence::new(task, &config)
    });
    let mut decoder = CachedDecoder::new(&model, TWO);
    let results: Vec<_> = Batch::with_places(&mut decoder, sequences.into_iter(), 1).collect();
    assert_eq!(results.len(), texts.len());
    for (text, result) in texts.into_iter().zip(results) {
        match result {
            Ok(sequence) => assert!(text != long && sequence.finish_reason().is_some()),
            Err(error) => assert!(text == long && error.to_string().contains("41"), "{error}"),
        }
    }
}

#[test]
fn an_error_of_the_decoder_comes_behind_what_is_done() {
    let vocabulary = vocabulary();
    let model = model(&vocabulary);
    let sequences = || {
        (0..20).map(|seed| {
            let config = GenerationConfig {
                seed,
                max_new_tokens: 6,
                stop_at_end: false,
                ..GenerationConfig::default()
            };
            Sequence::new(Task::open(), &config)
        })
    };
    // 4 places; each sequence takes 6 steps, one of them the prefill of the first.
    for steps in [0, 4, 5, 13] {
        let mut decoder = Watched::new(CachedDecoder::new(&model, TWO), &Arc::default(), steps);
        let mut results = Batch::with_places(&mut decoder, sequences(), 4);
        let done: Vec<_> = results.by_ref().take_while(|result| result.is_ok()).collect();
        // Those of all threads that are in order before the first that failed.
        let wanted = (steps + 1) / 6 * 2..=(steps + 1) / 6 * 4;
        assert!(wanted.contains(&done.len()), "{steps}: {}", done.len());
        assert!(results.next().is_none(), "{steps}");
        let all = generate_batch(
            &mut CachedDecoder::new(&model, TWO),
            sequences().collect::<Result<_, _>>().unwrap(),
        );
        for (got, wanted) in done.iter().zip(all.unwrap()) {
            assert_eq!(got.as_ref().unwrap().tokens(), wanted.tokens());
        }
    }
}

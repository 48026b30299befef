//! Memory for keys and values is set aside as far as it is needed, and refused where there is none.

#![cfg(test)]

use std::sync::Arc;

use tang_engine::{CachedDecoder, Decoder, Engine, EngineError, FullDecoder, PrefixCache};
use tang_generate::{
    Batch, GenerateError, GenerationConfig, Generator, Sequence, Task, beam_search, best_of,
};
use tang_prosody::{Form, Layout, LineLength};
use tang_tokenizer::TokenId;

mod support;

use support::{CONTEXT, TWO, model, model_with, vocabulary};

/// As many positions as models may have.
const LONG: usize = 8192;

fn config(max_new_tokens: usize, stop_at_end: bool) -> GenerationConfig {
    GenerationConfig { max_new_tokens, stop_at_end, ..GenerationConfig::default() }
}

fn run(decoder: &mut dyn Decoder, task: &Task, config: &GenerationConfig) -> Vec<TokenId> {
    let generator = Generator::new(decoder, task.clone(), config).unwrap();
    generator.finish().unwrap().tokens().to_vec()
}

/// Tokens for which the memory of a cache of one row has room.
fn allocated(decoder: &CachedDecoder, model: &Engine) -> usize {
    decoder.cache().allocated_bytes() / model.config().cache_bytes_per_token()
}

/// Tokens for which there is room a row, after one generation.
fn capacity(model: &Arc<Engine>, task: &Task, config: &GenerationConfig) -> usize {
    let mut decoder = CachedDecoder::new(model, TWO);
    run(&mut decoder, task, config);
    assert_eq!(decoder.cache().lengths().len(), 1);
    allocated(&decoder, model)
}

#[test]
fn room_is_made_for_what_a_task_can_use() {
    let vocabulary = vocabulary();
    let long = model_with(&vocabulary, LONG);
    let form = |form: Form| Task::form(form.into(), &vocabulary).unwrap();
    let most = usize::MAX;
    for (task, config, wanted) in [
        // 24, 32, 48 and 64 characters after the newline.
        (form(Form::WuJue), config(most, true), 32),
        (form(Form::QiJue), config(most, true), 48),
        (form(Form::WuLv), config(most, true), 64),
        (form(Form::QiLv), config(most, true), 80),
        (form(Form::QiLv), config(5, true), 16),
        (Task::open(), config(1, false), 16),
        (Task::open(), config(30, false), 32),
        (Task::open(), config(128, false), 128),
        // One more than there is room for at first, and many more.
        (Task::open(), config(129, false), 144),
        (Task::open(), config(300, false), 304),
    ] {
        let tokens = config.max_new_tokens;
        assert_eq!(capacity(&long, &task, &config), wanted, "{tokens} tokens");
    }
    let sixteen = Task::form(Layout::new(16, LineLength::Seven), &vocabulary).unwrap();
    assert_eq!(capacity(&long, &sixteen, &config(most, true)), 144);

    // A prompt counts, and a context is never exceeded.
    let prompt: String = std::iter::repeat_n('七', 200).collect();
    let task = Task::continuation(&prompt, &vocabulary).unwrap();
    assert_eq!(capacity(&long, &task, &config(2, false)), 208);
    let small = model(&vocabulary);
    let config = config(CONTEXT, false);
    let mut decoder = CachedDecoder::new(&small, TWO);
    let generator = Generator::new(&mut decoder, Task::open(), &config);
    generator.unwrap().finish().unwrap();
    assert_eq!(allocated(&decoder, &small), CONTEXT.next_multiple_of(16));
}

#[test]
fn a_cache_that_grew_changes_no_token() {
    let vocabulary = vocabulary();
    let model = model_with(&vocabulary, 320);
    let config = config(300, false);
    let task = Task::continuation("七上三", &vocabulary).unwrap();
    let wanted = run(&mut FullDecoder::new(&model, TWO), &task, &config);
    assert_eq!(wanted.len(), 304);
    assert_eq!(run(&mut CachedDecoder::new(&model, TWO), &task, &config), wanted);
    let prefix = Arc::new(PrefixCache::new(&model, &wanted[..3], TWO).unwrap());
    let mut decoder = CachedDecoder::with_prefix(prefix, TWO);
    assert_eq!(run(&mut decoder, &task, &config), wanted);

    // Rows that join want more than those before them.
    let lengths = [3, 40, 300, 5, 200, 140];
    let sequences = lengths.iter().map(|length| {
        let config = GenerationConfig { max_new_tokens: *length, ..config.clone() };
        Sequence::new(task.clone(), &config)
    });
    let mut decoder = CachedDecoder::new(&model, TWO);
    let batch = Batch::with_places(&mut decoder, sequences, 2);
    for (sequence, length) in batch.zip(lengths) {
        assert_eq!(sequence.unwrap().tokens(), &wanted[..4 + length]);
    }
}

#[test]
fn long_prompts_of_many_rows_go_through_in_pieces() {
    let vocabulary = vocabulary();
    let model = model_with(&vocabulary, 1200);
    let rows: Vec<Vec<TokenId>> = (0..20)
        .map(|row| (0..1000 + row).map(|i| (i * i + row) as TokenId % 97).collect())
        .collect();
    let prompts: Vec<&[TokenId]> = rows.iter().map(Vec::as_slice).collect();
    let mut cached = CachedDecoder::new(&model, TWO);
    let got = cached.prefill(&prompts).unwrap();
    let wanted = FullDecoder::new(&model, TWO).prefill(&prompts).unwrap();
    for (got, wanted) in got.rows().zip(wanted.rows()) {
        for (got, wanted) in got.iter().zip(wanted) {
            assert!((got - wanted).abs() < 1e-4, "{got} {wanted}");
        }
    }
    let tokens: usize = rows.iter().map(Vec::len).sum();
    assert_eq!(cached.forwarded_tokens(), tokens);
}

#[test]
fn what_no_memory_can_hold_is_refused_before_any_work() {
    let vocabulary = vocabulary();
    let model = model_with(&vocabulary, LONG);
    let mut decoder = CachedDecoder::new(&model, TWO);
    let task = Task::form(Form::WuJue.into(), &vocabulary).unwrap();
    let start = Sequence::new(task.clone(), &config(usize::MAX, true)).unwrap();
    for beams in [1 << 40, usize::MAX] {
        let error = beam_search(&mut decoder, start.clone(), beams).err().unwrap();
        let GenerateError::Engine(EngineError::CacheTooLarge { rows, tokens, .. }) = error else {
            panic!("{error}");
        };
        assert_eq!((rows, tokens), (beams, 32));
    }
    assert_eq!(decoder.forwarded_tokens(), 0);

    // As many samples as one likes need no more memory than a batch.
    let best = best_of(&mut decoder, &task, &config(2, true), 300).unwrap();
    assert_eq!(best.generated().len(), 2);
    assert!(decoder.cache().allocated_bytes() <= 64 * 16 * 2 * 2 * 16 * 4);
}

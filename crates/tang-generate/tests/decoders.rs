//! Decoders with and without a cache give the same poems, to the last place.

#![cfg(test)]

use std::sync::Arc;

use tang_engine::{CachedDecoder, Decoder, FullDecoder, PrefixCache};
use tang_generate::{FinishReason, GenerateError, GenerationConfig, Generator, Task};
use tang_prosody::{Layout, LineLength};
use tang_tokenizer::{NEWLINE, TokenId};

#[path = "support/cases.rs"]
mod cases;
mod support;

use cases::{configs, run, tasks};
use support::{CONTEXT, TWO, model, vocabulary};

#[test]
fn cache_changes_no_token() {
    let vocabulary = vocabulary();
    let model = model(&vocabulary);
    let mut different = std::collections::BTreeSet::new();
    for task in tasks(&vocabulary) {
        for config in configs() {
            for seed in 0..4 {
                let config = GenerationConfig { seed, ..config.clone() };
                let cached = run(&mut CachedDecoder::new(&model, TWO), &task, &config);
                let full = run(&mut FullDecoder::new(&model, TWO), &task, &config);
                assert_eq!(cached, full, "{config:?}");
                different.insert(cached);
            }
        }
    }
    assert!(different.len() > 40, "only {} poems", different.len());
}

#[test]
fn a_decoder_is_as_new_after_a_generation() {
    let vocabulary = vocabulary();
    let model = model(&vocabulary);
    let tasks = tasks(&vocabulary);
    let (first, second) = (&tasks[0], &tasks[1]);
    let config = GenerationConfig::default();
    let mut decoder = CachedDecoder::new(&model, TWO);
    run(&mut decoder, first, &config);
    let again = run(&mut decoder, second, &config);
    assert_eq!(again, run(&mut CachedDecoder::new(&model, TWO), second, &config));
}

#[test]
fn a_common_prefix_is_computed_once() {
    let vocabulary = vocabulary();
    let model = model(&vocabulary);
    let ids = |text: &str| vocabulary.encode(text).unwrap();
    let prefix = Arc::new(PrefixCache::new(&model, &ids("七上三丁丈"), TWO).unwrap());
    let mut decoder = CachedDecoder::with_prefix(prefix, TWO);
    let mut forwarded = 0;
    for (texts, computed) in [
        (vec!["七上三丁丈万下"], 2),
        (vec!["七上三丁丈"], 1), // the last token's logits are not kept
        (vec!["七上"], 1),
        (vec!["七上三丈"], 1), // parts from the prefix at its fourth token
        (vec!["丈七上"], 3),
        (vec!["七上三丁丈万下", "七上三丁丈下", "七上三丁丈万下不与丏"], 2 + 1 + 5),
        (vec!["七上三丁丈万", "七上下", "七上三"], 4 + 1 + 1),
    ] {
        let prompts: Vec<Vec<TokenId>> = texts.iter().map(|text| ids(text)).collect();
        let prompts: Vec<&[TokenId]> = prompts.iter().map(Vec::as_slice).collect();
        let mut full = FullDecoder::new(&model, TWO);
        let next = vec![ids("丑")[0]; texts.len()];
        let got = [decoder.prefill(&prompts), decoder.decode(&next)];
        let wanted = [full.prefill(&prompts), full.decode(&next)];
        for (got, wanted) in got.into_iter().zip(wanted) {
            for (got, wanted) in got.unwrap().rows().zip(wanted.unwrap().rows()) {
                for (a, b) in got.iter().zip(wanted) {
                    assert!((a - b).abs() < 1e-4, "{texts:?}: {a} and {b}");
                }
            }
        }
        forwarded += computed + texts.len();
        assert_eq!(decoder.forwarded_tokens(), forwarded, "{texts:?}");
    }
    assert!(PrefixCache::new(&model, &[3; CONTEXT + 1], TWO).is_err());
    let full = [ids("七上三丁丈"), vec![3; CONTEXT]].concat();
    assert!(decoder.prefill(&[&full]).is_err(), "too long behind the prefix");
}

#[test]
fn work_is_counted() {
    let vocabulary = vocabulary();
    let model = model(&vocabulary);
    let task = Task::continuation("七上三", &vocabulary).unwrap();
    let (prompt, new) = (task.prompt().len(), 20);
    let config =
        GenerationConfig { max_new_tokens: new, stop_at_end: false, ..GenerationConfig::default() };
    let mut cached = CachedDecoder::new(&model, TWO);
    run(&mut cached, &task, &config);
    assert_eq!(cached.forwarded_tokens(), prompt + new - 1);
    assert_eq!(cached.cache().lengths(), [prompt + new - 1]);
    let mut full = FullDecoder::new(&model, TWO);
    run(&mut full, &task, &config);
    assert_eq!(full.forwarded_tokens(), prompt * new + new * (new - 1) / 2);
}

#[test]
fn every_position_is_used_and_none_beyond() {
    let vocabulary = vocabulary();
    let model = model(&vocabulary);
    let task = Task::continuation("七上三", &vocabulary).unwrap();
    let run_to = |max_new_tokens| {
        let config =
            GenerationConfig { max_new_tokens, stop_at_end: false, ..GenerationConfig::default() };
        let mut decoder = CachedDecoder::new(&model, TWO);
        let generator = Generator::new(&mut decoder, task.clone(), &config).unwrap();
        let sequence = generator.finish().unwrap();
        (sequence.tokens().len(), sequence.finish_reason().unwrap())
    };
    let prompt = task.prompt().len();
    // The last token is chosen at the last position and needs none itself.
    for total in [CONTEXT - 1, CONTEXT, CONTEXT + 1] {
        assert_eq!(run_to(total - prompt), (total, FinishReason::MaxNewTokens));
    }
    assert_eq!(run_to(CONTEXT + 2 - prompt), (CONTEXT + 1, FinishReason::ContextFull));

    let long: String = std::iter::repeat_n('七', CONTEXT).collect();
    let long = Task::continuation(&long, &vocabulary).unwrap();
    let mut decoder = CachedDecoder::new(&model, TWO);
    let config = GenerationConfig::default();
    let mut generator = Generator::new(&mut decoder, long, &config).unwrap();
    assert!(matches!(generator.next(), Some(Err(GenerateError::Engine(_)))));
    assert!(generator.next().is_none(), "ends after an error");
}

#[test]
fn acrostics_keep_heads_and_lines() {
    let vocabulary = vocabulary();
    let model = model(&vocabulary);
    for config in configs().into_iter().filter(|config| config.stop_at_end) {
        for (heads, length) in [("七上丁丁", LineLength::Seven), ("三七三七三", LineLength::Five)]
        {
            let lines = heads.chars().count();
            let task = Task::acrostic(heads, Layout::new(lines, length), &vocabulary).unwrap();
            let tokens = run(&mut CachedDecoder::new(&model, TWO), &task, &config);
            assert_eq!((tokens[0], *tokens.last().unwrap()), (NEWLINE, NEWLINE));
            let poem = vocabulary.decode(&tokens[1..tokens.len() - 1]).unwrap();
            let (body, end) = poem.split_at(poem.len() - '。'.len_utf8());
            assert_eq!(end, "。");
            let found: Vec<&str> = body.split(['，', '。']).collect();
            assert_eq!(found.len(), lines, "{poem}");
            for (line, head) in found.iter().zip(heads.chars()) {
                assert_eq!(line.chars().count(), length.chars(), "{poem}");
                assert_eq!(line.chars().next(), Some(head), "{poem}");
            }
        }
    }
}

#[test]
fn steps_say_what_was_forced_and_how_likely_it_was() {
    let vocabulary = vocabulary();
    let model = model(&vocabulary);
    let task = tasks(&vocabulary).remove(3);
    let mut decoder = FullDecoder::new(&model, TWO);
    let config = GenerationConfig::default();
    let mut generator = Generator::new(&mut decoder, task, &config).unwrap();
    let steps: Vec<_> = generator.by_ref().map(Result::unwrap).collect();
    let forced: Vec<usize> = (0..steps.len()).filter(|i| steps[*i].forced).collect();
    // Four heads, four marks, and the newline, in lines of 5 + 1.
    assert_eq!(forced, [0, 5, 6, 11, 12, 17, 18, 23, 24]);
    assert!(steps.iter().all(|step| step.log_prob < 0.0));
    let mean = steps.iter().map(|step| step.log_prob).sum::<f64>() / steps.len() as f64;
    assert!((generator.sequence().mean_log_prob() - mean).abs() < 1e-12);
}

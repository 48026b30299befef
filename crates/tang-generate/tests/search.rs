//! Beam search and best-of-N find likelier poems, the same ones with a cache and without.

#![cfg(test)]

use tang_engine::{CachedDecoder, FullDecoder};
use tang_generate::{
    Batch, DeadEnd, GenerateError, GenerationConfig, Generator, Rule, Rules, Sequence, Task,
    beam_search, best_of, generate_batch,
};
use tang_prosody::{Form, Layout, LineLength, Template};
use tang_tokenizer::Vocabulary;

mod support;

use support::{TWO, model, vocabulary};

fn greedy() -> GenerationConfig {
    GenerationConfig { temperature: 0.0, repetition_penalty: 1.0, ..GenerationConfig::default() }
}

fn start(task: &Task) -> Sequence {
    Sequence::new(task.clone(), &greedy()).unwrap()
}

fn tasks(vocabulary: &Vocabulary) -> Vec<Task> {
    vec![
        Task::form(Form::WuJue.into(), vocabulary).unwrap(),
        Task::acrostic("七上丁丁", Form::QiJue.into(), vocabulary).unwrap(),
        Task::continuation("七上", vocabulary).unwrap(),
    ]
}

#[test]
fn one_beam_is_greedy_and_more_are_likelier() {
    let vocabulary = vocabulary();
    let model = model(&vocabulary);
    let mut gained = 0.0;
    for task in tasks(&vocabulary) {
        let mut decoder = CachedDecoder::new(&model, TWO);
        let generator = Generator::new(&mut decoder, task.clone(), &greedy()).unwrap();
        let greedy = generator.finish().unwrap();
        let one = beam_search(&mut decoder, start(&task), 1).unwrap();
        assert_eq!(one.len(), 1);
        assert_eq!(one[0].tokens(), greedy.tokens());
        assert!((one[0].mean_log_prob() - greedy.mean_log_prob()).abs() < 1e-9);

        let eight = beam_search(&mut decoder, start(&task), 8).unwrap();
        assert_eq!(eight.len(), 8);
        let scores: Vec<f64> = eight.iter().map(Sequence::mean_log_prob).collect();
        assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
        gained += scores[0] - greedy.mean_log_prob();
    }
    assert!(gained > 0.0, "{gained}");
}

#[test]
fn beams_are_the_same_without_a_cache() {
    let vocabulary = vocabulary();
    let model = model(&vocabulary);
    for task in tasks(&vocabulary) {
        let cached = beam_search(&mut CachedDecoder::new(&model, TWO), start(&task), 4).unwrap();
        let full = beam_search(&mut FullDecoder::new(&model, TWO), start(&task), 4).unwrap();
        let tokens =
            |found: &[Sequence]| -> Vec<_> { found.iter().map(|s| s.tokens().to_vec()).collect() };
        assert_eq!(tokens(&cached), tokens(&full));
    }
}

#[test]
fn the_best_of_many_is_the_likeliest_and_the_first_is_the_plain_one() {
    let vocabulary = vocabulary();
    let model = model(&vocabulary);
    let task = Task::form(Form::WuJue.into(), &vocabulary).unwrap();
    let config = GenerationConfig { seed: 3, ..GenerationConfig::default() };
    let mut decoder = CachedDecoder::new(&model, TWO);
    let mut scores = Vec::new();
    for count in [1, 2, 8, 70] {
        let best = best_of(&mut decoder, &task, &config, count).unwrap();
        scores.push(best.mean_free_log_prob());
    }
    assert!(scores.is_sorted() && scores[0] < scores[3], "{scores:?}");
    let plain = Generator::new(&mut decoder, task, &config).unwrap();
    assert_eq!(plain.finish().unwrap().mean_free_log_prob(), scores[0]);
}

#[test]
fn a_row_that_runs_out_of_tokens_takes_no_other_with_it() {
    // Six characters are not enough for ten places without a repetition, unless some are doubled.
    let vocabulary = Vocabulary::from_texts(["一丁七万丈三"]);
    let model = model(&vocabulary);
    let rules = Rules { no_repeat: true, ..Rules::default() };
    let short = Template::free(Layout::new(1, LineLength::Five));
    let long = Template::free(Layout::new(4, LineLength::Five));
    let task = |template| Task::verse(template, &rules, &vocabulary).unwrap();
    let sequences = || [start(&task(&long)), start(&task(&short))];
    let mut decoder = CachedDecoder::new(&model, TWO);

    let outcomes: Vec<_> = Batch::new(&mut decoder, sequences().map(Ok).into_iter()).collect();
    let Err(GenerateError::NothingAllowed(met)) = &outcomes[0] else {
        panic!("a poem of six characters");
    };
    // Six characters are before it, and some of them twice.
    assert!(met.line * 5 + met.column >= 6, "{met:?}");
    let (rule, left) = (Rule::NoRepeat, 6);
    let others = vec![Rule::Form];
    let wanted = DeadEnd { rule, left, others, ..met.clone() };
    assert_eq!(*met, wanted);
    let short = outcomes[1].as_ref().unwrap();
    assert!(outcomes.len() == 2 && short.finish_reason().is_some());
    assert!(generate_batch(&mut decoder, sequences().into()).is_err());
    for outcome in [
        beam_search(&mut decoder, start(&task(&long)), 4).err(),
        best_of(&mut decoder, &task(&long), &greedy(), 4).err(),
    ] {
        assert!(matches!(outcome, Some(GenerateError::NothingAllowed(_))));
    }
}

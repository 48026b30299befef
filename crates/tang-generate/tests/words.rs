//! Poems have the words that were asked for, in every mode and under every rule.

#![cfg(test)]

use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng};
use tang_engine::{CachedDecoder, Decoder, FullDecoder, ScriptedDecoder};
use tang_generate::{
    Batch, GenerateError, GenerationConfig, Generator, Rules, Sequence, Task, Wanted, WordPlace,
    beam_search, best_of,
};
use tang_prosody::{Form, Layout, LineLength, Template, check, is_han};
use tang_tokenizer::Vocabulary;

mod support;

use support::{TWO, model, vocabulary};

const SAMPLE: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/sample.txt"));

/// A decoder without a model: logits that depend on the seed and the last tokens.
fn noisy(size: usize, seed: u64) -> impl Decoder {
    ScriptedDecoder::new(128, move |tokens| {
        let last = u64::from(*tokens.last().unwrap());
        let mut rng = ChaCha8Rng::seed_from_u64(seed ^ (last << 20) ^ tokens.len() as u64);
        (0..size).map(|_| rng.random_range(-4.0..4.0)).collect()
    })
}

fn written(decoder: &mut dyn Decoder, task: &Task, config: &GenerationConfig) -> Sequence {
    Generator::new(decoder, task.clone(), config).unwrap().finish().unwrap()
}

fn text(sequence: &Sequence, vocabulary: &Vocabulary) -> String {
    let text = vocabulary.decode(&sequence.tokens()[1..]).unwrap();
    text.trim_end().to_owned()
}

/// Asserts that each word is in its place, within a line.
fn assert_words(sequence: &Sequence, words: &[&str], vocabulary: &Vocabulary) {
    let poem = text(sequence, vocabulary);
    let lines: Vec<&str> = poem.split_terminator(['，', '。']).collect();
    let characters: Vec<char> = poem.chars().collect();
    let places = sequence.word_places();
    assert_eq!(places.len(), words.len());
    for (word, place) in words.iter().zip(places) {
        let WordPlace { position, line, column } = place.expect("the poem is whole");
        let rest: String = lines[line].chars().skip(column).collect();
        assert!(rest.starts_with(word), "{word} is not at {line}, {column} of {poem}");
        assert_eq!(characters[position], word.chars().next().unwrap());
    }
}

/// The characters that come again, other than doubled ones and those of `given`.
fn repeated(poem: &str, given: &str) -> Vec<char> {
    let characters: Vec<char> = poem.chars().collect();
    let mut found = Vec::new();
    for (later, c) in characters.iter().enumerate().filter(|(_, c)| is_han(**c)) {
        let before = characters[..later].iter().rposition(|other| other == c);
        if before.is_some_and(|before| before + 1 < later) && !given.contains(*c) {
            found.push(*c);
        }
    }
    found
}

#[test]
fn every_poem_has_its_words_in_every_form_under_every_rule() {
    let vocabulary = Vocabulary::from_texts([SAMPLE]);
    let lines: Vec<Vec<char>> = SAMPLE
        .split(['，', '。', '\n'])
        .map(|line| line.chars().filter(|c| is_han(*c)).collect())
        .filter(|line: &Vec<char>| line.len() >= 5)
        .collect();
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let (mut poems, mut refused) = (0, 0);
    for seed in 0..1500 {
        let mut word = |most: usize| -> String {
            let line = &lines[rng.random_range(0..lines.len())];
            let length = rng.random_range(1..=most);
            let start = rng.random_range(0..=5 - length);
            line[start..start + length].iter().collect()
        };
        let words: Vec<String> = (0..1 + seed % 4).map(|_| word(3)).collect();
        let heads: String = (0..8).map(|_| word(1)).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let form = Form::ALL[rng.random_range(0..4)];
        let (sounds, no_repeat) = (rng.random_range(0..4), rng.random_range(0..3) == 0);
        let rules = Rules {
            rhyme: (sounds == 1 || sounds == 3).then_some(Wanted::Any),
            tones: (sounds >= 2).then_some(Wanted::Any),
            no_repeat,
            relax: rng.random_range(0..4) == 0,
        };
        let with_heads = rng.random_range(0..2) == 0;
        let heads: String = heads.chars().take(if with_heads { form.lines() } else { 0 }).collect();
        let layout = Layout::from(form);
        let template = if with_heads {
            Template::acrostic(&heads, layout, 0).unwrap()
        } else {
            Template::free(layout)
        };
        let task = match Task::verse_with(&template, &rules, &words, &vocabulary) {
            Ok(task) => task,
            Err(GenerateError::NoPlace { rules, .. }) => {
                assert!(!rules.is_empty(), "{words:?} in {heads} {form}");
                refused += 1;
                continue;
            }
            Err(error) => panic!("{error}"),
        };
        let config = GenerationConfig {
            seed,
            temperature: [0.0, 0.85, 1.0, 3.0][rng.random_range(0..4)],
            top_k: [0, 1, 50][rng.random_range(0..3)],
            ..GenerationConfig::default()
        };
        let mut decoder = noisy(vocabulary.len(), seed);
        let sequence = written(&mut decoder, &task, &config);
        assert_words(&sequence, &words, &vocabulary);
        let poem = text(&sequence, &vocabulary);
        assert_eq!(Form::of(&poem), Some(form));
        for (line, head) in poem.split_terminator(['，', '。']).zip(heads.chars()) {
            assert!(line.starts_with(head), "{poem}");
        }
        if sounds == 3 && task.exemptions().is_empty() {
            assert!(check(&poem).unwrap().passes_strictly(), "{words:?}: {poem}");
        }
        if no_repeat && !rules.relax {
            assert_eq!(repeated(&poem, &heads), [], "{words:?}: {poem}");
        }
        poems += 1;
    }
    assert!(poems > 1200 && refused > 20, "{poems} poems, {refused} refused");
}

#[test]
fn a_seed_gives_one_poem_in_every_mode() {
    let vocabulary = vocabulary();
    let model = model(&vocabulary);
    let layout = Layout::new(4, LineLength::Five);
    let words = ["七上", "丁"];
    let rules = Rules { no_repeat: true, ..Rules::default() };
    let template = Template::acrostic("三万丈不", layout, 0).unwrap();
    let task = Task::verse_with(&template, &rules, &words, &vocabulary).unwrap();
    let configs: Vec<_> =
        (0..12).map(|seed| GenerationConfig { seed, ..GenerationConfig::default() }).collect();
    let mut cached = CachedDecoder::new(&model, TWO);
    let alone: Vec<Sequence> =
        configs.iter().map(|config| written(&mut cached, &task, config)).collect();
    let starts = configs.iter().map(|config| Sequence::new(task.clone(), config));
    let batch: Vec<Sequence> =
        Batch::with_places(&mut cached, starts, 5).collect::<Result<_, _>>().unwrap();
    let mut places = std::collections::HashSet::new();
    for ((one, other), config) in alone.iter().zip(&batch).zip(&configs) {
        let full = written(&mut FullDecoder::new(&model, TWO), &task, config);
        let best = best_of(&mut cached, &task, config, 1).unwrap();
        for sequence in [other, &full, &best] {
            assert_eq!(sequence.tokens(), one.tokens());
            assert_eq!(sequence.word_places(), one.word_places());
        }
        assert_words(one, &words, &vocabulary);
        places.insert(format!("{:?}", one.word_places()));
    }
    assert!(places.len() > 6, "{places:?}");

    let found = |decoder: &mut dyn Decoder| {
        let start = Sequence::new(task.clone(), &GenerationConfig::default()).unwrap();
        beam_search(decoder, start, 6).unwrap()
    };
    let (cached, full) = (found(&mut cached), found(&mut FullDecoder::new(&model, TWO)));
    assert_eq!(cached.len(), 6);
    for (one, other) in cached.iter().zip(&full) {
        assert_words(one, &words, &vocabulary);
        assert_eq!(one.tokens(), other.tokens());
    }
}

/// Counts of poems by the column of a word in a single line, with these logits of its first character.
fn columns(logits: [f32; 7]) -> [usize; 7] {
    let vocabulary = Vocabulary::from_texts([SAMPLE]);
    let template = Template::free(Layout::new(1, LineLength::Seven));
    let word = vocabulary.id('月').unwrap() as usize;
    let size = vocabulary.len();
    let task = Task::verse_with(&template, &Rules::default(), &["月"], &vocabulary).unwrap();
    let mut decoder = ScriptedDecoder::new(16, move |tokens| {
        let mut all = vec![0.0; size];
        all[word] = *logits.get(tokens.len() - 1).unwrap_or(&0.0);
        all
    });
    let mut counts = [0; 7];
    for seed in 0..1400 {
        let config = GenerationConfig { seed, ..GenerationConfig::default() };
        let sequence = written(&mut decoder, &task, &config);
        counts[sequence.word_places()[0].unwrap().column] += 1;
    }
    counts
}

#[test]
fn places_are_equally_frequent_unless_the_model_prefers_one() {
    let even = columns([0.0; 7]);
    assert!(even.iter().all(|count| (150..250).contains(count)), "{even:?}");
    // Ten times as likely in the fourth place.
    let one = columns([0.0, 0.0, 0.0, 10_f32.ln(), 0.0, 0.0, 0.0]);
    assert!(one[3] > 400 && one[..3].iter().all(|count| (150..250).contains(count)), "{one:?}");
}

#[test]
fn words_without_places_are_refused_with_the_reason() {
    let vocabulary = Vocabulary::from_texts([SAMPLE, "月光故人江山悠花水木非"]);
    let message = |template: &str, rules: Rules, words: &[&str]| -> String {
        let template = Template::parse(template).unwrap();
        let task = Task::verse_with(&template, &rules, words, &vocabulary);
        task.err().map_or(String::new(), |error| error.to_string())
    };
    let (free, none) = ("*****，*****。*****，*****。", Rules::default());
    let long = &"*******，*******。".repeat(4);
    let heads = &"月******，花******。".repeat(4);
    let no_repeat = Rules { no_repeat: true, ..none };
    let relaxed = Rules { relax: true, ..Rules::regulated() };
    let room = "as the lines and the given characters leave too little room";
    for (template, rules, words, wanted) in [
        (free, none, &[""][..], "the text is empty"),
        (free, none, &["月a"], "`a`"),
        (free, none, &["江山月光花水"], "`江山月光花水` has 6 characters, and a line has 5"),
        (
            "月****。",
            none,
            &["江山月光花"],
            &format!("`江山月光花` has no place in the poem, {room}"),
        ),
        (
            "*****。",
            none,
            &["月", "江山水", "故人花"],
            &format!("`江山水` and `故人花` have no places in one poem, {room}"),
        ),
        (
            "*****。",
            none,
            &["月水", "江花", "故人"],
            &format!("`月水`, `江花` and `故人` have no places in one poem, {room}"),
        ),
        (
            free,
            Rules::regulated(),
            &["月水木月"],
            "`月水木月` has no place in the poem because of the tones: ",
        ),
        (free, relaxed, &["月水木月"], ""),
        (
            free,
            no_repeat,
            &["人非人"],
            "`人非人` has no place in the poem because of the ban on repetition",
        ),
        (free, no_repeat, &["悠悠悠"], "because of the ban on repetition"),
        (free, no_repeat, &["悠悠"], ""),
        (
            free,
            no_repeat,
            &["江花", "花江"],
            "`江花` and `花江` have no places in one poem because of the ban",
        ),
        // 花 is in both words, once.
        (free, no_repeat, &["江花", "花月"], ""),
        // Every combination of the others would be tried with it.
        (heads, none, &["江山明水故人木", "春", "风", "光"], "has no place in the poem"),
        (heads, relaxed, &["江山明水故人木", "春", "风", "光"], "has no place in the poem"),
        // Two of four, or one, that only many tries would find out among all.
        (long, no_repeat, &["江花", "明月", "春风", "花江"], "`江花` and `花江` have no places"),
        (
            long,
            Rules::regulated(),
            &["春风明月", "江南江北", "山山山山", "花落花开"],
            "`山山山山` has no place",
        ),
        (long, relaxed, &["春风明月", "江南江北", "山山山山", "花落花开"], ""),
        // Given already, or part of another word.
        ("月光***。", no_repeat, &["月光", "光", "月"], ""),
        ("*****。", no_repeat, &["故人", "人", "江山水", "故人"], ""),
        ("月****，*****。", no_repeat, &["月光"], ""),
        ("***月光，*****。", no_repeat, &["月水"], "because of the ban on repetition"),
    ] {
        let message = message(template, rules, words);
        assert!(message.contains(wanted), "{words:?}: {message}");
        assert_eq!(message.is_empty(), wanted.is_empty(), "{words:?}: {message}");
    }
}

//! The evaluation runs on an untrained model and counts what it should.

#![cfg(test)]

use std::path::Path;

use tang_checkpoint::ModelConfig;
use tang_corpus::{Collections, Corpus};

use super::*;
use crate::cache::tests::{small, untrained};

fn lab<'a>(texts: impl IntoIterator<Item = &'a str>) -> LabModel {
    untrained(texts, |size| ModelConfig { layers: 1, ..ModelConfig::tang_4l(size) })
}

fn sample() -> Split {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/sample.txt");
    let corpus = Corpus::read(Path::new(path), Collections::Tang, &mut |_| {}).unwrap();
    Split::of(&corpus.poems).unwrap()
}

fn options(form: Form) -> EvalOptions {
    EvalOptions {
        poems: 5,
        forms: vec![form],
        open: false,
        config: GenerationConfig::default(),
        search: Search::Sample,
    }
}

/// An evaluation by a model that knows the sample's characters.
fn evaluated(options: &EvalOptions) -> Eval {
    let split = sample();
    let texts = split.train.iter().chain(&split.validation);
    let lab = lab(texts.map(String::as_str));
    eval(&lab, &split, options).unwrap()
}

fn row<'a>(eval: &'a Eval, name: &str) -> &'a EvalRow {
    eval.rows.iter().find(|row| row.name == name).unwrap()
}

#[test]
fn held_out_poems_are_read_as_they_stand() {
    let eval = evaluated(&EvalOptions {
        poems: 2,
        forms: Form::ALL.to_vec(),
        open: true,
        ..options(Form::QiJue)
    });
    let real: Vec<&EvalRow> = eval.rows.iter().filter(|row| row.name == "held-out").collect();
    let poems: Vec<usize> = real.iter().map(|row| row.poems).collect();
    let split = sample();
    let of = |form| split.validation.iter().filter(move |poem| Form::of(poem) == Some(form));
    assert_eq!(poems[..4], Form::ALL.map(|form| of(form).count()));
    assert_eq!(poems[4], split.validation.len());
    for row in real.into_iter().filter(|row| row.poems > 0) {
        assert_eq!((row.refused(), row.duplicates), (0, 0));
        assert_eq!(row.right_form.part, row.poems);
        assert_eq!((row.acrostic, row.ms_per_poem), (None, None));
        // An untrained model finds all characters about equally likely.
        let nats = row.nats_per_char.unwrap();
        assert!((6.5..8.0).contains(&nats), "{nats}");
    }
    // Poems of any form, at three settings.
    assert_eq!(eval.rows.len(), 4 * 5 + 4);
    let open = row(&eval, "open, temperature 0.7");
    assert_eq!((open.form, open.poems), (None, 2));
}

#[test]
fn constrained_poems_keep_what_they_are_asked_to() {
    for form in [Form::WuJue, Form::QiLv] {
        let eval = evaluated(&options(form));
        let free = row(&eval, "form only");
        assert_eq!((free.poems, free.right_form.part), (5, 5));
        assert_eq!(free.scores.whole.part, 0, "chance alone hardly keeps rules");
        for name in ["regulated", "regulated, no repeat", "regulated acrostic"] {
            let row = row(&eval, name);
            assert_eq!((row.poems, row.scores.strict.part), (5, 5), "{form}, {name}");
        }
        let acrostic = row(&eval, "regulated acrostic").acrostic.unwrap();
        assert_eq!((acrostic.part, acrostic.whole), (5, 5));
        let lengths = eval.rows.iter().filter_map(|row| row.distinct);
        let lengths: Vec<usize> = lengths.map(|distinct| distinct.distinct_1.whole).collect();
        assert!(lengths.iter().all(|length| *length == lengths[0]));
    }
}

#[test]
fn the_seed_decides_and_searches_find_likelier_poems() {
    let untimed = |search| {
        let mut eval = evaluated(&EvalOptions { search, ..options(Form::WuJue) });
        for row in &mut eval.rows {
            row.ms_per_poem = None;
        }
        eval
    };
    let nats = |eval: &Eval, name: &str| row(eval, name).nats_per_free_char.unwrap();
    let samples = untimed(Search::Sample);
    assert_eq!(samples, untimed(Search::Sample));
    let best = untimed(Search::BestOf(4));
    let beams = untimed(Search::Beams(3));
    for name in ["regulated", "regulated acrostic"] {
        assert!(nats(&best, name) < nats(&samples, name));
        assert!(nats(&beams, name) < nats(&best, name));
    }
    // Three beams find three poems of one task, but one of each acrostic.
    assert_eq!(row(&beams, "regulated").poems, 3);
    assert_eq!(row(&beams, "regulated acrostic").poems, 5);
}

#[test]
fn what_a_small_vocabulary_cannot_write_is_counted() {
    let lab = lab(["床前明月光，疑是地上霜。举头望山月，低头思故乡。"]);
    let eval = eval(&lab, &sample(), &options(Form::WuJue)).unwrap();
    assert_eq!(row(&eval, "form only").poems, 5);
    for (name, reason) in
        [("regulated", "the rhyme needs"), ("regulated acrostic", "not in the vocabulary")]
    {
        let row = row(&eval, name);
        assert_eq!((row.poems, row.refused()), (0, 5), "{name}");
        assert!(row.refusals.keys().all(|message| message.contains(reason)));
        assert_eq!((row.distinct, row.ms_per_poem), (None, None));
    }
    let real = row(&eval, "held-out");
    assert!(real.poems == 0 && real.refused() > 0);
    let text = eval.to_string();
    assert!(text.contains("五绝, regulated: 5 refused: the rhyme needs"), "{text}");
}

#[test]
fn a_bad_setting_is_an_error() {
    let options = EvalOptions {
        config: GenerationConfig { temperature: -1.0, ..GenerationConfig::default() },
        ..options(Form::QiJue)
    };
    let error = eval(&lab(["春"]), &sample(), &options).unwrap_err();
    assert!(error.to_string().starts_with("temperature is -1"), "{error}");
}

#[test]
fn heads_are_runs_of_the_poems() {
    let poems = ["白日依山尽，黄河入海流。", "移舟泊烟渚，日暮客愁新。"].map(str::to_owned);
    let runs = ["白日依山尽黄河入海流", "移舟泊烟渚日暮客愁新"];
    let heads = random_heads(&poems, 4, 200, 7);
    assert_eq!(heads.len(), 200);
    for heads in &heads {
        assert_eq!(heads.chars().count(), 4);
        assert!(runs.iter().any(|run| run.contains(heads)), "{heads}");
    }
    // 7 places in each poem, and 200 draws leave none out.
    assert_eq!(heads.iter().collect::<HashSet<_>>().len(), 14);
}

#[test]
fn the_seed_decides() {
    let poems = ["白日依山尽，黄河入海流。".to_owned()];
    let of = |seed| random_heads(&poems, 8, 50, seed);
    assert_eq!(of(1), of(1));
    assert_ne!(of(1), of(2));
}

#[test]
fn contexts_are_filled_and_each_begins_a_poem() {
    // Context 48, poems of 11 characters with their newline: 4 of them and a part of a fifth.
    let lab = small(ModelConfig::tang_4l);
    let poem = "床前明月光疑是地上霜";
    let loss = position_loss(&lab, [poem; 9]).unwrap();
    assert_eq!((loss.rows, loss.parts.len()), (1, 8));
    assert_eq!(position_loss(&lab, [poem; 10]).unwrap().rows, 2);
    assert_eq!(position_loss(&lab, ["龙"; 100]).unwrap().rows, 0);
    let range = |part: &PartLoss| (part.first, part.last);
    assert_eq!(range(&loss.parts[0]), (1, 6));
    assert_eq!(range(&loss.parts[7]), (43, 48));
    // Untrained: about as open as the vocabulary.
    let uniform = (lab.vocabulary.len() as f64).ln();
    for part in &loss.parts {
        assert!((part.nats_per_char - uniform).abs() < 0.3, "{part:?}");
    }
    assert!(loss.to_string().contains("| 43-48 |"), "{loss}");
}

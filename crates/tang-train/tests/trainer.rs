//! A run on a handful of poems: it learns, it stops and goes on, and its losses are pinned.

#![cfg(test)]

use std::{ops::ControlFlow, path::Path, sync::Arc};

use tang_checkpoint::{ModelConfig, ModelFolder};
use tang_corpus::Split;
use tang_engine::{Engine, Threads};
use tang_model::device;
use tang_tokenizer::Vocabulary;
use tang_train::{
    Evaluation, Observer, Outcome, Preset, RunFolder, RunLog, StepReport, TrainConfig, TrainError,
    Trainer, evaluate,
};

fn poems() -> Split {
    let train = [
        "白日依山尽，黄河入海流。欲穷千里目，更上一层楼。",
        "红豆生南国，秋来发故枝。愿君多采撷，此物最相思。",
        "千山鸟飞绝，万径人踪灭。孤舟蓑笠翁，独钓寒江雪。",
        "朝辞白帝彩云间，千里江陵一日还。两岸猨声啼不尽，轻舟已过万重山。",
        "月落乌啼霜满天，江枫渔父对愁眠。姑苏城外寒山寺，夜半钟声到客船。",
    ];
    Split {
        train: train.map(str::to_owned).to_vec(),
        validation: vec![train[0].to_owned()],
        song: vec!["黄河入海流，白日依山尽。更上一层楼，欲穷千里目。".to_owned()],
    }
}

fn config() -> TrainConfig {
    TrainConfig {
        seed: 7,
        steps: 10,
        batch_tokens: 72,
        peak_learning_rate: 1e-2,
        warmup_steps: 2,
        evaluate_every: 4,
        dropout: 0.1,
        ..Preset::Quick.config()
    }
}

fn model() -> ModelConfig {
    ModelConfig {
        width: 32,
        feed_forward_width: 128,
        layers: 2,
        context: 40,
        ..ModelConfig::tang_4l(0)
    }
}

/// Collects losses and stops after a step.
#[derive(Default)]
struct Recorder {
    losses: Vec<f64>,
    evaluations: Vec<(usize, Evaluation)>,
    stop_after: Option<usize>,
}

impl Observer for Recorder {
    fn on_step(&mut self, report: &StepReport) -> ControlFlow<()> {
        self.losses.push(report.nats_per_char);
        if self.stop_after == Some(report.step) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    fn on_evaluation(&mut self, report: &StepReport, evaluation: &Evaluation, _: &Arc<Engine>) {
        self.evaluations.push((report.step, *evaluation));
    }
}

fn start(folder: &Path, config: TrainConfig) -> Trainer {
    Trainer::start(config, model(), poems(), folder, &device::cpu()).unwrap()
}

fn resume(folder: &Path, split: Split) -> Result<Trainer, TrainError> {
    Trainer::resume(split, RunFolder::resume(folder)?, &device::cpu())
}

fn engine(folder: ModelFolder) -> Engine {
    let (config, weights) = folder.into_parts();
    Engine::pack(&config, &weights).unwrap()
}

#[test]
fn ten_steps_have_these_losses() {
    let folder = tempfile::tempdir().unwrap();
    let mut recorder = Recorder::default();
    let outcome = start(folder.path(), config()).run(&mut recorder).unwrap();
    assert_eq!(outcome, Outcome::Finished);
    let pinned =
        [4.61001, 4.63580, 4.74747, 4.29675, 4.22700, 4.16887, 3.86428, 4.00496, 3.87756, 3.93773];
    for (step, (got, wanted)) in recorder.losses.iter().zip(pinned).enumerate() {
        assert!((got - wanted).abs() < 1e-3, "step {step}: {:?}", recorder.losses);
    }
    let steps: Vec<usize> = recorder.evaluations.iter().map(|(step, _)| *step).collect();
    assert_eq!(steps, [4, 8, 10]);
}

#[test]
fn learns_its_poems_by_heart() {
    let folder = tempfile::tempdir().unwrap();
    let config = TrainConfig { steps: 120, evaluate_every: 120, dropout: 0.0, ..config() };
    let mut recorder = Recorder::default();
    start(folder.path(), config).run(&mut recorder).unwrap();
    let (_, evaluation) = recorder.evaluations[0];
    assert!(evaluation.nats_per_char < 0.2, "{evaluation:?}");

    // The saved model is the measured one.
    let opened = ModelFolder::open(folder.path()).unwrap();
    let vocabulary = Vocabulary::load(folder.path()).unwrap();
    assert_eq!(opened.vocabulary_fingerprint(), Some(vocabulary.fingerprint().as_str()));
    let model = engine(opened);
    let again = evaluate(&model, &poems().validation, &vocabulary, Threads::ONE).unwrap();
    assert_eq!(again, evaluation);
}

#[test]
fn a_stopped_run_goes_on_as_if_it_had_not_stopped() {
    for song_steps in [0, 5] {
        stops_and_goes_on(TrainConfig { song_steps, ..config() });
    }
}

fn stops_and_goes_on(config: TrainConfig) {
    let (whole, parts) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut uninterrupted = Recorder::default();
    start(whole.path(), config).run(&mut uninterrupted).unwrap();

    let mut recorder = Recorder { stop_after: Some(3), ..Recorder::default() };
    let mut trainer = start(parts.path(), config);
    assert_eq!(trainer.run(&mut recorder).unwrap(), Outcome::Stopped);
    drop(trainer);
    for stop_after in [Some(6), None] {
        recorder.stop_after = stop_after;
        let mut trainer = resume(parts.path(), poems()).unwrap();
        trainer.run(&mut recorder).unwrap();
    }
    assert_eq!(recorder.losses, uninterrupted.losses);
    assert_eq!(recorder.evaluations, uninterrupted.evaluations);

    let saved = |path: &Path| std::fs::read(path.join("model.safetensors")).unwrap();
    assert!(saved(parts.path()) == saved(whole.path()), "another model");
    let log = |path: &Path| -> Vec<usize> {
        let lines = RunLog::read(&path.join("log.jsonl")).unwrap();
        lines.iter().map(|line| line.step).collect()
    };
    assert_eq!(log(parts.path()), [3, 4, 6, 8, 10]);
    assert_eq!(log(whole.path()), [4, 8, 10]);
}

#[test]
fn song_poems_are_learned_first() {
    let losses_with = |song: Vec<String>, song_steps| {
        let folder = tempfile::tempdir().unwrap();
        let mut recorder = Recorder::default();
        let config = TrainConfig { song_steps, dropout: 0.0, ..config() };
        let split = Split { song, ..poems() };
        let device = device::cpu();
        let trainer = Trainer::start(config, model(), split, folder.path(), &device);
        trainer.unwrap().run(&mut recorder).unwrap();
        recorder.losses
    };
    let losses = |song_steps| losses_with(poems().song, song_steps);
    // So many that the first batches have some.
    let [many, others] = [1, 2].map(|poem| vec![poems().train[poem].clone(); 20]);
    assert_ne!(losses_with(many.clone(), 4), losses_with(others.clone(), 4));
    assert_eq!(losses_with(many, 0), losses_with(others, 0));
    let (none, some) = (losses(0), losses(4));
    // The first batch of the Tang poems comes after four steps.
    assert_ne!(none[0], some[0]);
    assert!(some[4] < none[0], "{some:?} {none:?}");

    let folder = tempfile::tempdir().unwrap();
    let without = Split { song: Vec::new(), ..poems() };
    let config = TrainConfig { song_steps: 4, ..config() };
    let started = Trainer::start(config, model(), without, folder.path(), &device::cpu());
    assert!(matches!(started, Err(TrainError::NoSong)));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);

    start(folder.path(), config).run(&mut Recorder::default()).unwrap();
    let other = Split { song: poems().train, ..poems() };
    assert!(matches!(resume(folder.path(), other), Err(TrainError::OtherCorpus { .. })));
}

#[test]
fn refuses_to_resume_on_another_corpus_or_from_a_damaged_state() {
    let folder = tempfile::tempdir().unwrap();
    start(folder.path(), config()).run(&mut Recorder::default()).unwrap();
    let resume = |split: Split| resume(folder.path(), split).map(|_| ());
    // The same characters in another order are another corpus.
    let mut other = poems();
    other.train.reverse();
    assert!(matches!(resume(other), Err(TrainError::OtherCorpus { .. })));
    let state = folder.path().join("training_state.safetensors");
    let bytes = std::fs::read(&state).unwrap();
    for damaged in [&bytes[..bytes.len() / 2], b"", b"{}"] {
        std::fs::write(&state, damaged).unwrap();
        assert!(matches!(resume(poems()), Err(TrainError::Damaged { .. })));
    }
}

/// Far too large steps.
fn diverging() -> TrainConfig {
    TrainConfig {
        steps: 200,
        peak_learning_rate: 0.99,
        max_gradient_norm: 1e30,
        weight_decay: 300.0,
        evaluate_every: 200,
        warmup_steps: 100,
        ..config()
    }
}

#[test]
fn a_step_that_diverges_is_named_and_the_last_state_stays() {
    let folder = tempfile::tempdir().unwrap();
    let mut recorder = Recorder { stop_after: Some(3), ..Recorder::default() };
    let mut trainer = start(folder.path(), diverging());
    assert_eq!(trainer.run(&mut recorder).unwrap(), Outcome::Stopped);
    drop(trainer);
    let resumed = || resume(folder.path(), poems()).unwrap();
    let error = resumed().run(&mut recorder).unwrap_err();
    let TrainError::Diverged { step, .. } = error else {
        panic!("{error}");
    };
    assert_eq!(step, recorder.losses.len() + 1);
    assert!(recorder.evaluations.is_empty());
    assert_eq!(resumed().step(), 3);
}

#[test]
fn a_loss_that_is_no_number_stops_the_run_and_keeps_what_was_saved() {
    let folder = tempfile::tempdir().unwrap();
    let config = TrainConfig { evaluate_every: 1, ..diverging() };
    let mut recorder = Recorder::default();
    let error = start(folder.path(), config).run(&mut recorder).unwrap_err();
    assert!(
        matches!(error, TrainError::Diverged { .. } | TrainError::ValidationNotFinite { .. }),
        "{error}"
    );
    let saved = resume(folder.path(), poems()).unwrap().step();
    assert!(saved > 0 && saved < recorder.losses.len() + 1, "{saved}");
    let model = ModelFolder::open(folder.path()).unwrap();
    let model = engine(model);
    let vocabulary = Vocabulary::load(folder.path()).unwrap();
    let kept = evaluate(&model, &poems().validation, &vocabulary, Threads::ONE).unwrap();
    assert!(kept.nats_per_char.is_finite());
}

//! Training on either device, and on one after the other.

use std::{ops::ControlFlow, path::Path, sync::Arc};

use tang_checkpoint::ModelConfig;
use tang_corpus::Split;
use tang_engine::Engine;
use tang_model::device::{self, Device};
use tang_train::{Evaluation, Observer, Preset, RunFolder, StepReport, TrainConfig, Trainer};

use crate::{TOLERANCE, work::sample};

const STEPS: usize = 20;

struct Losses {
    losses: Vec<f64>,
    stop_after: usize,
}

impl Observer for Losses {
    fn on_step(&mut self, report: &StepReport) -> ControlFlow<()> {
        self.losses.push(report.nats_per_char);
        if report.step < self.stop_after {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    }

    fn on_evaluation(&mut self, report: &StepReport, evaluation: &Evaluation, _: &Arc<Engine>) {
        assert_eq!(report.step, STEPS);
        self.losses.push(evaluation.nats_per_char);
    }
}

/// Poems of two lengths: each more takes other kernels, which in software take a minute.
fn split() -> Split {
    let sample = sample();
    let short = sample.lines().filter(|poem| poem.chars().count() <= 32);
    let poems: Vec<String> = short.map(str::to_owned).collect();
    let (train, validation) = poems.split_at(poems.len() - 8);
    Split { train: train.to_vec(), validation: validation.to_vec(), ..Split::default() }
}

/// Two layers, and nothing else smaller than in the real ones but the context and the vocabulary.
fn small(config: ModelConfig) -> ModelConfig {
    ModelConfig { layers: 2, context: 40, ..config }
}

/// Losses of the steps from where the run in `folder` is to `stop_after`, and at the end of the run its
/// evaluation.
fn train(folder: &Path, model: ModelConfig, device: &Device, stop_after: usize) -> Vec<f64> {
    let mut trainer = match RunFolder::resume(folder) {
        Ok(folder) => Trainer::resume(split(), folder, device).unwrap(),
        Err(_) => {
            let config = TrainConfig {
                steps: STEPS,
                batch_tokens: 320,
                evaluate_every: STEPS,
                dropout: 0.1,
                ..Preset::Quick.config()
            };
            Trainer::start(config, model, split(), folder, device).unwrap()
        }
    };
    let mut losses = Losses { losses: Vec::new(), stop_after };
    trainer.run(&mut losses).unwrap();
    losses.losses
}

#[test]
fn losses_are_those_of_the_cpu_also_across_devices() {
    let (cpu, gpu) = (device::cpu(), device::gpu().unwrap());
    for model in [ModelConfig::tang_4l(1), ModelConfig::minimind_4l(1)].map(small) {
        let run = |parts: &[(&Device, usize)]| -> Vec<f64> {
            let folder = tempfile::tempdir().unwrap();
            let parts = parts.iter();
            parts.flat_map(|(device, to)| train(folder.path(), model, device, *to)).collect()
        };
        let wanted = run(&[(&cpu, STEPS)]);
        assert_eq!(wanted.len(), STEPS + 1);
        let last = wanted[STEPS - 1];
        assert!(last < wanted[0] - 0.5, "it learns: {wanted:?}");
        for parts in [
            &[(&gpu, STEPS)][..],
            &[(&cpu, STEPS / 2), (&gpu, STEPS)],
            &[(&gpu, STEPS / 2), (&cpu, STEPS)],
        ] {
            let got = run(parts);
            assert_eq!(got.len(), wanted.len());
            for (step, (got, wanted)) in got.iter().zip(&wanted).enumerate() {
                let gap = (got - wanted).abs();
                assert!(gap < f64::from(TOLERANCE), "{parts:?}, step {step}: {gap}");
            }
        }
    }
}

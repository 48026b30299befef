//! The configuration of a training run, and its presets.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::TrainError;

/// Everything that decides the course of a training run.
///
/// Two runs of one configuration on one corpus give the same losses, on CPUs with the same instruction
/// sets.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TrainConfig {
    /// Seed of the starting values, of the order of the poems, and of dropout.
    pub seed: u64,
    /// Optimiser steps in the whole run.
    pub steps: usize,
    /// The first of them, which learn from Song and Tang poems together; the others learn from Tang poems alone.
    pub song_steps: usize,
    /// Characters per step at most.
    pub batch_tokens: usize,
    /// Learning rate at the end of the warm-up.
    pub peak_learning_rate: f64,
    /// Steps of linear warm-up.
    pub warmup_steps: usize,
    /// Weight decay of the matrices.
    pub weight_decay: f32,
    /// Share of the embeddings and of the output of each sublayer that is dropped at random in the steps on Tang
    /// poems alone. Those on Song poems, too, repeat little and need none.
    pub dropout: f64,
    /// Weight in the loss, at first, of the characters before a full stop, where a poem rhymes; the others have 1.
    pub rhyme_weight: f64,
    /// Largest norm of all gradients together.
    pub max_gradient_norm: f32,
    /// Steps between two evaluations.
    pub evaluate_every: usize,
}

impl TrainConfig {
    /// Checks that a run of this configuration can exist.
    ///
    /// # Errors
    ///
    /// [`TrainError::Config`] with the first impossible value.
    pub fn validate(&self) -> Result<(), TrainError> {
        let Self { peak_learning_rate: rate, dropout, weight_decay, max_gradient_norm, .. } = *self;
        let is_possible = |number: f32| number.is_finite() && number >= 0.0;
        let reason = if self.steps == 0 {
            "0 steps".to_owned()
        } else if self.song_steps > self.steps {
            format!("{} of {} steps on Song poems", self.song_steps, self.steps)
        } else if self.evaluate_every == 0 {
            "evaluation every 0 steps".to_owned()
        } else if !(rate > 0.0 && rate < 1.0) {
            format!("a learning rate of {rate}, not between 0 and 1")
        } else if !(0.0..=0.9).contains(&dropout) {
            format!("a dropout of {dropout}, not between 0 and 0.9")
        } else if !(self.rhyme_weight >= 0.0 && self.rhyme_weight.is_finite()) {
            format!("a rhyme weight of {}: it must be finite, and not negative", self.rhyme_weight)
        } else if !(is_possible(weight_decay) && is_possible(max_gradient_norm)) {
            format!(
                "weight decay {weight_decay} and largest gradient norm {max_gradient_norm}: both must be finite, and not negative"
            )
        } else {
            return Ok(());
        };
        Err(TrainError::Config(reason))
    }
}

/// How long to train. Times are those of two cores of a 2020s server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preset {
    /// About 5 minutes.
    Quick,
    /// About 11 minutes.
    Default,
    /// About 22 minutes.
    Best,
    /// About 45 minutes: Song and Tang poems, then Tang poems alone.
    Song,
}

impl Preset {
    /// The presets, shortest first.
    pub const ALL: [Self; 4] = [Self::Quick, Self::Default, Self::Best, Self::Song];

    /// The name as typed on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Default => "default",
            Self::Best => "best",
            Self::Song => "song",
        }
    }

    /// The configuration of this preset.
    pub fn config(self) -> TrainConfig {
        // A run that sees each poem three times does not overfit: it needs no dropout.
        let (steps, song_steps, dropout) = match self {
            Self::Quick => (1000, 0, 0.0),
            Self::Default => (2500, 0, 0.1),
            Self::Best => (5000, 0, 0.1),
            Self::Song => (9000, 7000, 0.1),
        };
        TrainConfig {
            seed: 0,
            steps,
            song_steps,
            batch_tokens: 4096,
            peak_learning_rate: 8e-3,
            warmup_steps: 100,
            weight_decay: 0.1,
            dropout,
            rhyme_weight: 6.0,
            max_gradient_norm: 1.0,
            evaluate_every: steps / 10,
        }
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Preset {
    type Err = TrainError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|preset| preset.name() == name).ok_or_else(|| {
            TrainError::Config(format!("no preset `{name}`: use quick, default, best or song"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_are_possible_and_named() {
        for preset in Preset::ALL {
            preset.config().validate().unwrap();
            assert_eq!(preset.name().parse::<Preset>().unwrap(), preset);
        }
        let error = "fast".parse::<Preset>().unwrap_err().to_string();
        assert!(error.contains("quick, default, best or song"), "{error}");
    }

    #[test]
    fn refuses_impossible_runs() {
        let good = Preset::Quick.config();
        for bad in [
            TrainConfig { steps: 0, ..good },
            TrainConfig { song_steps: good.steps + 1, ..good },
            TrainConfig { evaluate_every: 0, ..good },
            TrainConfig { peak_learning_rate: f64::NAN, ..good },
            TrainConfig { max_gradient_norm: f32::INFINITY, ..good },
            TrainConfig { dropout: 1.0, ..good },
            TrainConfig { rhyme_weight: f64::NAN, ..good },
            TrainConfig { weight_decay: -0.1, ..good },
        ] {
            assert!(bad.validate().is_err(), "{bad:?}");
        }
    }
}

//! The plan of a training run as `tang train --dry-run` prints it.

use std::{fmt, path::PathBuf};

use indicatif::HumanCount;
use tang_checkpoint::{ModelConfig, ParameterSpec, parameters};
use tang_files::escape_value;
use tang_lab::{Bytes, ModelSummary};
use tang_train::{Plan, RunFolder};

/// Digits of a SHA-256 that are enough to tell one corpus from another.
const SHA_DIGITS: usize = 12;

/// A plan, with what the command line says about it. It displays itself, one aspect a line.
pub struct TrainingPlan {
    /// The plan.
    pub plan: Plan,
    /// Where the poems come from.
    pub corpus: PathBuf,
    /// Where the run goes to.
    pub folder: PathBuf,
    /// Whether it is the rest of a run in that folder.
    pub is_rest: bool,
    /// The most memory that this process had, where the system says so.
    pub peak_memory: Option<Bytes>,
}

impl fmt::Display for TrainingPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plan = &self.plan;
        let mut line = |name: &str, text: String| writeln!(f, "{name:<13} {text}");
        line("model", ModelSummary::of(&plan.model).to_string())?;
        line("parameters", parts(&plan.model))?;
        line("corpus", self.corpus())?;
        line(
            "step",
            format!(
                "{} characters at most, learning rate up to {}",
                count(plan.config.batch_tokens),
                plan.config.peak_learning_rate
            ),
        )?;
        line("steps", self.steps())?;
        line("characters", self.characters())?;
        line(
            "evaluation",
            format!(
                "every {} steps and at the end, {} in all",
                count(plan.config.evaluate_every),
                plan.evaluations_left()
            ),
        )?;
        line("output", self.output())?;
        line("time", self.time())?;
        match self.peak_memory {
            Some(bytes) => line(
                "memory",
                format!("{bytes}, the most that this process had in those steps"),
            ),
            None => Ok(()),
        }
    }
}

impl TrainingPlan {
    fn corpus(&self) -> String {
        let plan = &self.plan;
        format!(
            "{}: {} poems of {} characters to learn from, {} to evaluate on; SHA-256 {}",
            escape_value(&self.corpus.display().to_string()),
            count(plan.poems),
            count(plan.characters),
            count(plan.validation_poems),
            &plan.corpus[..SHA_DIGITS]
        )
    }

    fn steps(&self) -> String {
        let plan = &self.plan;
        let left = plan.steps_left();
        let done = match plan.steps_done {
            0 => String::new(),
            done => format!(
                " left, {} of {} done",
                count(done),
                count(plan.config.steps)
            ),
        };
        format!(
            "{}{done}; {} are an epoch: {:.1} epochs",
            count(left),
            count(plan.steps_per_epoch),
            left as f64 / plan.steps_per_epoch as f64
        )
    }

    fn characters(&self) -> String {
        let plan = &self.plan;
        let about = if plan.is_counted() { "" } else { "about " };
        let left = format!("{about}{}", HumanCount(plan.tokens_left));
        match plan.tokens_done {
            0 => left,
            done => format!("{left} left, {} done", HumanCount(done)),
        }
    }

    fn output(&self) -> String {
        let state = match (self.is_rest, RunFolder::is_free(&self.folder)) {
            (true, _) => "goes on with the run there",
            (false, true) => "free",
            (false, false) => {
                "taken: name another folder with --out, or go on with --resume if it is a run"
            }
        };
        let folder = self.folder.display().to_string();
        format!("{} ({state})", escape_value(&folder))
    }

    fn time(&self) -> String {
        let plan = &self.plan;
        let minutes = |seconds: f64| format!("{:.1} min", seconds / 60.0);
        format!(
            "{}, {} of it evaluation; measured now: {:.0} characters/s over {} steps, {:.1} s an evaluation",
            minutes(plan.train_seconds() + plan.evaluation_seconds()),
            minutes(plan.evaluation_seconds()),
            plan.trial.tokens_per_second,
            plan.trial.steps,
            plan.trial.evaluation_seconds
        )
    }
}

/// The parameters of each part of a network.
fn parts(config: &ModelConfig) -> String {
    let mut parts = [
        ("embeddings", 0),
        ("blocks", 0),
        ("final norm", 0),
        ("output head", 0),
    ];
    for spec in parameters(config) {
        let part = match spec.path.split('.').next() {
            Some("token_embedding" | "position_embedding") => 0,
            Some("blocks") => 1,
            Some("output_head") => 3,
            _ => 2,
        };
        parts[part].1 += ParameterSpec::numel(&spec);
    }
    let shown = parts
        .into_iter()
        .filter(|(_, parameters)| *parameters > 0)
        .map(|(name, parameters)| format!("{name} {}", count(parameters)));
    shown.collect::<Vec<_>>().join(", ")
}

fn count(number: usize) -> HumanCount {
    HumanCount(number as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_are_the_whole() {
        let gpt2 = ModelConfig::tang_4l(6289);
        assert_eq!(
            parts(&gpt2),
            "embeddings 821,376, blocks 793,088, final norm 256"
        );
        let untied = ModelConfig {
            tied_head: false,
            ..ModelConfig::minimind_4l(6289)
        };
        assert_eq!(
            parts(&untied),
            "embeddings 804,992, blocks 787,456, final norm 128, output head 804,992"
        );
    }
}

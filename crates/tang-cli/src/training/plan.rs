//! The plan of a training run as `tang train --dry-run` prints it.

use std::{fmt, path::Path};

use indicatif::HumanCount;
use tang_checkpoint::{ModelConfig, parameters};
use tang_files::escape_value;
use tang_lab::{ModelSummary, peak_memory};
use tang_train::{Plan, RunFolder};

/// Digits of a SHA-256 that tell one corpus from another.
const SHA_DIGITS: usize = 12;

/// A plan, with paths from the command line. It displays one aspect per line.
pub struct TrainingPlan<'a> {
    pub plan: Plan,
    /// Source of the poems.
    pub corpus: &'a Path,
    /// Folder of the run.
    pub folder: &'a Path,
    /// Whether it is the rest of the run in that folder.
    pub is_rest: bool,
}

impl fmt::Display for TrainingPlan<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Plan { config, model, trial, .. } = &self.plan;
        let plan = &self.plan;
        let path = |path: &Path| escape_value(&path.display().to_string());
        let minutes = |seconds: f64| format!("{:.1} min", seconds / 60.0);
        let song_poems = match plan.song_poems {
            0 => String::new(),
            poems => format!(", {} Song poems beside them at first", count(poems)),
        };
        let corpus = format!(
            "{}: {} poems of {} characters to learn from{}, {} to evaluate on; SHA-256 {}",
            path(self.corpus),
            count(plan.poems),
            count(plan.characters),
            song_poems,
            count(plan.validation_poems),
            &plan.corpus[..SHA_DIGITS]
        );
        let step = format!(
            "{} characters at most, learning rate up to {}",
            count(config.batch_tokens),
            config.peak_learning_rate
        );
        let (left, all) = (plan.steps_left(), count(config.steps));
        let done = match plan.steps_done {
            0 => String::new(),
            done => format!(" left, {} of {all} done", count(done)),
        };
        let with_song = match plan.song_steps_left() {
            0 => String::new(),
            steps => format!(", {} of them with Song poems, too; of the others", count(steps)),
        };
        let steps = format!(
            "{}{done}{with_song}; {} are an epoch: {:.1} epochs",
            count(left),
            count(plan.steps_per_epoch),
            (left - plan.song_steps_left()) as f64 / plan.steps_per_epoch as f64
        );
        let about = if plan.is_counted { "" } else { "about " };
        let left = format!("{about}{}", HumanCount(plan.tokens_left));
        let characters = match plan.tokens_done {
            0 => left,
            done => format!("{left} left, {} done", HumanCount(done)),
        };
        let evaluation = format!(
            "every {} steps and at the end, {} in all",
            count(config.evaluate_every),
            plan.evaluations_left()
        );
        let state = if self.is_rest {
            "goes on with the run there"
        } else if RunFolder::is_free(self.folder) {
            "free"
        } else {
            "taken: name another folder with --out, or go on with --resume if it is a run"
        };
        let time = format!(
            "{}, {} of it evaluation; measured now: {:.0} characters/s over {} steps, {:.1} s per evaluation",
            minutes(plan.train_seconds() + plan.evaluation_seconds()),
            minutes(plan.evaluation_seconds()),
            trial.tokens_per_second,
            trial.steps,
            trial.evaluation_seconds
        );
        for (name, text) in [
            ("model", ModelSummary::of(model).to_string()),
            ("parameters", parts(model)),
            ("corpus", corpus),
            ("step", step),
            ("steps", steps),
            ("characters", characters),
            ("evaluation", evaluation),
            ("output", format!("{} ({state})", path(self.folder))),
            ("time", time),
        ] {
            writeln!(f, "{name:<13} {text}")?;
        }
        // Some systems do not report it.
        peak_memory(std::process::id()).map_or(Ok(()), |memory| {
            let name = "memory";
            writeln!(f, "{name:<13} {memory}, the most that this process had in those steps")
        })
    }
}

/// The parameter counts of the parts of a network.
fn parts(config: &ModelConfig) -> String {
    let names = ["embeddings", "blocks", "final norm", "output head"];
    let mut counts = [0; 4];
    for spec in parameters(config) {
        let part = match spec.path.split('.').next() {
            Some("token_embedding" | "position_embedding") => 0,
            Some("blocks") => 1,
            Some("output_head") => 3,
            _ => 2,
        };
        counts[part] += spec.numel();
    }
    let parts = names.into_iter().zip(counts);
    let parts = parts.filter(|(_, parameters)| *parameters > 0);
    let shown = parts.map(|(name, parameters)| format!("{name} {}", count(parameters)));
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
        assert_eq!(parts(&gpt2), "embeddings 821,376, blocks 793,088, final norm 256");
        let untied = ModelConfig { tied_head: false, ..ModelConfig::minimind_4l(6289) };
        assert_eq!(
            parts(&untied),
            "embeddings 804,992, blocks 787,456, final norm 128, output head 804,992"
        );
    }
}

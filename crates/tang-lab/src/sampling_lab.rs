//! What temperature, top-k and top-p do to the poems of a model.

use std::{collections::HashSet, fmt};

use serde::Serialize;
use tang_generate::{GenerateError, GenerationConfig, Sequence, Task, generate_batch};
use tang_prosody::Form;

use crate::{
    LabError, LabModel, StepCandidates,
    step_candidates::{TOP_P, candidates, steps},
    table::thousands,
};

/// Temperature, top-k and top-p of each row.
const SETTINGS: [(f32, usize, f32); 7] = [
    (0.0, 0, 1.0),
    (0.3, 0, 1.0),
    (0.7, 0, 1.0),
    PLAIN,
    (1.5, 0, 1.0),
    (1.5, 20, 1.0),
    (1.5, 0, 0.9),
];
/// The model's own distribution; its poems show what top-p keeps.
const PLAIN: (f32, usize, f32) = (1.0, 0, 1.0);
/// Characters of a poem that the table shows.
const SHOWN: usize = 16;

/// Free samples under several settings, and the candidates that top-p keeps. It displays as
/// Markdown.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SamplingLab {
    /// Samples of each setting; sample i has the seed i.
    pub samples: usize,
    /// One entry a setting.
    pub settings: Vec<SettingSamples>,
    /// Steps of the samples at temperature 1, from which the candidates are.
    pub steps: usize,
    /// Steps from the most peaked to the flattest.
    pub candidates: Vec<StepCandidates>,
}

/// What came of one setting.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SettingSamples {
    /// Divides the logits; 0 takes the best token.
    pub temperature: f32,
    /// Best tokens that are kept; 0 keeps all.
    pub top_k: usize,
    /// Probability that the kept tokens reach; 1 keeps all.
    pub top_p: f32,
    /// Samples that differ from one another.
    pub distinct: usize,
    /// Samples that have none of the four forms.
    pub broken: usize,
    /// Mean log-probability of a character, in nats, under the model alone.
    pub mean_log_prob: f64,
    /// The beginning of the sample with seed 0.
    pub first: String,
}

/// Writes `samples` free poems under each setting.
///
/// # Errors
///
/// If generation fails.
pub(crate) fn sampling_lab(
    lab: &LabModel,
    samples: usize,
    on_progress: &mut dyn FnMut(&str),
) -> Result<SamplingLab, LabError> {
    let mut result = SamplingLab {
        samples,
        settings: Vec::new(),
        steps: 0,
        candidates: Vec::new(),
    };
    for (temperature, top_k, top_p) in SETTINGS {
        on_progress(&format!(
            "sampling: temperature {temperature}, top-k {top_k}, top-p {top_p}"
        ));
        let config = GenerationConfig {
            temperature,
            top_k,
            top_p,
            ..GenerationConfig::default()
        };
        let sequences = free_samples(lab, &config, samples)?;
        result
            .settings
            .push(SettingSamples::of(lab, &config, &sequences)?);
        if (temperature, top_k, top_p) == PLAIN {
            let steps = steps(lab, &sequences)?;
            result.steps = steps.len();
            result.candidates = candidates(lab, steps)?;
        }
    }
    Ok(result)
}

pub(crate) fn free_samples(
    lab: &LabModel,
    config: &GenerationConfig,
    samples: usize,
) -> Result<Vec<Sequence>, LabError> {
    let sequences = (0..samples as u64)
        .map(|seed| {
            let config = GenerationConfig {
                seed,
                ..config.clone()
            };
            Sequence::new(Task::open(), &config)
        })
        .collect::<Result<Vec<_>, _>>()?;
    let mut decoder = lab.cached();
    Ok(generate_batch(&mut *decoder, sequences)?)
}

impl SettingSamples {
    pub(crate) fn of(
        lab: &LabModel,
        config: &GenerationConfig,
        sequences: &[Sequence],
    ) -> Result<Self, LabError> {
        let poems = sequences
            .iter()
            .map(|sequence| {
                let text = lab.vocabulary.decode(sequence.tokens());
                Ok(text.map_err(GenerateError::from)?.trim().to_owned())
            })
            .collect::<Result<Vec<_>, LabError>>()?;
        let characters = |sequence: &Sequence| sequence.generated().len() as f64;
        let log_prob: f64 = sequences
            .iter()
            .map(|sequence| sequence.mean_log_prob() * characters(sequence))
            .sum();
        Ok(Self {
            temperature: config.temperature,
            top_k: config.top_k,
            top_p: config.top_p,
            distinct: poems.iter().collect::<HashSet<_>>().len(),
            broken: poems.iter().filter(|poem| Form::of(poem).is_none()).count(),
            mean_log_prob: log_prob / sequences.iter().map(characters).sum::<f64>(),
            first: beginning(&poems[0]),
        })
    }
}

/// The first characters, with `…` for what is left out.
fn beginning(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

impl fmt::Display for SamplingLab {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} free samples a row, seeds from 0. Broken: of none of the four forms. The log-probability is that of the model alone, in nats.\n",
            self.samples
        )?;
        writeln!(
            f,
            "| temperature | top-k | top-p | distinct | broken | log-probability a character | seed 0 |\n|---:|---:|---:|---:|---:|---:|---|"
        )?;
        for row in &self.settings {
            let top_k = match row.top_k {
                0 => "off".to_owned(),
                k => k.to_string(),
            };
            let top_p = match row.top_p {
                1.0 => "off".to_owned(),
                p => p.to_string(),
            };
            writeln!(
                f,
                "| {} | {top_k} | {top_p} | {} | {:.0}% | {:.2} | {} |",
                row.temperature,
                row.distinct,
                100.0 * row.broken as f64 / self.samples as f64,
                row.mean_log_prob,
                row.first
            )?;
        }
        writeln!(
            f,
            "\nHow many candidates top-p keeps at temperature 1, over the {} steps of its samples, ordered by entropy: few where the model is sure, many where it is not.\n",
            thousands(self.steps)
        )?;
        write!(f, "| step | entropy, nats |")?;
        for p in TOP_P {
            write!(f, " {p} keeps |")?;
        }
        write!(f, " after |\n|---|---:|{}---|", "---:|".repeat(TOP_P.len()))?;
        for row in &self.candidates {
            write!(f, "\n{row}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use tang_checkpoint::{ModelConfig, Weights};
    use tang_engine::{Engine, Threads};
    use tang_tokenizer::Vocabulary;

    use std::sync::Arc;

    use super::*;

    pub(crate) fn untrained() -> LabModel {
        let vocabulary = Vocabulary::from_texts(["床前明月光疑是地上霜举头望山低思故乡"]);
        let config = ModelConfig {
            width: 16,
            feed_forward_width: 64,
            layers: 2,
            context: 32,
            ..ModelConfig::tang_4l(vocabulary.len())
        };
        LabModel {
            model: Box::new(Arc::new(
                Engine::pack(&config, &Weights::random(&config, 1)).unwrap(),
            )),
            vocabulary,
            name: "untrained".to_owned(),
            threads: Threads::available(),
        }
    }

    #[test]
    fn settings_do_what_they_are_for() {
        let lab = untrained();
        let mut notes = 0;
        let result = sampling_lab(&lab, 6, &mut |_| notes += 1).unwrap();
        assert_eq!((result.samples, notes), (6, SETTINGS.len()));
        let row = |setting| {
            let found = SETTINGS.iter().position(|other| *other == setting);
            &result.settings[found.unwrap()]
        };
        let (greedy, plain) = (row((0.0, 0, 1.0)), row(PLAIN));
        assert_eq!((greedy.distinct, plain.distinct), (1, 6));
        // An untrained model writes no form by chance.
        assert_eq!(plain.broken, 6);
        // Nearly uniform: each character is about as likely as any other.
        let uniform = -(lab.vocabulary.len() as f64).ln();
        assert!((plain.mean_log_prob - uniform).abs() < 0.1, "{plain:?}");
        assert!(greedy.mean_log_prob > plain.mean_log_prob);
    }

    #[test]
    fn a_long_poem_is_cut() {
        let sixteen = "一二三四五六七八九十一二三四五六";
        assert_eq!(beginning(sixteen), sixteen);
        let longer = format!("{sixteen}七");
        assert_eq!(beginning(&longer), format!("{sixteen}…"));
        assert_eq!(beginning(""), "");
    }

    #[test]
    fn the_section_shows_every_row() {
        let result = SamplingLab {
            samples: 30,
            settings: vec![SettingSamples {
                temperature: 1.5,
                top_k: 20,
                top_p: 1.0,
                distinct: 29,
                broken: 3,
                mean_log_prob: -2.345,
                first: "床前明月光".to_owned(),
            }],
            steps: 1900,
            candidates: vec![StepCandidates {
                place: "median",
                entropy: 4.5,
                kept: [10, 20, 30, 4000],
                text: "⏎床前".to_owned(),
            }],
        };
        let text = result.to_string();
        assert!(text.starts_with("30 free samples a row"), "{text}");
        assert!(
            text.contains("| 1.5 | 20 | off | 29 | 10% | -2.35 | 床前明月光 |"),
            "{text}"
        );
        assert!(
            text.contains("| median | 4.50 | 10 | 20 | 30 | 4,000 | ⏎床前 |"),
            "{text}"
        );
        assert!(text.contains("the 1,900 steps"));
    }
}

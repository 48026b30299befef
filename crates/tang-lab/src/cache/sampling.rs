//! The effect of temperature, top-k and top-p on the poems of a model.

use std::{collections::HashSet, fmt};

use serde::Serialize;
use tang_engine::entropy;
use tang_generate::{GenerateError, GenerationConfig, Sequence, top_p_count};
use tang_prosody::Form;
use tang_tokenizer::TokenId;

use crate::{
    LabError, LabModel,
    cache::cases::sampler,
    page::{count, table},
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
/// The model's own distribution; its poems show the candidates that top-p keeps.
const PLAIN: (f32, usize, f32) = (1.0, 0, 1.0);
/// Values of top-p whose candidates are counted.
const TOP_P: [f32; 4] = [0.5, 0.85, 0.9, 0.95];
/// Names of the steps that are shown, from the most peaked distribution to the flattest.
const PLACES: [&str; 5] = ["most peaked", "lower quartile", "median", "upper quartile", "flattest"];
/// Characters of a text that the tables show.
const SHOWN: usize = 16;

/// Free samples under several settings, and the candidates that top-p keeps. It displays as
/// Markdown.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct SamplingLab {
    /// Samples of each setting; sample i has the seed i.
    samples: usize,
    settings: Vec<SettingSamples>,
    /// Count of steps of the samples at temperature 1, among which `candidates` were selected.
    steps: usize,
    /// Steps from the most peaked to the flattest.
    candidates: Vec<StepCandidates>,
}

/// The samples of one setting.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct SettingSamples {
    temperature: f32,
    top_k: usize,
    top_p: f32,
    /// Samples that differ from one another.
    distinct: usize,
    /// Samples that have none of the four forms.
    broken: usize,
    /// Mean log-probability of a character, in nats, under the model alone.
    mean_log_prob: f64,
    /// The beginning of the sample with seed 0.
    first: String,
}

/// The candidates that top-p keeps at one step.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct StepCandidates {
    /// The place of the step among all, by entropy.
    place: &'static str,
    /// Entropy of the distribution, in nats.
    entropy: f64,
    /// One count per value of top-p.
    kept: [usize; 4],
    /// The end of the text so far, with `⏎` for the newline.
    text: String,
}

/// Writes `samples` free poems under each setting.
pub(crate) fn sampling_lab(lab: &LabModel, samples: usize) -> Result<SamplingLab, LabError> {
    let (mut settings, mut steps, mut kept) = (Vec::new(), 0, Vec::new());
    for (temperature, top_k, top_p) in SETTINGS {
        lab.note(format_args!("sampling: temperature {temperature}, top-k {top_k}, top-p {top_p}"));
        let config = sampler(temperature, top_k, top_p);
        let sequences = lab.free_texts(&config, samples)?;
        settings.push(SettingSamples::of(lab, &config, &sequences)?);
        if (temperature, top_k, top_p) == PLAIN {
            let plain = plain_steps(lab, &sequences)?;
            steps = plain.len();
            kept = candidates(lab, plain)?;
        }
    }
    Ok(SamplingLab { samples, settings, steps, candidates: kept })
}

impl SettingSamples {
    fn of(
        lab: &LabModel,
        config: &GenerationConfig,
        sequences: &[Sequence],
    ) -> Result<Self, LabError> {
        let poems = sequences.iter().map(|sequence| lab.text(sequence.tokens()));
        let poems = poems.collect::<Result<Vec<_>, _>>()?;
        let characters = |sequence: &Sequence| sequence.generated().len() as f64;
        let log_prob = |sequence: &Sequence| sequence.mean_log_prob() * characters(sequence);
        Ok(Self {
            temperature: config.temperature,
            top_k: config.top_k,
            top_p: config.top_p,
            distinct: poems.iter().collect::<HashSet<_>>().len(),
            broken: poems.iter().filter(|poem| Form::of(poem).is_none()).count(),
            mean_log_prob: sequences.iter().map(log_prob).sum::<f64>()
                / sequences.iter().map(characters).sum::<f64>(),
            first: beginning(&poems[0]),
        })
    }
}

/// One step of a generation: the text so far, and the model's logits for the next token.
struct PlainStep<'a> {
    tokens: &'a [TokenId],
    logits: Vec<f32>,
    entropy: f64,
}

/// Every step of these generations, in one pass each.
fn plain_steps<'a>(
    lab: &LabModel,
    sequences: &'a [Sequence],
) -> Result<Vec<PlainStep<'a>>, LabError> {
    let mut steps = Vec::new();
    for sequence in sequences {
        let tokens = sequence.tokens();
        // The logits after the last token are not needed.
        let logits = lab.position_logits(&tokens[..tokens.len() - 1])?;
        steps.extend((1..).zip(logits.rows()).map(|(length, row)| PlainStep {
            tokens: &tokens[..length],
            logits: row.to_vec(),
            entropy: entropy(row),
        }));
    }
    Ok(steps)
}

/// The steps at the [`PLACES`] of the order by entropy. There is at least one step.
fn candidates(lab: &LabModel, mut steps: Vec<PlainStep>) -> Result<Vec<StepCandidates>, LabError> {
    steps.sort_by(|a, b| a.entropy.total_cmp(&b.entropy));
    let row = |(index, place): (usize, &&'static str)| {
        let step = &steps[index * (steps.len() - 1) / (PLACES.len() - 1)];
        let text = lab.vocabulary.decode(step.tokens);
        let text = text.map_err(GenerateError::from)?;
        Ok(StepCandidates {
            place,
            entropy: step.entropy,
            kept: TOP_P.map(|p| top_p_count(&step.logits, p)),
            text: ending(&text.replace('\n', "⏎")),
        })
    };
    PLACES.iter().enumerate().map(row).collect()
}

/// The first characters, with `…` for the rest.
fn beginning(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The last characters, with `…` for the others.
fn ending(text: &str) -> String {
    match text.char_indices().rev().nth(SHOWN - 1) {
        Some((start, _)) if start > 0 => format!("…{}", &text[start..]),
        _ => text.to_owned(),
    }
}

impl fmt::Display for SamplingLab {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let settings = self.settings.iter().map(|row| {
            let off = |is_off, value: String| if is_off { "off".to_owned() } else { value };
            let top_k = off(row.top_k == 0, row.top_k.to_string());
            let top_p = off(row.top_p == 1.0, row.top_p.to_string());
            let broken = 100.0 * row.broken as f64 / self.samples as f64;
            let (temperature, distinct, first) = (row.temperature, row.distinct, &row.first);
            let own = format!("{temperature} | {top_k} | {top_p} | {distinct} | {broken:.0}%");
            format!("{own} | {:.2} | {first}", row.mean_log_prob)
        });
        let candidates = self.candidates.iter().map(|row| {
            let kept = row.kept.map(|kept| count(kept).to_string()).join(" | ");
            format!("{} | {:.2} | {kept} | {}", row.place, row.entropy, row.text)
        });
        let keeps = TOP_P.map(|p| format!("{p} keeps")).join(" | ");
        write!(
            f,
            "{} free samples per row, seeds from 0. Broken: of none of the four forms. The log-probability is that \
            of the model alone, in nats.\n\n{}\n\nCount of candidates that top-p keeps at temperature 1, over the \
            {} steps of its samples, ordered by entropy: few where the model is sure, many where it is not.\n\n{}",
            self.samples,
            table(
                "temperature | top-k | top-p | distinct | broken | log-probability per character | :seed 0",
                settings
            ),
            count(self.steps),
            table(&format!(":step | entropy, nats | {keeps} | :after"), candidates)
        )
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use tang_checkpoint::ModelConfig;
    use tang_tokenizer::NEWLINE;

    use super::*;

    fn untrained() -> LabModel {
        let text = "床前明月光疑是地上霜举头望山低思故乡";
        crate::cache::tests::untrained([text], |size| ModelConfig {
            layers: 2,
            context: 32,
            ..ModelConfig::tang_4l(size)
        })
    }

    #[test]
    fn settings_do_what_they_are_for() {
        let notes = Arc::new(Mutex::new(0));
        let counted = Arc::clone(&notes);
        let mut lab = untrained();
        lab.on_progress = Arc::new(move |_| *counted.lock().unwrap() += 1);
        let result = sampling_lab(&lab, 6).unwrap();
        assert_eq!((result.samples, *notes.lock().unwrap()), (6, SETTINGS.len()));
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
        assert!(text.starts_with("30 free samples per row"), "{text}");
        assert!(text.contains("| 1.5 | 20 | off | 29 | 10% | -2.35 | 床前明月光 |"), "{text}");
        assert!(text.contains("| median | 4.50 | 10 | 20 | 30 | 4,000 | ⏎床前 |"), "{text}");
        assert!(text.contains("the 1,900 steps"));
    }

    #[test]
    fn steps_are_those_of_the_generation() {
        let lab = untrained();
        let config = sampler(1.0, 0, 1.0);
        let sequences = lab.free_texts(&config, 3).unwrap();
        let all = plain_steps(&lab, &sequences).unwrap();
        let generated = sequences.iter().map(|s| s.generated().len()).sum::<usize>();
        assert_eq!(all.len(), generated);
        // The log-probabilities of the tokens that followed add up to those of the sequences.
        let followed = sequences.iter().flat_map(Sequence::generated);
        let sum: f64 = all
            .iter()
            .zip(followed)
            .map(|(step, token)| {
                let total: f64 = step.logits.iter().map(|l| f64::from(*l).exp()).sum();
                f64::from(step.logits[*token as usize]) - total.ln()
            })
            .sum();
        let row = SettingSamples::of(&lab, &config, &sequences).unwrap();
        assert!((row.mean_log_prob - sum / generated as f64).abs() < 1e-4);
    }

    #[test]
    fn places_go_from_peaked_to_flat() {
        let lab = untrained();
        let size = lab.vocabulary.len();
        let tokens = [NEWLINE, 3, 4];
        // Step i is sure of token 0 by i; the last is the most peaked.
        let steps = (0..9).map(|lead| {
            let mut logits = vec![0.0; size];
            logits[0] = 2.0 * lead as f32;
            PlainStep { tokens: &tokens[..1 + lead % 3], entropy: entropy(&logits), logits }
        });
        let rows = candidates(&lab, steps.collect()).unwrap();
        assert_eq!(rows.len(), PLACES.len());
        assert_eq!(rows[0].kept, [1; 4]);
        let flattest = &rows[4];
        assert!((flattest.entropy - (size as f64).ln()).abs() < 1e-6);
        let share = |p: f32| (f64::from(p) * size as f64).ceil() as usize;
        assert_eq!(flattest.kept, TOP_P.map(share));
        assert_eq!(flattest.text, "⏎");
        for pair in rows.windows(2) {
            assert!(pair[0].entropy < pair[1].entropy);
            assert!(pair[0].kept <= pair[1].kept);
        }
    }

    #[test]
    fn a_long_text_is_cut() {
        let sixteen = "一二三四五六七八九十一二三四五六";
        assert_eq!(ending(sixteen), sixteen);
        let longer = format!("上{sixteen}");
        assert_eq!(ending(&longer), format!("…{sixteen}"));
        assert_eq!(ending(""), "");
    }
}

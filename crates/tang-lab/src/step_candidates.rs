//! How many candidates top-p keeps where the model is sure, and where it is not.

use std::fmt;

use serde::Serialize;
use tang_engine::{Logits, entropy};
use tang_generate::{GenerateError, Sequence, top_p_count};
use tang_tokenizer::TokenId;

use crate::{LabError, LabModel, table::thousands};

/// Values of top-p whose candidates are counted.
pub(crate) const TOP_P: [f32; 4] = [0.5, 0.85, 0.9, 0.95];
/// Steps that are shown, from the most peaked distribution to the flattest.
const PLACES: [&str; 5] = [
    "most peaked",
    "lower quartile",
    "median",
    "upper quartile",
    "flattest",
];
/// Characters of a text that the table shows.
const SHOWN: usize = 16;

/// What top-p keeps at one step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StepCandidates {
    /// Where the step stands among all, by entropy.
    pub place: &'static str,
    /// Entropy of the distribution, in nats.
    pub entropy: f64,
    /// Candidates that top-p 0.5, 0.85, 0.9 and 0.95 keep.
    pub kept: [usize; 4],
    /// The end of the text so far, with `⏎` for the newline.
    pub text: String,
}

/// One step of a generation.
pub(crate) struct PlainStep<'a> {
    /// The text so far.
    tokens: &'a [TokenId],
    /// What the model says may follow.
    logits: Vec<f32>,
    entropy: f64,
}

/// Every step of these generations, in one pass each.
pub(crate) fn steps<'a>(
    lab: &LabModel,
    sequences: &'a [Sequence],
) -> Result<Vec<PlainStep<'a>>, LabError> {
    let mut steps = Vec::new();
    for sequence in sequences {
        let tokens = sequence.tokens();
        // Nothing follows the last token.
        let logits: Logits = lab.position_logits(&tokens[..tokens.len() - 1])?;
        steps.extend((1..).zip(logits.rows()).map(|(length, row)| PlainStep {
            tokens: &tokens[..length],
            logits: row.to_vec(),
            entropy: entropy(row),
        }));
    }
    Ok(steps)
}

/// The steps at the [`PLACES`] of the order by entropy. There is at least one step.
pub(crate) fn candidates(
    lab: &LabModel,
    mut steps: Vec<PlainStep>,
) -> Result<Vec<StepCandidates>, LabError> {
    steps.sort_by(|a, b| a.entropy.total_cmp(&b.entropy));
    PLACES
        .into_iter()
        .enumerate()
        .map(|(place, name)| {
            let step = &steps[place * (steps.len() - 1) / (PLACES.len() - 1)];
            let text = lab.vocabulary.decode(step.tokens);
            let text = text.map_err(GenerateError::from)?.replace('\n', "⏎");
            Ok(StepCandidates {
                place: name,
                entropy: step.entropy,
                kept: TOP_P.map(|p| top_p_count(&step.logits, p)),
                text: ending(&text),
            })
        })
        .collect()
}

/// The last characters, with `…` for what is left out.
fn ending(text: &str) -> String {
    match text.char_indices().rev().nth(SHOWN - 1) {
        Some((start, _)) if start > 0 => format!("…{}", &text[start..]),
        _ => text.to_owned(),
    }
}

impl fmt::Display for StepCandidates {
    /// A row of a Markdown table.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "| {} | {:.2} |", self.place, self.entropy)?;
        for kept in self.kept {
            write!(f, " {} |", thousands(kept))?;
        }
        write!(f, " {} |", self.text)
    }
}

#[cfg(test)]
mod tests {
    use tang_generate::GenerationConfig;
    use tang_tokenizer::NEWLINE;

    use super::*;
    use crate::{
        SettingSamples,
        sampling_lab::{free_samples, tests::untrained},
    };

    #[test]
    fn steps_are_those_of_the_generation() {
        let lab = untrained();
        let config = GenerationConfig {
            temperature: 1.0,
            top_k: 0,
            top_p: 1.0,
            ..GenerationConfig::default()
        };
        let sequences = free_samples(&lab, &config, 3).unwrap();
        let all = steps(&lab, &sequences).unwrap();
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
            PlainStep {
                tokens: &tokens[..1 + lead % 3],
                entropy: entropy(&logits),
                logits,
            }
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

//! Generation with the cache and without gives the same tokens.

use std::fmt;

use serde::Serialize;
use tang_engine::Decoder;
use tang_generate::{Generator, Sequence, Step};
use tang_tokenizer::TokenId;

use crate::{
    LabError, LabModel,
    logit_gap::LogitGap,
    test_cases::{TestCase, test_cases},
};

/// What came of generating many poems twice.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Exactness {
    /// Poems that were generated with the cache and without.
    pub cases: usize,
    /// Tokens that were compared.
    pub tokens: usize,
    /// Poems whose first different token can be another for rounding.
    pub ties: usize,
    /// Largest difference between the logits of the two ways.
    pub largest_logit_difference: f32,
    /// Smallest lead of a chosen token over the second.
    pub smallest_margin: f32,
}

impl Exactness {
    /// Nothing compared yet, of so many cases.
    pub(crate) fn of(cases: usize) -> Self {
        Self {
            cases,
            tokens: 0,
            ties: 0,
            largest_logit_difference: 0.0,
            smallest_margin: f32::INFINITY,
        }
    }
}

impl fmt::Display for Exactness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} poems ({} tokens) are the same with the cache and without, token by token; {} ties. Largest difference of a logit {:.1e}, smallest lead of a chosen token {:.1e}.",
            self.cases, self.tokens, self.ties, self.largest_logit_difference, self.smallest_margin
        )
    }
}

/// Generates `cases` poems of all modes and settings, each with the cache and without.
///
/// # Errors
///
/// [`LabError::Tokens`] at the first token that differs and is no tie; [`LabError::Logits`] if
/// logits differ by more than rounding can make: 1e-4 of the largest.
pub fn exactness(
    lab: &LabModel,
    cases: usize,
    on_progress: &mut dyn FnMut(&str),
) -> Result<Exactness, LabError> {
    let mut result = Exactness::of(cases);
    for (done, case) in test_cases(lab, cases)?.into_iter().enumerate() {
        if done.is_multiple_of(50) {
            on_progress(&format!("cache exactness: {done} of {cases} poems"));
        }
        let mut cached = lab.cached();
        let mut full = lab.uncached();
        compare(&mut *cached, &mut *full, &case, &mut result)?;
    }
    Ok(result)
}

/// Runs one case on both decoders, step by step, and takes what it shows into `result`.
pub(crate) fn compare(
    cached: &mut dyn Decoder,
    full: &mut dyn Decoder,
    case: &TestCase,
    result: &mut Exactness,
) -> Result<(), LabError> {
    let mut with = Generator::new(cached, case.task.clone(), &case.config)?;
    let mut without = Generator::new(full, case.task.clone(), &case.config)?;
    while with.sequence().finish_reason().is_none() {
        let logits = with.logits()?.to_vec();
        let gap = LogitGap::between(&logits, without.logits()?).checked(&case.name)?;
        result.largest_logit_difference = result.largest_logit_difference.max(gap);
        let before = with.sequence().clone();
        let steps = (with.next().transpose()?, without.next().transpose()?);
        let (Some(step), Some(other)) = steps else {
            break;
        };
        if step.token != other.token {
            different_token(&case.name, &before, &logits, gap, step, other.token)?;
            result.ties += 1;
            return Ok(());
        }
        result.tokens += 1;
        result.smallest_margin = result.smallest_margin.min(step.margin);
    }
    Ok(())
}

/// Fails if logits that are up to `gap` apart cannot make the difference between a step and another token: see
/// [`Sequence::could_choose`]. `before` is the sequence before the step.
pub(crate) fn different_token(
    what: &str,
    before: &Sequence,
    logits: &[f32],
    gap: f32,
    step: Step,
    full: TokenId,
) -> Result<(), LabError> {
    if before.could_choose(logits, full, gap) {
        return Ok(());
    }
    Err(LabError::Tokens {
        what: what.to_owned(),
        step: before.generated().len(),
        cached: step.token,
        full,
        margin: step.margin,
    })
}

#[cfg(test)]
mod tests {
    use tang_generate::{GenerationConfig, Task};

    use super::*;
    use crate::fake_decoder::FakeDecoder;

    fn outcome(lead: f32, fault: Option<(usize, f32)>) -> Result<Exactness, LabError> {
        let case = TestCase {
            name: "fake".to_owned(),
            task: Task::open(),
            config: GenerationConfig {
                temperature: 0.0,
                max_new_tokens: 10,
                ..GenerationConfig::default()
            },
        };
        let mut result = Exactness::of(1);
        let new = |fault| FakeDecoder {
            lead,
            fault,
            ..FakeDecoder::default()
        };
        compare(&mut new(fault), &mut new(None), &case, &mut result).map(|()| result)
    }

    #[test]
    fn equal_decoders_are_exact() {
        let result = outcome(1.0, None).unwrap();
        assert_eq!((result.tokens, result.ties), (10, 0));
        assert_eq!(result.smallest_margin, 1.0);
    }

    #[test]
    fn rounding_is_measured_and_a_wrong_logit_is_found() {
        let result = outcome(1.0, Some((5, 5e-5))).unwrap();
        assert!((result.largest_logit_difference - 5e-5).abs() < 1e-6);
        for fault in [1e-3, -1e-3, f32::NAN] {
            let error = outcome(1.0, Some((5, fault))).unwrap_err();
            assert!(matches!(error, LabError::Logits { .. }), "{error}");
        }
    }

    #[test]
    fn a_choice_that_rounding_turns_is_a_tie() {
        let result = outcome(1e-5, Some((5, 5e-5))).unwrap();
        assert_eq!((result.tokens, result.ties), (5, 1));
    }

    #[test]
    fn a_choice_that_rounding_cannot_turn_is_an_error() {
        let config = GenerationConfig {
            temperature: 0.0,
            ..GenerationConfig::default()
        };
        let before = Sequence::new(Task::open(), &config).unwrap();
        let logits = [0.0, 0.5, -1.0];
        let step = before.clone().advance(&logits).unwrap();
        assert_eq!((step.token, step.margin), (1, 0.5));
        let different = |gap, token| different_token("fake", &before, &logits, gap, step, token);
        assert!(different(0.26, 0).is_ok());
        for (gap, token) in [(0.24, 0), (0.7, 2), (1e-5, 0)] {
            let error = different(gap, token).unwrap_err();
            assert!(matches!(error, LabError::Tokens { step: 0, .. }), "{error}");
        }
    }

    #[test]
    fn a_tie_at_the_border_of_top_p_is_one() {
        // The likeliest token alone has 0.85, but for rounding: a little less, and the second can be drawn.
        let lead = (0.85_f64 / 0.15).ln() as f32;
        let cached = || FakeDecoder {
            lead,
            others: -100.0,
            ..FakeDecoder::default()
        };
        let mut ties = 0;
        for seed in 0..100 {
            for fault in [5e-6, -5e-6] {
                let case = TestCase {
                    name: "fake".to_owned(),
                    task: Task::open(),
                    config: GenerationConfig {
                        seed,
                        temperature: 1.0,
                        max_new_tokens: 10,
                        stop_at_end: false,
                        ..GenerationConfig::default()
                    },
                };
                let mut full = FakeDecoder {
                    fault: Some((5, fault)),
                    ..cached()
                };
                let mut result = Exactness::of(1);
                compare(&mut cached(), &mut full, &case, &mut result).unwrap();
                ties += result.ties;
            }
        }
        assert!(ties > 3, "{ties}");
    }
}

//! The comparison of one generation with another that should be the same.

use std::fmt;

use serde::Serialize;
use tang_engine::Decoder;
use tang_generate::{Generator, Sequence, Step};
use tang_tokenizer::TokenId;

use crate::{
    LabError, LabModel,
    cache::cases::{TestCase, test_cases},
};

/// The largest allowed difference between logits of the same tokens, relative to the largest logit,
/// or to 1 if that is larger: larger numbers are rounded in larger steps.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Tolerance(f32);

impl Tolerance {
    /// The same bits.
    pub const NONE: Self = Self(0.0);
    /// Sums in another order.
    pub const ROUNDING: Self = Self(1e-4);

    fn of(self, logits: &[f32]) -> f32 {
        self.0 * logits.iter().fold(1.0_f32, |largest, logit| largest.max(logit.abs()))
    }
}

impl fmt::Display for Tolerance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::NONE {
            f.write_str("allowed: none, the bits are the same")
        } else {
            write!(
                f,
                "allowed: {0:.0e} of the largest logit, or {0:.0e} if that is below 1",
                self.0
            )
        }
    }
}

impl LabModel {
    /// The tolerance of this model's device.
    pub(crate) fn tolerance(&self) -> Tolerance {
        if self.is_exact { Tolerance::NONE } else { Tolerance::ROUNDING }
    }
}

/// The largest difference between logits that should be the same.
pub(crate) struct LogitGap<'a> {
    what: &'a str,
    tolerance: Tolerance,
    pub largest: f32,
}

impl<'a> LogitGap<'a> {
    pub fn new(what: &'a str, tolerance: Tolerance) -> Self {
        Self { what, tolerance, largest: 0.0 }
    }

    /// Compares two rows of logits, one per token, and gives their largest difference.
    pub fn compare(&mut self, a: &[f32], b: &[f32]) -> Result<f32, LabError> {
        let larger = |a: f32, b: f32| if a.is_nan() || a > b { a } else { b };
        let difference = a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, larger);
        let tolerance = self.tolerance.of(a).min(self.tolerance.of(b));
        if difference.is_nan() || difference > tolerance {
            return Err(LabError::Logits(format!(
                "{}: logits differ by {difference:.2e}, more than {tolerance:.0e}",
                self.what
            )));
        }
        self.largest = self.largest.max(difference);
        Ok(difference)
    }
}

/// Counts and differences of many poems that were generated twice.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Exactness {
    /// Poems that were generated twice.
    pub cases: usize,
    /// Tokens that were compared.
    pub tokens: usize,
    /// Count of poems that differ, with a first different token that rounding explains.
    pub ties: usize,
    /// Largest difference between the logits of the two ways.
    pub largest_logit_difference: f32,
    /// Smallest lead of a chosen token over the second.
    pub smallest_margin: f32,
}

impl fmt::Display for Exactness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} poems ({} tokens) are the same with the cache and without, token by token; {} ties. Largest \
            difference of a logit {:.1e}, smallest lead of a chosen token {:.1e}.",
            self.cases, self.tokens, self.ties, self.largest_logit_difference, self.smallest_margin
        )
    }
}

const SAME_LENGTH: &str = "sequences of the same tokens end at the same length";

/// The other generation of a comparison.
pub(crate) enum Other<'a> {
    /// A generation that runs step by step beside the first.
    Generator(Generator<'a>),
    /// New tokens that were generated before.
    Tokens(&'a [TokenId]),
}

impl Exactness {
    /// An empty comparison.
    pub fn new(cases: usize) -> Self {
        Self {
            cases,
            tokens: 0,
            ties: 0,
            largest_logit_difference: 0.0,
            smallest_margin: f32::INFINITY,
        }
    }

    /// Generates a case step by step, and compares each step with the other generation.
    pub fn compare(
        &mut self,
        case: &TestCase,
        decoder: &mut dyn Decoder,
        mut other: Other,
        tolerance: Tolerance,
    ) -> Result<(), LabError> {
        let mut generator = case.generator(decoder)?;
        let mut gap = LogitGap::new(&case.name, tolerance);
        while generator.sequence().finish_reason().is_none() {
            let before = generator.sequence().clone();
            let logits = generator.logits()?.to_vec();
            let (token, off) = match &mut other {
                Other::Generator(other) => {
                    let off = gap.compare(&logits, other.logits()?)?;
                    let step = other.next().transpose()?.expect(SAME_LENGTH);
                    (step.token, off)
                }
                // The logits of these tokens were not kept, so the whole tolerance is assumed.
                Other::Tokens(tokens) => match tokens.get(before.generated().len()) {
                    Some(token) => (*token, tolerance.of(&logits)),
                    None => {
                        return Err(case.other_length(tokens.len(), before.generated().len() + 1));
                    }
                },
            };
            let chosen = generator.next().transpose()?.expect(SAME_LENGTH);
            if token != chosen.token {
                check_tie(&case.name, &before, (&logits, off), chosen, token)?;
                self.ties += 1;
                return Ok(());
            }
            self.tokens += 1;
            self.smallest_margin = self.smallest_margin.min(chosen.margin);
            self.largest_logit_difference = self.largest_logit_difference.max(gap.largest);
        }
        let length = generator.sequence().generated().len();
        match other {
            Other::Tokens(tokens) if tokens.len() > length => {
                Err(case.other_length(tokens.len(), length))
            }
            _ => Ok(()),
        }
    }
}

/// Fails if a difference of the logits of up to `off` does not explain that `token` was chosen in
/// this step: see [`Sequence::could_choose`]. `before` is the sequence before the step.
fn check_tie(
    name: &str,
    before: &Sequence,
    (logits, off): (&[f32], f32),
    chosen: Step,
    token: TokenId,
) -> Result<(), LabError> {
    if before.could_choose(logits, token, off) {
        return Ok(());
    }
    let (step, won, margin) = (before.generated().len(), chosen.token, chosen.margin);
    Err(LabError::Tokens(format!(
        "{name}: token {step} differs ({won} and {token}), which no rounding of the logits explains; it won the \
        draw by {margin:.2e}"
    )))
}

/// Generates `cases` poems of all modes and settings, each with the cache and without.
pub(crate) fn exactness(lab: &LabModel, cases: usize) -> Result<Exactness, LabError> {
    let mut result = Exactness::new(cases);
    for (done, case) in test_cases(lab, cases)?.iter().enumerate() {
        if done.is_multiple_of(50) {
            lab.note(format_args!("cache exactness: {done} of {cases} poems"));
        }
        result.cached_and_full(lab, case)?;
    }
    Ok(result)
}

impl Exactness {
    /// Compares new decoders with the cache and without.
    pub fn cached_and_full(&mut self, lab: &LabModel, case: &TestCase) -> Result<(), LabError> {
        let (mut cached, mut full) = (lab.cached(), lab.uncached());
        let other = Other::Generator(case.generator(&mut *full)?);
        self.compare(case, &mut *cached, other, lab.tolerance())
    }
}

#[cfg(test)]
mod tests {
    use crate::cache::fake_decoder::FakeDecoder;
    use tang_generate::{GenerationConfig, Task};

    use super::*;

    fn largest(a: &[f32], b: &[f32]) -> Result<f32, LabError> {
        LogitGap::new("a test", Tolerance::ROUNDING).compare(a, b)
    }

    #[test]
    fn a_nan_is_a_difference() {
        let mut gap = LogitGap::new("", Tolerance(1.0));
        assert_eq!(gap.compare(&[1.0, 2.0], &[1.5, 2.25]).unwrap(), 0.5);
        for at in [0, 1] {
            let mut nan = [1.0, 1.0];
            nan[at] = f32::NAN;
            for [a, b] in [[nan, [1.0, 2.0]], [[1.0, 2.0], nan]] {
                assert!(gap.compare(&a, &b).is_err());
            }
        }
        assert_eq!(gap.largest, 0.5);
    }

    #[test]
    fn large_logits_may_differ_by_more() {
        for (logits, off, good) in [
            ([0.5, -0.2], 9e-5, true),
            ([0.5, -0.2], 1.1e-4, false),
            ([10.0, -2.0], 0.9e-3, true),
            ([10.0, -2.0], 1.1e-3, false),
            ([3.0, -150.0], 0.014, true),
            ([150.0, -150.0], -0.014, true),
            ([150.0, -150.0], 0.016, false),
        ] {
            let others = [logits[0] + off, logits[1]];
            for [a, b] in [[logits, others], [others, logits]] {
                assert_eq!(largest(&a, &b).is_ok(), good, "{logits:?} {off}");
                let exact = LogitGap::new("", Tolerance::NONE).compare(&a, &b);
                assert!(exact.is_err(), "{logits:?} {off}");
            }
        }
        assert_eq!(LogitGap::new("", Tolerance::NONE).compare(&[1.5], &[1.5]).unwrap(), 0.0);
    }

    #[test]
    fn a_small_fault_is_not_hidden_by_a_large_rounding() {
        let mut gap = LogitGap::new("a fault", Tolerance::ROUNDING);
        assert!(gap.compare(&[150.0], &[150.01]).is_ok());
        let error = gap.compare(&[1.0], &[1.005]).unwrap_err().to_string();
        assert!(error.contains("5.00e-3, more than 1e-4"), "{error}");
        assert!((gap.largest - 0.01).abs() < 1e-3);
    }

    fn outcome(lead: f32, fault: Option<(usize, f32)>) -> Result<Exactness, LabError> {
        let case = TestCase {
            name: "fake".to_owned(),
            task: Task::open(),
            config: GenerationConfig {
                temperature: 0.0,
                repetition_penalty: 1.0,
                max_new_tokens: 10,
                ..GenerationConfig::default()
            },
        };
        let mut result = Exactness::new(1);
        let new = |fault| FakeDecoder { lead, fault, ..FakeDecoder::default() };
        let mut full = new(None);
        let other = Other::Generator(case.generator(&mut full).unwrap());
        result.compare(&case, &mut new(fault), other, Tolerance::ROUNDING)?;
        Ok(result)
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
            assert!(matches!(error, LabError::Logits(_)), "{error}");
        }
    }

    #[test]
    fn a_choice_that_rounding_turns_is_a_tie() {
        let result = outcome(1e-5, Some((5, 5e-5))).unwrap();
        assert_eq!((result.tokens, result.ties), (5, 1));
    }

    #[test]
    fn a_choice_that_rounding_cannot_turn_is_an_error() {
        let config = GenerationConfig { temperature: 0.0, ..GenerationConfig::default() };
        let before = Sequence::new(Task::open(), &config).unwrap();
        let logits = [0.0, 0.5, -1.0];
        let step = before.clone().advance(&logits).unwrap();
        assert_eq!((step.token, step.margin), (1, 0.5));
        let different = |gap, token| check_tie("fake", &before, (&logits, gap), step, token);
        assert!(different(0.26, 0).is_ok());
        for (gap, token) in [(0.24, 0), (0.7, 2), (1e-5, 0)] {
            let error = different(gap, token).unwrap_err();
            assert!(matches!(error, LabError::Tokens(_)), "{error}");
            assert!(error.to_string().contains("token 0 differs"), "{error}");
        }
    }

    #[test]
    fn a_tie_at_the_border_of_top_p_is_one() {
        // The likeliest token alone has the probability 0.85: with a little less, the second can be
        // drawn.
        let lead = (0.85_f64 / 0.15).ln() as f32;
        let cached = || FakeDecoder { lead, others: -100.0, ..FakeDecoder::default() };
        let mut ties = 0;
        for seed in 0..100 {
            for fault in [5e-6, -5e-6] {
                let case = TestCase {
                    name: "fake".to_owned(),
                    task: Task::open(),
                    config: GenerationConfig {
                        seed,
                        temperature: 1.0,
                        top_p: 0.85,
                        repetition_penalty: 1.0,
                        max_new_tokens: 10,
                        stop_at_end: false,
                        ..GenerationConfig::default()
                    },
                };
                let mut full = FakeDecoder { fault: Some((5, fault)), ..cached() };
                let mut result = Exactness::new(1);
                let other = Other::Generator(case.generator(&mut full).unwrap());
                result.compare(&case, &mut cached(), other, Tolerance::ROUNDING).unwrap();
                ties += result.ties;
            }
        }
        assert!(ties > 3, "{ties}");
    }
}

//! Poems that are judged together.

use std::collections::BTreeMap;

use tang_engine::EngineError;
use tang_generate::{GenerateError, Sequence};
use tang_prosody::{COMMA, FULL_STOP};

use crate::{LabError, LabModel};

/// A poem, written or read, and how surprising the model alone finds it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Poem {
    /// Which of those asked for it is, from 0.
    pub number: usize,
    pub text: String,
    /// Marks and the final newline counted.
    pub nats_per_char: f64,
    /// Without the characters that could be no other; `None` if that were all.
    pub nats_per_free_char: Option<f64>,
}

impl Poem {
    /// The poem that was generated.
    pub(crate) fn written(
        lab: &LabModel,
        number: usize,
        sequence: &Sequence,
    ) -> Result<Self, GenerateError> {
        Ok(Self {
            number,
            text: lab.text(sequence.tokens())?,
            nats_per_char: -sequence.mean_log_prob(),
            nats_per_free_char: Some(-sequence.mean_free_log_prob()).filter(|nats| !nats.is_nan()),
        })
    }
}

/// The poems that came of what was asked, and why the others did not.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct PoemSet {
    pub poems: Vec<Poem>,
    /// How many could not be had for each reason.
    pub refusals: BTreeMap<String, usize>,
    /// What writing took.
    pub seconds: Option<f64>,
}

impl PoemSet {
    /// Counts `count` poems that could not be had.
    ///
    /// # Errors
    ///
    /// The error itself, if it says nothing about the poem, but that the model or a setting is
    /// wrong.
    pub(crate) fn refuse(&mut self, error: GenerateError, count: usize) -> Result<(), LabError> {
        match error {
            GenerateError::Engine(EngineError::TextTooLong { .. }) => {}
            GenerateError::Engine(_) | GenerateError::Setting { .. } => return Err(error.into()),
            _ => {}
        }
        *self.refusals.entry(error.to_string()).or_default() += count;
        Ok(())
    }

    /// The texts in order.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        self.poems.iter().map(|poem| poem.text.as_str())
    }
}

/// The lines of a poem, without their marks.
pub(crate) fn lines(poem: &str) -> impl Iterator<Item = &str> {
    poem.split([COMMA, FULL_STOP])
        .filter(|line| !line.is_empty())
}

#[cfg(test)]
mod tests {
    use tang_generate::{DeadEnd, Rule};

    use super::*;

    #[test]
    fn what_a_poem_cannot_be_is_counted_by_reason() {
        let mut set = PoemSet::default();
        let nothing = |column| {
            GenerateError::NothingAllowed(DeadEnd {
                line: 0,
                column,
                rule: Rule::NoRepeat,
                left: 2,
                others: vec![Rule::Form],
            })
        };
        set.refuse(nothing(3), 1).unwrap();
        set.refuse(nothing(5), 1).unwrap();
        set.refuse(nothing(3), 2).unwrap();
        set.refuse(GenerateError::FewRhymes { have: 1, want: 16 }, 5)
            .unwrap();
        assert_eq!(
            set.refusals.values().copied().collect::<Vec<_>>(),
            [3, 1, 5]
        );
        let first = set.refusals.keys().next().unwrap();
        assert_eq!(*first, nothing(3).to_string());
    }

    #[test]
    fn a_broken_model_is_no_refusal() {
        let mut set = PoemSet::default();
        assert!(set.refuse(EngineError::Overflow.into(), 1).is_err());
        assert_eq!(set, PoemSet::default());
    }

    #[test]
    fn lines_have_no_marks() {
        let of = |poem| lines(poem).collect::<Vec<_>>();
        assert_eq!(of("春风，花。。月"), ["春风", "花", "月"]);
        assert!(of("").is_empty());
    }
}

//! The rules that a poem is to keep.

use std::fmt;

use tang_prosody::{LineSequence, RhymeGroup};

/// A rule, for messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// Lines of Han characters, closed by their marks.
    Form,
    /// The tones of the line.
    Tones,
    /// The even lines rhyme.
    Rhyme,
    /// No character comes twice.
    NoRepeat,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Form => "the form",
            Self::Tones => "the tones",
            Self::Rhyme => "the rhyme",
            Self::NoRepeat => "the ban on repetition",
        })
    }
}

/// The rules beyond lines and fixed characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rules {
    /// The even lines rhyme.
    pub rhyme: Option<Wanted<RhymeGroup>>,
    /// Each line keeps the tones of its place in a sequence, without 孤平 and 三平调.
    pub tones: Option<Wanted<LineSequence>>,
    /// No character twice, except one that is fixed and one doubled within a line.
    pub no_repeat: bool,
    /// A fixed character that cannot keep a rule is exempt from it, instead of an error.
    pub relax: bool,
}

impl Rules {
    /// Rhyme and tones; the model chooses the rhyme group and the sequence.
    pub fn regulated() -> Self {
        Self { rhyme: Some(Wanted::Any), tones: Some(Wanted::Any), ..Self::default() }
    }
}

/// One of the ways to keep a rule: any, or a given one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted<T> {
    /// The model chooses.
    Any,
    /// Only the given one.
    Only(T),
}

impl<T: PartialEq> Wanted<T> {
    pub(crate) fn is(&self, one: &T) -> bool {
        match self {
            Self::Any => true,
            Self::Only(wanted) => wanted == one,
        }
    }
}

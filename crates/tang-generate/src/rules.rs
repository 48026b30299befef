//! The rules that a poem is to keep.

use tang_prosody::{LineSequence, RhymeGroup};

/// What a poem keeps beyond its lines and its fixed characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rules {
    /// The even lines rhyme, in a group that the model finds or in a given one.
    pub rhyme: Option<Wanted<RhymeGroup>>,
    /// Each line keeps the tones of its place, in a sequence that the model finds or in a given
    /// one, without 孤平 and 三平调.
    pub tones: Option<Wanted<LineSequence>>,
    /// No character twice, except one that is fixed and one doubled within a line.
    pub no_repeat: bool,
    /// A fixed character that cannot keep a rule is let off, instead of an error.
    pub relax: bool,
}

impl Rules {
    /// Rhyme and tones, both as the model finds them.
    pub fn regulated() -> Self {
        Self {
            rhyme: Some(Wanted::Any),
            tones: Some(Wanted::Any),
            ..Self::default()
        }
    }
}

/// Which of several ways to keep a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted<T> {
    /// Whichever comes.
    Any,
    /// This one.
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

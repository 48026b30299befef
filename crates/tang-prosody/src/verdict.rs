//! The judgement of one poem.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::{Form, LineSequence, LineType, RhymeGroup, ToneSet};

/// A way in which a line breaks the rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Fault {
    /// 出律: a tone is wrong at position 2, 4, 6 or at the end.
    Tone,
    /// 对句救: the line is of type A with an oblique tone at position 4 (6 of seven), and the next one saves it by a
    /// level tone at position 3 (5 of seven). Only looked for where the judging allows it.
    Saved,
    /// 失对: the second line of a couplet is not opposite to the first at positions 2, 4, 6.
    Dui,
    /// 失粘: the first line of a couplet differs from the line before it there.
    Nian,
    /// 孤平: a line of type C whose only level tones are its second character (the fourth of seven) and its end.
    GuPing,
    /// 三平调: a line of type D that ends in three level tones.
    SanPing,
    /// 出韵: an even line ends outside the rhyme group of the others.
    OffRhyme,
    /// 重韵: an even line ends in the character that ended one before.
    SameRhyme,
}

impl Fault {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Tone,
        Self::Saved,
        Self::Dui,
        Self::Nian,
        Self::GuPing,
        Self::SanPing,
        Self::OffRhyme,
        Self::SameRhyme,
    ];

    /// The Chinese name.
    pub const fn name(self) -> &'static str {
        self.names().0
    }

    /// The fault in a few English words.
    pub const fn gloss(self) -> &'static str {
        self.names().1
    }

    const fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Tone => ("出律", "a tone out of place"),
            Self::Saved => ("对句救", "a tone out of place, saved in the next line"),
            Self::Dui => ("失对", "a couplet not opposite"),
            Self::Nian => ("失粘", "couplets not linked"),
            Self::GuPing => ("孤平", "a lone level tone"),
            Self::SanPing => ("三平调", "three level tones at the end"),
            Self::OffRhyme => ("出韵", "a line out of rhyme"),
            Self::SameRhyme => ("重韵", "a rhyme character twice"),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Serialize for Fault {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// The judgement of a poem of strict form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// The form.
    pub form: Form,
    /// The rhyme group that most of the even lines end in; `None` if no known character there has a
    /// level reading with a known group.
    pub rhyme: Option<RhymeGroup>,
    /// Whether the first line ends in that group, too.
    pub first_line_rhymes: bool,
    /// The sequence that fits best.
    pub sequence: LineSequence,
    /// The lines in order.
    pub lines: Vec<LineVerdict>,
}

/// The judgement of a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LineVerdict {
    /// The type that the sequence wants here.
    pub line_type: LineType,
    /// The tones of each character by any of its readings; `None` if it is not known.
    pub tones: Vec<Option<ToneSet>>,
    /// The positions, counted from 1, of the characters that no rhyme book has: their tones are those of a modern
    /// pronunciation, and a level one of them rhymes with any group.
    pub modern: Vec<usize>,
    /// The positions of wrong tones, counted from 1 as in 二四六分明.
    pub wrong: Vec<usize>,
    /// Whether it is right as the special line of type B, 平平仄平仄.
    pub special: bool,
    /// The faults of the line, in the order of [`Fault::ALL`].
    pub faults: Vec<Fault>,
}

impl Verdict {
    /// Whether a line has this fault.
    pub fn has(&self, fault: Fault) -> bool {
        self.lines.iter().any(|line| line.faults.contains(&fault))
    }

    /// The faults of all lines, each once, in the order of [`Fault::ALL`].
    pub fn faults(&self) -> impl Iterator<Item = Fault> {
        Fault::ALL.into_iter().filter(|fault| self.has(*fault))
    }

    /// Whether the even lines share a level rhyme group, as far as their rhymes are known, and no rhyme character
    /// comes twice.
    pub fn rhymes(&self) -> bool {
        !self.has(Fault::OffRhyme) && !self.has(Fault::SameRhyme)
    }

    /// Whether positions 2, 4, 6 and the ends of all lines follow the sequence, or are saved. Then no couplet is 失对
    /// or 失粘 either.
    pub fn tones_fit(&self) -> bool {
        !self.has(Fault::Tone)
    }

    /// Whether the whole poem is right: rhyme and tones.
    pub fn passes(&self) -> bool {
        self.rhymes() && self.tones_fit()
    }

    /// Whether it [passes](Self::passes) without 孤平, 三平调 and 对句救.
    pub fn passes_strictly(&self) -> bool {
        let forgiven = [Fault::GuPing, Fault::SanPing, Fault::Saved];
        self.passes() && !forgiven.into_iter().any(|fault| self.has(fault))
    }

    /// Count of characters that the tables lack. They count as any tone and any rhyme.
    pub fn unknown(&self) -> usize {
        self.tones().filter(Option::is_none).count()
    }

    /// Count of characters that can be read in both tones.
    pub fn two_tone(&self) -> usize {
        self.tones().filter(|tones| *tones == Some(ToneSet::ANY)).count()
    }

    fn tones(&self) -> impl Iterator<Item = Option<ToneSet>> {
        self.lines.iter().flat_map(|line| line.tones.iter().copied())
    }
}

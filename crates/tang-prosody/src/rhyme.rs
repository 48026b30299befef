//! The rhyme of a poem.

use std::cmp::Reverse;

use crate::{Readings, RhymeGroup};

/// The ends of a poem's lines, and the group in which they rhyme.
pub(crate) struct Rhyme<'a> {
    /// The last character of each line, simplified.
    ends: &'a [char],
    /// The same in the original text.
    written: &'a [char],
    /// The group of most even lines; `None` if no even line ends in a known level reading.
    pub(crate) group: Option<RhymeGroup>,
}

impl<'a> Rhyme<'a> {
    /// Finds the group that most even lines share by any reading. Among several, a group with which
    /// the first line rhymes is preferred, then the one in which the commonest readings are.
    pub(crate) fn of(ends: &'a [char], written: &'a [char]) -> Self {
        let best = RhymeGroup::all()
            .map(|group| {
                let ranks = || even(ends).filter_map(|(_, end)| rank(end, group));
                let first = ends.first().and_then(|end| rank(*end, group)).is_some();
                let key = (ranks().count(), first, Reverse(ranks().sum::<usize>()));
                (key, group)
            })
            .max();
        let group = best.and_then(|((lines, ..), group)| (lines > 0).then_some(group));
        Self { ends, written, group }
    }

    /// Whether line `line`, counted from 0, ends in the group, or in a character whose rhyme is not known. Without a
    /// group, that is so for every even line of a poem that rhymes.
    pub(crate) fn holds(&self, line: usize) -> bool {
        let Some(readings) = Readings::of_given(self.ends[line]) else { return true };
        match self.group {
            Some(group) => readings.can_rhyme(group),
            None => RhymeGroup::all().any(|group| readings.can_rhyme(group)),
        }
    }

    /// Whether line `line`, an even one counted from 1, ends in the same original character as an
    /// even line before it.
    pub(crate) fn repeats(&self, line: usize) -> bool {
        even(self.written).any(|(before, end)| before < line && end == self.written[line])
    }
}

/// The second, fourth, ... line, each with its number counted from 0.
fn even(ends: &[char]) -> impl Iterator<Item = (usize, char)> {
    ends.iter().copied().enumerate().skip(1).step_by(2)
}

/// Index of the first reading of a character, the commonest first, that is in this group.
fn rank(end: char, group: RhymeGroup) -> Option<usize> {
    Readings::of(end)?.any().iter().position(|reading| reading.group == Some(group))
}

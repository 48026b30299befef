//! The tones of a line, place by place.

use std::fmt;

use crate::{LineLength, LineType, Tone, ToneSet};

/// One way to fill a line: a tone for each place, or none where the place is free.
///
/// The patterns of a type are those that 王力《诗词格律》 allows (一三五不论). None has 孤平 (type C) or 三平调 (D),
/// which it forbids, or 三仄尾 (B), which it tolerates. Type B includes the special line 平平仄平仄.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinePattern(&'static str);

impl LinePattern {
    /// The tone that the `column`-th character must have, counted from 0; `None` if it is free.
    ///
    /// # Panics
    ///
    /// If the line has no such column.
    pub const fn tone(self, column: usize) -> Option<Tone> {
        match self.0.as_bytes()[column] {
            b'P' => Some(Tone::Level),
            b'Z' => Some(Tone::Oblique),
            _ => None,
        }
    }

    /// [`Self::tone`] as a set, both tones where the place is free.
    fn tones(self, column: usize) -> ToneSet {
        self.tone(column).map_or(ToneSet::ANY, ToneSet::from)
    }

    /// Whether each character but that at `skipped`, given by its tones, fits its place.
    fn fits(self, line: &[ToneSet], skipped: Option<usize>) -> bool {
        line.iter()
            .enumerate()
            .all(|(column, tones)| Some(column) == skipped || tones.intersects(self.tones(column)))
    }
}

/// `P` level, `Z` oblique, `*` free.
impl fmt::Display for LinePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.0)
    }
}

impl LineType {
    /// The ways to write a line of this type.
    pub const fn patterns(self, length: LineLength) -> &'static [LinePattern] {
        const fn pattern(text: &'static str) -> LinePattern {
            LinePattern(text)
        }
        match (self, length) {
            (Self::A, LineLength::Five) => const { &[pattern("*Z*PZ")] },
            (Self::A, LineLength::Seven) => const { &[pattern("*P*Z*PZ")] },
            (Self::B, LineLength::Five) => const { &[pattern("*PPZZ"), pattern("PPZPZ")] },
            (Self::B, LineLength::Seven) => const { &[pattern("*Z*PPZZ"), pattern("*ZPPZPZ")] },
            (Self::C, LineLength::Five) => const { &[pattern("PP*ZP"), pattern("*PPZP")] },
            (Self::C, LineLength::Seven) => const { &[pattern("*ZPP*ZP"), pattern("*Z*PPZP")] },
            (Self::D, LineLength::Five) => const { &[pattern("*ZZPP")] },
            (Self::D, LineLength::Seven) => const { &[pattern("*P*ZZPP")] },
        }
    }

    /// The tones allowed at `column` of a line of this type when the other characters have the
    /// tones of `line`: [`ToneSet::ANY`] for one still to be chosen, and the same for all those
    /// after the end of `line`. A line that is written from left to right by these tones never
    /// reaches a place where no tone is allowed.
    ///
    /// # Panics
    ///
    /// If `line` is longer than `length`, or has no such column.
    pub fn allowed_tones(self, length: LineLength, line: &[ToneSet], column: usize) -> ToneSet {
        self.patterns(length)
            .iter()
            .filter(|pattern| pattern.fits(line, Some(column)))
            .fold(ToneSet::NONE, |set, pattern| set | pattern.tones(column))
    }

    /// Whether a line, or the beginning of one, can be of this type: each character, given by its tones, fits its
    /// place in some pattern.
    ///
    /// # Panics
    ///
    /// If `line` is longer than `length`.
    pub fn can_be(self, length: LineLength, line: &[ToneSet]) -> bool {
        self.patterns(length).iter().any(|pattern| pattern.fits(line, None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sets(tones: &str) -> Vec<ToneSet> {
        tones
            .chars()
            .map(|tone| match tone {
                'P' => Tone::Level.into(),
                'Z' => Tone::Oblique.into(),
                _ => ToneSet::ANY,
            })
            .collect()
    }

    #[test]
    fn patterns_have_a_place_a_character_and_the_ends_of_their_type() {
        for length in [LineLength::Five, LineLength::Seven] {
            for line_type in LineType::ALL {
                for pattern in line_type.patterns(length) {
                    assert_eq!(pattern.to_string().len(), length.chars());
                    assert_eq!(pattern.tone(1), Some(line_type.start(length)));
                    assert_eq!(pattern.tone(length.chars() - 1), Some(line_type.end()));
                }
            }
        }
    }

    #[test]
    fn a_choice_closes_the_ways_that_it_leaves() {
        let next = |line_type: LineType, before: &str| {
            let line = sets(before);
            line_type.allowed_tones(LineLength::Five, &line, line.len()).to_string()
        };
        assert_eq!(next(LineType::B, ""), "中");
        assert_eq!(next(LineType::B, "PP"), "中");
        assert_eq!(next(LineType::B, "ZP"), "平", "the special line is no more");
        assert_eq!(next(LineType::B, "PPZ"), "平", "only the special line is left");
        assert_eq!(next(LineType::B, "PP*"), "中");
        assert_eq!(next(LineType::C, "PP"), "中");
        assert_eq!(next(LineType::C, "ZP"), "平", "or it were 孤平");
        assert_eq!(next(LineType::D, "ZZ"), "仄", "or it were 三平调");
        assert_eq!(next(LineType::D, "ZP"), "无");
    }

    #[test]
    fn a_fixed_character_further_on_counts() {
        let allowed = |line: &str, column| {
            let tones = LineType::C.allowed_tones(LineLength::Seven, &sets(line), column);
            tones.to_string()
        };
        assert_eq!(allowed("****Z**", 2), "平");
        assert_eq!(allowed("****P**", 2), "中");
        assert_eq!(allowed("*****P*", 2), "无");
    }

    #[test]
    fn a_line_fits_its_types_only() {
        let types = |line: &str| -> String {
            let fits = |t: &LineType| t.can_be(LineLength::Five, &sets(line));
            let fitting = LineType::ALL.into_iter().filter(fits);
            fitting.map(|t| t.to_string()).collect()
        };
        assert_eq!(types(""), "ABCD");
        assert_eq!(types("Z"), "ABCD");
        assert_eq!(types("*Z"), "AD");
        assert_eq!(types("PPZPZ"), "B");
        assert_eq!(types("ZPZPZ"), "");
        assert_eq!(types("ZPZZP"), "");
        assert_eq!(types("*ZPPP"), "");
    }
}

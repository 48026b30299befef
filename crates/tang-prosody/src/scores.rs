//! The shares of poems that keep each rule.

use std::ops::AddAssign;

use serde::{Serialize, Serializer, ser::SerializeStruct};

use crate::{Fault, LineType, LineVerdict, Verdict};

/// A share, as a count of cases that keep a rule and the count of all cases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Share {
    /// Count of the cases that keep the rule.
    pub part: usize,
    /// Count of all cases.
    pub whole: usize,
}

impl Share {
    /// The share between 0 and 1; `None` if the whole is 0.
    pub fn rate(self) -> Option<f64> {
        (self.whole > 0).then(|| self.part as f64 / self.whole as f64)
    }

    /// Adds one case; `counts` says whether it keeps the rule.
    pub fn count(&mut self, counts: bool) {
        self.part += usize::from(counts);
        self.whole += 1;
    }
}

impl AddAssign for Share {
    fn add_assign(&mut self, other: Self) {
        self.part += other.part;
        self.whole += other.whole;
    }
}

/// As `part`, `whole` and `rate`.
impl Serialize for Share {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Share", 3)?;
        fields.serialize_field("part", &self.part)?;
        fields.serialize_field("whole", &self.whole)?;
        fields.serialize_field("rate", &self.rate())?;
        fields.end()
    }
}

/// The scores of several texts.
///
/// A text without a strict form counts as a poem that breaks all rules of whole poems; its
/// couplets, lines and characters are not counted. Verdicts in which tones are saved in the next
/// line give other scores than those of [`crate::check`]: add only verdicts of one kind.
///
/// Only [`Self::whole`] and its parts tell verse from chance: even in random lines, 60 to 70 % of
/// the single positions are right.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Scores {
    /// Texts of strict form.
    pub form: Share,
    /// Texts whose even lines rhyme, with no rhyme character twice.
    pub rhyme: Share,
    /// Texts with every bound tone right.
    pub tones: Share,
    /// Texts with both: [`Verdict::passes`].
    pub whole: Share,
    /// Texts with both and neither 孤平 nor 三平调: [`Verdict::passes_strictly`].
    pub strict: Share,
    /// Texts whose first line rhymes with the even ones.
    pub first_line_rhyme: Share,
    /// Positions 2, 4, 6 and line ends that have the tone of the best sequence.
    pub positions: Share,
    /// 对: couplets with opposite lines.
    pub dui: Share,
    /// 粘: couplets, but for the first, linked to the one before.
    pub nian: Share,
    /// 孤平: lines of type C that have it.
    pub gu_ping: Share,
    /// 三平调: lines of type D that have it.
    pub san_ping: Share,
    /// Characters without a known reading.
    pub unknown: Share,
    /// Characters with both tones.
    pub two_tone: Share,
}

impl Scores {
    /// Counts the verdict on one more text.
    pub fn add(&mut self, verdict: Option<&Verdict>) {
        let is = |keeps: fn(&Verdict) -> bool| verdict.is_some_and(keeps);
        self.form.count(verdict.is_some());
        self.rhyme.count(is(Verdict::rhymes));
        self.tones.count(is(Verdict::tones_fit));
        self.whole.count(is(Verdict::passes));
        self.strict.count(is(Verdict::passes_strictly));
        self.first_line_rhyme.count(is(|verdict| verdict.first_line_rhymes));
        let Some(verdict) = verdict else {
            return;
        };
        for (index, line) in verdict.lines.iter().enumerate() {
            self.add_line(index, line);
        }
        let characters = verdict.lines.iter().map(|line| line.tones.len()).sum();
        self.unknown += Share { part: verdict.unknown(), whole: characters };
        self.two_tone += Share { part: verdict.two_tone(), whole: characters };
    }

    fn add_line(&mut self, index: usize, line: &LineVerdict) {
        let has = |fault| line.faults.contains(&fault);
        let bound = line.tones.len() / 2 + 1;
        self.positions += Share { part: bound - line.wrong.len(), whole: bound };
        if index % 2 == 1 {
            self.dui.count(!has(Fault::Dui));
        } else if index > 0 {
            self.nian.count(!has(Fault::Nian));
        }
        match line.line_type {
            LineType::C => self.gu_ping.count(has(Fault::GuPing)),
            LineType::D => self.san_ping.count(has(Fault::SanPing)),
            LineType::A | LineType::B => {}
        }
    }

    /// Adds the counts of other texts.
    pub fn merge(&mut self, other: &Self) {
        macro_rules! add {
            ($($score:ident)*) => {
                // The fields are destructured, so that the compiler finds a forgotten score.
                let Self { $($score),* } = other;
                $(self.$score += *$score;)*
            };
        }
        add!(form rhyme tones whole strict first_line_rhyme positions dui nian gu_ping san_ping unknown two_tone);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check;

    const GOOD: &str = "白日依山尽，黄河入海流。欲穷千里目，更上一层楼。";
    const BAD: &str = "床前看月光，疑是地上霜。举头望山月，低头思故乡。";

    fn scores(texts: &[&str]) -> Scores {
        let mut scores = Scores::default();
        for text in texts {
            scores.add(check(text).as_ref());
        }
        scores
    }

    fn share(part: usize, whole: usize) -> Share {
        Share { part, whole }
    }

    #[test]
    fn each_rule_is_counted_over_what_it_speaks_of() {
        let scores = scores(&[GOOD, BAD, "春眠不觉晓。"]);
        assert_eq!(scores.form, share(2, 3));
        assert_eq!(scores.rhyme, share(2, 3));
        assert_eq!(scores.tones, share(1, 3));
        assert_eq!((scores.whole, scores.strict), (share(1, 3), share(1, 3)));
        assert_eq!(scores.first_line_rhyme, share(1, 3));
        assert_eq!(scores.positions.whole, 2 * 4 * 3);
        assert!(scores.positions.part < scores.positions.whole);
        assert_eq!((scores.dui.whole, scores.nian.whole), (4, 2));
        assert_eq!((scores.gu_ping, scores.san_ping), (share(0, 3), share(0, 2)));
        assert_eq!(scores.unknown, share(0, 40));
        assert!(scores.two_tone.part > 0 && scores.two_tone.whole == 40);
        assert_eq!(scores.whole.rate(), Some(1.0 / 3.0));
        assert_eq!(Scores::default().whole.rate(), None);
    }

    #[test]
    fn scores_of_parts_merge_to_those_of_all() {
        let mut merged = scores(&[GOOD]);
        merged.merge(&scores(&[BAD, "", GOOD]));
        assert_eq!(merged, scores(&[GOOD, BAD, "", GOOD]));
    }
}

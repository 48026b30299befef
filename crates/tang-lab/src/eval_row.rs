//! What is known of one kind of poem.

use std::collections::{BTreeMap, HashSet};

use serde::Serialize;
use tang_prosody::{Form, Scores, Share, check};

use crate::{
    Distinct,
    average::mean,
    poem_set::{Poem, PoemSet, lines},
};

/// The poems of one kind: how well they keep the rules, and what they are like as text.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EvalRow {
    /// The form that was asked for; `None` for any of the four.
    pub form: Option<Form>,
    /// How the poems came about.
    pub name: String,
    /// Poems that there are.
    pub poems: usize,
    /// How many could not be had for each reason.
    pub refusals: BTreeMap<String, usize>,
    /// Poems of that form.
    pub right_form: Share,
    /// The scores of those of that form.
    pub scores: Scores,
    /// Poems with every head in its place, where heads were asked for.
    pub acrostic: Option<Share>,
    /// How surprising the model alone finds a character, in nats: the mean over the poems of their
    /// means over all characters, marks and the final newline counted.
    pub nats_per_char: Option<f64>,
    /// The same without the characters that could be no other: marks, newline, heads. `None` where
    /// nothing is fixed.
    pub nats_per_free_char: Option<f64>,
    /// How various the text is, over as many characters as the shortest row of this form has;
    /// `None` without poems.
    pub distinct: Option<Distinct>,
    /// Lines that stand in a training poem.
    pub copied_lines: Share,
    /// Poems that repeat an earlier one of the row.
    pub duplicates: usize,
    /// Milliseconds that writing a poem took; `None` for real poems.
    pub ms_per_poem: Option<f64>,
}

impl EvalRow {
    /// Judges a set of poems. `heads` has one string for each poem that was asked for.
    pub(crate) fn of(
        form: Option<Form>,
        name: &str,
        set: &PoemSet,
        heads: Option<&[String]>,
        training_lines: &HashSet<&str>,
    ) -> Self {
        let mut right_form = Share::default();
        let mut scores = Scores::default();
        for text in set.texts() {
            let is_right = match form {
                Some(form) => Form::of(text) == Some(form),
                None => Form::of(text).is_some(),
            };
            right_form.count(is_right);
            if is_right {
                scores.add(check(text).as_ref());
            }
        }
        let mut copied_lines = Share::default();
        for line in set.texts().flat_map(lines) {
            copied_lines.count(training_lines.contains(line));
        }
        let acrostic = heads.map(|heads| {
            let mut share = Share::default();
            for poem in &set.poems {
                share.count(heads_stand(&poem.text, &heads[poem.number]));
            }
            share
        });
        let different: HashSet<&str> = set.texts().collect();
        let poems = set.poems.len();
        let mean = |nats: fn(&Poem) -> Option<f64>| {
            mean(&set.poems.iter().filter_map(nats).collect::<Vec<_>>())
        };
        Self {
            form,
            name: name.to_owned(),
            poems,
            refusals: set.refusals.clone(),
            right_form,
            scores,
            acrostic,
            nats_per_char: mean(|poem| Some(poem.nats_per_char)),
            nats_per_free_char: form.and_then(|_| mean(|poem| poem.nats_per_free_char)),
            distinct: None,
            copied_lines,
            duplicates: poems - different.len(),
            ms_per_poem: set
                .seconds
                .filter(|_| poems > 0)
                .map(|seconds| 1e3 * seconds / poems as f64),
        }
    }

    /// Poems that could not be had.
    pub fn refused(&self) -> usize {
        self.refusals.values().sum()
    }
}

/// Whether each line begins with its head, and there are no other lines.
fn heads_stand(poem: &str, heads: &str) -> bool {
    let found = lines(poem).filter_map(|line| line.chars().next());
    found.eq(heads.chars())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "白日依山尽，黄河入海流。欲穷千里目，更上一层楼。";
    const BAD: &str = "床前看月光，疑是地上霜。举头望山月，低头思故乡。";

    fn set(texts: &[&str]) -> PoemSet {
        let poem = |(number, text): (usize, &&str)| Poem {
            number,
            text: (*text).to_owned(),
            nats_per_char: number as f64,
            nats_per_free_char: (number > 0).then_some(5.0),
        };
        PoemSet {
            poems: texts.iter().enumerate().map(poem).collect(),
            ..PoemSet::default()
        }
    }

    fn row(form: Option<Form>, texts: &[&str]) -> EvalRow {
        let training = HashSet::from(["白日依山尽", "黄河入海流", "春风"]);
        EvalRow::of(form, "test", &set(texts), None, &training)
    }

    #[test]
    fn scores_are_those_of_the_poems_of_the_form() {
        let one = row(Some(Form::WuJue), &[GOOD, BAD, "春风。"]);
        assert_eq!((one.right_form.part, one.right_form.whole), (2, 3));
        assert_eq!((one.scores.whole.part, one.scores.whole.whole), (1, 2));
        assert_eq!(row(Some(Form::QiJue), &[GOOD]).right_form.part, 0);
        assert_eq!(row(None, &[GOOD, BAD]).right_form.part, 2);
    }

    #[test]
    fn copies_and_repeats_are_counted() {
        let row = row(None, &[GOOD, BAD, GOOD, GOOD, "春风，春"]);
        assert_eq!(row.duplicates, 2);
        assert_eq!((row.copied_lines.part, row.copied_lines.whole), (7, 18));
    }

    #[test]
    fn nats_are_means_over_the_poems() {
        let one = row(Some(Form::WuJue), &[GOOD, BAD]);
        assert_eq!(one.nats_per_char, Some(0.5));
        assert_eq!(one.nats_per_free_char, Some(5.0));
        assert_eq!(row(None, &[GOOD, BAD]).nats_per_free_char, None);
        assert_eq!(row(None, &[]).nats_per_char, None);
    }

    #[test]
    fn an_acrostic_is_read_in_the_text() {
        for (heads, wanted) in [
            ("白黄欲更", true),
            ("白黄欲", false),
            ("白黄更欲", false),
            ("白黄欲更上", false),
        ] {
            assert_eq!(heads_stand(GOOD, heads), wanted, "{heads}");
        }
        let mut poems = set(&[GOOD, BAD]);
        // The first poem that was asked for was refused.
        poems.poems[0].number = 1;
        poems.poems[1].number = 2;
        let heads = ["春眠不觉", "白黄欲更", "床疑举花"].map(str::to_owned);
        let row = EvalRow::of(None, "test", &poems, Some(&heads), &HashSet::new());
        assert_eq!(row.acrostic, Some(Share { part: 1, whole: 2 }));
    }
}

//! The scores of one kind of poem, and the tables of an evaluation.

use std::{
    collections::{BTreeMap, HashSet},
    fmt,
    hash::Hash,
};

use serde::Serialize;
use tang_prosody::{Form, Scores, Share, check};

use super::{
    Eval,
    poems::{Poem, PoemSet, lines},
    repetition::Repetition,
};
use crate::{
    page::{decimal, table},
    stats::mean,
};

/// The scores of the poems of one kind: by the rules, and as text.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct EvalRow {
    /// The form that was asked for; `None` for any of the four.
    pub form: Option<Form>,
    /// The way the poems came about.
    pub name: String,
    pub poems: usize,
    /// Count of missing poems for each reason.
    pub refusals: BTreeMap<String, usize>,
    /// Poems of that form.
    pub right_form: Share,
    /// The scores of those of that form.
    pub scores: Scores,
    /// Poems with every head in its place, where heads were asked for.
    pub acrostic: Option<Share>,
    /// Mean loss per character under the model alone, in nats: the mean over the poems of their
    /// means over all characters, marks and the final newline counted.
    pub nats_per_char: Option<f64>,
    /// The same without forced characters: marks, newline, heads. `None` where nothing is fixed.
    pub nats_per_free_char: Option<f64>,
    /// The variety of the text, over as many characters as the shortest row of this form has;
    /// `None` without poems.
    pub distinct: Option<Distinct>,
    /// Lines that a training poem has.
    pub copied_lines: Share,
    pub repetition: Repetition,
    /// Poems that repeat an earlier one of the row.
    pub duplicates: usize,
    /// Milliseconds of writing per poem; `None` for real poems.
    pub ms_per_poem: Option<f64>,
}

/// The share of different characters and pairs of characters among all of a text: distinct-1 and
/// distinct-2 of Li et al., *A Diversity-Promoting Objective Function for Neural Conversation
/// Models*, 2016.
///
/// Both fall as a text grows: only texts of equal length can be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct Distinct {
    pub distinct_1: Share,
    /// Pairs are neighbours within a line.
    pub distinct_2: Share,
}

impl Distinct {
    /// The variety of the first `characters` characters of these poems, marks not counted.
    pub fn of<'a>(poems: impl IntoIterator<Item = &'a str>, characters: usize) -> Self {
        let mut left = characters;
        let (mut singles, mut pairs) = (Vec::new(), Vec::new());
        for line in poems.into_iter().flat_map(lines) {
            let line: Vec<char> = line.chars().take(left).collect();
            left -= line.len();
            pairs.extend(line.windows(2).map(|pair| (pair[0], pair[1])));
            singles.extend(line);
        }
        Self { distinct_1: different(&singles), distinct_2: different(&pairs) }
    }
}

fn different<T: Eq + Hash>(all: &[T]) -> Share {
    let part = all.iter().collect::<HashSet<_>>().len();
    Share { part, whole: all.len() }
}

/// The share of items that count.
fn share<T>(items: impl IntoIterator<Item = T>, counts: impl Fn(T) -> bool) -> Share {
    let mut share = Share::default();
    for item in items {
        share.count(counts(item));
    }
    share
}

impl EvalRow {
    /// Judges a set of poems. `heads` has one string for each poem that was asked for.
    pub fn of(
        form: Option<Form>,
        name: &str,
        set: &PoemSet,
        heads: Option<&[String]>,
        training_lines: &HashSet<&str>,
    ) -> Self {
        let is_right = |text: &&str| {
            let own = Form::of(text);
            own.is_some() && (form.is_none() || own == form)
        };
        let mut scores = Scores::default();
        for text in set.texts().filter(is_right) {
            scores.add(check(text).as_ref());
        }
        let has_heads = |heads: &[String]| {
            share(&set.poems, |poem| heads_match(&poem.text, &heads[poem.number]))
        };
        let poems = set.poems.len();
        let mean = |nats: fn(&Poem) -> Option<f64>| {
            mean(&set.poems.iter().filter_map(nats).collect::<Vec<_>>())
        };
        let seconds = set.seconds.filter(|_| poems > 0);
        Self {
            form,
            name: name.to_owned(),
            poems,
            refusals: set.refusals.clone(),
            right_form: share(set.texts(), |text| is_right(&text)),
            scores,
            acrostic: heads.map(has_heads),
            nats_per_char: mean(|poem| Some(poem.nats_per_char)),
            nats_per_free_char: form.and_then(|_| mean(|poem| poem.nats_per_free_char)),
            distinct: None,
            copied_lines: share(set.texts().flat_map(lines), |line| training_lines.contains(line)),
            repetition: Repetition::of(set.texts()),
            duplicates: poems - set.texts().collect::<HashSet<_>>().len(),
            ms_per_poem: seconds.map(|seconds| 1e3 * seconds / poems as f64),
        }
    }

    /// Count of missing poems.
    pub fn refused(&self) -> usize {
        self.refusals.values().sum()
    }

    fn form_name(&self) -> &'static str {
        self.form.map_or("any", Form::name)
    }
}

/// Whether each line begins with its head, and there are no other lines.
fn heads_match(poem: &str, heads: &str) -> bool {
    let found = lines(poem).filter_map(|line| line.chars().next());
    found.eq(heads.chars())
}

impl fmt::Display for Eval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {} poems per row, seeds from {} on, {}, {}; {}.\n\nThe rules: how many poems have the right form, \
            and of those how many keep rhyme, tones, both, and both without 孤平 and 三平调 (strict); an acrostic has \
            its heads, a run of characters of a random training poem, all in place.\n\n",
            self.model, self.poems, self.seed, self.setting, self.search, self.machine
        )?;
        let header =
            "poems | refused | right form | rhyme | tones | whole poem | strict | acrostic";
        f.write_str(&self.table(header, |row| {
            let own = &row.scores;
            let whole = percents(&[own.rhyme, own.tones, own.whole, own.strict]);
            let form = percent(row.right_form);
            let heads = percent(row.acrostic.unwrap_or_default());
            let (poems, refused) = (row.poems, row.refused());
            format!("{poems} | {refused} | {form} | {whole} | {heads}")
        }))?;
        for row in &self.rows {
            for (reason, count) in &row.refusals {
                let (form, name) = (row.form_name(), &row.name);
                write!(f, "\n\n{form}, {name}: {count} refused: {reason}")?;
            }
        }
        let header = "positions | 对 | 粘 | 孤平 | 三平调 | line 1 rhymes | unknown characters | two-tone characters";
        let parts = self.table(header, |row| {
            let own = &row.scores;
            let lines = [own.positions, own.dui, own.nian, own.gu_ping, own.san_ping];
            let others = [own.first_line_rhyme, own.unknown, own.two_tone];
            percents(&[lines.as_slice(), &others].concat())
        });
        write!(
            f,
            "\n\nTheir parts: the share of bound positions, couplets (对), links (粘) and first lines that are \
            right, of lines with 孤平 or 三平调 where there could be one, and of characters that no table has or that \
            may be read in either tone.\n\n{parts}"
        )?;
        let header =
            "nats per character | free | distinct-1 | distinct-2 | of characters | ms per poem";
        let text = self.table(header, |row| {
            let [nats, free] = [row.nats_per_char, row.nats_per_free_char].map(|n| decimal(n, 2));
            let distinct = row.distinct.map_or("- | - | -".to_owned(), |distinct| {
                let (one, two) = (distinct.distinct_1, distinct.distinct_2);
                format!("{} | {}", percents(&[one, two]), one.whole)
            });
            let ms = decimal(row.ms_per_poem, 1);
            format!("{nats} | {free} | {distinct} | {ms}")
        });
        write!(
            f,
            "\n\nThe text: how surprising the model alone finds a character (free: without those that form and \
            heads fix), and the share of different characters and pairs among a number of each row's characters \
            (distinct).\n\n{text}"
        )?;
        let header = "character 3 times | word twice | line twice | shared lines | copied lines | repeated poems | \
            commonest opening | ten openings | :openings";
        let repetition = self.table(header, |row| {
            let own = &row.repetition;
            let poems = percents(&[own.thrice, own.words, own.lines]);
            let lines = percents(&[own.shared_lines, row.copied_lines]);
            let openings = percents(&own.common_openings());
            let names = own.openings.iter();
            let names = names.map(|opening| format!("{} {}", opening.text, percent(opening.poems)));
            let names = names.collect::<Vec<_>>().join(", ");
            format!("{poems} | {lines} | {} | {openings} | {names}", row.duplicates)
        });
        write!(
            f,
            "\n\nRepetition: the share of poems with a character three times or more, with the same two different \
            characters side by side twice, with a line twice; of lines that an earlier poem of the row has, or a \
            training poem (copied); poems that repeat an earlier one; and the ten commonest openings, the first two \
            characters, with their share of the poems.\n\n{repetition}"
        )?;
        let Some(loss) = &self.position_loss else {
            return Ok(());
        };
        write!(
            f,
            "\n\nLoss along the context: held-out poems one after the other, {} contexts.\n\n{loss}",
            loss.rows
        )
    }
}

impl Eval {
    /// A table with one line per row, named by form and kind.
    fn table(&self, header: &str, cells: impl Fn(&EvalRow) -> String) -> String {
        let rows = self.rows.iter();
        let rows = rows.map(|row| format!("{} | {} | {}", row.form_name(), row.name, cells(row)));
        table(&format!(":form | :kind | {header}"), rows)
    }
}

fn percents(shares: &[Share]) -> String {
    let cells: Vec<String> = shares.iter().copied().map(percent).collect();
    cells.join(" | ")
}

/// The share in percent with one decimal, never rounded to 0 or 100.
fn percent(share: Share) -> String {
    match share.rate() {
        None => "-".to_owned(),
        Some(rate) if share.part > 0 && rate < 0.0005 => "< 0.1 %".to_owned(),
        Some(rate) if share.part < share.whole && rate > 0.9995 => "> 99.9 %".to_owned(),
        Some(rate) => format!("{:.1} %", 100.0 * rate),
    }
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
        PoemSet { poems: texts.iter().enumerate().map(poem).collect(), ..PoemSet::default() }
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
        for (heads, wanted) in
            [("白黄欲更", true), ("白黄欲", false), ("白黄更欲", false), ("白黄欲更上", false)]
        {
            assert_eq!(heads_match(GOOD, heads), wanted, "{heads}");
        }
        let mut poems = set(&[GOOD, BAD]);
        // The first poem that was asked for was refused.
        poems.poems[0].number = 1;
        poems.poems[1].number = 2;
        let heads = ["春眠不觉", "白黄欲更", "床疑举花"].map(str::to_owned);
        let row = EvalRow::of(None, "test", &poems, Some(&heads), &HashSet::new());
        assert_eq!(row.acrostic, Some(Share { part: 1, whole: 2 }));
    }

    #[test]
    fn only_all_are_a_hundred_percent() {
        for (part, whole, wanted) in [
            (0, 0, "-"),
            (0, 5000, "0.0 %"),
            (1, 5000, "< 0.1 %"),
            (422, 1000, "42.2 %"),
            (4999, 5000, "> 99.9 %"),
            (5000, 5000, "100.0 %"),
        ] {
            assert_eq!(percent(Share { part, whole }), wanted);
        }
    }

    fn of_all(part: usize, whole: usize) -> Share {
        Share { part, whole }
    }

    #[test]
    fn pairs_end_with_the_line() {
        let distinct = Distinct::of(["春风春，风春风。", "花。"], 100);
        assert_eq!(distinct.distinct_1, of_all(3, 7));
        // 春风 风春 | 风春 春风: not 春 风 over the mark.
        assert_eq!(distinct.distinct_2, of_all(2, 4));
    }

    #[test]
    fn only_so_many_characters_count() {
        let distinct = Distinct::of(["春风春，风花月。", "山。"], 5);
        assert_eq!(distinct.distinct_1, of_all(3, 5));
        assert_eq!(distinct.distinct_2, of_all(3, 3));
        assert_eq!(Distinct::of(["春。"], 0).distinct_2.rate(), None);
    }
}

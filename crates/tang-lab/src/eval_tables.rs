//! An evaluation as Markdown.

use std::fmt;

use tang_prosody::{Scores, Share};

use crate::{Eval, EvalRow};

type Score = (&'static str, fn(&Scores) -> Share);

/// The rules of a whole poem.
const WHOLE: [Score; 4] = [
    ("rhyme", |scores| scores.rhyme),
    ("tones", |scores| scores.tones),
    ("whole poem", |scores| scores.whole),
    ("strict", |scores| scores.strict),
];

/// What they are made of, and what the judgement rests on.
const PARTS: [Score; 8] = [
    ("positions", |scores| scores.positions),
    ("对", |scores| scores.dui),
    ("粘", |scores| scores.nian),
    ("孤平", |scores| scores.gu_ping),
    ("三平调", |scores| scores.san_ping),
    ("line 1 rhymes", |scores| scores.first_line_rhyme),
    ("unknown characters", |scores| scores.unknown),
    ("two-tone characters", |scores| scores.two_tone),
];

impl fmt::Display for Eval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{}: {} poems a row, seeds from {} on, {}, {}; {}.",
            self.model, self.poems, self.seed, self.setting, self.search, self.machine
        )?;
        self.whole_poems(f)?;
        self.parts(f)?;
        self.text(f)?;
        if let Some(loss) = &self.position_loss {
            writeln!(
                f,
                "\nWhere in the context: held-out poems one after the other, {} contexts.\n\n{loss}",
                loss.rows
            )?;
        }
        Ok(())
    }
}

impl Eval {
    fn whole_poems(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "\nThe rules: how many poems have the right form, and of those how many keep rhyme, tones, both, and both without 孤平 and 三平调 (strict); an acrostic has its heads, a run of characters of a random training poem, all in place.\n"
        )?;
        let columns = WHOLE.iter().map(|(name, _)| *name);
        let columns = ["poems", "refused", "right form"]
            .into_iter()
            .chain(columns);
        self.table(f, columns.chain(["acrostic"]), |row| {
            let scores = WHOLE.iter().map(|(_, of)| percent(of(&row.scores)));
            let mut cells = vec![
                row.poems.to_string(),
                row.refused().to_string(),
                percent(row.right_form),
            ];
            cells.extend(scores);
            cells.push(row.acrostic.map_or_else(none, percent));
            cells
        })?;
        for row in &self.rows {
            for (reason, count) in &row.refusals {
                writeln!(
                    f,
                    "\n{}, {}: {count} refused: {reason}",
                    form(row),
                    row.name
                )?;
            }
        }
        Ok(())
    }

    fn parts(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "\nTheir parts: the share of bound positions, couplets (对), links (粘) and first lines that are right, of lines with 孤平 or 三平调 where there could be one, and of characters that no table has or that may be read in either tone.\n"
        )?;
        self.table(f, PARTS.iter().map(|(name, _)| *name), |row| {
            let scores = PARTS.iter().map(|(_, of)| percent(of(&row.scores)));
            scores.collect()
        })
    }

    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "\nThe text: how surprising the model alone finds a character (free: without those that form and heads fix), the share of different characters and pairs among so many of each row (distinct), of lines that stand in a training poem, and poems that repeat another of their row.\n"
        )?;
        let columns = [
            "nats a character",
            "free",
            "distinct-1",
            "distinct-2",
            "of characters",
            "copied lines",
            "repeated poems",
            "ms a poem",
        ];
        self.table(f, columns, |row| {
            let number = |value: Option<f64>, digits: usize| {
                value.map_or_else(none, |value| format!("{value:.digits$}"))
            };
            let distinct = row.distinct;
            vec![
                number(row.nats_per_char, 2),
                number(row.nats_per_free_char, 2),
                distinct.map_or_else(none, |distinct| percent(distinct.distinct_1)),
                distinct.map_or_else(none, |distinct| percent(distinct.distinct_2)),
                distinct.map_or_else(none, |distinct| distinct.distinct_1.whole.to_string()),
                percent(row.copied_lines),
                row.duplicates.to_string(),
                number(row.ms_per_poem, 1),
            ]
        })
    }

    /// A table with one line a row, named by form and kind.
    fn table<'a>(
        &self,
        f: &mut fmt::Formatter<'_>,
        columns: impl IntoIterator<Item = &'a str>,
        cells: impl Fn(&EvalRow) -> Vec<String>,
    ) -> fmt::Result {
        let columns: Vec<&str> = columns.into_iter().collect();
        writeln!(f, "| form | kind | {} |", columns.join(" | "))?;
        writeln!(f, "|---|---|{}", "---:|".repeat(columns.len()))?;
        for row in &self.rows {
            let cells = cells(row).join(" | ");
            writeln!(f, "| {} | {} | {cells} |", form(row), row.name)?;
        }
        Ok(())
    }
}

fn form(row: &EvalRow) -> String {
    row.form.map_or("any".to_owned(), |form| form.to_string())
}

fn none() -> String {
    "-".to_owned()
}

/// With one decimal, and never rounded to all or nothing.
fn percent(share: Share) -> String {
    let Some(rate) = share.rate() else {
        return none();
    };
    if share.part > 0 && rate < 0.0005 {
        return "< 0.1 %".to_owned();
    }
    if share.part < share.whole && rate > 0.9995 {
        return "> 99.9 %".to_owned();
    }
    format!("{:.1} %", 100.0 * rate)
}

#[cfg(test)]
mod tests {
    use super::*;

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
}

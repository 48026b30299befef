//! Verdicts on stdout.

use std::{
    fmt::Display,
    io::{self, Write},
};

use clap::builder::styling::{AnsiColor, Style};
use serde::Serialize;
use tang_corpus::{Converter, PageText, Traditional, Unread};
use tang_files::escape_value;
use tang_prosody::{
    COMMA, FULL_STOP, Fault, Form, Judging, LineVerdict, Readings, Scores, Share, Verdict, check_by,
};

const RIGHT: Style = AnsiColor::Green.on_default();
const WRONG: Style = AnsiColor::Red.on_default().bold();

/// A poem and the verdict of the rules, as `--json` prints it.
#[derive(Debug, Serialize)]
pub struct JudgedPoem<'a> {
    /// As it was typed.
    text: &'a str,
    passes: bool,
    passes_strictly: bool,
    faults: Vec<Fault>,
    /// `None` for a text without a strict form.
    pub verdict: Option<Verdict>,
    /// The place where such a text stops being a poem.
    unread: Option<&'a Unread>,
    /// The verdict if no tone were saved in the next line: the table counts it, so that its figures are those
    /// of `tang eval`.
    #[serde(skip)]
    unsaved: Option<Verdict>,
}

/// Judges texts by their simplified characters, and their rhyme characters as they were typed.
pub fn judge(texts: &[PageText]) -> Vec<JudgedPoem<'_>> {
    let converter = Converter::traditional_to_simplified();
    let traditional = Traditional::default();
    let judged = |text: &PageText, saves| {
        let typed = text.poem.as_deref().ok()?;
        let written = traditional.compared(&converter.normalise(typed));
        let judging = Judging { written: Some(&written), saves };
        check_by(&simplified(typed, &converter), judging)
    };
    let poems = texts.iter().map(|text| {
        let verdict = judged(text, true);
        JudgedPoem {
            text: &text.typed,
            passes: verdict.as_ref().is_some_and(Verdict::passes),
            passes_strictly: verdict.as_ref().is_some_and(Verdict::passes_strictly),
            faults: verdict.iter().flat_map(Verdict::faults).collect(),
            verdict,
            unread: text.poem.as_ref().err(),
            unsaved: judged(text, false),
        }
    });
    poems.collect()
}

/// The text in simplified characters, as far as these have readings: no table has 𫝈, the simplified form of 㑮.
fn simplified(typed: &str, converter: &Converter) -> String {
    let converted = converter.convert(typed);
    let pairs = typed.chars().zip(converted.chars());
    let known = |(typed, plain)| if Readings::of_given(plain).is_some() { plain } else { typed };
    pairs.map(known).collect()
}

/// Prints a poem line by line with its tones, and its faults.
pub fn write_poem(out: &mut impl Write, poem: &JudgedPoem) -> io::Result<()> {
    let Some(verdict) = &poem.verdict else {
        return write_formless(out, poem);
    };
    let length = verdict.form.line_length();
    let rhyme = verdict.rhyme.map(|group| group.to_string());
    writeln!(
        out,
        "{}  rhyme {} {}  tones {} {} {}",
        verdict.form,
        rhyme.as_deref().unwrap_or(if verdict.rhymes() { "？" } else { "none" }),
        yes_or_no(verdict.rhymes()),
        verdict.sequence.name(length),
        verdict.sequence,
        yes_or_no(verdict.tones_fit()),
    )?;
    let characters: Vec<char> = poem.text.chars().collect();
    let lines = characters.chunks(length.chars() + 1);
    let mut modern = String::new();
    for (text, line) in lines.zip(&verdict.lines) {
        write_line(out, &String::from_iter(text), line)?;
        for position in &line.modern {
            let character = text[position - 1];
            if !modern.contains(character) {
                modern.push(character);
            }
        }
    }
    if !modern.is_empty() {
        writeln!(out, "{modern}: in no rhyme book; tone of a modern pronunciation")?;
    }
    if verdict.unknown() > 0 {
        writeln!(out, "？ {} not in the table, taken for right", verdict.unknown())?;
    }
    let faults = poem.faults.iter();
    let faults = faults.map(|fault| format!("{fault} ({})", fault.gloss()));
    let faults = faults.collect::<Vec<_>>().join(", ");
    match (poem.passes, poem.passes_strictly) {
        (_, true) => writeln!(out, "{}", styled(RIGHT, "passes")),
        (true, false) => writeln!(out, "{}, but not --strict: {faults}", styled(RIGHT, "passes")),
        (false, _) => writeln!(out, "{}: {faults}", styled(WRONG, "broken")),
    }
}

/// ` 白日依山尽，   仄  仄  平  平  仄   A`, a wrong tone in brackets, the faults at the end.
fn write_line(out: &mut impl Write, text: &str, line: &LineVerdict) -> io::Result<()> {
    write!(out, "  {text} ")?;
    for (position, tones) in (1..).zip(&line.tones) {
        let tones = tones.map_or_else(|| "？".to_owned(), |tones| tones.to_string());
        if line.wrong.contains(&position) {
            write!(out, "{}", styled(WRONG, format_args!("[{tones}]")))?;
        } else {
            write!(out, " {tones} ")?;
        }
    }
    write!(out, "  {}", line.line_type)?;
    if line.special {
        write!(out, " special")?;
    }
    for fault in &line.faults {
        write!(out, " {}", styled(WRONG, fault))?;
    }
    writeln!(out)
}

/// Only the beginning is printed, escaped, since such a text may be anything.
fn write_formless(out: &mut impl Write, poem: &JudgedPoem) -> io::Result<()> {
    const SHOWN: usize = 32;
    let mut beginning: String = poem.text.chars().take(SHOWN).collect();
    if beginning.len() < poem.text.len() {
        beginning.push('…');
    }
    writeln!(out, "  {}", escape_value(&beginning))?;
    write!(out, "{}: no form; ", styled(WRONG, "broken"))?;
    if let Some(unread) = poem.unread {
        write!(out, "{unread}; ")?;
    }
    writeln!(
        out,
        "wanted are 4 or 8 lines of 5 or 7 Han characters, closed by {COMMA} and {FULL_STOP} in turn"
    )
}

fn yes_or_no(yes: bool) -> impl Display {
    if yes { styled(RIGHT, "(yes)") } else { styled(WRONG, "(no)") }
}

fn styled(style: Style, text: impl Display) -> String {
    format!("{style}{text}{style:#}")
}

/// A column of the table: its head, as wide as its numbers (a Chinese character is two columns wide), and its
/// share.
type Column = (&'static str, fn(&Scores) -> Share);

const COLUMNS: [Column; 10] = [
    ("  rhyme", |scores| scores.rhyme),
    ("  tones", |scores| scores.tones),
    ("   both", |scores| scores.whole),
    (" strict", |scores| scores.strict),
    (" line 1", |scores| scores.first_line_rhyme),
    ("  place", |scores| scores.positions),
    ("     对", |scores| scores.dui),
    ("     粘", |scores| scores.nian),
    ("   孤平", |scores| scores.gu_ping),
    (" 三平调", |scores| scores.san_ping),
];

/// Prints the share of poems, lines or places that keep each rule, by form.
pub fn write_summary(out: &mut impl Write, poems: &[JudgedPoem]) -> io::Result<()> {
    write!(out, "%      poems")?;
    for (head, _) in COLUMNS {
        write!(out, " {head}")?;
    }
    writeln!(out, "   saved")?;
    let mut all = Scores::default();
    let mut all_saved = Share::default();
    let kinds = Form::ALL.into_iter().map(Some).chain([None]);
    for kind in kinds {
        let mut scores = Scores::default();
        let mut saved = Share::default();
        for poem in poems {
            if poem.verdict.as_ref().map(|verdict| verdict.form) == kind {
                scores.add(poem.unsaved.as_ref());
                saved.count(poem.passes);
            }
        }
        if scores.form.whole > 0 {
            let name = kind.map_or("none", Form::name);
            write_row(out, name, &scores, saved)?;
        }
        all.merge(&scores);
        all_saved += saved;
    }
    write_row(out, "all ", &all, all_saved)
}

/// The name is four columns wide.
fn write_row(out: &mut impl Write, name: &str, scores: &Scores, saved: Share) -> io::Result<()> {
    write!(out, "{name} {:>7}", scores.form.whole)?;
    let shares = COLUMNS.iter().map(|(_, share)| share(scores));
    for share in shares.chain([saved]) {
        match share.rate() {
            Some(rate) => write!(out, " {:>7.1}", 100.0 * rate)?,
            None => write!(out, " {:>7}", "-")?,
        }
    }
    writeln!(out)
}

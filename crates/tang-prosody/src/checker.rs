//! Judges a poem by its rhyme and tones.
//!
//! The checker shares with the patterns that poems are written by (`line_pattern.rs`) the table of
//! readings and the types of lines, and nothing else, so that an error of the patterns is found.

use crate::{
    COMMA, FULL_STOP, Fault, Form, LineLength, LineSequence, LineType, LineVerdict, Readings, Tone,
    ToneSet, Verdict, rhyme::Rhyme,
};

/// The way to judge a poem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Judging<'a> {
    /// The original text, one character per character of the poem, if the poem was converted to
    /// simplified characters before: 臺 and 台 are two rhyme characters in the original, and one
    /// after the conversion.
    pub written: Option<&'a str>,
    /// Whether a wrong tone may be saved in the next line ([`Fault::Saved`]).
    pub saves: bool,
}

/// Judges a whole poem in simplified characters, by 王力《诗词格律》, and saves no wrong tone in the next line.
/// `None` if it has no strict form ([`Form::of`]).
///
/// Any reading of a character counts ([`Readings::of_given`]), and a character that the tables lack has all readings.
/// Positions 2, 4, 6 and
/// the ends of the lines are compared with the four sequences. The best sequence has the fewest wrong tones; among
/// equals the fewest saved ones; then a first line that rhymes as the poem's does; then the largest share of the
/// corpus.
pub fn check(poem: &str) -> Option<Verdict> {
    check_by(poem, Judging::default())
}

/// [`check`] with other settings.
///
/// # Panics
///
/// If the original text has another count of characters than the poem.
pub fn check_by(poem: &str, judging: Judging) -> Option<Verdict> {
    let form = Form::of(poem)?;
    let lines: Vec<Line> = lines(poem).map(|text| Line::read(text, form.line_length())).collect();
    let ends = ends(poem);
    let written = judging.written.map_or_else(|| ends.clone(), self::ends);
    assert_eq!(ends.len(), written.len(), "the same poem, as it was written");
    let rhyme = Rhyme::of(&ends, &written);
    let first_line_rhymes = rhyme.holds(0);
    let (sequence, fits) = LineSequence::ALL
        .map(|sequence| (sequence, fit_all(&lines, sequence, judging.saves)))
        .into_iter()
        .min_by(|(a, fits_a), (b, fits_b)| {
            let key = |sequence: &LineSequence, fits: &[Fit]| {
                let wrong: usize = fits.iter().map(|fit| fit.wrong.len()).sum();
                let saved = fits.iter().filter(|fit| fit.saved).count();
                let other_start = sequence.first_line_rhymes() != first_line_rhymes;
                (wrong, saved, other_start)
            };
            let by_prior = || b.prior(form).total_cmp(&a.prior(form));
            key(a, fits_a).cmp(&key(b, fits_b)).then_with(by_prior)
        })
        .expect("there are four sequences");

    let faults: Vec<_> =
        (0..lines.len()).map(|index| faults(&lines, &fits, &rhyme, index)).collect();
    let lines = lines.into_iter().zip(fits).zip(faults);
    Some(Verdict {
        form,
        rhyme: rhyme.group,
        first_line_rhymes,
        sequence,
        lines: lines
            .map(|((line, fit), faults)| LineVerdict {
                line_type: fit.line_type,
                tones: line.tones,
                modern: line.modern,
                wrong: fit.wrong,
                special: fit.special,
                faults,
            })
            .collect(),
    })
}

fn lines(poem: &str) -> impl Iterator<Item = &str> {
    poem.split_terminator([COMMA, FULL_STOP])
}

/// The last character of each line.
fn ends(poem: &str) -> Vec<char> {
    lines(poem).filter_map(|line| line.chars().next_back()).collect()
}

/// A line by the tones of its characters.
struct Line {
    length: LineLength,
    tones: Vec<Option<ToneSet>>,
    /// The positions, counted from 1, of the characters with the tone of a modern pronunciation.
    modern: Vec<usize>,
}

impl Line {
    fn read(text: &str, length: LineLength) -> Self {
        let readings: Vec<_> = text.chars().map(Readings::of_given).collect();
        let is_modern = |readings: &Option<&Readings>| readings.is_some_and(Readings::is_modern);
        let modern = (1..).zip(&readings).filter(|(_, readings)| is_modern(readings));
        let modern = modern.map(|(position, _)| position).collect();
        let tones = readings.iter().map(|readings| readings.map(Readings::tones)).collect();
        Self { length, tones, modern }
    }

    /// The tones that the character at `position`, counted from 1, can have.
    fn tones(&self, position: usize) -> ToneSet {
        self.tones[position - 1].unwrap_or(ToneSet::ANY)
    }

    fn can_be(&self, position: usize, tone: Tone) -> bool {
        self.tones(position).contains(tone)
    }

    /// 二四六分明: the positions that are bound apart from the end.
    fn beats(&self) -> impl Iterator<Item = usize> {
        (2..self.length.chars()).step_by(2)
    }
}

/// A line compared with a type.
struct Fit {
    line_type: LineType,
    wrong: Vec<usize>,
    special: bool,
    /// Whether its one wrong tone is saved in the next line.
    saved: bool,
}

impl Fit {
    /// The beats alternate between level and oblique; the type gives the tone of the end.
    fn of(line: &Line, line_type: LineType) -> Self {
        let end = line.length.chars();
        let mut wanted = line_type.start(line.length);
        let mut wrong = Vec::new();
        for position in line.beats() {
            if !line.can_be(position, wanted) {
                wrong.push(position);
            }
            wanted = wanted.opposite();
        }
        if !line.can_be(end, line_type.end()) {
            wrong.push(end);
        }
        // 平平仄平仄 for 平平平仄仄: the two before the end change places, and the first of the five is
        // level for it.
        let special = line_type == LineType::B
            && wrong == [end - 1]
            && line.can_be(end - 2, Tone::Oblique)
            && line.can_be(end - 4, Tone::Level);
        if special {
            wrong.clear();
        }
        Self { line_type, wrong, special, saved: false }
    }

    /// 对句救: 仄仄平仄仄 for 仄仄平平仄, saved by 平平平仄平 in the next line, whose third of the five is level for
    /// it.
    fn save(&mut self, line: &Line, next: &Line) {
        let end = line.length.chars();
        self.saved = self.line_type == LineType::A
            && self.wrong == [end - 1]
            && next.can_be(end - 2, Tone::Level);
        if self.saved {
            self.wrong.clear();
        }
    }

    /// The tones of the character at a beat for 对 and 粘: in the special line and in one that is saved, the last
    /// beat counts as in the usual line.
    fn beat(&self, line: &Line, position: usize) -> ToneSet {
        let is_last = position == line.length.chars() - 1;
        if self.special && is_last {
            Tone::Oblique.into()
        } else if self.saved && is_last {
            Tone::Level.into()
        } else {
            line.tones(position)
        }
    }
}

fn fit_all(lines: &[Line], sequence: LineSequence, saves: bool) -> Vec<Fit> {
    let mut fits: Vec<Fit> =
        (0..).zip(lines).map(|(index, line)| Fit::of(line, sequence.line_type(index))).collect();
    if saves {
        for (fit, couplet) in fits.iter_mut().zip(lines.windows(2)) {
            fit.save(&couplet[0], &couplet[1]);
        }
    }
    fits
}

/// The faults of the line at `index`, counted from 0.
fn faults(lines: &[Line], fits: &[Fit], rhyme: &Rhyme, index: usize) -> Vec<Fault> {
    let (line, fit) = (&lines[index], &fits[index]);
    let closes_couplet = index % 2 == 1;
    let end = line.length.chars();
    let mut faults = Vec::new();
    let mut note = |fault, is_there| {
        if is_there {
            faults.push(fault);
        }
    };
    note(Fault::Tone, !fit.wrong.is_empty());
    note(Fault::Saved, fit.saved);
    if index > 0 {
        let before = (&lines[index - 1], &fits[index - 1]);
        let beats = || line.beats().map(|at| (fit.beat(line, at), before.1.beat(before.0, at)));
        if closes_couplet {
            note(Fault::Dui, !beats().all(|(a, b)| can_differ(a, b)));
        } else {
            note(Fault::Nian, !beats().all(|(a, b)| a.intersects(b)));
        }
    }
    let gu_ping = fit.line_type == LineType::C
        && !line.can_be(end - 4, Tone::Level)
        && !line.can_be(end - 2, Tone::Level);
    note(Fault::GuPing, gu_ping);
    let san_ping = fit.line_type == LineType::D
        && !line.can_be(end - 2, Tone::Oblique)
        && line.can_be(end - 1, Tone::Level)
        && line.can_be(end, Tone::Level);
    note(Fault::SanPing, san_ping);
    if closes_couplet {
        note(Fault::OffRhyme, !rhyme.holds(index));
        note(Fault::SameRhyme, rhyme.repeats(index));
    }
    faults
}

fn can_differ(a: ToneSet, b: ToneSet) -> bool {
    [Tone::Level, Tone::Oblique]
        .into_iter()
        .any(|tone| a.contains(tone) && b.contains(tone.opposite()))
}

//! The checker agrees with the patterns that poems are written by, though it does not know them.

#![cfg(test)]

use tang_prosody::{
    COMMA, FULL_STOP, Form, LineLength, LineSequence, LineType, Tone, ToneSet, check,
};

/// Characters with one reading each.
const LEVEL: char = '山';
const OBLIQUE: char = '月';
/// Characters of one rhyme group, with no oblique reading.
const RHYMES: [char; 5] = ['楼', '舟', '秋', '愁', '州'];

/// The lines of a poem by their tones.
fn text(lines: &[Vec<Tone>]) -> String {
    let mut text = String::new();
    for (index, line) in lines.iter().enumerate() {
        for (column, tone) in line.iter().enumerate() {
            let at_end = column + 1 == line.len();
            text.push(match tone {
                // The rhymes of the even lines differ from each other and from that of the first.
                Tone::Level if at_end => RHYMES[index.div_ceil(2)],
                Tone::Level => LEVEL,
                Tone::Oblique => OBLIQUE,
            });
        }
        text.push(if index % 2 == 0 { COMMA } else { FULL_STOP });
    }
    text
}

fn tones(bits: usize, length: usize) -> Vec<Tone> {
    (0..length)
        .map(|column| match bits >> column & 1 {
            0 => Tone::Level,
            _ => Tone::Oblique,
        })
        .collect()
}

fn sets(tones: &[Tone]) -> Vec<ToneSet> {
    tones.iter().copied().map(ToneSet::from).collect()
}

/// A line of this type, written from left to right: `choose` says which of two tones.
fn written(
    line_type: LineType,
    length: LineLength,
    choose: &mut impl FnMut() -> Tone,
) -> Vec<Tone> {
    let mut line = Vec::new();
    for column in 0..length.chars() {
        let allowed = line_type.allowed_tones(length, &sets(&line), column);
        let chosen = choose();
        line.push(if allowed.contains(chosen) {
            chosen
        } else {
            assert!(allowed.contains(chosen.opposite()), "no dead end");
            chosen.opposite()
        });
    }
    line
}

/// Numbers without a pattern: a linear congruential generator (Knuth, MMIX).
fn coin() -> impl FnMut() -> Tone {
    let mut state = 1u64;
    move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        if state >> 63 == 0 { Tone::Level } else { Tone::Oblique }
    }
}

#[test]
fn whatever_is_written_by_the_patterns_passes_strictly() {
    let mut coin = coin();
    for _ in 0..200 {
        for form in Form::ALL {
            for sequence in LineSequence::ALL {
                let lines: Vec<_> = (0..form.lines())
                    .map(|i| written(sequence.line_type(i), form.line_length(), &mut coin))
                    .collect();
                let poem = text(&lines);
                let verdict = check(&poem).unwrap();
                assert_eq!(verdict.sequence, sequence, "{poem}");
                assert!(verdict.passes_strictly(), "{sequence} {poem} {verdict:?}");
                assert_eq!(verdict.faults().count(), 0, "{poem}");
                assert_eq!((verdict.unknown(), verdict.two_tone()), (0, 0));
            }
        }
    }
}

/// Every line of tones at every place of every sequence: the checker passes what a pattern has, and
/// nothing else but a line of type B with three oblique tones at its end, which it tolerates.
#[test]
fn a_line_passes_where_a_pattern_has_it() {
    for form in Form::ALL {
        let length = form.line_length();
        for sequence in LineSequence::ALL {
            let regular: Vec<_> = (0..form.lines())
                .map(|i| written(sequence.line_type(i), length, &mut || Tone::Level))
                .collect();
            for index in 0..form.lines() {
                let line_type = sequence.line_type(index);
                for bits in 0..1 << length.chars() {
                    let mut lines = regular.clone();
                    lines[index] = tones(bits, length.chars());
                    let (line, poem) = (&lines[index], text(&lines));
                    let verdict = check(&poem).unwrap();
                    let passes = verdict.passes_strictly() && verdict.sequence == sequence;
                    let tolerated =
                        line_type == LineType::B && line.ends_with(&[Tone::Oblique; 3]) && passes;
                    let has_pattern = line_type.can_be(length, &sets(line));
                    assert_eq!(passes, has_pattern || tolerated, "{sequence} {index} {poem}");
                }
            }
        }
    }
}

#[test]
fn random_lines_hardly_ever_pass() {
    let mut coin = coin();
    for form in Form::ALL {
        let length = form.line_length().chars();
        let (mut positions, mut passed) = (0, 0);
        for _ in 0..1_000 {
            let lines: Vec<Vec<_>> =
                (0..form.lines()).map(|_| (0..length).map(|_| coin()).collect()).collect();
            let verdict = check(&text(&lines)).unwrap();
            passed += usize::from(verdict.passes());
            positions += verdict.lines.iter().map(|line| line.wrong.len()).sum::<usize>();
        }
        assert!(passed <= 20, "{form}: {passed} of 1000");
        let bound = 1_000 * form.lines() * (length / 2 + 1);
        let right = 1.0 - positions as f64 / bound as f64;
        assert!((0.55..0.7).contains(&right), "{form}: {right}");
    }
}

//! Poems on stdout.

use std::{
    collections::HashMap,
    io::{self, Write},
};

use serde::Serialize;
use tang_corpus::Traditional;
use tang_files::is_invisible;
use tang_prosody::{COMMA, FULL_STOP};
use tang_tokenizer::{NEWLINE, TokenId, TokenizerError, Vocabulary};

use crate::{
    input::{Given, StandIn, UserText},
    output::{PlacedWord, PlacedWordJson, write_json},
};

/// The line breaks in a printed poem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Breaks {
    /// After each mark.
    Lines,
    /// After each `。`.
    Couplets,
}

/// One poem as `--json` prints it.
#[derive(Debug, Serialize)]
pub struct PoemJson<'a> {
    /// The whole poem, without line breaks.
    pub text: String,
    /// The seed that gives it again; `None` after a search, which needs none.
    pub seed: Option<u64>,
    /// Reason for which the generation ended.
    pub finish_reason: &'static str,
    /// Mean log-probability of the generated tokens, nats; of stand-ins as the model read them.
    pub mean_log_prob: f64,
    /// The mean over the tokens that the rules, the given characters and the words left a choice; null if there is none.
    pub mean_free_log_prob: f64,
    /// Count of generated tokens.
    pub tokens: usize,
    /// The words that were asked for, as far as the poem has come.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub included: Vec<PlacedWordJson>,
    /// The given characters for which the model read others.
    #[serde(skip_serializing_if = "<[StandIn]>::is_empty")]
    pub stand_ins: &'a [StandIn],
}

/// The characters of these tokens, without the newlines that begin and end a poem.
pub fn poem_text(vocabulary: &Vocabulary, tokens: &[TokenId]) -> Result<String, TokenizerError> {
    let tokens: Vec<TokenId> = tokens.iter().copied().filter(|t| *t != NEWLINE).collect();
    vocabulary.decode(&tokens)
}

/// Prints poems, as text with an empty line between two, or as JSON.
pub struct PoemOutput<'a, W> {
    out: W,
    breaks: Breaks,
    traditional: Option<Traditional<'static>>,
    /// The given characters as they are printed, by place; the model may read other forms of them.
    given: HashMap<usize, char>,
    /// The characters of words as they are printed, by their places in the present poem.
    words: HashMap<usize, char>,
    stand_ins: &'a [StandIn],
    is_first: bool,
    /// Characters not printed yet, as conversion needs whole lines.
    pending: String,
    /// Count of printed characters of the poem.
    printed: usize,
    break_due: bool,
}

impl<'a, W: Write> PoemOutput<'a, W> {
    /// Prints to `out` the poems with these given characters and stand-ins for some of them.
    pub fn new(
        out: W,
        breaks: Breaks,
        traditional: bool,
        given: &Given,
        stand_ins: &'a [StandIn],
    ) -> Self {
        let traditional = traditional.then(Traditional::default);
        Self {
            out,
            breaks,
            given: given.printed(traditional.as_ref()),
            stand_ins,
            traditional,
            words: HashMap::new(),
            is_first: true,
            pending: String::new(),
            printed: 0,
            break_due: false,
        }
    }

    /// Prints a whole poem.
    pub fn poem(&mut self, text: &str) -> io::Result<()> {
        self.begin()?;
        text.chars().try_for_each(|c| self.push(c))?;
        self.end()
    }

    /// Sets the words of the next characters. They are printed as they were typed; simplified ones are converted
    /// with their lines.
    pub fn set_words(&mut self, words: &[PlacedWord]) {
        self.words.clear();
        let is_simplified = |text: &UserText| text.typed().eq(text.plain().chars());
        for PlacedWord { text, place } in words.iter().filter(|word| !is_simplified(word.text)) {
            let printed = text.printed(self.traditional.as_ref());
            self.words.extend((place.position..).zip(printed.chars()));
        }
    }

    /// Begins a poem that comes character by character.
    pub fn begin(&mut self) -> io::Result<()> {
        if !std::mem::take(&mut self.is_first) {
            writeln!(self.out)?;
        }
        self.printed = 0;
        Ok(())
    }

    /// Prints a character; with conversion, prints each line once it is complete.
    pub fn push(&mut self, c: char) -> io::Result<()> {
        if std::mem::take(&mut self.break_due) {
            writeln!(self.out)?;
        }
        self.pending.push(c);
        if self.traditional.is_none() || [COMMA, FULL_STOP].contains(&c) {
            self.write_pending()?;
        }
        // The line break is printed with the next character, so that no empty line ends the poem.
        self.break_due = c == FULL_STOP || (c == COMMA && self.breaks == Breaks::Lines);
        Ok(())
    }

    /// Flushes the output.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Ends the poem.
    pub fn end(&mut self) -> io::Result<()> {
        self.write_pending()?;
        self.break_due = false;
        writeln!(self.out)
    }

    /// Prints a poem as one line of JSON.
    pub fn json(&mut self, mut poem: PoemJson) -> io::Result<()> {
        poem.text = self.converted(&poem.text, 0);
        write_json(&mut self.out, &poem)
    }

    fn write_pending(&mut self) -> io::Result<()> {
        let text = self.converted(&self.pending, self.printed);
        self.printed += self.pending.chars().count();
        self.pending.clear();
        // A vocabulary may have any character.
        for c in text.chars() {
            if is_invisible(c) {
                write!(self.out, "{}", c.escape_unicode())?;
            } else {
                write!(self.out, "{c}")?;
            }
        }
        Ok(())
    }

    /// Characters of the poem from place `start` on, as they are printed.
    fn converted(&self, text: &str, start: usize) -> String {
        let given = |(place, c)| self.given.get(&place).copied().unwrap_or(c);
        // The characters beside a stand-in are converted as those beside the given one.
        let is_stand_in = |place| self.stand_ins.iter().any(|one| one.place == place + 1);
        let beside = |(place, c)| if is_stand_in(place) { given((place, c)) } else { c };
        let converted = self.traditional.as_ref().map(|table| {
            table.convert(&(start..).zip(text.chars()).map(beside).collect::<String>())
        });
        let characters = converted.as_deref().unwrap_or(text).chars();
        let words = |(place, c)| self.words.get(&place).copied().unwrap_or(c);
        (start..).zip(characters).map(|(place, c)| given((place, words((place, c))))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POEM: &str = "白日依山尽，黄河入海流。欲穷千里目，更上一层楼。";

    fn printed(breaks: Breaks, traditional: bool, poems: &[&str]) -> String {
        let given = Given::opening(UserText::new("白日依山盡"), "白日依山尽");
        let mut output = PoemOutput::new(Vec::new(), breaks, traditional, &given, &[]);
        for poem in poems {
            output.poem(poem).unwrap();
        }
        String::from_utf8(output.out).unwrap()
    }

    #[test]
    fn lines_or_couplets_are_broken_and_poems_parted() {
        assert_eq!(
            printed(Breaks::Lines, false, &[POEM]),
            "白日依山盡，\n黄河入海流。\n欲穷千里目，\n更上一层楼。\n"
        );
        let couplets = "白日依山盡，黄河入海流。\n欲穷千里目，更上一层楼。\n";
        assert_eq!(
            printed(Breaks::Couplets, false, &[POEM, POEM]),
            format!("{couplets}\n{couplets}")
        );
    }

    /// A poem that ends right after its prefix, or within a line, also ends with one line break.
    #[test]
    fn a_poem_ends_with_one_line_break_wherever_it_ends() {
        for (poem, wanted) in [
            ("白日依山尽。", "白日依山盡。\n"),
            ("白日依山尽，", "白日依山盡，\n"),
            ("白日依山尽，黄河", "白日依山盡，\n黄河\n"),
        ] {
            assert_eq!(printed(Breaks::Lines, false, &[poem]), wanted);
        }
    }

    #[test]
    fn a_vocabulary_does_nothing_to_the_terminal() {
        assert_eq!(
            printed(Breaks::Lines, false, &["白日依山尽\u{1b}[2J\u{202e}，风"]),
            "白日依山盡\\u{1b}[2J\\u{202e}，\n风\n"
        );
    }

    #[test]
    fn conversion_takes_the_rest_of_a_broken_line_along() {
        assert_eq!(
            printed(Breaks::Lines, true, &["白日依山尽，黄河入海"]),
            "白日依山盡，\n黃河入海\n"
        );
    }
}

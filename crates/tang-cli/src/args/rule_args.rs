//! The flags that say which rules a poem keeps, and which words it has.

use std::str::FromStr;

use anyhow::{Result, anyhow, bail, ensure};
use clap::Args;
use tang_generate::{Exemption, GenerateError, Rules, Task, Wanted};
use tang_prosody::{LineSequence, RhymeGroup, Template, is_han};

use crate::{
    input::{Given, UserText},
    model::LoadedModel,
    output::{Assignment, Breaks, note},
};

/// The most words that a poem can be asked to have.
const MAX_WORDS: usize = 4;

/// Rhyme, tones, repetitions, words.
#[derive(Args)]
pub struct RuleArgs {
    /// Let the even lines rhyme: auto, or a group of 平水韻 by its first character, such as 尤
    #[arg(long, value_name = "GROUP", value_parser = wanted::<RhymeGroup>)]
    rhyme: Option<Wanted<RhymeGroup>>,
    /// Keep the tones (平仄) of regulated verse, without 孤平 and 三平调; 4 or 8 lines
    #[arg(long)]
    tones: bool,
    /// The sequence of line types for --tones: auto, ACBD, DCBD, BDAC or CDAC
    #[arg(long, value_name = "SEQUENCE", value_parser = wanted::<LineSequence>)]
    sequence: Option<Wanted<LineSequence>>,
    /// Rhyme and tones at once
    #[arg(long)]
    regulated: bool,
    /// No character twice, except given ones and one doubled in a line (悠悠)
    #[arg(long)]
    no_repeat: bool,
    /// Exempt a given character from a rule that it breaks, with a note, instead of an error
    #[arg(long)]
    relax: bool,
    /// Have this character or word somewhere in the poem, within a line, where the model likes it; up to 4 times
    #[arg(long, value_name = "WORD")]
    include: Vec<String>,
}

impl RuleArgs {
    fn rules(&self) -> Rules {
        let tones = self.regulated || self.tones || self.sequence.is_some();
        Rules {
            rhyme: self.rhyme.or(self.regulated.then_some(Wanted::Any)),
            tones: tones.then_some(self.sequence.unwrap_or(Wanted::Any)),
            no_repeat: self.no_repeat,
            relax: self.relax,
        }
    }

    /// Whether there is a rule about tones or rhyme.
    pub fn sounds(&self) -> bool {
        let rules = self.rules();
        rules.tones.is_some() || rules.rhyme.is_some()
    }

    /// Writing `template` under these rules and with these words. Notes and errors about exempted characters name
    /// them as they were typed.
    pub fn assignment(
        &self,
        template: &Template,
        given: Given,
        breaks: Breaks,
        loaded: &LoadedModel,
    ) -> Result<Assignment> {
        let typed = |exemption: &Exemption| {
            let place = template.layout().position(exemption.line, exemption.column);
            Exemption { character: given.typed(place).unwrap_or(exemption.character), ..*exemption }
        };
        let words: Vec<UserText> = self.include.iter().map(|word| UserText::new(word)).collect();
        let read = words.iter().map(|word| self.read_word(word, loaded));
        let read: Vec<String> = read.collect::<Result<_>>()?;
        let count = words.len();
        ensure!(
            count <= MAX_WORDS,
            "--include can be given {MAX_WORDS} times, and is {count} times"
        );
        let read: Vec<&str> = read.iter().map(String::as_str).collect();
        let task = Task::verse_with(template, &self.rules(), &read, &loaded.vocabulary)
            .and_then(|task| task.fit(loaded.context()));
        let task = task.map_err(|error| match error {
            GenerateError::Unkept { exemptions } => {
                GenerateError::Unkept { exemptions: exemptions.iter().map(typed).collect() }
            }
            error => error,
        })?;
        for exemption in task.exemptions().iter().map(typed) {
            note(format_args!("relaxed: {exemption}"));
        }
        Ok(Assignment { task, given, words, breaks })
    }

    /// A word as the model reads it.
    fn read_word(&self, word: &UserText, loaded: &LoadedModel) -> Result<String> {
        ensure!(word.len() > 0, "--include is empty: give a character or a word");
        let typed: String = word.typed().collect();
        let read = word.read_lines(is_han, self.sounds(), &loaded.vocabulary);
        let read = read.map_err(|error| anyhow!("--include {typed}: {error}"))?;
        // Only a given character has a place where the model can read a stand-in.
        match read.chars().zip(typed.chars()).find(|(c, _)| loaded.vocabulary.id(*c).is_none()) {
            Some((_, c)) => bail!("--include {typed}: the model does not know `{c}`"),
            None => Ok(read),
        }
    }
}

/// `auto`, or one of several.
fn wanted<T: FromStr>(text: &str) -> Result<Wanted<T>, T::Err> {
    match text {
        "auto" => Ok(Wanted::Any),
        name => name.parse().map(Wanted::Only),
    }
}

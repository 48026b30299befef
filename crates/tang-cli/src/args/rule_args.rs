//! The flags that say which rules a poem keeps.

use std::str::FromStr;

use anyhow::Result;
use clap::Args;
use tang_generate::{Exemption, GenerateError, Rules, Task, Wanted};
use tang_prosody::{LineSequence, RhymeGroup, Template};

use crate::{input::Given, model::LoadedModel, output::note};

/// Rhyme, tones, repetitions.
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

    /// The task of writing `template` under these rules. Notes and errors about exempted characters name them
    /// as they were typed.
    pub fn task(&self, template: &Template, given: &Given, loaded: &LoadedModel) -> Result<Task> {
        let typed = |exemption: &Exemption| {
            let place = template.layout().position(exemption.line, exemption.column);
            Exemption { character: given.typed(place).unwrap_or(exemption.character), ..*exemption }
        };
        let task = Task::verse(template, &self.rules(), &loaded.vocabulary)
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
        Ok(task)
    }
}

/// `auto`, or one of several.
fn wanted<T: FromStr>(text: &str) -> Result<Wanted<T>, T::Err> {
    match text {
        "auto" => Ok(Wanted::Any),
        name => name.parse().map(Wanted::Only),
    }
}

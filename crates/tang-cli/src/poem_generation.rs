//! From a task to printed poems.

use std::{
    fmt,
    io::{self, StdoutLock},
};

use anyhow::{Result, ensure};
use tang_engine::Decoder;
use tang_generate::{
    Batch, FinishReason, GenerateError, GenerationConfig, Generator, Search, Sequence, Task,
    beam_search, best_of,
};
use tang_prosody::{COMMA, FULL_STOP};
use tang_tokenizer::{TokenId, TokenizerError};

use crate::{
    given::Given,
    loaded_model::LoadedModel,
    note::note,
    poem_output::{Breaks, PoemJson, PoemOutput},
    poem_text::poem_text,
    sampling_args::SamplingArgs,
};

/// What to write.
pub struct Assignment {
    /// Prompt and constraints.
    pub task: Task,
    /// The characters of the poem that were given.
    pub given: Given,
    /// How the poem is printed.
    pub breaks: Breaks,
}

/// Generates as many poems as the flags ask for and prints them to stdout. One that cannot be had is told on
/// stderr, and the others are printed.
///
/// # Errors
///
/// If a flag has an impossible value, the prompt does not fit the model's context, stdout is closed, or a
/// poem cannot be had.
pub fn write_poems(
    assignment: &Assignment,
    loaded: &LoadedModel,
    sampling: &SamplingArgs,
) -> Result<()> {
    let configs = sampling.configs()?;
    let poems = sampling.number as usize;
    let mut writer = PoemWriter {
        assignment,
        loaded,
        output: PoemOutput::new(
            io::stdout().lock(),
            assignment.breaks,
            sampling.traditional,
            &assignment.given,
        ),
        poems,
        failed: 0,
    };
    if sampling.no_cache {
        let mut decoder = loaded.model.uncached(loaded.threads);
        writer.write(&mut *decoder, sampling, configs)?;
    } else {
        writer.write(&mut *loaded.cached(), sampling, configs)?;
    }
    ensure!(
        writer.failed == 0,
        "{} of {poems} poems cannot be written",
        writer.failed
    );
    Ok(())
}

struct PoemWriter<'a> {
    assignment: &'a Assignment,
    loaded: &'a LoadedModel,
    output: PoemOutput<StdoutLock<'static>>,
    /// Poems asked for.
    poems: usize,
    /// Poems that could not be had.
    failed: usize,
}

impl PoemWriter<'_> {
    fn write(
        &mut self,
        decoder: &mut dyn Decoder,
        sampling: &SamplingArgs,
        mut configs: impl Iterator<Item = GenerationConfig> + Clone + Send,
    ) -> Result<()> {
        if sampling.stream {
            return configs.try_for_each(|config| self.stream(decoder, &config));
        }
        match sampling.search()? {
            Search::Sample => self.samples(decoder, configs, sampling.json),
            Search::BestOf(samples) => configs.try_for_each(|config| {
                let task = &self.assignment.task;
                let best = best_of(decoder, task, &config, samples);
                self.take(best, &config, sampling.json)
            }),
            Search::Beams(beams) => {
                let Some(config) = configs.next() else {
                    return Ok(());
                };
                let start = Sequence::new(self.task(), &config)?;
                let found = beam_search(decoder, start, beams)?;
                if found.len() < self.poems {
                    note(format_args!(
                        "no more than {} of {} poems were found",
                        found.len(),
                        self.poems
                    ));
                }
                let mut found = (1..).zip(found.iter().take(self.poems));
                found.try_for_each(|(number, found)| {
                    self.print(found, &config, Name::Number(number), sampling.json)
                })
            }
        }
    }

    fn samples(
        &mut self,
        decoder: &mut dyn Decoder,
        configs: impl Iterator<Item = GenerationConfig> + Clone + Send,
        as_json: bool,
    ) -> Result<()> {
        let task = self.task();
        let sequences = configs
            .clone()
            .map(move |config| Sequence::new(task.clone(), &config));
        for (sequence, config) in Batch::new(decoder, sequences).zip(configs) {
            self.take(sequence, &config, as_json)?;
        }
        Ok(())
    }

    fn stream(&mut self, decoder: &mut dyn Decoder, config: &GenerationConfig) -> Result<()> {
        let mut generator = Generator::new(decoder, self.task(), config)?;
        let mut begun = false;
        for step in generator.by_ref() {
            let mut text = match step {
                Ok(step) => self.text(&[step.token])?,
                Err(error) => {
                    if begun {
                        self.output.end()?;
                    }
                    return self.fail(error, config);
                }
            };
            // The prompt waits for the first step: one that is too long prints nothing.
            if !begun {
                self.output.begin()?;
                text = self.text(self.assignment.task.prompt())? + &text;
                begun = true;
            }
            for c in text.chars() {
                self.output.push(c)?;
            }
            self.output.flush()?;
        }
        self.output.end()?;
        self.note_unfinished(generator.sequence(), config, Name::Seed(config.seed))
    }

    /// Prints a poem, if it is one.
    fn take(
        &mut self,
        poem: Result<Sequence, GenerateError>,
        config: &GenerationConfig,
        as_json: bool,
    ) -> Result<()> {
        match poem {
            Ok(poem) => self.print(&poem, config, Name::Seed(config.seed), as_json),
            Err(error) => self.fail(error, config),
        }
    }

    /// Tells why a poem cannot be had.
    ///
    /// # Errors
    ///
    /// The error, if no other poem can be had either, or none was asked for.
    fn fail(&mut self, error: GenerateError, config: &GenerationConfig) -> Result<()> {
        if !matches!(error, GenerateError::NothingAllowed(_)) {
            return Err(error.into());
        }
        let mut message = format!("the poem of seed {}: {error}", config.seed);
        // Without a draw, the same poem would come.
        if config.temperature != 0.0 {
            message += ", or take another --seed";
        }
        ensure!(self.poems > 1, message);
        self.failed += 1;
        note(message);
        Ok(())
    }

    fn print(
        &mut self,
        sequence: &Sequence,
        config: &GenerationConfig,
        name: Name,
        as_json: bool,
    ) -> Result<()> {
        let text = self.text(sequence.tokens())?;
        if as_json {
            self.output.json(PoemJson {
                text,
                seed: name.seed(),
                finish_reason: finish_reason(sequence).name(),
                mean_log_prob: sequence.mean_log_prob(),
                tokens: sequence.generated().len(),
            })?;
        } else {
            self.output.poem(&text)?;
        }
        self.note_unfinished(sequence, config, name)
    }

    fn note_unfinished(
        &self,
        sequence: &Sequence,
        config: &GenerationConfig,
        name: Name,
    ) -> Result<()> {
        let limit = match finish_reason(sequence) {
            FinishReason::EndOfPoem => return Ok(()),
            FinishReason::MaxNewTokens => {
                format!("--max-new-tokens {} is reached", config.max_new_tokens)
            }
            FinishReason::ContextFull => format!(
                "the model's context of {} characters is full",
                self.loaded.context()
            ),
        };
        let place = last_place(&self.text(sequence.tokens())?);
        note(format_args!("{name} is unfinished: {limit} {place}"));
        Ok(())
    }

    fn task(&self) -> Task {
        self.assignment.task.clone()
    }

    fn text(&self, tokens: &[TokenId]) -> Result<String, TokenizerError> {
        poem_text(&self.loaded.vocabulary, tokens)
    }
}

/// Which poem it is, of those that were asked for.
#[derive(Clone, Copy)]
enum Name {
    /// The one of this seed.
    Seed(u64),
    /// This one of those that a search found, counted from 1.
    Number(usize),
}

impl Name {
    fn seed(self) -> Option<u64> {
        match self {
            Self::Seed(seed) => Some(seed),
            Self::Number(_) => None,
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Seed(seed) => write!(f, "the poem of seed {seed}"),
            Self::Number(number) => write!(f, "poem {number}"),
        }
    }
}

/// Where an unfinished poem stops.
fn last_place(poem: &str) -> String {
    const MARKS: [char; 2] = [COMMA, FULL_STOP];
    let lines = poem.matches(MARKS).count();
    match poem
        .chars()
        .rev()
        .take_while(|c| !MARKS.contains(c))
        .count()
    {
        0 => format!("after line {lines}"),
        characters => format!("and cuts line {} after character {characters}", lines + 1),
    }
}

fn finish_reason(sequence: &Sequence) -> FinishReason {
    sequence
        .finish_reason()
        .expect("a generation that gave no error has ended")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_line_is_told_from_a_whole_one() {
        for (poem, wanted) in [
            ("春", "and cuts line 1 after character 1"),
            ("春眠不觉晓", "and cuts line 1 after character 5"),
            ("春眠不觉晓，", "after line 1"),
            ("春眠不觉晓，处处闻", "and cuts line 2 after character 3"),
            ("春眠不觉晓，处处闻啼鸟。", "after line 2"),
        ] {
            assert_eq!(last_place(poem), wanted);
        }
    }
}

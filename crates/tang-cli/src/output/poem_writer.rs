//! From a task to printed poems.

use std::io::{self, StdoutLock};

use anyhow::{Result, ensure};
use tang_engine::Decoder;
use tang_generate::{
    Batch, FinishReason, GenerateError, GenerationConfig, Generator, Search, Sequence, Task,
    beam_search, best_of,
};
use tang_prosody::{COMMA, FULL_STOP};
use tang_tokenizer::{TokenId, TokenizerError};

use crate::{
    args::SamplingArgs,
    input::{Given, StandIn, UserText, note_stand_ins},
    model::LoadedModel,
    output::{Breaks, PlacedWord, PoemJson, PoemOutput, note, poem_text},
};

/// The poem to write.
pub struct Assignment {
    /// Prompt and constraints.
    pub task: Task,
    /// The characters of the poem that were given.
    pub given: Given,
    /// The words of the poem whose places the model chooses.
    pub words: Vec<UserText>,
    /// The line breaks of the output.
    pub breaks: Breaks,
}

/// Writes as many poems as the flags ask for and prints them to stdout. A poem that cannot be
/// written is noted, and the others are printed; the error comes after them.
pub fn write_poems(
    assignment: &Assignment,
    loaded: &LoadedModel,
    sampling: &SamplingArgs,
) -> Result<()> {
    let configs = sampling.configs()?;
    let (breaks, given) = (assignment.breaks, &assignment.given);
    let stand_ins = &given.stand_ins(&loaded.vocabulary);
    note_stand_ins(stand_ins);
    let mut writer = PoemWriter {
        task: &assignment.task,
        words: &assignment.words,
        loaded,
        sampling,
        stand_ins,
        output: PoemOutput::new(
            io::stdout().lock(),
            breaks,
            sampling.traditional,
            given,
            stand_ins,
        ),
        failed: 0,
    };
    let mut decoder =
        if sampling.no_cache { loaded.model.uncached(loaded.threads) } else { loaded.cached() };
    writer.write(&mut *decoder, configs)?;
    ensure!(writer.failed == 0, "{} of {} poems cannot be written", writer.failed, sampling.number);
    Ok(())
}

struct PoemWriter<'a> {
    task: &'a Task,
    words: &'a [UserText],
    loaded: &'a LoadedModel,
    sampling: &'a SamplingArgs,
    stand_ins: &'a [StandIn],
    output: PoemOutput<'a, StdoutLock<'static>>,
    /// Count of poems that could not be written.
    failed: usize,
}

impl PoemWriter<'_> {
    fn write(
        &mut self,
        decoder: &mut dyn Decoder,
        mut configs: impl Iterator<Item = GenerationConfig> + Clone + Send,
    ) -> Result<()> {
        if self.sampling.stream {
            return configs.try_for_each(|config| self.stream(decoder, &config));
        }
        let task = self.task;
        match self.sampling.search()? {
            Search::Sample => {
                let starts = configs.clone();
                let starts = starts.map(move |config| Sequence::new(task.clone(), &config));
                let mut poems = Batch::new(decoder, starts).zip(configs);
                poems.try_for_each(|(poem, config)| self.take(poem, &config))
            }
            Search::BestOf(samples) => configs.try_for_each(|config| {
                self.take(best_of(decoder, task, &config, samples), &config)
            }),
            Search::Beams(beams) => {
                // One search finds all poems.
                let config = configs.next().unwrap_or_default();
                let start = Sequence::new(task.clone(), &config)?;
                let found = beam_search(decoder, start, beams)?;
                let wanted = self.sampling.number as usize;
                if found.len() < wanted {
                    note(format_args!("no more than {} of {wanted} poems were found", found.len()));
                }
                for (number, poem) in (1..).zip(found.iter().take(wanted)) {
                    self.print(poem, &config, None, &format!("poem {number}"))?;
                }
                Ok(())
            }
        }
    }

    fn stream(&mut self, decoder: &mut dyn Decoder, config: &GenerationConfig) -> Result<()> {
        let mut generator = Generator::new(decoder, self.task.clone(), config)?;
        let mut begun = false;
        while let Some(step) = generator.next() {
            let mut text = match step {
                Ok(step) => self.text(&[step.token])?,
                Err(error) => {
                    if begun {
                        self.output.end()?;
                    }
                    return self.fail(error, config);
                }
            };
            // Printing begins after the first step: a prompt that is too long prints nothing.
            if !begun {
                self.output.begin()?;
                text = self.text(self.task.prompt())? + &text;
                begun = true;
            }
            self.output.set_words(&PlacedWord::all_in(generator.sequence(), self.words));
            text.chars().try_for_each(|c| self.output.push(c))?;
            self.output.flush()?;
        }
        self.output.end()?;
        self.note_unfinished(generator.sequence(), config, &name(config))
    }

    /// Prints the poem of a seed, or notes why it cannot be written.
    fn take(
        &mut self,
        poem: Result<Sequence, GenerateError>,
        config: &GenerationConfig,
    ) -> Result<()> {
        match poem {
            Ok(poem) => self.print(&poem, config, Some(config.seed), &name(config)),
            Err(error) => self.fail(error, config),
        }
    }

    /// Notes why a poem cannot be written; an error if no other poem was asked for or can be
    /// written either.
    fn fail(&mut self, error: GenerateError, config: &GenerationConfig) -> Result<()> {
        if !matches!(error, GenerateError::NothingAllowed(_)) {
            return Err(error.into());
        }
        let mut message = format!("{}: {error}", name(config));
        // Without a draw, every poem would be the same.
        if config.temperature != 0.0 {
            message += ", or take another --seed";
        }
        ensure!(self.sampling.number > 1, message);
        self.failed += 1;
        note(message);
        Ok(())
    }

    fn print(
        &mut self,
        poem: &Sequence,
        config: &GenerationConfig,
        seed: Option<u64>,
        name: &str,
    ) -> Result<()> {
        let text = self.text(poem.tokens())?;
        let words = PlacedWord::all_in(poem, self.words);
        self.output.set_words(&words);
        if self.sampling.json {
            // A poem that was cut short may lack some.
            let length = text.chars().count();
            let included = words.iter().filter(|word| word.end() <= length);
            let stand_ins = self.stand_ins.partition_point(|one| one.place <= length);
            self.output.json(PoemJson {
                text,
                seed,
                finish_reason: finish_reason(poem).name(),
                mean_log_prob: poem.mean_log_prob(),
                mean_free_log_prob: poem.mean_free_log_prob(),
                tokens: poem.generated().len(),
                included: included.map(PlacedWord::json).collect(),
                stand_ins: &self.stand_ins[..stand_ins],
            })?;
        } else {
            self.output.poem(&text)?;
        }
        self.note_unfinished(poem, config, name)
    }

    fn note_unfinished(
        &self,
        poem: &Sequence,
        config: &GenerationConfig,
        name: &str,
    ) -> Result<()> {
        let limit = match finish_reason(poem) {
            FinishReason::EndOfPoem => return Ok(()),
            FinishReason::MaxNewTokens => {
                format!("--max-new-tokens {} is reached", config.max_new_tokens)
            }
            FinishReason::ContextFull => {
                format!("the model's context of {} characters is full", self.loaded.context())
            }
        };
        let place = last_place(&self.text(poem.tokens())?);
        note(format_args!("{name} is unfinished: {limit} {place}"));
        Ok(())
    }

    fn text(&self, tokens: &[TokenId]) -> Result<String, TokenizerError> {
        poem_text(&self.loaded.vocabulary, tokens)
    }
}

fn name(config: &GenerationConfig) -> String {
    format!("the poem of seed {}", config.seed)
}

/// The place where an unfinished poem ends.
fn last_place(poem: &str) -> String {
    let is_mark = |c| [COMMA, FULL_STOP].contains(&c);
    let lines = poem.matches(is_mark).count();
    match poem.chars().rev().take_while(|c| !is_mark(*c)).count() {
        0 => format!("after line {lines}"),
        characters => format!("and cuts line {} after character {characters}", lines + 1),
    }
}

fn finish_reason(poem: &Sequence) -> FinishReason {
    let reason = poem.finish_reason();
    reason.expect("a generation that gave no error has ended")
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

//! From a task to printed poems.

use std::io::{self, StdoutLock};

use anyhow::Result;
use tang_generate::{
    Batch, CachedDecoder, Decoder, FinishReason, FullDecoder, GenerationConfig, Generator, Search,
    Sequence, Task, beam_search, best_of,
};
use tang_tokenizer::{TokenId, TokenizerError};

use crate::{
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
    /// Characters of a whole poem, where a form fixes them.
    pub length: Option<usize>,
    /// How the poem is printed.
    pub breaks: Breaks,
}

/// Generates as many poems as the flags ask for and prints them to stdout.
///
/// # Errors
///
/// If a flag has an impossible value, the prompt does not fit the model's context, or stdout is
/// closed.
pub fn write_poems(
    assignment: &Assignment,
    loaded: &LoadedModel,
    sampling: &SamplingArgs,
) -> Result<()> {
    let configs = sampling.configs()?;
    let mut writer = PoemWriter {
        assignment,
        loaded,
        output: PoemOutput::new(io::stdout().lock(), assignment.breaks, sampling.traditional),
    };
    if sampling.no_cache {
        writer.write(FullDecoder::new(&loaded.model), sampling, configs)
    } else {
        writer.write(CachedDecoder::new(&loaded.model), sampling, configs)
    }
}

struct PoemWriter<'a> {
    assignment: &'a Assignment,
    loaded: &'a LoadedModel,
    output: PoemOutput<StdoutLock<'static>>,
}

impl PoemWriter<'_> {
    fn write(
        &mut self,
        mut decoder: impl Decoder,
        sampling: &SamplingArgs,
        mut configs: impl Iterator<Item = GenerationConfig> + Clone + Send,
    ) -> Result<()> {
        if sampling.stream {
            return configs.try_for_each(|config| self.stream(&mut decoder, &config));
        }
        let context = self.loaded.context();
        match sampling.search()? {
            Search::Sample => self.samples(&mut decoder, configs, sampling.json),
            Search::BestOf(samples) => configs.try_for_each(|config| {
                let task = &self.assignment.task;
                let best = best_of(&mut decoder, task, &config, samples, context)?;
                self.print(&best, &config, Some(config.seed), sampling.json)
            }),
            Search::Beams(beams) => {
                let Some(config) = configs.next() else {
                    return Ok(());
                };
                let poems = 1 + configs.count();
                let start = Sequence::new(self.task(), &config, context)?;
                let found = beam_search(&mut decoder, start, beams)?;
                if found.len() < poems {
                    note(format_args!(
                        "no more than {} of {poems} poems were found",
                        found.len()
                    ));
                }
                let mut found = found.iter().take(poems);
                found.try_for_each(|found| self.print(found, &config, None, sampling.json))
            }
        }
    }

    fn samples(
        &mut self,
        decoder: &mut impl Decoder,
        configs: impl Iterator<Item = GenerationConfig> + Clone + Send,
        as_json: bool,
    ) -> Result<()> {
        let (task, context) = (self.task(), self.loaded.context());
        let sequences = configs
            .clone()
            .map(move |config| Sequence::new(task.clone(), &config, context));
        for (sequence, config) in Batch::new(decoder, sequences).zip(configs) {
            self.print(&sequence?, &config, Some(config.seed), as_json)?;
        }
        Ok(())
    }

    fn stream(&mut self, decoder: &mut impl Decoder, config: &GenerationConfig) -> Result<()> {
        let mut generator = Generator::new(decoder, self.task(), config, self.loaded.context())?;
        self.output.begin()?;
        // The prompt waits for the first step: one that is too long prints nothing.
        let mut text = self.text(self.assignment.task.prompt())?;
        for step in generator.by_ref() {
            text += &self.text(&[step?.token])?;
            for c in text.drain(..) {
                self.output.push(c)?;
            }
            self.output.flush()?;
        }
        self.output.end()?;
        self.note_unfinished(generator.sequence(), config, Some(config.seed))
    }

    fn print(
        &mut self,
        sequence: &Sequence,
        config: &GenerationConfig,
        seed: Option<u64>,
        as_json: bool,
    ) -> Result<()> {
        let text = self.text(sequence.tokens())?;
        if as_json {
            self.output.json(PoemJson {
                text,
                seed,
                finish_reason: finish_reason(sequence).name(),
                mean_log_prob: sequence.mean_log_prob(),
                tokens: sequence.generated().len(),
            })?;
        } else {
            self.output.poem(&text)?;
        }
        self.note_unfinished(sequence, config, seed)
    }

    fn note_unfinished(
        &self,
        sequence: &Sequence,
        config: &GenerationConfig,
        seed: Option<u64>,
    ) -> Result<()> {
        // The last line of the longest forms fills the context and leaves no place for an end.
        let length = self.text(sequence.tokens())?.chars().count();
        if self.assignment.length == Some(length) {
            return Ok(());
        }
        let poem = match seed {
            Some(seed) => format!("the poem of seed {seed}"),
            None => "a poem".to_owned(),
        };
        match finish_reason(sequence) {
            FinishReason::EndOfPoem => {}
            FinishReason::MaxNewTokens => note(format_args!(
                "{poem} is unfinished: --max-new-tokens {} is reached",
                config.max_new_tokens
            )),
            FinishReason::ContextFull => note(format_args!(
                "{poem} is unfinished: the model's context of {} characters is full",
                self.loaded.context()
            )),
        }
        Ok(())
    }

    fn task(&self) -> Task {
        self.assignment.task.clone()
    }

    fn text(&self, tokens: &[TokenId]) -> Result<String, TokenizerError> {
        poem_text(&self.loaded.vocabulary, tokens)
    }
}

fn finish_reason(sequence: &Sequence) -> FinishReason {
    sequence
        .finish_reason()
        .expect("a generation that gave no error has ended")
}

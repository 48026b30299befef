//! Poems that are judged together: read, or written by a model.

use std::{collections::BTreeMap, time::Instant};

use tang_engine::{Decoder, EngineError};
use tang_generate::{
    Batch, GenerateError, GenerationConfig, Search, Sequence, Task, beam_search, best_of,
};
use tang_prosody::{COMMA, FULL_STOP};
use tang_tokenizer::NEWLINE;

use crate::{LabError, LabModel, stats::mean};

/// A poem and its loss under the model alone.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Poem {
    /// Its number among those that were asked for, from 0.
    pub number: usize,
    pub text: String,
    /// Mean loss per character, in nats, marks and the final newline counted.
    pub nats_per_char: f64,
    /// The same without forced characters; `None` if all are forced.
    pub nats_per_free_char: Option<f64>,
}

/// The poems of a row, and the reasons why others are missing.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct PoemSet {
    pub poems: Vec<Poem>,
    /// Count of missing poems for each reason.
    pub refusals: BTreeMap<String, usize>,
    /// The time of writing.
    pub seconds: Option<f64>,
}

impl PoemSet {
    /// A set of `count` poems that cannot be written.
    pub fn refused(error: GenerateError, count: usize) -> Result<Self, LabError> {
        let mut set = Self::default();
        set.refuse(error, count)?;
        Ok(set)
    }

    /// Counts `count` missing poems.
    fn refuse(&mut self, error: GenerateError, count: usize) -> Result<(), LabError> {
        match error {
            GenerateError::Engine(EngineError::TextTooLong { .. }) => {}
            GenerateError::Engine(_) | GenerateError::Setting { .. } => return Err(error.into()),
            _ => {}
        }
        *self.refusals.entry(error.to_string()).or_default() += count;
        Ok(())
    }

    fn add(&mut self, poem: Result<Poem, GenerateError>) -> Result<(), LabError> {
        match poem {
            Ok(poem) => self.poems.push(poem),
            Err(error) => self.refuse(error, 1)?,
        }
        Ok(())
    }

    /// The texts in order.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.poems.iter().map(|poem| poem.text.as_str())
    }
}

/// The lines of a poem, without their marks.
pub(super) fn lines(poem: &str) -> impl Iterator<Item = &str> {
    let lines = poem.split([COMMA, FULL_STOP]);
    lines.filter(|line| !line.is_empty())
}

/// Reads real poems as the model would have to write them: after a newline, up to the newline that ends
/// them. A poem with a character that the model does not know is refused.
pub(super) fn held_out<'a>(
    lab: &LabModel,
    poems: impl IntoIterator<Item = &'a str>,
) -> Result<PoemSet, LabError> {
    let mut set = PoemSet::default();
    for (number, text) in poems.into_iter().enumerate() {
        set.add(read(lab, number, text))?;
    }
    Ok(set)
}

fn read(lab: &LabModel, number: usize, text: &str) -> Result<Poem, GenerateError> {
    let mut tokens = vec![NEWLINE];
    tokens.extend(lab.vocabulary.encode(text)?);
    let logits = lab.position_logits(&tokens)?;
    tokens.push(NEWLINE);
    let nats = |(row, token): (usize, &_)| (-logits.log_prob(row, *token), *token);
    let (all, tokens): (Vec<f64>, Vec<_>) = tokens[1..].iter().enumerate().map(nats).unzip();
    // The form forces marks and newline, as it does where poems are written.
    let free = all.iter().zip(tokens).filter(|(_, token)| lab.vocabulary.is_han(*token));
    let free: Vec<f64> = free.map(|(nats, _)| *nats).collect();
    Ok(Poem {
        number,
        text: text.to_owned(),
        nats_per_char: mean(&all).expect("a poem has an end"),
        nats_per_free_char: mean(&free),
    })
}

/// The tasks of the poems of a row.
pub(super) enum Tasks<'a> {
    /// All the same.
    Same(Task),
    /// Poem `i`, counted from 0, has its own.
    Each(&'a (dyn Fn(usize) -> Result<Task, GenerateError> + Sync)),
}

/// A model with the settings that it writes with.
pub(super) struct PoemWriter<'a> {
    pub lab: &'a LabModel,
    /// The settings; poem `i` has the seed plus i.
    pub config: &'a GenerationConfig,
    pub search: Search,
    pub poems: usize,
}

impl PoemWriter<'_> {
    /// Writes the poems and reports progress. A beam search always finds the same poems of a task:
    /// if all tasks are the same, there are no more poems than beams.
    pub fn write(
        &self,
        tasks: &Tasks,
        on_progress: &mut dyn FnMut(usize),
    ) -> Result<PoemSet, LabError> {
        let started = Instant::now();
        let mut set = PoemSet::default();
        let mut decoder = self.lab.cached();
        let decoder = &mut *decoder;
        let mut add = |number, result| {
            on_progress(number);
            set.add(self.poem(number, result))
        };
        match (self.search, tasks) {
            // All in one batch, which later poems join as earlier ones end.
            (Search::Sample, _) => {
                let sequences = (0..self.poems).map(|number| self.begin(tasks, number));
                for (number, result) in Batch::new(decoder, sequences).enumerate() {
                    add(number, result)?;
                }
            }
            (Search::BestOf(count), _) => {
                for number in 0..self.poems {
                    add(number, self.best_of(tasks, number, count, decoder))?;
                }
            }
            // At most as many poems of the one task as the beams find.
            (Search::Beams(beams), Tasks::Same(_)) => {
                on_progress(0);
                let start = self.begin(tasks, 0)?;
                match beam_search(decoder, start, beams) {
                    Ok(found) => {
                        for (number, sequence) in found.into_iter().take(self.poems).enumerate() {
                            set.add(self.poem(number, Ok(sequence)))?;
                        }
                    }
                    Err(error) => set.refuse(error, beams.min(self.poems))?,
                }
            }
            (Search::Beams(beams), Tasks::Each(_)) => {
                for number in 0..self.poems {
                    let found = self.begin(tasks, number);
                    let found = found.and_then(|start| beam_search(decoder, start, beams));
                    add(number, found.map(|mut found| found.swap_remove(0)))?;
                }
            }
        }
        set.seconds = Some(started.elapsed().as_secs_f64());
        Ok(set)
    }

    fn best_of(
        &self,
        tasks: &Tasks,
        number: usize,
        count: usize,
        decoder: &mut dyn Decoder,
    ) -> Result<Sequence, GenerateError> {
        let (task, config) = self.task(tasks, number)?;
        best_of(decoder, &task, &config, count)
    }

    fn begin(&self, tasks: &Tasks, number: usize) -> Result<Sequence, GenerateError> {
        let (task, config) = self.task(tasks, number)?;
        Sequence::new(task, &config)
    }

    /// The task of a poem, and its settings.
    fn task(
        &self,
        tasks: &Tasks,
        number: usize,
    ) -> Result<(Task, GenerationConfig), GenerateError> {
        let task = match tasks {
            Tasks::Same(task) => task.clone(),
            Tasks::Each(task) => task(number)?,
        };
        let mut config = self.config.clone();
        config.seed = config.seed.wrapping_add(number as u64);
        Ok((task, config))
    }

    fn poem(
        &self,
        number: usize,
        result: Result<Sequence, GenerateError>,
    ) -> Result<Poem, GenerateError> {
        let sequence = result?;
        let free = -sequence.mean_free_log_prob();
        Ok(Poem {
            number,
            text: self.lab.text(sequence.tokens())?,
            nats_per_char: -sequence.mean_log_prob(),
            nats_per_free_char: Some(free).filter(|nats| !nats.is_nan()),
        })
    }
}

#[cfg(test)]
mod tests {
    use tang_generate::{DeadEnd, Rule};

    use super::*;

    #[test]
    fn what_a_poem_cannot_be_is_counted_by_reason() {
        let mut set = PoemSet::default();
        let nothing = |column| {
            GenerateError::NothingAllowed(DeadEnd {
                line: 0,
                column,
                rule: Rule::NoRepeat,
                left: 2,
                others: vec![Rule::Form],
            })
        };
        set.refuse(nothing(3), 1).unwrap();
        set.refuse(nothing(5), 1).unwrap();
        set.refuse(nothing(3), 2).unwrap();
        set.refuse(GenerateError::FewRhymes { have: 1, want: 16 }, 5).unwrap();
        assert_eq!(set.refusals.values().copied().collect::<Vec<_>>(), [3, 1, 5]);
        let first = set.refusals.keys().next().unwrap();
        assert_eq!(*first, nothing(3).to_string());
    }

    #[test]
    fn a_broken_model_is_no_refusal() {
        let mut set = PoemSet::default();
        assert!(set.refuse(EngineError::Overflow.into(), 1).is_err());
        assert_eq!(set, PoemSet::default());
    }

    #[test]
    fn lines_have_no_marks() {
        let of = |poem| lines(poem).collect::<Vec<_>>();
        assert_eq!(of("春风，花。。月"), ["春风", "花", "月"]);
        assert!(of("").is_empty());
    }
}

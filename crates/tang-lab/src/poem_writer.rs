//! Writes the poems of a row.

use std::{ops::Range, time::Instant};

use tang_generate::{
    CachedDecoder, GenerateError, GenerationConfig, Search, Sequence, Task, beam_search, best_of,
    try_generate_batch,
};

use crate::{
    LabError, LabModel,
    poem_set::{Poem, PoemSet},
};

/// Poems that are sampled at once.
const BATCH: usize = 64;

/// What the poems of a row are asked to be.
pub(crate) enum Tasks<'a> {
    /// All the same.
    Same(Task),
    /// Poem `i`, counted from 0, has its own.
    Each(&'a dyn Fn(usize) -> Result<Task, GenerateError>),
}

impl Tasks<'_> {
    fn of(&self, number: usize) -> Result<Task, GenerateError> {
        match self {
            Self::Same(task) => Ok(task.clone()),
            Self::Each(task) => task(number),
        }
    }
}

/// A model with the settings that it writes with.
pub(crate) struct PoemWriter<'a> {
    pub lab: &'a LabModel,
    /// The settings; poem `i` has the seed plus i.
    pub config: &'a GenerationConfig,
    pub search: Search,
    /// Poems to write.
    pub poems: usize,
}

impl PoemWriter<'_> {
    /// Writes the poems, and says how many are done, now and then. Beams find the likeliest poems
    /// of a task once and for all: where all tasks are the same, there are no more poems than
    /// beams.
    ///
    /// # Errors
    ///
    /// If a setting has an impossible value or the model's logits overflow. Whatever keeps a single
    /// poem from being written is counted in the set.
    pub(crate) fn write(
        &self,
        tasks: &Tasks,
        on_progress: &mut dyn FnMut(usize),
    ) -> Result<PoemSet, LabError> {
        let started = Instant::now();
        let mut set = PoemSet::default();
        if let (Search::Beams(beams), Tasks::Same(task)) = (self.search, tasks) {
            on_progress(0);
            self.likeliest(task, beams, &mut set)?;
        } else {
            for first in (0..self.poems).step_by(BATCH) {
                on_progress(first);
                let numbers = first..self.poems.min(first + BATCH);
                match self.search {
                    Search::Sample => self.samples(tasks, numbers, &mut set)?,
                    Search::BestOf(count) => {
                        self.one_by_one(numbers, &mut set, |number, decoder| {
                            let (task, config) = (tasks.of(number)?, self.config(number));
                            best_of(decoder, &task, &config, count, self.lab.context())
                        })?;
                    }
                    Search::Beams(beams) => {
                        self.one_by_one(numbers, &mut set, |number, decoder| {
                            let start = self.begin(tasks.of(number)?, number)?;
                            Ok(beam_search(decoder, start, beams)?.swap_remove(0))
                        })?;
                    }
                }
            }
        }
        set.seconds = Some(started.elapsed().as_secs_f64());
        Ok(set)
    }

    /// One batch.
    fn samples(
        &self,
        tasks: &Tasks,
        numbers: Range<usize>,
        set: &mut PoemSet,
    ) -> Result<(), LabError> {
        let mut begun = Vec::new();
        let mut sequences = Vec::new();
        for number in numbers {
            match tasks.of(number).and_then(|task| self.begin(task, number)) {
                Ok(sequence) => {
                    begun.push(number);
                    sequences.push(sequence);
                }
                Err(error) => set.refuse(error, 1)?,
            }
        }
        let outcomes =
            try_generate_batch(&mut CachedDecoder::new(&self.lab.model), &mut sequences)?;
        for ((number, sequence), outcome) in begun.into_iter().zip(&sequences).zip(outcomes) {
            match outcome {
                Ok(()) => set.poems.push(Poem::written(self.lab, number, sequence)?),
                Err(error) => set.refuse(error, 1)?,
            }
        }
        Ok(())
    }

    fn one_by_one<'m>(
        &'m self,
        numbers: Range<usize>,
        set: &mut PoemSet,
        write: impl Fn(usize, &mut CachedDecoder<'m>) -> Result<Sequence, GenerateError>,
    ) -> Result<(), LabError> {
        let mut decoder = CachedDecoder::new(&self.lab.model);
        for number in numbers {
            match write(number, &mut decoder) {
                Ok(sequence) => set.poems.push(Poem::written(self.lab, number, &sequence)?),
                Err(error) => set.refuse(error, 1)?,
            }
        }
        Ok(())
    }

    /// As many of one task's poems as are wanted and as beams find.
    fn likeliest(&self, task: &Task, beams: usize, set: &mut PoemSet) -> Result<(), LabError> {
        let start = self.begin(task.clone(), 0)?;
        match beam_search(&mut CachedDecoder::new(&self.lab.model), start, beams) {
            Ok(found) => {
                for (number, sequence) in found.iter().enumerate().take(self.poems) {
                    set.poems.push(Poem::written(self.lab, number, sequence)?);
                }
                Ok(())
            }
            Err(error) => set.refuse(error, beams.min(self.poems)),
        }
    }

    fn begin(&self, task: Task, number: usize) -> Result<Sequence, GenerateError> {
        Sequence::new(task, &self.config(number), self.lab.context())
    }

    fn config(&self, number: usize) -> GenerationConfig {
        GenerationConfig {
            seed: self.config.seed.wrapping_add(number as u64),
            ..self.config.clone()
        }
    }
}

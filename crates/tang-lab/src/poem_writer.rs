//! Writes the poems of a row.

use std::time::Instant;

use tang_engine::Decoder;
use tang_generate::{
    Batch, GenerateError, GenerationConfig, Search, Sequence, Task, beam_search, best_of,
};

use crate::{
    LabError, LabModel,
    poem_set::{Poem, PoemSet},
};

/// What the poems of a row are asked to be.
pub(crate) enum Tasks<'a> {
    /// All the same.
    Same(Task),
    /// Poem `i`, counted from 0, has its own.
    Each(&'a (dyn Fn(usize) -> Result<Task, GenerateError> + Sync)),
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
        match (self.search, tasks) {
            (Search::Sample, _) => self.samples(tasks, &mut set, on_progress)?,
            (Search::BestOf(count), _) => {
                self.one_by_one(&mut set, on_progress, |number, decoder| {
                    let (task, config) = (tasks.of(number)?, self.config(number));
                    best_of(decoder, &task, &config, count)
                })?;
            }
            (Search::Beams(beams), Tasks::Same(task)) => {
                on_progress(0);
                self.likeliest(task, beams, &mut set)?;
            }
            (Search::Beams(beams), Tasks::Each(_)) => {
                self.one_by_one(&mut set, on_progress, |number, decoder| {
                    let start = self.begin(tasks, number)?;
                    Ok(beam_search(decoder, start, beams)?.swap_remove(0))
                })?;
            }
        }
        set.seconds = Some(started.elapsed().as_secs_f64());
        Ok(set)
    }

    /// All in one batch, which later poems join as earlier ones end.
    fn samples(
        &self,
        tasks: &Tasks,
        set: &mut PoemSet,
        on_progress: &mut dyn FnMut(usize),
    ) -> Result<(), LabError> {
        let mut decoder = self.lab.cached();
        let sequences = (0..self.poems).map(|number| self.begin(tasks, number));
        for (number, result) in Batch::new(&mut *decoder, sequences).enumerate() {
            on_progress(number);
            self.take(number, result, set)?;
        }
        Ok(())
    }

    fn one_by_one(
        &self,
        set: &mut PoemSet,
        on_progress: &mut dyn FnMut(usize),
        write: impl Fn(usize, &mut dyn Decoder) -> Result<Sequence, GenerateError>,
    ) -> Result<(), LabError> {
        let mut decoder = self.lab.cached();
        for number in 0..self.poems {
            on_progress(number);
            self.take(number, write(number, &mut *decoder), set)?;
        }
        Ok(())
    }

    fn take(
        &self,
        number: usize,
        result: Result<Sequence, GenerateError>,
        set: &mut PoemSet,
    ) -> Result<(), LabError> {
        match result {
            Ok(sequence) => set.poems.push(Poem::written(self.lab, number, &sequence)?),
            Err(error) => set.refuse(error, 1)?,
        }
        Ok(())
    }

    /// As many of one task's poems as are wanted and as beams find.
    fn likeliest(&self, task: &Task, beams: usize, set: &mut PoemSet) -> Result<(), LabError> {
        let start = self.begin(&Tasks::Same(task.clone()), 0)?;
        match beam_search(&mut *self.lab.cached(), start, beams) {
            Ok(found) => {
                for (number, sequence) in found.iter().enumerate().take(self.poems) {
                    set.poems.push(Poem::written(self.lab, number, sequence)?);
                }
                Ok(())
            }
            Err(error) => set.refuse(error, beams.min(self.poems)),
        }
    }

    fn begin(&self, tasks: &Tasks, number: usize) -> Result<Sequence, GenerateError> {
        let (task, config) = (tasks.of(number)?, self.config(number));
        Sequence::new(task, &config)
    }

    fn config(&self, number: usize) -> GenerationConfig {
        GenerationConfig {
            seed: self.config.seed.wrapping_add(number as u64),
            ..self.config.clone()
        }
    }
}

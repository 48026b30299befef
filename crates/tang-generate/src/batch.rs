//! Many poems at once.

use std::{
    iter,
    sync::{Mutex, PoisonError},
};

use rayon::prelude::*;

use crate::{Decoder, GenerateError, Sequence, batch_part::BatchPart, queue::Queue};

/// Sequences that run at once: the caches of so many poems take at most 32 MiB with the default model.
const PLACES: usize = 64;

/// Steps after which the threads wait for each other. None then has much left to do, and no result has
/// waited long.
const STEPS: usize = 32;

/// An iterator over finished sequences, in the order in which they were given, that runs many of
/// them together. Each gives the tokens that it would give alone.
///
/// The batch is kept full (Yu et al., *Orca*, 2022): where one ends, the next that waits takes its
/// place at the following step. It sends its prompt through the model token by token beside the
/// others; of what the prompt has in common with the sequence that was there before, nothing again.
///
/// Each thread has a part of the places, with a decoder of its own, and does everything for them.
///
/// An error of one sequence takes its place among the results, and the others go on; an error of a
/// decoder comes behind all results that are there in order, and there is nothing more.
pub struct Batch<'a, D, I> {
    decoder: &'a mut D,
    /// Of the other threads.
    forks: Vec<D>,
    /// One a thread, the first one that of `decoder`.
    parts: Vec<BatchPart>,
    places: usize,
    queue: Mutex<Queue<I>>,
    failed: bool,
    /// Of a decoder, until it is given.
    error: Option<GenerateError>,
}

impl<'a, D, I> Batch<'a, D, I>
where
    D: Decoder,
    I: Iterator<Item = Result<Sequence, GenerateError>> + Send,
{
    /// A batch that has done nothing yet and runs up to 64 sequences at once.
    pub fn new(decoder: &'a mut D, sequences: I) -> Self {
        Self::with_places(decoder, sequences, PLACES)
    }

    /// As [`new`](Self::new), with another number of sequences at once.
    ///
    /// # Panics
    ///
    /// If it is 0.
    pub fn with_places(decoder: &'a mut D, sequences: I, places: usize) -> Self {
        assert!(places > 0, "a batch without places");
        Self {
            decoder,
            forks: Vec::new(),
            parts: Vec::new(),
            places,
            queue: Mutex::new(Queue::new(sequences)),
            failed: false,
            error: None,
        }
    }

    /// Tokens of prompts that stood in their places already and did not go through the model again.
    pub fn reused_tokens(&self) -> usize {
        self.parts.iter().map(BatchPart::reused_tokens).sum()
    }

    /// Runs until the next result is there, or no sequence is left.
    fn run(&mut self) -> Result<(), GenerateError> {
        if self.parts.is_empty() {
            self.begin()?;
        }
        while !self.queue().has_result() {
            let queue = &self.queue;
            let decoders = iter::once(&mut *self.decoder).chain(&mut self.forks);
            let parts = decoders.zip(&mut self.parts);
            let mut parts: Vec<_> = parts.filter(|(_, part)| !part.has_ended()).collect();
            match &mut parts[..] {
                [] => return Ok(()),
                // All threads share the work of each step.
                [(decoder, part)] => part.step(*decoder, queue)?,
                parts => parts
                    .par_iter_mut()
                    .try_for_each(|(decoder, part)| part.steps(STEPS, *decoder, queue))?,
            }
        }
        Ok(())
    }

    /// Makes a part for each thread that has a decoder, fills the places, and tells the decoders.
    fn begin(&mut self) -> Result<(), GenerateError> {
        let others = rayon::current_num_threads().min(self.places) - 1;
        let forks = iter::repeat_with(|| self.decoder.fork()).take(others);
        self.forks = forks.map_while(|fork| fork).collect();
        let decoders = 1 + self.forks.len();
        let parts = self.queue().cut(decoders);
        self.parts = (0..parts).map(BatchPart::new).collect();
        for place in 0..self.places {
            let part = place % parts;
            let Some((number, sequence)) = self.queue().next_sequence(part) else {
                break;
            };
            self.parts[part].add(number, sequence);
        }
        let rows = self.parts.iter().map(BatchPart::rows).sum();
        let tokens = self.parts.iter().map(BatchPart::most_tokens).max();
        for decoder in iter::once(&mut *self.decoder).chain(&mut self.forks) {
            decoder.reserve(rows, tokens.unwrap_or(0))?;
        }
        Ok(())
    }

    fn queue(&mut self) -> &mut Queue<I> {
        let queue = self.queue.get_mut();
        queue.unwrap_or_else(PoisonError::into_inner)
    }
}

impl<D, I> Iterator for Batch<'_, D, I>
where
    D: Decoder,
    I: Iterator<Item = Result<Sequence, GenerateError>> + Send,
{
    type Item = Result<Sequence, GenerateError>;

    fn next(&mut self) -> Option<Self::Item> {
        // On a thread of the pool, where work is shared without waking anyone.
        if !self.failed
            && let Err(error) = rayon::scope(|_| self.run())
        {
            self.failed = true;
            self.error = Some(error);
        }
        let result = self.queue().next_result();
        result.or_else(|| self.error.take().map(Err))
    }
}

/// Runs all sequences to their ends, up to 64 at once, and gives them back in their order.
///
/// # Errors
///
/// The first that occurs.
pub fn generate_batch(
    decoder: &mut impl Decoder,
    sequences: Vec<Sequence>,
) -> Result<Vec<Sequence>, GenerateError> {
    Batch::new(decoder, sequences.into_iter().map(Ok)).collect()
}

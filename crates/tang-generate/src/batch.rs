//! Many poems at once.

use std::{
    iter,
    sync::{Mutex, PoisonError},
};

use tang_engine::{Decoder, Threads};

use crate::{GenerateError, Sequence, batch_part::BatchPart, queue::Queue};

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
/// decoder comes after all results that are complete in order, and ends the iterator.
pub struct Batch<'a, I> {
    decoder: &'a mut dyn Decoder,
    /// Threads that the decoder has.
    threads: Threads,
    /// Decoders of the other threads.
    forks: Vec<Box<dyn Decoder>>,
    /// One a thread, the first one that of `decoder`.
    parts: Vec<BatchPart>,
    places: usize,
    queue: Mutex<Queue<I>>,
    failed: bool,
    /// Error of a decoder, until it is given.
    error: Option<GenerateError>,
}

impl<'a, I> Batch<'a, I>
where
    I: Iterator<Item = Result<Sequence, GenerateError>> + Send,
{
    /// A batch that has done nothing yet and runs up to 64 sequences at once.
    pub fn new(decoder: &'a mut dyn Decoder, sequences: I) -> Self {
        Self::with_places(decoder, sequences, PLACES)
    }

    /// As [`new`](Self::new), with another number of sequences at once.
    ///
    /// # Panics
    ///
    /// If it is 0.
    pub fn with_places(decoder: &'a mut dyn Decoder, sequences: I, places: usize) -> Self {
        assert!(places > 0, "a batch without places");
        Self {
            threads: decoder.threads(),
            queue: Mutex::new(Queue::new(sequences, decoder.context())),
            decoder,
            forks: Vec::new(),
            parts: Vec::new(),
            places,
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
            let forks = self
                .forks
                .iter_mut()
                .map(|fork| fork.as_mut() as &mut dyn Decoder);
            let decoders = iter::once(&mut *self.decoder).chain(forks);
            let parts = decoders.zip(&mut self.parts);
            let parts: Vec<_> = parts.filter(|(_, part)| part.rows() > 0).collect();
            // All threads share the work of a part that is alone.
            let (threads, steps) = match parts.len() {
                0 => return Ok(()),
                1 => (self.threads, 1),
                _ => (Threads::ONE, STEPS),
            };
            self.threads
                .map(parts, |(decoder, part)| {
                    decoder.set_threads(threads);
                    part.steps(steps, decoder, queue)
                })
                .into_iter()
                .collect::<Result<(), _>>()?;
        }
        Ok(())
    }

    /// Makes a part for each thread that has a decoder, fills the places, and tells the decoders.
    fn begin(&mut self) -> Result<(), GenerateError> {
        let others = self.threads.count().min(self.places) - 1;
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
        let forks = self
            .forks
            .iter_mut()
            .map(|fork| fork.as_mut() as &mut dyn Decoder);
        for decoder in iter::once(&mut *self.decoder).chain(forks) {
            decoder.reserve(rows, tokens.unwrap_or(0))?;
        }
        Ok(())
    }

    fn queue(&mut self) -> &mut Queue<I> {
        let queue = self.queue.get_mut();
        queue.unwrap_or_else(PoisonError::into_inner)
    }
}

impl<I> Iterator for Batch<'_, I>
where
    I: Iterator<Item = Result<Sequence, GenerateError>> + Send,
{
    type Item = Result<Sequence, GenerateError>;

    fn next(&mut self) -> Option<Self::Item> {
        if !self.failed
            && let Err(error) = self.run()
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
    decoder: &mut dyn Decoder,
    sequences: Vec<Sequence>,
) -> Result<Vec<Sequence>, GenerateError> {
    Batch::new(decoder, sequences.into_iter().map(Ok)).collect()
}

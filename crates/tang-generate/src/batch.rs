//! Many poems at once.

use std::{
    iter,
    sync::{Mutex, PoisonError},
};

use rayon::prelude::*;

use crate::{Decoder, GenerateError, Sequence, batch_part::BatchPart, queue::Queue};

/// Sequences that run at once: the caches of so many take 32 MiB with the default model.
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
/// An error of one sequence takes its place among the results, and the others go on; after an error
/// of a decoder there is nothing more.
pub struct Batch<'a, D, I> {
    decoder: &'a mut D,
    /// Of the other threads.
    forks: Vec<D>,
    /// One a thread, the first one that of `decoder`.
    parts: Vec<BatchPart>,
    places: usize,
    queue: Mutex<Queue<I>>,
    begun: bool,
    failed: bool,
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
            begun: false,
            failed: false,
        }
    }

    /// Tokens of prompts that stood in their places already and did not go through the model again.
    pub fn reused_tokens(&self) -> usize {
        self.parts.iter().map(BatchPart::reused_tokens).sum()
    }

    /// Runs until the next result is there, or no sequence is left.
    fn run(&mut self) -> Result<(), GenerateError> {
        if !self.begun {
            self.begun = true;
            self.begin();
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

    /// Fills the places, in each part as many as in the others.
    fn begin(&mut self) {
        let threads = rayon::current_num_threads();
        for place in 0..self.places {
            let Some((number, sequence)) = self.queue().next_sequence() else {
                break;
            };
            if place < threads && (place == 0 || self.fork()) {
                self.parts.push(BatchPart::default());
            }
            let parts = self.parts.len();
            self.parts[place % parts].add(number, sequence);
        }
    }

    /// Makes a decoder for another thread; false if there is none.
    fn fork(&mut self) -> bool {
        let fork = self.decoder.fork();
        let is_made = fork.is_some();
        self.forks.extend(fork);
        is_made
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
        if self.failed {
            return None;
        }
        // On a thread of the pool, where work is shared without waking anyone.
        if let Err(error) = rayon::scope(|_| self.run()) {
            self.failed = true;
            return Some(Err(error));
        }
        self.queue().next_result()
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

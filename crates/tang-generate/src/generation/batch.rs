//! Many poems at once.

use std::sync::{Mutex, PoisonError};

use tang_engine::{Decoder, Threads};

use super::{
    batch_part::{BatchPart, PartDecoder},
    queue::Queue,
};
use crate::{GenerateError, Sequence};

/// Sequences that run at once: the caches of this many poems take at most 32 MiB with the default model.
const PLACES: usize = 64;

/// Count of steps after which the threads wait for each other: few enough that no result waits
/// long.
const STEPS: usize = 32;

/// An iterator over finished sequences, in the order in which they were given, that runs many of them together. Each
/// gives the tokens that it would give alone.
///
/// The batch is kept full (Yu et al., *Orca*, 2022): when a sequence ends, the next one takes its
/// place at the following step. Its prompt goes through the model token by token beside the others,
/// without the tokens that it shares with the sequence that was there before.
///
/// Each thread has a part of the places, with a decoder of its own.
///
/// An error of one sequence is its result, and the others go on. An error of a decoder comes after
/// all results before the first incomplete one, and ends the iterator.
pub struct Batch<'a> {
    /// Threads that the decoder has.
    threads: Threads,
    /// One per thread that has a decoder, the caller's first.
    parts: Vec<BatchPart<'a>>,
    places: usize,
    has_begun: bool,
    queue: Mutex<Queue<'a>>,
    /// Error of a decoder, until it is given.
    error: Option<GenerateError>,
}

impl<'a> Batch<'a> {
    /// A batch that has done nothing yet and runs up to 64 sequences at once.
    pub fn new(
        decoder: &'a mut dyn Decoder,
        sequences: impl Iterator<Item = Result<Sequence, GenerateError>> + Send + 'a,
    ) -> Self {
        Self::with_places(decoder, sequences, PLACES)
    }

    /// As [`new`](Self::new), with another number of sequences at once.
    ///
    /// # Panics
    ///
    /// If it is 0.
    pub fn with_places(
        decoder: &'a mut dyn Decoder,
        sequences: impl Iterator<Item = Result<Sequence, GenerateError>> + Send + 'a,
        places: usize,
    ) -> Self {
        assert!(places > 0, "a batch without places");
        let (threads, context) = (decoder.threads(), decoder.context());
        let forks = (1..threads.count().min(places)).map_while(|_| decoder.fork());
        let forks: Vec<_> = forks.map(PartDecoder::Own).collect();
        let decoders = std::iter::once(PartDecoder::Lent(decoder)).chain(forks);
        let parts = decoders.enumerate().map(|(index, decoder)| BatchPart::new(index, decoder));
        let parts: Vec<_> = parts.collect();
        Self {
            threads,
            queue: Mutex::new(Queue::new(Box::new(sequences.fuse()), context, parts.len())),
            parts,
            places,
            has_begun: false,
            error: None,
        }
    }

    /// Count of tokens of prompts that were in the cache already and did not go through the model again.
    pub fn reused_tokens(&self) -> usize {
        self.parts.iter().map(BatchPart::reused_tokens).sum()
    }

    /// Runs until the next result is there, or no sequence is left.
    fn run(&mut self) -> Result<(), GenerateError> {
        if !self.has_begun {
            self.has_begun = true;
            self.begin()?;
        }
        while !self.queue().has_result() {
            let parts = self.parts.iter_mut();
            let parts: Vec<_> = parts.filter(|part| !part.sequences().is_empty()).collect();
            // A single part uses all threads.
            let (threads, steps) = match parts.len() {
                0 => return Ok(()),
                1 => (self.threads, 1),
                _ => (Threads::ONE, STEPS),
            };
            let queue = &self.queue;
            let done = self.threads.map(parts, |part| part.steps(steps, threads, queue));
            done.into_iter().collect::<Result<(), _>>()?;
        }
        Ok(())
    }

    /// Fills the places, and announces the sequences to the decoders.
    fn begin(&mut self) -> Result<(), GenerateError> {
        let parts = self.parts.len();
        let mut rows = 0;
        while rows < self.places
            && let Some((number, sequence)) = self.queue().next_sequence(rows % parts)
        {
            self.parts[rows % parts].add(number, sequence);
            rows += 1;
        }
        let sequences = self.parts.iter().flat_map(BatchPart::sequences);
        let tokens = sequences.map(Sequence::most_tokens).max().unwrap_or(0);
        for part in &mut self.parts {
            part.decoder.get().reserve(rows, tokens)?;
        }
        Ok(())
    }

    fn queue(&mut self) -> &mut Queue<'a> {
        let queue = self.queue.get_mut();
        queue.unwrap_or_else(PoisonError::into_inner)
    }
}

impl Iterator for Batch<'_> {
    type Item = Result<Sequence, GenerateError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Err(error) = self.run() {
            self.parts.clear();
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

//! The sequences of a batch that one thread runs.

use std::{
    mem,
    sync::{Mutex, PoisonError},
};

use tang_engine::{Decoder, Threads, shared_tokens};

use super::{queue::Queue, rows::Rows};
use crate::{GenerateError, Sequence};

/// Sequences that go through the model together, with their decoder. Only one thread uses a part.
pub(super) struct BatchPart<'a> {
    /// Index of the part in its batch.
    index: usize,
    pub(super) decoder: PartDecoder<'a>,
    rows: Rows,
    /// The number of each sequence.
    numbers: Vec<usize>,
    reused: usize,
}

/// The decoder of a part: that of the caller, or a fork of it.
pub(super) enum PartDecoder<'a> {
    Lent(&'a mut dyn Decoder),
    Own(Box<dyn Decoder>),
}

impl PartDecoder<'_> {
    pub(super) fn get(&mut self) -> &mut dyn Decoder {
        match self {
            Self::Lent(decoder) => &mut **decoder,
            Self::Own(decoder) => &mut **decoder,
        }
    }
}

impl<'a> BatchPart<'a> {
    /// A part without sequences.
    pub(super) fn new(index: usize, decoder: PartDecoder<'a>) -> Self {
        Self { index, decoder, rows: Rows::new(Vec::new()), numbers: Vec::new(), reused: 0 }
    }

    /// Adds a sequence, before the first step only.
    pub(super) fn add(&mut self, number: usize, sequence: Sequence) {
        self.numbers.push(number);
        self.rows.sequences.push(sequence);
    }

    /// The sequences that run, one per row of the decoder.
    pub(super) fn sequences(&self) -> &[Sequence] {
        &self.rows.sequences
    }

    /// Count of tokens of prompts that were in the cache already.
    pub(super) fn reused_tokens(&self) -> usize {
        self.reused
    }

    /// Does up to this many steps on these threads.
    ///
    /// # Errors
    ///
    /// Those of [`Decoder::append`].
    pub(super) fn steps(
        &mut self,
        steps: usize,
        threads: Threads,
        queue: &Mutex<Queue>,
    ) -> Result<(), GenerateError> {
        self.decoder.get().set_threads(threads);
        (0..steps).try_for_each(|_| self.step(queue))
    }

    /// Sends tokens through the model, chooses a token for each sequence whose prompt went through, and lets others
    /// take the rows of those that end.
    fn step(&mut self, queue: &Mutex<Queue>) -> Result<(), GenerateError> {
        if self.numbers.is_empty() {
            return Ok(());
        }
        let decoder = self.decoder.get();
        let logits = self.rows.forward(decoder)?;
        let mut lengths = decoder.lengths();
        // The rows of the decoder that go on.
        let mut rows: Vec<usize> = (0..lengths.len()).collect();
        let mut joined = false;
        // In reverse order, so that the last row, which takes the place of one that ended, is one
        // that goes on.
        for row in (0..rows.len()).rev() {
            let sequence = &mut self.rows.sequences[row];
            if lengths[row] < sequence.tokens().len() {
                continue;
            }
            let step = sequence.advance(logits.row(row));
            if step.is_ok() && sequence.finish_reason().is_none() {
                continue;
            }
            // After a panic in another thread the whole batch ends.
            let mut queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
            let (number, ended) = if let Some((number, next)) = queue.next_sequence(self.index) {
                joined = true;
                lengths[row] = shared_tokens(next.tokens(), &sequence.tokens()[..lengths[row]]);
                self.reused += lengths[row];
                let ended = mem::replace(sequence, next);
                (mem::replace(&mut self.numbers[row], number), ended)
            } else {
                rows.swap_remove(row);
                lengths.swap_remove(row);
                let ended = self.rows.sequences.swap_remove(row);
                (self.numbers.swap_remove(row), ended)
            };
            queue.put(number, step.map(|_| ended));
        }
        if rows.is_empty() {
            return Ok(());
        }
        if rows.len() < logits.rows().len() {
            decoder.select(&rows);
        }
        if joined {
            decoder.truncate(&lengths);
        }
        Ok(())
    }
}

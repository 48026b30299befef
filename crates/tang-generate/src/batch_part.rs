//! The sequences of a batch that one thread has.

use std::{
    mem,
    sync::{Mutex, PoisonError},
};

use tang_engine::{Decoder, shared_tokens};

use crate::{GenerateError, Sequence, queue::Queue, rows::Rows};

/// Sequences that go through the model together, with all that happens to them: no other thread has
/// anything to do with it.
pub(crate) struct BatchPart {
    /// Index of the part in its batch.
    index: usize,
    rows: Rows,
    /// The number of each sequence.
    numbers: Vec<usize>,
    reused: usize,
}

impl BatchPart {
    /// A part without sequences.
    pub(crate) fn new(index: usize) -> Self {
        Self {
            index,
            rows: Rows::new(Vec::new()),
            numbers: Vec::new(),
            reused: 0,
        }
    }

    /// Adds a sequence, before the first step only.
    pub(crate) fn add(&mut self, number: usize, sequence: Sequence) {
        self.numbers.push(number);
        self.rows.sequences.push(sequence);
    }

    /// Count of sequences that run.
    pub(crate) fn rows(&self) -> usize {
        self.numbers.len()
    }

    /// Most tokens that go through the model for any of them.
    pub(crate) fn most_tokens(&self) -> usize {
        let each = self.rows.sequences.iter().map(Sequence::most_tokens);
        each.max().unwrap_or(0)
    }

    /// Count of tokens of prompts that were in the cache already.
    pub(crate) fn reused_tokens(&self) -> usize {
        self.reused
    }

    /// Does up to this many steps.
    ///
    /// # Errors
    ///
    /// Those of [`Decoder::append`].
    pub(crate) fn steps<I>(
        &mut self,
        steps: usize,
        decoder: &mut dyn Decoder,
        queue: &Mutex<Queue<I>>,
    ) -> Result<(), GenerateError>
    where
        I: Iterator<Item = Result<Sequence, GenerateError>>,
    {
        (0..steps).try_for_each(|_| self.step(decoder, queue))
    }

    /// Sends tokens through the model, chooses a token for each sequence whose prompt went through, and lets others
    /// take the rows of those that end.
    fn step<I>(
        &mut self,
        decoder: &mut dyn Decoder,
        queue: &Mutex<Queue<I>>,
    ) -> Result<(), GenerateError>
    where
        I: Iterator<Item = Result<Sequence, GenerateError>>,
    {
        if self.rows() == 0 {
            return Ok(());
        }
        let logits = self.rows.forward(decoder)?;
        let mut lengths = decoder.lengths();
        // The rows of the decoder that go on.
        let mut rows: Vec<usize> = (0..self.rows()).collect();
        let mut joined = false;
        // From the last one on, so that a row that moves to a free place is one that goes on.
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

//! The sequences of a batch that one thread has.

use std::{
    mem,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tang_engine::{Decoder, Logits};
use tang_tokenizer::TokenId;

use crate::{GenerateError, Sequence, Step, queue::Queue};

/// Sequences that go through the model together, with all that happens to them: no other thread has
/// anything to do with it.
pub(crate) struct BatchPart {
    /// Which part of the batch.
    index: usize,
    /// One a row of the decoder.
    running: Vec<Running>,
    logits: Option<Logits>,
    reused: usize,
}

struct Running {
    number: usize,
    sequence: Sequence,
    /// Tokens that went through the model, or stand there from before. After each pass it is the length of
    /// the decoder's row.
    held: usize,
}

impl BatchPart {
    /// A part without sequences.
    pub(crate) fn new(index: usize) -> Self {
        Self {
            index,
            running: Vec::new(),
            logits: None,
            reused: 0,
        }
    }

    /// Adds a sequence, before the first step only.
    pub(crate) fn add(&mut self, number: usize, sequence: Sequence) {
        self.running.push(Running {
            number,
            held: sequence.tokens().len(),
            sequence,
        });
    }

    /// Sequences that run.
    pub(crate) fn rows(&self) -> usize {
        self.running.len()
    }

    /// Tokens that go through the model for any of them, at the most.
    pub(crate) fn most_tokens(&self) -> usize {
        let each = self.running.iter();
        let each = each.map(|running| running.sequence.most_tokens());
        each.max().unwrap_or(0)
    }

    /// Whether all have ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.running.is_empty()
    }

    /// Tokens of prompts that stood in their places already.
    pub(crate) fn reused_tokens(&self) -> usize {
        self.reused
    }

    /// Does up to this many steps.
    ///
    /// # Errors
    ///
    /// That of the decoder.
    pub(crate) fn steps<I>(
        &mut self,
        steps: usize,
        decoder: &mut dyn Decoder,
        queue: &Mutex<Queue<I>>,
    ) -> Result<(), GenerateError>
    where
        I: Iterator<Item = Result<Sequence, GenerateError>> + Send,
    {
        (0..steps).try_for_each(|_| self.step(decoder, queue))
    }

    /// Prefills all prompts, or chooses a token for each sequence, lets others take the places of those
    /// that end, and sends one token of each through the model. Nothing, if all have ended.
    pub(crate) fn step<I>(
        &mut self,
        decoder: &mut dyn Decoder,
        queue: &Mutex<Queue<I>>,
    ) -> Result<(), GenerateError>
    where
        I: Iterator<Item = Result<Sequence, GenerateError>>,
    {
        if self.running.is_empty() {
            return Ok(());
        }
        let Some(logits) = self.logits.take() else {
            let prompts: Vec<_> = self.running.iter().map(|r| r.sequence.tokens()).collect();
            self.logits = Some(decoder.prefill(&prompts)?);
            return Ok(());
        };
        let rows = self.running.iter_mut().zip(logits.rows());
        let steps: Vec<_> = rows.map(|(row, logits)| row.advance(logits)).collect();
        // The row of the decoder that each running sequence has.
        let mut rows: Vec<usize> = (0..self.running.len()).collect();
        let mut joined = false;
        // From behind, so that a row that moves to a free place is one that goes on.
        for (row, step) in steps.into_iter().enumerate().rev() {
            let failed = match step {
                Some(Err(error)) => Some(error),
                _ if self.running[row].sequence.finish_reason().is_some() => None,
                _ => continue,
            };
            let mut queue = lock(queue);
            let ended = match queue.next_sequence(self.index) {
                Some((number, sequence)) => {
                    joined = true;
                    let running = Running {
                        number,
                        held: sequence.shared_with(self.running[row].held_tokens()),
                        sequence,
                    };
                    self.reused += running.held;
                    mem::replace(&mut self.running[row], running)
                }
                None => {
                    rows.swap_remove(row);
                    self.running.swap_remove(row)
                }
            };
            queue.put(ended.number, failed.map_or(Ok(ended.sequence), Err));
        }
        if self.running.is_empty() {
            return Ok(());
        }
        if rows.len() < logits.rows().len() {
            decoder.select(&rows);
        }
        if joined {
            let held: Vec<usize> = self.running.iter().map(|running| running.held).collect();
            decoder.truncate(&held);
        }
        let next = |running: &mut Running| {
            running.held += 1;
            running.sequence.tokens()[running.held - 1]
        };
        let tokens: Vec<TokenId> = self.running.iter_mut().map(next).collect();
        self.logits = Some(decoder.decode(&tokens)?);
        Ok(())
    }
}

impl Running {
    fn held_tokens(&self) -> &[TokenId] {
        &self.sequence.tokens()[..self.held]
    }

    /// Chooses the next token, unless the prompt is still on its way.
    fn advance(&mut self, logits: &[f32]) -> Option<Result<Step, GenerateError>> {
        (self.held == self.sequence.tokens().len()).then(|| self.sequence.advance(logits))
    }
}

/// A panic with the lock held takes the whole batch with it.
fn lock<I>(queue: &Mutex<Queue<I>>) -> MutexGuard<'_, Queue<I>> {
    queue.lock().unwrap_or_else(PoisonError::into_inner)
}

//! Many poems at once.

use std::{collections::BTreeMap, iter::Fuse, mem};

use rayon::prelude::*;
use tang_tokenizer::TokenId;

use crate::{Decoder, GenerateError, Logits, Sequence, Step};

/// Sequences that run at once: the caches of so many take 32 MiB with the default model.
const PLACES: usize = 64;

/// Rows from which the tokens of a step are chosen on several threads. Fewer go through the model
/// with a second thread that waits awake, and a third would only be in its way.
const WORTH_THREADS: usize = 9;

/// An iterator over finished sequences, in the order in which they were given, that runs many of
/// them together. Each gives the tokens that it would give alone.
///
/// The batch is kept full (Yu et al., *Orca*, 2022): where one ends, the next that waits takes its
/// place at the following step. It sends its prompt through the model token by token beside the
/// others; of what the prompt has in common with the sequence that was there before, nothing again.
///
/// An error of one sequence takes its place among the results, and the others go on; after an error
/// of the decoder there is nothing more.
pub struct Batch<'a, D, I> {
    decoder: &'a mut D,
    waiting: Fuse<I>,
    places: usize,
    /// Sequences that began, or failed to.
    taken: usize,
    /// One a row of the decoder.
    running: Vec<Running>,
    logits: Option<Logits>,
    /// Results whose turn has not come, by the number of their sequence.
    results: BTreeMap<usize, Result<Sequence, GenerateError>>,
    given: usize,
    reused: usize,
    failed: bool,
}

struct Running {
    number: usize,
    sequence: Sequence,
    /// Tokens that went through the model, or stand there from before.
    held: usize,
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
            waiting: sequences.fuse(),
            places,
            taken: 0,
            running: Vec::new(),
            logits: None,
            results: BTreeMap::new(),
            given: 0,
            reused: 0,
            failed: false,
        }
    }

    /// Tokens of prompts that stood in their places already and did not go through the model again.
    pub fn reused_tokens(&self) -> usize {
        self.reused
    }

    /// Runs until the next result is there, or no sequence is left.
    fn run(&mut self) -> Result<(), GenerateError> {
        while !self.results.contains_key(&self.given) {
            match self.logits.take() {
                None => self.begin()?,
                Some(logits) => self.step(&logits)?,
            }
            if self.running.is_empty() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Fills the places and prefills all prompts.
    fn begin(&mut self) -> Result<(), GenerateError> {
        while self.running.len() < self.places
            && let Some((number, sequence)) = self.next_sequence()
        {
            self.running.push(Running {
                number,
                held: sequence.tokens().len(),
                sequence,
            });
        }
        if !self.running.is_empty() {
            let prompts: Vec<_> = self.running.iter().map(|r| r.sequence.tokens()).collect();
            self.logits = Some(self.decoder.prefill(&prompts)?);
        }
        Ok(())
    }

    /// Chooses a token for each sequence, lets others take the places of those that end, and sends one
    /// token of each through the model.
    fn step(&mut self, logits: &Logits) -> Result<(), GenerateError> {
        let steps = advance(&mut self.running, logits);
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
            let ended = match self.next_sequence() {
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
            let result = failed.map_or(Ok(ended.sequence), Err);
            self.results.insert(ended.number, result);
        }
        if self.running.is_empty() {
            return Ok(());
        }
        if rows.len() < logits.rows().len() {
            self.decoder.select(&rows);
        }
        if joined {
            let held: Vec<usize> = self.running.iter().map(|running| running.held).collect();
            self.decoder.truncate(&held);
        }
        let next = |running: &mut Running| {
            running.held += 1;
            running.sequence.tokens()[running.held - 1]
        };
        let tokens: Vec<TokenId> = self.running.iter_mut().map(next).collect();
        self.logits = Some(self.decoder.decode(&tokens)?);
        Ok(())
    }

    /// The next sequence that can begin, with its number; those that cannot are results at once.
    fn next_sequence(&mut self) -> Option<(usize, Sequence)> {
        loop {
            let number = self.taken;
            let sequence = self.waiting.next()?;
            self.taken += 1;
            match sequence.and_then(Sequence::if_it_fits) {
                Ok(sequence) => return Some((number, sequence)),
                Err(error) => {
                    self.results.insert(number, Err(error));
                }
            }
        }
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
        let result = self.results.remove(&self.given)?;
        self.given += 1;
        Some(result)
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

/// Chooses the next token of each sequence, one row of logits each.
fn advance(running: &mut [Running], logits: &Logits) -> Vec<Option<Result<Step, GenerateError>>> {
    let rows: Vec<(&mut Running, &[f32])> = running.iter_mut().zip(logits.rows()).collect();
    let step = |(running, logits): (&mut Running, &[f32])| running.advance(logits);
    match rows.len() < WORTH_THREADS {
        true => rows.into_iter().map(step).collect(),
        false => rows.into_par_iter().map(step).collect(),
    }
}

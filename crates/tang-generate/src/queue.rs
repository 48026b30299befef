//! What waits before a batch and behind it.

use std::{collections::BTreeMap, iter::Fuse};

use crate::{GenerateError, Sequence};

/// Sequences that wait for a place in a batch, and results that wait for their turn.
pub(crate) struct Queue<I> {
    waiting: Fuse<I>,
    /// Sequences that began, or failed to.
    taken: usize,
    /// By the number of their sequence.
    results: BTreeMap<usize, Result<Sequence, GenerateError>>,
    given: usize,
}

impl<I: Iterator<Item = Result<Sequence, GenerateError>>> Queue<I> {
    pub(crate) fn new(sequences: I) -> Self {
        Self {
            waiting: sequences.fuse(),
            taken: 0,
            results: BTreeMap::new(),
            given: 0,
        }
    }

    /// The next sequence that can begin, with its number; those that cannot are results at once.
    pub(crate) fn next_sequence(&mut self) -> Option<(usize, Sequence)> {
        loop {
            let number = self.taken;
            let sequence = self.waiting.next()?;
            self.taken += 1;
            match sequence.and_then(Sequence::if_it_fits) {
                Ok(sequence) => return Some((number, sequence)),
                Err(error) => self.put(number, Err(error)),
            }
        }
    }

    /// Takes the result of a sequence.
    pub(crate) fn put(&mut self, number: usize, result: Result<Sequence, GenerateError>) {
        self.results.insert(number, result);
    }

    /// Whether the next result in order is there.
    pub(crate) fn has_result(&self) -> bool {
        self.results.contains_key(&self.given)
    }

    /// The next result in order, if it is there.
    pub(crate) fn next_result(&mut self) -> Option<Result<Sequence, GenerateError>> {
        let result = self.results.remove(&self.given)?;
        self.given += 1;
        Some(result)
    }
}

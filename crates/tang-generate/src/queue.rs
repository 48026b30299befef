//! What waits before a batch and behind it.

use std::{
    collections::{BTreeMap, VecDeque},
    iter::Fuse,
};

use crate::{GenerateError, Sequence};

/// Sequences that wait for a place in a batch, and results that wait for their turn.
pub(crate) struct Queue<I> {
    waiting: Fuse<I>,
    /// Positions of the decoder.
    context: usize,
    /// Sequences that were asked for, those that failed at once included.
    taken: usize,
    /// What each part of the batch will take next, with its number. Sequences go to the parts in turn: so
    /// what a part has to do depends on no clock.
    of_parts: Vec<VecDeque<(usize, Sequence)>>,
    /// The part whose turn it is.
    turn: usize,
    /// By the number of their sequence.
    results: BTreeMap<usize, Result<Sequence, GenerateError>>,
    given: usize,
}

impl<I: Iterator<Item = Result<Sequence, GenerateError>>> Queue<I> {
    /// A queue for a batch of one part.
    pub(crate) fn new(sequences: I, context: usize) -> Self {
        Self {
            waiting: sequences.fuse(),
            context,
            taken: 0,
            of_parts: vec![VecDeque::new()],
            turn: 0,
            results: BTreeMap::new(),
            given: 0,
        }
    }

    /// Serves so many parts, or fewer if there are not as many sequences, and says how many.
    pub(crate) fn cut(&mut self, parts: usize) -> usize {
        let mut first = Vec::new();
        while first.len() < parts
            && let Some(next) = self.take()
        {
            first.push(next);
        }
        if !first.is_empty() {
            self.of_parts = first.into_iter().map(|next| [next].into()).collect();
        }
        self.of_parts.len()
    }

    /// The next sequence of a part, with its number; those that cannot begin are results at once.
    pub(crate) fn next_sequence(&mut self, part: usize) -> Option<(usize, Sequence)> {
        while self.of_parts[part].is_empty() {
            let next = self.take()?;
            self.of_parts[self.turn].push_back(next);
            self.turn = (self.turn + 1) % self.of_parts.len();
        }
        self.of_parts[part].pop_front()
    }

    fn take(&mut self) -> Option<(usize, Sequence)> {
        loop {
            let number = self.taken;
            let sequence = self.waiting.next()?;
            self.taken += 1;
            let begun = sequence.and_then(|mut sequence| {
                sequence.begin(self.context)?;
                Ok(sequence)
            });
            match begun {
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

//! The sequences that wait for a batch, and its results.

use std::collections::{BTreeMap, VecDeque};

use crate::{GenerateError, Sequence};

/// The waiting sequences; after its end, the iterator always gives `None`.
pub(super) type Waiting<'a> = Box<dyn Iterator<Item = Result<Sequence, GenerateError>> + Send + 'a>;

/// Sequences that wait for a place in a batch, and results that wait for their turn.
pub(super) struct Queue<'a> {
    /// Sequences that no part has asked for yet.
    waiting: Waiting<'a>,
    /// Positions of the decoder.
    context: usize,
    /// Count of sequences that were asked for, those that failed at once included.
    taken: usize,
    /// The next sequences of each part of the batch, with their numbers. Sequences go to the parts
    /// in turn, so the work of a part does not depend on timing.
    parts: Vec<VecDeque<(usize, Sequence)>>,
    /// The part that gets the next sequence.
    turn: usize,
    /// Results that were not given yet, by the number of their sequence.
    results: BTreeMap<usize, Result<Sequence, GenerateError>>,
    /// Count of results that were given.
    given: usize,
}

impl<'a> Queue<'a> {
    /// A queue for a batch of `parts` parts.
    pub(super) fn new(waiting: Waiting<'a>, context: usize, parts: usize) -> Self {
        Self {
            waiting,
            context,
            taken: 0,
            parts: vec![VecDeque::new(); parts],
            turn: 0,
            results: BTreeMap::new(),
            given: 0,
        }
    }

    /// The next sequence of a part, with its number; the error of a sequence that cannot begin
    /// becomes its result.
    pub(super) fn next_sequence(&mut self, part: usize) -> Option<(usize, Sequence)> {
        while self.parts[part].is_empty() {
            let sequence = self.waiting.next()?;
            let number = self.taken;
            self.taken += 1;
            let begun = sequence.and_then(|mut sequence| {
                sequence.begin(self.context)?;
                Ok(sequence)
            });
            match begun {
                Ok(sequence) => {
                    self.parts[self.turn].push_back((number, sequence));
                    self.turn = (self.turn + 1) % self.parts.len();
                }
                Err(error) => self.put(number, Err(error)),
            }
        }
        self.parts[part].pop_front()
    }

    /// Takes the result of a sequence.
    pub(super) fn put(&mut self, number: usize, result: Result<Sequence, GenerateError>) {
        self.results.insert(number, result);
    }

    /// Whether the next result in order is there.
    pub(super) fn has_result(&self) -> bool {
        self.results.contains_key(&self.given)
    }

    /// The next result in order, if it is there.
    pub(super) fn next_result(&mut self) -> Option<Result<Sequence, GenerateError>> {
        let result = self.results.remove(&self.given)?;
        self.given += 1;
        Some(result)
    }
}

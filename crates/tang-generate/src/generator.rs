//! One poem, token by token.

use tang_engine::Decoder;

use crate::{GenerateError, GenerationConfig, Sequence, Step, Task};

/// An iterator over the steps of one generation: the one-row view of a decoder.
///
/// The first step prefills the prompt; each further one decodes the token before it. It ends when
/// the sequence has a finish reason, or after an error.
pub struct Generator<'a> {
    decoder: &'a mut dyn Decoder,
    sequence: Sequence,
    failed: bool,
}

impl<'a> Generator<'a> {
    /// A generator that has done nothing yet. `context` is the model's.
    ///
    /// # Errors
    ///
    /// If a setting has an impossible value.
    pub fn new(
        decoder: &'a mut dyn Decoder,
        task: Task,
        config: &GenerationConfig,
        context: usize,
    ) -> Result<Self, GenerateError> {
        Ok(Self {
            decoder,
            sequence: Sequence::new(task, config, context)?,
            failed: false,
        })
    }

    /// The sequence as far as it is.
    pub fn sequence(&self) -> &Sequence {
        &self.sequence
    }

    /// Runs to the end and gives the sequence.
    ///
    /// # Errors
    ///
    /// Those of a step.
    pub fn finish(mut self) -> Result<Sequence, GenerateError> {
        self.try_for_each(|step| step.map(|_| ()))?;
        Ok(self.sequence)
    }

    fn step(&mut self) -> Result<Step, GenerateError> {
        let logits = self.sequence.next_logits(self.decoder)?;
        self.sequence.advance(logits.row(0))
    }
}

impl Iterator for Generator<'_> {
    type Item = Result<Step, GenerateError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed || self.sequence.finish_reason().is_some() {
            return None;
        }
        let step = self.step();
        self.failed = step.is_err();
        Some(step)
    }
}

//! One poem, token by token.

use tang_engine::{Decoder, Logits};

use super::rows::Rows;
use crate::{GenerateError, GenerationConfig, Sequence, Step, Task};

/// An iterator over the steps of one generation.
///
/// The first step prefills the prompt; each further one decodes the token before it. The iterator ends when the
/// sequence has a finish reason, or after an error.
pub struct Generator<'a> {
    decoder: &'a mut dyn Decoder,
    /// The only sequence.
    rows: Rows,
    /// Logits for the next step, if they were asked for before it.
    logits: Option<Logits>,
    failed: bool,
}

impl<'a> Generator<'a> {
    /// A generator that has done nothing yet.
    ///
    /// # Errors
    ///
    /// [`GenerateError::Setting`] if a setting has an impossible value.
    pub fn new(
        decoder: &'a mut dyn Decoder,
        task: Task,
        config: &GenerationConfig,
    ) -> Result<Self, GenerateError> {
        Ok(Self {
            decoder,
            rows: Rows::new(vec![Sequence::new(task, config)?]),
            logits: None,
            failed: false,
        })
    }

    /// The sequence so far.
    pub fn sequence(&self) -> &Sequence {
        &self.rows.sequences[0]
    }

    /// The logits that the next step chooses by.
    ///
    /// # Errors
    ///
    /// [`GenerateError::TooLong`] if the context has no room for the lines of the task; those of [`Decoder::reserve`]
    /// and [`Decoder::append`].
    pub fn logits(&mut self) -> Result<&[f32], GenerateError> {
        let logits = self.take_logits()?;
        Ok(self.logits.insert(logits).row(0))
    }

    /// Runs to the end and gives the sequence.
    ///
    /// # Errors
    ///
    /// Those of [`logits`](Self::logits), and [`GenerateError::NothingAllowed`].
    pub fn finish(mut self) -> Result<Sequence, GenerateError> {
        self.try_for_each(|step| step.map(|_| ()))?;
        Ok(self.rows.sequences.swap_remove(0))
    }

    fn take_logits(&mut self) -> Result<Logits, GenerateError> {
        if let Some(logits) = self.logits.take() {
            return Ok(logits);
        }
        let sequence = &mut self.rows.sequences[0];
        if sequence.generated().is_empty() {
            sequence.begin(self.decoder.context())?;
            self.decoder.reserve(1, sequence.most_tokens())?;
        }
        Ok(self.rows.forward(self.decoder)?)
    }

    fn step(&mut self) -> Result<Step, GenerateError> {
        let logits = self.take_logits()?;
        self.rows.sequences[0].advance(logits.row(0))
    }
}

impl Iterator for Generator<'_> {
    type Item = Result<Step, GenerateError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed || self.sequence().finish_reason().is_some() {
            return None;
        }
        let step = self.step();
        self.failed = step.is_err();
        Some(step)
    }
}

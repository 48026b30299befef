//! Decoding without a model: for examples and tests.

use tang_kernels::Threads;
use tang_tokenizer::TokenId;

use crate::{Decoder, EngineError, Logits};

/// A decoder whose logits are a function of the tokens so far.
#[derive(Debug, Clone)]
pub struct ScriptedDecoder<F> {
    context: usize,
    script: F,
    rows: Vec<Vec<TokenId>>,
    forwarded: usize,
}

impl<F: Fn(&[TokenId]) -> Vec<f32>> ScriptedDecoder<F> {
    /// A decoder without sequences. `script` gives one logit per token of the vocabulary.
    pub fn new(context: usize, script: F) -> Self {
        Self { context, script, rows: Vec::new(), forwarded: 0 }
    }

    /// Adds tokens to a row and gives the logits after it.
    fn extend(&mut self, row: usize, tokens: &[TokenId]) -> Result<Vec<f32>, EngineError> {
        let (length, context) = (self.rows[row].len() + tokens.len(), self.context);
        if length > context {
            return Err(EngineError::TextTooLong { length, context });
        }
        self.rows[row].extend_from_slice(tokens);
        self.forwarded += tokens.len();
        Ok((self.script)(&self.rows[row]))
    }
}

impl<F: Fn(&[TokenId]) -> Vec<f32> + Clone + Send + 'static> Decoder for ScriptedDecoder<F> {
    fn context(&self) -> usize {
        self.context
    }

    fn start(&mut self, rows: usize) {
        self.rows = vec![Vec::new(); rows];
    }

    fn lengths(&self) -> Vec<usize> {
        self.rows.iter().map(Vec::len).collect()
    }

    fn append(&mut self, rows: &[&[TokenId]]) -> Result<Logits, EngineError> {
        let logits = rows.iter().enumerate().map(|(row, tokens)| self.extend(row, tokens));
        let logits = logits.collect::<Result<Vec<_>, _>>()?;
        Ok(Logits::new(logits.concat(), logits[0].len()))
    }

    fn position_logits(&mut self, tokens: &[TokenId]) -> Result<Logits, EngineError> {
        let logits = tokens.iter().map(|token| self.extend(0, &[*token]));
        let logits = logits.collect::<Result<Vec<_>, _>>()?;
        Ok(Logits::new(logits.concat(), logits[0].len()))
    }

    fn select(&mut self, rows: &[usize]) {
        self.rows = rows.iter().map(|row| self.rows[*row].clone()).collect();
    }

    fn truncate(&mut self, lengths: &[usize]) {
        for (row, length) in self.rows.iter_mut().zip(lengths) {
            row.truncate(*length);
        }
    }

    fn fork(&self) -> Option<Box<dyn Decoder>> {
        Some(Box::new(Self::new(self.context, self.script.clone())))
    }

    fn forwarded_tokens(&self) -> usize {
        self.forwarded
    }

    fn threads(&self) -> Threads {
        Threads::ONE
    }

    fn set_threads(&mut self, _: Threads) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logits_follow_the_tokens_of_each_row() {
        let sum = |tokens: &[TokenId]| vec![tokens.iter().sum::<TokenId>() as f32, 0.5];
        let mut decoder = ScriptedDecoder::new(4, sum);
        let logits = decoder.prefill(&[&[1, 2], &[7]]).unwrap();
        assert_eq!((logits.row(0), logits.row(1)), (&[3.0, 0.5][..], &[7.0, 0.5][..]));
        decoder.select(&[1, 1, 0]);
        decoder.truncate(&[1, 0, 2]);
        assert_eq!(decoder.lengths(), [1, 0, 2]);
        let logits = decoder.decode(&[5, 6, 4]).unwrap();
        let sums: Vec<f32> = logits.rows().map(|row| row[0]).collect();
        assert_eq!((sums, decoder.forwarded_tokens()), (vec![12.0, 6.0, 7.0], 6));
        decoder.start(1);
        let logits = decoder.position_logits(&[1, 1, 1]).unwrap();
        assert_eq!(logits.rows().map(|row| row[0]).collect::<Vec<_>>(), [1.0, 2.0, 3.0]);
        let error = decoder.append(&[&[1, 1]]).unwrap_err();
        assert_eq!(
            error.to_string(),
            EngineError::TextTooLong { length: 5, context: 4 }.to_string()
        );
    }
}

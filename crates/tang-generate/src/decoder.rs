//! What stands between a model and the loop that generates.

use burn::tensor::{Int, Tensor, TensorData};
use rayon::prelude::*;
use tang_model::{ModelError, Transformer};
use tang_tokenizer::TokenId;

use crate::Logits;

/// Logits from which several threads look at them.
const WORTH_THREADS: usize = 1 << 16;

/// A batch of sequences that grow by one token a step.
///
/// The two implementations give the same logits: [`CachedDecoder`](crate::CachedDecoder) sends
/// each token through the model once, [`FullDecoder`](crate::FullDecoder) all of them at each
/// step.
pub trait Decoder: Send {
    /// Says what is to come until it says otherwise: at most `rows` sequences, those of all [forks](Self::fork)
    /// counted, of at most `tokens` tokens each, prompts included. A decoder that keeps something for each token
    /// asks for no more memory than that at once, and finds more as more tokens come. Others need not know.
    ///
    /// # Errors
    ///
    /// [`ModelError::CacheTooLarge`] if there is not enough memory to begin.
    fn reserve(&mut self, _rows: usize, _tokens: usize) -> Result<(), ModelError> {
        Ok(())
    }

    /// Forgets all sequences, starts new ones, and gives the logits that follow each.
    ///
    /// # Errors
    ///
    /// [`ModelError::TextTooLong`] if one is longer than the context, or
    /// [`ModelError::ContextFull`] if it is so behind a prefix that was computed before;
    /// [`ModelError::CacheTooLarge`] if there is no memory for them.
    fn prefill(&mut self, prompts: &[&[TokenId]]) -> Result<Logits, ModelError>;

    /// Adds one token to each sequence and gives the logits that follow.
    ///
    /// # Errors
    ///
    /// [`ModelError::ContextFull`] if one fills the context already; [`ModelError::CacheTooLarge`] if there is
    /// no memory for another token.
    fn decode(&mut self, tokens: &[TokenId]) -> Result<Logits, ModelError>;

    /// Makes sequence `rows[i]` the new sequence `i`: drops, reorders or duplicates.
    fn select(&mut self, rows: &[usize]);

    /// Forgets all tokens of sequence `i` but the first `lengths[i]`, all of which it may keep: what is
    /// decoded next stands behind them.
    fn truncate(&mut self, lengths: &[usize]);

    /// Another decoder of the same model, without sequences, for another thread; what it sends through
    /// the model counts here, too. None where all sequences are sooner done together: on a GPU.
    fn fork(&self) -> Option<Self>
    where
        Self: Sized;

    /// Tokens that went through the model so far, padding not counted.
    fn forwarded_tokens(&self) -> usize;
}

/// Rows of tokens as the model takes them, padded behind to the longest: `[rows, longest]`.
///
/// A token never sees what stands behind it, so the padding changes nothing before it.
pub(crate) fn padded(model: &Transformer, rows: &[&[TokenId]]) -> Tensor<2, Int> {
    let longest = rows.iter().map(|row| row.len()).max().unwrap_or(0);
    let mut ids = vec![0_i32; rows.len() * longest];
    for (padded, row) in ids.chunks_mut(longest.max(1)).zip(rows) {
        for (id, token) in padded.iter_mut().zip(*row) {
            *id = *token as i32;
        }
    }
    let data = TensorData::new(ids, [rows.len(), longest]);
    Tensor::from_data(data, &model.device())
}

/// The logits behind the last token of each row.
///
/// # Shapes
///
/// - hidden: `[rows, longest, width]`
/// - lengths: one a row, the padding not counted
///
/// # Errors
///
/// [`ModelError::Overflow`] if one is no finite number.
pub(crate) fn last_logits(
    model: &Transformer,
    hidden: Tensor<3>,
    lengths: &[usize],
) -> Result<Logits, ModelError> {
    let [rows, longest, width] = hidden.dims();
    let last: Tensor<2> = if lengths.iter().all(|length| *length == longest) {
        hidden.narrow(1, longest - 1, 1).reshape([rows, width])
    } else {
        // Row r of the flattened states begins at r * longest.
        let indices: Vec<i32> = lengths
            .iter()
            .enumerate()
            .map(|(row, length)| (row * longest + length - 1) as i32)
            .collect();
        let indices = TensorData::new(indices, [rows]);
        let indices = Tensor::<1, Int>::from_data(indices, &hidden.device());
        hidden.reshape([rows * longest, width]).select(0, indices)
    };
    logits(model, last)
}

/// The logits behind hidden states, on the host.
///
/// # Shapes
///
/// - hidden: `[rows, width]`
///
/// # Errors
///
/// [`ModelError::Overflow`] if one is no finite number.
pub(crate) fn logits(model: &Transformer, hidden: Tensor<2>) -> Result<Logits, ModelError> {
    let values: Vec<f32> = model
        .logits(hidden)
        .into_data()
        .try_into_vec_as()
        .expect("logits are 32-bit floats");
    // Without a way out early, which would keep the compiler from vectors.
    let finite = |part: &[f32]| part.iter().fold(true, |all, value| all & value.is_finite());
    let all_finite = match values.len() < WORTH_THREADS {
        true => finite(&values),
        false => values.par_chunks(WORTH_THREADS).all(finite),
    };
    if !all_finite {
        return Err(ModelError::Overflow);
    }
    Ok(Logits::new(values, model.config().vocab_size))
}

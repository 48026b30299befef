//! A model that is ready to decode.

use std::sync::{Arc, OnceLock};

use tang_checkpoint::{Family, ModelConfig, Weights};
use tang_kernels::{AllReduce, PackedMatrix, Threads, gelu, on_shards, swiglu};
use tang_tokenizer::TokenId;

use super::{
    forward::{NewTokens, ROUNDS, ShardCache, forward},
    layer::Layer,
    logits::Logits,
    norm::Norm,
    shard::SHARDS,
};
use crate::{CachedDecoder, Decoder, EngineError, FullDecoder, KvCache, Model, PrefixCache};

/// Least count of new tokens for which several rows are split by rows, one share per thread. Fewer
/// tokens, or those of one row, go through the two shards of each layer, one shard per thread, so
/// that each weight is read once.
const SPLIT_BY_ROWS: usize = 12;

/// Bytes that the sums of the shards may take in one pass through the layers.
const PASS_BYTES: usize = 16 << 20;

/// Largest count of rows for which the threads share the columns of the output head, not the rows.
const FEW_ROWS: usize = 4;

/// Least count of logits per thread when they are checked.
const WORTH_A_THREAD: usize = 1 << 16;

/// The weights of a model, packed once for the products of decoding, and then never changed.
#[derive(Debug)]
pub struct Engine {
    config: ModelConfig,
    /// `[C, vocab_size]`; a tied model reads the embeddings of its tokens from here, too.
    head: PackedMatrix,
    /// `[vocab_size, C]`, in an untied model.
    token_embedding: Option<Vec<f32>>,
    /// `[context, C]`, in GPT-2.
    position_embedding: Option<Vec<f32>>,
    pub(super) layers: Vec<Layer>,
    final_norm: Norm,
}

impl Engine {
    /// Packs the weights of a model.
    ///
    /// # Errors
    ///
    /// [`EngineError::Model`] if the geometry is impossible, or a weight is missing, has another shape or is not one
    /// of the model.
    pub fn pack(config: &ModelConfig, weights: &Weights) -> Result<Self, EngineError> {
        config.validate()?;
        weights.check(config)?;
        let values = |path: &str| weights.values(path);
        let head = if config.tied_head { values("token_embedding") } else { values("output_head") };
        Ok(Self {
            config: *config,
            head: PackedMatrix::transposed(head, config.width),
            token_embedding: (!config.tied_head).then(|| values("token_embedding").to_vec()),
            position_embedding: matches!(config.family, Family::Gpt2)
                .then(|| values("position_embedding").to_vec()),
            layers: (0..config.layers)
                .map(|index| Layer::pack(config, weights, &format!("blocks.{index}")))
                .collect(),
            final_norm: Norm::new(config, weights, "final_norm"),
        })
    }

    /// The geometry.
    pub fn config(&self) -> &ModelConfig {
        &self.config
    }

    /// Takes new tokens of each row through the layers. They follow the cached ones, and their keys and values are
    /// added to the cache. Many tokens go in several passes, which bounds the memory.
    ///
    /// # Shapes
    ///
    /// - rows: one per row of the cache, each of at least one token
    /// - output: hidden states for [`logits`](Self::logits), `[tokens of all rows, width]`
    ///
    /// # Errors
    ///
    /// [`EngineError::TextTooLong`] if the new tokens of a row alone are more than the context,
    /// [`EngineError::ContextFull`] if the row would grow past it, [`EngineError::CacheTooLarge`] if there is no
    /// memory for them; the cache is then unchanged.
    ///
    /// # Panics
    ///
    /// If the cache has another count of rows, a row has no new token, or a token is not in the vocabulary.
    pub fn forward(
        &self,
        rows: &[&[TokenId]],
        cache: &mut KvCache,
        threads: Threads,
    ) -> Result<Vec<f32>, EngineError> {
        assert!(rows.iter().all(|row| !row.is_empty()), "each row has at least one new token");
        cache.check_room(rows)?;
        cache.make_room(rows)?;
        // Each shard sends [T, C] after attention and after the feed-forward network of each layer.
        let ModelConfig { layers, width, .. } = self.config;
        let per_token = SHARDS * ROUNDS * layers * width * size_of::<f32>();
        Ok(self.passes(rows, cache, threads, (PASS_BYTES / per_token).max(1)))
    }

    /// Takes new tokens of each row through the layers, at most `most` at once.
    fn passes(
        &self,
        rows: &[&[TokenId]],
        cache: &mut KvCache,
        threads: Threads,
        most: usize,
    ) -> Vec<f32> {
        let mut hidden = Vec::new();
        // The next token is rows[first][done].
        let (mut first, mut done) = (0, 0);
        while first < rows.len() {
            let mut pass: Vec<&[TokenId]> = Vec::new();
            let mut room = most;
            let range = first;
            while first < rows.len() && room > 0 {
                let rest = &rows[first][done..];
                let taken = rest.len().min(room);
                pass.push(&rest[..taken]);
                room -= taken;
                if taken == rest.len() {
                    (first, done) = (first + 1, 0);
                } else {
                    done += taken;
                }
            }
            hidden.extend(self.pass(&pass, range, cache, threads));
        }
        hidden
    }

    /// Takes new tokens of the rows from `first` on through the layers.
    fn pass(
        &self,
        rows: &[&[TokenId]],
        first: usize,
        cache: &mut KvCache,
        threads: Threads,
    ) -> Vec<f32> {
        let range = first..first + rows.len();
        let batch: Vec<NewTokens> = rows
            .iter()
            .zip(&cache.lengths()[range.clone()])
            .map(|(tokens, start)| NewTokens { tokens, start: *start })
            .collect();
        let tokens: usize = rows.iter().map(|row| row.len()).sum();
        let rounds = ROUNDS * self.layers.len();
        let hidden = if rows.len() == 1 || tokens < SPLIT_BY_ROWS {
            // Each shard computes the whole residual stream.
            let mut shards = cache.shards(range.clone(), rows.len()).remove(0);
            let hidden = OnceLock::new();
            let work = tokens * self.config.width * self.config.width;
            on_shards(&mut shards, rounds, work, threads, |shards, all_reduce| {
                let is_first = shards[0].index == 0;
                let x = forward(self, &batch, shards, all_reduce);
                if is_first {
                    hidden.set(x).expect("one thread has the first shard");
                }
            });
            hidden.into_inner().expect("one thread has the first shard")
        } else {
            let per_share = rows.len().div_ceil(threads.count());
            let caches = cache.shards(range.clone(), per_share);
            let shares = batch.chunks(per_share).zip(caches).collect();
            let run = |(batch, mut caches): (&[NewTokens<'_>], [ShardCache<'_>; SHARDS])| {
                forward(self, batch, &mut caches, &AllReduce::new(rounds))
            };
            threads.map(shares, run).concat()
        };
        cache.advance(first, rows);
        hidden
    }

    /// Logits of the next token after each row.
    ///
    /// # Shapes
    ///
    /// - hidden: `[rows, width]`
    ///
    /// # Errors
    ///
    /// [`EngineError::Overflow`] if one is no finite number.
    pub fn logits(&self, hidden: &[f32], threads: Threads) -> Result<Logits, EngineError> {
        let (width, vocab_size) = (self.config.width, self.config.vocab_size);
        let rows = hidden.len() / width;
        let normed = self.final_norm.forward(hidden);
        let mut values = vec![0.0; rows * vocab_size];
        if rows <= FEW_ROWS {
            self.head.multiply_on(threads, &normed, &mut values);
        } else {
            let per_share = rows.div_ceil(threads.count());
            let shares = normed.chunks(per_share * width);
            let shares = shares.zip(values.chunks_mut(per_share * vocab_size)).collect();
            threads.map(shares, |(normed, values): (&[f32], &mut [f32])| {
                self.head.multiply_on(Threads::ONE, normed, values);
            });
        }
        // No early exit, so that the compiler can vectorise the loop.
        let finite = |part: &[f32]| part.iter().fold(true, |all, value| all & value.is_finite());
        let parts = values.chunks(values.len().div_ceil(threads.count()).max(WORTH_A_THREAD));
        let all_finite = threads.map(parts.collect(), finite).into_iter().all(|is| is);
        if all_finite { Ok(Logits::new(values, vocab_size)) } else { Err(EngineError::Overflow) }
    }

    /// x[t] = token_embedding[token t] + position_embedding[position t]; `[T, C]`.
    pub(super) fn embed(&self, batch: &[NewTokens<'_>]) -> Vec<f32> {
        let width = self.config.width;
        let tokens = batch.iter().flat_map(|row| row.tokens);
        let mut x = vec![0.0; tokens.clone().count() * width];
        for (x, token) in x.chunks_exact_mut(width).zip(tokens) {
            let token = *token as usize;
            match &self.token_embedding {
                Some(table) => x.copy_from_slice(&table[token * width..][..width]),
                None => self.head.copy_column(token, x),
            }
        }
        if let Some(table) = &self.position_embedding {
            for (x, position) in x.chunks_exact_mut(width).zip(positions(batch)) {
                for (x, p) in x.iter_mut().zip(&table[position * width..][..width]) {
                    *x += p;
                }
            }
        }
        x
    }

    /// Cosines and sines that rotate queries and keys of the new tokens in Llama (Su et al., *RoFormer*, 2021), each
    /// `[T, head_dim / 2]`: Hugging Face's half-split form rotates number i of a head together with number i +
    /// head_dim / 2.
    pub(super) fn rotation(&self, batch: &[NewTokens<'_>]) -> Option<(Vec<f32>, Vec<f32>)> {
        match self.config.family {
            Family::Gpt2 => None,
            Family::Llama { rope } => Some(rope.tables(self.config.head_dim(), positions(batch))),
        }
    }

    /// The step between the two matrices of a feed-forward network: the tanh form of GELU (Hendrycks & Gimpel,
    /// *Gaussian Error Linear Units*, 2016) in GPT-2, SwiGLU (Shazeer, *GLU Variants Improve Transformer*, 2020) in
    /// Llama.
    ///
    /// # Shapes
    ///
    /// - x: `[T, width]`; for SwiGLU a token has its gates, then its values
    /// - output: `[T, width]`, for SwiGLU `[T, width / 2]`
    pub(super) fn activate(&self, x: &[f32], width: usize) -> Vec<f32> {
        match self.config.family {
            Family::Gpt2 => gelu(x),
            Family::Llama { .. } => swiglu(x, width / 2),
        }
    }
}

/// Positions of all new tokens.
fn positions(batch: &[NewTokens<'_>]) -> impl Iterator<Item = usize> {
    batch.iter().flat_map(|row| row.start..row.start + row.tokens.len())
}

impl Model for Arc<Engine> {
    fn config(&self) -> &ModelConfig {
        &self.config
    }

    fn cached(&self, threads: Threads) -> Box<dyn Decoder> {
        Box::new(CachedDecoder::new(self, threads))
    }

    fn cached_after(
        &self,
        prefix: &[TokenId],
        threads: Threads,
    ) -> Result<Box<dyn Decoder>, EngineError> {
        let prefix = Arc::new(PrefixCache::new(self, prefix, threads)?);
        Ok(Box::new(CachedDecoder::with_prefix(prefix, threads)))
    }

    fn uncached(&self, threads: Threads) -> Box<dyn Decoder> {
        Box::new(FullDecoder::new(self, threads))
    }

    fn of_weights(
        &self,
        config: &ModelConfig,
        weights: &Weights,
    ) -> Result<Box<dyn Model>, EngineError> {
        Ok(Box::new(Arc::new(Engine::pack(config, weights)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_count_of_passes_gives_the_same_bits() {
        let config = ModelConfig { layers: 2, ..ModelConfig::minimind_4l(97) };
        let engine = Engine::pack(&config, &Weights::random(&config, 0)).unwrap();
        let tokens: Vec<TokenId> = (0..60).map(|i| i * 31 % 97).collect();
        let rows = [&tokens[..1], &tokens[1..30], &tokens[30..33], &tokens[33..]];
        let run = |most| {
            let mut cache = KvCache::new(&config, rows.len());
            cache.make_room(&rows).unwrap();
            let first = engine.passes(&rows, &mut cache, Threads::new(2), most);
            // Keys and values are those of one pass, too.
            let then = engine.passes(&[&[5], &[6], &[7], &[8]], &mut cache, Threads::ONE, most);
            assert_eq!(cache.lengths(), [2, 30, 4, 28]);
            [first, then].concat()
        };
        let at_once = run(usize::MAX);
        assert_eq!(at_once.len(), 64 * config.width);
        for most in [1, 2, 7, 29, 30, 31, 59] {
            assert_eq!(run(most), at_once, "{most} at once");
        }
    }
}

//! One forward pass, from token ids to the residual stream after the last layer.
//!
//! Shapes: T new tokens of all rows together, C the width of the residual stream, H query heads and K key/value heads
//! of a shard, D the width of a head.

use tang_kernels::{AllReduce, CachedAttention, KvRow};
use tang_tokenizer::TokenId;

use super::engine::Engine;

/// Rounds of the all-reduce per layer: one after attention, one after the feed-forward network.
pub(crate) const ROUNDS: usize = 2;

/// The new tokens of one row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NewTokens<'a> {
    pub(crate) tokens: &'a [TokenId],
    /// Position of the first of them: the count of tokens that are already cached.
    pub(crate) start: usize,
}

/// The cached keys and values of some rows, as far as they belong to the heads of one shard.
pub(crate) struct ShardCache<'a> {
    /// Index of the shard.
    pub(crate) index: usize,
    /// `[layers][rows]`
    pub(crate) layers: Vec<Vec<KvRow<'a>>>,
}

/// Takes new tokens through some shards of all layers: through both on one thread, or through one while another
/// thread has the other. Keys and values of the new tokens are added to the cache.
///
/// # Shapes
///
/// - output: `[T, C]`
pub(crate) fn forward(
    engine: &Engine,
    batch: &[NewTokens<'_>],
    shards: &mut [ShardCache<'_>],
    all_reduce: &AllReduce,
) -> Vec<f32> {
    let tokens: usize = batch.iter().map(|row| row.tokens.len()).sum();
    let head_dim = engine.config().head_dim();

    // x [T, C]: the embedding of each token, in GPT-2 plus that of its position
    let mut x = engine.embed(batch);
    // cos, sin [T, D / 2]: in Llama
    let rotation = engine.rotation(batch);

    for (index, layer) in engine.layers.iter().enumerate() {
        // Attention. h [T, C]
        let h = layer.attention_norm.forward(&x);
        for shard in &mut *shards {
            let sum = layer.shards[shard.index].attention.as_ref().map(|part| {
                // qkv [T, (H + 2 K) D]
                let qkv = part.qkv.forward(&h);
                // y [T, H D]: of each head, softmax(q k / sqrt(D)) v over all tokens of the row so far
                let mut y = vec![0.0; tokens * part.heads * head_dim];
                let mut first = 0;
                for (row, kv) in batch.iter().zip(&mut shard.layers[index]) {
                    let after = first + row.tokens.len();
                    let per_token = |width: usize| first * width..after * width;
                    let attention = CachedAttention {
                        qkv: &qkv[per_token(part.qkv.outputs())],
                        rotation: rotation.as_ref().map(|(cos, sin)| {
                            let angles = per_token(head_dim / 2);
                            (&cos[angles.clone()], &sin[angles])
                        }),
                        kv,
                        heads: part.heads,
                        kv_heads: part.kv_heads,
                        head_dim,
                    };
                    attention.run(&mut y[per_token(part.heads * head_dim)]);
                    first = after;
                }
                // [T, C]: the part of these heads
                part.output.forward(&y)
            });
            all_reduce.send(ROUNDS * index, shard.index, sum.unwrap_or_default());
        }
        all_reduce.add_to(&mut x, ROUNDS * index);

        // Feed-forward. h [T, C]
        let h = layer.feed_forward_norm.forward(&x);
        for shard in &mut *shards {
            let sum = layer.shards[shard.index].feed_forward.as_ref().map(|part| {
                // [T, some of 4 C], in Llama twice as many: gates and values
                let up = part.up.forward(&h);
                let activated = engine.activate(&up, part.up.outputs());
                // [T, C]: the part of these columns
                part.down.forward(&activated)
            });
            all_reduce.send(ROUNDS * index + 1, shard.index, sum.unwrap_or_default());
        }
        all_reduce.add_to(&mut x, ROUNDS * index + 1);
    }
    x
}

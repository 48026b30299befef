//! The packed weights of one layer.

use tang_checkpoint::{Family, ModelConfig, Weights};

use super::{
    linear::{Linear, LinearWeights},
    norm::Norm,
    shard::{self, SHARDS},
};

/// Count of numbers in the widest vector: feed-forward columns are split at multiples of it.
const VECTOR: usize = 16;

/// Attention, then feed-forward, each on a normalised input and added to the residual stream (pre-norm).
#[derive(Debug)]
pub(crate) struct Layer {
    pub(crate) attention_norm: Norm,
    pub(crate) feed_forward_norm: Norm,
    pub(crate) shards: [LayerShard; SHARDS],
}

/// One shard of a layer. A shard without heads has no attention, one without columns no feed-forward.
#[derive(Debug)]
pub(crate) struct LayerShard {
    pub(crate) attention: Option<AttentionShard>,
    pub(crate) feed_forward: Option<FeedForwardShard>,
}

/// Some heads of attention.
#[derive(Debug)]
pub(crate) struct AttentionShard {
    pub(crate) heads: usize,
    pub(crate) kv_heads: usize,
    /// The projection to queries, keys and values.
    pub(crate) qkv: Linear,
    pub(crate) output: Linear,
}

/// Some columns of a feed-forward network.
#[derive(Debug)]
pub(crate) struct FeedForwardShard {
    pub(crate) up: Linear,
    pub(crate) down: Linear,
}

impl Layer {
    /// Packs the layer at `path`.
    pub(crate) fn pack(config: &ModelConfig, weights: &Weights, path: &str) -> Self {
        let norm = |name: &str| Norm::new(config, weights, &format!("{path}.{name}"));
        Self {
            attention_norm: norm("attention_norm"),
            feed_forward_norm: norm("feed_forward_norm"),
            shards: [0, 1].map(|index| LayerShard {
                attention: AttentionShard::pack(config, weights, path, index),
                feed_forward: FeedForwardShard::pack(config, weights, path, index),
            }),
        }
    }
}

impl AttentionShard {
    fn pack(config: &ModelConfig, weights: &Weights, path: &str, index: usize) -> Option<Self> {
        let kv = shard::part(index, config.kv_heads, 1);
        let (heads, dim) = (config.heads, config.head_dim());
        let per_kv = heads / config.kv_heads;
        let q = kv.start * per_kv..kv.end * per_kv;
        // The columns of all query heads come first, then those of all key heads, then of all value heads.
        let columns = [
            q.start * dim..q.end * dim,
            (heads + kv.start) * dim..(heads + kv.end) * dim,
            (heads + config.kv_heads + kv.start) * dim..(heads + config.kv_heads + kv.end) * dim,
        ];
        let linear =
            |name: &str| linear(config, weights, &format!("{path}.attention.{name}"), config.width);
        (!kv.is_empty()).then(|| Self {
            heads: q.len(),
            kv_heads: kv.len(),
            qkv: linear("input").outputs(&columns),
            output: linear("output").inputs(columns[0].clone()),
        })
    }
}

impl FeedForwardShard {
    fn pack(config: &ModelConfig, weights: &Weights, path: &str, index: usize) -> Option<Self> {
        let inner = config.feed_forward_width;
        let part = shard::part(index, inner, VECTOR);
        // In Llama the columns of all gates come first, then those of all values.
        let values = inner + part.start..inner + part.end;
        let columns = match config.family {
            Family::Gpt2 => vec![part.clone()],
            Family::Llama { .. } => vec![part.clone(), values],
        };
        let linear = |name: &str, inputs| {
            linear(config, weights, &format!("{path}.feed_forward.{name}"), inputs)
        };
        (!part.is_empty()).then(|| Self {
            up: linear("input", config.width).outputs(&columns),
            down: linear("output", inner).inputs(part.clone()),
        })
    }
}

fn linear<'a>(
    config: &ModelConfig,
    weights: &'a Weights,
    path: &str,
    inputs: usize,
) -> LinearWeights<'a> {
    LinearWeights::of(weights, path, inputs, matches!(config.family, Family::Gpt2))
}

//! Memory of the cache, read from caches in use and compared with the formula.

use std::fmt;

use serde::Serialize;
use tang_checkpoint::{Family, ModelConfig, Rope, Weights};
use tang_engine::{Model, Threads};
use tang_generate::Task;

use crate::{
    LabError, LabModel,
    cache::counting::TimedGeneration,
    page::{count, table},
};

/// Counts of tokens to fill a cache with, besides its whole context.
const LENGTHS: [usize; 4] = [1, 32, 64, 100];

/// Sizes that were checked against the formula.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct CacheMemory {
    layers: usize,
    pub kv_heads: usize,
    head_dim: usize,
    /// Bytes of keys and values per token.
    bytes_per_token: usize,
    /// The cache of the model, by the count of cached tokens.
    sizes: Vec<CacheSize>,
    /// The same with as many key/value heads as query heads, half as many, and one.
    pub sharing: Vec<HeadSharing>,
}

/// The memory of one cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct CacheSize {
    pub tokens: usize,
    /// Bytes of their keys and values.
    pub used_bytes: usize,
    /// Bytes set aside: for whole blocks of tokens, at most the context.
    allocated_bytes: usize,
}

/// The cache of a network whose query heads share key/value heads.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct HeadSharing {
    /// Multi-head, grouped-query or multi-query attention: MHA, GQA or MQA.
    pub name: &'static str,
    heads: usize,
    pub kv_heads: usize,
    /// By the count of cached tokens, the last being the whole context.
    pub sizes: Vec<CacheSize>,
}

/// Fills caches and reads their sizes.
pub(crate) fn cache_memory(lab: &LabModel) -> Result<CacheMemory, LabError> {
    let config = lab.model.config();
    let shared = shared_heads(config.heads).into_iter();
    Ok(CacheMemory {
        layers: config.layers,
        kv_heads: config.kv_heads,
        head_dim: config.head_dim(),
        bytes_per_token: config.cache_bytes_per_token(),
        sizes: cache_sizes(&*lab.model, lab.threads)?,
        sharing: shared
            .map(|(name, kv_heads)| head_sharing(lab, name, kv_heads))
            .collect::<Result<_, _>>()?,
    })
}

/// Writes texts of several lengths; from a prompt of one newline, N new tokens leave N in the cache.
fn cache_sizes(model: &dyn Model, threads: Threads) -> Result<Vec<CacheSize>, LabError> {
    let context = model.config().context;
    let lengths = LENGTHS.into_iter().filter(|tokens| *tokens < context).chain([context]);
    let size = |tokens| {
        let mut decoder = model.cached(threads);
        TimedGeneration::run(&mut *decoder, &Task::open(), tokens)?;
        let capacity = decoder.capacity_for(tokens);
        cache_size(decoder.cache_bytes(), model.config(), tokens, capacity)
    };
    lengths.map(size).collect()
}

/// The size of a cache that must have `tokens` tokens in one row, and room for `capacity`.
fn cache_size(
    bytes: tang_engine::CacheBytes,
    config: &ModelConfig,
    tokens: usize,
    capacity: usize,
) -> Result<CacheSize, LabError> {
    for (what, tokens_of_formula, got) in
        [("in use", tokens, bytes.used), ("set aside", capacity, bytes.allocated)]
    {
        let wanted = tokens_of_formula * config.cache_bytes_per_token();
        if wanted != got {
            return Err(LabError::Wrong(format!(
                "a cache of {tokens} tokens, memory {what}: {} bytes, and the formula says {}: the cache does not \
                keep what it should",
                count(got),
                count(wanted)
            )));
        }
    }
    Ok(CacheSize { tokens, used_bytes: bytes.used, allocated_bytes: bytes.allocated })
}

/// Count of key/value heads for some query heads: all of them (multi-head attention), half
/// (grouped-query attention: Ainslie et al. 2023), one (multi-query attention: Shazeer 2019).
fn shared_heads(heads: usize) -> Vec<(&'static str, usize)> {
    let half = (heads > 2 && heads.is_multiple_of(2)).then_some(("GQA", heads / 2));
    let one = (heads > 1).then_some(("MQA", 1));
    [("MHA", heads)].into_iter().chain(half).chain(one).collect()
}

/// Measures a Llama, since GPT-2 shares no heads. Its vocabulary is as small as possible, since the
/// size of the cache depends on attention only.
fn head_sharing(
    lab: &LabModel,
    name: &'static str,
    kv_heads: usize,
) -> Result<HeadSharing, LabError> {
    let own = *lab.model.config();
    let config = ModelConfig {
        family: Family::Llama { rope: Rope::unscaled(10_000.0) },
        vocab_size: 8,
        kv_heads,
        feed_forward_width: own.width,
        ..own
    };
    let model = lab.model.of_weights(&config, &Weights::random(&config, 0))?;
    let sizes = cache_sizes(&*model, lab.threads)?;
    Ok(HeadSharing { name, heads: config.heads, kv_heads, sizes })
}

impl CacheMemory {
    /// The memory that sharing heads saves, as a table.
    pub fn sharing_table(&self) -> String {
        let rows = self.sharing.iter().map(|row| {
            let full = row.sizes[row.sizes.len() - 1];
            let (name, heads, kv_heads) = (row.name, row.heads, row.kv_heads);
            let per_token = count(full.used_bytes / full.tokens);
            let (all, groups) = (kib(full.used_bytes), heads / kv_heads);
            format!("{name} | {heads} | {kv_heads} | {per_token} | {all} | 1/{groups}")
        });
        let tokens = self.sizes[self.sizes.len() - 1].tokens;
        let header = ":attention | query heads h | key/value heads g | bytes per token";
        table(&format!("{header} | for {tokens} tokens | g/h"), rows)
    }

    /// The formula with this model's numbers.
    pub fn formula(&self) -> String {
        let (layers, heads, width) = (self.layers, self.kv_heads, self.head_dim);
        let bytes = count(self.bytes_per_token);
        format!(
            "{bytes} bytes per token (2 x {layers} layers x {heads} key/value heads x {width} wide x 4)"
        )
    }
}

impl fmt::Display for CacheMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = self.sizes.iter().map(|size| {
            let (used, set_aside) = (size.used_bytes, size.allocated_bytes);
            let (bytes, used, set_aside) = (count(used), kib(used), kib(set_aside));
            format!("{} | {bytes} | {used} | {set_aside}", size.tokens)
        });
        let table = table("cached tokens | bytes in use | in use | set aside", rows);
        write!(f, "{}.\n\n{table}", self.formula())
    }
}

fn kib(bytes: usize) -> String {
    format!("{} KiB", bytes as f64 / 1024.0)
}

#[cfg(test)]
mod tests {
    use crate::cache::tests::small;

    use super::*;

    #[test]
    fn a_real_cache_has_the_size_of_the_formula() {
        // 2 x 2 layers x 4 heads x 4 wide x 4 bytes.
        let bytes = cache_memory(&small(ModelConfig::tang_4l)).unwrap();
        assert_eq!(bytes.bytes_per_token, 256);
        let used: Vec<_> = bytes
            .sizes
            .iter()
            .map(|size| (size.tokens, size.used_bytes, size.allocated_bytes))
            .collect();
        let all = 48 * 256;
        assert_eq!(used, [(1, 256, 4096), (32, 8192, 8192), (48, all, all)]);
    }

    #[test]
    fn it_shrinks_with_the_key_value_heads() {
        let bytes = cache_memory(&small(ModelConfig::minimind_4l)).unwrap();
        assert_eq!(bytes.bytes_per_token, 128);
        let full: Vec<_> = bytes
            .sharing
            .iter()
            .map(|sharing| {
                let full = sharing.sizes.last().unwrap();
                (sharing.name, sharing.kv_heads, full.used_bytes)
            })
            .collect();
        let all = 48 * 256;
        let wanted = [("MHA", 4, all), ("GQA", 2, all / 2), ("MQA", 1, all / 4)];
        assert_eq!(full, wanted);
        let text = bytes.sharing_table();
        assert!(text.ends_with("| MQA | 4 | 1 | 64 | 3 KiB | 1/4 |"), "{text}");
    }

    #[test]
    fn the_presets_have_the_known_sizes() {
        let tang = ModelConfig::tang_4l(6289);
        let bytes = |config: &ModelConfig, tokens| tokens * config.cache_bytes_per_token();
        assert_eq!((bytes(&tang, 1), bytes(&tang, 128)), (4096, 512 * 1024));
        assert_eq!(bytes(&ModelConfig::minimind_4l(6289), 100), 204_800);
    }

    #[test]
    fn a_cache_of_another_size_is_an_error() {
        let lab = small(ModelConfig::minimind_4l);
        let config = *lab.model.config();
        let mut decoder = lab.cached();
        TimedGeneration::run(&mut *decoder, &Task::open(), 10).unwrap();
        assert!(cache_size(decoder.cache_bytes(), &config, 10, 16).is_ok());
        let doubled = ModelConfig { kv_heads: 4, ..config };
        for (config, tokens, capacity, what) in [
            (config, 9, 16, "in use: 1,280 bytes, and the formula says 1,152"),
            (doubled, 10, 16, "in use: 1,280 bytes, and the formula says 2,560"),
            (config, 10, 32, "set aside: 2,048 bytes, and the formula says 4,096"),
        ] {
            let error = cache_size(decoder.cache_bytes(), &config, tokens, capacity).unwrap_err();
            assert!(error.to_string().contains(what), "{error}");
        }
    }

    #[test]
    fn heads_that_cannot_be_halved_are_left_out() {
        assert_eq!(shared_heads(4), [("MHA", 4), ("GQA", 2), ("MQA", 1)]);
        assert_eq!(shared_heads(3), [("MHA", 3), ("MQA", 1)]);
        assert_eq!(shared_heads(2), [("MHA", 2), ("MQA", 1)]);
        assert_eq!(shared_heads(1), [("MHA", 1)]);
    }
}

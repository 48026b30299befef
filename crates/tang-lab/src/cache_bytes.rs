//! How much memory the cache takes, read from caches in use and compared with the formula.

use std::fmt;

use serde::Serialize;
use tang_checkpoint::{Family, ModelConfig, Rope, Weights};
use tang_engine::{Model, Threads};
use tang_generate::Task;

use crate::{
    LabError, LabModel,
    table::{table, thousands},
    timed_generation::TimedGeneration,
};

/// Tokens to fill a cache with; its whole context comes on top.
const LENGTHS: [usize; 4] = [1, 32, 64, 100];

/// Sizes that agree with the formula.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CacheBytes {
    /// Layers of the model.
    pub layers: usize,
    /// Key/value heads of the model.
    pub kv_heads: usize,
    /// Width of a head.
    pub head_dim: usize,
    /// Bytes of keys and values a token.
    pub bytes_per_token: usize,
    /// The cache of the model, by the number of tokens that it holds.
    pub sizes: Vec<CacheSize>,
    /// The same with as many key/value heads as query heads, half as many, and one.
    pub sharing: Vec<HeadSharing>,
}

/// The memory of one cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct CacheSize {
    /// Tokens that it holds.
    pub tokens: usize,
    /// Bytes of their keys and values.
    pub used_bytes: usize,
    /// Bytes set aside: so many tokens in whole blocks of memory, at most the context.
    pub allocated_bytes: usize,
}

/// The cache of a network whose query heads share key/value heads.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HeadSharing {
    /// What the field calls it: MHA, GQA or MQA.
    pub name: &'static str,
    /// Query heads.
    pub heads: usize,
    /// Key/value heads.
    pub kv_heads: usize,
    /// By the number of tokens that it holds, the last being the whole context.
    pub sizes: Vec<CacheSize>,
}

/// Fills caches and reads their sizes.
///
/// # Errors
///
/// [`LabError::CacheBytes`] if a size is not what the formula says.
pub(crate) fn cache_bytes(lab: &LabModel) -> Result<CacheBytes, LabError> {
    let config = *lab.model.config();
    Ok(CacheBytes {
        layers: config.layers,
        kv_heads: config.kv_heads,
        head_dim: config.head_dim(),
        bytes_per_token: formula(&config, 1),
        sizes: cache_sizes(&*lab.model, lab.threads)?,
        sharing: shared_heads(config.heads)
            .into_iter()
            .map(|(name, kv_heads)| head_sharing(lab, name, kv_heads))
            .collect::<Result<_, _>>()?,
    })
}

/// Bytes of keys and values for one row.
fn formula(config: &ModelConfig, tokens: usize) -> usize {
    tokens * config.cache_bytes_per_token()
}

/// Writes texts of several lengths; from a prompt of one newline, N new tokens leave N in the cache.
fn cache_sizes(model: &dyn Model, threads: Threads) -> Result<Vec<CacheSize>, LabError> {
    let context = model.config().context;
    LENGTHS
        .into_iter()
        .filter(|tokens| *tokens < context)
        .chain([context])
        .map(|tokens| {
            let mut decoder = model.cached(threads);
            TimedGeneration::run(&mut *decoder, &Task::open(), tokens)?;
            let capacity = decoder.capacity_for(tokens);
            cache_size(decoder.cache_bytes(), model.config(), tokens, capacity)
        })
        .collect()
}

/// Reads a cache that must hold `tokens` tokens in one row, and have room for `capacity`.
fn cache_size(
    bytes: tang_engine::CacheBytes,
    config: &ModelConfig,
    tokens: usize,
    capacity: usize,
) -> Result<CacheSize, LabError> {
    let size = CacheSize {
        tokens,
        used_bytes: bytes.used,
        allocated_bytes: bytes.allocated,
    };
    for (what, wanted, got) in [
        ("in use", formula(config, tokens), size.used_bytes),
        ("set aside", formula(config, capacity), size.allocated_bytes),
    ] {
        if wanted != got {
            return Err(LabError::CacheBytes {
                what,
                tokens,
                wanted,
                got,
            });
        }
    }
    Ok(size)
}

/// Numbers of key/value heads for so many query heads: all of them (multi-head attention), half
/// (grouped-query attention: Ainslie et al. 2023), one (multi-query attention: Shazeer 2019).
fn shared_heads(heads: usize) -> Vec<(&'static str, usize)> {
    let mut shared = vec![("MHA", heads)];
    if heads > 2 && heads.is_multiple_of(2) {
        shared.push(("GQA", heads / 2));
    }
    if heads > 1 {
        shared.push(("MQA", 1));
    }
    shared
}

/// Measures on a Llama, since GPT-2 shares no heads, whose vocabulary is as small as can be: no
/// part of it but the attention has to do with the cache.
fn head_sharing(
    lab: &LabModel,
    name: &'static str,
    kv_heads: usize,
) -> Result<HeadSharing, LabError> {
    let own = lab.model.config();
    let config = ModelConfig {
        family: Family::Llama {
            rope: Rope::unscaled(10_000.0),
        },
        vocab_size: 8,
        kv_heads,
        feed_forward_width: own.width,
        ..*own
    };
    let weights = Weights::random(&config, 0);
    let model = lab.model.of_weights(&config, &weights)?;
    Ok(HeadSharing {
        name,
        heads: config.heads,
        kv_heads,
        sizes: cache_sizes(&*model, lab.threads)?,
    })
}

impl CacheBytes {
    /// What sharing heads saves, as a table.
    pub(crate) fn sharing_table(&self) -> String {
        let rows = self.sharing.iter().filter_map(|sharing| {
            let full = sharing.full()?;
            Some([
                sharing.name.to_owned(),
                sharing.heads.to_string(),
                sharing.kv_heads.to_string(),
                thousands(full.used_bytes / full.tokens),
                kib(full.used_bytes),
                format!("1/{}", sharing.heads / sharing.kv_heads),
            ])
        });
        let tokens = self.sizes.last().map_or(0, |size| size.tokens);
        let full = format!("for {tokens} tokens");
        let header = [
            "attention",
            "query heads h",
            "key/value heads g",
            "bytes a token",
            &full,
            "g/h",
        ];
        table(header, rows)
    }

    /// The formula with this model's numbers.
    pub(crate) fn formula_text(&self) -> String {
        format!(
            "{} bytes a token (2 x {} layers x {} key/value heads x {} wide x 4)",
            thousands(self.bytes_per_token),
            self.layers,
            self.kv_heads,
            self.head_dim
        )
    }
}

impl HeadSharing {
    /// The cache when it holds the whole context.
    fn full(&self) -> Option<&CacheSize> {
        self.sizes.last()
    }
}

impl fmt::Display for CacheBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = self.sizes.iter().map(|size| {
            [
                size.tokens.to_string(),
                thousands(size.used_bytes),
                kib(size.used_bytes),
                kib(size.allocated_bytes),
            ]
        });
        let header = ["tokens held", "bytes in use", "in use", "set aside"];
        write!(f, "{}.\n\n{}", self.formula_text(), table(header, rows))
    }
}

fn kib(bytes: usize) -> String {
    format!("{} KiB", bytes as f64 / 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab_model::tests::small;

    #[test]
    fn a_real_cache_has_the_size_of_the_formula() {
        // 2 x 2 layers x 4 heads x 4 wide x 4 bytes.
        let bytes = cache_bytes(&small(ModelConfig::tang_4l)).unwrap();
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
        let bytes = cache_bytes(&small(ModelConfig::minimind_4l)).unwrap();
        assert_eq!(bytes.bytes_per_token, 128);
        let full: Vec<_> = bytes
            .sharing
            .iter()
            .map(|sharing| {
                let full = sharing.full().unwrap();
                (sharing.name, sharing.kv_heads, full.used_bytes)
            })
            .collect();
        let all = 48 * 256;
        let wanted = [("MHA", 4, all), ("GQA", 2, all / 2), ("MQA", 1, all / 4)];
        assert_eq!(full, wanted);
        let text = bytes.sharing_table();
        assert!(
            text.ends_with("| MQA | 4 | 1 | 64 | 3 KiB | 1/4 |"),
            "{text}"
        );
    }

    #[test]
    fn the_presets_have_the_known_sizes() {
        let tang = ModelConfig::tang_4l(6289);
        assert_eq!((formula(&tang, 1), formula(&tang, 128)), (4096, 512 * 1024));
        assert_eq!(formula(&ModelConfig::minimind_4l(6289), 100), 204_800);
    }

    #[test]
    fn a_cache_of_another_size_is_an_error() {
        let lab = small(ModelConfig::minimind_4l);
        let config = *lab.model.config();
        let mut decoder = lab.cached();
        TimedGeneration::run(&mut *decoder, &Task::open(), 10).unwrap();
        assert!(cache_size(decoder.cache_bytes(), &config, 10, 16).is_ok());
        let doubled = ModelConfig {
            kv_heads: 4,
            ..config
        };
        for (config, tokens, capacity, what) in [
            (
                config,
                9,
                16,
                "in use: 1,280 bytes, and the formula says 1,152",
            ),
            (
                doubled,
                10,
                16,
                "in use: 1,280 bytes, and the formula says 2,560",
            ),
            (
                config,
                10,
                32,
                "set aside: 2,048 bytes, and the formula says 4,096",
            ),
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

//! The geometry of a model.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Family, Rope};
use crate::ModelError;

// Limits that keep a damaged file from asking for all memory.
const MAX_LAYERS: usize = 1024;
const MAX_CONTEXT: usize = 1 << 13;
const MAX_PARAMETERS: f64 = 4e9;

/// The geometry of a network.
///
/// It is written and read as the `config.json` of Hugging Face transformers; fields that change no shape are
/// checked on reading, not kept.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Value", into = "Value")]
pub struct ModelConfig {
    /// The kind of network.
    pub family: Family,
    /// Number of tokens in the vocabulary.
    pub vocab_size: usize,
    /// Number of positions.
    pub context: usize,
    /// Width of the residual stream.
    pub width: usize,
    /// Number of blocks.
    pub layers: usize,
    /// Number of query heads; divides `width`.
    pub heads: usize,
    /// Number of key/value heads; divides `heads`, and equals it in GPT-2.
    pub kv_heads: usize,
    /// Width of the hidden layer of a feed-forward network.
    pub feed_forward_width: usize,
    /// Added to the variance, or mean square, in every norm.
    pub norm_eps: f64,
    /// Whether the output head is the token embedding.
    pub tied_head: bool,
}

impl ModelConfig {
    /// GPT-2 with 4 layers, 128 wide, 4 heads, context 128: the default geometry.
    pub fn tang_4l(vocab_size: usize) -> Self {
        Self {
            family: Family::Gpt2,
            vocab_size,
            context: 128,
            width: 128,
            layers: 4,
            heads: 4,
            kv_heads: 4,
            feed_forward_width: 512,
            norm_eps: 1e-5,
            tied_head: true,
        }
    }

    /// Llama with 4 layers, 128 wide, 4 query heads and 2 key/value heads, context 128.
    pub fn minimind_4l(vocab_size: usize) -> Self {
        Self {
            family: Family::Llama { rope: Rope::unscaled(10_000.0) },
            kv_heads: 2,
            feed_forward_width: 384,
            ..Self::tang_4l(vocab_size)
        }
    }

    /// Width of one head.
    pub fn head_dim(&self) -> usize {
        self.width / self.heads
    }

    /// Bytes of the key/value cache per token, at 4 bytes a number: 2 x layers x kv_heads x head_dim x 4.
    pub fn cache_bytes_per_token(&self) -> usize {
        2 * self.layers * self.kv_heads * self.head_dim() * size_of::<f32>()
    }

    /// Checks that a network of this geometry can exist.
    ///
    /// # Errors
    ///
    /// [`ModelError::Config`] with the numbers that do not fit.
    pub fn validate(&self) -> Result<(), ModelError> {
        match self.fault() {
            None => Ok(()),
            Some(reason) => Err(ModelError::Config { reason }),
        }
    }

    fn fault(&self) -> Option<String> {
        let sizes = [
            ("the vocabulary", self.vocab_size),
            ("the context", self.context),
            ("the width", self.width),
            ("the number of layers", self.layers),
            ("the number of heads", self.heads),
            ("the number of key/value heads", self.kv_heads),
            ("the feed-forward width", self.feed_forward_width),
        ];
        if let Some((name, _)) = sizes.iter().find(|(_, size)| *size == 0) {
            return Some(format!("{name} is 0"));
        }
        let Self { layers, context, width, heads, kv_heads, norm_eps, .. } = *self;
        if layers > MAX_LAYERS || context > MAX_CONTEXT {
            return Some(format!(
                "{layers} layers and {context} positions: at most {MAX_LAYERS} and {MAX_CONTEXT} are supported"
            ));
        }
        let parameters = self.approximate_parameters();
        if parameters > MAX_PARAMETERS {
            return Some(format!(
                "about {parameters:.0e} parameters: at most {MAX_PARAMETERS:.0e} are supported"
            ));
        }
        if !width.is_multiple_of(heads) {
            return Some(format!("width {width} is not divisible by {heads} heads"));
        }
        if !heads.is_multiple_of(kv_heads) {
            return Some(format!(
                "{heads} query heads are not divisible by {kv_heads} key/value heads"
            ));
        }
        if !(norm_eps > 0.0 && norm_eps < 1.0) {
            return Some(format!("the epsilon of the norms is {norm_eps}"));
        }
        match self.family {
            Family::Gpt2 if kv_heads != heads => Some(format!(
                "GPT-2 has one key/value head per query head: {kv_heads} and {heads} were given; \
                 use minimind-4l for fewer"
            )),
            Family::Gpt2 => None,
            Family::Llama { .. } if !self.head_dim().is_multiple_of(2) => {
                Some(format!("heads of width {} cannot be rotated: it is odd", self.head_dim()))
            }
            Family::Llama { rope } => rope.fault(),
        }
    }

    /// In floating point, since the sizes may be anything.
    fn approximate_parameters(&self) -> f64 {
        let [vocabulary, context, width, layers, inner] =
            [self.vocab_size, self.context, self.width, self.layers, self.feed_forward_width]
                .map(|size| size as f64);
        (vocabulary + context) * width + layers * width * (4.0 * width + 3.0 * inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_shrinks_with_the_key_value_heads() {
        let gpt2 = ModelConfig::tang_4l(6289);
        assert_eq!(gpt2.cache_bytes_per_token(), 4096);
        let grouped = ModelConfig::minimind_4l(6289);
        assert_eq!(grouped.cache_bytes_per_token(), 2048);
        assert_eq!(grouped.cache_bytes_per_token() * 100, 204_800);
        let multi_query = ModelConfig { kv_heads: 1, ..grouped };
        assert_eq!(multi_query.cache_bytes_per_token(), 1024);
    }

    #[test]
    fn json_round_trip() {
        for config in [ModelConfig::tang_4l(97), ModelConfig::minimind_4l(97)] {
            config.validate().unwrap();
            let json = serde_json::to_string(&config).unwrap();
            assert_eq!(serde_json::from_str::<ModelConfig>(&json).unwrap(), config);
        }
    }

    #[test]
    fn impossible_geometries_name_their_numbers() {
        let gpt2 = ModelConfig::tang_4l(97);
        let llama = ModelConfig::minimind_4l(97);
        for (config, word) in [
            (ModelConfig { heads: 3, ..gpt2 }, "3 heads"),
            (ModelConfig { heads: 0, ..gpt2 }, "heads is 0"),
            (ModelConfig { vocab_size: 0, ..gpt2 }, "vocabulary is 0"),
            (ModelConfig { kv_heads: 2, ..gpt2 }, "2 and 4"),
            (ModelConfig { kv_heads: 3, ..llama }, "3 key/value heads"),
            (ModelConfig { norm_eps: f64::NAN, ..llama }, "NaN"),
            (ModelConfig { width: 12, heads: 4, ..llama }, "width 3"),
            (ModelConfig { context: usize::MAX, ..llama }, "positions"),
            (ModelConfig { feed_forward_width: 1 << 50, ..gpt2 }, "parameters"),
        ] {
            let error = config.validate().unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
    }
}

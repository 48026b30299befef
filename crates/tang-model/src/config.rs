//! The geometry of a model, and its Hugging Face `config.json`.

use serde::{Deserialize, Serialize};

use crate::ModelError;

/// The geometry of a GPT-2 model (Radford et al., *Language Models are Unsupervised Multitask
/// Learners*, 2019).
///
/// It is written and read as the `config.json` of Hugging Face transformers; fields that do not
/// change the shape of the network are checked on reading, not kept.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Gpt2Json", into = "Gpt2Json")]
pub struct ModelConfig {
    /// Number of tokens in the vocabulary.
    pub vocab_size: usize,
    /// Number of positions.
    pub context: usize,
    /// Width of the residual stream.
    pub width: usize,
    /// Number of blocks.
    pub layers: usize,
    /// Number of attention heads; divides `width`.
    pub heads: usize,
    /// Added to the variance in every layer norm.
    pub norm_eps: f64,
}

impl ModelConfig {
    /// The default geometry: 4 layers, 128 wide, 4 heads, context 128.
    pub fn tang_4l(vocab_size: usize) -> Self {
        Self {
            vocab_size,
            context: 128,
            width: 128,
            layers: 4,
            heads: 4,
            norm_eps: 1e-5,
        }
    }

    /// Width of one head.
    pub fn head_dim(&self) -> usize {
        self.width / self.heads
    }

    /// Width of the hidden layer of a feed-forward network.
    pub fn feed_forward_width(&self) -> usize {
        4 * self.width
    }

    /// Bytes that the key/value cache needs a token, at 4 bytes a number:
    /// 2 x layers x width x 4.
    pub fn cache_bytes_per_token(&self) -> usize {
        2 * self.layers * self.width * size_of::<f32>()
    }

    /// Checks that a network of this geometry can exist.
    ///
    /// # Errors
    ///
    /// [`ModelError::Config`] with the numbers that do not fit.
    pub fn validate(&self) -> Result<(), ModelError> {
        let sizes = [
            ("vocab_size", self.vocab_size),
            ("n_positions", self.context),
            ("n_embd", self.width),
            ("n_layer", self.layers),
            ("n_head", self.heads),
        ];
        let reason = if let Some((name, _)) = sizes.iter().find(|(_, size)| *size == 0) {
            format!("{name} is 0")
        } else if !self.width.is_multiple_of(self.heads) {
            format!(
                "width {} is not divisible by {} heads",
                self.width, self.heads
            )
        } else if !(self.norm_eps.is_finite() && self.norm_eps > 0.0) {
            format!("layer_norm_epsilon is {}", self.norm_eps)
        } else {
            return Ok(());
        };
        Err(ModelError::Config { reason })
    }
}

/// `config.json` as Hugging Face transformers writes it for GPT-2.
#[derive(Serialize, Deserialize)]
struct Gpt2Json {
    #[serde(default)]
    architectures: Vec<String>,
    model_type: String,
    vocab_size: usize,
    n_positions: usize,
    n_embd: usize,
    n_layer: usize,
    n_head: usize,
    #[serde(default)]
    n_inner: Option<usize>,
    activation_function: String,
    layer_norm_epsilon: f64,
    #[serde(default = "yes")]
    tie_word_embeddings: bool,
    #[serde(default)]
    bos_token_id: u32,
    #[serde(default)]
    eos_token_id: u32,
    // Dropout is named so that a Python trainer does not add transformers' default of 0.1.
    #[serde(default)]
    embd_pdrop: f64,
    #[serde(default)]
    attn_pdrop: f64,
    #[serde(default)]
    resid_pdrop: f64,
}

fn yes() -> bool {
    true
}

impl From<ModelConfig> for Gpt2Json {
    fn from(config: ModelConfig) -> Self {
        Self {
            architectures: vec!["GPT2LMHeadModel".to_owned()],
            model_type: "gpt2".to_owned(),
            vocab_size: config.vocab_size,
            n_positions: config.context,
            n_embd: config.width,
            n_layer: config.layers,
            n_head: config.heads,
            n_inner: None,
            activation_function: "gelu_new".to_owned(),
            layer_norm_epsilon: config.norm_eps,
            tie_word_embeddings: true,
            bos_token_id: 0,
            eos_token_id: 0,
            embd_pdrop: 0.0,
            attn_pdrop: 0.0,
            resid_pdrop: 0.0,
        }
    }
}

impl TryFrom<Gpt2Json> for ModelConfig {
    type Error = ModelError;

    fn try_from(json: Gpt2Json) -> Result<Self, Self::Error> {
        let config = Self {
            vocab_size: json.vocab_size,
            context: json.n_positions,
            width: json.n_embd,
            layers: json.n_layer,
            heads: json.n_head,
            norm_eps: json.layer_norm_epsilon,
        };
        config.validate()?;
        let reason = if json.model_type != "gpt2" {
            format!("model_type `{}` instead of `gpt2`", json.model_type)
        } else if json.activation_function != "gelu_new" {
            format!(
                "activation `{}` instead of `gelu_new`",
                json.activation_function
            )
        } else if !json.tie_word_embeddings {
            "the output head is not tied to the token embedding".to_owned()
        } else if json
            .n_inner
            .is_some_and(|n| n != config.feed_forward_width())
        {
            format!(
                "n_inner {:?} instead of {}",
                json.n_inner,
                config.feed_forward_width()
            )
        } else {
            return Ok(config);
        };
        Err(ModelError::Config { reason })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_geometry_caches_four_kibibytes_a_token() {
        let config = ModelConfig::tang_4l(6289);
        assert_eq!(config.cache_bytes_per_token(), 4096);
        assert_eq!(config.head_dim(), 32);
        config.validate().unwrap();
    }

    #[test]
    fn json_round_trip() {
        let config = ModelConfig::tang_4l(97);
        let json = serde_json::to_string(&config).unwrap();
        assert!(json.contains(r#""model_type":"gpt2""#), "{json}");
        assert_eq!(serde_json::from_str::<ModelConfig>(&json).unwrap(), config);
    }

    #[test]
    fn refuses_what_it_would_compute_wrongly() {
        let json = serde_json::to_string(&ModelConfig::tang_4l(97)).unwrap();
        for (from, to, word) in [
            (r#""n_head":4"#, r#""n_head":3"#, "128"),
            (r#""n_head":4"#, r#""n_head":0"#, "n_head"),
            (r#""vocab_size":97"#, r#""vocab_size":0"#, "vocab_size"),
            ("gelu_new", "relu", "relu"),
            (r#""gpt2""#, r#""mamba""#, "mamba"),
            (r#""n_inner":null"#, r#""n_inner":100"#, "100"),
            (
                r#"embeddings":true"#,
                r#"embeddings":false"#,
                "token embedding",
            ),
        ] {
            let damaged = json.replacen(from, to, 1);
            assert_ne!(damaged, json, "{from} is not in {json}");
            let error = serde_json::from_str::<ModelConfig>(&damaged).unwrap_err();
            assert!(error.to_string().contains(word), "{error}");
        }
    }
}

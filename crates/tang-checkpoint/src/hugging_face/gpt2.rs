//! GPT-2 as Hugging Face transformers stores it.

use serde_json::{Value, json};

use super::{config_fields::ConfigFields, format::Format};
use crate::{Family, ModelConfig, ModelError};

pub(crate) const FORMAT: Format = Format {
    model_type: "gpt2",
    architectures: &["GPT2LMHeadModel", "GPT2Model"],
    read: config_from_json,
    write: config_to_json,
    prefix: "transformer.",
    is_buffer,
    token_embedding: "wte",
    position_embedding: Some("wpe"),
    layers: "h",
    layer: [
        &["ln_1"],
        &["attn.c_attn"],
        &["attn.c_proj"],
        &["ln_2"],
        &["mlp.c_fc"],
        &["mlp.c_proj"],
    ],
    final_norm: "ln_f",
    has_bias: true,
};

/// Names of GELU by the hyperbolic tangent.
const ACTIVATIONS: &[&str] =
    &["gelu_new", "gelu_pytorch_tanh", "gelu_python_tanh", "gelu_fast", "gelu_accurate"];

fn config_from_json(fields: &mut ConfigFields) -> Result<ModelConfig, ModelError> {
    fields.check_activation("activation_function", ACTIVATIONS)?;
    let is_scaled = fields.or(&["scale_attn_weights"], true)?;
    if !is_scaled || fields.or(&["scale_attn_by_inverse_layer_idx"], false)? {
        let reason = "attention scores are not scaled by 1 / sqrt(head width)".to_owned();
        return Err(ModelError::Unsupported { reason });
    }
    let width: usize = fields.or(&["n_embd", "hidden_size"], 768)?;
    let heads = fields.or(&["n_head", "num_attention_heads"], 12)?;
    let inner: Option<usize> = fields.optional("n_inner")?;
    Ok(ModelConfig {
        family: Family::Gpt2,
        vocab_size: fields.or(&["vocab_size"], 50_257)?,
        context: fields.or(&["n_positions", "max_position_embeddings"], 1024)?,
        width,
        layers: fields.or(&["n_layer", "num_hidden_layers"], 12)?,
        heads,
        kv_heads: heads,
        feed_forward_width: inner.unwrap_or(width.saturating_mul(4)),
        norm_eps: fields.or(&["layer_norm_epsilon"], 1e-5)?,
        tied_head: fields.or(&["tie_word_embeddings"], true)?,
    })
}

fn config_to_json(config: &ModelConfig) -> Value {
    json!({
        "architectures": ["GPT2LMHeadModel"],
        "model_type": FORMAT.model_type,
        "vocab_size": config.vocab_size,
        "n_positions": config.context,
        "n_embd": config.width,
        "n_layer": config.layers,
        "n_head": config.heads,
        "n_inner": config.feed_forward_width,
        "activation_function": "gelu_new",
        "layer_norm_epsilon": config.norm_eps,
        "tie_word_embeddings": config.tied_head,
        "bos_token_id": 0,
        "eos_token_id": 0,
        // Named so that a Python trainer does not add transformers' default of 0.1.
        "embd_pdrop": 0.0,
        "attn_pdrop": 0.0,
        "resid_pdrop": 0.0,
        "dtype": "float32",
    })
}

/// The causal masks.
fn is_buffer(name: &str) -> bool {
    let parts: Vec<&str> = name.split('.').collect();
    matches!(parts[..], ["h", layer, "attn", "bias" | "masked_bias"] if layer.parse::<u32>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hugging_face::format::tests::{assert_refused, changed};

    #[test]
    fn refuses_what_it_would_compute_wrongly() {
        let good = config_to_json(&ModelConfig::tang_4l(97));
        for (key, value, word) in [
            ("activation_function", json!("relu"), "relu"),
            ("activation_function", json!("gelu"), "`gelu`"),
            ("scale_attn_by_inverse_layer_idx", json!(true), "scaled"),
            ("scale_attn_weights", json!(false), "scaled"),
            ("add_cross_attention", json!(true), "add_cross_attention"),
            ("n_embd", json!("wide"), "wide"),
            ("n_head", Value::Null, "null"),
            ("hidden_size", json!(64), "`hidden_size` are one field"),
            ("architectures", json!(["GPT2ForTokenClassification"]), "Token"),
        ] {
            assert_refused(&good, key, value, word);
        }
    }

    #[test]
    fn a_missing_field_has_the_default_of_transformers() {
        let config = ModelConfig::try_from(json!({"model_type": FORMAT.model_type})).unwrap();
        let wanted = ModelConfig {
            family: Family::Gpt2,
            vocab_size: 50_257,
            context: 1024,
            width: 768,
            layers: 12,
            heads: 12,
            kv_heads: 12,
            feed_forward_width: 3072,
            norm_eps: 1e-5,
            tied_head: true,
        };
        assert_eq!(config, wanted);
    }

    #[test]
    fn one_function_has_several_names() {
        let config = ModelConfig::tang_4l(97);
        let good = config_to_json(&config);
        for name in ACTIVATIONS {
            let json = changed(&good, "activation_function", json!(name));
            assert_eq!(ModelConfig::try_from(json).unwrap(), config);
        }
    }

    #[test]
    fn masks_are_no_parameters() {
        for name in ["h.0.attn.bias", "h.11.attn.masked_bias"] {
            assert!(is_buffer(name), "{name}");
        }
        for name in ["h.0.attn.c_attn.bias", "attn.bias", "h.x.attn.bias", "h.0.attn.bias.x"] {
            assert!(!is_buffer(name), "{name}");
        }
    }
}

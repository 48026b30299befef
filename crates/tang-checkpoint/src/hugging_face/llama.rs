//! Llama as Hugging Face transformers stores it.

use serde_json::{Value, json};

use super::{config_fields::ConfigFields, format::Format, rope_json};
use crate::{Family, ModelConfig, ModelError};

pub(crate) const FORMAT: Format = Format {
    model_type: "llama",
    architectures: &["LlamaForCausalLM", "LlamaModel", "LLaMAForCausalLM"],
    read: config_from_json,
    write: config_to_json,
    prefix: "model.",
    is_buffer,
    token_embedding: "embed_tokens",
    position_embedding: None,
    layers: "layers",
    layer: [
        &["input_layernorm"],
        &["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"],
        &["self_attn.o_proj"],
        &["post_attention_layernorm"],
        &["mlp.gate_proj", "mlp.up_proj"],
        &["mlp.down_proj"],
    ],
    final_norm: "norm",
    has_bias: false,
};

/// Names of the sigmoid linear unit.
const ACTIVATIONS: &[&str] = &["silu", "swish"];

fn config_from_json(fields: &mut ConfigFields) -> Result<ModelConfig, ModelError> {
    let refuse = |reason| Err(ModelError::Unsupported { reason });
    fields.check_activation("hidden_act", ACTIVATIONS)?;
    for key in ["attention_bias", "mlp_bias"] {
        if fields.or(&[key], false)? {
            return refuse(format!("projections with a bias (`{key}`)"));
        }
    }
    let heads = fields.or(&["num_attention_heads"], 32)?;
    let kv_heads: Option<usize> = fields.optional("num_key_value_heads")?;
    let context = fields.or(&["max_position_embeddings"], 2048)?;
    let config = ModelConfig {
        family: Family::Llama { rope: rope_json::read(fields, context)? },
        vocab_size: fields.or(&["vocab_size"], 32_000)?,
        context,
        width: fields.or(&["hidden_size"], 4096)?,
        layers: fields.or(&["num_hidden_layers"], 32)?,
        heads,
        kv_heads: kv_heads.unwrap_or(heads),
        feed_forward_width: fields.or(&["intermediate_size"], 11_008)?,
        norm_eps: fields.or(&["rms_norm_eps"], 1e-6)?,
        tied_head: fields.or(&["tie_word_embeddings"], false)?,
    };
    config.validate()?;
    match fields.optional::<usize>("head_dim")? {
        Some(got) if got != config.head_dim() => refuse(format!(
            "head_dim {got} instead of {} (width {} over {} heads)",
            config.head_dim(),
            config.width,
            config.heads
        )),
        _ => Ok(config),
    }
}

fn config_to_json(config: &ModelConfig) -> Value {
    let mut json = json!({
        "architectures": ["LlamaForCausalLM"],
        "model_type": FORMAT.model_type,
        "vocab_size": config.vocab_size,
        "max_position_embeddings": config.context,
        "hidden_size": config.width,
        "intermediate_size": config.feed_forward_width,
        "num_hidden_layers": config.layers,
        "num_attention_heads": config.heads,
        "num_key_value_heads": config.kv_heads,
        "head_dim": config.head_dim(),
        "hidden_act": "silu",
        "rms_norm_eps": config.norm_eps,
        "attention_bias": false,
        "mlp_bias": false,
        "tie_word_embeddings": config.tied_head,
        "bos_token_id": 0,
        "eos_token_id": 0,
        "dtype": "float32",
    });
    if let Family::Llama { rope } = &config.family {
        rope_json::write(rope, &mut json);
    }
    json
}

/// The tables of rotary positions.
fn is_buffer(name: &str) -> bool {
    let Some((owner, table)) = name.rsplit_once("rotary_emb.") else {
        return false;
    };
    let parts: Vec<&str> = owner.split('.').collect();
    let is_owner = match parts[..] {
        [""] => true,
        ["layers", layer, "self_attn", ""] => layer.parse::<u32>().is_ok(),
        _ => false,
    };
    is_owner && ["inv_freq", "original_inv_freq", "cos_cached", "sin_cached"].contains(&table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rope;
    use crate::hugging_face::format::tests::{assert_refused, changed};

    fn good() -> Value {
        config_to_json(&ModelConfig {
            family: Family::Llama { rope: Rope::unscaled(5e5) },
            ..ModelConfig::minimind_4l(97)
        })
    }

    #[test]
    fn refuses_what_it_would_compute_wrongly() {
        for (key, value, word) in [
            ("hidden_act", json!("gelu"), "gelu"),
            ("attention_bias", json!(true), "bias"),
            ("mlp_bias", json!(true), "bias"),
            ("head_dim", json!(64), "64 instead of 32"),
            ("rope_scaling", json!({"factor": 2.0}), "scaled"),
            ("rope_parameters", json!({"rope_type": "yarn"}), "scaled"),
            ("rope_parameters", json!({"rope_theta": 0.5}), "rope_theta"),
            ("hidden_size", Value::Null, "null"),
            ("sliding_window", json!(64), "sliding_window"),
            ("layer_types", json!(["sliding_attention"]), "sliding_attention"),
            ("architectures", json!(["LlamaForSequenceClassification"]), "Sequence"),
        ] {
            assert_refused(&good(), key, value, word);
        }
    }

    #[test]
    fn a_missing_field_has_the_default_of_transformers() {
        let fields = json!({"model_type": FORMAT.model_type, "num_hidden_layers": 8});
        let wanted = ModelConfig {
            family: Family::Llama { rope: Rope::unscaled(10_000.0) },
            vocab_size: 32_000,
            context: 2048,
            width: 4096,
            layers: 8,
            heads: 32,
            kv_heads: 32,
            feed_forward_width: 11_008,
            norm_eps: 1e-6,
            tied_head: false,
        };
        assert_eq!(ModelConfig::try_from(fields).unwrap(), wanted);
        // All defaults together are Llama 2 of 7e9 parameters, which is more than is read.
        let all = json!({"model_type": FORMAT.model_type});
        let error = ModelConfig::try_from(all).unwrap_err().to_string();
        assert!(error.contains("about 7e9 parameters"), "{error}");
    }

    #[test]
    fn one_function_has_several_names() {
        for name in ACTIVATIONS {
            let json = changed(&good(), "hidden_act", json!(name));
            ModelConfig::try_from(json).unwrap();
        }
    }

    #[test]
    fn layers_of_full_attention_are_those_there_are() {
        let json = changed(&good(), "layer_types", json!(vec!["full_attention"; 4]));
        ModelConfig::try_from(json).unwrap();
    }

    #[test]
    fn rope_theta_is_found_where_either_version_keeps_it() {
        let theta = |edit: &dyn Fn(&mut Value)| {
            let mut json = good();
            edit(&mut json);
            match ModelConfig::try_from(json).unwrap().family {
                Family::Llama { rope } => rope.theta,
                Family::Gpt2 => unreachable!("model_type is llama"),
            }
        };
        assert_eq!(theta(&|_| ()), 5e5);
        assert_eq!(theta(&|json| json["rope_parameters"] = Value::Null), 5e5);
        assert_eq!(theta(&|json| json["rope_theta"] = Value::Null), 5e5);
        let neither = theta(&|json| {
            json["rope_theta"] = Value::Null;
            json["rope_parameters"] = Value::Null;
        });
        assert_eq!(neither, 10_000.0);
    }

    #[test]
    fn rotary_tables_are_no_parameters() {
        for name in [
            "layers.0.self_attn.rotary_emb.inv_freq",
            "rotary_emb.inv_freq",
            "layers.11.self_attn.rotary_emb.cos_cached",
        ] {
            assert!(is_buffer(name), "{name}");
        }
        for name in ["layers.0.self_attn.inv_freq", "x.rotary_emb.inv_freq", "rotary_emb.weight"] {
            assert!(!is_buffer(name), "{name}");
        }
    }
}

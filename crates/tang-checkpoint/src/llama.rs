//! Llama as Hugging Face transformers stores it.

use serde_json::{Value, json};

use crate::{
    Family, Initial, ModelConfig, ModelError, ParameterSpec, Rope,
    config_fields::ConfigFields,
    family::{check_activation, is_number},
    rope_json,
};

/// `model_type` in `config.json`.
pub(crate) const MODEL_TYPE: &str = "llama";
/// Beginning of the names of all tensors but the output head.
pub(crate) const PREFIX: &str = "model.";
/// Classes that compute logits, or the states under them, as this network does.
pub(crate) const ARCHITECTURES: &[&str] = &["LlamaForCausalLM", "LlamaModel", "LLaMAForCausalLM"];
/// Names of the sigmoid linear unit.
const ACTIVATIONS: &[&str] = &["silu", "swish"];

/// Reads the fields, with the defaults of transformers.
pub(crate) fn config_from_json(fields: &mut ConfigFields) -> Result<ModelConfig, ModelError> {
    let refuse = |reason| Err(ModelError::Unsupported { reason });
    check_activation(fields, "hidden_act", ACTIVATIONS)?;
    for key in ["attention_bias", "mlp_bias"] {
        if fields.or(&[key], false)? {
            return refuse(format!("projections with a bias (`{key}`)"));
        }
    }
    let heads = fields.or(&["num_attention_heads"], 32)?;
    let kv_heads: Option<usize> = fields.optional("num_key_value_heads")?;
    let context = fields.or(&["max_position_embeddings"], 2048)?;
    let config = ModelConfig {
        family: Family::Llama {
            rope: rope_json::read(fields, context)?,
        },
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

pub(crate) fn config_to_json(config: &ModelConfig, rope: &Rope) -> Value {
    let mut json = json!({
        "architectures": ["LlamaForCausalLM"],
        "model_type": MODEL_TYPE,
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
    rope_json::write(rope, &mut json);
    json
}

/// Whether a tensor, by its name behind the prefix, is one of the tables of rotary positions in old files:
/// they follow from the configuration.
pub(crate) fn is_buffer(name: &str) -> bool {
    let Some((owner, table)) = name.rsplit_once("rotary_emb.") else {
        return false;
    };
    let parts: Vec<&str> = owner.split('.').collect();
    let is_owner = match &parts[..] {
        [""] => true,
        ["layers", layer, "self_attn", ""] => is_number(layer),
        _ => false,
    };
    is_owner && ["inv_freq", "original_inv_freq", "cos_cached", "sin_cached"].contains(&table)
}

/// Matrices are stored as `[out, in]`; those that read the same input are joined side by side.
pub(crate) fn parameters(config: &ModelConfig) -> Vec<ParameterSpec> {
    let (width, inner) = (config.width, config.feed_forward_width);
    let kv_width = config.kv_heads * config.head_dim();
    let (normal, residual) = (Initial::NORMAL, Initial::residual(config));
    let head = [config.vocab_size, width];
    let mut list = vec![ParameterSpec::as_stored(
        "token_embedding",
        "model.embed_tokens.weight",
        &head,
        normal,
    )];
    for layer in 0..config.layers {
        let path = |rest: &str| format!("blocks.{layer}.{rest}.weight");
        let name = |rest: &str| format!("model.layers.{layer}.{rest}.weight");
        let norm = |ours, theirs| {
            ParameterSpec::as_stored(path(ours), name(theirs), &[width], Initial::Ones)
        };
        let joined = |ours, rows, parts: &[(&str, usize)], initial| {
            let parts = parts
                .iter()
                .map(|(theirs, columns)| (name(theirs), *columns));
            ParameterSpec::transposed(path(ours), rows, parts, initial)
        };
        list.extend([
            norm("attention_norm", "input_layernorm"),
            joined(
                "attention.input",
                width,
                &[
                    ("self_attn.q_proj", width),
                    ("self_attn.k_proj", kv_width),
                    ("self_attn.v_proj", kv_width),
                ],
                normal,
            ),
            joined(
                "attention.output",
                width,
                &[("self_attn.o_proj", width)],
                residual,
            ),
            norm("feed_forward_norm", "post_attention_layernorm"),
            joined(
                "feed_forward.input",
                width,
                &[("mlp.gate_proj", inner), ("mlp.up_proj", inner)],
                normal,
            ),
            joined(
                "feed_forward.output",
                inner,
                &[("mlp.down_proj", width)],
                residual,
            ),
        ]);
    }
    list.push(ParameterSpec::as_stored(
        "final_norm.weight",
        "model.norm.weight",
        &[width],
        Initial::Ones,
    ));
    list.extend(ParameterSpec::output_head(config));
    list
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::tests::{assert_refused, changed};

    fn good() -> Value {
        config_to_json(&ModelConfig::minimind_4l(97), &Rope::unscaled(5e5))
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
            (
                "layer_types",
                json!(["sliding_attention"]),
                "sliding_attention",
            ),
            (
                "architectures",
                json!(["LlamaForSequenceClassification"]),
                "Sequence",
            ),
        ] {
            assert_refused(&good(), key, value, word);
        }
    }

    #[test]
    fn a_missing_field_has_the_default_of_transformers() {
        let fields = json!({"model_type": MODEL_TYPE, "num_hidden_layers": 8});
        let wanted = ModelConfig {
            family: Family::Llama {
                rope: Rope::unscaled(10_000.0),
            },
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
        assert_eq!(Family::config_from_json(fields).unwrap(), wanted);
        // All defaults together are Llama 2 of 7e9 parameters, which is more than is read.
        let all = json!({"model_type": MODEL_TYPE});
        let error = Family::config_from_json(all).unwrap_err().to_string();
        assert!(error.contains("about 7e9 parameters"), "{error}");
    }

    #[test]
    fn one_function_has_several_names() {
        for name in ACTIVATIONS {
            let json = changed(&good(), "hidden_act", json!(name));
            Family::config_from_json(json).unwrap();
        }
    }

    #[test]
    fn layers_of_full_attention_are_those_there_are() {
        let json = changed(&good(), "layer_types", json!(vec!["full_attention"; 4]));
        Family::config_from_json(json).unwrap();
    }

    #[test]
    fn rope_theta_is_found_where_either_version_keeps_it() {
        let theta = |edit: &dyn Fn(&mut Value)| {
            let mut json = good();
            edit(&mut json);
            match Family::config_from_json(json).unwrap().family {
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
        for name in [
            "layers.0.self_attn.inv_freq",
            "x.rotary_emb.inv_freq",
            "rotary_emb.weight",
        ] {
            assert!(!is_buffer(name), "{name}");
        }
    }
}

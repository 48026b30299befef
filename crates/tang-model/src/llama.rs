//! Llama as Hugging Face transformers stores it.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::{Family, Initial, ModelConfig, ModelError, ParameterSpec, family::parse};

/// `model_type` in `config.json`.
pub(crate) const MODEL_TYPE: &str = "llama";
const DEFAULT_THETA: f64 = 10_000.0;

/// The part of `config.json` that matters here.
#[derive(Deserialize)]
struct Json {
    vocab_size: usize,
    max_position_embeddings: usize,
    hidden_size: usize,
    intermediate_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    #[serde(default)]
    num_key_value_heads: Option<usize>,
    #[serde(default)]
    head_dim: Option<usize>,
    hidden_act: String,
    rms_norm_eps: f64,
    #[serde(default)]
    attention_bias: bool,
    #[serde(default)]
    mlp_bias: bool,
    #[serde(default)]
    tie_word_embeddings: bool,
    /// Where transformers 4 keeps it.
    #[serde(default)]
    rope_theta: Option<f64>,
    #[serde(default)]
    rope_scaling: Option<Value>,
    /// Where transformers 5 keeps it.
    #[serde(default)]
    rope_parameters: Option<RopeParameters>,
}

#[derive(Deserialize)]
struct RopeParameters {
    #[serde(default)]
    rope_theta: Option<f64>,
    #[serde(default)]
    rope_type: Option<String>,
}

pub(crate) fn config_from_json(json: Value) -> Result<ModelConfig, ModelError> {
    let json: Json = parse(json)?;
    let refuse = |reason| Err(ModelError::Config { reason });
    if json.hidden_act != "silu" {
        let got = json.hidden_act;
        return refuse(format!("activation `{got}` instead of `silu`"));
    }
    if json.attention_bias || json.mlp_bias {
        return refuse("projections with a bias".to_owned());
    }
    let nested = json.rope_parameters.as_ref();
    let rope_type = nested.and_then(|rope| rope.rope_type.as_deref());
    if json.rope_scaling.is_some() || rope_type.is_some_and(|kind| kind != "default") {
        return refuse("rotary positions are scaled; only the default kind is known".to_owned());
    }
    let config = ModelConfig {
        family: Family::Llama {
            rope_theta: nested
                .and_then(|rope| rope.rope_theta)
                .or(json.rope_theta)
                .unwrap_or(DEFAULT_THETA),
        },
        vocab_size: json.vocab_size,
        context: json.max_position_embeddings,
        width: json.hidden_size,
        layers: json.num_hidden_layers,
        heads: json.num_attention_heads,
        kv_heads: json.num_key_value_heads.unwrap_or(json.num_attention_heads),
        feed_forward_width: json.intermediate_size,
        norm_eps: json.rms_norm_eps,
        tied_head: json.tie_word_embeddings,
    };
    config.validate()?;
    match json.head_dim {
        Some(got) if got != config.head_dim() => refuse(format!(
            "head_dim {got} instead of {} (width {} over {} heads)",
            config.head_dim(),
            config.width,
            config.heads
        )),
        _ => Ok(config),
    }
}

pub(crate) fn config_to_json(config: &ModelConfig, rope_theta: f64) -> Value {
    json!({
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
        "rope_theta": rope_theta,
        "rope_parameters": {"rope_type": "default", "rope_theta": rope_theta},
        "bos_token_id": 0,
        "eos_token_id": 0,
        "dtype": "float32",
    })
}

/// Old files hold the rotary wavelengths as buffers.
pub(crate) fn canonical_name(name: &str) -> Option<String> {
    (!name.ends_with(".rotary_emb.inv_freq")).then(|| name.to_owned())
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
    use crate::family::tests::assert_refused;

    #[test]
    fn refuses_what_it_would_compute_wrongly() {
        let good = config_to_json(&ModelConfig::minimind_4l(97), 5e5);
        for (key, value, word) in [
            ("hidden_act", json!("gelu"), "gelu"),
            ("attention_bias", json!(true), "bias"),
            ("mlp_bias", json!(true), "bias"),
            ("head_dim", json!(64), "64 instead of 32"),
            ("rope_scaling", json!({"factor": 2.0}), "scaled"),
            ("rope_parameters", json!({"rope_type": "yarn"}), "scaled"),
            ("hidden_size", Value::Null, "null"),
        ] {
            assert_refused(&good, key, value, word);
        }
    }

    #[test]
    fn rope_theta_is_found_where_either_version_keeps_it() {
        let theta = |edit: &dyn Fn(&mut Value)| {
            let mut json = config_to_json(&ModelConfig::minimind_4l(97), 5e5);
            edit(&mut json);
            match config_from_json(json).unwrap().family {
                Family::Llama { rope_theta } => rope_theta,
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
        assert_eq!(neither, DEFAULT_THETA);
    }
}

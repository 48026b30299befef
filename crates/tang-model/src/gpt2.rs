//! GPT-2 as Hugging Face transformers stores it.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    Family, Initial, ModelConfig, ModelError, ParameterSpec, family::parse, parameters::OUTPUT_HEAD,
};

/// `model_type` in `config.json`.
pub(crate) const MODEL_TYPE: &str = "gpt2";
const PREFIX: &str = "transformer.";

/// The part of `config.json` that matters here.
#[derive(Deserialize)]
struct Json {
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
    #[serde(default = "yes")]
    scale_attn_weights: bool,
    #[serde(default)]
    scale_attn_by_inverse_layer_idx: bool,
}

fn yes() -> bool {
    true
}

pub(crate) fn config_from_json(json: Value) -> Result<ModelConfig, ModelError> {
    let json: Json = parse(json)?;
    let refuse = |reason| Err(ModelError::Config { reason });
    if json.activation_function != "gelu_new" {
        let got = json.activation_function;
        return refuse(format!("activation `{got}` instead of `gelu_new`"));
    }
    if !json.scale_attn_weights || json.scale_attn_by_inverse_layer_idx {
        return refuse("attention scores are not scaled by 1 / sqrt(head width)".to_owned());
    }
    Ok(ModelConfig {
        family: Family::Gpt2,
        vocab_size: json.vocab_size,
        context: json.n_positions,
        width: json.n_embd,
        layers: json.n_layer,
        heads: json.n_head,
        kv_heads: json.n_head,
        feed_forward_width: json.n_inner.unwrap_or(json.n_embd.saturating_mul(4)),
        norm_eps: json.layer_norm_epsilon,
        tied_head: json.tie_word_embeddings,
    })
}

pub(crate) fn config_to_json(config: &ModelConfig) -> Value {
    json!({
        "architectures": ["GPT2LMHeadModel"],
        "model_type": MODEL_TYPE,
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

/// Old files have names without the prefix, and buffers for the causal mask.
pub(crate) fn canonical_name(name: &str) -> Option<String> {
    if name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias") {
        None
    } else if name.starts_with(PREFIX) || name == OUTPUT_HEAD {
        Some(name.to_owned())
    } else {
        Some(format!("{PREFIX}{name}"))
    }
}

/// Matrices are stored as `[in, out]`, as Burn has them, so every tensor is taken as it is.
pub(crate) fn parameters(config: &ModelConfig) -> Vec<ParameterSpec> {
    let (width, inner) = (config.width, config.feed_forward_width);
    let (normal, residual) = (Initial::NORMAL, Initial::residual(config));
    let mut list = Vec::new();
    let mut add = |path: String, name: String, shape: &[usize], initial| {
        list.push(ParameterSpec::as_stored(path, name, shape, initial));
    };
    let embeddings = [
        ("token_embedding", "wte", config.vocab_size),
        ("position_embedding", "wpe", config.context),
    ];
    for (path, name, rows) in embeddings {
        let name = format!("{PREFIX}{name}.weight");
        add(path.to_owned(), name, &[rows, width], normal);
    }
    for layer in 0..config.layers {
        for (path, name, shape, initial) in [
            ("attention_norm", "ln_1", [1, width], Initial::Ones),
            ("attention.input", "attn.c_attn", [width, 3 * width], normal),
            ("attention.output", "attn.c_proj", [width, width], residual),
            ("feed_forward_norm", "ln_2", [1, width], Initial::Ones),
            ("feed_forward.input", "mlp.c_fc", [width, inner], normal),
            (
                "feed_forward.output",
                "mlp.c_proj",
                [inner, width],
                residual,
            ),
        ] {
            let path = format!("blocks.{layer}.{path}");
            let name = format!("{PREFIX}h.{layer}.{name}");
            // A norm has a vector where a projection has a matrix.
            let is_norm = initial == Initial::Ones;
            let weight = if is_norm { &shape[1..] } else { &shape[..] };
            add(
                format!("{path}.weight"),
                format!("{name}.weight"),
                weight,
                initial,
            );
            let bias = &shape[1..];
            add(
                format!("{path}.bias"),
                format!("{name}.bias"),
                bias,
                Initial::Zeros,
            );
        }
    }
    for (part, initial) in [("weight", Initial::Ones), ("bias", Initial::Zeros)] {
        let name = format!("{PREFIX}ln_f.{part}");
        add(format!("final_norm.{part}"), name, &[width], initial);
    }
    list.extend(ParameterSpec::output_head(config));
    list
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::tests::assert_refused;

    #[test]
    fn refuses_what_it_would_compute_wrongly() {
        let good = config_to_json(&ModelConfig::tang_4l(97));
        config_from_json(good.clone()).unwrap();
        for (key, value, word) in [
            ("activation_function", json!("relu"), "relu"),
            ("scale_attn_by_inverse_layer_idx", json!(true), "scaled"),
            ("n_embd", json!("wide"), "wide"),
            ("n_head", Value::Null, "null"),
        ] {
            assert_refused(&good, key, value, word);
        }
    }

    #[test]
    fn old_names_are_completed_and_buffers_left_out() {
        let name = canonical_name;
        assert_eq!(name("h.0.ln_1.bias").unwrap(), "transformer.h.0.ln_1.bias");
        assert_eq!(
            name("transformer.wte.weight").unwrap(),
            "transformer.wte.weight"
        );
        assert_eq!(name("lm_head.weight").unwrap(), "lm_head.weight");
        assert_eq!(name("h.0.attn.bias"), None);
        assert_eq!(name("transformer.h.0.attn.masked_bias"), None);
    }
}

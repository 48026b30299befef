//! The two families of networks: what differs between them, by name.

use serde_json::Value;
use tang_files::escape_value;

use crate::{
    ModelConfig, ModelError, ParameterSpec, Rope, config_fields::ConfigFields, gpt2, llama,
    parameters::OUTPUT_HEAD,
};

/// Which network the geometry belongs to.
///
/// All that differs follows from it: norms, positions, the feed-forward network, biases, and how a Hugging Face checkpoint names and lays out its tensors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Family {
    /// GPT-2 (Radford et al., *Language Models are Unsupervised Multitask Learners*, 2019):
    /// learned positions, layer norm, GELU, biases.
    Gpt2,
    /// Llama (Touvron et al., *LLaMA*, 2023): rotary positions, RMS norm, SwiGLU, no biases, and
    /// fewer key/value heads than query heads if wanted (Ainslie et al., *GQA*, 2023).
    Llama {
        /// Its positions.
        rope: Rope,
    },
}

impl Family {
    /// The name that people know it by.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gpt2 => "GPT-2",
            Self::Llama { .. } => "Llama",
        }
    }

    /// Reads a Hugging Face `config.json` of either family, and leaves out no field that could change the
    /// logits.
    pub(crate) fn config_from_json(json: Value) -> Result<ModelConfig, ModelError> {
        let mut fields = ConfigFields::new("config.json", json)?;
        let model_type: Option<String> = fields.optional("model_type")?;
        let (architectures, read): (_, fn(&mut ConfigFields) -> _) = match model_type.as_deref() {
            Some(gpt2::MODEL_TYPE) => (gpt2::ARCHITECTURES, gpt2::config_from_json),
            Some(llama::MODEL_TYPE) => (llama::ARCHITECTURES, llama::config_from_json),
            other => {
                let other = other.map_or("none".to_owned(), |kind| {
                    format!("`{}`", escape_value(kind))
                });
                let (gpt2, llama) = (gpt2::MODEL_TYPE, llama::MODEL_TYPE);
                return Err(ModelError::Unsupported {
                    reason: format!("model_type {other} instead of `{gpt2}` or `{llama}`"),
                });
            }
        };
        check_each(&mut fields, "architectures", architectures)?;
        check_each(&mut fields, "layer_types", &["full_attention", "attention"])?;
        let config = read(&mut fields)?;
        fields.finish()?;
        config.validate()?;
        Ok(config)
    }

    /// The Hugging Face `config.json` of a geometry.
    pub(crate) fn config_to_json(config: &ModelConfig) -> Value {
        match config.family {
            Self::Gpt2 => gpt2::config_to_json(config),
            Self::Llama { rope } => llama::config_to_json(config, &rope),
        }
    }

    /// Every parameter of a geometry, in the order of the forward pass.
    pub(crate) fn parameters(config: &ModelConfig) -> Vec<ParameterSpec> {
        match config.family {
            Self::Gpt2 => gpt2::parameters(config),
            Self::Llama { .. } => llama::parameters(config),
        }
    }

    /// The full name of a tensor in a checkpoint, in which the prefix of all may be missing; `None` for one
    /// that holds no parameter.
    pub(crate) fn canonical_name(self, name: &str) -> Option<String> {
        let (prefix, is_buffer): (_, fn(&str) -> bool) = match self {
            Self::Gpt2 => (gpt2::PREFIX, gpt2::is_buffer),
            Self::Llama { .. } => (llama::PREFIX, llama::is_buffer),
        };
        if name == OUTPUT_HEAD {
            return Some(name.to_owned());
        }
        let rest = name.strip_prefix(prefix).unwrap_or(name);
        (!is_buffer(rest)).then(|| format!("{prefix}{rest}"))
    }
}

/// Takes the name of an activation out, the first of `names` if it is missing.
///
/// # Errors
///
/// [`ModelError::Unsupported`] if it is not one of `names`.
pub(crate) fn check_activation(
    fields: &mut ConfigFields,
    key: &str,
    names: &[&str],
) -> Result<(), ModelError> {
    let got = fields.or(&[key], names[0].to_owned())?;
    if names.contains(&got.as_str()) {
        return Ok(());
    }
    Err(ModelError::Unsupported {
        reason: format!(
            "activation `{}` instead of `{}`",
            escape_value(&got),
            names[0]
        ),
    })
}

/// Takes a list out, which may be missing.
///
/// # Errors
///
/// [`ModelError::Unsupported`] if one of it is not in `known`.
fn check_each(fields: &mut ConfigFields, key: &str, known: &[&str]) -> Result<(), ModelError> {
    let list: Option<Vec<String>> = fields.optional(key)?;
    let unknown = |name: &String| !known.contains(&name.as_str());
    match list.into_iter().flatten().find(unknown) {
        None => Ok(()),
        Some(name) => Err(ModelError::Unsupported {
            reason: format!("`{}` in `{key}`", escape_value(&name)),
        }),
    }
}

/// Whether part of a tensor's name is the number of a layer.
pub(crate) fn is_number(part: &str) -> bool {
    part.parse::<u32>().is_ok()
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::json;

    use super::*;

    /// A configuration with another value of one field.
    pub(crate) fn changed(good: &Value, key: &str, value: Value) -> Value {
        let mut json = good.clone();
        json[key] = value;
        json
    }

    /// Asserts that a configuration is refused with `word` once `key` is `value`.
    #[track_caller]
    pub(crate) fn assert_refused(good: &Value, key: &str, value: Value, word: &str) {
        Family::config_from_json(good.clone()).unwrap();
        let json = changed(good, key, value);
        let error = Family::config_from_json(json).unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
    }

    #[test]
    fn another_kind_of_model_is_named_on_one_line() {
        for (json, word) in [
            (json!({"model_type": "mamba"}), "`mamba`"),
            (
                json!({"model_type": "a\u{1b}[31m\n"}),
                r"`a\u{1b}[31m\u{a}`",
            ),
            (json!({"n_embd": 3}), "model_type none"),
        ] {
            let error = Family::config_from_json(json).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
    }

    #[test]
    fn a_name_is_completed_and_a_buffer_left_out() {
        let llama = Family::Llama {
            rope: Rope::unscaled(1e4),
        };
        for (family, name, wanted) in [
            (
                Family::Gpt2,
                "h.0.ln_1.bias",
                Some("transformer.h.0.ln_1.bias"),
            ),
            (
                Family::Gpt2,
                "transformer.wte.weight",
                Some("transformer.wte.weight"),
            ),
            (Family::Gpt2, "lm_head.weight", Some("lm_head.weight")),
            (Family::Gpt2, "h.0.attn.bias", None),
            (Family::Gpt2, "transformer.h.0.attn.masked_bias", None),
            (llama, "norm.weight", Some("model.norm.weight")),
            (llama, "model.rotary_emb.inv_freq", None),
            (llama, "layers.1.self_attn.rotary_emb.inv_freq", None),
        ] {
            assert_eq!(family.canonical_name(name).as_deref(), wanted);
        }
    }
}

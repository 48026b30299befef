//! The differences between the families in a checkpoint, and the `config.json` of either.

use serde_json::Value;
use tang_files::escape_value;

use super::{config_fields::ConfigFields, gpt2, llama, parameters::OUTPUT_HEAD};
use crate::{Family, ModelConfig, ModelError};

/// A family's fields of `config.json` and names of tensors.
pub(crate) struct Format {
    /// `model_type` in `config.json`.
    pub model_type: &'static str,
    /// Names of the transformers classes of this network, with the output head or without.
    pub architectures: &'static [&'static str],
    /// Reads the fields of `config.json`, with the defaults of transformers.
    pub read: fn(&mut ConfigFields) -> Result<ModelConfig, ModelError>,
    pub write: fn(&ModelConfig) -> Value,
    /// Beginning of the names of all tensors but the output head.
    pub prefix: &'static str,
    /// Whether a tensor, by its name after the prefix, is a table that old files contain although
    /// the configuration gives it.
    pub is_buffer: fn(&str) -> bool,
    pub token_embedding: &'static str,
    pub position_embedding: Option<&'static str>,
    /// Name of the list of layers.
    pub layers: &'static str,
    /// Names of the tensors of a layer: attention norm, attention input and output, feed-forward norm,
    /// feed-forward input and output. Several matrices are joined side by side.
    pub layer: [&'static [&'static str]; 6],
    pub final_norm: &'static str,
    /// Whether matrices are stored as `[in, out]` and every matrix and norm has a bias; if not, matrices are
    /// `[out, in]` and nothing has a bias.
    pub has_bias: bool,
}

impl Format {
    pub(crate) const ALL: [&'static Self; 2] = [&gpt2::FORMAT, &llama::FORMAT];

    pub(crate) fn of(family: Family) -> &'static Self {
        match family {
            Family::Gpt2 => &gpt2::FORMAT,
            Family::Llama { .. } => &llama::FORMAT,
        }
    }

    /// Name of the token embedding in a checkpoint.
    pub(crate) fn token_embedding(&self) -> String {
        format!("{}{}.weight", self.prefix, self.token_embedding)
    }

    /// The full name of a tensor, whose prefix may be missing; `None` for a table that is no
    /// parameter.
    pub(crate) fn canonical_name(&self, name: &str) -> Option<String> {
        if name == OUTPUT_HEAD {
            return Some(name.to_owned());
        }
        let rest = name.strip_prefix(self.prefix).unwrap_or(name);
        (!(self.is_buffer)(rest)).then(|| format!("{}{rest}", self.prefix))
    }
}

impl From<ModelConfig> for Value {
    fn from(config: ModelConfig) -> Self {
        (Format::of(config.family).write)(&config)
    }
}

impl TryFrom<Value> for ModelConfig {
    type Error = ModelError;

    /// Reads a `config.json` of either family, and refuses every unknown field that could change
    /// the logits.
    fn try_from(json: Value) -> Result<Self, ModelError> {
        let mut fields = ConfigFields::new("config.json", json)?;
        let model_type: Option<String> = fields.optional("model_type")?;
        let is_it = |format: &&&Format| model_type.as_deref() == Some(format.model_type);
        let format = Format::ALL.iter().find(is_it).ok_or_else(|| {
            let got = model_type.as_ref().map(|kind| format!("`{}`", escape_value(kind)));
            let got = got.as_deref().unwrap_or("none");
            let [one, other] = Format::ALL.map(|format| format.model_type);
            ModelError::Unsupported {
                reason: format!("model_type {got} instead of `{one}` or `{other}`"),
            }
        })?;
        fields.check_each("architectures", format.architectures)?;
        fields.check_each("layer_types", &["full_attention", "attention"])?;
        let config = (format.read)(&mut fields)?;
        fields.finish()?;
        config.validate()?;
        Ok(config)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::json;

    use super::*;
    use crate::Rope;

    /// A configuration with another value of one field.
    pub(crate) fn changed(good: &Value, key: &str, value: Value) -> Value {
        let mut json = good.clone();
        json[key] = value;
        json
    }

    /// Asserts that a configuration is refused with `word` once `key` is `value`.
    #[track_caller]
    pub(crate) fn assert_refused(good: &Value, key: &str, value: Value, word: &str) {
        ModelConfig::try_from(good.clone()).unwrap();
        let json = changed(good, key, value);
        let error = ModelConfig::try_from(json).unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
    }

    #[test]
    fn another_kind_of_model_is_named_on_one_line() {
        for (json, word) in [
            (json!({"model_type": "mamba"}), "`mamba`"),
            (json!({"model_type": "a\u{1b}[31m\n"}), r"`a\u{1b}[31m\u{a}`"),
            (json!({"n_embd": 3}), "model_type none"),
        ] {
            let error = ModelConfig::try_from(json).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
    }

    #[test]
    fn a_name_is_completed_and_a_buffer_left_out() {
        let llama = Family::Llama { rope: Rope::unscaled(1e4) };
        for (family, name, wanted) in [
            (Family::Gpt2, "h.0.ln_1.bias", Some("transformer.h.0.ln_1.bias")),
            (Family::Gpt2, "transformer.wte.weight", Some("transformer.wte.weight")),
            (Family::Gpt2, "lm_head.weight", Some("lm_head.weight")),
            (Family::Gpt2, "h.0.attn.bias", None),
            (Family::Gpt2, "transformer.h.0.attn.masked_bias", None),
            (llama, "norm.weight", Some("model.norm.weight")),
            (llama, "model.rotary_emb.inv_freq", None),
            (llama, "layers.1.self_attn.rotary_emb.inv_freq", None),
        ] {
            assert_eq!(Format::of(family).canonical_name(name).as_deref(), wanted);
        }
    }
}

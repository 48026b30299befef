//! A geometry as `config.json`.

use serde_json::Value;
use tang_files::escape_value;

use super::{config_fields::ConfigFields, format::Format};
use crate::{ModelConfig, ModelError};

impl From<ModelConfig> for Value {
    fn from(config: ModelConfig) -> Self {
        (Format::of(config.family).write)(&config)
    }
}

impl TryFrom<Value> for ModelConfig {
    type Error = ModelError;

    /// Reads a `config.json` of either family, and passes over no field that could change the logits.
    fn try_from(json: Value) -> Result<Self, ModelError> {
        let mut fields = ConfigFields::new("config.json", json)?;
        let model_type: Option<String> = fields.optional("model_type")?;
        let is_it = |format: &&&Format| model_type.as_deref() == Some(format.model_type);
        let format = Format::ALL.iter().find(is_it).ok_or_else(|| {
            let got = model_type
                .as_ref()
                .map(|kind| format!("`{}`", escape_value(kind)));
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
            (
                json!({"model_type": "a\u{1b}[31m\n"}),
                r"`a\u{1b}[31m\u{a}`",
            ),
            (json!({"n_embd": 3}), "model_type none"),
        ] {
            let error = ModelConfig::try_from(json).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
    }
}

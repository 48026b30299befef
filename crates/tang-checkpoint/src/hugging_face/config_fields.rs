//! The fields of a `config.json`, each read once, so that none is ignored.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tang_files::escape_value;

use crate::ModelError;

/// Fields that do not change the logits: of training, of drawing text, of memory, and of other kinds of heads.
const WITHOUT_EFFECT: &str = "\
    attn_implementation bad_words_ids begin_suppress_tokens chunk_size_feed_forward \
    diversity_penalty do_sample dtype early_stopping encoder_no_repeat_ngram_size \
    exponential_decay_length_penalty finetuning_task gradient_checkpointing id2label ignore_index \
    initializer_range is_decoder is_llama_config keys_to_ignore_at_inference label2id \
    length_penalty max_length max_new_tokens max_sequence_length min_length model_max_length \
    model_type n_ctx n_special name_or_path no_repeat_ngram_size num_beam_groups num_beams \
    num_labels num_return_sequences output_attentions output_hidden_states output_past \
    output_scores predict_special_tokens prefix pretraining_tp problem_type remove_invalid_values \
    reorder_and_upcast_attn repetition_penalty return_dict return_dict_in_generate \
    summary_activation summary_proj_to_labels summary_type summary_use_proj suppress_tokens \
    task_specific_params temperature tokenizer_class top_k top_p torch_dtype torchscript \
    transformers.js_config transformers_version typical_p unsloth_fixed unsloth_version \
    use_bfloat16 use_cache xla_device";

/// Beginnings and endings of names of such fields: private ones, dropout, which only training has, and
/// tokens with a task in a text.
const START_WITHOUT_EFFECT: char = '_';
const ENDS_WITHOUT_EFFECT: [&str; 3] = ["dropout", "_pdrop", "_token_id"];

/// Multipliers that change nothing if they are 1.
const ONE_WITHOUT_EFFECT: &str = "embedding_multiplier logit_scale logits_scaling \
    partial_rotary_factor residual_multiplier";

/// The fields of a JSON object that have not been read yet.
pub(crate) struct ConfigFields {
    place: String,
    left: Map<String, Value>,
}

impl ConfigFields {
    /// The fields of `json`; `place` is its name in error messages.
    pub(crate) fn new(place: &str, json: Value) -> Result<Self, ModelError> {
        match json {
            Value::Object(left) => Ok(Self { place: place.to_owned(), left }),
            other => Err(ModelError::Config {
                reason: format!("`{place}` is {}, wanted an object", shown(&other)),
            }),
        }
    }

    /// Takes a field, which may be missing or null.
    pub(crate) fn optional<T: DeserializeOwned>(
        &mut self,
        key: &str,
    ) -> Result<Option<T>, ModelError> {
        match self.left.remove(key) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => self.parse(key, value).map(Some),
        }
    }

    /// Takes a field that may have any of these names, with the same value under each, or its
    /// default if it is missing.
    pub(crate) fn or<T: DeserializeOwned + PartialEq>(
        &mut self,
        names: &[&str],
        default: T,
    ) -> Result<T, ModelError> {
        let mut found: Option<(&str, T)> = None;
        for name in names {
            let Some(value) = self.left.remove(*name) else {
                continue;
            };
            let value = self.parse(name, value)?;
            if let Some((first, other)) = &found
                && *other != value
            {
                return Err(ModelError::Config {
                    reason: format!("`{first}` and `{name}` are one field with two values"),
                });
            }
            found = Some((name, value));
        }
        Ok(found.map_or(default, |(_, value)| value))
    }

    /// Takes the name of an activation, which has to be one of `names`; the first if it is missing.
    pub(crate) fn check_activation(&mut self, key: &str, names: &[&str]) -> Result<(), ModelError> {
        let got = self.or(&[key], names[0].to_owned())?;
        if names.contains(&got.as_str()) {
            return Ok(());
        }
        let (got, wanted) = (escape_value(&got), names[0]);
        Err(ModelError::Unsupported { reason: format!("activation `{got}` instead of `{wanted}`") })
    }

    /// Takes a list of entries of `known`, which may be missing.
    pub(crate) fn check_each(&mut self, key: &str, known: &[&str]) -> Result<(), ModelError> {
        let list: Option<Vec<String>> = self.optional(key)?;
        let unknown = |name: &String| !known.contains(&name.as_str());
        match list.into_iter().flatten().find(unknown) {
            None => Ok(()),
            Some(name) => Err(ModelError::Unsupported {
                reason: format!("`{}` in `{key}`", escape_value(&name)),
            }),
        }
    }

    /// Checks that nothing is left that could change the logits. Null, false and empty values switch
    /// nothing on.
    pub(crate) fn finish(self) -> Result<(), ModelError> {
        let is_in = |names: &str, key: &str| names.split(' ').any(|name| name == key);
        let unknown = self.left.into_iter().find(|(key, value)| {
            let has_effect = !is_in(WITHOUT_EFFECT, key)
                && !key.starts_with(START_WITHOUT_EFFECT)
                && !ENDS_WITHOUT_EFFECT.iter().any(|end| key.ends_with(end));
            let is_one = is_in(ONE_WITHOUT_EFFECT, key) && value.as_f64() == Some(1.0);
            has_effect && !is_one && !is_off(value)
        });
        match unknown {
            None => Ok(()),
            Some((key, value)) => Err(ModelError::Unsupported {
                reason: format!(
                    "`{}` has `{}`: {}, which may change the logits",
                    self.place,
                    escape_value(&key),
                    shown(&value)
                ),
            }),
        }
    }

    fn parse<T: DeserializeOwned>(&self, key: &str, value: Value) -> Result<T, ModelError> {
        serde_json::from_value(value).map_err(|error| ModelError::Config {
            reason: format!("`{key}` of `{}`: {}", self.place, escape_value(&error.to_string())),
        })
    }
}

/// Whether a value switches nothing on.
fn is_off(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(true) | Value::Number(_) => false,
    }
}

/// A value of a file in an error message.
fn shown(value: &Value) -> String {
    escape_value(&value.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fields(json: Value) -> ConfigFields {
        ConfigFields::new("config.json", json).unwrap()
    }

    #[test]
    fn what_could_change_the_logits_is_named() {
        for (key, value) in [
            ("final_logit_softcapping", json!(30.0)),
            ("attn_logit_softcapping", json!(50.0)),
            ("logit_scale", json!(0.5)),
            ("residual_multiplier", json!(0.22)),
            ("attention_multiplier", json!(1.0)),
            ("sliding_window", json!(16)),
            ("use_qk_norm", json!(true)),
            ("quantization_config", json!({"bits": 4})),
            ("pruned_heads", json!({"0": [1]})),
            ("auto_map", json!({"AutoModel": "modeling_x.X"})),
            ("parallel_residual", json!("on")),
            ("partial_rotary_factor", json!(0.5)),
        ] {
            let error = fields(json!({ key: value })).finish().unwrap_err();
            assert!(matches!(error, ModelError::Unsupported { .. }), "{error}");
            assert!(error.to_string().contains(&format!("`{key}`")), "{error}");
        }
        let error = fields(json!({"a\u{1b}\nb": "\u{200b}".repeat(999)}));
        let error = error.finish().unwrap_err().to_string();
        assert!(error.contains(r"`a\u{1b}\u{a}b`"), "{error}");
        assert!(error.chars().count() < 2500, "{error}");
    }

    #[test]
    fn what_is_off_or_about_something_else_is_passed_over() {
        let json = json!({
            "sliding_window": null, "use_qk_norm": false, "pruned_heads": {}, "layer_kinds": [],
            "quantization": "", "logit_scale": 1.0, "residual_multiplier": 1, "pad_token_id": 7,
            "_name_or_path": "gpt2", "use_cache": true, "attn_pdrop": 0.1, "embedding_dropout": 0.2,
            "temperature": 0.7, "dtype": "float16",
            "mask_token_id": 4, "eos_token_id": [1, 2], "ignore_index": -100, "model_max_length": 2048,
        });
        fields(json).finish().unwrap();
        // As the SmolLM models of the Llama family have them.
        let json = json!({
            "is_llama_config": true, "rope_interleaved": false,
            "transformers.js_config": {"kv_cache_dtype": {"fp16": "float16"}, "dtype": "q4"},
        });
        fields(json).finish().unwrap();
        let error = fields(json!({"rope_interleaved": true})).finish();
        assert!(error.is_err(), "another order of the numbers of a head");
    }

    #[test]
    fn a_field_has_one_value_and_one_type() {
        let names = ["n_embd", "hidden_size"];
        let read = |json| fields(json).or(&names, 768_usize);
        assert_eq!(read(json!({})).unwrap(), 768);
        assert_eq!(read(json!({"hidden_size": 32})).unwrap(), 32);
        assert_eq!(read(json!({"n_embd": 8, "hidden_size": 8})).unwrap(), 8);
        for (json, word) in [
            (json!({"n_embd": 8, "hidden_size": 9}), "two values"),
            (json!({"n_embd": null}), "`n_embd` of `config.json`: invalid type: null"),
            (json!({"n_embd": -3}), "-3"),
            (json!({"hidden_size": "wide"}), "wide"),
        ] {
            let error = read(json).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
        let not_an_object = ConfigFields::new("config.json", json!([1]));
        let error = not_an_object.err().unwrap().to_string();
        assert!(error.contains("`config.json` is [1]"), "{error}");
    }
}

//! Rotary positions in a `config.json`: `rope_theta` with `rope_scaling`, as transformers 4 has them, and
//! `rope_parameters`, as transformers 5 does.

use serde_json::{Value, json};
use tang_files::escape_value;

use super::config_fields::ConfigFields;
use crate::{ModelError, Rope, geometry::RopeScaling};

const DEFAULT_THETA: f64 = 10_000.0;
/// Objects that name a scaling, in the order in which transformers 5 takes them.
const KEYS: [&str; 2] = ["rope_scaling", "rope_parameters"];
/// The one layer type that a Llama has, under which its parameters may be nested.
const LAYER_TYPE: &str = "full_attention";

/// Numbers of the configuration itself, for objects that leave them out.
#[derive(Clone, Copy)]
struct Beside {
    theta: f64,
    context: usize,
    original_context: Option<usize>,
}

/// Takes the rotary positions out of a configuration with a context of `context` positions. If the
/// second object has no scaling, the first one is used.
pub(crate) fn read(fields: &mut ConfigFields, context: usize) -> Result<Rope, ModelError> {
    let beside = Beside {
        theta: fields.optional("rope_theta")?.unwrap_or(DEFAULT_THETA),
        context,
        original_context: fields.optional("original_max_position_embeddings")?,
    };
    let mut found: Option<Rope> = None;
    for key in KEYS {
        let Some(value) = fields.optional::<Value>(key)? else {
            continue;
        };
        if value.as_object().is_some_and(|object| object.is_empty()) {
            continue;
        }
        let rope = read_object(key, value, beside)?;
        match found {
            None => found = Some(rope),
            Some(first) if first == rope || rope == Rope::unscaled(first.theta) => {}
            Some(first) => {
                let [one, other] = KEYS;
                let [kind, other_kind] =
                    [first, rope].map(|rope| json!(rope.scaling)["rope_type"].clone());
                let reason = format!(
                    "`{one}` has {kind} rotary positions of base {}, and `{other}` {other_kind} ones of base {}",
                    first.theta, rope.theta
                );
                return Err(ModelError::Config { reason });
            }
        }
    }
    Ok(found.unwrap_or(Rope::unscaled(beside.theta)))
}

fn read_object(place: &str, value: Value, beside: Beside) -> Result<Rope, ModelError> {
    let mut fields = ConfigFields::new(place, value)?;
    if let Some(nested) = fields.optional(LAYER_TYPE)? {
        fields.finish()?;
        return read_object(&format!("{place}.{LAYER_TYPE}"), nested, beside);
    }
    let config_error = |reason| ModelError::Config { reason };
    let [kind, old_kind] = ["rope_type", "type"].map(|key| fields.optional::<String>(key));
    let kind = match (kind?, old_kind?) {
        (Some(kind), Some(old)) if kind != old => {
            let (kind, old) = (escape_value(&kind), escape_value(&old));
            return Err(config_error(format!("`{place}` has rope_type `{kind}` and type `{old}`")));
        }
        (kind, old) => kind.or(old).unwrap_or_else(|| "default".to_owned()),
    };
    let theta = fields.optional("rope_theta")?.unwrap_or(beside.theta);
    let original: Option<usize> = fields.optional("original_max_position_embeddings")?;
    let original_context = beside.original_context.or(original).unwrap_or(beside.context);
    let mut number = |key: &str| -> Result<f64, ModelError> {
        fields.optional(key)?.ok_or_else(|| {
            config_error(format!(
                "`{place}` has rotary positions scaled by `{kind}`, and no `{key}`"
            ))
        })
    };
    let scaling = match kind.as_str() {
        "default" => RopeScaling::Unscaled,
        "linear" => RopeScaling::Linear { factor: number("factor")? },
        "dynamic" => RopeScaling::Dynamic { factor: number("factor")? },
        "llama3" => RopeScaling::Llama3 {
            factor: number("factor")?,
            low_freq_factor: number("low_freq_factor")?,
            high_freq_factor: number("high_freq_factor")?,
            original_context,
        },
        "yarn" => read_yarn(number("factor")?, original_context, &mut fields)?,
        other => {
            let reason = format!(
                "`{place}` has rotary positions scaled by `{}`; only linear, dynamic, llama3 and yarn are computed",
                escape_value(other)
            );
            return Err(ModelError::Unsupported { reason });
        }
    };
    if let Some(factor) = fields.optional::<f64>("factor")? {
        let reason = format!(
            "`{place}` says that rotary positions are scaled by {factor}, and not how: name its `rope_type`"
        );
        return Err(config_error(reason));
    }
    fields.finish()?;
    Ok(Rope { theta, scaling })
}

fn read_yarn(
    factor: f64,
    original_context: usize,
    fields: &mut ConfigFields,
) -> Result<RopeScaling, ModelError> {
    // 0 counts as missing, as it does in Python.
    let mut number = |key: &str| -> Result<Option<f64>, ModelError> {
        let number = fields.optional::<f64>(key)?;
        Ok(number.filter(|number| *number != 0.0))
    };
    let scales = number("mscale")?.zip(number("mscale_all_dim")?);
    let [beta_fast, beta_slow] = [number("beta_fast")?, number("beta_slow")?];
    let given: Option<f64> = fields.optional("attention_factor")?;
    let growth = |scale: f64| 0.1 * scale * factor.max(1.0).ln() + 1.0;
    let by_scales = || scales.map(|(scale, all)| growth(scale) / growth(all));
    Ok(RopeScaling::Yarn {
        factor,
        attention_factor: given.or_else(by_scales).unwrap_or_else(|| growth(1.0)),
        beta_fast: beta_fast.unwrap_or(32.0),
        beta_slow: beta_slow.unwrap_or(1.0),
        truncate: fields.optional("truncate")?.unwrap_or(true),
        original_context,
    })
}

/// Adds rotary positions to a configuration, where either version of transformers looks for them.
pub(crate) fn write(rope: &Rope, config: &mut Value) {
    config["rope_theta"] = json!(rope.theta);
    config["rope_parameters"] = json!(rope.scaling);
    config["rope_parameters"]["rope_theta"] = json!(rope.theta);
    if rope.scaling != RopeScaling::Unscaled {
        config["rope_scaling"] = json!(rope.scaling);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rope(json: Value) -> Result<Rope, ModelError> {
        let mut fields = ConfigFields::new("config.json", json).unwrap();
        let rope = read(&mut fields, 64)?;
        fields.finish()?;
        Ok(rope)
    }

    #[test]
    fn what_scales_nothing_loads_under_either_key() {
        for value in [
            Value::Null,
            json!({}),
            json!({"rope_type": "default"}),
            json!({"type": "default"}),
            json!({"rope_type": null, "factor": null}),
            json!({"full_attention": {"rope_type": "default"}}),
        ] {
            for key in KEYS {
                let read = rope(json!({key: value, "rope_theta": 5e5})).unwrap();
                assert_eq!(read, Rope::unscaled(5e5), "{key}: {value}");
            }
        }
        let inner = json!({"rope_parameters": {"rope_theta": 100}, "rope_theta": 5e5});
        assert_eq!(rope(inner).unwrap(), Rope::unscaled(100.0));
        assert_eq!(rope(json!({})).unwrap(), Rope::unscaled(DEFAULT_THETA));
    }

    #[test]
    fn a_scaling_is_found_under_either_key_and_spelling_nested_or_not() {
        let wanted = Rope { theta: 10_000.0, scaling: RopeScaling::Linear { factor: 4.0 } };
        for key in KEYS {
            for spelling in ["type", "rope_type"] {
                let object = json!({spelling: "linear", "factor": 4});
                let nested = json!({LAYER_TYPE: object});
                assert_eq!(rope(json!({key: object})).unwrap(), wanted);
                assert_eq!(rope(json!({key: nested})).unwrap(), wanted);
            }
        }
    }

    #[test]
    fn all_kinds_round_trip() {
        let (factor, original_context) = (4.0, 32);
        for scaling in [
            RopeScaling::Unscaled,
            RopeScaling::Linear { factor },
            RopeScaling::Dynamic { factor },
            RopeScaling::Llama3 {
                factor,
                low_freq_factor: 1.0,
                high_freq_factor: 4.0,
                original_context,
            },
            RopeScaling::Yarn {
                factor,
                attention_factor: 1.25,
                beta_fast: 16.0,
                beta_slow: 2.0,
                truncate: false,
                original_context,
            },
        ] {
            let wanted = Rope { theta: 5e5, scaling };
            let mut config = json!({});
            write(&wanted, &mut config);
            assert_eq!(rope(config.clone()).unwrap(), wanted);
            for key in KEYS {
                let mut one = config.clone();
                one[key] = Value::Null;
                assert_eq!(rope(one).unwrap(), wanted, "{key}");
            }
        }
    }

    #[test]
    fn what_is_not_computed_is_refused_by_name() {
        let scaled = |kind: &str| json!({"rope_type": kind, "factor": 4.0});
        for (value, word) in [
            (scaled("longrope"), "`longrope`"),
            (scaled("proportional"), "`proportional`"),
            (json!({"type": "su", "long_factor": [1.0]}), "`su`"),
            (json!({"type": "mrope", "mrope_section": [16, 24]}), "`mrope`"),
            (scaled("ya\u{200b}rn"), r"`ya\u{200b}rn`"),
            (json!({"full_attention": scaled("longrope")}), "`longrope`"),
            (json!({"sliding_attention": scaled("linear")}), "sliding_attention"),
            (
                json!({"full_attention": scaled("linear"), "sliding_attention": scaled("linear")}),
                "sliding_attention",
            ),
            (json!({"factor": 2.0}), "name its `rope_type`"),
            (json!({"rope_type": "default", "factor": 2.0}), "scaled by 2"),
            (json!({"rope_type": "linear"}), "no `factor`"),
            (json!({"rope_type": "llama3", "factor": 8.0}), "no `low_freq_factor`"),
            (json!({"rope_type": "yarn"}), "no `factor`"),
            (json!({"rope_type": "linear", "type": "dynamic"}), "`dynamic`"),
            (json!({"rope_type": "linear", "factor": 4.0, "alpha": 1000}), "`alpha`"),
            (
                json!({"rope_type": "default", "partial_rotary_factor": 0.5}),
                "partial_rotary_factor",
            ),
            (json!({"rope_type": "linear", "factor": "4"}), "factor"),
            (json!("linear"), "wanted an object"),
        ] {
            for key in KEYS {
                let error = rope(json!({key: value})).unwrap_err().to_string();
                assert!(error.contains(word) && error.contains(key), "{error}");
            }
        }
    }

    #[test]
    fn the_key_that_scales_counts_and_two_that_differ_are_named() {
        let [yarn, linear] =
            ["yarn", "linear"].map(|kind| json!({"rope_type": kind, "factor": 4.0}));
        let plain = json!({"rope_type": "default"});
        let wanted = rope(json!({"rope_scaling": linear})).unwrap();
        let both = |first: &Value, second: &Value| {
            rope(json!({"rope_scaling": first, "rope_parameters": second}))
        };
        assert_eq!(both(&linear, &plain).unwrap(), wanted);
        assert_eq!(both(&json!({}), &linear).unwrap(), wanted);
        assert_eq!(both(&linear, &linear).unwrap(), wanted);
        for (first, second) in
            [(&linear, &yarn), (&plain, &linear), (&linear, &json!({"rope_theta": 5e5}))]
        {
            let error = both(first, second).unwrap_err().to_string();
            assert!(error.contains("linear") && error.contains("base 10000"), "{error}");
        }
    }
}

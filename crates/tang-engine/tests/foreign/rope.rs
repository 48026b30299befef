//! Scaled rotary positions.

use serde::Deserialize;
use serde_json::{Value, json};
use tang_engine::KvCache;
use tang_tokenizer::TokenId;

use crate::copied::{Copied, LLAMA, TOLERANCE, distance, golden, json_of};

#[derive(Deserialize)]
struct Rope {
    tokens: Vec<TokenId>,
    models: Vec<RopeModel>,
}

#[derive(Deserialize)]
struct RopeModel {
    name: String,
    keys: Value,
    logits: [Vec<f32>; 2],
}

#[test]
fn scaled_rotary_positions_are_those_of_transformers() {
    let golden: Rope = serde_json::from_value(json_of(&golden("rope.json"))).unwrap();
    let plain = Copied::new(LLAMA).model().logits(&golden.tokens);
    assert_eq!(golden.models.len(), 12);
    for case in golden.models {
        let name = &case.name;
        let mut copied = Copied::new(LLAMA);
        copied.config["rope_parameters"] = Value::Null;
        let mut nested = copied.config.clone();
        for (key, value) in case.keys.as_object().unwrap() {
            copied.config[key] = value.clone();
            nested[key] =
                if value.is_object() { json!({"full_attention": value}) } else { value.clone() };
        }
        let model = copied.model();
        let all = model.logits(&golden.tokens);
        let [last, middle] = &case.logits;
        assert!(distance(&all[63], last) < TOLERANCE, "{name}");
        assert!(distance(&all[31], middle) < TOLERANCE, "{name}");
        // The test can tell a model that is scaled from one that is not.
        if name != "dynamic" {
            assert!(distance(&plain[63], last) > 100.0 * TOLERANCE, "{name}");
        }

        let mut cache = KvCache::new(&model.config, 1);
        let mut cached = Vec::new();
        for part in golden.tokens.chunks(13) {
            cached.extend(model.logits_after(part, &mut cache));
        }
        assert!(distance(&cached[63], last) < TOLERANCE, "{name}");

        let (_folder, again) = model.saved_again();
        let same = again.logits(&golden.tokens);
        assert!(distance(&same[63], &all[63]) < 1e-6, "{name}");

        copied.config = nested;
        assert_eq!(copied.model().config, model.config, "{name}");
    }
}

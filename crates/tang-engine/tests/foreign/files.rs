//! Configurations and weights in other forms, and what is said of those that are not read.

use std::{collections::BTreeMap, fs};

use serde_json::{Value, json};
use tang_checkpoint::ModelFolder;

use crate::copied::{Copied, GPT2, LLAMA, Loaded, assert_same, json_of};

#[test]
fn other_names_and_missing_fields_of_a_configuration() {
    for (name, key, values) in [
        (GPT2, "activation_function", &["gelu_pytorch_tanh", "gelu_new"][..]),
        (LLAMA, "hidden_act", &["swish", "silu"]),
    ] {
        let mut copied = Copied::new(name);
        for value in values {
            copied.config[key] = json!(value);
            assert_same(&copied.model(), name);
        }
    }
    for (name, keys) in [
        (
            GPT2,
            &["activation_function", "layer_norm_epsilon", "n_inner", "tie_word_embeddings"][..],
        ),
        (LLAMA, &["hidden_act", "head_dim", "tie_word_embeddings", "rope_parameters"]),
    ] {
        let mut copied = Copied::new(name);
        for key in keys {
            copied.config.as_object_mut().unwrap().remove(*key).unwrap();
        }
        assert_same(&copied.model(), name);
    }
    // The names that transformers has for both families.
    let mut copied = Copied::new(GPT2);
    for (old, new) in [("n_embd", "hidden_size"), ("n_positions", "max_position_embeddings")] {
        let fields = copied.config.as_object_mut().unwrap();
        let value = fields.remove(old).unwrap();
        fields.insert(new.to_owned(), value);
    }
    assert_same(&copied.model(), GPT2);
}

#[test]
fn shards_are_read_and_marks_before_json_skipped() {
    for name in [GPT2, LLAMA] {
        let copied = Copied::new(name);
        let shard = |index: usize| format!("model-0000{}-of-00003.safetensors", index + 1);
        let names: Vec<&String> = copied.tensors.keys().collect();
        let mut map = BTreeMap::new();
        for (index, part) in names.chunks(names.len().div_ceil(3)).enumerate() {
            let is_in = |name: &str| part.iter().any(|other| *other == name);
            copied.write_tensors(&shard(index), is_in);
            map.extend(part.iter().map(|name| (*name, shard(index))));
        }
        let marked = |json: Value| format!("\u{feff}{json}");
        let write = |file: &str, text: String| {
            fs::write(copied.folder.path().join(file), text).unwrap();
        };
        let index = json!({"metadata": {"total_size": 1}, "weight_map": map});
        write("model.safetensors.index.json", marked(index));
        write("config.json", marked(copied.config.clone()));
        assert_same(&Loaded::new(ModelFolder::open(copied.folder.path()).unwrap()), name);

        fs::remove_file(copied.folder.path().join(shard(1))).unwrap();
        let error = ModelFolder::open(copied.folder.path()).unwrap_err().to_string();
        assert!(error.contains(&shard(1)), "{error}");
    }
}

#[test]
fn tokens_behind_those_that_are_kept_leave_no_trace() {
    for (name, matrices) in [
        (GPT2, &["transformer.wte.weight"][..]),
        (LLAMA, &["model.embed_tokens.weight", "lm_head.weight"]),
    ] {
        let mut copied = Copied::new(name);
        for matrix in matrices {
            let (dtype, _, mut bytes) = copied.tensors[*matrix].clone();
            // They would win every draw.
            bytes.extend(1e3_f32.to_le_bytes().repeat(31 * 32));
            copied.insert(matrix, dtype, &[128, 32], bytes);
        }
        copied.config["vocab_size"] = json!(128);
        assert_eq!(copied.model().config.vocab_size, 128);
        let mut folder = copied.open().unwrap();
        folder.keep_tokens(97);
        let model = Loaded::new(folder);
        assert_same(&model, name);

        let (folder, again) = model.saved_again();
        assert_eq!(json_of(&folder.path().join("config.json"))["vocab_size"], 97);
        assert_same(&again, name);
    }
}

#[test]
fn advice_fits_its_cause() {
    let mut copied = Copied::new(LLAMA);
    copied.config["rope_scaling"] = json!({"type": "longrope", "factor": 2.0});
    let error = copied.open().unwrap_err();
    assert!(error.contains("`longrope`") && !error.contains("again"), "{error}");
    copied.config["rope_scaling"] = Value::Null;
    copied.config["attn_logit_softcapping"] = json!(50.0);
    let error = copied.open().unwrap_err();
    assert!(error.contains("`attn_logit_softcapping`: 50.0"), "{error}");
    assert!(!error.contains("again"), "{error}");

    let copied = Copied::new(GPT2);
    copied.write_config();
    let write = |file: &str, bytes: &[u8]| {
        fs::write(copied.folder.path().join(file), bytes).unwrap();
    };
    let error = || ModelFolder::open(copied.folder.path()).unwrap_err().to_string();
    write("pytorch_model.bin", b"PK\x03\x04");
    assert!(error().contains("save_pretrained(folder, safe_serialization=True)"));
    write("model.safetensors", b"version https://git-lfs.github.com/spec/v1\noid sha256:0");
    assert!(error().contains("git lfs pull"), "{}", error());
    write("model.safetensors", b"PK\x03\x04 a pickle in a zip archive");
    assert!(error().contains("save_pretrained"), "{}", error());
    write("model.safetensors", b"\x10\0\0\0\0\0\0\0{}");
    assert!(error().contains("fetch or train it again"), "{}", error());
}

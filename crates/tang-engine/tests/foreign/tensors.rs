//! Tensors under other names, stored twice, or of no use.

use safetensors::Dtype;

use crate::copied::{Copied, GPT2, LLAMA, assert_same};

#[test]
fn masks_of_old_files_are_left_out() {
    for prefix in ["transformer.", ""] {
        let mut copied = Copied::new(GPT2);
        if prefix.is_empty() {
            copied.without_prefix("transformer.");
        }
        let square = [1, 1, 64, 64];
        copied.insert(&format!("{prefix}h.0.attn.bias"), Dtype::BOOL, &square, vec![1; 4096]);
        copied.insert(&format!("{prefix}h.1.attn.bias"), Dtype::U8, &square, vec![1; 4096]);
        let infinite = f32::NEG_INFINITY.to_le_bytes().to_vec();
        for layer in [0, 1] {
            let name = format!("{prefix}h.{layer}.attn.masked_bias");
            copied.insert(&name, Dtype::F32, &[], infinite.clone());
        }
        assert_same(&copied.model(), GPT2);
        // Only they: another tensor of that type, or with that ending, is told.
        let name = format!("{prefix}attn.bias");
        copied.insert(&name, Dtype::F32, &[1], infinite[..4].to_vec());
        assert!(copied.open().unwrap_err().contains("attn.bias"));
        copied.tensors.remove(&name);
        copied.insert("x.attn.masked_bias", Dtype::F32, &[1], vec![0; 4]);
        assert!(copied.open().unwrap_err().contains("has no place"));
    }
    let mut copied = Copied::new(LLAMA);
    let table = [1.0_f32, 0.1, 0.01, 0.001].map(f32::to_le_bytes).concat();
    for name in [
        "model.layers.0.self_attn.rotary_emb.inv_freq",
        "layers.1.self_attn.rotary_emb.inv_freq",
        "model.rotary_emb.inv_freq",
    ] {
        copied.insert(name, Dtype::F32, &[4], table.clone());
    }
    copied.insert("model.rotary_emb.cos_cached", Dtype::I64, &[1], vec![0; 8]);
    assert_same(&copied.model(), LLAMA);
}

#[test]
fn names_without_their_prefix_are_completed() {
    for (name, prefix) in [(GPT2, "transformer."), (LLAMA, "model.")] {
        let mut copied = Copied::new(name);
        copied.without_prefix(prefix);
        assert!(copied.tensors.keys().all(|name| !name.starts_with(prefix)));
        assert_same(&copied.model(), name);
    }
}

#[test]
fn a_second_tensor_of_the_same_place_never_replaces_the_first() {
    for (name, place, other) in [
        (GPT2, "transformer.wte.weight", "wte.weight"),
        (GPT2, "transformer.wte.weight", "lm_head.weight"),
        (GPT2, "transformer.h.1.ln_1.bias", "h.1.ln_1.bias"),
        (LLAMA, "model.norm.weight", "norm.weight"),
        ("llama-mha-tiny", "model.embed_tokens.weight", "lm_head.weight"),
    ] {
        let mut copied = Copied::new(name);
        let (dtype, shape, mut bytes) = copied.tensors[place].clone();
        copied.insert(other, dtype, &shape, bytes.clone());
        assert_same(&copied.model(), name);
        bytes[2] ^= 1;
        copied.insert(other, dtype, &shape, bytes);
        let error = copied.open().unwrap_err();
        assert!(error.contains(place) && error.contains(&format!("`{other}`")), "{error}");
    }
}

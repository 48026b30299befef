//! `tang kv-cost`.

use serde_json::Value;

use crate::work::{fails, prints};

fn json(words: &[&str]) -> Value {
    let printed = prints(&[&["kv-cost", "--json"], words].concat());
    assert_eq!(printed.lines().count(), 1, "{printed}");
    serde_json::from_str(&printed).unwrap()
}

fn number(cost: &Value, path: &str) -> u64 {
    let found = cost.pointer(path).and_then(Value::as_u64);
    found.unwrap_or_else(|| panic!("no {path} in {cost}"))
}

#[test]
fn presets_have_their_geometry() {
    for (preset, sizes, dtype, length) in [
        ("gpt2", [12, 768, 12, 12, 64], "f32", 1024),
        ("llama-7b", [32, 4096, 32, 32, 128], "f16", 4096),
        ("llama-70b", [80, 8192, 64, 8, 128], "f16", 4096),
        // num_hidden_layers, hidden_size, num_attention_heads, num_key_value_heads and head_dim of the
        // published config.json, with torch_dtype and max_position_embeddings.
        ("llama-3-8b", [32, 4096, 32, 8, 128], "bf16", 8192),
        ("mistral-7b", [32, 4096, 32, 8, 128], "bf16", 32_768),
        ("qwen2.5-7b", [28, 3584, 28, 4, 128], "bf16", 32_768),
        ("qwen3-4b", [36, 2560, 32, 8, 128], "bf16", 40_960),
        ("gemma-7b", [28, 3072, 16, 16, 256], "bf16", 8192),
        ("tang-4l", [4, 128, 4, 4, 32], "f32", 128),
        ("minimind-4l", [4, 128, 4, 2, 32], "f32", 128),
    ] {
        let cost = json(&["--preset", preset]);
        let found = ["layers", "width", "heads", "kv_heads", "head_dim"]
            .map(|size| number(&cost, &format!("/geometry/{size}")));
        assert_eq!(found, sizes, "{preset}");
        assert_eq!(cost["geometry"]["dtype"], dtype, "{preset}");
        assert_eq!(number(&cost, "/length"), length, "{preset}");
    }
}

#[test]
fn the_caches_of_a_llama_and_of_this_projects_models() {
    for (words, a_token, whole, crossover) in [
        ("--preset llama-7b", 1 << 19, 2 << 30, 24_576),
        ("--preset llama-7b --kv-heads 8", 1 << 17, 1 << 29, 98_304),
        ("--preset llama-7b --kv-heads 1", 1 << 14, 1 << 26, 786_432),
        ("--preset tang-4l", 4096, 512 << 10, 768),
        ("--preset llama-3-8b", 131_072, 1 << 30, 98_304),
        ("--preset mistral-7b --length 1", 131_072, 131_072, 98_304),
        ("--preset qwen2.5-7b --length 1", 57_344, 57_344, 150_528),
        ("--preset gemma-7b --length 1", 458_752, 458_752, 15_360),
        ("--preset qwen3-4b --length 1", 147_456, 147_456, 46_080),
        (
            "--layers 36 --width 2560 --heads 32 --kv-heads 8 --head-dim 128 --length 1",
            147_456,
            147_456,
            46_080,
        ),
        // Without it, the heads share the width.
        ("--layers 36 --width 2560 --heads 32 --kv-heads 8 --length 1", 92_160, 92_160, 61_440),
        // A preset's width of a head is kept until its width or its heads change.
        ("--preset qwen3-4b --kv-heads 4 --length 1", 73_728, 73_728, 92_160),
        ("--preset qwen3-4b --heads 16 --length 1", 184_320, 184_320, 30_720),
        ("--preset gpt2 --heads 7 --head-dim 64 --kv-heads 7 --length 1", 43_008, 43_008, 6_803),
        ("--preset gpt2 --head-dim 1 --length 1", 1152, 1152, 198_144),
        ("--preset minimind-4l --length 100", 2048, 204_800, 1536),
        // All from flags: two bytes, a key/value head per query head, 4,096 tokens.
        ("--layers 32 --width 4096 --heads 32", 1 << 19, 2 << 30, 24_576),
        ("--preset llama-7b --dtype int8", 1 << 18, 1 << 30, 24_576),
        (
            "--preset gpt2 --layers 1 --width 64 --heads 8 --kv-heads 4 --dtype bf16 --length 10",
            128,
            1280,
            768,
        ),
    ] {
        let cost = json(&words.split(' ').collect::<Vec<_>>());
        assert_eq!(number(&cost, "/cache/bytes_per_token"), a_token, "{words}");
        assert_eq!(number(&cost, "/cache/bytes"), whole, "{words}");
        assert_eq!(number(&cost, "/cache/crossover_tokens"), crossover, "{words}");
        assert!(cost["cache"]["sequences"].is_null(), "{words}");
    }
    let llama = json(&["--preset", "llama-7b"]);
    assert_eq!(number(&llama, "/weight_bytes"), 12_288 << 20);
    assert_eq!(llama.pointer("/lengths/3/pair_ratio").unwrap(), 1366.0);
}

#[test]
fn prints_tables_and_says_what_is_estimated() {
    let text = prints(&["kv-cost", "--preset", "llama-7b", "--memory", "24GiB"]);
    for part in [
        "## What a key/value cache costs\n",
        "| cache per token | 512 KiB |",
        "| weights | 12 GiB |",
        "24,576 tokens",
        "| sequences of n tokens in 24 GiB | 6 | 12 GiB are left beside the weights |",
        "| 4,096 | 2 GiB | 16.7% | 1,366x | 2,048.5x | 6 |",
        "| MHA, as given | 32 | 1 | 1 | 512 KiB | 2 GiB | 24,576 | 6 |",
        "| GQA | 8 | 4 | 4 | 128 KiB | 512 MiB | 98,304 | 24 |",
        "| MQA | 1 | 32 | 32 | 16 KiB | 64 MiB | 786,432 | 192 |",
        "textbook estimate",
        "GQA's smaller projections are left out",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    let small = prints(&["kv-cost", "--preset", "llama-70b", "--memory", "24GiB"]);
    assert!(small.contains("| 0 | the weights alone do not fit: they take 120 GiB |"), "{small}");
}

#[test]
fn what_cannot_be_is_refused() {
    for (words, code, wanted) in [
        ("", 1, "give --preset, or --layers, --width and --heads"),
        ("--layers 2 --width 64", 1, "no geometry"),
        ("--preset gpt3", 2, "no preset `gpt3`: use one of gpt2"),
        ("--preset gpt2 --dtype f64", 2, "no number format `f64`"),
        ("--preset gpt2 --layers 0", 1, "layers is 0"),
        ("--preset gpt2 --width 0", 1, "the width is 0"),
        ("--preset gpt2 --heads 0", 1, "query heads is 0"),
        ("--preset gpt2 --kv-heads 0", 1, "key/value heads is 0"),
        ("--preset qwen3-4b --head-dim 0", 1, "the width of a head is 0"),
        ("--preset gpt2 --head-dim 18446744073709551615", 1, "more than can be counted"),
        ("--preset gpt2 --length 0", 1, "the length is 0"),
        ("--preset gpt2 --kv-heads 5", 1, "divisible by 5 key/value heads"),
        ("--preset gpt2 --heads 7", 1, "768, is not divisible by 7 query heads"),
        ("--preset gpt2 --layers 18446744073709551615", 1, "more than can be counted"),
        ("--preset gpt2 --length 18446744073709551615", 1, "more than can be counted"),
        (
            "--layers 18446744073709551615 --width 18446744073709551615 --heads 18446744073709551615",
            1,
            "more than can be counted",
        ),
        (
            "--preset gpt2 --layers 18446744073709551616",
            2,
            "18446744073709551616 is not in 1..=18446744073709551615",
        ),
        ("--preset gpt2 --memory 24XB", 2, "`24XB` is no size of memory"),
        ("--preset gpt2 --memory 0GiB", 2, "`0GiB` is no size of memory"),
        ("--preset gpt2 --memory 99999999999EiB", 2, "below 16 EiB"),
    ] {
        let words = ["kv-cost"].into_iter().chain(words.split_whitespace());
        fails(&words.collect::<Vec<_>>(), code, wanted);
    }
}

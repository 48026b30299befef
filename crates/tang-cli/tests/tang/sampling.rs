//! The flags that all commands which write poems share.

use std::process::Stdio;

use serde_json::Value;

use crate::{
    model::model,
    work::{SAMPLE, fails, prints, run, tang},
};

/// One line of every kind, with a fixed number of poems.
const KINDS: [&[&str]; 3] =
    [&["acrostic", "春眠不觉", "--line", "5"], &["continue", "春风"], &["write", "--form", "五律"]];

fn with(kind: &[&str], flags: &[&str]) -> String {
    prints(&[kind, flags, &["--checkpoint", &model()]].concat())
}

#[test]
fn the_cache_changes_nothing() {
    for kind in KINDS {
        let flags = ["--seed", "20", "-n", "6"];
        let without = with(kind, &[flags.as_slice(), &["--no-cache"]].concat());
        assert_eq!(with(kind, &flags), without);
        let without = with(kind, &["--seed", "20", "--no-cache", "--stream"]);
        assert!(with(kind, &flags).starts_with(&without));
    }
}

#[test]
fn many_at_once_are_those_one_by_one() {
    for kind in KINDS {
        let singles: Vec<String> =
            (7..12).map(|seed| with(kind, &["--seed", &seed.to_string()])).collect();
        assert_eq!(with(kind, &["--seed", "7", "-n", "5"]), singles.join("\n"));
        assert_eq!(with(kind, &["--seed", "7", "-n", "5", "--stream"]), singles.join("\n"));
    }
}

#[test]
fn many_batches_are_one_list() {
    let kind = &["write", "--form", "五绝"];
    let all = with(kind, &["--seed", "0", "-n", "70"]);
    let poems: Vec<&str> = all.trim_end().split("\n\n").collect();
    assert_eq!(poems.len(), 70);
    assert_eq!(poems[69], with(kind, &["--seed", "69"]).trim_end());
}

#[test]
fn a_seed_gives_its_poem_again() {
    for kind in KINDS {
        assert_eq!(with(kind, &["--seed", "1"]), with(kind, &["--seed", "1"]));
        assert_ne!(with(kind, &["--seed", "1"]), with(kind, &["--seed", "2"]));
        let best = with(kind, &["--seed", "1", "--temperature", "0"]);
        assert_eq!(with(kind, &["--seed", "2", "--temperature", "0"]), best);
    }
    let last = u64::MAX.to_string();
    let both = with(KINDS[2], &["--seed", &last, "-n", "2"]);
    assert!(both.ends_with(&with(KINDS[2], &["--seed", "0"])), "seeds wrap around");
}

#[test]
fn a_random_seed_is_told() {
    let model = model();
    let drawn = || run(&mut tang(["write", "--checkpoint", &model]));
    let first = drawn();
    let seed = first.stderr.trim_end().strip_prefix("seed ").unwrap();
    assert_eq!(with(&["write"], &["--seed", seed]), first.stdout);
    assert_ne!(drawn().stderr, first.stderr);
}

#[test]
fn streaming_prints_the_same() {
    for kind in KINDS {
        for flags in [["--seed", "4"].as_slice(), &["--seed", "4", "--traditional"]] {
            let streamed = with(kind, &[flags, &["--stream"]].concat());
            assert_eq!(streamed, with(kind, flags));
        }
    }
}

#[test]
fn json_has_one_object_a_poem() {
    let flags = ["--seed", "30", "-n", "3"];
    for kind in KINDS {
        let json = with(kind, &[flags.as_slice(), &["--json"]].concat());
        let text = with(kind, &flags);
        let poems: Vec<String> = text.split("\n\n").map(|p| p.replace('\n', "")).collect();
        assert_eq!(json.lines().count(), 3);
        for ((line, poem), seed) in json.lines().zip(poems).zip(30..) {
            let object: Value = serde_json::from_str(line).unwrap();
            assert_eq!(object.as_object().unwrap().len(), 6, "{line}");
            assert_eq!(object["text"], poem);
            assert_eq!(object["seed"], seed);
            let mean = object["mean_log_prob"].as_f64().unwrap();
            assert!(mean < 0.0 && mean > -10.0, "{line}");
            let tokens = object["tokens"].as_u64().unwrap() as usize;
            let prefix = if kind[0] == "continue" { 2 } else { 0 };
            match object["finish_reason"].as_str().unwrap() {
                "end_of_poem" => assert_eq!(tokens, poem.chars().count() - prefix + 1),
                "context_full" => assert_eq!(tokens, poem.chars().count() - prefix),
                other => panic!("{other}"),
            }
        }
    }
    let short = with(KINDS[1], &["--json", "--seed", "2", "--max-new-tokens", "2"]);
    let short: Value = serde_json::from_str(&short).unwrap();
    assert_eq!((&short["tokens"], &short["finish_reason"]), (&2.into(), &"max_new_tokens".into()));
    let traditional = with(KINDS[0], &["--json", "--seed", "1", "--traditional"]);
    assert!(traditional.contains('覺') && !traditional.contains('觉'), "{traditional}");
}

#[test]
fn settings_change_what_is_drawn() {
    let flags = ["--seed", "1", "-n", "6", "--temperature", "1.2"];
    let plain = with(KINDS[2], &flags);
    for setting in [
        ["--temperature", "0.3"],
        ["--top-k", "2"],
        ["--top-p", "0.05"],
        ["--repetition-penalty", "1"],
    ] {
        let mut changed = flags.to_vec();
        if setting[0] == "--temperature" {
            changed.truncate(4);
        }
        assert_ne!(with(KINDS[2], &[changed.as_slice(), &setting].concat()), plain, "{setting:?}");
    }
}

#[test]
fn impossible_settings_are_refused() {
    let model = model();
    for (flags, code, wanted) in [
        (["--temperature", "-1"], 1, "temperature is -1: it must be 0"),
        (["--temperature", "NaN"], 1, "temperature is NaN"),
        (["--temperature", "inf"], 1, "temperature is inf"),
        (["--temperature", "warm"], 2, "--temperature"),
        (["--top-p", "0"], 1, "top-p is 0"),
        (["--top-p", "1.5"], 1, "top-p is 1.5"),
        (["--top-p", "nan"], 1, "top-p is NaN"),
        (["--top-k", "-1"], 2, "-1"),
        (["--repetition-penalty", "0.5"], 1, "repetition penalty is 0.5"),
        (["--max-new-tokens", "0"], 1, "max new tokens is 0"),
        (["--number", "0"], 2, "0 is not in 1.."),
        (["--seed", "-1"], 2, "-1"),
        (["--stream", "--json"], 2, "cannot be used with"),
    ] {
        for kind in KINDS {
            let words = [kind, &flags, &["--checkpoint", &model]].concat();
            fails(&words, code, wanted);
        }
    }
}

#[test]
fn a_closed_pipe_is_no_error() {
    let model = model();
    let write = ["write", "-n", "3", "--seed", "1"];
    for words in [
        [write.as_slice(), &["--json"]].concat(),
        [write.as_slice(), &["--stream"]].concat(),
        [write.as_slice(), &["--traditional"]].concat(),
        vec!["logits", "春风"],
        vec!["logits", "春风", "--json"],
        vec!["next", "春风", "--json", "--corpus", SAMPLE],
    ] {
        let mut child = tang(&words)
            .args(["--checkpoint", &model])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "", "{words:?}");
        assert_eq!(output.status.code(), Some(0), "{words:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_told() {
    let full = std::fs::File::create("/dev/full").unwrap();
    let model = model();
    let words = ["write", "--seed", "1", "--checkpoint", &model];
    let output = tang(words).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.starts_with("error: cannot write to stdout: "), "{message}");
}

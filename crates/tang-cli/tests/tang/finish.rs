//! How poems end, and what is said of it.

use serde_json::Value;

use crate::{
    model::model,
    work::{Ended, run, sample, tang},
};

/// All ways to find and print a poem, with the seed of those that have one.
const MODES: [&[&str]; 6] = [
    &["--seed", "3"],
    &["--seed", "3", "--stream"],
    &["--seed", "3", "-n", "2"],
    &["--seed", "3", "--best-of", "2"],
    &["--seed", "3", "--no-cache"],
    &["--beams", "2"],
];

fn written(words: &[&str], mode: &[&str]) -> Ended {
    let model = model();
    let ended = run(&mut tang([words, mode, &["--checkpoint", &model]].concat()));
    assert_eq!(ended.code, Some(0), "{mode:?}: {}", ended.stderr);
    ended
}

/// The reasons of a mode's poems. A streamed poem has no JSON.
fn reasons(words: &[&str], mode: &[&str]) -> Vec<String> {
    if mode.contains(&"--stream") {
        return Vec::new();
    }
    let json = written(words, &[mode, &["--json"]].concat()).stdout;
    let poems = json.lines().map(|line| serde_json::from_str(line).unwrap());
    poems.map(|poem: Value| poem["finish_reason"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_whole_poem_says_so_where_no_place_is_left() {
    // 16 lines of 7 fill the context of 128 with their last mark.
    let heads: String = sample().chars().take(3).collect::<String>().repeat(5) + "春";
    let longest = ["acrostic", &heads];
    let exact = ["write", "--form=五绝", "--max-new-tokens", "24"];
    let template = ["write", "--template", "春****，", "--max-new-tokens=6"];
    for words in [&longest[..], &exact, &template] {
        for mode in MODES {
            assert_eq!(written(words, mode).stderr, "", "{words:?} {mode:?}");
            for reason in reasons(words, mode) {
                assert_eq!(reason, "end_of_poem", "{words:?} {mode:?}");
            }
        }
    }
}

#[test]
fn a_cut_line_is_told_in_every_mode() {
    for (tokens, place) in [
        ("3", "and cuts line 1 after character 3"),
        ("7", "and cuts line 1 after character 7"),
        ("8", "after line 1"),
        ("20", "and cuts line 3 after character 4"),
        ("31", "and cuts line 4 after character 7"),
    ] {
        let words = ["write", "--max-new-tokens", tokens];
        for mode in MODES {
            let mut modes = vec![mode.to_vec()];
            if !mode.contains(&"--stream") {
                modes.push([mode, &["--json"]].concat());
            }
            for mode in modes {
                let told = written(&words, &mode).stderr;
                let mut names = vec!["the poem of seed 3"];
                if mode.contains(&"-n") {
                    names.push("the poem of seed 4");
                }
                if mode.contains(&"--beams") {
                    names = vec!["poem 1"];
                }
                let lines: Vec<String> = names
                    .iter()
                    .map(|name| {
                        format!(
                            "{name} is unfinished: --max-new-tokens {tokens} is reached {place}"
                        )
                    })
                    .collect();
                assert_eq!(told.lines().collect::<Vec<_>>(), lines, "{mode:?}");
            }
            for reason in reasons(&words, mode) {
                assert_eq!(reason, "max_new_tokens", "{mode:?}");
            }
        }
    }
}

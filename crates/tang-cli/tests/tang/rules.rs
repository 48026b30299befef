//! The rules that a poem keeps: `tang write` and `tang acrostic` with `--rhyme`, `--tones` and so on.

use std::collections::HashSet;

use tang_prosody::{Form, LineLength, LineType, Readings, RhymeGroup, ToneSet, check, is_han};

use crate::{
    model::model,
    work::{fails, prints, run, tang},
};

/// Poems that `tang` writes with these words and the model of the tests, one per line.
fn poems(words: &[&str]) -> Vec<String> {
    let model = model();
    let words = [words, &["--checkpoint", &model, "--seed", "1"]].concat();
    let text = prints(&words);
    text.split("\n\n").map(|poem| poem.replace('\n', "")).collect()
}

fn tones(character: char) -> ToneSet {
    Readings::of(character).map_or(ToneSet::ANY, Readings::tones)
}

#[test]
fn regulated_poems_pass_the_checker() {
    for form in Form::ALL {
        let poems = poems(&["write", "--form", form.name(), "--regulated", "-n", "20"]);
        assert_eq!(poems.len(), 20);
        for poem in poems {
            let verdict = check(&poem).unwrap();
            assert_eq!(verdict.form, form, "{poem}");
            assert!(verdict.passes_strictly(), "{poem}");
        }
    }
}

#[test]
fn a_regulated_acrostic_keeps_its_heads() {
    for (heads, line) in [("春山明月", "5"), ("春山明月", "7"), ("春山明月人花天白", "5")]
    {
        for poem in poems(&["acrostic", heads, "--line", line, "--regulated", "-n", "5"]) {
            assert!(check(&poem).unwrap().passes_strictly(), "{poem}");
            let lines = poem.split_inclusive(['，', '。']);
            let found: String = lines.map(|line| line.chars().next().unwrap()).collect();
            assert_eq!(found, heads);
        }
    }
}

#[test]
fn a_rhyme_and_a_sequence_can_be_given() {
    for poem in poems(&["write", "--rhyme", "先", "-n", "10"]) {
        let group: RhymeGroup = "先".parse().unwrap();
        assert_eq!(check(&poem).unwrap().rhyme, Some(group), "{poem}");
    }
    for poem in poems(&["write", "--sequence", "BDAC", "--form", "五绝", "-n", "10"]) {
        assert!(check(&poem).unwrap().tones_fit(), "{poem}");
        // A two-tone character may fit another sequence, too; the first line is of type B.
        let line: Vec<ToneSet> = poem.chars().take(5).map(tones).collect();
        assert!(LineType::B.can_be(LineLength::Five, &line), "{poem}");
    }
    // A rhyme wants no form.
    for six in poems(&["acrostic", "春山明月人花", "--rhyme", "auto", "-n", "5"]) {
        let ends = six.split_inclusive('。').map(|couplet| {
            let end = couplet.chars().rev().nth(1).unwrap();
            let readings = Readings::of(end).unwrap().any();
            readings.iter().filter_map(|reading| reading.group)
        });
        let groups: Vec<HashSet<RhymeGroup>> = ends.map(Iterator::collect).collect();
        assert_eq!(groups.len(), 3, "{six}");
        let common = &(&groups[0] & &groups[1]) & &groups[2];
        assert!(!common.is_empty(), "{six}");
    }
}

#[test]
fn no_character_comes_twice_unless_it_is_given_or_doubled() {
    for poem in poems(&["acrostic", "春山春月", "--no-repeat", "-n", "10"]) {
        let lines: Vec<Vec<char>> = poem
            .split(['，', '。'])
            .map(|line| line.chars().filter(|c| is_han(*c)).collect())
            .collect();
        let mut seen = HashSet::from(['春', '山', '月']);
        for line in lines.iter().filter(|line| !line.is_empty()) {
            let mut rest = line[1..].to_vec();
            rest.dedup();
            for c in rest {
                assert!(seen.insert(c) || c == line[0], "{c} in {poem}");
            }
        }
    }
}

#[test]
fn a_template_fixes_any_place() {
    for poem in poems(&["write", "--template", "**春**，***月*。", "-n", "3"]) {
        let chars: Vec<char> = poem.chars().collect();
        assert_eq!((chars[2], chars[9], chars.len()), ('春', '月', 12), "{poem}");
    }
    for poem in poems(&["acrostic", "春山明月", "--place", "7"]) {
        let ends = poem.split(['，', '。']).filter_map(|line| line.chars().nth(6));
        assert_eq!(ends.collect::<String>(), "春山明月");
    }
}

#[test]
fn what_cannot_be_kept_is_named_and_relaxed_on_request() {
    let model = model();
    let words = ["write", "--template", "*****，****月。*****，*****。", "--regulated"];
    let words = [words.as_slice(), &["--checkpoint", &model]].concat();
    let message = fails(&words, 1, "line 2, character 5, `月`");
    assert!(message.contains("--relax"), "{message}");
    let ended = run(&mut tang([words.as_slice(), &["--relax"]].concat()));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stderr.contains("relaxed: line 2, character 5, `月`"));
    assert_eq!(ended.stdout.chars().nth(10), Some('月'));
}

#[test]
fn searches_print_likelier_poems() {
    let model = model();
    let likelihood = |words: &[&str]| -> Vec<f64> {
        let fixed = ["write", "--json", "--checkpoint", &model];
        let text = prints(&[&fixed, words].concat());
        let of = |line: &str| {
            let poem: serde_json::Value = serde_json::from_str(line).unwrap();
            poem["mean_log_prob"].as_f64().unwrap()
        };
        text.lines().map(of).collect()
    };
    let sample = likelihood(&["--seed", "1"])[0];
    let best = likelihood(&["--seed", "1", "--best-of", "8"])[0];
    let beams = likelihood(&["--beams", "4", "-n", "2"]);
    assert!(best > sample, "{best} {sample}");
    assert!(beams[0] >= beams[1] && beams[0] > sample, "{beams:?} {sample}");
    let greedy = likelihood(&["--temperature", "0", "--repetition-penalty", "1"]);
    assert_eq!(likelihood(&["--beams", "1"]), greedy);
}

#[test]
fn a_search_says_if_it_finds_fewer_poems() {
    // A whole couplet, which leaves nothing to choose.
    let template = "白日依山尽，黄河入海流。";
    let words = ["write", "--template", template, "--beams", "2", "-n", "2"];
    let ended = run(tang(words).args(["--checkpoint", &model()]));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(ended.stdout.lines().collect::<String>(), template);
    assert!(ended.stderr.contains("no more than 1 of 2 poems were found"), "{}", ended.stderr);
}

#[test]
fn bad_rules_are_refused() {
    for (words, code, wanted) in [
        (["write", "--rhyme", "月"].as_slice(), 2, "unknown rhyme group `月`"),
        (&["write", "--sequence", "ABCD"], 2, "unknown sequence `ABCD`"),
        (&["write", "--template", "春***"], 1, "4 characters"),
        (&["write", "--template", "春****", "--form", "五绝"], 2, "cannot be used"),
        (&["acrostic", "春山", "--place", "8"], 1, "--place 8"),
        (&["acrostic", "春山", "--place", "0"], 1, "--place 0"),
        (&["write", "--beams", "2", "--seed", "1"], 2, "cannot be used"),
        (&["write", "--beams", "2", "--best-of", "2"], 2, "cannot be used"),
    ] {
        fails(words, code, wanted);
    }
    let model = model();
    for (words, wanted) in [
        (["acrostic", "春山明", "--regulated"].as_slice(), "4 or 8 lines, and there are 3"),
        (&["write", "--beams", "2", "-n", "3"], "-n 3 asks for more poems than --beams 2"),
    ] {
        fails(&[words, &["--checkpoint", &model]].concat(), 1, wanted);
    }
}

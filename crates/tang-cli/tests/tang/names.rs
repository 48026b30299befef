//! Poems of today's names and greetings, some characters of which are in no poem of the corpus.

use std::collections::HashSet;

use serde_json::{Value, json};
use tang_corpus::Traditional;
use tang_prosody::{Verdict, check, is_han, stand_in};

use crate::work::{prints, run, tang};

/// Characters that are common in surnames, given names and greetings.
const NAMES: &str = include_str!("names.txt");

const CHECKPOINT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../checkpoints/tang-4l");

fn with<'a>(words: &[&'a str], flags: &[&'a str]) -> Vec<&'a str> {
    [words, &["--seed", "3", "--checkpoint", CHECKPOINT], flags].concat()
}

/// The lines of a printed poem, without their marks.
fn lines(poem: &str) -> Vec<Vec<char>> {
    let lines = poem.split(['，', '。']).map(|line| line.chars().filter(|c| is_han(*c)).collect());
    lines.filter(|line: &Vec<char>| !line.is_empty()).collect()
}

/// Asserts that each line of seven characters has its head at `place`, counted from 1.
fn assert_heads(poem: &str, heads: &str, place: usize) {
    let lines = lines(poem);
    assert!(lines.iter().all(|line| line.len() == 7), "{poem}");
    let found: String = lines.iter().map(|line| line[place - 1]).collect();
    assert_eq!(found, heads, "{poem}");
}

fn characters() -> Vec<char> {
    NAMES.chars().filter(|c| !c.is_whitespace()).collect()
}

/// Those that no poem of the corpus has.
fn absent() -> Vec<char> {
    characters().into_iter().filter(|c| stand_in(*c).is_some()).collect()
}

/// Characters as heads of quatrains; the last four again where fewer are left.
fn quatrains(characters: &[char]) -> Vec<String> {
    let last = &characters[characters.len() - 4..];
    characters.chunks_exact(4).chain([last]).map(String::from_iter).collect()
}

fn verdict(poem: &str) -> Verdict {
    check(&poem.replace('\n', "")).unwrap_or_else(|| panic!("{poem} has a form"))
}

#[test]
fn the_table_has_many_characters_and_some_that_verse_lacks() {
    let characters = characters();
    let distinct: HashSet<_> = characters.iter().collect();
    assert_eq!(distinct.len(), characters.len());
    assert!(characters.len() >= 378, "{}", characters.len());
    assert!(absent().len() >= 36, "{}", absent().len());
    for c in "玥妈爸她您们咖钰鑫璐婧晗".chars() {
        assert!(absent().contains(&c), "{c}");
    }
}

#[test]
fn every_character_of_a_name_heads_a_line() {
    for heads in quatrains(&characters()) {
        let words = ["acrostic", &heads, "--form", "七绝"];
        assert_heads(&prints(&with(&words, &[])), &heads, 1);
        let regulated = prints(&with(&words, &["--regulated"]));
        assert_heads(&regulated, &heads, 1);
        assert!(verdict(&regulated).passes_strictly(), "{regulated}");
    }
}

#[test]
fn names_and_greetings_of_any_length_head_lines() {
    for heads in [
        "玥",
        "晗晗",
        "李钰",
        "李梓玥",
        "张梓晗",
        "王子轩",
        "欧阳婧璐",
        "司马鑫垚",
        "妈妈我爱你",
        "爸爸妈妈新年好",
        "她他它们您咱爷奶",
    ] {
        for flags in [[].as_slice(), &["--no-repeat"], &["--rhyme", "auto"]] {
            let words = ["acrostic", heads];
            assert_heads(&prints(&with(&words, flags)), heads, 1);
        }
    }
}

/// A head has its modern tone, which the place may forbid, as it may that of any other.
#[test]
fn rules_use_the_modern_tone() {
    for heads in quatrains(&absent()).into_iter().step_by(3) {
        for place in 1..=7 {
            let number = place.to_string();
            let words = ["acrostic", &heads, "--place", &number, "--regulated"];
            let strict = run(&mut tang(with(&words, &[])));
            let poem = prints(&with(&words, &["--relax"]));
            assert_heads(&poem, &heads, place);
            assert_eq!(strict.code == Some(0), verdict(&poem).passes_strictly(), "{poem}");
            if strict.code == Some(0) {
                assert_eq!(strict.stdout, poem);
            } else {
                assert!(strict.stderr.contains("--relax"), "{}", strict.stderr);
            }
        }
    }
    // 玥 is oblique, so it cannot rhyme; 妈 and 们 are level.
    let ends =
        |heads| run(&mut tang(with(&["acrostic", heads, "--place", "7", "--regulated"], &[])));
    let refused = ends("春玥月玥").stderr;
    assert!(refused.contains("line 2, character 7, `玥`, does not keep the tones"), "{refused}");
    assert!(refused.contains("line 2, character 7, `玥`, does not keep the rhyme"), "{refused}");
    let poem = ends("玥妈玥们").stdout;
    assert!(verdict(&poem).passes_strictly(), "{poem}");
}

#[test]
fn all_ways_to_write_give_the_same_names() {
    let heads = "玥玉妈晗";
    let poem = |flags: &[&str]| prints(&with(&["acrostic", heads], flags));
    let cached = poem(&[]);
    assert_eq!(poem(&["--no-cache"]), cached);
    assert_eq!(poem(&["--stream"]), cached);
    assert!(poem(&["-n", "3"]).starts_with(&cached));
    for flags in [
        ["-n", "3"].as_slice(),
        &["--best-of", "3"],
        &["--temperature", "0"],
        &["--repetition-penalty", "1.5", "--regulated", "--no-repeat"],
    ] {
        for poem in poem(flags).split("\n\n") {
            assert_heads(poem, heads, 1);
        }
    }
    let beams = ["acrostic", heads, "--beams", "3", "-n", "2", "--checkpoint", CHECKPOINT];
    let beams = prints(&beams);
    assert_eq!(beams.split("\n\n").map(|poem| assert_heads(poem, heads, 1)).count(), 2);
    for form in ["五绝", "五律", "七律"] {
        let heads = if form == "五绝" { "玥玉妈晗" } else { "玥玉妈晗爸钰鑫们" };
        let poem = prints(&with(&["acrostic", heads, "--form", form, "--regulated"], &[]));
        let found: String = lines(&poem).iter().map(|line| line[0]).collect();
        assert_eq!(found, heads, "{form}");
    }
}

#[test]
fn notes_and_objects_say_what_the_model_reads() {
    let stderr = |words: &[&str]| run(&mut tang(with(words, &[]))).stderr;
    let note = "stand-ins: the model reads 玥 as 玉, 媽 as 女\n";
    assert_eq!(stderr(&["acrostic", "玥春媽玥"]), note);
    assert_eq!(stderr(&["acrostic", "玥春媽玥", "-n", "3"]), note);
    assert_eq!(stderr(&["continue", "玥媽"]), note);
    assert_eq!(stderr(&["write", "--template", "**玥*媽，*****。"]), note);
    assert_eq!(stderr(&["acrostic", "春花秋月"]), "");
    let logits = run(&mut tang(["logits", "玥媽", "--checkpoint", CHECKPOINT]));
    assert_eq!(logits.stderr, note);
    assert_eq!(logits.stdout, prints(&["logits", "玉女", "--checkpoint", CHECKPOINT]));

    let object = |words: &[&str]| -> Value {
        let printed = prints(words);
        serde_json::from_str(printed.lines().next().unwrap()).unwrap()
    };
    let poem = object(&with(&["acrostic", "春媽"], &["--json"]));
    assert_eq!(poem["stand_ins"], json!([{"place": 9, "given": "媽", "read": "女"}]));
    assert_eq!(poem["text"].as_str().unwrap().chars().nth(8), Some('媽'));
    let cut = object(&with(&["acrostic", "玥媽"], &["--json", "--max-new-tokens", "3"]));
    assert_eq!(cut["stand_ins"], json!([{"place": 1, "given": "玥", "read": "玉"}]));
    let read = object(&with(&["acrostic", "春女"], &["--json"]));
    assert_eq!(read["mean_log_prob"], poem["mean_log_prob"], "that of what the model reads");
    assert_eq!(read["stand_ins"], Value::Null, "there is none");
    for command in ["next", "logits"] {
        let words = [command, "春媽", "--json", "--checkpoint", CHECKPOINT];
        let wanted = json!([{"place": 2, "given": "媽", "read": "女"}]);
        assert_eq!(object(&words)["stand_ins"], wanted);
    }
}

/// The corpus has no 玥, and many a 玉.
#[test]
fn next_looks_for_the_given_text_in_the_corpus() {
    let sample = crate::work::SAMPLE;
    let words = |text| ["next", text, "--json", "--corpus", sample, "--checkpoint", CHECKPOINT];
    let rows = |text| -> Vec<Value> {
        prints(&words(text)).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    for (given, read) in rows("玥").iter().zip(rows("玉")) {
        assert_eq!((&given["character"], &given["model"]), (&read["character"], &read["model"]));
        assert_eq!((&given["count"], &given["corpus"]), (&json!(0), &Value::Null));
        assert!(read["corpus"].is_f64());
    }
}

/// To a reader, 玥 and 玉 are two characters.
#[test]
fn repetition_is_that_of_the_printed_poem() {
    let mut jade = 0;
    for seed in 0..12 {
        let seed = seed.to_string();
        let words = ["acrostic", "玥钰金璐", "--no-repeat", "--seed", &seed];
        let poem = prints(&[&words[..], &["--checkpoint", CHECKPOINT]].concat());
        let mut seen = HashSet::new();
        for mut line in lines(&poem) {
            line.dedup();
            assert!(line.iter().all(|c| seen.insert(*c)), "{poem}");
        }
        jade += usize::from(seen.contains(&'玉'));
    }
    assert!(jade > 0, "the model may write 玉 although it reads it for 玥");
    // As rhymes, too: 们 is read as 人, which rhymes with 真.
    let template = "*****，****们。*****，****人。";
    let words = ["write", "--template", template, "--regulated"];
    assert!(verdict(&prints(&with(&words, &[]))).passes_strictly());
    let twice = ["write", "--template", "*****，****妈。*****，****妈。", "--regulated"];
    let refused = run(&mut tang(with(&twice, &[])));
    assert!(refused.stderr.contains("line 4, character 5, `妈`, does not keep the rhyme"));
}

/// Beside a stand-in, characters are converted as beside the given character.
#[test]
fn traditional_poems_convert_what_is_printed() {
    for heads in ["玥妈爸她", "春您们钰"] {
        let plain = prints(&with(&["acrostic", heads], &[])).replace('\n', "");
        let printed = prints(&with(&["acrostic", heads], &["--traditional"])).replace('\n', "");
        assert_eq!(printed, Traditional::default().convert(&plain));
    }
}

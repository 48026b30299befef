//! Poems that the rules leave no character for, among others.

use std::{fs::File, process::Stdio};

use tempfile::TempDir;

use crate::{
    model::argument,
    work::{Ended, fails, prints, run, tang},
};

/// The first seed, and how many poems.
const SEED: u64 = 100;
const POEMS: usize = 60;

/// A model of so many characters that a poem of twenty without a repetition comes about only where some are
/// doubled.
fn small_model() -> TempDir {
    let folder = TempDir::new().unwrap();
    let poems = folder.path().join("poems.txt");
    let characters: Vec<char> = "春夏秋冬山水花月风云天地人日明白".chars().collect();
    let poem = |first: usize| -> String {
        let place = |place: usize| characters[(first + place * 5) % characters.len()];
        let line = |line: usize| (0..5).map(move |column| place(5 * line + column));
        let lines = (0..4).map(|number| line(number).collect::<String>());
        let marks = ["，", "。", "，", "。"];
        lines.zip(marks).map(|(line, mark)| line + mark).collect()
    };
    let text: Vec<String> = (0..characters.len()).map(poem).collect();
    std::fs::write(&poems, text.join("\n")).unwrap();
    let words = ["train", "--steps=1", "--corpus", poems.to_str().unwrap()];
    prints(&[&words[..], &["--out", &out(&folder)]].concat());
    folder
}

fn out(folder: &TempDir) -> String {
    format!("{}/run", argument(folder))
}

const WORDS: [&str; 8] = [
    "write",
    "--form=五绝",
    "--no-repeat",
    "--temperature=1.5",
    "--top-k=0",
    "--top-p=1",
    "--seed",
    "100",
];

/// The seeds that stderr names, each with the rule and the place.
fn failed(stderr: &str) -> Vec<u64> {
    let rule = "no character is left, as the ban on repetition forbids the last 16 that the form \
                allows: ask for fewer rules, or take another --seed";
    stderr
        .lines()
        .filter_map(|line| line.strip_prefix("the poem of seed "))
        .map(|line| {
            let (seed, message) = line.split_once(": line ").unwrap();
            let (place, message) = message.split_once(": ").unwrap();
            assert_eq!(message, rule);
            let (line, column) = place.split_once(", character ").unwrap();
            let place = 5 * (line.parse::<usize>().unwrap() - 1) + column.parse::<usize>().unwrap();
            assert!((17..=20).contains(&place), "sixteen stand before it: {place}");
            seed.parse().unwrap()
        })
        .collect()
}

#[test]
fn the_other_poems_are_printed_and_the_failed_ones_told() {
    let folder = small_model();
    let out = out(&folder);
    let count = POEMS.to_string();
    let written = |more: &[&str]| -> Ended {
        let fixed = ["-n", &count, "--checkpoint", &out];
        run(&mut tang([&WORDS[..], &fixed, more].concat()))
    };
    let plain = written(&[]);
    let seeds = failed(&plain.stderr);
    let poems: Vec<&str> = plain.stdout.trim_end().split("\n\n").collect();
    assert!(!seeds.is_empty() && !poems.is_empty(), "{}", plain.stderr);
    assert_eq!(seeds.len() + poems.len(), POEMS);
    let last = format!("error: {} of {POEMS} poems cannot be written", seeds.len());
    let json = written(&["--json"]);
    let objects: Vec<serde_json::Value> =
        json.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for (object, poem) in objects.iter().zip(&poems) {
        let seed = object["seed"].as_u64().unwrap();
        assert!(!seeds.contains(&seed) && (SEED..SEED + POEMS as u64).contains(&seed));
        assert_eq!(object["text"], poem.replace('\n', ""));
    }
    assert_eq!(objects.len(), poems.len());
    for ended in [&plain, &json, &written(&["--no-cache"]), &written(&["--stream"])] {
        assert_eq!(ended.code, Some(1));
        assert_eq!(failed(&ended.stderr), seeds);
        assert_eq!(ended.stderr.lines().last(), Some(last.as_str()));
    }
    assert_eq!(written(&["--no-cache"]).stdout, plain.stdout);
    // A poem that fails takes none of its own samples with it, either.
    let best = written(&["--best-of", "2"]);
    let both = failed(&best.stderr);
    assert!(both.len() < seeds.len() && both.iter().all(|seed| seeds.contains(seed)));
    assert_eq!(best.stdout.trim_end().split("\n\n").count() + both.len(), POEMS);

    // Alone it is the only error; the likeliest poems have no seed.
    let seed = seeds[0].to_string();
    let mut words = WORDS.to_vec();
    words[7] = &seed;
    words.extend(["--checkpoint", &out]);
    let message = fails(&words, 1, &format!("error: the poem of seed {seed}: line "));
    assert!(message.contains("the ban on repetition forbids"), "{message}");
}

#[test]
fn a_search_without_a_poem_names_the_rule() {
    let folder = small_model();
    let words = ["write", "--form=七律", "--no-repeat", "--checkpoint", &out(&folder)];
    for mode in [&["--beams=3", "-n=3"][..], &["--temperature=0"]] {
        let message = fails(&[&words[..], mode].concat(), 1, "error: ");
        assert!(message.contains("the ban on repetition forbids the last 16"), "{message}");
        assert!(!message.contains("--seed"), "it does not help: {message}");
    }
}

#[test]
fn the_message_of_a_broken_stream_has_a_line_of_its_own() {
    let folder = small_model();
    let path = folder.path().join("both");
    let file = File::create(&path).unwrap();
    let words = ["-n=60", "--stream", "--checkpoint", &out(&folder)];
    let mut stream = tang([&WORDS[..], &words].concat());
    stream.stdout(file.try_clone().unwrap()).stderr(file);
    assert_eq!(stream.stdin(Stdio::null()).status().unwrap().code(), Some(1));
    let both = std::fs::read_to_string(&path).unwrap();
    let mut told = 0;
    for (before, line) in both.lines().zip(both.lines().skip(1)) {
        if let Some(at) = line.find("the poem of seed") {
            assert_eq!(at, 0, "{line}");
            assert!(!before.is_empty() && !before.ends_with('。'), "the broken poem: {before}");
            told += 1;
        }
    }
    assert!(told > 0, "{both}");
    assert_eq!(both.matches("\nerror: ").count(), 1, "{both}");
}

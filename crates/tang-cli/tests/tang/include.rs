//! Poems with words of one's own: `--include`.

use serde_json::Value;
use tang_prosody::check;

use crate::work::{fails, prints, run, tang};

const CHECKPOINT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../checkpoints/tang-4l");

/// The words that are asked for with each command.
const COMMANDS: [(&[&str], &[&str]); 4] = [
    (&["write", "--include", "月", "--include", "故人"], &["月", "故人"]),
    (
        &[
            "write",
            "--form=五律",
            "--regulated",
            "--no-repeat",
            "--include=長安",
            "--include",
            "花",
        ],
        &["長安", "花"],
    ),
    (&["acrostic", "春眠不觉", "--regulated", "--include=风雨", "--include=愁"], &["风雨", "愁"]),
    (
        &["write", "--template=白日*****，*******。", "--include=白日", "--include=江南"],
        &["白日", "江南"],
    ),
];

fn with(command: &[&str], flags: &[&str]) -> String {
    prints(&[command, flags, &["--checkpoint", CHECKPOINT]].concat())
}

fn objects(command: &[&str], flags: &[&str]) -> Vec<Value> {
    let printed = with(command, &[flags, &["--json"]].concat());
    printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Asserts that a poem has its words where the object says, and gives the text.
fn text<'a>(object: &'a Value, words: &[&str]) -> &'a str {
    let text = object["text"].as_str().unwrap();
    let lines: Vec<&str> = text.split_terminator(['，', '。']).collect();
    let included = object["included"].as_array().unwrap();
    assert_eq!(included.len(), words.len(), "{object}");
    for (word, place) in words.iter().zip(included) {
        assert_eq!(place["word"], *word);
        let number = |name: &str| place[name].as_u64().unwrap() as usize - 1;
        let rest: String = lines[number("line")].chars().skip(number("character")).collect();
        assert!(rest.starts_with(word), "{object}");
    }
    text
}

#[test]
fn every_poem_has_its_words_where_json_says() {
    for (command, words) in COMMANDS {
        let objects = objects(command, &["--seed=1", "-n=12"]);
        assert_eq!(objects.len(), 12);
        let mut lines = std::collections::HashSet::new();
        for object in &objects {
            let poem = text(object, words);
            lines.insert(object["included"][1]["line"].as_u64());
            if command.contains(&"--regulated") {
                // The checker reads simplified characters.
                assert!(check(&poem.replace('長', "长")).unwrap().passes_strictly(), "{poem}");
            }
        }
        assert!(lines.len() >= 2, "{lines:?}");
    }
    for most in 1..=12 {
        let flags = ["--seed=1", "--include=明月", &format!("--max-new-tokens={most}")];
        let cut = &objects(&["write"], &flags)[0];
        let is_whole = cut["text"].as_str().unwrap().contains("明月");
        assert_eq!(cut.get("included").is_some(), is_whole, "{cut}");
    }
    let free = objects(&["write"], &["--seed=1"]);
    assert!(free[0].get("included").is_none(), "{free:?}");
    assert!(free[0]["mean_free_log_prob"].as_f64() < free[0]["mean_log_prob"].as_f64());
}

#[test]
fn every_mode_gives_the_same_poem() {
    for (command, words) in COMMANDS {
        let poems = with(command, &["--seed=1", "-n=4"]);
        for mode in ["--no-cache", "--stream", "--best-of=1"] {
            assert_eq!(with(command, &["--seed=1", "-n=4", mode]), poems, "{mode}");
        }
        let alone: Vec<String> =
            (1..5).map(|seed: u32| with(command, &["--seed", &seed.to_string()])).collect();
        assert_eq!(alone.join("\n"), poems);
        for (object, poem) in objects(command, &["--seed=1", "-n=4"]).iter().zip(&alone) {
            assert_eq!(text(object, words), poem.replace('\n', ""));
        }
    }
}

#[test]
fn searches_choose_among_places() {
    for (command, words) in COMMANDS {
        let beams = objects(command, &["--beams=4", "-n=2"]);
        beams.iter().for_each(|object| _ = text(object, words));
        assert_eq!(objects(command, &["--beams=4", "-n=2", "--no-cache"]), beams);
        text(&objects(command, &["--seed=1", "--best-of=8"])[0], words);
        let likeliest = objects(command, &["--temperature=0", "--seed=1"]);
        assert_eq!(likeliest[0]["text"], objects(command, &["--temperature=0"])[0]["text"]);
        text(&likeliest[0], words);
    }
}

#[test]
fn words_are_printed_as_they_were_typed() {
    let command = ["write", "--include=春風", "--include=云"];
    for (flags, words) in [(&[][..], ["春風", "云"]), (&["--traditional"], ["春風", "雲"])] {
        let poem = with(&command, &[&["--seed=4"], flags].concat());
        assert!(words.iter().all(|word| poem.contains(word)), "{poem}");
        assert_eq!(with(&command, &[&["--seed=4", "--stream"], flags].concat()), poem);
        let json = &objects(&command, &[&["--seed=4"], flags].concat())[0];
        assert_eq!(json["text"], poem.replace('\n', ""));
    }
}

#[test]
fn words_without_places_are_refused_before_anything_is_printed() {
    for (words, wanted) in [
        (&["write", "--include="][..], "--include is empty"),
        (&["write", "--include", " "], "--include is empty"),
        (&["write", "--include=月a"], "--include 月a: character 2 of the text, `a`"),
        (&["write", "--include=月，"], "cannot stand in a line"),
        (
            &["write", "--include=𠮷"],
            "--include 𠮷: character 1 of the text, `𠮷` (U+20BB7), is not in",
        ),
        (&["write", "--include=月玥"], "--include 月玥: the model does not know `玥`"),
        (&["write", "--include=媽", "--regulated"], "--include 媽: the model does not know `媽`"),
        (&["write", "--form=五绝", "--include=一二三四五六"], "has 6 characters, and a line has 5"),
        (
            &["write", "--include=山山山山", "--regulated"],
            "because of the tones: give other words, or let these rules be relaxed for them (--relax does so)",
        ),
        (
            &["write", "--include=江花", "--include=花江", "--no-repeat"],
            "`江花` and `花江` have no places in one poem because of the ban on repetition",
        ),
        (&["write", "--include=人非人", "--no-repeat", "-n=3"], "because of the ban on repetition"),
        (
            &[
                "acrostic",
                "春",
                "--include=江南",
                "--include=落花",
                "--include=时节",
                "--include=逢君",
            ],
            "leave too little room",
        ),
        (
            &[
                "write",
                "--include=月",
                "--include=花",
                "--include=雪",
                "--include=风",
                "--include=酒",
            ],
            "--include can be given 4 times, and is 5 times",
        ),
    ] {
        fails(&[words, &["--checkpoint", CHECKPOINT]].concat(), 1, wanted);
    }
    fails(&["continue", "春", "--include=月"], 2, "unexpected argument");
    let words =
        ["write", "--include=山山山山", "--regulated", "--relax", "--seed=1", "--checkpoint"];
    let ended = run(tang(words).arg(CHECKPOINT));
    assert!(ended.stdout.contains("山山山山"), "{}", ended.stdout);
    assert!(ended.stderr.contains("relaxed: ") && ended.stderr.contains("`山`, does not keep"));
}

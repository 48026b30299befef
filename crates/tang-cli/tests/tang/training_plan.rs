//! `tang train --dry-run`.

use std::{
    collections::{BTreeMap, HashSet},
    fs,
    time::Instant,
};

use tempfile::TempDir;

use crate::{
    model::argument,
    work::{SAMPLE, fails, fails_in, prints, run, sample, tang},
};

/// The line of a plan that begins with this name.
fn line<'a>(plan: &'a str, name: &str) -> &'a str {
    let found = plan.lines().find_map(|line| line.strip_prefix(name));
    found.unwrap_or_else(|| panic!("no line {name}: {plan}")).trim()
}

#[test]
fn a_dry_run_says_what_would_be_done_and_writes_nothing() {
    let folder = TempDir::new().unwrap();
    let words = ["train", "--dry-run", "--steps", "25", "--corpus", SAMPLE];
    let ended = run(tang(words).current_dir(folder.path()));
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    let plan = ended.stdout;
    let poems = sample();
    let characters: HashSet<char> = poems.chars().collect();
    let vocabulary = characters.len();
    let summary = line(&plan, "model");
    assert!(summary.starts_with("GPT-2: "), "{summary}");
    assert!(summary.ends_with(&format!("context 128, vocabulary {vocabulary}")), "{summary}");
    let parameters = (vocabulary + 128) * 128 + 793_088 + 256;
    let thousands = |number: usize| format!("{},{:03}", number / 1000, number % 1000);
    assert!(summary.replace(',', "").contains(&format!("{parameters} parameters")), "{summary}");
    let wanted = format!(
        "embeddings {}, blocks 793,088, final norm 256",
        thousands((vocabulary + 128) * 128)
    );
    assert_eq!(line(&plan, "parameters"), wanted);
    // 120 poems, of which six are held back.
    let learned = poems.lines().enumerate().filter(|(i, _)| i % 20 != 19);
    let learned: usize = learned.map(|(_, poem)| poem.chars().count() + 1).sum();
    let wanted = format!(
        "{SAMPLE}: 114 poems of {} characters to learn from, 6 to evaluate on; SHA-256 ",
        thousands(learned)
    );
    let corpus = line(&plan, "corpus");
    assert!(corpus.starts_with(&wanted), "{corpus}");
    assert_eq!(corpus.len(), wanted.len() + 12, "{corpus}");
    assert!(line(&plan, "steps").starts_with("25; "), "{plan}");
    assert!(line(&plan, "evaluation").ends_with("13 in all"), "{plan}");
    let output = line(&plan, "output");
    assert_eq!(output, "checkpoints/runs/tang-4l-default (free)");
    assert!(line(&plan, "time").contains("characters/s over 6 steps"), "{plan}");
    assert_eq!(plan.contains("\nmemory "), cfg!(target_os = "linux"), "{plan}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);

    // As many steps as anyone asks for are planned as quickly.
    for (steps, count, evaluations) in [
        ("1000000000", "1,000,000,000; ", "10 in all"),
        ("18446744073709551615", "18,446,744,073,709,551,615; ", "11 in all"),
    ] {
        let words = ["train", "--dry-run", "--steps", steps, "--corpus", SAMPLE];
        let started = Instant::now();
        let plan = prints(&words);
        let seconds = started.elapsed().as_secs();
        assert!(seconds < 60, "{seconds} s: {plan}");
        assert!(line(&plan, "steps").starts_with(count), "{plan}");
        assert!(line(&plan, "characters").starts_with("about "), "{plan}");
        assert!(line(&plan, "evaluation").ends_with(evaluations), "{plan}");
    }

    // Nor is a corpus built for it.
    fails_in(folder.path(), &["train", "--dry-run"], 1, "no corpus in data");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_dry_run_of_a_rest_counts_what_is_left() {
    let folder = TempDir::new().unwrap();
    let out = argument(&folder);
    let start = ["train", "--steps", "4", "--corpus", SAMPLE, "--out", out];
    let planned = prints(&[&start[..], &["--dry-run"]].concat());
    prints(&start);
    let log = fs::read_to_string(folder.path().join("log.jsonl")).unwrap();
    let last: serde_json::Value = serde_json::from_str(log.lines().last().unwrap()).unwrap();
    let trained = last["tokens"].as_u64().unwrap();
    let told = line(&planned, "characters").replace(',', "");
    assert_eq!(told, trained.to_string(), "{planned}");

    let files = || -> BTreeMap<_, _> {
        let files = fs::read_dir(folder.path()).unwrap().map(Result::unwrap);
        files.map(|file| (file.file_name(), fs::read(file.path()).unwrap())).collect()
    };
    let before = files();
    let again = prints(&[&start[..], &["--dry-run"]].concat());
    assert!(line(&again, "output").contains("(taken: name another folder"), "{again}");
    let resume = ["train", "--resume", "--dry-run", "--corpus", SAMPLE, "--out", out];
    let rest = prints(&resume);
    assert!(line(&rest, "steps").starts_with("0 left, 4 of 4 done; "), "{rest}");
    assert_eq!(line(&rest, "characters").replace(',', ""), format!("0 left {trained} done"));
    assert!(line(&rest, "evaluation").ends_with("0 in all"), "{rest}");
    assert!(line(&rest, "time").starts_with("0.0 min"), "{rest}");
    assert!(files() == before, "a file changed");
    fails(
        &["train", "--resume", "--dry-run", "--corpus", SAMPLE, "--out", "no/such/run"],
        1,
        "holds no training run to resume",
    );
}

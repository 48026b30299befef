//! `tang eval`.

use crate::{
    model::model,
    work::{SAMPLE, fails, prints, run, tang},
};

/// Words that evaluate the model of the tests.
fn words<'a>(model: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let fixed = ["eval", "--corpus", SAMPLE, "--checkpoint", model];
    [&fixed, more].concat()
}

#[test]
fn prints_tables_and_says_how_far_it_is() {
    let model = model();
    let ended = run(&mut tang(words(&model, &["--poems", "3", "--form", "五绝"])));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let tables = ended.stdout.matches("| form | kind |").count();
    assert_eq!(tables, 4, "{}", ended.stdout);
    let regulated = |line: &&str| line.starts_with("| 五绝 | regulated | 3 | 0 | 100.0 % |");
    let line = ended.stdout.lines().find(regulated).unwrap();
    assert_eq!(line.matches("100.0 %").count(), 5, "{line}");
    assert!(ended.stderr.contains("五绝, regulated: 0 of 3 poems"));
    assert!(!ended.stdout.contains("七绝") && !ended.stdout.contains("| open,"));
}

#[test]
fn prints_one_object() {
    let model = model();
    let text = prints(&words(&model, &["--poems", "2", "--json"]));
    let eval: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&eval["poems"], &eval["seed"]), (&2.into(), &0.into()));
    let rows = eval["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 4 * 5 + 4);
    let row = rows
        .iter()
        .find(|row| row["form"] == "七律" && row["name"] == "regulated acrostic")
        .unwrap();
    assert_eq!(row["scores"]["strict"]["rate"], 1.0, "{row}");
    assert_eq!(row["acrostic"]["part"], 2);
    assert_eq!(row["repetition"]["thrice"]["whole"], 2);
    assert!(row["repetition"]["openings"][0]["poems"]["part"].as_u64() >= Some(1));
    assert!(row["nats_per_free_char"].as_f64().unwrap() > 0.0);
}

#[test]
fn bad_input_is_refused() {
    let model = model();
    let message = fails(&["eval", "--checkpoint", &model], 1, "no corpus in data: build it");
    assert!(message.contains("`tang data`"), "{message}");
    for (more, code, wanted) in [
        (["--poems", "0"].as_slice(), 2, "0 is not in 1.."),
        (&["--form", "六绝"], 2, "unknown form `六绝`"),
        (&["--best-of", "2", "--beams", "2"], 2, "cannot be used"),
        (&["--temperature", "-1"], 1, "temperature is -1"),
        (&["--corpus", "no/such/folder"], 1, "cannot read no/such/folder"),
    ] {
        let fixed = ["eval", "--checkpoint", &model];
        let corpus = ["--corpus", SAMPLE];
        let corpus = match more[0] {
            "--corpus" => [].as_slice(),
            _ => &corpus,
        };
        fails(&[&fixed, corpus, more].concat(), code, wanted);
    }
}

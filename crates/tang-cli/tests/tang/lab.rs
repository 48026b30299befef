//! `tang report` and `tang bench-cache`.

use std::{fs, path::Path};

use crate::{
    model::{argument, copied_model, model},
    work::{prints, run, tang},
};

#[test]
fn bench_cache_prints_a_table_and_json() {
    let model = model();
    let ended = run(&mut tang([
        "bench-cache",
        "--quick",
        "--checkpoint",
        &model,
    ]));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stdout.contains("| 120 |"), "{}", ended.stdout);
    let json = ended.stdout.lines().last().unwrap();
    let json: serde_json::Value = serde_json::from_str(json).unwrap();
    let name = Path::new(&model).file_name().unwrap().to_str().unwrap();
    assert_eq!(json["model"], name);
    assert_eq!(json["timings"][0]["cached"]["forwarded_tokens"], 32);
    assert!(
        ended.stderr.contains("timing 120 characters"),
        "{}",
        ended.stderr
    );
}

#[test]
fn report_lies_beside_the_model() {
    let model = copied_model();
    let path = model.path().join("report.md");
    let printed = prints(&["report", "--quick", "--checkpoint", argument(&model)]);
    assert_eq!(printed, format!("{}\n", path.display()));
    let report = fs::read_to_string(path).unwrap();
    assert!(
        report.starts_with("# ") && report.contains("| 120 |"),
        "{report}"
    );
    let above = model.path().parent().unwrap().to_str().unwrap();
    assert!(!report.contains(above), "no path of this machine: {report}");
}

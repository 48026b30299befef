//! `tang report` and `tang bench-cache`.

use std::{fs, path::Path};

use serde_json::Value;
use tempfile::TempDir;

use crate::{
    model::{argument, copied_model, model},
    work::{fails, prints, run, tang},
};

#[test]
fn bench_cache_writes_and_prints_a_page_and_json() {
    let model = model();
    let name = Path::new(&model).file_name().unwrap().to_str().unwrap();
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("new/folder");
    let words = ["bench-cache", "--quick", "--checkpoint", &model, "--out"];
    let ended = run(tang(words).arg(&out));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let timing = format!("{name}: timing 32 characters");
    assert!(ended.stderr.contains(&timing), "{}", ended.stderr);

    let (page, last) = ended.stdout.trim_end().rsplit_once("\n\n").unwrap();
    assert_eq!(fs::read_to_string(out.join("report.md")).unwrap(), format!("{page}\n"));
    assert!(page.contains("| 183 | 64 | 246 | 13,728 | 56x |"), "{page}");
    // The tests have no git.
    assert!(page.contains("commit: unknown"), "{page}");
    let above = Path::new(&model).parent().unwrap().to_str().unwrap();
    assert!(!page.contains(above), "no path of this machine: {page}");

    let json: Value = serde_json::from_str(last).unwrap();
    let kept = fs::read_to_string(out.join("report.json")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&kept).unwrap(), json);
    assert_eq!(json["provenance"]["burn"], "0.22.1");
    let first = &json["models"][0];
    assert_eq!(first["name"], name);
    assert_eq!(first["counting"]["rows"][0]["cached"], 32);
    assert_eq!(first["bytes"]["sizes"][4]["used_bytes"], 512 * 1024);
    assert_eq!(first["timing"]["trained"]["rows"][1]["uncached"]["forwarded_tokens"], 528);

    let mut files: Vec<_> = fs::read_dir(&out)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    let wanted = [
        &format!("{name}-memory.svg"),
        &format!("{name}-time.svg"),
        "report.json",
        "report.md",
        "speed-up.svg",
    ];
    assert_eq!(files, wanted);
}

#[test]
fn bench_cache_fails_before_it_measures() {
    let model = model();
    let folder = TempDir::new().unwrap();
    let missing = folder.path().join("missing");
    let missing = missing.to_str().unwrap();
    let out = folder.path().join("out");
    let out_argument = out.to_str().unwrap();
    let start = ["bench-cache", "--quick", "--out", out_argument, "--checkpoint"];
    let message = fails(&[&start[..], &[missing]].concat(), 1, missing);
    assert!(!message.contains("exactness"), "{message}");
    // The second model counts as well, and so does one that is named twice.
    let second = [&start[..], &[&model, "--checkpoint"]].concat();
    fails(&[&second[..], &[missing]].concat(), 1, missing);
    fails(&[&second[..], &[&model]].concat(), 1, "rename one");
    assert!(!out.exists(), "nothing was measured");

    fs::write(&out, "a file").unwrap();
    let message = fails(&[&start[..], &[&model]].concat(), 1, "cannot create");
    assert!(!message.contains("exactness"), "{message}");
    assert_eq!(fs::read_to_string(&out).unwrap(), "a file");
}

#[test]
fn a_page_that_cannot_be_written_is_printed() {
    let folder = TempDir::new().unwrap();
    fs::create_dir(folder.path().join("report.json")).unwrap();
    let model = model();
    let words = ["bench-cache", "--quick", "--checkpoint", &model, "--out"];
    let ended = run(tang(words).arg(folder.path()));
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(ended.stderr.contains("report.json"), "{}", ended.stderr);
    assert!(ended.stdout.contains("13,728"), "{}", ended.stdout);
    assert!(!folder.path().join("report.md").exists());
}

#[test]
fn report_lies_beside_the_model() {
    let model = copied_model();
    let path = model.path().join("report.md");
    let printed = prints(&["report", "--quick", "--checkpoint", argument(&model)]);
    assert_eq!(printed, format!("{}\n", path.display()));
    let report = fs::read_to_string(path).unwrap();
    assert!(report.starts_with("# ") && report.contains("| 32 |"), "{report}");
    let above = model.path().parent().unwrap().to_str().unwrap();
    assert!(!report.contains(above), "no path of this machine: {report}");
}

#[test]
fn bench_decode_writes_and_prints_a_page_and_json() {
    let model = model();
    let name = Path::new(&model).file_name().unwrap().to_str().unwrap();
    let folder = TempDir::new().unwrap();
    let words = ["bench-decode", "--quick", "--checkpoint", &model, "--out"];
    let ended = run(tang(words).arg(folder.path()));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    // The tests run where there is no Python.
    assert!(ended.stderr.contains("PyTorch is not measured"), "{}", ended.stderr);

    let (page, last) = ended.stdout.trim_end().rsplit_once("\n\n").unwrap();
    let kept = fs::read_to_string(folder.path().join("report.md")).unwrap();
    assert_eq!(kept, format!("{page}\n"));
    for part in ["token / floor", "characters per second", "start to end, ms"] {
        assert!(page.contains(part), "{part} is not in\n{page}");
    }
    let above = Path::new(&model).parent().unwrap().to_str().unwrap();
    assert!(!page.contains(above), "no path of this machine: {page}");

    let json: Value = serde_json::from_str(last).unwrap();
    let kept = fs::read_to_string(folder.path().join("report.json")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&kept).unwrap(), json);
    let first = &json["models"][0];
    assert_eq!(first["name"], name);
    assert_eq!(first["torch"], Value::Null);
    assert_eq!(first["timing"]["threads"][0]["threads"], 1);
    assert_eq!(first["timing"]["batches"][1]["rows"], 4);
    assert!(first["timing"]["bytes_per_token"].as_u64().unwrap() > 1 << 20);
    assert!(json["program_bytes"].as_u64().unwrap() > 1 << 20);
    let plot = fs::read_to_string(folder.path().join("batch.svg")).unwrap();
    assert!(plot.matches("<circle").count() >= 2, "{plot}");
}

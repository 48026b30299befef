//! `tang bench-train`.

use std::fs;

use tempfile::TempDir;

use crate::work::{SAMPLE, fails_in, prints, run, tang};

#[test]
fn races_with_a_peer_in_turns() {
    let folder = TempDir::new().unwrap();
    let corpus = folder.path().join("corpus");
    prints(&["data", "--from", SAMPLE, "--out", corpus.to_str().unwrap()]);
    // A peer that is always as fast.
    let peer = folder.path().join("peer.sh");
    let report = r#"{"step": 1, "train_seconds": 2.0, "tokens_per_second": 0.5}"#;
    fs::write(&peer, format!("echo '{report}'")).unwrap();
    let words = ["bench-train", "--steps", "1", "--corpus", "corpus"];
    let peer_words = ["--peer", "/bin/sh peer.sh"];
    // A folder of the user, which has nothing to do with it.
    let out = folder.path().join("target/bench-train");
    let mine = out.join("short-run");
    fs::create_dir_all(&mine).unwrap();
    let ended = run(tang(words).args(peer_words).current_dir(folder.path()));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stdout.contains("| 4,096 | 3 | "), "{}", ended.stdout);
    let json: serde_json::Value =
        serde_json::from_str(ended.stdout.lines().last().unwrap()).unwrap();
    for row in json["throughput"].as_array().unwrap() {
        assert_eq!(row["peer"], serde_json::json!([0.5, 0.5, 0.5]));
        assert_eq!(row["ours"].as_array().unwrap().len(), 3);
    }
    let utilization = &json["utilization"];
    assert!(utilization["percent_of_peak"].as_f64().unwrap() > 0.0);
    assert_eq!(utilization["peak"]["products"].as_array().unwrap().len(), 6);
    let report = fs::read_to_string(out.join("report.json")).unwrap();
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report, json);
    let page = fs::read_to_string(out.join("report.md")).unwrap();
    assert!(ended.stdout.starts_with(&page), "{page}");
    assert!(mine.is_dir());
    let left = fs::read_dir(&out).unwrap().count();
    assert_eq!(left, 3, "besides report.md, report.json and that folder");

    let ended = run(tang(words).current_dir(folder.path()));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stderr.contains("SKIPPED"), "{}", ended.stderr);
}

#[test]
fn a_race_ends_when_the_peer_is_reached() {
    let folder = TempDir::new().unwrap();
    let corpus = folder.path().join("corpus");
    prints(&["data", "--from", SAMPLE, "--out", corpus.to_str().unwrap()]);
    let report = r#"{"step": 1850, "train_seconds": 3600, "tokens_per_second": 0.5, "val_nats_per_char": 9.0}"#;
    fs::write(folder.path().join("peer.sh"), format!("echo '{report}'")).unwrap();
    let words = ["bench-train", "--steps", "1", "--corpus", "corpus", "--full"];
    let more = ["--model", "minimind-4l", "--peer", "/bin/sh peer.sh", "--out", "out"];
    let ended = run(tang(words).args(more).current_dir(folder.path()));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let page = &ended.stdout;
    assert!(page.starts_with("# Training speed: minimind-4l\n"), "{page}");
    assert!(
        page.contains("The peer ends at 9.0000 nats per character after 60.0 minutes"),
        "{page}"
    );
    let json: serde_json::Value = serde_json::from_str(page.lines().last().unwrap()).unwrap();
    let race = &json["race"];
    // Its first evaluation is good enough.
    assert_eq!(race["ours"].as_array().unwrap().len(), 1);
    assert_eq!(race["reached"], race["ours"][0]);
    assert!(race["speed_up"].as_f64().unwrap() > 1.0, "{race}");
    let out = folder.path().join("out");
    assert_eq!(fs::read_to_string(out.join("peer.jsonl")).unwrap(), format!("{report}\n"));
    assert!(fs::read_to_string(out.join("loss.svg")).unwrap().starts_with("<svg"));

    // Neither log nor run is written over.
    let words = [words.as_slice(), &more].concat();
    fails_in(folder.path(), &words, 1, "out/run is there already");
    fs::remove_dir_all(out.join("run")).unwrap();
    fails_in(folder.path(), &words, 1, "out/peer.jsonl is there already");
}

#[test]
fn fails_before_it_measures() {
    let folder = TempDir::new().unwrap();
    let corpus = folder.path().join("corpus");
    prints(&["data", "--from", SAMPLE, "--out", corpus.to_str().unwrap()]);
    let bench = |more: &[&str], code, wanted| {
        let words = [&["bench-train", "--corpus", "corpus"], more].concat();
        fails_in(folder.path(), &words, code, wanted);
        assert!(!folder.path().join("target").exists(), "{more:?}");
    };
    bench(&["--turns", "2"], 2, "3..");
    bench(&["--peer", " "], 1, "--peer is empty");
    bench(&["--full"], 1, "--full needs a peer");
    bench(&["--model", "gpt"], 2, "no model `gpt`");
    bench(&["--full", "--peer-log", "missing"], 1, "missing");
    bench(&["--peer-log", "missing"], 2, "--full");
}

//! `tang data`.

use std::{fs, path::Path};

use tang_files::FolderLock;
use tempfile::TempDir;

use crate::{
    model::{argument, model},
    work::{SAMPLE, fails, fails_in, prints, run, sample, tang},
};

/// `春眠不觉晓` in the encoding GBK.
const GBK: [u8; 10] = [0xb4, 0xba, 0xc3, 0xdf, 0xb2, 0xbb, 0xbe, 0xf5, 0xcf, 0xfe];

/// A file of text that is not UTF-8.
pub fn gbk_file(folder: &TempDir) -> String {
    let path = folder.path().join("gbk.txt");
    fs::write(&path, GBK).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn builds_a_corpus_from_a_text_file() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("corpus");
    let ended = run(tang(["data", "--from", SAMPLE, "--out"]).arg(&out));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stderr.contains("kept 120 of 120 texts"), "{}", ended.stderr);
    let table: Vec<&str> = ended.stdout.lines().collect();
    assert_eq!(table.len(), 7, "{}", ended.stdout);
    assert!(table[1].starts_with("五绝") && table[5].contains("120"), "{}", ended.stdout);
    assert_eq!(fs::read_to_string(out.join("tang.txt")).unwrap(), sample());
    for name in ["train.txt", "val.txt", "SHA256SUMS"] {
        assert!(out.join(name).is_file(), "{name}");
    }
}

#[test]
fn a_corpus_that_is_there_stays() {
    let folder = TempDir::new().unwrap();
    let out = ["--out", argument(&folder)];
    let table = prints(&[["data", "--from", SAMPLE].as_slice(), &out].concat());
    let again = run(tang(["data"]).args(out));
    assert_eq!((again.code, again.stdout), (Some(0), table));
    assert!(again.stderr.contains("is there already"), "{}", again.stderr);
}

#[test]
fn song_poems_are_built_beside_the_tang_poems() {
    let folder = TempDir::new().unwrap();
    let package = folder.path().join("package");
    fs::create_dir(&package).unwrap();
    let json = |poems: &[&str]| {
        let poem = |poem: &&str| format!(r#"{{"paragraphs": ["{poem}"]}}"#);
        format!("[{}]", poems.iter().map(poem).collect::<Vec<_>>().join(","))
    };
    let poems = sample();
    let poems: Vec<&str> = poems.lines().collect();
    let song = "日暮苍山远，天寒白屋贫。柴门闻犬吠，风雪夜归客。";
    fs::write(package.join("poet.tang.0.json"), json(&poems)).unwrap();
    fs::write(package.join("poet.song.0.json"), json(&[song, poems[0]])).unwrap();
    let out = folder.path().join("corpus");
    let arguments = ["data", "--with", "song", "--from"];
    let built = run(tang(arguments).arg(&package).arg("--out").arg(&out));
    assert_eq!(built.code, Some(0), "{}", built.stderr);
    assert!(built.stderr.contains("Song: kept 1 of 2 texts"), "{}", built.stderr);
    assert_eq!(fs::read_to_string(out.join("song.txt")).unwrap(), format!("{song}\n"));
}

#[test]
fn a_changed_file_of_a_corpus_is_left_alone() {
    let folder = TempDir::new().unwrap();
    let out = ["--out", argument(&folder)];
    let build = [["data", "--from", SAMPLE].as_slice(), &out].concat();
    prints(&build);
    let validation = folder.path().join("val.txt");
    fs::write(&validation, "changed").unwrap();
    let message = fails(
        &["data", out[0], out[1]],
        1,
        "val.txt is missing or changed since the corpus was built",
    );
    assert!(message.contains("`tang data --from PATH`"), "{message}");
    let message = fails(&build, 1, "val.txt is there already and was not written with a corpus");
    assert!(message.contains("--out"), "{message}");
    assert_eq!(fs::read_to_string(&validation).unwrap(), "changed");
    // As the messages say.
    fs::remove_file(&validation).unwrap();
    prints(&build);
    assert!(validation.is_file());
    // Checksums of nothing make no folder ours.
    fs::write(folder.path().join("SHA256SUMS"), "").unwrap();
    for words in [&build[..], &["data", out[0], out[1]]] {
        fails(words, 1, "SHA256SUMS is there already and was not written with a corpus");
    }
}

#[test]
fn a_build_that_was_interrupted_is_done_again() {
    let folder = TempDir::new().unwrap();
    let build = ["data", "--from", SAMPLE, "--out", argument(&folder)];
    prints(&build);
    let sums = folder.path().join("SHA256SUMS");
    let whole = fs::read_to_string(&sums).unwrap();
    fs::write(&sums, format!("# not built to its end\n{whole}")).unwrap();
    fails(&["train", "--corpus", argument(&folder)], 1, "no corpus in");
    // It would fetch another; there is no npm here.
    fails(&["data", "--out", argument(&folder)], 1, "`npm` was not found");
    prints(&build);
    assert_eq!(fs::read_to_string(&sums).unwrap(), whole);
}

#[test]
fn checksums_of_others_own_no_file() {
    let folder = TempDir::new().unwrap();
    let notes = folder.path().join("train.txt");
    fs::write(&notes, "my own notes").unwrap();
    let sums = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  photo.png\n";
    fs::write(folder.path().join("SHA256SUMS"), sums).unwrap();
    let message = "SHA256SUMS is there already and was not written with a corpus";
    fails(&["data", "--from", SAMPLE, "--out", argument(&folder)], 1, message);
    assert_eq!(fs::read_to_string(&notes).unwrap(), "my own notes");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn two_do_not_write_at_once() {
    let folder = TempDir::new().unwrap();
    let build = ["data", "--from", SAMPLE, "--out", argument(&folder)];
    let lock = FolderLock::take(folder.path()).unwrap();
    fails(&build, 1, "another process builds the corpus in");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    drop(lock);
    prints(&build);
}

#[test]
fn files_that_it_did_not_write_are_left_alone() {
    let folder = TempDir::new().unwrap();
    let notes = folder.path().join("train.txt");
    fs::write(&notes, "my own notes").unwrap();
    fails(
        &["data", "--from", SAMPLE, "--out", argument(&folder)],
        1,
        "was not written with a corpus",
    );
    assert_eq!(fs::read_to_string(&notes).unwrap(), "my own notes");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// Poems whose marks and rows are those of other keyboards and editors, with what is none among them.
fn odd_poems() -> String {
    let sample = sample();
    let mut poems = sample.lines();
    let mut text = String::from("\u{feff}");
    for (index, poem) in poems.by_ref().take(40).enumerate() {
        text += &match index % 5 {
            0 => poem.replace('。', "？"),
            1 => poem.replace('，', "!").replace('。', "；"),
            2 => poem.replace('，', "，\r\n").replace('。', "。\r\n"),
            3 => poem.replace('。', "。\r"),
            _ => poem.replace(['，', '。'], "\n"),
        };
        text += "\n\n";
    }
    text + "天地玄黄。\n\n" + sample.lines().next().unwrap()
}

#[test]
fn all_commands_read_the_same_poems_and_say_what_they_drop() {
    let model = model();
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("odd.txt");
    fs::write(&path, odd_poems()).unwrap();
    let path = path.to_str().unwrap();
    let out = folder.path().join("corpus");
    let out = out.to_str().unwrap();
    let kept =
        "kept 40 of 42 texts: 1 have another form, 1 are repeats; the first without a form: line ";
    let run_of = |words: &[&str]| {
        let ended = run(&mut tang(words));
        assert_eq!(ended.code, Some(0), "{words:?}: {}", ended.stderr);
        ended
    };
    for words in [
        ["data", "--from", path, "--out", out].as_slice(),
        &["train", "--dry-run", "--steps", "1", "--corpus", path],
        &["next", "春风", "--corpus", path, "--checkpoint", &model],
        &["eval", "--form", "五绝", "--poems", "1", "--corpus", path, "--checkpoint", &model],
    ] {
        let ended = run_of(words);
        assert!(ended.stderr.contains(kept), "{words:?}: {}", ended.stderr);
        assert!(ended.stderr.contains("`天地玄黄` has length 4"), "{}", ended.stderr);
    }
    let poems: Vec<String> = sample().lines().take(40).map(str::to_owned).collect();
    let written = fs::read_to_string(Path::new(out).join("tang.txt")).unwrap();
    assert_eq!(written.lines().collect::<Vec<_>>(), poems);
    let judged = run(&mut tang(["check", path, "--json"])).stdout;
    let formless = judged.lines().filter(|line| line.contains("\"verdict\":null"));
    assert_eq!((judged.lines().count(), formless.count()), (42, 1));
    // A corpus of which all is kept has nothing to say.
    let ended = run_of(&["next", "春风", "--corpus", SAMPLE, "--checkpoint", &model]);
    assert_eq!(ended.stderr, "");
}

#[test]
fn titles_in_a_file_are_told() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("titled.txt");
    let sample = sample();
    let titled: String = sample.lines().take(5).map(|poem| format!("无题\n{poem}\n")).collect();
    fs::write(&path, titled).unwrap();
    let ended = run(tang(["data", "--from"]).arg(&path).arg("--out").arg(folder.path()));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("kept 5 of 10 texts: 5 have another form, 0 are repeats; left out: 5 titles or authors (无题, 无题, 无题, …)"),
        "{}",
        ended.stderr
    );
}

#[cfg(unix)]
#[test]
fn a_device_is_no_corpus() {
    let message = "it is neither a file nor a pipe";
    fails(&["data", "--from", "/dev/zero"], 1, message);
    fails(&["train", "--corpus", "/dev/zero"], 1, message);
}

#[test]
fn without_npm_other_sources_are_named() {
    let folder = TempDir::new().unwrap();
    fails_in(folder.path(), &["data"], 1, "--from PATH");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_source_that_cannot_be_used_is_told() {
    let folder = TempDir::new().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    for (from, wanted) in [
        ("no/such/file".to_owned(), "cannot read no/such/file"),
        (gbk_file(&folder), "is not UTF-8 (byte"),
        (file("poems.zip", "PK\u{3}\u{4}"), "poems.zip is a zip archive: unpack it"),
        (file("a.json", "[{}]"), "a.json is JSON: take its poems out"),
        (file("prose.txt", "天地玄黄\n"), "no regulated poem among the 1 texts"),
        (file("empty.txt", ""), "no regulated poem among the 0 texts"),
        (file("one.txt", sample().lines().next().unwrap()), "1 poem cannot be split"),
        (argument(&folder).to_owned(), "has no file poet.tang.N.json"),
    ] {
        let out = folder.path().join("corpus");
        fails(&["data", "--from", &from, "--out", out.to_str().unwrap()], 1, wanted);
        assert!(!out.exists(), "{wanted}");
    }
}

#[test]
fn each_cause_is_told_once() {
    let message = fails(&["data", "--from", "no/such/file"], 1, "cannot read no/such/file");
    assert_eq!(message.matches("os error").count(), 1, "{message}");
}

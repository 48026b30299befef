//! A corpus on disk is whole, or it is refused.

use std::fs;

use tang_corpus::{Corpus, CorpusError, CorpusFolder, Split};
use tang_files::sha256_hex;
use tempfile::{TempDir, tempdir};

fn corpus() -> Corpus {
    let texts = [
        "白日依山尽，黄河入海流。欲穷千里目，更上一层楼。",
        "移舟泊烟渚，日暮客愁新。野旷天低树，江清月近人。",
        "空山不见人，但闻人语响。返景入深林，复照青苔上。",
    ]
    .map(str::to_owned);
    Corpus::from_texts(&texts, &mut |_| {})
}

fn written() -> (TempDir, CorpusFolder, Corpus, Split) {
    let parent = tempdir().unwrap();
    let folder = CorpusFolder::new(parent.path().join("data"));
    let corpus = corpus();
    let split = Split::of(&corpus.poems).unwrap();
    assert!(!folder.exists());
    folder.write(&corpus, &split).unwrap();
    (parent, folder, corpus, split)
}

#[test]
fn opens_what_it_wrote() {
    let (parent, folder, corpus, split) = written();
    let path = parent.path().join("data");
    assert!(folder.exists());
    assert_eq!(folder.open().unwrap(), split);
    assert_eq!(folder.poems().unwrap(), corpus.poems);
    assert_eq!(Split::load(&path, &mut |_| {}).unwrap(), split);
    assert_eq!(
        fs::read_to_string(path.join("val.txt")).unwrap(),
        "空山不见人，但闻人语响。返景入深林，复照青苔上。\n"
    );
    assert_eq!(fs::read_dir(path).unwrap().count(), 4);
}

#[test]
fn empty_folder_says_how_to_build() {
    let folder = tempdir().unwrap();
    let error = CorpusFolder::new(folder.path()).open().unwrap_err();
    assert!(matches!(error, CorpusError::NotBuilt { .. }), "{error:?}");
    assert!(error.to_string().contains("run `tang data`"), "{error}");
}

#[test]
fn interrupt_between_two_files_is_noticed() {
    // The first build, stopped before the checksums.
    let (parent, folder, ..) = written();
    fs::write(parent.path().join("data/SHA256SUMS"), "").unwrap();
    assert!(!folder.exists());
    assert!(matches!(folder.open(), Err(CorpusError::NotBuilt { .. })));

    // A later build with other poems, stopped after the first file.
    let (parent, folder, corpus, _) = written();
    let other = Split::of(&corpus.poems[..2]).unwrap();
    let train = parent.path().join("data/train.txt");
    fs::write(train, other.train.join("\n")).unwrap();
    let error = folder.open().unwrap_err();
    assert!(
        matches!(&error, CorpusError::Changed { path } if path.ends_with("train.txt")),
        "{error:?}"
    );
    folder
        .write(&corpus, &Split::of(&corpus.poems).unwrap())
        .unwrap();
    assert!(folder.open().is_ok());
}

#[test]
fn missing_or_damaged_file_is_named() {
    let (parent, folder, ..) = written();
    let validation = parent.path().join("data/val.txt");
    fs::write(&validation, b"\xff").unwrap();
    assert!(matches!(folder.open(), Err(CorpusError::Changed { path }) if path == validation));
    fs::remove_file(&validation).unwrap();
    let error = folder.open().unwrap_err();
    assert!(error.to_string().contains("val.txt"), "{error}");
    assert!(folder.poems().is_ok());
}

#[test]
fn checksums_alone_make_no_corpus() {
    for text in ["", "春眠不觉晓\n"] {
        let (parent, folder, ..) = written();
        let path = parent.path().join("data");
        let sums = path.join("SHA256SUMS");
        let before = fs::read(path.join("val.txt")).unwrap();
        let renewed = fs::read_to_string(&sums)
            .unwrap()
            .replace(&sha256_hex(before), &sha256_hex(text));
        fs::write(&sums, renewed).unwrap();
        fs::write(path.join("val.txt"), text).unwrap();
        assert!(
            matches!(folder.open(), Err(CorpusError::Changed { path }) if path.ends_with("val.txt")),
            "{text:?}"
        );
    }
}

//! A corpus on disk is whole, or it is refused.

#![cfg(test)]

use std::{
    fs,
    path::{Path, PathBuf},
};

use tang_corpus::{Corpus, CorpusError, CorpusFolder, Split};
use tang_files::{FolderLock, sha256_hex};
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
    assert_eq!(
        fs::read_to_string(path.join("val.txt")).unwrap(),
        "空山不见人，但闻人语响。返景入深林，复照青苔上。\n"
    );
    let mut names: Vec<_> = fs::read_dir(path)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, [".lock", "SHA256SUMS", "tang.txt", "train.txt", "val.txt"]);
}

#[test]
fn song_poems_come_and_go_with_the_corpus() {
    let (parent, folder, corpus, mut split) = written();
    let song = parent.path().join("data/song.txt");
    split.song = vec!["空山依白日，远山入海流。欲见一层楼，更上闻人语。".to_owned()];
    folder.write(&corpus, &split).unwrap();
    assert_eq!(folder.open().unwrap(), split);
    let checksums = fs::read_to_string(parent.path().join("data/SHA256SUMS")).unwrap();
    assert!(checksums.contains("  song.txt\n"), "{checksums}");

    fs::write(&song, "changed").unwrap();
    let error = folder.open().unwrap_err();
    assert!(matches!(&error, CorpusError::Changed(path) if *path == song), "{error:?}");
    let error = folder.write(&corpus, &split).unwrap_err();
    assert!(matches!(&error, CorpusError::Foreign(path) if *path == song), "{error:?}");
    assert_eq!(fs::read_to_string(&song).unwrap(), "changed");

    fs::remove_file(&song).unwrap();
    folder.write(&corpus, &split).unwrap();
    assert_eq!(folder.open().unwrap(), split);
    split.song.clear();
    folder.write(&corpus, &split).unwrap();
    assert_eq!(folder.open().unwrap(), split);
    assert!(!song.exists());
}

#[test]
fn a_file_of_others_named_song_is_never_replaced() {
    let (parent, folder, corpus, mut split) = written();
    let song = parent.path().join("data/song.txt");
    fs::write(&song, "mine").unwrap();
    split.song = split.train.clone();
    let error = folder.write(&corpus, &split).unwrap_err();
    assert!(matches!(&error, CorpusError::Foreign(path) if *path == song), "{error:?}");
    assert_eq!(fs::read_to_string(&song).unwrap(), "mine");
}

#[test]
fn empty_folder_says_how_to_build() {
    let folder = tempdir().unwrap();
    let error = CorpusFolder::new(folder.path()).open().unwrap_err();
    assert!(matches!(error, CorpusError::NotBuilt(_)), "{error:?}");
    assert!(error.to_string().contains("build it"), "{error}");
}

/// A corpus that has one poem more in training than that of [`corpus`].
fn larger() -> (Corpus, Split) {
    let mut corpus = corpus();
    corpus
        .poems
        .insert(0, "绝域从军计惘然，东南幽恨满词笺。一箫一剑平生意，负尽狂名十五年。".to_owned());
    let split = Split::of(&corpus.poems).unwrap();
    (corpus, split)
}

/// After every number of renames that an interrupt may let happen there is no corpus, or a whole one,
/// and a new one can be written.
#[test]
fn an_interrupt_between_two_renames_is_noticed_and_mended() {
    let (parent, folder, ..) = written();
    let path = parent.path().join("data");
    let read = |name: &str| fs::read_to_string(path.join(name)).unwrap();
    let names = ["train.txt", "val.txt", "tang.txt"];
    let (old_sums, old) = (read("SHA256SUMS"), names.map(read));
    let (corpus, split) = larger();
    folder.write(&corpus, &split).unwrap();
    let (new_sums, new) = (read("SHA256SUMS"), names.map(read));
    assert_ne!(old[0], new[0]);

    // The state before the first rename of a text, and before the last.
    let unfinished = format!("# not built to its end\n{new_sums}{old_sums}");
    for there in [&old[..], &[]] {
        for renamed in 0..=names.len() {
            fs::write(path.join("SHA256SUMS"), &unfinished).unwrap();
            for (i, name) in names.iter().enumerate() {
                let text = if i < renamed { new.get(i) } else { there.get(i) };
                match text {
                    Some(text) => fs::write(path.join(name), text).unwrap(),
                    None => fs::remove_file(path.join(name)).unwrap(),
                }
            }
            assert!(!folder.exists());
            let error = folder.open().unwrap_err();
            assert!(matches!(error, CorpusError::NotBuilt(_)), "{error:?}");
            folder.write(&corpus, &split).unwrap();
            assert_eq!(folder.open().unwrap(), split);
        }
    }
    assert_eq!((read("SHA256SUMS"), names.map(read)), (new_sums, new));
}

#[test]
fn empty_checksums_are_no_corpus_and_own_nothing() {
    let (parent, folder, corpus, split) = written();
    let sums = parent.path().join("data/SHA256SUMS");
    fs::write(&sums, "").unwrap();
    assert!(!folder.exists());
    assert!(matches!(folder.open(), Err(CorpusError::NotBuilt(_))));
    assert!(matches!(
        folder.write(&corpus, &split),
        Err(CorpusError::Foreign(path)) if path == sums
    ));
}

/// The files of a folder with their contents.
fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.clone(), fs::read(path).unwrap_or_default()))
        .collect();
    files.sort();
    files
}

#[test]
fn files_of_others_are_never_replaced() {
    let sum = |text: &str, name: &str| format!("{}  {name}\n", sha256_hex(text));
    let notes = "my own notes";
    let ours = ["train.txt", "val.txt", "tang.txt"].map(|name| sum(notes, name));
    for (files, wanted) in [
        (vec![("train.txt", notes.to_owned())], "train.txt"),
        (vec![("tang.txt", String::new())], "tang.txt"),
        // The checksums of something else.
        (
            vec![("train.txt", notes.to_owned()), ("SHA256SUMS", sum(notes, "train.txt"))],
            "SHA256SUMS",
        ),
        (vec![("SHA256SUMS", sum(notes, "photo.png"))], "SHA256SUMS"),
        (vec![("SHA256SUMS", ours.concat() + &sum(notes, "mine.txt"))], "SHA256SUMS"),
        (vec![("SHA256SUMS", ours[..2].concat()), ("val.txt", notes.to_owned())], "SHA256SUMS"),
        // A file that was changed since the checksums were made.
        (vec![("SHA256SUMS", ours.concat()), ("val.txt", format!("{notes}, and more"))], "val.txt"),
        // Checksums that fit, of files that are no corpus.
        (
            vec![
                ("SHA256SUMS", ours.concat()),
                ("train.txt", notes.to_owned()),
                ("val.txt", notes.to_owned()),
                ("tang.txt", notes.to_owned()),
            ],
            "train.txt",
        ),
        (vec![("SHA256SUMS", ours.concat()), ("tang.txt", notes.to_owned())], "tang.txt"),
    ] {
        let folder = tempdir().unwrap();
        for (name, text) in &files {
            fs::write(folder.path().join(name), text).unwrap();
        }
        let before = contents(folder.path());
        let place = CorpusFolder::new(folder.path());
        let (corpus, split) = larger();
        for error in [place.check_place().unwrap_err(), place.write(&corpus, &split).unwrap_err()] {
            assert!(
                matches!(&error, CorpusError::Foreign(path) if path.ends_with(wanted)),
                "{files:?}: {error:?}"
            );
            assert!(error.to_string().contains("move it away"), "{error}");
        }
        assert_eq!(contents(folder.path()), before);
    }
}

#[test]
fn a_file_that_is_missing_is_written_again() {
    for name in ["train.txt", "val.txt", "tang.txt"] {
        let (parent, folder, corpus, split) = written();
        fs::remove_file(parent.path().join("data").join(name)).unwrap();
        folder.write(&corpus, &split).unwrap();
        assert_eq!(folder.open().unwrap(), split);
    }
}

#[cfg(unix)]
#[test]
fn links_are_not_followed() {
    use std::os::unix::fs::symlink;

    for name in ["train.txt", "val.txt", "tang.txt", "SHA256SUMS", ".lock"] {
        let (parent, folder, corpus, split) = written();
        let (path, moved) = (parent.path().join("data").join(name), parent.path().join("moved"));
        // A link to the very file is one, too; and one to nothing.
        for there in [true, false] {
            if there {
                fs::rename(&path, &moved).unwrap();
                symlink(&moved, &path).unwrap();
            } else {
                fs::remove_file(&moved).unwrap();
            }
            let before = fs::read(&moved).ok();
            let error = folder.write(&corpus, &split).unwrap_err();
            assert!(error.to_string().contains("move it away"), "{name}: {error}");
            assert_eq!(fs::read(&moved).ok(), before, "{name}");
            assert!(path.is_symlink(), "{name}");
        }
    }
}

#[cfg(unix)]
#[test]
fn other_names_of_a_file_keep_their_text() {
    let (parent, folder, ..) = written();
    let (path, copy) = (parent.path().join("data/train.txt"), parent.path().join("copy"));
    fs::hard_link(&path, &copy).unwrap();
    let before = fs::read(&copy).unwrap();
    let (corpus, split) = larger();
    folder.write(&corpus, &split).unwrap();
    assert_eq!(fs::read(&copy).unwrap(), before);
    assert_ne!(fs::read(&path).unwrap(), before);
}

#[test]
fn one_writes_at_a_time_and_leftovers_are_removed() {
    let (parent, folder, ..) = written();
    let path = parent.path().join("data");
    let leftover = path.join("a.tang-tmp");
    fs::write(&leftover, "half").unwrap();
    let lock = FolderLock::take(&path).unwrap();
    let before = contents(&path);
    let (corpus, split) = larger();
    let error = folder.write(&corpus, &split).unwrap_err();
    assert!(matches!(error, CorpusError::Locked(_)), "{error:?}");
    assert_eq!(contents(&path), before);
    drop(lock);
    folder.write(&corpus, &split).unwrap();
    assert!(!leftover.exists());
    assert_eq!(folder.open().unwrap(), split);
}

#[test]
fn missing_or_damaged_file_is_named() {
    let (parent, folder, ..) = written();
    let validation = parent.path().join("data/val.txt");
    fs::write(&validation, b"\xff").unwrap();
    assert!(matches!(folder.open(), Err(CorpusError::Changed(path)) if path == validation));
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
        let renewed =
            fs::read_to_string(&sums).unwrap().replace(&sha256_hex(before), &sha256_hex(text));
        fs::write(&sums, renewed).unwrap();
        fs::write(path.join("val.txt"), text).unwrap();
        assert!(
            matches!(folder.open(), Err(CorpusError::Changed(path)) if path.ends_with("val.txt")),
            "{text:?}"
        );
    }
}

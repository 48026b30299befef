//! Every kind of source gives the same poems, and every damage its own error.

#![cfg(test)]

use std::{
    fs::{self, File},
    path::Path,
    process::Command,
    thread,
};

use flate2::{Compression, write::GzEncoder};
use tang_corpus::{Collections, Corpus, CorpusError, Split, Step};
use tempfile::{TempDir, tempdir};

const ZERO: &str = r#"[
    {"author": "王之渙", "paragraphs": ["白日依山盡，黃河入海流。", "欲窮千里目，更上一層樓。"]},
    {"author": "陳子昂", "paragraphs": ["前不見古人，後不見來者。"]}
]"#;
const TWO: &str = r#"[{"paragraphs": ["移舟泊煙渚，日暮客愁新。", "野曠天低樹，江清月近人。"]}]"#;
const TEN: &str = r#"[{"paragraphs": ["空山不見人，但聞人語響。", "返景入深林，復照青苔上。"]}]"#;

const SONG: &str = r#"[{"paragraphs": ["黃河入海流，白日依山盡。", "更上一層樓，欲窮千里目。"]}]"#;

/// The files of a collection, not in order and with some that are not wanted.
const FILES: [(&str, &str); 7] = [
    ("poet.tang.10000.json", TEN),
    ("poet.tang.0.json", ZERO),
    ("poet.tang.2000.json", TWO),
    ("poet.song.0.json", SONG),
    ("error/poet.song.0.json", "not read"),
    ("authors.tang.json", "not read"),
    ("error/poet.tang.0.json", "not read"),
];

const POEMS: [&str; 3] = [
    "白日依山尽，黄河入海流。欲穷千里目，更上一层楼。",
    "移舟泊烟渚，日暮客愁新。野旷天低树，江清月近人。",
    "空山不见人，但闻人语响。返景入深林，复照青苔上。",
];

fn collection(subfolder: &str) -> TempDir {
    let folder = tempdir().unwrap();
    for (name, json) in FILES {
        let path = folder.path().join(subfolder).join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, json).unwrap();
    }
    folder
}

fn archive(path: &Path, top: &str) {
    let mut builder =
        tar::Builder::new(GzEncoder::new(File::create(path).unwrap(), Compression::fast()));
    for (name, json) in FILES {
        let mut header = tar::Header::new_gnu();
        header.set_size(json.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, format!("{top}/{name}"), json.as_bytes()).unwrap();
    }
    builder.into_inner().unwrap().finish().unwrap();
}

fn read(path: &Path) -> Result<Corpus, CorpusError> {
    Corpus::read(path, Collections::Tang, &mut |_| {})
}

/// Reads a text file with these bytes.
fn read_text(bytes: impl AsRef<[u8]>) -> Result<Corpus, CorpusError> {
    let folder = tempdir().unwrap();
    let path = folder.path().join("poems.txt");
    fs::write(&path, bytes).unwrap();
    read(&path)
}

#[test]
fn folders_of_every_layout_are_read_in_numeric_order() {
    for layout in ["dist/quantangshi", "全唐诗", "json", ""] {
        let folder = collection(layout);
        let corpus = read(folder.path()).unwrap();
        assert_eq!(corpus.poems, POEMS, "{layout}");
        assert_eq!((corpus.counts.read, corpus.counts.irregular), (4, 1));
    }
}

#[test]
fn archives_are_read_in_numeric_order_and_report_bytes() {
    for top in ["package/dist/quantangshi", "chinese-poetry-master/全唐诗"] {
        let folder = tempdir().unwrap();
        // Told by its contents, not by its name.
        let path = folder.path().join("fetched");
        archive(&path, top);
        let mut last = None;
        let corpus = Corpus::read(&path, Collections::Tang, &mut |progress| {
            if progress.step == Step::Read {
                last = Some(progress);
            }
        })
        .unwrap();
        assert_eq!(corpus.poems, POEMS, "{top}");
        let last = last.unwrap();
        assert_eq!(last.total, Some(fs::metadata(&path).unwrap().len()));
        assert!(last.done > 0 && last.done <= last.total.unwrap());
    }
}

#[test]
fn song_poems_are_read_if_asked_for() {
    const SONG_POEM: &str = "黄河入海流，白日依山尽。更上一层楼，欲穷千里目。";
    let folder = collection("dist/quantangshi");
    let package = folder.path().join("package.tgz");
    archive(&package, "package/dist/quantangshi");
    let read = |path: &Path, collections| Corpus::read(path, collections, &mut |_| {});
    for path in [folder.path(), &package] {
        let corpus = read(path, Collections::TangAndSong).unwrap();
        assert_eq!(
            (corpus.poems, corpus.song),
            (POEMS.map(str::to_owned).to_vec(), vec![SONG_POEM.to_owned()])
        );
        assert_eq!((corpus.counts.read, corpus.song_counts.read), (4, 1));
        assert!(read(path, Collections::Tang).unwrap().song.is_empty());
    }

    fs::remove_file(folder.path().join("dist/quantangshi/poet.song.0.json")).unwrap();
    let error = read(folder.path(), Collections::TangAndSong).unwrap_err().to_string();
    assert!(error.contains("has no file poet.song.N.json"), "{error}");
    let text = folder.path().join("poems.txt");
    fs::write(&text, POEMS.join("\n")).unwrap();
    let error = read(&text, Collections::TangAndSong).unwrap_err().to_string();
    assert!(error.contains("only the chinese-poetry package has Song poems"), "{error}");
}

/// The bytes of a pipe can be read once only.
#[cfg(unix)]
#[test]
fn a_pipe_is_read_from_its_first_byte() {
    let folder = tempdir().unwrap();
    let package = folder.path().join("package.tgz");
    archive(&package, "package/dist/quantangshi");
    let pipe = folder.path().join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    for bytes in [POEMS.join("\n").into_bytes(), fs::read(&package).unwrap()] {
        let end = pipe.clone();
        let writer = thread::spawn(move || fs::write(end, bytes));
        assert_eq!(read(&pipe).unwrap().poems, POEMS);
        writer.join().unwrap().unwrap();
    }
}

#[test]
fn text_file_may_have_bom_crlf_blank_lines_and_other_lines() {
    let text = format!(
        "\u{feff}{}\r\n\r\n  {}\u{3000}\r\n登鹳雀楼\r\n{}\r\n{}",
        POEMS[0], POEMS[1], POEMS[0], "空山不見人，但聞人語響。返景入深林，復照青苔上。"
    );
    let corpus = read_text(text).unwrap();
    assert_eq!(corpus.poems, POEMS);
    assert_eq!(corpus.counts.read, 5);
    assert_eq!(corpus.counts.irregular, 1);
    assert_eq!(corpus.counts.repeated, 1);
}

#[test]
fn other_encodings_are_refused_with_the_way_to_convert() {
    // 白日 in GBK.
    let error = read_text(b"ok\n\xb0\xd7\xc8\xd5").unwrap_err();
    assert!(matches!(error, CorpusError::Unreadable { .. }), "{error:?}");
    for wanted in ["is not UTF-8 (byte 4 breaks it)", "iconv -f GBK -t UTF-8"] {
        assert!(error.to_string().contains(wanted), "{error}");
    }
    // A damaged byte, and a file that was cut inside of a character.
    let poem = POEMS[0].as_bytes();
    for (bytes, at) in [([poem, b"\xff", poem].concat(), poem.len() + 1), (poem[..71].to_vec(), 70)]
    {
        let error = read_text(bytes).unwrap_err();
        assert!(matches!(error, CorpusError::Unreadable { .. }), "{error:?}");
        let place = format!("is UTF-8 but for byte {at}: ");
        for wanted in [&place, "iconv -c -f UTF-8 -t UTF-8"] {
            assert!(error.to_string().contains(wanted), "{error}");
        }
    }
}

#[test]
fn files_that_are_no_text_are_named_with_what_to_do() {
    let utf_16: Vec<u8> = POEMS[0].encode_utf16().flat_map(u16::to_le_bytes).collect();
    for (bytes, wanted) in [
        (b"PK\x03\x04\x14\0".as_slice(), "poems.txt is a zip archive: unpack it"),
        (b"\xfd7zXZ\0", "compressed by xz: unpack it"),
        (&[b"\xff\xfe", utf_16.as_slice()].concat(), "iconv -f UTF-16 -t UTF-8"),
        (&utf_16, "iconv -f UTF-16LE -t UTF-8"),
        (b"[{\"paragraphs\": []}]", "is JSON: take its poems out"),
        (b"[{\"paragraphs\": []}]", "`jq -r '.[].paragraphs | add' OLD > NEW`"),
        (b"{\"text\": \"\"}\n", "`jq -r .text OLD > NEW`"),
        (b"[\"a\"]", "`jq -r '.[]' OLD > NEW`"),
        (b"%PDF-1.7", "is a PDF document"),
    ] {
        let error = read_text(bytes).unwrap_err();
        assert!(matches!(error, CorpusError::Unreadable { .. }), "{error:?}");
        assert!(error.to_string().contains(wanted), "{error}");
    }
}

#[test]
fn poems_of_many_rows_are_kept_and_what_is_dropped_is_counted() {
    let rows = POEMS[0].replace('，', "？\r").replace('。', "！\r");
    let text =
        format!("登鹳雀楼\r王之涣\r{rows}\r{}\r{}\r黄河入海。\r\r{rows}", POEMS[1], POEMS[2]);
    let corpus = read_text(text).unwrap();
    assert_eq!(corpus.poems, POEMS);
    let counts = corpus.counts;
    assert_eq!((counts.read, counts.irregular, counts.repeated), (7, 3, 1));
    assert_eq!(corpus.left_out.titles, ["登鹳雀楼", "王之涣"]);
    let first = corpus.first_unread.unwrap();
    assert_eq!((first.line, first.text.as_str()), (10, "黄河入海"));
}

#[test]
fn sources_without_a_poem_are_refused() {
    for text in ["", "\n\n", "x", "登鹳雀楼\n王之涣\n"] {
        let error = read_text(text).unwrap_err();
        assert!(matches!(error, CorpusError::NoPoems { .. }), "{error:?}");
    }
    let folder = tempdir().unwrap();
    let error = read(folder.path()).unwrap_err();
    assert!(matches!(error, CorpusError::Unreadable { .. }), "{error:?}");
    assert!(error.to_string().contains("has no file poet.tang.N.json"), "{error}");
    let missing = folder.path().join("missing");
    let error = read(&missing).unwrap_err();
    assert!(
        matches!(&error, CorpusError::Io { action: "read", path, .. } if *path == missing),
        "{error:?}"
    );
}

#[test]
fn damaged_json_names_the_file() {
    let folder = collection("json");
    fs::write(folder.path().join("json/poet.tang.2000.json"), &TWO.as_bytes()[..50]).unwrap();
    let error = read(folder.path()).unwrap_err();
    assert!(matches!(error, CorpusError::Unreadable { .. }), "{error:?}");
    for wanted in ["poet.tang.2000.json is not a JSON array of poems", "EOF"] {
        assert!(error.to_string().contains(wanted), "{error}");
    }
}

#[test]
fn damaged_archive_names_the_file() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("package.tgz");
    archive(&path, "package/dist/quantangshi");
    let bytes = fs::read(&path).unwrap();
    for damaged in [&bytes[..bytes.len() / 2], b"\x1f\x8bnothing".as_slice()] {
        fs::write(&path, damaged).unwrap();
        let error = read(&path).unwrap_err();
        assert!(matches!(error, CorpusError::Archive { .. }), "{error:?}");
        assert!(error.to_string().contains("package.tgz"), "{error}");
    }
}

#[test]
fn a_text_file_splits_without_a_folder() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("poems.txt");
    fs::write(&path, POEMS.join("\n")).unwrap();
    let split = Split::of(&read(&path).unwrap().poems).unwrap();
    assert_eq!(split.train, POEMS[..2]);
    assert_eq!(split.validation, POEMS[2..]);
}

#[test]
fn a_folder_is_read_as_far_as_a_collection_goes() {
    let folder = collection("json");
    let path = folder.path().join("json/poet.tang.3000.json");
    // Sparse: it takes no room on the disk.
    File::create(&path).unwrap().set_len(1 << 40).unwrap();
    let error = read(folder.path()).unwrap_err().to_string();
    for wanted in ["poet.tang.3000.json", "more than 16 MiB"] {
        assert!(error.contains(wanted), "{error}");
    }

    let folder = tempdir().unwrap();
    for number in 0..=10_000 {
        File::create(folder.path().join(format!("poet.tang.{number}.json"))).unwrap();
    }
    let error = read(folder.path()).unwrap_err().to_string();
    assert!(error.contains("more than 10000 files of poems"), "{error}");
}

#[test]
fn a_text_too_large_is_not_begun() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("poems.txt");
    File::create(&path).unwrap().set_len(1 << 40).unwrap();
    let error = read(&path).unwrap_err().to_string();
    assert!(error.contains("more than 256 MiB"), "{error}");
}

//! An archive that is damaged, cut short or made to exhaust the memory is refused.

#![cfg(test)]

use std::{
    fs,
    io::{self, Read, Write},
    iter,
};

use flate2::{Compression, write::GzEncoder};
use tang_corpus::{Collections, Corpus, CorpusError};
use tar::{EntryType, Header};
use tempfile::tempdir;

const NAME: &str = "package/dist/quantangshi/poet.tang.0.json";
const JSON: &str = r#"[
    {"paragraphs": ["白日依山盡，黃河入海流。", "欲窮千里目，更上一層樓。"]},
    {"paragraphs": ["夜來風雨聲，花落知多少。"]}
]"#;
const POEM: &str = "白日依山尽，黄河入海流。欲穷千里目，更上一层楼。";
/// The end of an archive.
const END: [u8; 1024] = [0; 1024];

fn header(name: &str, kind: EntryType, size: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_path(name).unwrap();
    header.set_mode(0o644);
    header.set_entry_type(kind);
    header.set_size(size);
    header.set_cksum();
    header
}

/// A file with its header, filled up to whole blocks.
fn entry(name: &str, kind: EntryType, bytes: &[u8]) -> Vec<u8> {
    let padding = bytes.len().next_multiple_of(512) - bytes.len();
    let head = header(name, kind, bytes.len() as u64);
    [head.as_bytes(), bytes, &vec![0; padding]].concat()
}

fn poems() -> Vec<u8> {
    entry(NAME, EntryType::Regular, JSON.as_bytes())
}

fn gzip(mut bytes: impl Read, level: Compression) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), level);
    io::copy(&mut bytes, &mut encoder).unwrap();
    encoder.finish().unwrap()
}

/// A whole archive, its text not compressed.
fn archive() -> Vec<u8> {
    gzip([&poems()[..], &END].concat().as_slice(), Compression::none())
}

fn read(bytes: &[u8]) -> Result<Corpus, CorpusError> {
    let folder = tempdir().unwrap();
    let path = folder.path().join("package.tgz");
    fs::write(&path, bytes).unwrap();
    Corpus::read(&path, Collections::Tang, &mut |_| {})
}

/// The message that refuses this archive.
fn refused(tar: impl Read) -> String {
    let error = read(&gzip(tar, Compression::fast())).unwrap_err();
    error.to_string()
}

#[test]
fn one_flipped_bit_is_noticed() {
    let bytes = archive();
    assert_eq!(read(&bytes).unwrap().poems, [POEM]);
    // The flags of the header are 4 bytes in; time, level and system after them say nothing about the text.
    for at in (0..4).chain(10..bytes.len()) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << (at % 8);
        // Told as damaged, or, without its first bytes, as no archive.
        let error = read(&damaged).unwrap_err();
        let is_told = match at {
            0..2 => !matches!(error, CorpusError::Io { .. }),
            _ => matches!(error, CorpusError::Archive { .. }),
        };
        assert!(is_told, "byte {at}: {error:?}");
    }
}

#[test]
fn an_archive_cut_short_is_noticed_wherever() {
    let bytes = archive();
    for length in 2..bytes.len() {
        let error = read(&bytes[..length]).unwrap_err();
        assert!(matches!(error, CorpusError::Archive { .. }), "{length}: {error:?}");
    }
}

#[test]
fn nothing_may_follow_the_end() {
    let message = |bytes: Vec<u8>| read(&bytes).unwrap_err().to_string();
    for tail in [&b"x"[..], b"PK\x03\x04", &archive()[..20]] {
        let message = message([&archive()[..], tail].concat());
        assert!(message.contains("package.tgz as a gzipped tar archive"), "{message}");
    }
    let other = "other data follows the end of the archive";
    assert!(message([archive(), archive()].concat()).contains(other));
    assert!(refused([&poems()[..], &END, &poems(), &END].concat().as_slice()).contains(other));
    let open = refused(poems().as_slice());
    assert!(open.contains("without the zeros that end"), "{open}");
}

/// As `cat`, `pigz` and `bgzip` make it.
#[test]
fn an_archive_of_several_members_is_read_whole() {
    let tar = [&poems()[..], &END].concat();
    let members: Vec<u8> = tar
        .chunks(300)
        .chain(iter::once(&[][..]))
        .flat_map(|chunk| gzip(chunk, Compression::default()))
        .collect();
    let corpus = read(&members).unwrap();
    assert_eq!((corpus.poems, corpus.counts.read), (vec![POEM.to_owned()], 2));
    let mut damaged = members.clone();
    *damaged.last_mut().unwrap() ^= 1;
    assert!(read(&damaged).is_err());
    // More zeros than two blocks fill up a tape.
    let long = [&tar[..], &[0; 9_000]].concat();
    assert!(read(&gzip(&long[..], Compression::fast())).is_ok());
}

#[test]
fn a_header_has_its_own_checksum() {
    let mut tar = [&poems()[..], &END].concat();
    tar[NAME.len() - 6] = b'1';
    let message = refused(tar.as_slice());
    assert!(message.contains("checksum"), "{message}");
}

/// A file that says it has a size, sparse, with nothing in it.
fn sparse(name: &str, size: u64) -> Vec<u8> {
    let mut head = header(name, EntryType::GNUSparse, 0);
    let gnu = head.as_gnu_mut().unwrap();
    gnu.set_real_size(size);
    let block = &mut gnu.sparse[0];
    block.set_offset(size);
    block.set_length(0);
    head.set_cksum();
    [head.as_bytes(), &END[..]].concat()
}

/// Each of these took all of the memory, or more than there is.
#[test]
fn what_inflates_without_end_is_given_up() {
    const GIB: u64 = 1 << 30;

    let bomb = gzip(sparse(NAME, 1 << 40).as_slice(), Compression::best());
    assert!(bomb.len() < 256, "{}", bomb.len());
    let error = read(&bomb).unwrap_err();
    assert!(error.to_string().contains("more than 16 MiB"), "{error}");

    let zeros = |bytes: u64| io::repeat(0).take(bytes);
    for (kind, size, wanted) in [
        (EntryType::Regular, 20 << 20, "more than 16 MiB"),
        (EntryType::GNULongName, 20 << 20, "a header in it has more than 1 MiB"),
        (EntryType::GNULongLink, 20 << 20, "a header in it has more than 1 MiB"),
        (EntryType::XHeader, 20 << 20, "a header in it has more than 1 MiB"),
        (EntryType::Regular, u64::MAX / 4, "more than 16 MiB"),
        (EntryType::Symlink, 0, "is no plain file"),
    ] {
        let head = header(NAME, kind, size);
        let message = refused(head.as_bytes().chain(zeros(30 << 20)));
        assert!(message.contains(wanted), "{kind:?}: {message}");
    }

    // A file that is not read is skipped, but not for ever.
    let other = header("package/other", EntryType::Regular, 2 * GIB);
    let message = refused(other.as_bytes().chain(zeros(2 * GIB)));
    assert!(message.contains("unpacked it has more than 1024 MiB"), "{message}");
    // Sparse it is skipped at once.
    let tar = [&sparse("package/other", u64::MAX / 4)[..512], &poems(), &END].concat();
    assert_eq!(read(&gzip(&tar[..], Compression::fast())).unwrap().poems, [POEM]);
    // Zeros after the end, as on a tape, but without an end of their own.
    let message = refused([&poems()[..], &END].concat().as_slice().chain(zeros(2 * GIB)));
    assert!(message.contains("unpacked it has more than 1024 MiB"), "{message}");
}

#[test]
fn other_kinds_of_file_are_told_with_what_to_do() {
    let mut utf16 = vec![0xff, 0xfe];
    utf16.extend(POEM.encode_utf16().flat_map(u16::to_le_bytes));
    let mut gzipped = GzEncoder::new(Vec::new(), Compression::fast());
    gzipped.write_all(POEM.as_bytes()).unwrap();
    for (bytes, wanted) in [
        (b"PK\x03\x04\x14\0\0\0\x08\0".to_vec(), "is a zip archive: unpack it"),
        (b"\xfd7zXZ\0\0\x04".to_vec(), "is compressed by xz: unpack it"),
        (b"BZh91AY&SY".to_vec(), "is compressed by bzip2: unpack it"),
        (utf16, "is UTF-16 text: convert it, for example `iconv -f UTF-16 -t UTF-8"),
        (JSON.into(), "is JSON: take its poems out"),
        (poems(), "is a tar archive: unpack it"),
        (gzipped.finish().unwrap(), "is compressed by gzip: unpack it"),
        (gzip(JSON.as_bytes(), Compression::fast()), "is compressed by gzip: unpack it"),
        (gzip(&b""[..], Compression::fast()), "is compressed by gzip: unpack it"),
    ] {
        let error = read(&bytes).unwrap_err();
        assert!(matches!(error, CorpusError::Unreadable { .. }), "{error:?}");
        assert!(error.to_string().contains(wanted), "{error}");
    }
}

//! Kinds of files that are no plain text, told by their bytes.

use std::fmt;

use crate::wide_text::wide_text;

/// Count of bytes that are examined for a kind without a magic number.
const SAMPLE: usize = 4_096;

/// Magic numbers: the first bytes of a file by its kind.
const MARKS: [(&[u8], FileKind); 24] = [
    (b"PK\x03\x04", FileKind::ZIP),
    (b"PK\x05\x06", FileKind::ZIP),
    (b"PK\x07\x08", FileKind::ZIP),
    (b"\x1f\x8b", FileKind::GZIP),
    (b"\xfd7zXZ\0", FileKind::XZ),
    (b"BZh", FileKind::BZIP2),
    (b"\x28\xb5\x2f\xfd", FileKind::ZSTD),
    (b"\x04\x22\x4d\x18", FileKind::LZ4),
    (b"LZIP\x01", FileKind::LZIP),
    (b"\x1f\x9d", FileKind::COMPRESS),
    (b"7z\xbc\xaf\x27\x1c", FileKind::SEVEN_ZIP),
    (b"Rar!\x1a\x07", FileKind::RAR),
    // Before UTF-16, whose byte order mark is the beginning of this one.
    (b"\xff\xfe\0\0", FileKind::UTF_32),
    (b"\0\0\xfe\xff", FileKind::UTF_32),
    (b"\xff\xfe", FileKind::UTF_16),
    (b"\xfe\xff", FileKind::UTF_16),
    (b"%PDF-", FileKind::PDF),
    (b"{\\rtf", FileKind::RTF),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", FileKind::DOCUMENT),
    (b"\x89PNG\r\n\x1a\n", FileKind::PICTURE),
    (b"\xff\xd8\xff", FileKind::PICTURE),
    (b"GIF8", FileKind::PICTURE),
    (b"II*\0", FileKind::PICTURE),
    (b"MM\0*", FileKind::PICTURE),
];

/// A kind of file that people take for text. It displays as its name and the way to plain text, as in
/// `a zip archive: unpack it, for example ...`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileKind(&'static str);

impl FileKind {
    /// A tar archive, not compressed.
    pub const TAR: Self = Self("a tar archive: unpack it, for example `tar -xf OLD`");
    /// Data compressed by gzip: an archive or a single file.
    pub const GZIP: Self = Self("compressed by gzip: unpack it, for example `gzip -dc OLD > NEW`");
    /// JSON: a list of objects, as in the published collection.
    pub const JSON: Self = Self(
        "JSON: take its poems out as plain text, one per line, for example \
         `jq -r '.[].paragraphs | add' OLD > NEW`",
    );
    /// Bytes with a zero among them, of no other kind.
    pub const BINARY: Self = Self("no text: it has zero bytes: give a text file in UTF-8");

    const ZIP: Self = Self("a zip archive: unpack it, for example `unzip OLD`");
    const SEVEN_ZIP: Self = Self("a 7z archive: unpack it, for example `7z x OLD`");
    const RAR: Self = Self("a RAR archive: unpack it, for example `unrar x OLD`");
    const XZ: Self = Self("compressed by xz: unpack it, for example `xz -dc OLD > NEW`");
    const BZIP2: Self = Self("compressed by bzip2: unpack it, for example `bzip2 -dc OLD > NEW`");
    const ZSTD: Self = Self("compressed by zstd: unpack it, for example `zstd -dc OLD > NEW`");
    const LZ4: Self = Self("compressed by lz4: unpack it, for example `lz4 -dc OLD > NEW`");
    const LZIP: Self = Self("compressed by lzip: unpack it, for example `lzip -dc OLD > NEW`");
    const COMPRESS: Self =
        Self("compressed by compress: unpack it, for example `gzip -dc OLD > NEW`");
    pub(crate) const UTF_16: Self =
        Self("UTF-16 text: convert it, for example `iconv -f UTF-16 -t UTF-8 OLD > NEW`");
    pub(crate) const UTF_16_LE: Self =
        Self("UTF-16 text: convert it, for example `iconv -f UTF-16LE -t UTF-8 OLD > NEW`");
    pub(crate) const UTF_16_BE: Self =
        Self("UTF-16 text: convert it, for example `iconv -f UTF-16BE -t UTF-8 OLD > NEW`");
    pub(crate) const UTF_32: Self =
        Self("UTF-32 text: convert it, for example `iconv -f UTF-32 -t UTF-8 OLD > NEW`");
    pub(crate) const UTF_32_LE: Self =
        Self("UTF-32 text: convert it, for example `iconv -f UTF-32LE -t UTF-8 OLD > NEW`");
    pub(crate) const UTF_32_BE: Self =
        Self("UTF-32 text: convert it, for example `iconv -f UTF-32BE -t UTF-8 OLD > NEW`");
    const JSON_TEXTS: Self = Self(
        "JSON: take its poems out as plain text, one per line, for example \
         `jq -r '.[]' OLD > NEW`",
    );
    const JSON_OBJECTS: Self = Self(
        "JSON: take its poems out as plain text, one per line, for example \
         `jq -r .text OLD > NEW`",
    );
    const MARKUP: Self =
        Self("HTML or XML: open it in a browser or reader, and copy the poems as text");
    const EPUB: Self =
        Self("an electronic book: open it in a browser or reader, and copy the poems as text");
    const PDF: Self = Self("a PDF document: take its text out, for example `pdftotext OLD NEW`");
    const RTF: Self = Self("an RTF document: save it as plain text in UTF-8");
    const DOCUMENT: Self = Self("a document of a word processor: save it as plain text in UTF-8");
    const PICTURE: Self = Self("a picture: type the poems, or have their text recognised");

    /// The kind of a file with these bytes; the first 4 KiB are enough. `None` for plain text, in
    /// UTF-8 or in an encoding that its bytes do not show.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        let bytes = &bytes[..bytes.len().min(SAMPLE)];
        match MARKS.iter().find(|(mark, _)| bytes.starts_with(mark)) {
            Some((_, Self::ZIP)) => return Some(zipped(bytes)),
            Some((_, kind)) => return Some(*kind),
            None if is_tar(bytes) => return Some(Self::TAR),
            None => {}
        }
        match std::str::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => of_text(text),
            // The sample may end inside a character.
            Err(error) if error.error_len().is_none() && !bytes.contains(&0) => {
                of_text(std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default())
            }
            _ => wide_text(bytes).or_else(|| bytes.contains(&0).then_some(Self::BINARY)),
        }
    }
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// The kind of a zip archive, which documents and books are too: told by a file name or contents at its
/// beginning.
fn zipped(bytes: &[u8]) -> FileKind {
    let has = |text: &[u8]| bytes.windows(text.len()).any(|window| window == text);
    if has(b"application/epub+zip") {
        FileKind::EPUB
    } else if has(b"[Content_Types].xml")
        || has(b"word/")
        || has(b"application/vnd.oasis.opendocument")
    {
        FileKind::DOCUMENT
    } else {
        FileKind::ZIP
    }
}

/// Whether the bytes begin with the header of a file in a tar archive: the octal checksum in it is
/// that of the header with spaces in place of the checksum.
fn is_tar(bytes: &[u8]) -> bool {
    let Some(header) = bytes.first_chunk::<512>() else {
        return false;
    };
    let (before, rest) = header.split_at(148);
    let (checksum, after) = rest.split_at(8);
    let sum: u32 = [before, b"        ", after]
        .iter()
        .flat_map(|part| part.iter())
        .map(|byte| u32::from(*byte))
        .sum();
    let digits = checksum.iter().map(|byte| char::from(*byte));
    let digits: String = digits.filter(|c| c.is_digit(8)).collect();
    u32::from_str_radix(&digits, 8) == Ok(sum)
}

/// The kind of a text with a syntax of its own.
fn of_text(text: &str) -> Option<FileKind> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).trim_start();
    let mut chars = text.chars();
    let first = chars.next()?;
    let second = chars.find(|c| !c.is_whitespace());
    match (first, second) {
        // `[1]` begins a note.
        ('[', Some('{' | '[' | ']')) => Some(FileKind::JSON),
        ('[', Some('"')) => Some(FileKind::JSON_TEXTS),
        ('{', Some('"' | '}')) => Some(FileKind::JSON_OBJECTS),
        ('<', Some('!' | '?' | 'a'..='z' | 'A'..='Z')) => Some(FileKind::MARKUP),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POEM: &str = "白日依山尽，黄河入海流。\r\n欲穷千里目，更上一层楼。\r\n";

    #[test]
    fn archives_and_documents_are_told_by_their_first_bytes() {
        for (bytes, kind) in [
            (b"PK\x03\x04\x14\0\0\0poems.txt".as_slice(), FileKind::ZIP),
            (b"PK\x05\x06\0\0", FileKind::ZIP),
            (b"PK\x03\x04\x14\0\0\0[Content_Types].xml", FileKind::DOCUMENT),
            (
                b"PK\x03\x04\x14\0\0\0mimetypeapplication/vnd.oasis.opendocument.text",
                FileKind::DOCUMENT,
            ),
            (b"PK\x03\x04\x14\0\0\0mimetypeapplication/epub+zip", FileKind::EPUB),
            (b"\x1f\x8b\x08", FileKind::GZIP),
            (b"\xfd7zXZ\0\0\x04", FileKind::XZ),
            (b"BZh91AY&SY", FileKind::BZIP2),
            (b"\x28\xb5\x2f\xfd\x04", FileKind::ZSTD),
            (b"7z\xbc\xaf\x27\x1c\0\x04", FileKind::SEVEN_ZIP),
            (b"Rar!\x1a\x07\x01\0", FileKind::RAR),
            (b"%PDF-1.7\n", FileKind::PDF),
            (b"{\\rtf1\\ansi", FileKind::RTF),
            (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", FileKind::DOCUMENT),
            (b"\x89PNG\r\n\x1a\n", FileKind::PICTURE),
            (b"\x7fELF\x02\x01\x01\0\0\0", FileKind::BINARY),
        ] {
            assert_eq!(FileKind::of(bytes), Some(kind), "{bytes:?}");
        }
    }

    #[test]
    fn a_tar_archive_is_told_by_its_checksum() {
        let mut head = [0u8; 512];
        head[..9].copy_from_slice(b"poems.txt");
        head[148..156].fill(b' ');
        let sum: u32 = head.iter().map(|byte| u32::from(*byte)).sum();
        let digits = format!("{sum:06o}\0 ");
        head[148..156].copy_from_slice(digits.as_bytes());
        assert_eq!(FileKind::of(&head), Some(FileKind::TAR));
        head[0] = b'q';
        assert_eq!(FileKind::of(&head), Some(FileKind::BINARY));
        assert_eq!(FileKind::of(&[0; 512]), Some(FileKind::BINARY));
    }

    #[test]
    fn json_and_markup_are_told_and_text_is_none() {
        for (text, kind) in [
            ("[\n  {\"paragraphs\": []}]", Some(FileKind::JSON)),
            ("[]", Some(FileKind::JSON)),
            ("\u{feff}{\"text\":\"春\"}\n", Some(FileKind::JSON_OBJECTS)),
            ("[\"白日依山尽\"]", Some(FileKind::JSON_TEXTS)),
            ("<!DOCTYPE html>", Some(FileKind::MARKUP)),
            ("\n <p>白日依山尽</p>", Some(FileKind::MARKUP)),
            ("[1] 白日依山尽", None),
            ("{一}白日依山尽", None),
            ("<登鹳雀楼>", None),
            ("PK 白日", None),
            ("", None),
            (POEM, None),
            (&POEM.repeat(200), None),
            (&format!("a{}", POEM.repeat(200)), None),
        ] {
            assert_eq!(FileKind::of(text.as_bytes()), kind, "{text}");
        }
        // 春眠不觉晓 in GBK: text, of an encoding that has no mark.
        let gbk = b"\xb4\xba\xc3\xdf\xb2\xbb\xbe\xf5\xcf\xfe";
        assert_eq!(FileKind::of(gbk), None);
    }

    #[test]
    fn it_says_what_to_do() {
        assert_eq!(FileKind::ZIP.to_string(), "a zip archive: unpack it, for example `unzip OLD`");
        assert!(FileKind::UTF_16.to_string().starts_with("UTF-16 text: convert it"));
        assert!(FileKind::UTF_16.to_string().contains("iconv -f UTF-16 -t UTF-8"));
    }
}

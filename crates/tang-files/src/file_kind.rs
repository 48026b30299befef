//! Kinds of files that are no plain text, told by their bytes.

use std::fmt;

use crate::wide_text::wide_text;

/// Bytes that are looked at where a kind has no mark of its own.
const SAMPLE: usize = 4_096;

/// A kind of file that people take for text. It displays as a sentence's end: what it is, and how text
/// is had from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileKind {
    /// A zip archive that is no document.
    Zip,
    /// Compressed by gzip, an archive or a single file.
    Gzip,
    /// Compressed by xz.
    Xz,
    /// Compressed by bzip2.
    Bzip2,
    /// Compressed by zstd.
    Zstd,
    /// Compressed by lz4.
    Lz4,
    /// Compressed by lzip.
    Lzip,
    /// Compressed by the old `compress`.
    Compress,
    /// A 7z archive.
    SevenZip,
    /// A RAR archive.
    Rar,
    /// A tar archive, not compressed.
    Tar,
    /// UTF-16, the order of its bytes told by its first two.
    Utf16,
    /// UTF-16 without such a mark, the low byte first.
    Utf16Le,
    /// UTF-16 without such a mark, the high byte first.
    Utf16Be,
    /// UTF-32, the order of its bytes told by its first four.
    Utf32,
    /// UTF-32 without such a mark, the low byte first.
    Utf32Le,
    /// UTF-32 without such a mark, the high byte first.
    Utf32Be,
    /// JSON: a list of objects, as the collection has.
    Json,
    /// JSON: a list of texts.
    JsonTexts,
    /// JSON: an object, or one a line.
    JsonObjects,
    /// HTML, or XML.
    Markup,
    /// PDF.
    Pdf,
    /// RTF.
    Rtf,
    /// A document of a word processor: docx, odt, the old doc.
    Document,
    /// An electronic book.
    Epub,
    /// A picture.
    Picture,
    /// No text by its zero bytes, and none of the others.
    Binary,
}

/// How files begin that say what they are.
const MARKS: [(&[u8], FileKind); 24] = [
    (b"PK\x03\x04", FileKind::Zip),
    (b"PK\x05\x06", FileKind::Zip),
    (b"PK\x07\x08", FileKind::Zip),
    (b"\x1f\x8b", FileKind::Gzip),
    (b"\xfd7zXZ\0", FileKind::Xz),
    (b"BZh", FileKind::Bzip2),
    (b"\x28\xb5\x2f\xfd", FileKind::Zstd),
    (b"\x04\x22\x4d\x18", FileKind::Lz4),
    (b"LZIP\x01", FileKind::Lzip),
    (b"\x1f\x9d", FileKind::Compress),
    (b"7z\xbc\xaf\x27\x1c", FileKind::SevenZip),
    (b"Rar!\x1a\x07", FileKind::Rar),
    // The low byte first: UTF-32 begins like UTF-16.
    (b"\xff\xfe\0\0", FileKind::Utf32),
    (b"\0\0\xfe\xff", FileKind::Utf32),
    (b"\xff\xfe", FileKind::Utf16),
    (b"\xfe\xff", FileKind::Utf16),
    (b"%PDF-", FileKind::Pdf),
    (b"{\\rtf", FileKind::Rtf),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", FileKind::Document),
    (b"\x89PNG\r\n\x1a\n", FileKind::Picture),
    (b"\xff\xd8\xff", FileKind::Picture),
    (b"GIF8", FileKind::Picture),
    (b"II*\0", FileKind::Picture),
    (b"MM\0*", FileKind::Picture),
];

impl FileKind {
    /// The kind of a file with these bytes, of which the first 4 KiB are enough. `None` for plain text,
    /// in UTF-8 or in an encoding that only a reader could tell.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        let bytes = &bytes[..bytes.len().min(SAMPLE)];
        let marked = MARKS.iter().find(|(mark, _)| bytes.starts_with(mark));
        match marked {
            Some((_, Self::Zip)) => return Some(zipped(bytes)),
            Some((_, kind)) => return Some(*kind),
            None => {}
        }
        if is_tar(bytes) {
            return Some(Self::Tar);
        }
        match std::str::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => of_text(text),
            // The sample may end inside of a character.
            Err(error) if error.error_len().is_none() && !bytes.contains(&0) => {
                of_text(std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default())
            }
            _ => wide_text(bytes).or_else(|| bytes.contains(&0).then_some(Self::Binary)),
        }
    }

    /// The name, with its article.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Zip => "a zip archive",
            Self::Gzip => "compressed by gzip",
            Self::Xz => "compressed by xz",
            Self::Bzip2 => "compressed by bzip2",
            Self::Zstd => "compressed by zstd",
            Self::Lz4 => "compressed by lz4",
            Self::Lzip => "compressed by lzip",
            Self::Compress => "compressed by compress",
            Self::SevenZip => "a 7z archive",
            Self::Rar => "a RAR archive",
            Self::Tar => "a tar archive",
            Self::Utf16 | Self::Utf16Le | Self::Utf16Be => "UTF-16 text",
            Self::Utf32 | Self::Utf32Le | Self::Utf32Be => "UTF-32 text",
            Self::Json | Self::JsonTexts | Self::JsonObjects => "JSON",
            Self::Markup => "HTML or XML",
            Self::Pdf => "a PDF document",
            Self::Rtf => "an RTF document",
            Self::Document => "a document of a word processor",
            Self::Epub => "an electronic book",
            Self::Picture => "a picture",
            Self::Binary => "no text: it has zero bytes",
        }
    }

    /// How plain text is had from it.
    pub const fn advice(self) -> &'static str {
        match self {
            Self::Zip => "unpack it, for example `unzip OLD`",
            Self::SevenZip => "unpack it, for example `7z x OLD`",
            Self::Rar => "unpack it, for example `unrar x OLD`",
            Self::Gzip => "unpack it, for example `gzip -dc OLD > NEW`",
            Self::Xz => "unpack it, for example `xz -dc OLD > NEW`",
            Self::Bzip2 => "unpack it, for example `bzip2 -dc OLD > NEW`",
            Self::Zstd => "unpack it, for example `zstd -dc OLD > NEW`",
            Self::Lz4 => "unpack it, for example `lz4 -dc OLD > NEW`",
            Self::Lzip => "unpack it, for example `lzip -dc OLD > NEW`",
            Self::Compress => "unpack it, for example `gzip -dc OLD > NEW`",
            Self::Tar => "unpack it, for example `tar -xf OLD`",
            Self::Utf16 => "convert it, for example `iconv -f UTF-16 -t UTF-8 OLD > NEW`",
            Self::Utf16Le => "convert it, for example `iconv -f UTF-16LE -t UTF-8 OLD > NEW`",
            Self::Utf16Be => "convert it, for example `iconv -f UTF-16BE -t UTF-8 OLD > NEW`",
            Self::Utf32 => "convert it, for example `iconv -f UTF-32 -t UTF-8 OLD > NEW`",
            Self::Utf32Le => "convert it, for example `iconv -f UTF-32LE -t UTF-8 OLD > NEW`",
            Self::Utf32Be => "convert it, for example `iconv -f UTF-32BE -t UTF-8 OLD > NEW`",
            Self::Json => {
                "take its poems out as plain text, one a line, for example \
                 `jq -r '.[].paragraphs | add' OLD > NEW`"
            }
            Self::JsonTexts => {
                "take its poems out as plain text, one a line, for example `jq -r '.[]' OLD > NEW`"
            }
            Self::JsonObjects => {
                "take its poems out as plain text, one a line, for example `jq -r .text OLD > NEW`"
            }
            Self::Markup | Self::Epub => {
                "open it in a browser or reader, and copy the poems as text"
            }
            Self::Pdf => "take its text out, for example `pdftotext OLD NEW`",
            Self::Rtf | Self::Document => "save it as plain text in UTF-8",
            Self::Picture => "type the poems, or have their text recognised",
            Self::Binary => "give a text file in UTF-8",
        }
    }
}

/// As in `a zip archive: unpack it`.
impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name(), self.advice())
    }
}

/// Documents are zip archives, too: told by the name or the contents of a file at their beginning.
fn zipped(bytes: &[u8]) -> FileKind {
    let has = |text: &[u8]| bytes.windows(text.len()).any(|window| window == text);
    if has(b"application/epub+zip") {
        FileKind::Epub
    } else if has(b"[Content_Types].xml")
        || has(b"word/")
        || has(b"application/vnd.oasis.opendocument")
    {
        FileKind::Document
    } else {
        FileKind::Zip
    }
}

/// A tar archive begins with the head of its first file, which has its own checksum.
fn is_tar(bytes: &[u8]) -> bool {
    const HEAD: usize = 512;
    const CHECKSUM: std::ops::Range<usize> = 148..156;

    let Some(head) = bytes.get(..HEAD) else {
        return false;
    };
    let digits: String = head[CHECKSUM]
        .iter()
        .map(|byte| char::from(*byte))
        .filter(|c| c.is_digit(8))
        .collect();
    let sum: u32 = (0..)
        .zip(head)
        .map(|(at, byte)| match CHECKSUM.contains(&at) {
            true => u32::from(b' '),
            false => u32::from(*byte),
        })
        .sum();
    u32::from_str_radix(&digits, 8) == Ok(sum)
}

/// Text that is not read as such.
fn of_text(text: &str) -> Option<FileKind> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).trim_start();
    let mut chars = text.chars();
    let first = chars.next()?;
    let second = chars.find(|c| !c.is_whitespace());
    match (first, second) {
        // `[1]` begins a note.
        ('[', Some('{' | '[' | ']')) => Some(FileKind::Json),
        ('[', Some('"')) => Some(FileKind::JsonTexts),
        ('{', Some('"' | '}')) => Some(FileKind::JsonObjects),
        ('<', Some('!' | '?' | 'a'..='z' | 'A'..='Z')) => Some(FileKind::Markup),
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
            (b"PK\x03\x04\x14\0\0\0poems.txt".as_slice(), FileKind::Zip),
            (b"PK\x05\x06\0\0", FileKind::Zip),
            (
                b"PK\x03\x04\x14\0\0\0[Content_Types].xml",
                FileKind::Document,
            ),
            (
                b"PK\x03\x04\x14\0\0\0mimetypeapplication/vnd.oasis.opendocument.text",
                FileKind::Document,
            ),
            (
                b"PK\x03\x04\x14\0\0\0mimetypeapplication/epub+zip",
                FileKind::Epub,
            ),
            (b"\x1f\x8b\x08", FileKind::Gzip),
            (b"\xfd7zXZ\0\0\x04", FileKind::Xz),
            (b"BZh91AY&SY", FileKind::Bzip2),
            (b"\x28\xb5\x2f\xfd\x04", FileKind::Zstd),
            (b"7z\xbc\xaf\x27\x1c\0\x04", FileKind::SevenZip),
            (b"Rar!\x1a\x07\x01\0", FileKind::Rar),
            (b"%PDF-1.7\n", FileKind::Pdf),
            (b"{\\rtf1\\ansi", FileKind::Rtf),
            (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", FileKind::Document),
            (b"\x89PNG\r\n\x1a\n", FileKind::Picture),
            (b"\x7fELF\x02\x01\x01\0\0\0", FileKind::Binary),
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
        assert_eq!(FileKind::of(&head), Some(FileKind::Tar));
        head[0] = b'q';
        assert_eq!(FileKind::of(&head), Some(FileKind::Binary));
        assert_eq!(FileKind::of(&[0; 512]), Some(FileKind::Binary));
    }

    #[test]
    fn json_and_markup_are_told_and_text_is_none() {
        for (text, kind) in [
            ("[\n  {\"paragraphs\": []}]", Some(FileKind::Json)),
            ("[]", Some(FileKind::Json)),
            ("\u{feff}{\"text\":\"春\"}\n", Some(FileKind::JsonObjects)),
            ("[\"白日依山尽\"]", Some(FileKind::JsonTexts)),
            ("<!DOCTYPE html>", Some(FileKind::Markup)),
            ("\n <p>白日依山尽</p>", Some(FileKind::Markup)),
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
        assert_eq!(
            FileKind::Zip.to_string(),
            "a zip archive: unpack it, for example `unzip OLD`"
        );
        assert!(
            FileKind::Utf16
                .to_string()
                .starts_with("UTF-16 text: convert it")
        );
        assert!(
            FileKind::Utf16
                .advice()
                .contains("iconv -f UTF-16 -t UTF-8")
        );
    }
}

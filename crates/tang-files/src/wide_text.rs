//! Text in encodings of two or four bytes per character.

use crate::FileKind;

/// The encoding of bytes without a byte order mark, guessed from the characters that they would
/// decode to. `None` for other bytes.
pub(crate) fn wide_text(bytes: &[u8]) -> Option<FileKind> {
    let pairs = |read: fn([u8; 2]) -> u16| {
        let (pairs, _) = bytes.as_chunks();
        is_verse(pairs.iter().map(|pair| u32::from(read(*pair))))
    };
    let fours = |read: fn([u8; 4]) -> u32| {
        let (fours, _) = bytes.as_chunks();
        is_verse(fours.iter().map(|four| read(*four)))
    };
    [
        (FileKind::UTF_32_LE, fours(u32::from_le_bytes)),
        (FileKind::UTF_32_BE, fours(u32::from_be_bytes)),
        (FileKind::UTF_16_LE, pairs(u16::from_le_bytes)),
        (FileKind::UTF_16_BE, pairs(u16::from_be_bytes)),
    ]
    .into_iter()
    .find_map(|(kind, is_it)| is_it.then_some(kind))
}

/// Whether nine in ten of these code points are Han characters, their marks, or ASCII.
fn is_verse(codes: impl Iterator<Item = u32>) -> bool {
    let (mut all, mut usual) = (0, 0);
    for code in codes {
        all += 1;
        let is_usual = matches!(code,
            0x09..=0x0d | 0x20..=0x7e | 0x3000..=0x30ff | 0x3400..=0x4dbf | 0x4e00..=0x9fff
            | 0xff00..=0xffef | 0x2_0000..=0x3_ffff | 0x2010..=0x2027);
        usual += usize::from(is_usual);
    }
    all > 0 && usual * 10 >= all * 9
}

#[cfg(test)]
mod tests {
    use super::*;

    const POEM: &str = "白日依山尽，黄河入海流。\r\n欲穷千里目，更上一层楼。\r\n";

    fn utf_16(bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
        POEM.encode_utf16().flat_map(bytes).collect()
    }

    fn utf_32(bytes: fn(u32) -> [u8; 4]) -> Vec<u8> {
        POEM.chars().flat_map(|c| bytes(u32::from(c))).collect()
    }

    #[test]
    fn wide_characters_are_told_with_their_mark_and_without() {
        let marked = |mark: &[u8], text: Vec<u8>| [mark, &text].concat();
        for (bytes, kind) in [
            (marked(b"\xff\xfe", utf_16(u16::to_le_bytes)), FileKind::UTF_16),
            (marked(b"\xfe\xff", utf_16(u16::to_be_bytes)), FileKind::UTF_16),
            (marked(b"\xff\xfe\0\0", utf_32(u32::to_le_bytes)), FileKind::UTF_32),
            (marked(b"\0\0\xfe\xff", utf_32(u32::to_be_bytes)), FileKind::UTF_32),
            (utf_16(u16::to_le_bytes), FileKind::UTF_16_LE),
            (utf_16(u16::to_be_bytes), FileKind::UTF_16_BE),
            (utf_32(u32::to_le_bytes), FileKind::UTF_32_LE),
            (utf_32(u32::to_be_bytes), FileKind::UTF_32_BE),
        ] {
            assert_eq!(FileKind::of(&bytes), Some(kind));
            assert_eq!(FileKind::of(&bytes.repeat(200)), Some(kind));
        }
        // No zero byte at all.
        let dense: Vec<u8> =
            "白日依山尽，黄河入海流。".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(FileKind::of(&dense), Some(FileKind::UTF_16_LE));
    }
}

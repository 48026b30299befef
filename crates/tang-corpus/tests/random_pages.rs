//! Pages that may be anything.

#![cfg(test)]

use tang_corpus::Page;
use tang_prosody::{Form, is_han};

/// 20,000 pages of pieces in any order: none panics, and each text that is read is a poem with the characters that were
/// typed.
#[test]
fn whatever_is_read_is_a_poem() {
    const PIECES: [&str; 28] = [
        "白日依山尽",
        "黄河入海流",
        "两岸猿声啼不住",
        "春",
        "登鹳雀楼",
        "，",
        "。",
        "？",
        ".",
        "\n",
        "\n\n",
        "\r",
        " ",
        "　",
        "（",
        "）",
        "[1]",
        "一、",
        "１",
        "——",
        "《",
        "》",
        "“",
        "a",
        "□",
        "\u{200b}",
        "\u{1b}",
        "：",
    ];
    let mut state = 1u64;
    // Knuth's linear congruential generator.
    let mut draw = |below: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let mut read = 0;
    for _ in 0..20_000 {
        // Verse more often than not.
        let page: String = (0..draw(24))
            .map(|_| match draw(3) {
                0 => PIECES[draw(PIECES.len())],
                1 => PIECES[draw(2)],
                _ => ["，", "。", "\n"][draw(3)],
            })
            .collect();
        for text in Page::read(&page).texts {
            match text.poem {
                Ok(poem) => {
                    read += 1;
                    assert!(Form::of(&poem).is_some(), "{page:?}");
                    let han =
                        |text: &str| -> String { text.chars().filter(|c| is_han(*c)).collect() };
                    assert_eq!(han(&poem), han(&text.typed), "{page:?}");
                    assert_eq!(poem.chars().count(), text.typed.chars().count(), "{page:?}");
                }
                Err(unread) => {
                    let ends = page.replace("\r\n", "\n");
                    let line = ends.split(['\n', '\r']).nth(unread.line - 1).unwrap();
                    let place = line.chars().skip(unread.character - 1);
                    // Spaces and the like may be inside.
                    assert_eq!(
                        place.clone().next(),
                        unread.text.chars().next(),
                        "{page:?} {unread}"
                    );
                }
            }
        }
    }
    assert!(read > 500, "{read}");
}

//! An acrostic that a model can write.

use tang_prosody::LineLength;
use tang_tokenizer::Vocabulary;

/// Heads that are tried first.
const LIKED: &str = "春眠不觉花好月圆山高水长";
/// The most lines of an acrostic.
const LINES: usize = 4;

/// Up to four heads for `tang acrostic` with lines of seven characters: known ones, and no more than the
/// context has lines; `None` if there is none.
pub fn example_heads(vocabulary: &Vocabulary, context: usize) -> Option<String> {
    let lines = LINES.min(context / (LineLength::Seven.chars() + 1));
    let known = |c: &char| vocabulary.id(*c).is_some();
    let liked = LIKED.chars().filter(known);
    let others = vocabulary
        .iter()
        .filter(|(token, c)| vocabulary.is_han(*token) && !LIKED.contains(*c))
        .map(|(_, c)| c);
    let heads: String = liked.chain(others).take(lines).collect();
    (!heads.is_empty()).then_some(heads)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_known_and_fit() {
        for (text, context, wanted) in [
            ("觉不眠春花", 128, Some("春眠不觉")),
            ("大漠孤烟直，", 128, Some("大孤漠烟")),
            ("长河落日圆。", 128, Some("圆长日河")),
            ("春A", 128, Some("春")),
            ("春眠不觉", 23, Some("春眠")),
            ("春", 7, None),
            ("AB", 128, None),
        ] {
            let heads = example_heads(&Vocabulary::from_texts([text]), context);
            assert_eq!(heads.as_deref(), wanted, "{text} {context}");
        }
    }
}

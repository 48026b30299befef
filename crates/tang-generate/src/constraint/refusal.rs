//! The reason why words have no places in a poem.

use rand::{SeedableRng, rngs::ChaCha8Rng};
use tang_prosody::Template;
use tang_tokenizer::Vocabulary;

use super::{
    rules::{Rule, Rules},
    words::Words,
};
use crate::GenerateError;

/// One or two of `words` that have no places, or else all, and the rules that leave them none.
///
/// # Errors
///
/// Those of [`Words::new`].
pub(super) fn refusal(
    template: &Template,
    rules: &Rules,
    words: &[&str],
    vocabulary: &Vocabulary,
) -> Result<GenerateError, GenerateError> {
    let fits = |rules: &Rules, words: &[&str]| -> Result<bool, GenerateError> {
        let mut rng = ChaCha8Rng::seed_from_u64(0);
        let (_, found) = Words::new(template, rules, words, vocabulary, &mut rng)?;
        Ok(found.is_some())
    };
    let ones = words.iter().map(|word| vec![*word]);
    let twos = words.iter().enumerate().flat_map(|(index, first)| {
        words[index + 1..].iter().map(move |second| vec![*first, *second])
    });
    let mut culprits = words.to_vec();
    for set in ones.chain(twos) {
        if !fits(rules, &set)? {
            culprits = set;
            break;
        }
    }
    let mut reasons = Vec::new();
    let active = [
        (Rule::Tones, rules.tones.is_some(), Rules { tones: None, ..*rules }),
        (Rule::Rhyme, rules.rhyme.is_some(), Rules { rhyme: None, ..*rules }),
        (Rule::NoRepeat, rules.no_repeat, Rules { no_repeat: false, ..*rules }),
    ];
    for (rule, is_active, without) in active {
        if is_active && fits(&without, &culprits)? {
            reasons.push(rule);
        }
    }
    if reasons.is_empty() && fits(&Rules::default(), &culprits)? {
        reasons = active.iter().filter(|(_, active, _)| *active).map(|(rule, ..)| *rule).collect();
    }
    let words = culprits.into_iter().map(str::to_owned).collect();
    Ok(GenerateError::NoPlace { words, rules: reasons })
}

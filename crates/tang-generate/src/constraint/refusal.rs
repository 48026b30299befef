//! The reason why words have no places in a poem.

use rand::{SeedableRng, rngs::ChaCha8Rng};
use tang_prosody::Template;
use tang_tokenizer::Vocabulary;

use super::{
    rules::{Rule, Rules},
    words::Words,
};
use crate::GenerateError;

/// The fewest of `words` that have no places together, and the rules that leave them none.
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
    // One word, then two, then more.
    let mut sets: Vec<Vec<&str>> = (1..1_u32 << words.len())
        .map(|set| {
            let chosen = words.iter().enumerate().filter(|(index, _)| set >> index & 1 == 1);
            chosen.map(|(_, word)| *word).collect()
        })
        .collect();
    sets.sort_by_key(Vec::len);
    let mut culprits = words.to_vec();
    for set in sets {
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

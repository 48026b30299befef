//! What acrostics are asked for.

use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng};
use tang_prosody::is_han;

/// `number` strings of `length` characters, each a run of consecutive Han characters of a random
/// poem, from a random place on and across its marks: as various as the verse is, and as likely to
/// be hard. The same seed gives the same strings.
///
/// # Panics
///
/// If a poem has fewer characters, or there is no poem.
pub(crate) fn random_heads(
    poems: &[String],
    length: usize,
    number: usize,
    seed: u64,
) -> Vec<String> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut heads = || -> String {
        let poem = &poems[rng.random_range(0..poems.len())];
        let characters: Vec<char> = poem.chars().filter(|c| is_han(*c)).collect();
        let start = rng.random_range(0..=characters.len() - length);
        characters[start..][..length].iter().collect()
    };
    (0..number).map(|_| heads()).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn heads_are_runs_of_the_poems() {
        let poems = ["白日依山尽，黄河入海流。", "移舟泊烟渚，日暮客愁新。"].map(str::to_owned);
        let runs = ["白日依山尽黄河入海流", "移舟泊烟渚日暮客愁新"];
        let heads = random_heads(&poems, 4, 200, 7);
        assert_eq!(heads.len(), 200);
        for heads in &heads {
            assert_eq!(heads.chars().count(), 4);
            assert!(runs.iter().any(|run| run.contains(heads)), "{heads}");
        }
        // 7 places in each poem, and 200 draws leave none out.
        assert_eq!(heads.iter().collect::<HashSet<_>>().len(), 14);
    }

    #[test]
    fn the_seed_decides() {
        let poems = ["白日依山尽，黄河入海流。".to_owned()];
        let of = |seed| random_heads(&poems, 8, 50, seed);
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
    }
}

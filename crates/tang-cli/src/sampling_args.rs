//! The flags that all commands which write poems share.

use std::hash::{BuildHasher, RandomState};

use anyhow::Result;
use clap::Args;
use tang_generate::GenerationConfig;

use crate::{loaded_model::CheckpointArgs, note::note};

/// How poems are sampled and printed.
#[derive(Args)]
pub struct SamplingArgs {
    /// Number of poems
    #[arg(short = 'n', long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    number: u32,
    /// Seed of the first poem, the next ones count up from it; random if not given
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Below 1 safer, above 1 bolder; 0 always takes the most likely character
    #[arg(long, value_name = "T", default_value_t = GenerationConfig::default().temperature, allow_negative_numbers = true)]
    temperature: f32,
    /// Choose among the K most likely characters; 0 means all
    #[arg(long, value_name = "K", default_value_t = GenerationConfig::default().top_k)]
    top_k: usize,
    /// Choose among the most likely characters that together have this probability; 1 means all
    #[arg(long, value_name = "P", default_value_t = GenerationConfig::default().top_p, allow_negative_numbers = true)]
    top_p: f32,
    /// Above 1 makes characters that occurred less likely; 1 is off
    #[arg(long, value_name = "R", default_value_t = GenerationConfig::default().repetition_penalty, allow_negative_numbers = true)]
    repetition_penalty: f32,
    /// Stop after this many characters, marks and final newline counted
    #[arg(long, value_name = "N")]
    max_new_tokens: Option<usize>,
    /// Print each character as soon as it is chosen; not with --json
    #[arg(long, conflicts_with = "json")]
    pub stream: bool,
    /// Compute every step from the beginning instead of keeping keys and values
    #[arg(long)]
    pub no_cache: bool,
    /// Print one JSON object a poem
    #[arg(long)]
    pub json: bool,
    /// Print traditional characters
    #[arg(long)]
    pub traditional: bool,
    /// The model to use.
    #[command(flatten)]
    pub checkpoint: CheckpointArgs,
}

impl SamplingArgs {
    /// The settings of each poem. A random seed is told on stderr, so that the poems can be had
    /// again.
    ///
    /// # Errors
    ///
    /// If a setting has an impossible value.
    pub fn configs(&self) -> Result<impl Iterator<Item = GenerationConfig>> {
        let mut config = GenerationConfig {
            temperature: self.temperature,
            top_k: self.top_k,
            top_p: self.top_p,
            repetition_penalty: self.repetition_penalty,
            ..GenerationConfig::default()
        };
        if let Some(tokens) = self.max_new_tokens {
            config.max_new_tokens = tokens;
        }
        config.validate()?;
        let first = self.seed.unwrap_or_else(|| {
            let seed = random_seed();
            // The most likely character needs no seed.
            if self.temperature != 0.0 {
                note(format_args!("seed {seed}"));
            }
            seed
        });
        Ok((0..u64::from(self.number)).map(move |i| GenerationConfig {
            seed: first.wrapping_add(i),
            ..config.clone()
        }))
    }
}

/// Short enough to type: 32 bits of the randomness that hash maps use.
fn random_seed() -> u64 {
    RandomState::new().hash_one(0) >> 32
}

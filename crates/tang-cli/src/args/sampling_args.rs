//! The flags of all commands that write poems.

use std::hash::{BuildHasher, RandomState};

use anyhow::{Result, ensure};
use clap::Args;
use tang_generate::{GenerationConfig, Search};

use crate::{
    args::{CheckpointArgs, SearchArgs, SettingArgs, count, whole},
    output::note,
};

/// How poems are sampled and printed.
#[derive(Args)]
pub struct SamplingArgs {
    /// Number of poems
    #[arg(short = 'n', long, value_name = "N", default_value_t = 1, value_parser = whole(1..=u32::MAX))]
    pub number: u32,
    /// Seed of the first poem; the others count up from it [default: random]
    #[arg(long, value_name = "N", value_parser = whole(0..=u64::MAX), conflicts_with = "beams")]
    seed: Option<u64>,
    #[command(flatten)]
    setting: SettingArgs,
    #[command(flatten)]
    search: SearchArgs,
    /// Stop after N characters; marks and the final newline count
    #[arg(long, value_name = "N", value_parser = count::<usize>)]
    max_new_tokens: Option<usize>,
    /// Print each character as soon as it is chosen; not with --json
    #[arg(long, conflicts_with_all = ["json", "best_of", "beams"])]
    pub stream: bool,
    /// Compute every step from the beginning, without the key/value cache
    #[arg(long)]
    pub no_cache: bool,
    /// Print one JSON object per poem
    #[arg(long)]
    pub json: bool,
    /// Print traditional characters
    #[arg(long)]
    pub traditional: bool,
    #[command(flatten)]
    pub checkpoint: CheckpointArgs,
}

impl SamplingArgs {
    /// The search for the poems; an error if it asks for more poems than there are beams.
    pub fn search(&self) -> Result<Search> {
        let search = self.search.search();
        if let Search::Beams(beams) = search {
            ensure!(
                self.number as usize <= beams,
                "-n {} asks for more poems than --beams {beams} finds: use more beams",
                self.number
            );
        }
        Ok(search)
    }

    /// The settings of each poem, validated. A random seed is printed to stderr, so that the poems
    /// can be written again.
    pub fn configs(&self) -> Result<impl Iterator<Item = GenerationConfig> + Clone + Send> {
        let mut config = self.setting.config();
        config.max_new_tokens = self.max_new_tokens.unwrap_or(config.max_new_tokens);
        config.validate()?;
        let first = self.seed.unwrap_or_else(|| {
            // 32 bits are short enough to type.
            let seed = RandomState::new().hash_one(0) >> 32;
            // The likeliest characters need no seed.
            if config.temperature != 0.0 && !matches!(self.search.search(), Search::Beams(_)) {
                note(format_args!("seed {seed}"));
            }
            seed
        });
        Ok((0..u64::from(self.number))
            .map(move |i| GenerationConfig { seed: first.wrapping_add(i), ..config.clone() }))
    }
}

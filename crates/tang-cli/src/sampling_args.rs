//! The flags that all commands which write poems share.

use std::hash::{BuildHasher, RandomState};

use anyhow::{Result, ensure};
use clap::Args;
use tang_generate::{GenerationConfig, Search};

use crate::{
    loaded_model::CheckpointArgs,
    note::note,
    number::{count, whole},
    search_args::SearchArgs,
    setting_args::SettingArgs,
};

/// How poems are sampled and printed.
#[derive(Args)]
pub struct SamplingArgs {
    /// Number of poems
    #[arg(short = 'n', long, value_name = "N", default_value_t = 1, value_parser = whole(1..=u32::MAX))]
    pub number: u32,
    /// Seed of the first poem, the next ones count up from it; random if not given
    #[arg(long, value_name = "N", value_parser = whole(0..=u64::MAX), conflicts_with = "beams")]
    seed: Option<u64>,
    #[command(flatten)]
    setting: SettingArgs,
    #[command(flatten)]
    search: SearchArgs,
    /// Stop after this many characters, marks and final newline counted
    #[arg(long, value_name = "N", value_parser = count::<usize>)]
    max_new_tokens: Option<usize>,
    /// Print each character as soon as it is chosen; not with --json
    #[arg(long, conflicts_with_all = ["json", "best_of", "beams"])]
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
    /// How the poems are found.
    ///
    /// # Errors
    ///
    /// If more poems are asked for than there are beams.
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

    /// The settings of each poem. A random seed is told on stderr, so that the poems can be had
    /// again.
    ///
    /// # Errors
    ///
    /// If a setting has an impossible value.
    pub fn configs(&self) -> Result<impl Iterator<Item = GenerationConfig> + Clone + Send> {
        let mut config = self.setting.config();
        if let Some(tokens) = self.max_new_tokens {
            config.max_new_tokens = tokens;
        }
        config.validate()?;
        let first = self.seed.unwrap_or_else(|| {
            let seed = random_seed();
            // The most likely characters need no seed.
            if config.temperature != 0.0 && !matches!(self.search.search(), Search::Beams(_)) {
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

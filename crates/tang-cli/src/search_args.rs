//! The flags that say how a poem is found.

use clap::Args;
use tang_generate::Search;

use crate::number::whole;

/// The most beams: each holds a cache of its own.
const MAX_BEAMS: u16 = 1024;

/// Samples, the best of several, or a search.
#[derive(Args)]
pub struct SearchArgs {
    /// Draw N poems for each one and keep the one that the model finds likeliest
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole(1..=u16::MAX), conflicts_with = "beams")]
    best_of: u16,
    /// Search for the likeliest poems with so many beams, up to 1024, instead of sampling; they
    /// give as many poems of one kind
    #[arg(long, value_name = "N", value_parser = whole(1..=MAX_BEAMS))]
    beams: Option<u16>,
}

impl SearchArgs {
    /// How each poem is found.
    pub fn search(&self) -> Search {
        match (self.beams, self.best_of) {
            (Some(beams), _) => Search::Beams(beams.into()),
            (None, 1) => Search::Sample,
            (None, samples) => Search::BestOf(samples.into()),
        }
    }
}

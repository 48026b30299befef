//! The flags that say how a poem is found.

use clap::Args;
use tang_generate::Search;

use crate::args::whole;

/// The most beams: each has a cache of its own.
const MAX_BEAMS: u16 = 1024;

/// Samples, the best of several, or a beam search.
#[derive(Args)]
pub struct SearchArgs {
    /// For each poem, sample N and keep the likeliest
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole(1..=u16::MAX), conflicts_with = "beams")]
    best_of: u16,
    /// Beam search with N beams, up to 1024, instead of sampling; its poems are much alike
    #[arg(long, value_name = "N", value_parser = whole(1..=MAX_BEAMS))]
    beams: Option<u16>,
}

impl SearchArgs {
    /// The search for each poem.
    pub fn search(&self) -> Search {
        match (self.beams, self.best_of) {
            (Some(beams), _) => Search::Beams(beams.into()),
            (None, 1) => Search::Sample,
            (None, samples) => Search::BestOf(samples.into()),
        }
    }
}

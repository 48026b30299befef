//! How much the laboratory measures.

use serde::Serialize;

/// Numbers of cases, runs and lengths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct BenchPlan {
    /// Poems to generate with the cache and without.
    pub cases: usize,
    /// Poems to generate in one batch and one at a time.
    pub batch: usize,
    /// Free poems under each setting of the sampler.
    pub samples: usize,
    /// Timed runs of each kind, after one to warm up.
    pub runs: usize,
    /// Characters to time on the trained model, at least 2 each.
    pub lengths: &'static [usize],
    /// Characters to time on random weights.
    pub long_lengths: &'static [usize],
    /// Tokens of the prompts to time.
    pub prompts: &'static [usize],
}

impl BenchPlan {
    /// Everything: some minutes a model.
    pub const FULL: Self = Self {
        cases: 1000,
        batch: 64,
        samples: 30,
        runs: 7,
        lengths: &[8, 32, 64, 120],
        long_lengths: &[32, 64, 120, 250, 500],
        prompts: &[16, 64, 128],
    };

    /// Every measurement once over, in seconds; its times say little.
    pub const QUICK: Self = Self {
        cases: 24,
        batch: 16,
        samples: 6,
        runs: 3,
        lengths: &[8, 32],
        long_lengths: &[32, 64],
        prompts: &[16, 64],
    };

    /// What the report beside a model has.
    pub(crate) const REPORT: Self = Self {
        cases: 200,
        ..Self::FULL
    };
}

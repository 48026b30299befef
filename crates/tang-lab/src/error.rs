//! What a measurement can show to be wrong.

use tang_engine::EngineError;
use tang_generate::GenerateError;

use crate::table::thousands;

/// An error of this crate.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// Two ways through the cache, or one with and one without, gave different logits.
    #[error(
        "{what}: logits differ by {difference:.2e}, more than {tolerance:.0e}: the cache is wrong"
    )]
    Logits {
        /// What was compared.
        what: String,
        /// The largest difference found.
        difference: f32,
        /// The largest one allowed.
        tolerance: f32,
    },
    /// Generation with and without the cache gave different tokens.
    #[error(
        "{what}: token {step} differs ({cached} with the cache, {full} without), which no rounding of the logits explains; it won the draw by {margin:.2e}: the cache is wrong"
    )]
    Tokens {
        /// The case.
        what: String,
        /// Step of the first difference, from 0.
        step: usize,
        /// Token with the cache.
        cached: u32,
        /// Token without.
        full: u32,
        /// By how much the token won.
        margin: f32,
    },
    /// More or fewer tokens went through the model than the formula says.
    #[error(
        "{what}: {counted} tokens went through the model where the formula has {expected}: work is done twice or left out"
    )]
    Count {
        /// What was counted.
        what: String,
        /// Tokens that went through.
        counted: usize,
        /// Tokens that should have.
        expected: usize,
    },
    /// Rows of a batch that differ in their seeds drew the same.
    #[error(
        "{rows} rows with different seeds drew the same poem at temperature 1, and by the model's own probabilities that comes with {probability:.0e} only: seeds make no difference"
    )]
    SameDraws {
        /// The rows.
        rows: usize,
        /// Probability, under the model, that they do.
        probability: f64,
    },
    /// A generation depends on the one before it.
    #[error("{what}: a decoder that was used before gives another poem than a new one")]
    Leftover {
        /// The case.
        what: String,
    },
    /// The end of the context is not where it should be.
    #[error("a context of {context} tokens: {what}")]
    Limit {
        /// Positions of the model.
        context: usize,
        /// What happened.
        what: String,
    },
    /// A timed generation gave another text than its counterpart.
    #[error(
        "timing {characters} characters, run {run}: the texts with the cache and without differ from token {step} on; no time is given"
    )]
    TimedTexts {
        /// Characters generated.
        characters: usize,
        /// The run, 0 being the warm-up.
        run: usize,
        /// Step of the first difference, from 0.
        step: usize,
    },
    /// A cache has another size than the formula says.
    #[error(
        "a cache of {tokens} tokens, memory {what}: {} bytes, and the formula says {}: the cache does not keep what it should",
        thousands(*got), thousands(*wanted)
    )]
    CacheBytes {
        /// The part that is in use, or all that is set aside.
        what: &'static str,
        /// Tokens that the cache holds.
        tokens: usize,
        /// What the formula says.
        wanted: usize,
        /// What the cache says.
        got: usize,
    },
    /// The model allows none of the test cases.
    #[error(
        "a model with {vocab_size} characters and {context} positions can write none of the test poems: train it on a larger corpus, with 32 positions or more"
    )]
    NoCase {
        /// Characters that it knows.
        vocab_size: usize,
        /// Positions that it has.
        context: usize,
    },
    /// A plot could not be drawn.
    #[error("cannot draw the plot: {reason}")]
    Plot {
        /// Why.
        reason: String,
    },
    /// A size of a geometry, or a length, is 0.
    #[error("{what} is 0: it must be 1 or more")]
    Zero {
        /// Which one.
        what: &'static str,
    },
    /// One size of a geometry must divide another.
    #[error("{whole}, {number}, is not divisible by {divisor} {part}: use a divisor of {number}")]
    NotDivisible {
        /// What is to be divided.
        whole: &'static str,
        /// How much of it there is.
        number: u64,
        /// Into what.
        part: &'static str,
        /// Into how many.
        divisor: u64,
    },
    /// A number is too large to be counted.
    #[error(
        "about {number:.1e} {what} are more than can be counted, {}: use smaller numbers",
        u64::MAX
    )]
    TooLarge {
        /// What was counted.
        what: &'static str,
        /// About how many.
        number: f64,
    },
    /// A text is no size of memory.
    #[error(
        "`{text}` is no size of memory: write a number above 0 and a unit, B, KiB, MiB, GiB, TiB, PiB or EiB, as in 24GiB; below 16 EiB"
    )]
    Size {
        /// The text.
        text: String,
    },
    /// Nothing has this name.
    #[error("no {what} `{name}`: use one of {known}")]
    UnknownName {
        /// What should have it.
        what: &'static str,
        /// The name.
        name: String,
        /// The names that there are.
        known: String,
    },
    /// A program that was to be measured does not run.
    #[error("cannot measure a program: {reason}")]
    Program {
        /// Why.
        reason: String,
    },
    /// The system gives no threads.
    #[error("cannot start threads to measure with: {0}")]
    Threads(#[from] rayon::ThreadPoolBuildError),
    /// Generation failed.
    #[error(transparent)]
    Generate(#[from] GenerateError),
    /// The model refused.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

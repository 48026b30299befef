//! The whole laboratory: what must be exact first, then what is timed.

use serde::Serialize;

use crate::{
    BatchExactness, BenchPlan, CacheBytes, CachePaths, Counting, Exactness, FreshRuns, LabError,
    LabModel, ModelSummary, PrefixReuse, Provenance, SamplingLab, Timing, batch_exactness,
    cache_bytes::cache_bytes, cache_paths, counting, exactness, fresh_runs, prefix_reuse,
    sampling_lab::sampling_lab, timing,
};

/// The measurements of one run of the laboratory. It displays itself as a Markdown page.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BenchCache {
    /// Which program, where.
    pub provenance: Provenance,
    /// How much was measured.
    pub plan: BenchPlan,
    /// One entry a model.
    pub models: Vec<ModelBench>,
}

/// The measurements of one model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModelBench {
    /// What reports call it.
    pub name: String,
    /// Its geometry.
    pub summary: ModelSummary,
    /// Tokens that are the same with the cache and without.
    pub exactness: Exactness,
    /// Logits that are the same on every way through the cache.
    pub paths: CachePaths,
    /// Poems that are the same in a batch and alone.
    pub batch: BatchExactness,
    /// Runs that depend on none before them, and the end of the context.
    pub fresh: FreshRuns,
    /// Tokens that went through the model.
    pub counting: Counting,
    /// Memory of the cache.
    pub bytes: CacheBytes,
    /// Times.
    pub timing: Timing,
    /// A common prefix, kept.
    pub prefix: PrefixReuse,
    /// What temperature, top-k and top-p do.
    pub sampling: SamplingLab,
}

/// Measures every model of `labs`. No time is taken before the cache is known to be exact, counted
/// and sized as the formulas say, on all of them.
///
/// # Errors
///
/// At the first difference, or if generation fails.
pub fn bench_cache(
    labs: &[LabModel],
    plan: BenchPlan,
    provenance: Provenance,
    on_progress: &mut dyn FnMut(&str),
) -> Result<BenchCache, LabError> {
    let proofs = labs
        .iter()
        .map(|lab| Proof::of(lab, &plan, on_progress))
        .collect::<Result<Vec<_>, _>>()?;
    let models = labs
        .iter()
        .zip(proofs)
        .map(|(lab, proof)| measure(lab, &plan, proof, on_progress))
        .collect::<Result<_, LabError>>()?;
    Ok(BenchCache {
        provenance,
        plan,
        models,
    })
}

/// What needs no clock, and comes before it.
struct Proof {
    exactness: Exactness,
    paths: CachePaths,
    batch: BatchExactness,
    fresh: FreshRuns,
    counting: Counting,
    bytes: CacheBytes,
}

impl Proof {
    fn of(
        lab: &LabModel,
        plan: &BenchPlan,
        on_progress: &mut dyn FnMut(&str),
    ) -> Result<Self, LabError> {
        let mut progress = |text: &str| on_progress(&format!("{}: {text}", lab.name));
        progress("cache exactness: every length");
        let paths = cache_paths(lab)?;
        let exactness = exactness(lab, plan.cases, &mut progress)?;
        progress("cache exactness: batches and repeated runs");
        let batch = batch_exactness(lab, plan.batch)?;
        let fresh = fresh_runs(lab)?;
        progress("counting tokens and bytes");
        Ok(Self {
            exactness,
            paths,
            batch,
            fresh,
            counting: counting(lab)?,
            bytes: cache_bytes(lab)?,
        })
    }
}

/// What takes a clock, and what a learner may look at.
fn measure(
    lab: &LabModel,
    plan: &BenchPlan,
    proof: Proof,
    on_progress: &mut dyn FnMut(&str),
) -> Result<ModelBench, LabError> {
    let timing = timing(lab, plan, on_progress)?;
    on_progress(&format!("{}: timing a common prefix", lab.name));
    let prefix = prefix_reuse(lab, plan.runs)?;
    let mut progress = |text: &str| on_progress(&format!("{}: {text}", lab.name));
    let sampling = sampling_lab(lab, plan.samples, &mut progress)?;
    Ok(ModelBench {
        name: lab.name.clone(),
        summary: ModelSummary::of(lab.model.config()),
        exactness: proof.exactness,
        paths: proof.paths,
        batch: proof.batch,
        fresh: proof.fresh,
        counting: proof.counting,
        bytes: proof.bytes,
        timing,
        prefix,
        sampling,
    })
}

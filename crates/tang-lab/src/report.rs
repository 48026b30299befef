//! The report that lies beside a trained model.

use crate::{
    BenchPlan, LabError, LabModel, Machine, ModelSummary, bench_page::runs,
    cache_bytes::cache_bytes, cache_paths, exactness, samples::samples, timing::trained_series,
};

/// The heading by which a page of [`report`] is known.
pub const REPORT_SECTION: &str = "## The cache changes no result";

/// The suite on one model as Markdown: cache exactness, times, and samples. `quick` compares fewer
/// poems and times shorter texts.
///
/// # Errors
///
/// If the cache is not exact, or generation fails.
pub fn report(
    lab: &LabModel,
    quick: bool,
    on_progress: &mut dyn FnMut(&str),
) -> Result<String, LabError> {
    let plan = match quick {
        true => BenchPlan::QUICK,
        false => BenchPlan::REPORT,
    };
    on_progress("cache exactness: every length");
    let paths = cache_paths(lab)?;
    let exactness = exactness(lab, plan.cases, on_progress)?;
    let bytes = cache_bytes(lab)?;
    let series = trained_series(lab, &plan, on_progress)?;
    on_progress("samples");
    let samples = samples(lab)?;
    Ok(format!(
        "# {name}

{summary}.

{REPORT_SECTION}

{paths}

{exactness}

## The cache saves time

From a prompt of one newline, sampling included; {machine}. {runs}

{totals}

{tokens}

The cache takes {bytes}.

## Samples

Seeds are counted from 0 in each list. In brackets: how surprising the model alone finds the poem.
{samples}",
        name = lab.name,
        summary = ModelSummary::of(lab.model.config()),
        machine = Machine::this(),
        runs = runs(plan.runs),
        totals = series.totals(),
        tokens = series.tokens(),
        bytes = bytes.formula_text(),
    ))
}

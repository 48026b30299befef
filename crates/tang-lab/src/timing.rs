//! All times of one model.

use serde::Serialize;

use crate::{
    BenchPlan, LabError, LabModel, LengthSeries, PrefillTiming, length_timing::length_series,
    prefill_timing::prefill_timings,
};

/// Positions of the network with random weights.
const LONG_CONTEXT: usize = 512;

/// Times with the cache and without.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Timing {
    /// Timed runs of each kind, after one to warm up.
    pub runs: usize,
    /// The trained model.
    pub trained: LengthSeries,
    /// The same geometry with random weights, which has positions for longer texts.
    pub long: LengthSeries,
    /// Prompts alone, on the trained model.
    pub prefill: Vec<PrefillTiming>,
}

/// Times a model. Only to be called once it is known that the cache changes no token.
///
/// # Errors
///
/// If two texts that are timed together differ, or went through the model otherwise than the
/// formulas say.
pub fn timing(
    lab: &LabModel,
    plan: &BenchPlan,
    on_progress: &mut dyn FnMut(&str),
) -> Result<Timing, LabError> {
    let trained = trained_series(lab, plan, on_progress)?;
    let (random, subject) = lab.with_random_weights(LONG_CONTEXT)?;
    let long = length_series(&random, subject, plan.long_lengths, plan.runs, on_progress)?;
    on_progress(&format!("{}: timing the prefill", lab.name));
    Ok(Timing {
        runs: plan.runs,
        trained,
        long,
        prefill: prefill_timings(lab, plan.prompts, plan.runs)?,
    })
}

/// The times of the trained model alone.
///
/// # Errors
///
/// Those of [`timing`].
pub(crate) fn trained_series(
    lab: &LabModel,
    plan: &BenchPlan,
    on_progress: &mut dyn FnMut(&str),
) -> Result<LengthSeries, LabError> {
    length_series(lab, lab.subject(), plan.lengths, plan.runs, on_progress)
}

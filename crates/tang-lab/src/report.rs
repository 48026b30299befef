//! The report that lies beside a trained model.

use crate::{LabError, LabModel, bench_cache, cache_paths::cache_paths, samples::samples};

/// The whole suite as Markdown: cache exactness, times, and samples. `quick` compares fewer poems.
///
/// # Errors
///
/// If the cache is not exact, or generation fails.
pub fn report(
    lab: &LabModel,
    quick: bool,
    on_progress: &mut dyn FnMut(&str),
) -> Result<String, LabError> {
    let config = lab.model.config();
    on_progress("cache exactness: every length");
    let paths = cache_paths(lab)?;
    let bench = bench_cache(lab, quick, on_progress)?;
    on_progress("samples");
    let samples = samples(lab)?;
    Ok(format!(
        "# {name}

{family}: {layers} layers, {width} wide, {heads} query heads, {kv_heads} key/value heads, context {context}, vocabulary {vocabulary}.

## The cache changes no result

{paths}

{bench}

## Samples

Seeds are counted from 0 in each list. In brackets: how surprising the model alone finds the poem.
{samples}",
        name = lab.name,
        layers = config.layers,
        width = config.width,
        heads = config.heads,
        kv_heads = config.kv_heads,
        family = config.family.name(),
        context = config.context,
        vocabulary = config.vocab_size,
    ))
}

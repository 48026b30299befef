//! The optimiser's moments in a training state, checked before Burn reads them.
//!
//! Burn ignores moments that it cannot read, so that their parameters would silently start from
//! zero, and it panics at the first step if a moment has another shape than its parameter.

use std::collections::{BTreeMap, BTreeSet};

use burn::{
    optim::OptimizerRecord,
    tensor::{Bytes, DType},
};
use burn_pack::{Reader, Scalar, Tensor};
use tang_checkpoint::{ModelConfig, ParameterSpec, parameters};
use tang_model::parameter_id;

use super::{
    optimizer::{has_classes, takes_muon},
    sound_classes::SoundClasses,
};

/// Name of the rank of the parameter in Burn's record.
const RANK: &str = "__rank";
/// Name of the count of steps in AdamW's record.
const TIME: &str = "momentum.time";
/// Name of the second moment, the mean square of the gradients, which cannot be negative.
const SQUARES: &str = "momentum.moment_2";

/// Reads the moments of a model after `step` steps.
///
/// # Errors
///
/// The reason, with the parameter: the bytes are no record of Burn's; a moment is missing, belongs to no
/// parameter, has another shape or type than its parameter, or holds an impossible number; or a parameter's
/// step is another one.
pub(crate) fn read_moments(
    bytes: &[u8],
    model: &ModelConfig,
    step: usize,
) -> Result<OptimizerRecord, String> {
    let pack = || Bytes::from_bytes_vec(bytes.to_vec());
    let reader = Reader::from_bytes(pack()).map_err(|e| e.to_string())?;
    let mut scalars = reader.scalars().clone();
    let tensors = reader.into_tensors().map_err(|e| e.to_string())?;
    let tensors = tensors.into_iter().map(|tensor| (tensor.name.clone(), tensor));
    let mut tensors: BTreeMap<String, Tensor> = tensors.collect();
    // The first step makes the moments.
    let specs = if step == 0 { Vec::new() } else { parameters(model) };
    for spec in &specs {
        let id = parameter_id(&spec.path).val();
        for name in moments(spec) {
            let tensor = tensors.remove(&format!("{id}.{name}"));
            let tensor = tensor.ok_or_else(|| format!("`{name}` of `{}` is missing", spec.path))?;
            check(tensor, id, name, spec)?;
        }
        let rank = scalars.remove(&format!("{id}.{RANK}"));
        if number(rank) != Some(spec.shape.len()) {
            return Err(format!("the rank of `{}` is {rank:?}", spec.path));
        }
        let time = scalars.remove(&format!("{id}.{TIME}"));
        let wanted = if takes_muon(spec) { None } else { Some(step) };
        if number(time) != wanted {
            return Err(format!("`{}` is after {time:?} steps, the run after {step}", spec.path));
        }
    }
    let left: BTreeSet<String> = tensors.into_keys().chain(scalars.into_keys()).collect();
    if let Some(name) = left.first() {
        return Err(format!("`{name}` belongs to no parameter"));
    }
    OptimizerRecord::from_bytes(pack()).map_err(|e| e.to_string())
}

/// The tensors that the optimiser keeps for a parameter.
fn moments(spec: &ParameterSpec) -> &'static [&'static str] {
    if takes_muon(spec) { &["momentum.velocity"] } else { &["momentum.moment_1", SQUARES] }
}

fn number(scalar: Option<Scalar>) -> Option<usize> {
    scalar.and_then(|scalar| usize::try_from(scalar).ok())
}

fn check(tensor: Tensor, id: u64, name: &str, spec: &ParameterSpec) -> Result<(), String> {
    let least = if name == SQUARES { 0.0 } else { f32::MIN };
    let name = format!("`{name}` of `{}`", spec.path);
    let mut wanted = spec.shape.clone();
    if has_classes(spec) {
        wanted[0] += SoundClasses::COUNT;
    }
    let (_, dtype, shape, owner, bytes) = tensor.into_parts().map_err(|e| e.to_string())?;
    if dtype != DType::F32 {
        return Err(format!("{name} is stored as {dtype:?}, not as F32"));
    }
    if *shape != wanted[..] {
        let got = &shape[..];
        return Err(format!("{name} has shape {got:?}, wanted {wanted:?}"));
    }
    if owner != Some(id) {
        return Err(format!("{name} is marked as another parameter's"));
    }
    let mut values = bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes));
    match values.find(|value| !(value.is_finite() && *value >= least)) {
        Some(value) => Err(format!("{name} holds {value}")),
        None => Ok(()),
    }
}

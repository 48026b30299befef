//! Weights to and from the tensors of a Hugging Face checkpoint.

use std::collections::BTreeMap;

use tang_files::escape_value;

use super::{
    format::Format,
    parameters::{OUTPUT_HEAD, ParameterSpec, Stored, parameters},
};
use crate::{ModelConfig, ModelError, Weights, host_tensor::HostTensor};

/// A tensor and the name that its file has for it.
type Named = (String, HostTensor);

/// Makes the parameters of a model from the tensors of a checkpoint. A tensor may be stored under
/// two names, if its numbers are the same under both.
pub(crate) fn from_hf(
    config: &ModelConfig,
    tensors: impl IntoIterator<Item = Named>,
) -> Result<Weights, ModelError> {
    let mut stored = by_canonical_name(config, tensors)?;
    let mut take = |name: &str, wanted: &[usize]| {
        let (name, tensor) = stored.remove(name).ok_or_else(|| ModelError::missing(name))?;
        tensor.check_shape(&name, wanted)?;
        Ok(tensor.values)
    };
    let mut weights = Weights::default();
    for ParameterSpec { path, shape, stored, .. } in parameters(config) {
        let values = match stored {
            Stored::AsIs(name) => take(&name, &shape)?,
            Stored::Transposed(parts) => {
                let (rows, columns) = (shape[0], shape[1]);
                // All shapes are checked before anything of their size is allocated.
                let parts = parts
                    .iter()
                    .map(|(name, width)| take(name, &[*width, rows]))
                    .collect::<Result<Vec<_>, _>>()?;
                let mut values = vec![0.0; rows * columns];
                let outputs = parts.iter().flat_map(|part| part.chunks(rows));
                for (column, weights) in outputs.enumerate() {
                    for (row, weight) in weights.iter().enumerate() {
                        values[row * columns + column] = *weight;
                    }
                }
                values
            }
        };
        weights.insert(path, shape, values);
    }
    match stored.into_values().next() {
        Some((name, _)) => Err(ModelError::extra(&name)),
        None => Ok(weights),
    }
}

/// Tensors by their full name. A tied head is the embedding under another name.
fn by_canonical_name(
    config: &ModelConfig,
    tensors: impl IntoIterator<Item = Named>,
) -> Result<BTreeMap<String, Named>, ModelError> {
    let format = Format::of(config.family);
    let mut stored: BTreeMap<String, Named> = BTreeMap::new();
    for (name, tensor) in tensors {
        let Some(mut full) = format.canonical_name(&name) else {
            continue;
        };
        if config.tied_head && full == OUTPUT_HEAD {
            full = format.token_embedding();
        }
        match stored.get(&full) {
            Some((first, other)) if *other != tensor => {
                let fault = format!(
                    "and `{}` are one part of the model with different numbers: leave only the right one in the file",
                    escape_value(&name)
                );
                return Err(ModelError::tensor(first, fault));
            }
            Some(_) => {}
            None => drop(stored.insert(full, (name, tensor))),
        }
    }
    Ok(stored)
}

/// Makes the tensors of a checkpoint from the parameters of a model.
pub(crate) fn to_hf(config: &ModelConfig, weights: &Weights) -> BTreeMap<String, HostTensor> {
    let mut stored = BTreeMap::new();
    for spec in parameters(config) {
        let tensor = &weights.tensors[&spec.path];
        match spec.stored {
            Stored::AsIs(name) => drop(stored.insert(name, tensor.clone())),
            Stored::Transposed(parts) => {
                let (rows, columns) = (spec.shape[0], spec.shape[1]);
                let mut first = 0;
                for (name, width) in parts {
                    let values = (first..first + width)
                        .flat_map(|column| {
                            (0..rows).map(move |row| tensor.values[row * columns + column])
                        })
                        .collect();
                    stored.insert(name, HostTensor::new(vec![width, rows], values));
                    first += width;
                }
            }
        }
    }
    stored
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_families_round_trip() {
        for config in [ModelConfig::tang_4l(11), ModelConfig::minimind_4l(11)] {
            let weights = Weights::random(&config, 5);
            let stored = to_hf(&config, &weights);
            assert_eq!(from_hf(&config, stored).unwrap(), weights);
        }
    }

    #[test]
    fn two_names_of_one_tensor_hold_the_same_numbers() {
        for (config, embedding, short) in [
            (ModelConfig::tang_4l(11), "transformer.wte.weight", "wte.weight"),
            (ModelConfig::minimind_4l(11), "model.embed_tokens.weight", "embed_tokens.weight"),
        ] {
            let weights = Weights::random(&config, 5);
            let stored = to_hf(&config, &weights);
            for name in [short, OUTPUT_HEAD] {
                let read = |edit: &dyn Fn(&mut HostTensor)| {
                    let mut stored = stored.clone();
                    let mut copy = stored[embedding].clone();
                    edit(&mut copy);
                    stored.insert(name.to_owned(), copy);
                    from_hf(&config, stored)
                };
                assert_eq!(read(&|_| ()).unwrap(), weights);
                for edit in [
                    |copy: &mut HostTensor| copy.values[7] += 1e-6,
                    |copy: &mut HostTensor| copy.shape.reverse(),
                ] {
                    let error = read(&edit).unwrap_err().to_string();
                    assert!(error.contains(embedding) && error.contains(name), "{error}");
                }
                // If only the tied head is stored, it is the embedding.
                let mut alone = stored.clone();
                let tensor = alone.remove(embedding).unwrap();
                alone.insert(name.to_owned(), tensor);
                assert_eq!(from_hf(&config, alone).unwrap(), weights);
            }
            // Two parts of a file may bring the same name.
            let mut twice: Vec<Named> = stored.clone().into_iter().chain(stored).collect();
            assert_eq!(from_hf(&config, twice.clone()).unwrap(), weights);
            twice[0].1.values[0] += 1.0;
            assert!(from_hf(&config, twice).is_err());
        }
    }

    #[test]
    fn joined_matrices_stand_side_by_side() {
        let config = ModelConfig::minimind_4l(11);
        let stored = to_hf(&config, &Weights::random(&config, 5));
        let key = &stored["model.layers.0.self_attn.k_proj.weight"];
        assert_eq!(key.shape, [64, 128]);
        let weights = from_hf(&config, stored.clone()).unwrap();
        let joined = &weights.tensors["blocks.0.attention.input.weight"];
        assert_eq!(joined.shape, [128, 256]);
        // Row 7, and column 3 after the 128 of the query.
        assert_eq!(joined.values[7 * 256 + 128 + 3], key.values[3 * 128 + 7]);
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let config = ModelConfig::minimind_4l(11);
        let error = |edit: &dyn Fn(&mut BTreeMap<String, HostTensor>)| {
            let mut stored = to_hf(&config, &Weights::random(&config, 5));
            edit(&mut stored);
            from_hf(&config, stored).unwrap_err().to_string()
        };
        let name = "model.layers.3.mlp.up_proj.weight";
        let unnamed = error(&|stored| {
            let tensor = stored[name].clone();
            stored.insert("a\u{1b}\u{200b}".to_owned(), tensor);
        });
        assert!(unnamed.contains(r"`a\u{1b}\u{200b}`"), "{unnamed}");
        let missing = error(&|stored| drop(stored.remove(name)));
        assert!(missing.contains(name) && missing.contains("missing"), "{missing}");
        let extra = error(&|stored| {
            let tensor = stored[name].clone();
            stored.insert("model.layers.4.mlp.up_proj.weight".to_owned(), tensor);
        });
        assert!(extra.contains("layers.4") && extra.contains("no place"), "{extra}");
        let shape = error(&|stored| {
            let tensor = HostTensor::new(vec![2, 3], vec![0.0; 6]);
            stored.insert(name.to_owned(), tensor);
        });
        assert!(shape.contains("[2, 3]") && shape.contains("[384, 128]"), "{shape}");
    }
}

//! The one list of a model's parameters: paths, shapes, starting values, and the tensors of a
//! checkpoint that they come from. Loading, saving, counting, initialising and weight decay all follow it.

use super::format::Format;
use crate::ModelConfig;

/// Name of the output head in the checkpoints of both families; a tied head may be stored, too.
pub(crate) const OUTPUT_HEAD: &str = "lm_head.weight";
/// Path of the token embedding.
pub(crate) const TOKEN_EMBEDDING: &str = "token_embedding";
/// Path of the output head, where it is not the token embedding.
pub(crate) const UNTIED_HEAD: &str = "output_head";

/// One parameter of the network.
#[derive(Debug, Clone, PartialEq)]
pub struct ParameterSpec {
    /// Its path in the network, for instance `blocks.0.attention.input.weight`.
    pub path: String,
    /// Its shape; matrices are `[in, out]`.
    pub shape: Vec<usize>,
    pub(crate) initial: Initial,
    pub(crate) stored: Stored,
}

/// Starting values of a parameter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Initial {
    /// Drawn from a normal distribution around 0 with this standard deviation.
    Normal(f32),
    Zeros,
    Ones,
}

/// A parameter in a checkpoint.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Stored {
    /// One tensor of this name and of the same shape.
    AsIs(String),
    /// Matrices `[out, in]`, side by side and transposed in the parameter: the name and the count
    /// of outputs of each.
    Transposed(Vec<(String, usize)>),
}

impl ParameterSpec {
    fn as_is(path: &str, name: &str, shape: &[usize], initial: Initial) -> Self {
        Self {
            path: path.to_owned(),
            shape: shape.to_vec(),
            initial,
            stored: Stored::AsIs(name.to_owned()),
        }
    }

    /// Count of numbers.
    pub fn numel(&self) -> usize {
        self.shape.iter().product()
    }
}

/// Every parameter of a model, in the order of the forward pass.
pub fn parameters(config: &ModelConfig) -> Vec<ParameterSpec> {
    let (width, inner) = (config.width, config.feed_forward_width);
    let kv_width = config.kv_heads * config.head_dim();
    let format = Format::of(config.family);
    let prefix = format.prefix;
    // Starting values as in GPT-2. They are smaller for projections that write into the residual
    // stream, whose variance would grow with depth.
    let normal = Initial::Normal(0.02);
    let residual = Initial::Normal(0.02 / (2.0 * config.layers as f32).sqrt());

    let spec = ParameterSpec::as_is;
    let mut list = Vec::new();
    let head_shape = [config.vocab_size, width];
    let name = format.token_embedding();
    list.push(spec(TOKEN_EMBEDDING, &name, &head_shape, normal));
    if let Some(positions) = format.position_embedding {
        let name = format!("{prefix}{positions}.weight");
        let shape = [config.context, width];
        list.push(spec("position_embedding", &name, &shape, normal));
    }
    let [norm_1, qkv, out, norm_2, up, down] = format.layer;
    let (qkv_widths, up_widths) = ([width, kv_width, kv_width], vec![inner; up.len()]);
    for layer in 0..config.layers {
        for (path, names, rows, widths, initial) in [
            ("attention_norm", norm_1, None, &[width][..], Initial::Ones),
            ("attention.input", qkv, Some(width), &qkv_widths, normal),
            ("attention.output", out, Some(width), &[width], residual),
            ("feed_forward_norm", norm_2, None, &[width], Initial::Ones),
            ("feed_forward.input", up, Some(width), &up_widths, normal),
            ("feed_forward.output", down, Some(inner), &[width], residual),
        ] {
            let path = format!("blocks.{layer}.{path}");
            let name = |name: &&str| format!("{prefix}{}.{layer}.{name}", format.layers);
            let names: Vec<String> = names.iter().map(name).collect();
            list.extend(weight_and_bias(format, &path, &names, rows, widths, initial));
        }
    }
    let (path, names) = ("final_norm", [format!("{prefix}{}", format.final_norm)]);
    let (widths, initial) = ([width], Initial::Ones);
    list.extend(weight_and_bias(format, path, &names, None, &widths, initial));
    if !config.tied_head {
        list.push(spec(UNTIED_HEAD, OUTPUT_HEAD, &head_shape, normal));
    }
    list
}

/// A norm, or a projection with `rows` inputs; `names` are the tensors that give its columns, `widths` of them.
fn weight_and_bias(
    format: &Format,
    path: &str,
    names: &[String],
    rows: Option<usize>,
    widths: &[usize],
    initial: Initial,
) -> impl Iterator<Item = ParameterSpec> {
    let columns = widths.iter().sum();
    let weight_of = |name: &String| format!("{name}.weight");
    let weight = ParameterSpec {
        path: format!("{path}.weight"),
        shape: rows.into_iter().chain([columns]).collect(),
        initial,
        stored: if format.has_bias || rows.is_none() {
            Stored::AsIs(weight_of(&names[0]))
        } else {
            let names = names.iter().map(weight_of);
            Stored::Transposed(names.zip(widths.iter().copied()).collect())
        },
    };
    let bias = format.has_bias.then(|| {
        let (path, name) = (format!("{path}.bias"), format!("{}.bias", names[0]));
        ParameterSpec::as_is(&path, &name, &[columns], Initial::Zeros)
    });
    [Some(weight), bias].into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn counts_the_presets() {
        let count =
            |config| -> usize { parameters(&config).iter().map(ParameterSpec::numel).sum() };
        // 6289*128 + 128*128 + 4 * (12*128^2 + 13*128) + 2*128
        assert_eq!(count(ModelConfig::tang_4l(6289)), 1_614_720);
        // 6289*128 + 4 * (128*(128 + 2*64) + 128^2 + 3*128*384 + 2*128) + 128
        assert_eq!(count(ModelConfig::minimind_4l(6289)), 1_592_576);
    }

    #[test]
    fn paths_are_distinct() {
        for config in [ModelConfig::tang_4l(10), ModelConfig::minimind_4l(10)] {
            let untied = ModelConfig { tied_head: false, ..config };
            let list = parameters(&untied);
            assert_eq!(list.len(), parameters(&config).len() + 1);
            let paths: HashSet<_> = list.iter().map(|p| &p.path).collect();
            assert_eq!(paths.len(), list.len());
        }
    }
}

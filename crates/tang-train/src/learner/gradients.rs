//! Gradients of a whole model: of a batch by parts, their sum, and their common norm.

use std::{io, iter, panic::resume_unwind, sync::LazyLock, thread};

use burn::{
    module::{Module, ModuleVisitor, Param},
    optim::{GradientsAccumulator, GradientsParams},
    tensor::{Int, Tensor, TensorData},
};
use rayon::{ThreadPool, ThreadPoolBuilder};
use tang_model::{Dropout, Transformer};

use super::{batches::Batch, head_loss::head_loss};
use crate::TrainError;

/// Parts of a batch that are differentiated at the same time, each on a thread of its own.
///
/// A constant and not the number of cores: the last digits of the sum of the parts depend on it, and the
/// losses of a seed should not depend on the cores.
pub const PARTS: usize = 2;

/// One pool of threads per part: in a common pool, the matrix products of one part would wait for
/// those of the other. On a single thread the parts run one after the other.
static POOLS: LazyLock<Result<Vec<ThreadPool>, String>> = LazyLock::new(|| {
    let threads = rayon::current_num_threads();
    let pools = PARTS.min(threads);
    let builder = || ThreadPoolBuilder::new().num_threads(threads.div_ceil(pools));
    let pool = || builder().build().map_err(|error| error.to_string());
    iter::repeat_with(pool).take(pools).collect()
});

/// The threads of the parts of a batch.
///
/// # Errors
///
/// [`TrainError::Threads`] if the system gives none.
pub fn part_pools() -> Result<&'static [ThreadPool], TrainError> {
    POOLS.as_deref().map_err(TrainError::threads)
}

/// The mean loss of a batch, nats per character, and the gradients of the loss, in which the target at a rhyme
/// counts `rhyme_weight` times, with respect to every parameter. `dropout(i)` is the dropout of part i.
///
/// # Errors
///
/// [`TrainError::Threads`] if the system gives none.
pub(crate) fn batch_gradients(
    model: &Transformer,
    batch: Batch<'_>,
    rhyme_weight: f64,
    dropout: impl Fn(usize) -> Option<Dropout> + Sync,
) -> Result<(f64, GradientsParams), TrainError> {
    let dropout = &dropout;
    let weights = batch.weights(rhyme_weight);
    let mut rest = &weights[..];
    let pools = part_pools()?;
    let results = thread::scope(|scope| -> io::Result<Vec<_>> {
        let parts = batch.split(PARTS).map(Batch).zip(pools.iter().cycle());
        let threads = parts.enumerate().map(|(index, (part, pool))| {
            // Autodiff graphs that share parameters block each other; a fork has its own graph.
            let model = model.clone().fork(&model.device());
            let (weights, others) = rest.split_at(part.tokens());
            rest = others;
            let work = move || {
                pool.install(|| part_gradients(&model, part, weights, dropout(index).as_ref()))
            };
            thread::Builder::new().spawn_scoped(scope, work)
        });
        let threads = threads.collect::<Result<Vec<_>, _>>()?;
        let results = threads.into_iter().map(|thread| thread.join());
        Ok(results.map(|result| result.unwrap_or_else(|panic| resume_unwind(panic))).collect())
    })
    .map_err(TrainError::threads)?;
    let mut sum = GradientsAccumulator::new();
    let mut nats = 0.0;
    for (part_nats, gradients) in results {
        nats += part_nats;
        sum.accumulate(model, gradients);
    }
    Ok((nats / batch.tokens() as f64, sum.grads()))
}

/// The sum of the nats of one part, and its contribution to the gradients; `weights` are those of its targets.
///
/// The output head is differentiated by hand (see [`head_loss`]); the gradient of the hidden states enters
/// the graph as the gradient of their product with it.
fn part_gradients(
    model: &Transformer,
    part: Batch<'_>,
    weights: &[f32],
    dropout: Option<&Dropout>,
) -> (f64, GradientsParams) {
    let width = model.config().width as i32;
    let ids: Vec<i32> = part.inputs().into_iter().map(|id| id as i32).collect();
    let ids = TensorData::new(ids, [part.0.len(), part.length()]);
    let ids = Tensor::<2, Int>::from_data(ids, &model.device());
    let hidden = model.forward(ids, dropout).reshape([-1, width]);
    let head = model.output_head().inner();
    let loss = head_loss(hidden.clone().inner(), head, &part.targets(), weights);
    let product = hidden * Tensor::from_inner(loss.hidden_gradient);
    let mut gradients = GradientsParams::from_grads(product.sum().backward(), model);

    // A tied head is the token embedding, which has a gradient from the input side, too.
    let head = model.output_head_id();
    let sum = match gradients.remove::<2>(head) {
        Some(embedding) => embedding + loss.head_gradient,
        None => loss.head_gradient,
    };
    gradients.register(head, sum);
    (loss.nats, gradients)
}

/// Scales all gradients down together if their common norm is above `max_norm`, and returns the
/// norm before that (Pascanu et al., *On the difficulty of training recurrent neural networks*,
/// 2013).
///
/// Burn's own clipping looks at each tensor alone, which changes the direction of the step.
pub(crate) fn clip_global_norm(
    model: &Transformer,
    gradients: &mut GradientsParams,
    max_norm: f32,
) -> f32 {
    let mut squares = Squares { gradients, sums: Vec::new() };
    model.visit(&mut squares);
    let squares = Tensor::cat(squares.sums, 0).into_data();
    let norm = squares.iter::<f64>().sum::<f64>().sqrt() as f32;
    if norm > max_norm {
        model.visit(&mut Scale { gradients, factor: max_norm / norm });
    }
    norm
}

/// The sums of squares of all gradients, which the host reads together.
struct Squares<'a> {
    gradients: &'a GradientsParams,
    sums: Vec<Tensor<1>>,
}

impl ModuleVisitor for Squares<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if let Some(gradient) = self.gradients.get::<D>(param.id) {
            self.sums.push(gradient.square().sum());
        }
    }
}

struct Scale<'a> {
    gradients: &'a mut GradientsParams,
    factor: f32,
}

impl ModuleVisitor for Scale<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if let Some(gradient) = self.gradients.remove::<D>(param.id) {
            let scaled = gradient.mul_scalar(self.factor);
            self.gradients.register(param.id, scaled);
        }
    }
}

#[cfg(test)]
mod tests {
    use burn::module::ParamId;
    use tang_checkpoint::{ModelConfig, Weights, parameters};
    use tang_model::{device, parameter_id};

    use super::{super::batches::Row, *};

    fn model() -> Transformer {
        let config = ModelConfig {
            width: 16,
            feed_forward_width: 32,
            layers: 2,
            ..ModelConfig::tang_4l(13)
        };
        let device = device::with_gradients(&device::cpu());
        Transformer::new(config, Weights::random(&config, 2), &device).unwrap()
    }

    fn rows(count: u32) -> Vec<Row> {
        (0..count).map(|row| (0..9).map(|i| (i * i + 5 * row) % 13).collect()).collect()
    }

    fn ids(model: &Transformer) -> Vec<(ParamId, usize)> {
        parameters(model.config())
            .into_iter()
            .map(|spec| (parameter_id(&spec.path), spec.shape.len()))
            .collect()
    }

    /// All gradients one after the other.
    fn flat(model: &Transformer, gradients: &GradientsParams) -> Vec<f32> {
        let get = |(id, rank)| -> Vec<f32> {
            let data = match rank {
                1 => gradients.get::<1>(id).unwrap().into_data(),
                _ => gradients.get::<2>(id).unwrap().into_data(),
            };
            data.try_into_vec_as().unwrap()
        };
        ids(model).into_iter().flat_map(get).collect()
    }

    #[test]
    fn parts_add_up_to_the_whole_batch() {
        let model = model();
        // Three rows and two: the parts have different shares.
        let rows = rows(5);
        let (loss, gradients) = batch_gradients(&model, Batch(&rows), 3.0, |_| None).unwrap();
        let batch = Batch(&rows);
        let (whole_nats, whole) = part_gradients(&model, batch, &batch.weights(3.0), None);
        let whole_loss = whole_nats / batch.tokens() as f64;
        assert!((loss - whole_loss).abs() < 1e-6, "{loss} {whole_loss}");
        let (parts, whole) = (flat(&model, &gradients), flat(&model, &whole));
        assert!(whole.iter().any(|g| g.abs() > 1e-2));
        for (a, b) in parts.iter().zip(&whole) {
            assert!((a - b).abs() < 1e-6, "{a} {b}");
        }
    }

    #[test]
    fn clipping_keeps_the_direction() {
        let model = model();
        let (_, mut gradients) = batch_gradients(&model, Batch(&rows(4)), 1.0, |_| None).unwrap();
        let before = flat(&model, &gradients);
        let norm = before.iter().map(|g| g * g).sum::<f32>().sqrt();
        assert!((clip_global_norm(&model, &mut gradients, 10.0 * norm) - norm).abs() < 1e-4);
        assert_eq!(flat(&model, &gradients), before, "a small norm is left alone");
        clip_global_norm(&model, &mut gradients, norm / 4.0);
        for (a, b) in flat(&model, &gradients).iter().zip(&before) {
            assert!((a - b / 4.0).abs() < 1e-6, "{a} {b}");
        }
    }
}

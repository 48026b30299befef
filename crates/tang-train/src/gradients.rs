//! Gradients of a whole model: of a batch by parts, their sum, and their common norm.

use std::{sync::LazyLock, thread};

use burn::{
    module::{Module, ModuleVisitor, Param},
    optim::GradientsParams,
    tensor::{Int, Tensor, TensorData},
};
use rayon::{ThreadPool, ThreadPoolBuilder};
use tang_model::{Dropout, Transformer};

use crate::{TrainError, batches::Batch, head_loss::head_loss};

/// Parts of a batch that are differentiated at the same time, each on a thread of its own.
///
/// It is a constant and not the number of cores, since the sum of the parts depends on it in the
/// last digits and the losses of a seed should not depend on the cores.
pub const PARTS: usize = 2;

/// Each part has its share of the threads to itself: products that are spread over all of them would
/// wait for those of the other part. Where there is one thread, the parts have it in turn.
static POOLS: LazyLock<Result<Vec<ThreadPool>, String>> = LazyLock::new(|| {
    let threads = rayon::current_num_threads();
    let pools = PARTS.min(threads);
    let pool = || {
        ThreadPoolBuilder::new()
            .num_threads(threads.div_ceil(pools))
            .build()
            .map_err(|error| error.to_string())
    };
    std::iter::repeat_with(pool).take(pools).collect()
});

/// The threads of the parts of a batch.
///
/// # Errors
///
/// [`TrainError::Threads`] if the system gives none.
pub fn part_pools() -> Result<&'static [ThreadPool], TrainError> {
    POOLS.as_deref().map_err(TrainError::threads)
}

/// The mean loss of a batch, nats a character, and its gradients with respect to every parameter.
/// `dropout` makes that of a part from the part's number.
///
/// # Errors
///
/// [`TrainError::Threads`] if the system gives none, [`TrainError::Model`] if the model refuses.
pub(crate) fn batch_gradients(
    model: &Transformer,
    batch: &Batch,
    dropout: impl Fn(usize) -> Option<Dropout> + Sync,
) -> Result<(f64, GradientsParams), TrainError> {
    let parts = batch.split(PARTS);
    let share = |part: &Batch| part.targets.len() as f64 / batch.targets.len() as f64;
    let dropout = &dropout;
    let pools = part_pools()?;
    let results = thread::scope(|scope| -> Result<Vec<_>, TrainError> {
        let threads = parts
            .iter()
            .zip(pools.iter().cycle())
            .enumerate()
            .map(|(index, (part, pool))| {
                // Graphs that share parameters wait for each other; a fork has its own.
                let model = model.clone().fork(&model.device());
                let share = share(part);
                let work = move || {
                    pool.install(|| part_gradients(&model, part, share, dropout(index).as_ref()))
                };
                let thread = thread::Builder::new().spawn_scoped(scope, work);
                thread.map_err(TrainError::threads)
            })
            .collect::<Result<Vec<_>, _>>()?;
        let results = threads.into_iter().map(|thread| {
            thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        Ok(results.collect())
    })?;
    let mut sum = GradientsParams::new();
    let mut loss = 0.0;
    for result in results {
        let (nats, gradients) = result?;
        loss += nats;
        model.visit(&mut Adder {
            sum: &mut sum,
            more: gradients,
        });
    }
    Ok((loss, sum))
}

/// What one part, `share` of its batch, adds to the mean loss and its gradients.
///
/// The output head is differentiated by hand (see [`head_loss`]); what it says about the hidden
/// states enters the graph as the gradient of their product with it.
fn part_gradients(
    model: &Transformer,
    part: &Batch,
    share: f64,
    dropout: Option<&Dropout>,
) -> Result<(f64, GradientsParams), TrainError> {
    let width = model.config().width as i32;
    let hidden = model
        .forward(input_tensor(model, part), dropout)
        .reshape([-1, width]);
    let head = model.output_head().inner();
    let loss = head_loss(hidden.clone().inner(), head, &part.targets, share);
    let product = hidden * Tensor::from_inner(loss.hidden_gradient);
    let mut gradients = GradientsParams::from_grads(product.sum().backward(), model);

    // The head is the token embedding, which has a gradient from the input side, too.
    let head = model.output_head_id();
    let sum = match gradients.remove::<2>(head) {
        Some(embedding) => embedding + loss.head_gradient,
        None => loss.head_gradient,
    };
    gradients.register(head, sum);
    Ok((loss.nats_per_char, gradients))
}

/// Adds `more` to `sum`, parameter by parameter.
struct Adder<'a> {
    sum: &'a mut GradientsParams,
    more: GradientsParams,
}

impl ModuleVisitor for Adder<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let both = match (
            self.sum.remove::<D>(param.id),
            self.more.remove::<D>(param.id),
        ) {
            (Some(a), Some(b)) => a + b,
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => return,
        };
        self.sum.register(param.id, both);
    }
}

/// Scales all gradients down together if their common norm is above `max_norm`, and returns the
/// norm they had (Pascanu et al., *On the difficulty of training recurrent neural networks*, 2013).
///
/// Burn's own clipping looks at each tensor alone, which changes the direction of the step.
pub(crate) fn clip_global_norm(
    model: &Transformer,
    gradients: &mut GradientsParams,
    max_norm: f32,
) -> f32 {
    let mut squares = Squares {
        gradients,
        sums: Vec::new(),
    };
    model.visit(&mut squares);
    let squares = Tensor::cat(squares.sums, 0).into_data();
    let norm = squares.iter::<f64>().sum::<f64>().sqrt() as f32;
    if norm > max_norm {
        model.visit(&mut Scale {
            gradients,
            factor: max_norm / norm,
        });
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

/// The inputs of a batch on the model's device, `[rows, length]`.
fn input_tensor(model: &Transformer, batch: &Batch) -> Tensor<2, Int> {
    let ids: Vec<i32> = batch.inputs.iter().map(|id| *id as i32).collect();
    let data = TensorData::new(ids, [batch.rows, batch.length()]);
    Tensor::from_data(data, &model.device())
}

#[cfg(test)]
mod tests {
    use burn::module::ParamId;
    use tang_checkpoint::{ModelConfig, Weights, parameters};
    use tang_model::{device, parameter_id};
    use tang_tokenizer::TokenId;

    use super::*;

    fn model() -> Transformer {
        let config = ModelConfig {
            width: 16,
            feed_forward_width: 32,
            layers: 2,
            ..ModelConfig::tang_4l(13)
        };
        let device = device::cpu().autodiff();
        Transformer::new(config, Weights::random(&config, 2), &device).unwrap()
    }

    fn batch(rows: u32) -> Batch {
        let rows: Vec<Vec<TokenId>> = (0..rows)
            .map(|row| (0..9).map(|i| (i * i + 5 * row) % 13).collect())
            .collect();
        Batch::new(&rows)
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
        let batch = batch(5);
        let (loss, gradients) = batch_gradients(&model, &batch, |_| None).unwrap();
        let (whole_loss, whole) = part_gradients(&model, &batch, 1.0, None).unwrap();
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
        let (_, mut gradients) = batch_gradients(&model, &batch(4), |_| None).unwrap();
        let before = flat(&model, &gradients);
        let norm = before.iter().map(|g| g * g).sum::<f32>().sqrt();
        assert!((clip_global_norm(&model, &mut gradients, 10.0 * norm) - norm).abs() < 1e-4);
        assert_eq!(
            flat(&model, &gradients),
            before,
            "a small norm is left alone"
        );
        clip_global_norm(&model, &mut gradients, norm / 4.0);
        for (a, b) in flat(&model, &gradients).iter().zip(&before) {
            assert!((a - b / 4.0).abs() < 1e-6, "{a} {b}");
        }
    }
}

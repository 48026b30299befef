//! Rows of a batch on their way through the layers, where kernels compute.

use tang_kernels::{Attend, Shared, Threads, add_to_rows, product};

use burn::nn::Linear;

use crate::device::CpuTensor;

/// Tokens from which each thread takes some rows through all layers. Of fewer, all threads take all
/// rows through each layer: so each weight is read once.
const WORTH_PARTS: usize = 12;

/// One layer's keys and values.
pub(crate) struct Store<'a> {
    /// `[rows, kv_heads, head_dim, capacity]`
    pub(crate) keys: &'a mut [f32],
    /// `[rows, kv_heads, capacity, head_dim]`
    pub(crate) values: &'a mut [f32],
}

/// New tokens of some rows, and all that a layer needs of them.
pub(crate) struct Pass<'a> {
    /// The residual stream, `[rows, length, width]`.
    pub(crate) stream: Vec<f32>,
    /// Tokens of each row, `[rows, length]`.
    pub(crate) ids: &'a [usize],
    /// Tokens that each row holds already.
    pub(crate) starts: &'a [usize],
    /// Cosines and sines of rotary positions, each `[rows, length, head_dim / 2]`.
    pub(crate) rotation: Option<(Vec<f32>, Vec<f32>)>,
    pub(crate) threads: Threads,
    /// One a layer; none if nothing is kept.
    stores: Vec<Store<'a>>,
}

impl<'a> Pass<'a> {
    /// One pass for all rows, or one a thread.
    ///
    /// # Shapes
    ///
    /// - ids: `[rows, length]`
    pub(crate) fn split(
        ids: &'a [usize],
        starts: &'a [usize],
        stores: Vec<Store<'a>>,
    ) -> Vec<Self> {
        let rows = starts.len();
        let length = ids.len() / rows;
        let parts = match ids.len() < WORTH_PARTS {
            true => 1,
            false => rayon::current_num_threads().min(rows),
        };
        let per_part = rows.div_ceil(parts);
        let mut passes: Vec<Self> = ids
            .chunks(per_part * length)
            .zip(starts.chunks(per_part))
            .map(|(ids, starts)| Self {
                stream: Vec::new(),
                ids,
                starts,
                rotation: None,
                threads: match parts {
                    1 => Threads::Two,
                    _ => Threads::One,
                },
                stores: Vec::with_capacity(stores.len()),
            })
            .collect();
        for Store { keys, values } in stores {
            let per_part = per_part * (keys.len() / rows);
            let parts = keys.chunks_mut(per_part).zip(values.chunks_mut(per_part));
            for (pass, (keys, values)) in passes.iter_mut().zip(parts) {
                pass.stores.push(Store { keys, values });
            }
        }
        passes
    }

    /// New tokens of each row.
    pub(crate) fn length(&self) -> usize {
        self.ids.len() / self.starts.len()
    }

    /// `rows`, which are as many as there are tokens, times the matrix of a layer, plus its bias.
    pub(crate) fn project(&self, linear: &Linear, rows: Vec<f32>) -> Vec<f32> {
        let inputs = rows.len() / self.ids.len();
        let weight = CpuTensor::of(linear.weight.val());
        let mut output = product(&Shared::from(rows), &weight, inputs, self.threads);
        if let Some(bias) = &linear.bias {
            add_to_rows(&mut output, CpuTensor::of(bias.val()).values());
        }
        output
    }

    /// Attention of a layer, whose keys and values are kept where there is a store for them.
    ///
    /// # Shapes
    ///
    /// - projected: `[rows, length, (heads + 2 kv_heads) x head_dim]`: queries, keys and values
    /// - output: `[rows, length, heads x head_dim]`
    pub(crate) fn attend(
        &mut self,
        layer: usize,
        projected: &[f32],
        [heads, kv_heads]: [usize; 2],
    ) -> Vec<f32> {
        let head_dim = projected.len() / self.ids.len() / (heads + 2 * kv_heads);
        let mut fleeting: [Vec<f32>; 2];
        let [keys, values] = match self.stores.get_mut(layer) {
            Some(Store { keys, values }) => [&mut **keys, &mut **values],
            None => {
                let zeros = vec![0.0; self.ids.len() * kv_heads * head_dim];
                fleeting = [zeros.clone(), zeros];
                fleeting.each_mut().map(Vec::as_mut_slice)
            }
        };
        Attend {
            projected,
            rotation: self
                .rotation
                .as_ref()
                .map(|(cos, sin)| (cos.as_slice(), sin.as_slice())),
            starts: self.starts,
            keys,
            values,
            heads,
            kv_heads,
            head_dim,
        }
        .run()
    }
}

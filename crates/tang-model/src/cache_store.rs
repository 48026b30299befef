//! The memory for the keys or the values of one layer.

use std::ops::Range;

use burn::tensor::{Bool, Tensor};
use tang_kernels::Attend;

use crate::{cpu_tensor::CpuTensor, device::has_kernels, kv_cache::Positions};

/// Moves `rows`, none of which to a later place, to the front of a store that kernels filled, as far as
/// they are filled, and gives the store without the others. Each row has so many places a head.
pub(crate) fn close_up(
    store: Tensor<4>,
    places: usize,
    rows: &[usize],
    lengths: &[usize],
) -> Tensor<4> {
    let [_, heads, a, b] = store.dims();
    let (head, row) = (a * b, heads * a * b);
    let mut store = CpuTensor::of(store);
    let values = store.values_mut();
    for (new, (old, length)) in rows.iter().zip(lengths).enumerate() {
        if *old == new {
            continue;
        }
        // To the end of a block.
        let filled = length.next_multiple_of(Attend::BLOCK).min(places) * (head / places);
        for start in (0..row).step_by(head) {
            let from = old * row + start;
            values.copy_within(from..from + filled, new * row + start);
        }
    }
    store.into_tensor().narrow(0, 0, rows.len())
}

/// The store with `more` places a head behind those that it has; places lie `along` this dimension. Where
/// kernels compute, those that it has must be whole blocks.
pub(crate) fn lengthened(store: Tensor<4>, along: usize, more: usize) -> Tensor<4> {
    let mut shape = store.dims();
    if !has_kernels(&store.device()) {
        shape[along] = more;
        let room = Tensor::zeros(shape, &store.device());
        return Tensor::cat(vec![store, room], along);
    }
    // The numbers of a head lie there place by place, or block by block.
    let head = shape[2] * shape[3];
    shape[along] += more;
    let longer = shape[2] * shape[3];
    let store = CpuTensor::of(store);
    let mut values = vec![0.0; shape[0] * shape[1] * longer];
    let heads = values.chunks_exact_mut(longer);
    for (to, from) in heads.zip(store.values().chunks_exact(head)) {
        to[..head].copy_from_slice(from);
    }
    CpuTensor::tensor(values, shape)
}

/// Writes `new` into `store` at each row's position along a dimension, in place, and returns a handle
/// to it. `own`, if it is there, is true at these positions, and all rows are written at once.
pub(crate) fn write(
    store: &mut Tensor<4>,
    new: Tensor<4>,
    along: usize,
    positions: &Positions,
    own: Option<Tensor<4, Bool>>,
) -> Tensor<4> {
    let place = |rows: Range<usize>, start: usize| {
        let mut place = new.dims().map(|size| 0..size);
        place[0] = rows;
        place[along] = start..start + new.dims()[along];
        place
    };
    // The store is moved through each write: a second handle would force a copy of it.
    if let Some(start) = positions.uniform() {
        let place = place(0..new.dims()[0], start);
        store.inplace(|tensor| tensor.slice_assign(place, new.clone()));
    } else if let Some(own) = own {
        let shape = store.dims();
        store.inplace(|tensor| tensor.mask_where(own.expand(shape), new.expand(shape)));
    } else {
        for (row, start) in positions.starts().iter().enumerate() {
            let own = new.clone().narrow(0, row, 1);
            let place = place(row..row + 1, *start);
            store.inplace(|tensor| tensor.slice_assign(place, own));
        }
    }
    store.clone()
}

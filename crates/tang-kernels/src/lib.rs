//! Arithmetic over slices, in the widest vectors the processor has.
//!
//! Nothing here knows a tensor. The loops are safe Rust; `pulp` compiles each for several instruction
//! sets and picks one when the program runs.

mod attention;
mod matmul;
mod norm;
mod pointwise;
mod reduce;
mod threads;

pub use attention::{
    cached::{CachedAttention, KvRow},
    gradient::attention_gradient,
    training::{AttentionShape, attention},
};
pub use matmul::packed::PackedMatrix;
pub use norm::{
    layer_norm::{LayerNormGradient, layer_norm, layer_norm_gradient},
    rms_norm::{rms_norm, rms_norm_gradient},
};
pub use pointwise::{
    adam_w::AdamW,
    gelu::{gelu, gelu_gradient},
    rotary::Rotary,
    swiglu::{swiglu, swiglu_gradient},
};
pub use reduce::{
    cross_entropy::cross_entropy_gradient,
    largest::largest,
    log_sum_exp::log_sum_exp,
    rows::{add_to_rows, sum_of_rows},
    stream_sum::stream_sum,
};
pub use threads::{
    all_reduce::{AllReduce, on_shards},
    count::Threads,
};

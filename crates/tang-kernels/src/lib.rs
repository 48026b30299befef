//! Arithmetic over slices, in the widest vectors the processor has.
//!
//! There is no tensor type here. The loops are safe Rust; `pulp` compiles each for several
//! instruction sets and picks one when the program runs.
//!
//! ```
//! use tang_kernels::{PackedMatrix, log_sum_exp};
//!
//! // Hidden states of two tokens, [2, 3], times an output head, [3, 4].
//! let head = PackedMatrix::new(&[1., 0., 0., 1., 0., 1., 0., 1., 0., 0., 1., 1.], 3);
//! let logits = head.multiply(&[1., 2., 3., 4., 5., 6.]);
//! assert_eq!(logits, [1., 2., 3., 6., 4., 5., 6., 15.]);
//!
//! // The log-probability of the last token after the first state.
//! let log_probability = f64::from(logits[3]) - log_sum_exp(&logits[..4]);
//! assert!((log_probability + 0.0721).abs() < 1e-4);
//! ```

mod attention;
mod matmul;
mod norm;
mod pointwise;
mod reduce;
mod simd;
mod threads;

pub use attention::{
    AttentionShape, attention,
    cached::{CachedAttention, KvRow},
    gradient::attention_gradient,
};
pub use matmul::packed::PackedMatrix;
pub use norm::{
    layer_norm::{layer_norm, layer_norm_gradient},
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
    Threads,
    all_reduce::{AllReduce, on_shards},
};

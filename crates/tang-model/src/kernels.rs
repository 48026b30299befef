//! What decoding spends its time in, on slices of 32-bit floats: vectorised for the processor that
//! the program runs on (AVX-512, AVX2, NEON), chosen when it runs.
//!
//! No kernel knows a tensor, a cache or a gradient. The layers call them where
//! [`device::has_kernels`](crate::device) says so, and plain tensor operations with the same
//! results otherwise.

mod activation;
mod attend;
mod columns;
mod dot;
mod exp;
mod helper;
mod log_sum_exp;
mod matvec;
mod normalise;
mod scores;

pub(crate) use activation::{gelu_tanh, swiglu};
pub(crate) use attend::Attend;
pub(crate) use columns::add_rows;
pub use log_sum_exp::log_sum_exp;
pub(crate) use matvec::matvec;
pub(crate) use normalise::{layer_norm, rms_norm};
pub use scores::read_once;
pub(crate) use scores::scores;

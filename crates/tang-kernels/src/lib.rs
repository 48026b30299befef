//! Arithmetic over slices in one pass, in the widest vectors the processor has.
//!
//! Nothing here knows a tensor. The loops are plain; `pulp` compiles each for several instruction
//! sets and picks one when the program runs.

mod adam_w;
mod attention;
mod cross_entropy;
mod exp;
mod gelu;
mod lanes;
mod layer_norm;
mod matrix;
mod rows;
mod swiglu;
mod tile;

pub use adam_w::AdamW;
pub use attention::{AttentionShape, attention, attention_gradient};
pub use cross_entropy::{cross_entropy, cross_entropy_gradient};
pub use gelu::{gelu, gelu_gradient};
pub use layer_norm::{LayerNormGradient, layer_norm, layer_norm_gradient};
pub use rows::{add_to_rows, sum_of_rows};
pub use swiglu::{swiglu, swiglu_gradient};

//! Arithmetic over slices in one pass, in the widest vectors the processor has.
//!
//! Nothing here knows a tensor. The loops are plain; `pulp` compiles each for several instruction
//! sets and picks one when the program runs.

mod adam_w;
mod attend;
mod attention;
mod attention_gradient;
mod cross_entropy;
mod dot;
mod exchange;
mod exp;
mod gelu;
mod helper;
mod lanes;
mod largest;
mod layer_norm;
mod log_sum_exp;
mod matrix;
mod panels;
mod product;
mod read_once;
mod rms_norm;
mod rotary;
mod rows;
mod scores;
mod swiglu;
mod tile;

pub use adam_w::AdamW;
pub use attend::{Attend, Held};
pub use attention::{AttentionShape, attention};
pub use attention_gradient::attention_gradient;
pub use cross_entropy::{cross_entropy, cross_entropy_gradient};
pub use exchange::{Exchange, on_sides};
pub use gelu::{gelu, gelu_gradient};
pub use largest::largest;
pub use layer_norm::{LayerNormGradient, layer_norm, layer_norm_gradient};
pub use log_sum_exp::log_sum_exp;
pub use panels::Panels;
pub use product::product;
pub use read_once::read_once;
pub use rms_norm::{rms_norm, rms_norm_gradient};
pub use rotary::Rotary;
pub use rows::{add_to_rows, sum_of_rows};
pub use scores::scores;
pub use swiglu::{swiglu, swiglu_gradient};

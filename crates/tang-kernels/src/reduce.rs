//! Many numbers to one: sums, maxima, losses.

pub(crate) mod cross_entropy;
pub(crate) mod dot;
pub(crate) mod lanes;
pub(crate) mod largest;
pub(crate) mod log_sum_exp;
pub(crate) mod rows;
pub(crate) mod stream_sum;

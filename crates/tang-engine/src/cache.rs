//! Keys and values of earlier tokens.

pub(crate) mod kv_cache;
pub(crate) mod memory;

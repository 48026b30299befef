//! Flags that several commands share.

pub mod checkpoint_args;
pub mod device_args;
pub mod number;
pub mod rule_args;
pub mod sampling_args;
pub mod search_args;
pub mod setting_args;

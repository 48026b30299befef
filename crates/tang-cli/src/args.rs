//! Flags that several commands share.

pub mod checkpoint_args;
pub mod device_args;
pub mod number;
pub mod rule_args;
pub mod sampling_args;
pub mod search_args;
pub mod setting_args;

pub use self::{
    checkpoint_args::CheckpointArgs,
    device_args::{DeviceArgs, Place},
    number::{count, whole},
    rule_args::RuleArgs,
    sampling_args::SamplingArgs,
    search_args::SearchArgs,
    setting_args::SettingArgs,
};

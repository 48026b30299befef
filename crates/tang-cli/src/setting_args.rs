//! The flags that say how boldly a character is chosen.

use clap::Args;
use tang_generate::GenerationConfig;

/// The settings of the sampler.
#[derive(Args)]
pub struct SettingArgs {
    /// Below 1 safer, above 1 bolder; 0 always takes the most likely character
    #[arg(long, value_name = "T", default_value_t = GenerationConfig::default().temperature, allow_negative_numbers = true, conflicts_with = "beams")]
    temperature: f32,
    /// Choose among the K most likely characters; 0 means all
    #[arg(long, value_name = "K", default_value_t = GenerationConfig::default().top_k, conflicts_with = "beams")]
    top_k: usize,
    /// Choose among the most likely characters that together have this probability; 1 means all
    #[arg(long, value_name = "P", default_value_t = GenerationConfig::default().top_p, allow_negative_numbers = true, conflicts_with = "beams")]
    top_p: f32,
    /// Above 1 makes characters that occurred less likely; 1 is off
    #[arg(long, value_name = "R", default_value_t = GenerationConfig::default().repetition_penalty, allow_negative_numbers = true, conflicts_with = "beams")]
    repetition_penalty: f32,
}

impl SettingArgs {
    /// These settings, the rest as by default. They are not checked yet.
    pub fn config(&self) -> GenerationConfig {
        GenerationConfig {
            temperature: self.temperature,
            top_k: self.top_k,
            top_p: self.top_p,
            repetition_penalty: self.repetition_penalty,
            ..GenerationConfig::default()
        }
    }
}

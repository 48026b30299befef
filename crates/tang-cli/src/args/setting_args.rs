//! The flags of the sampler.

use clap::Args;
use tang_generate::{GenerateError, GenerationConfig};

use crate::args::whole;

/// The settings of the sampler.
#[derive(Args)]
pub struct SettingArgs {
    /// Divides the logits: below 1 safer, above 1 bolder; 0 = always the likeliest character
    #[arg(long, value_name = "T", default_value_t = default().temperature)]
    #[arg(value_parser = number(|config| &mut config.temperature), conflicts_with = "beams")]
    temperature: f32,
    /// Sample from the K likeliest characters; 0 = off
    #[arg(long, value_name = "K", default_value_t = default().top_k)]
    #[arg(value_parser = whole(0..=usize::MAX), conflicts_with = "beams")]
    top_k: usize,
    /// Sample from the likeliest characters that together have the probability P; 1 = off
    #[arg(long, value_name = "P", default_value_t = default().top_p)]
    #[arg(value_parser = number(|config| &mut config.top_p), conflicts_with = "beams")]
    top_p: f32,
    /// Make characters of the poem so far less likely, by a factor above 1, but for doubled words
    /// such as 悠悠; 1 = off
    #[arg(long, value_name = "R", default_value_t = default().repetition_penalty)]
    #[arg(value_parser = number(|config| &mut config.repetition_penalty), conflicts_with = "beams")]
    repetition_penalty: f32,
}

impl SettingArgs {
    /// These settings, not yet validated, and defaults for all others.
    pub fn config(&self) -> GenerationConfig {
        GenerationConfig {
            temperature: self.temperature,
            top_k: self.top_k,
            top_p: self.top_p,
            repetition_penalty: self.repetition_penalty,
            ..default()
        }
    }
}

fn default() -> GenerationConfig {
    GenerationConfig::default()
}

/// Reads a number for a setting. The error for any other text says which numbers the setting takes; the number
/// itself is validated later, with all settings.
fn number(
    setting: fn(&mut GenerationConfig) -> &mut f32,
) -> impl Fn(&str) -> Result<f32, String> + Clone + Send + Sync {
    move |text| {
        text.parse().map_err(|_| {
            let mut config = default();
            *setting(&mut config) = f32::NAN;
            match config.validate() {
                Err(GenerateError::Setting { wanted, .. }) => {
                    format!("not a number: it must be {wanted}")
                }
                _ => "not a number".to_owned(),
            }
        })
    }
}

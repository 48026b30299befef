//! The flags that say how boldly a character is chosen.

use clap::Args;
use tang_generate::{GenerateError, GenerationConfig};

use crate::number::whole;

/// The settings of the sampler.
#[derive(Args)]
pub struct SettingArgs {
    /// Below 1 safer, above 1 bolder; 0 always takes the most likely character
    #[arg(long, value_name = "T", default_value_t = GenerationConfig::default().temperature, value_parser = temperature, conflicts_with = "beams")]
    temperature: f32,
    /// Choose among the K most likely characters; 0 means all
    #[arg(long, value_name = "K", default_value_t = GenerationConfig::default().top_k, value_parser = whole(0..=usize::MAX), conflicts_with = "beams")]
    top_k: usize,
    /// Choose among the most likely characters that together have this probability; 1 means all
    #[arg(long, value_name = "P", default_value_t = GenerationConfig::default().top_p, value_parser = top_p, conflicts_with = "beams")]
    top_p: f32,
    /// Above 1 makes characters that occurred less likely; 1 is off
    #[arg(long, value_name = "R", default_value_t = GenerationConfig::default().repetition_penalty, value_parser = repetition_penalty, conflicts_with = "beams")]
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

fn temperature(text: &str) -> Result<f32, String> {
    number(text, |temperature| GenerationConfig {
        temperature,
        ..GenerationConfig::default()
    })
}

fn top_p(text: &str) -> Result<f32, String> {
    number(text, |top_p| GenerationConfig {
        top_p,
        ..GenerationConfig::default()
    })
}

fn repetition_penalty(text: &str) -> Result<f32, String> {
    number(text, |repetition_penalty| GenerationConfig {
        repetition_penalty,
        ..GenerationConfig::default()
    })
}

/// Reads a number; any other text is told what the setting takes. Which numbers are possible is checked with
/// all settings together.
fn number(text: &str, setting: impl Fn(f32) -> GenerationConfig) -> Result<f32, String> {
    text.parse()
        .map_err(|_| match setting(f32::NAN).validate() {
            Err(GenerateError::Setting { wanted, .. }) => {
                format!("not a number: it must be {wanted}")
            }
            _ => "not a number".to_owned(),
        })
}

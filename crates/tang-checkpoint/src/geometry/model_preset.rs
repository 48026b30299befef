//! Geometries with a name.

use std::{fmt, str::FromStr};

use super::ModelConfig;
use crate::ModelError;

/// A geometry with a name, to train a new model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ModelPreset {
    /// [`ModelConfig::tang_4l`].
    #[default]
    Tang4l,
    /// [`ModelConfig::minimind_4l`].
    MiniMind4l,
}

impl ModelPreset {
    /// All of them, the default first.
    pub const ALL: [Self; 2] = [Self::Tang4l, Self::MiniMind4l];

    /// The name, as [`FromStr`] reads it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tang4l => "tang-4l",
            Self::MiniMind4l => "minimind-4l",
        }
    }

    /// The geometry for a vocabulary of this size.
    pub fn config(self, vocab_size: usize) -> ModelConfig {
        match self {
            Self::Tang4l => ModelConfig::tang_4l(vocab_size),
            Self::MiniMind4l => ModelConfig::minimind_4l(vocab_size),
        }
    }
}

impl fmt::Display for ModelPreset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for ModelPreset {
    type Err = ModelError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|preset| preset.name() == name).ok_or_else(|| {
            ModelError::Config { reason: format!("no model `{name}`: use tang-4l or minimind-4l") }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_geometries() {
        for preset in ModelPreset::ALL {
            assert_eq!(preset.name().parse::<ModelPreset>().unwrap(), preset);
            preset.config(97).validate().unwrap();
        }
        let error = "tang-5l".parse::<ModelPreset>().unwrap_err().to_string();
        assert!(error.contains("tang-4l or minimind-4l"), "{error}");
    }
}

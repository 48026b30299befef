//! The angles of rotary positions: a base, and their scaling for a longer context.

use std::f64::consts::TAU;

use serde::Serialize;
use serde_json::json;

/// Rotary positions of a model (Su et al., *RoFormer*, 2021).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rope {
    /// Base of the wavelengths.
    pub(crate) theta: f64,
    pub(crate) scaling: RopeScaling,
}

/// Scaling of the angles, for longer texts than the model was first trained on. Formulas and names, which are
/// those of the serialised form, follow Hugging Face transformers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(tag = "rope_type", rename_all = "lowercase")]
pub(crate) enum RopeScaling {
    #[serde(rename = "default")]
    Unscaled,
    /// All angles divided by `factor`.
    Linear { factor: f64 },
    /// A base that grows with texts longer than the context. No text here is longer, so the base of
    /// the model is used.
    Dynamic { factor: f64 },
    /// Frequencies of long waves divided by `factor`, those of short waves kept, those between
    /// blended. A wave is long if the original context has fewer than `low_freq_factor` periods of
    /// it, and short if it has more than `high_freq_factor`.
    Llama3 {
        factor: f64,
        low_freq_factor: f64,
        high_freq_factor: f64,
        /// The original context, in positions.
        #[serde(rename = "original_max_position_embeddings")]
        original_context: usize,
    },
    /// The same with a linear ramp over the pairs of a head, from `beta_fast` periods in the
    /// original context to `beta_slow`, and cosines and sines multiplied by `attention_factor`
    /// (Peng et al., *YaRN*, 2023).
    Yarn {
        factor: f64,
        attention_factor: f64,
        beta_fast: f64,
        beta_slow: f64,
        /// Whether both ends of the ramp are rounded to whole pairs.
        truncate: bool,
        #[serde(rename = "original_max_position_embeddings")]
        original_context: usize,
    },
}

impl Rope {
    /// Rotary positions as they were first described.
    pub fn unscaled(theta: f64) -> Self {
        Self { theta, scaling: RopeScaling::Unscaled }
    }

    /// Cosines and sines of the angles at some positions, each `[positions, head_dim / 2]`:
    ///
    /// ```text
    /// cos[p, i] = factor cos(p frequency[i]), sin[p, i] = factor sin(p frequency[i])
    /// ```
    pub fn tables(
        &self,
        head_dim: usize,
        positions: impl IntoIterator<Item = usize>,
    ) -> (Vec<f32>, Vec<f32>) {
        let frequencies = self.frequencies(head_dim);
        let factor = self.attention_factor();
        let (mut cos, mut sin) = (Vec::new(), Vec::new());
        for position in positions {
            for frequency in &frequencies {
                let angle = position as f64 * frequency;
                cos.push((factor * angle.cos()) as f32);
                sin.push((factor * angle.sin()) as f32);
            }
        }
        (cos, sin)
    }

    /// The angle by which each pair of a head turns from one position to the next, in radians.
    fn frequencies(&self, head_dim: usize) -> Vec<f64> {
        let pairs = 0..head_dim / 2;
        // theta^(-2 i / head_dim)
        let frequency = |pair| self.theta.powf(-2.0 * pair as f64 / head_dim as f64);
        match self.scaling {
            RopeScaling::Unscaled | RopeScaling::Dynamic { .. } => pairs.map(frequency).collect(),
            RopeScaling::Linear { factor } => pairs.map(|pair| frequency(pair) / factor).collect(),
            RopeScaling::Llama3 { factor, low_freq_factor, high_freq_factor, original_context } => {
                let scaled = |pair| {
                    let frequency = frequency(pair);
                    let periods = original_context as f64 * frequency / TAU;
                    let kept = (periods - low_freq_factor) / (high_freq_factor - low_freq_factor);
                    blend(frequency, factor, kept.clamp(0.0, 1.0))
                };
                pairs.map(scaled).collect()
            }
            RopeScaling::Yarn {
                factor, beta_fast, beta_slow, truncate, original_context, ..
            } => {
                let dim = head_dim as f64;
                // The pair, as a real number, with this count of periods in the original context.
                let pair_of = |periods: f64| {
                    dim * (original_context as f64 / (periods * TAU)).ln() / (2.0 * self.theta.ln())
                };
                let (mut low, mut high) = (pair_of(beta_fast), pair_of(beta_slow));
                if truncate {
                    (low, high) = (low.floor(), high.ceil());
                }
                let (low, mut high) = (low.max(0.0), high.min(dim - 1.0));
                if low == high {
                    high += 0.001;
                }
                let scaled = |pair| {
                    let ramp = ((pair as f64 - low) / (high - low)).clamp(0.0, 1.0);
                    blend(frequency(pair), factor, 1.0 - ramp)
                };
                pairs.map(scaled).collect()
            }
        }
    }

    /// Multiplier of cosines and sines.
    fn attention_factor(&self) -> f64 {
        match self.scaling {
            RopeScaling::Yarn { attention_factor, .. } => attention_factor,
            _ => 1.0,
        }
    }

    /// The reason why these numbers are invalid; `None` if they are valid.
    pub(crate) fn fault(&self) -> Option<String> {
        let Self { theta, scaling } = *self;
        if !(theta.is_finite() && theta > 1.0) {
            return Some(format!("rope_theta is {theta}"));
        }
        let fields = json!(scaling);
        // A number that is not finite is null in JSON.
        let wrong = fields.as_object()?.iter().find(|(_, value)| {
            value.is_null() || value.as_f64().is_some_and(|number| number <= 0.0)
        });
        if let Some((name, value)) = wrong {
            return Some(format!("`{name}` of the rotary positions is {value}"));
        }
        match scaling {
            RopeScaling::Llama3 { low_freq_factor: low, high_freq_factor: high, .. }
                if low >= high =>
            {
                Some(format!("low_freq_factor {low} is not below high_freq_factor {high}"))
            }
            _ => None,
        }
    }
}

/// A frequency, with the share `kept` as it is and the rest divided by `factor`.
fn blend(frequency: f64, factor: f64, kept: f64) -> f64 {
    frequency * ((1.0 - kept) / factor + kept)
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::Value;

    use super::*;
    use crate::{Family, ModelConfig};

    #[derive(Deserialize)]
    struct Case {
        name: String,
        keys: Value,
        inv_freq: Vec<f64>,
        attention_factor: f64,
    }

    #[derive(Deserialize)]
    struct Golden {
        models: Vec<Case>,
        frequencies: Vec<Case>,
    }

    #[test]
    fn angles_are_those_of_transformers() {
        let text = include_str!("../../tests/golden/rope.json");
        let golden: Golden = serde_json::from_str(text).unwrap();
        assert!(golden.models.len() == 12 && golden.frequencies.len() == 5);
        for case in golden.models.into_iter().chain(golden.frequencies) {
            let mut json = case.keys;
            for (key, value) in [("model_type", "llama".into()), ("num_hidden_layers", 1.into())] {
                json[key] = value;
            }
            for (key, value) in
                [("hidden_size", 32), ("num_attention_heads", 4), ("max_position_embeddings", 64)]
            {
                if json[key].is_null() {
                    json[key] = value.into();
                }
            }
            let config = ModelConfig::try_from(json).unwrap();
            let Family::Llama { rope } = config.family else {
                unreachable!("model_type is llama");
            };
            let got = rope.frequencies(config.head_dim());
            assert_eq!(got.len(), case.inv_freq.len(), "{}", case.name);
            for (got, wanted) in got.iter().zip(&case.inv_freq) {
                // They are computed in 32 bits there.
                let error = (got / wanted - 1.0).abs();
                assert!(error < 3e-6, "{}: {got} {wanted}", case.name);
            }
            let error = (rope.attention_factor() - case.attention_factor).abs();
            assert!(error < 1e-12, "{}", case.name);
        }
    }

    #[test]
    fn a_number_that_gives_no_angle_is_named() {
        let llama3 = |low, high, context| RopeScaling::Llama3 {
            factor: 8.0,
            low_freq_factor: low,
            high_freq_factor: high,
            original_context: context,
        };
        for (theta, scaling, word) in [
            (1.0, RopeScaling::Unscaled, "rope_theta is 1"),
            (f64::NAN, RopeScaling::Unscaled, "NaN"),
            (1e4, RopeScaling::Linear { factor: 0.0 }, "`factor`"),
            (1e4, RopeScaling::Dynamic { factor: -2.0 }, "-2"),
            (1e4, llama3(4.0, 1.0, 8192), "4 is not below"),
            (1e4, llama3(1.0, 1.0, 8192), "1 is not below"),
            (1e4, llama3(1.0, 4.0, 0), "original_max_position_embeddings"),
        ] {
            let fault = Rope { theta, scaling }.fault().unwrap();
            assert!(fault.contains(word), "{fault}");
        }
        let good = Rope { theta: 5e5, scaling: llama3(1.0, 4.0, 8192) };
        assert_eq!(good.fault(), None);
    }

    #[test]
    fn linear_angles_are_those_of_a_position_divided_by_the_factor() {
        let plain = Rope::unscaled(10_000.0).frequencies(8);
        let linear = Rope { theta: 10_000.0, scaling: RopeScaling::Linear { factor: 4.0 } };
        let wanted: Vec<f64> = plain.iter().map(|frequency| frequency / 4.0).collect();
        assert_eq!(linear.frequencies(8), wanted);
        assert_eq!(linear.attention_factor(), 1.0);
    }
}

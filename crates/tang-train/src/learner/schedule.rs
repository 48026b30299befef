//! The learning rate and the weight of rhymes as pure functions of the step.

use crate::TrainConfig;

/// The share of the peak at which the cosine ends.
const FLOOR: f64 = 0.02;

/// The learning rate of step `step`, counted from 1: linear warm-up to the peak, then half a
/// cosine down to 2 % of it at the last step (Loshchilov & Hutter, *SGDR*, 2017, without restarts).
pub(crate) fn learning_rate(config: &TrainConfig, step: usize) -> f64 {
    let warmup = config.warmup_steps.min(config.steps) as f64;
    let step = step as f64;
    if step < warmup {
        return config.peak_learning_rate * step / warmup;
    }
    let left = (config.steps as f64 - warmup).max(1.0);
    let progress = ((step - warmup) / left).min(1.0);
    let cosine = 0.5 * (1.0 + (std::f64::consts::PI * progress).cos());
    config.peak_learning_rate * (FLOOR + (1.0 - FLOOR) * cosine)
}

/// The weight in the loss of a character that rhymes at step `step`, counted from 1: it falls in equal steps
/// from the configured one to 1 at the last step.
///
/// A rhyme is one character in twelve to sixteen, and it can only be learned together with the place where to look
/// for the last one: with equal weights a model with rotary positions does not find it.
pub(crate) fn rhyme_weight(config: &TrainConfig, step: usize) -> f64 {
    let left = 1.0 - step as f64 / config.steps as f64;
    1.0 + (config.rhyme_weight - 1.0) * left
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Preset;

    #[test]
    fn rises_then_falls_and_never_climbs_again() {
        let config = TrainConfig {
            steps: 1000,
            warmup_steps: 100,
            peak_learning_rate: 1e-2,
            ..Preset::Quick.config()
        };
        let at = |step| learning_rate(&config, step);
        assert!((at(1) - 1e-4).abs() < 1e-12);
        assert!((at(100) - 1e-2).abs() < 1e-12);
        assert!((at(550) - 1e-2 * 0.51).abs() < 1e-9);
        assert!((at(1000) - 2e-4).abs() < 1e-12);
        assert!((1..100).all(|s| at(s) < at(s + 1)));
        assert!((100..1000).all(|s| at(s) > at(s + 1)));
        assert_eq!(at(5000), at(1000));
    }

    #[test]
    fn rhymes_count_less_and_less() {
        let config = TrainConfig { steps: 1000, rhyme_weight: 6.0, ..Preset::Quick.config() };
        let at = |step| rhyme_weight(&config, step);
        assert_eq!((at(500), at(1000)), (3.5, 1.0));
        assert!((1..1000).all(|step| at(step) > at(step + 1)));
        assert_eq!(rhyme_weight(&TrainConfig { rhyme_weight: 1.0, ..config }, 3), 1.0);
    }

    #[test]
    fn a_run_shorter_than_its_warmup_is_all_warmup() {
        let config = TrainConfig { steps: 10, warmup_steps: 100, ..Preset::Quick.config() };
        assert_eq!(learning_rate(&config, 10), config.peak_learning_rate);
    }
}

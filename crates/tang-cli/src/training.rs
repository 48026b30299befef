//! Everything that needs Burn: training, and GPUs. A program without the feature `train` has
//! `without_training.rs` in its place.

use tang_model::DeviceError;
use tang_train::TrainError;

pub mod bench_train;
pub mod devices;
pub mod environment;
pub mod gpu;
mod plan;
mod shell_word;
pub mod train;
mod training_device;
pub mod watch;

/// The flag that helps after an error of training or of a device.
pub fn hint(error: &anyhow::Error) -> Option<&'static str> {
    if error.is::<DeviceError>() {
        return Some("--device flex computes on the CPU");
    }
    match error.downcast_ref()? {
        TrainError::Diverged { .. } | TrainError::ValidationNotFinite { .. } => {
            Some("--seed starts another")
        }
        TrainError::PoemTooLong { .. } => Some("--context gives it more positions"),
        TrainError::RunExists { .. } => Some("--resume goes on, --out names another folder"),
        TrainError::NotEmpty { .. } | TrainError::Locked { .. } => {
            Some("--out names another folder")
        }
        TrainError::NoSong => Some("`tang data --with song` adds them"),
        TrainError::NoRun { .. } => Some("leave out --resume"),
        TrainError::OtherCorpus { .. } => Some("--corpus names a corpus"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use tang_train::TrainError;

    use crate::{commands::command_line, output::error_message};

    #[test]
    fn a_flag_that_helps_is_named() {
        let (loss, gradient_norm) = (f64::NAN, 0.0);
        let (wanted, got) = (String::new(), String::new());
        for (error, hint) in [
            (TrainError::Diverged { step: 1, loss, gradient_norm }, " (--seed starts another)"),
            (TrainError::ValidationNotFinite { step: 1, loss }, " (--seed starts another)"),
            (TrainError::Locked("run".into()), " (--out names another folder)"),
            (TrainError::NoRun("run".into()), " (leave out --resume)"),
            (TrainError::OtherCorpus { wanted, got }, " (--corpus names a corpus)"),
        ] {
            let message = error_message(&error.into());
            assert!(message.ends_with(hint), "{message}");
        }
    }

    #[test]
    fn a_number_out_of_its_range_names_it() {
        for (words, wanted) in [
            ("train --seed -1", "-1 is not in 0..="),
            ("train --steps -1", "-1 is not in 1..="),
            ("train --context -1", "-1 is not in 1..="),
            ("train --kv-heads -1", "-1 is not in 1..="),
            ("bench-train --turns 2", "2 is not in 3..=255"),
            ("bench-train --steps -1", "-1 is not in 1..=65535"),
        ] {
            let words = ["tang"].into_iter().chain(words.split(' '));
            let error = command_line().try_get_matches_from(words).unwrap_err();
            let message = error.to_string();
            assert!(message.contains(wanted), "{message}");
        }
    }
}

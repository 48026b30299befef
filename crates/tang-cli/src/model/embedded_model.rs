//! The model that is part of the program: `checkpoints/tang-4l`.

use anyhow::Result;
use std::path::Path;
use tang_checkpoint::ModelFolder;
use tang_tokenizer::Vocabulary;

/// Its name in reports.
pub const EMBEDDED: &str = "tang-4l";

const CONFIG: &[u8] = include_bytes!("../../../../checkpoints/tang-4l/config.json");
const WEIGHTS: &[u8] = include_bytes!("../../../../checkpoints/tang-4l/model.safetensors");
const TOKENIZER: &[u8] = include_bytes!("../../../../checkpoints/tang-4l/tokenizer.json");

/// Reads the model in place, without a file.
pub fn embedded_model() -> Result<(ModelFolder, Vocabulary)> {
    let vocabulary = Vocabulary::from_bytes(TOKENIZER, Path::new("tokenizer.json"))?;
    Ok((ModelFolder::from_bytes(CONFIG, WEIGHTS)?, vocabulary))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_weights_were_trained_with_the_vocabulary() {
        let (folder, vocabulary) = embedded_model().unwrap();
        assert_eq!(folder.config().vocab_size, vocabulary.len());
        let fingerprint = vocabulary.fingerprint();
        assert_eq!(folder.vocabulary_fingerprint(), Some(fingerprint.as_str()));
    }
}

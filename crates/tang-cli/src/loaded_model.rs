//! A checkpoint folder, opened: the network and the characters it knows.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::Args;
use tang_model::{ModelError, ModelFolder, Transformer, device};
use tang_tokenizer::{TOKENIZER_FILE, Vocabulary};

/// Which model to use.
#[derive(Args)]
pub struct CheckpointArgs {
    /// Folder of the model
    #[arg(long, value_name = "DIR", default_value = "checkpoints/tang-4l")]
    pub checkpoint: PathBuf,
}

/// A network and its vocabulary.
pub struct LoadedModel {
    /// The network, on the CPU.
    pub model: Transformer,
    /// The characters of its tokens.
    pub vocabulary: Vocabulary,
}

impl CheckpointArgs {
    /// Reads the folder.
    ///
    /// # Errors
    ///
    /// If a file is missing or damaged, or the vocabulary is not the one that the weights were
    /// trained with.
    pub fn open(&self) -> Result<LoadedModel> {
        let folder = ModelFolder::open(&self.checkpoint)?;
        if !self.checkpoint.join(TOKENIZER_FILE).exists() {
            return Err(ModelError::NoModel {
                path: self.checkpoint.clone(),
                missing: TOKENIZER_FILE.to_owned(),
            }
            .into());
        }
        let vocabulary = Vocabulary::load(&self.checkpoint)?;
        let path = self.checkpoint.display();
        let (wanted, got) = (folder.config().vocab_size, vocabulary.len());
        ensure!(
            wanted == got,
            "{path} holds files of two models: config.json asks for {wanted} characters, \
             tokenizer.json has {got}; copy the whole folder again"
        );
        if let Some(wanted) = folder.vocabulary_fingerprint() {
            let got = vocabulary.fingerprint();
            ensure!(
                wanted == got,
                "{path} holds files of two models: the weights were trained with vocabulary \
                 {wanted}, tokenizer.json is {got}; copy the whole folder again"
            );
        }
        let model = folder.into_model(&device::cpu())?;
        Ok(LoadedModel { model, vocabulary })
    }
}

impl LoadedModel {
    /// Positions that the model has.
    pub fn context(&self) -> usize {
        self.model.config().context
    }
}

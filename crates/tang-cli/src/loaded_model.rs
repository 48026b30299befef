//! A checkpoint folder, opened: the network and the characters it knows.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Result, ensure};
use clap::Args;
use tang_checkpoint::{ModelError, ModelFolder};
use tang_engine::{Decoder, Engine, Model, Threads};
use tang_files::escape_value;
use tang_model::{NetworkModel, Transformer};
use tang_tokenizer::{TOKENIZER_FILE, Vocabulary};

use crate::{
    device_args::{DeviceArgs, Place},
    note::note,
};

/// Which model to use, and where.
#[derive(Args)]
pub struct CheckpointArgs {
    /// Folder of the model
    #[arg(long, value_name = "DIR", default_value = "checkpoints/tang-4l")]
    pub checkpoint: PathBuf,
    #[command(flatten)]
    pub device: DeviceArgs,
}

/// A model and its vocabulary.
pub struct LoadedModel {
    /// The model, where it was asked for.
    pub model: Box<dyn Model>,
    /// Threads that it may use.
    pub threads: Threads,
    /// The characters of its tokens.
    pub vocabulary: Vocabulary,
}

impl CheckpointArgs {
    /// Reads the folder.
    ///
    /// # Errors
    ///
    /// Those of [`LoadedModel::open`], or if there is no such device.
    pub fn open(&self) -> Result<LoadedModel> {
        LoadedModel::open(&self.checkpoint, &self.device.place()?)
    }
}

impl LoadedModel {
    /// Reads the folder of a model.
    ///
    /// # Errors
    ///
    /// If a file is missing or damaged, or the vocabulary is not the one that the weights were
    /// trained with.
    pub fn open(checkpoint: &Path, place: &Place) -> Result<Self> {
        let mut folder = ModelFolder::open(checkpoint)?;
        if !checkpoint.join(TOKENIZER_FILE).exists() {
            return Err(ModelError::NoModel {
                path: checkpoint.to_owned(),
                missing: TOKENIZER_FILE.to_owned(),
            }
            .into());
        }
        let vocabulary = Vocabulary::load(checkpoint)?;
        let path = checkpoint.display();
        let (tokens, characters) = (folder.config().vocab_size, vocabulary.len());
        let fingerprint = vocabulary.fingerprint();
        let trained_with = folder.vocabulary_fingerprint();
        let is_other = trained_with.is_some_and(|wanted| wanted != fingerprint);
        ensure!(
            tokens == characters || (tokens > characters && !is_other),
            "{path} holds files of two models: config.json asks for {tokens} characters, \
             tokenizer.json has {characters}; copy the whole folder again"
        );
        if let Some(wanted) = trained_with {
            ensure!(
                !is_other,
                "{path} holds files of two models: the weights were trained with vocabulary \
                 {}, tokenizer.json is {fingerprint}; copy the whole folder again",
                escape_value(wanted)
            );
        }
        if tokens > characters {
            note(format_args!(
                "{} of the model's {tokens} tokens have no character in tokenizer.json: they are left out",
                tokens - characters
            ));
            folder.keep_tokens(characters);
        }
        let (model, threads) = ready(folder, place)?;
        Ok(Self {
            model,
            threads,
            vocabulary,
        })
    }

    /// A decoder with the cache.
    pub fn cached(&self) -> Box<dyn Decoder> {
        self.model.cached(self.threads)
    }

    /// Positions that the model has.
    pub fn context(&self) -> usize {
        self.model.config().context
    }
}

/// The model of a folder, ready to decode at a place, and the threads that it may use.
///
/// # Errors
///
/// If the geometry is impossible.
pub fn ready(folder: ModelFolder, place: &Place) -> Result<(Box<dyn Model>, Threads)> {
    Ok(match place {
        Place::Cpu(threads) => {
            let (config, weights) = folder.into_parts();
            let engine = Arc::new(Engine::pack(&config, &weights)?);
            (Box::new(engine), *threads)
        }
        Place::Gpu(device) => {
            let network = Arc::new(Transformer::from_folder(folder, device)?);
            (Box::new(NetworkModel(network)), Threads::ONE)
        }
    })
}

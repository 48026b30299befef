//! A model, opened: the network and the characters that it knows.

use std::{path::Path, sync::Arc};

use anyhow::{Result, bail, ensure};
use tang_checkpoint::{ModelError, ModelFolder};
use tang_engine::{Decoder, Engine, Model, Threads};
use tang_files::escape_value;
use tang_tokenizer::{TOKENIZER_FILE, Vocabulary};

use crate::{args::Place, model::embedded_model, output::note};

/// A model and its vocabulary.
pub struct LoadedModel {
    /// The model, on its device.
    pub model: Box<dyn Model>,
    /// Threads that it may use.
    pub threads: Threads,
    /// The characters of its tokens.
    pub vocabulary: Vocabulary,
}

impl LoadedModel {
    /// Reads the folder of a model, or the model that is part of this program.
    pub fn open(checkpoint: Option<&Path>, place: &Place) -> Result<Self> {
        let (folder, vocabulary) = match checkpoint {
            Some(path) => open_folder(path)?,
            None => embedded_model()?,
        };
        let (model, threads) = ready(folder, place)?;
        Ok(Self { model, threads, vocabulary })
    }

    /// A decoder with the cache.
    pub fn cached(&self) -> Box<dyn Decoder> {
        self.model.cached(self.threads)
    }

    /// Positions of the model.
    pub fn context(&self) -> usize {
        self.model.config().context
    }
}

/// The model of a folder, without tokens that have no character, and its vocabulary: an error if a file is missing
/// or damaged, or the weights were trained with another vocabulary.
fn open_folder(path: &Path) -> Result<(ModelFolder, Vocabulary)> {
    let mut folder = ModelFolder::open(path)?;
    if !path.join(TOKENIZER_FILE).exists() {
        let (path, missing) = (path.to_owned(), TOKENIZER_FILE.to_owned());
        return Err(ModelError::NoModel { path, missing }.into());
    }
    let vocabulary = Vocabulary::load(path)?;
    let path = path.display();
    let (tokens, characters) = (folder.config().vocab_size, vocabulary.len());
    let fingerprint = vocabulary.fingerprint();
    let other = folder.vocabulary_fingerprint();
    let other = other.filter(|trained_with| *trained_with != fingerprint);
    ensure!(
        tokens == characters || (tokens > characters && other.is_none()),
        "{path} holds files of two models: config.json asks for {tokens} characters, \
         tokenizer.json has {characters}; copy the whole folder again"
    );
    if let Some(other) = other {
        bail!(
            "{path} holds files of two models: the weights were trained with vocabulary \
             {}, tokenizer.json is {fingerprint}; copy the whole folder again",
            escape_value(other)
        );
    }
    if tokens > characters {
        note(format_args!(
            "{} of the model's {tokens} tokens have no character in tokenizer.json: they are left out",
            tokens - characters
        ));
        folder.keep_tokens(characters);
    }
    Ok((folder, vocabulary))
}

/// A model that decodes on a device, and the threads that it may use.
pub fn ready(folder: ModelFolder, place: &Place) -> Result<(Box<dyn Model>, Threads)> {
    Ok(match place {
        Place::Cpu(threads) => {
            let (config, weights) = folder.into_parts();
            let engine = Arc::new(Engine::pack(&config, &weights)?);
            (Box::new(engine), *threads)
        }
        Place::Gpu(gpu) => (gpu.model(folder)?, Threads::ONE),
    })
}

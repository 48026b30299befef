//! `tang logits`: what a model says at every position of a text.

use std::io::{self, Write};

use anyhow::{Result, ensure};
use clap::Args;
use serde::Serialize;
use tang_checkpoint::ModelFolder;
use tang_engine::{Logits, Model, Threads};
use tang_tokenizer::{NEWLINE, TokenId, Vocabulary};

use crate::{
    loaded_model::{CheckpointArgs, ready},
    number::whole,
    user_text::UserText,
};

/// The text, or token ids for a model without a vocabulary. A row a position, the newline before the
/// text first; a number a token id.
#[derive(Args)]
#[command(after_help = "Example:\n  tang logits 春风 --json")]
pub struct Options {
    /// The beginning of a poem; the newline before it is added, and alone for ''
    #[arg(required_unless_present = "ids")]
    text: Option<String>,
    /// Token ids with commas between them, instead of a text; the folder then needs no vocabulary
    #[arg(long, value_delimiter = ',', value_parser = whole(0..=TokenId::MAX), conflicts_with = "text")]
    ids: Vec<TokenId>,
    /// Print one JSON object with tokens and logits
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    checkpoint: CheckpointArgs,
}

#[derive(Serialize)]
struct LogitsJson<'a> {
    tokens: &'a [TokenId],
    logits: Vec<&'a [f32]>,
}

/// Prints a row of logits a position.
pub fn run(options: &Options) -> Result<()> {
    let (model, threads, tokens) = options.open()?;
    let size = model.config().vocab_size;
    for token in &tokens {
        ensure!(
            (*token as usize) < size,
            "token id {token} is out of range: the model has {size} tokens, 0 to {}",
            size - 1
        );
    }
    let mut decoder = model.uncached(threads);
    decoder.start(1);
    let logits = decoder.position_logits(&tokens)?;
    let mut out = io::BufWriter::new(io::stdout().lock());
    if options.json {
        let json = LogitsJson {
            tokens: &tokens,
            logits: logits.rows().collect(),
        };
        // Its own error would hide that of stdout.
        serde_json::to_writer(&mut out, &json).map_err(io::Error::from)?;
        writeln!(out)?;
    } else {
        write_rows(&mut out, &logits)?;
    }
    Ok(out.flush()?)
}

impl Options {
    fn open(&self) -> Result<(Box<dyn Model>, Threads, Vec<TokenId>)> {
        let Some(text) = &self.text else {
            let folder = &self.checkpoint.checkpoint;
            // With a vocabulary, tokens without a character are left out.
            if Vocabulary::load(folder).is_ok() {
                let loaded = self.checkpoint.open()?;
                return Ok((loaded.model, loaded.threads, self.ids.clone()));
            }
            let folder = ModelFolder::open(folder)?;
            let (model, threads) = ready(folder, &self.checkpoint.device.place()?)?;
            return Ok((model, threads, self.ids.clone()));
        };
        let loaded = self.checkpoint.open()?;
        let text = UserText::new(text).read(&loaded.vocabulary)?;
        let mut tokens = vec![NEWLINE];
        tokens.extend(loaded.vocabulary.encode(&text)?);
        Ok((loaded.model, loaded.threads, tokens))
    }
}

fn write_rows(out: &mut impl Write, logits: &Logits) -> io::Result<()> {
    for row in logits.rows() {
        let numbers: Vec<String> = row.iter().map(|logit| format!("{logit:.6}")).collect();
        writeln!(out, "{}", numbers.join(" "))?;
    }
    Ok(())
}

//! `tang logits`: the logits of a model at every position of a text.

use std::io::{self, Write};

use anyhow::{Result, ensure};
use clap::Args;
use serde::Serialize;
use tang_checkpoint::ModelFolder;
use tang_engine::{Model, Threads};
use tang_tokenizer::{NEWLINE, TokenId, Vocabulary};

use crate::{
    args::{CheckpointArgs, whole},
    input::UserText,
    model::ready,
    output::write_json,
};

/// The text, or token ids for a model without a vocabulary. Output: one row per position, the newline before the
/// text first, with one number per token id.
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

/// Prints a row of logits per position.
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
        let (tokens, logits) = (&tokens, logits.rows().collect());
        write_json(&mut out, &LogitsJson { tokens, logits })?;
    } else {
        for row in logits.rows() {
            let numbers: Vec<String> = row.iter().map(|logit| format!("{logit:.6}")).collect();
            writeln!(out, "{}", numbers.join(" "))?;
        }
    }
    Ok(out.flush()?)
}

impl Options {
    fn open(&self) -> Result<(Box<dyn Model>, Threads, Vec<TokenId>)> {
        if let (None, Some(folder)) = (&self.text, &self.checkpoint.checkpoint)
            && Vocabulary::load(folder).is_err()
        {
            let place = self.checkpoint.device.place()?;
            let (model, threads) = ready(ModelFolder::open(folder)?, &place)?;
            return Ok((model, threads, self.ids.clone()));
        }
        // With a vocabulary, tokens without a character are left out.
        let loaded = self.checkpoint.open()?;
        let tokens = match &self.text {
            Some(text) => {
                let text = UserText::new(text).read(&loaded.vocabulary)?;
                let tokens = loaded.vocabulary.encode(&text)?;
                [&[NEWLINE], &tokens[..]].concat()
            }
            None => self.ids.clone(),
        };
        Ok((loaded.model, loaded.threads, tokens))
    }
}

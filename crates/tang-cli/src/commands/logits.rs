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
    input::{Given, StandIn, UserText, note_stand_ins},
    model::{LoadedModel, ready},
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
    #[serde(skip_serializing_if = "<[StandIn]>::is_empty")]
    stand_ins: &'a [StandIn],
}

/// The model, and the tokens that it reads.
struct Opened {
    model: Box<dyn Model>,
    threads: Threads,
    tokens: Vec<TokenId>,
    stand_ins: Vec<StandIn>,
}

/// Prints a row of logits per position.
pub fn run(options: &Options) -> Result<()> {
    let Opened { model, threads, tokens, stand_ins } = options.open()?;
    note_stand_ins(&stand_ins);
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
        let (tokens, logits, stand_ins) = (&tokens, logits.rows().collect(), &stand_ins);
        write_json(&mut out, &LogitsJson { tokens, logits, stand_ins })?;
    } else {
        for row in logits.rows() {
            let numbers: Vec<String> = row.iter().map(|logit| format!("{logit:.6}")).collect();
            writeln!(out, "{}", numbers.join(" "))?;
        }
    }
    Ok(out.flush()?)
}

impl Options {
    fn open(&self) -> Result<Opened> {
        let (mut tokens, mut stand_ins) = (self.ids.clone(), Vec::new());
        if let (None, Some(folder)) = (&self.text, &self.checkpoint.checkpoint)
            && Vocabulary::load(folder).is_err()
        {
            let place = self.checkpoint.device.place()?;
            let (model, threads) = ready(ModelFolder::open(folder)?, &place)?;
            return Ok(Opened { model, threads, tokens, stand_ins });
        }
        // With a vocabulary, tokens without a character are left out.
        let LoadedModel { model, threads, vocabulary } = self.checkpoint.open()?;
        if let Some(text) = &self.text {
            let text = UserText::new(text);
            let read = text.read(&vocabulary)?;
            tokens = [&[NEWLINE], &vocabulary.encode_given(&read)?[..]].concat();
            stand_ins = Given::opening(text, &read).stand_ins(&vocabulary);
        }
        Ok(Opened { model, threads, tokens, stand_ins })
    }
}

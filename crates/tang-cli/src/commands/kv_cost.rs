//! `tang kv-cost`: what a key/value cache costs, on paper.

use std::io::{self, Write};

use anyhow::{Result, bail};
use clap::Args;
use tang_lab::{Bytes, Dtype, KvCost, KvGeometry, KvPreset};

use crate::{json_output::write_json, number::count};

/// Tokens of a sequence, if neither a flag nor a preset says.
const LENGTH: u64 = 4096;

/// Which geometry, at which length. No model is needed.
#[derive(Args)]
#[command(after_help = "Example:\n  tang kv-cost --preset llama-7b --kv-heads 8 --memory 24GiB")]
pub struct Options {
    /// A known geometry, of which the other flags change parts: gpt2, llama-7b, llama-70b, tang-4l
    /// or minimind-4l
    #[arg(long)]
    preset: Option<KvPreset>,
    /// Number of blocks
    #[arg(long, value_name = "N", value_parser = count::<u64>)]
    layers: Option<u64>,
    /// Width of the residual stream
    #[arg(long, value_name = "N", value_parser = count::<u64>)]
    width: Option<u64>,
    /// Number of query heads; divides the width
    #[arg(long, value_name = "N", value_parser = count::<u64>)]
    heads: Option<u64>,
    /// Number of key/value heads; divides the query heads [default: the preset's, or one for each
    /// query head]
    #[arg(long, value_name = "N", value_parser = count::<u64>)]
    kv_heads: Option<u64>,
    /// Format of the numbers of cache and weights: f32, f16, bf16 or int8 [default: the preset's, or
    /// f16]
    #[arg(long)]
    dtype: Option<Dtype>,
    /// Tokens of a sequence [default: the preset's context, or 4096]
    #[arg(long, value_name = "N", value_parser = count::<u64>)]
    length: Option<u64>,
    /// Count the sequences that fit into this memory beside the weights, for instance 24GiB
    #[arg(long, value_name = "SIZE")]
    memory: Option<Bytes>,
    /// Print one JSON object, sizes in bytes
    #[arg(long)]
    json: bool,
}

/// Prints the cost as Markdown or JSON.
pub fn run(options: &Options) -> Result<()> {
    let length = options
        .length
        .or(options.preset.map(KvPreset::context))
        .unwrap_or(LENGTH);
    let cost = KvCost::of(options.geometry()?, length, options.memory)?;
    let mut out = io::stdout().lock();
    if options.json {
        write_json(&mut out, &cost)?;
    } else {
        writeln!(out, "{cost}")?;
    }
    Ok(())
}

impl Options {
    fn geometry(&self) -> Result<KvGeometry> {
        let start = match (self.preset, self.layers, self.width, self.heads) {
            (Some(preset), ..) => preset.geometry(),
            (None, Some(layers), Some(width), Some(heads)) => KvGeometry {
                layers,
                width,
                heads,
                kv_heads: heads,
                dtype: Dtype::F16,
            },
            _ => bail!("no geometry: give --preset, or --layers, --width and --heads"),
        };
        Ok(KvGeometry {
            layers: self.layers.unwrap_or(start.layers),
            width: self.width.unwrap_or(start.width),
            heads: self.heads.unwrap_or(start.heads),
            kv_heads: self.kv_heads.unwrap_or(start.kv_heads),
            dtype: self.dtype.unwrap_or(start.dtype),
        })
    }
}

//! `tang kv-cost`: the cost of a key/value cache, by formulas.

use anyhow::{Result, bail};
use clap::Args;
use tang_lab::{Bytes, Dtype, KvCost, KvGeometry, KvPreset};

use crate::{args::count, output::print};

/// Tokens of a sequence, if neither a flag nor a preset gives them.
const LENGTH: u64 = 4096;

/// Which geometry, at which length. No model is needed.
#[derive(Args)]
#[command(after_help = "Example:\n  tang kv-cost --preset llama-7b --kv-heads 8 --memory 24GiB")]
pub struct Options {
    /// A known geometry, of which the other flags change parts: gpt2, llama-7b, llama-70b, llama-3-8b,
    /// mistral-7b, qwen2.5-7b, qwen3-4b, gemma-7b, tang-4l or minimind-4l
    #[arg(long)]
    preset: Option<KvPreset>,
    /// Number of blocks
    #[arg(long, value_name = "N", value_parser = count::<u64>)]
    layers: Option<u64>,
    /// Width of the residual stream
    #[arg(long, value_name = "N", value_parser = count::<u64>)]
    width: Option<u64>,
    /// Number of query heads; divides the width, unless --head-dim says how wide each is
    #[arg(long, value_name = "N", value_parser = count::<u64>)]
    heads: Option<u64>,
    /// Number of key/value heads; divides the query heads [default: the preset's, or one for each
    /// query head]
    #[arg(long, value_name = "N", value_parser = count::<u64>)]
    kv_heads: Option<u64>,
    /// Width of one head [default: the preset's, or the width over the query heads where one of them is
    /// given]
    #[arg(long, value_name = "N", value_parser = count::<u64>)]
    head_dim: Option<u64>,
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
    let length = options.length.or(options.preset.map(|preset| preset.context)).unwrap_or(LENGTH);
    let cost = KvCost::of(options.geometry()?, length, options.memory)?;
    print(&cost, options.json)
}

impl Options {
    fn geometry(&self) -> Result<KvGeometry> {
        let preset = self.preset.map(|preset| preset.geometry);
        let part =
            |flag: Option<u64>, of_preset: fn(KvGeometry) -> u64| flag.or(preset.map(of_preset));
        let (Some(layers), Some(width), Some(heads)) = (
            part(self.layers, |preset| preset.layers),
            part(self.width, |preset| preset.width),
            part(self.heads, |preset| preset.heads),
        ) else {
            bail!("no geometry: give --preset, or --layers, --width and --heads");
        };
        let of_preset = preset.filter(|_| self.width.or(self.heads).is_none());
        let head_dim = match self.head_dim.or(of_preset.map(|preset| preset.head_dim)) {
            Some(head_dim) => head_dim,
            None => KvGeometry::shared_width(width, heads)?,
        };
        Ok(KvGeometry {
            layers,
            width,
            heads,
            kv_heads: part(self.kv_heads, |preset| preset.kv_heads).unwrap_or(heads),
            head_dim,
            dtype: self.dtype.or(preset.map(|preset| preset.dtype)).unwrap_or(Dtype::F16),
        })
    }
}

//! The whole network, from token ids to hidden states and logits.

use std::slice;

use burn::{
    module::{Module, Param, ParamId},
    nn::Embedding,
    tensor::{Device, Int, Tensor, TensorData},
};
use rayon::prelude::*;
use tang_checkpoint::{Family, ModelConfig, ModelError, ModelFolder, Weights};
use tang_kernels::{Exchange, add_to_rows, on_sides};

use crate::{
    Dropout, KvCache,
    block::Block,
    cpu_tensor::CpuTensor,
    device::has_kernels,
    head_panels::HeadPanels,
    kv_cache::Positions,
    loader::{Loader, host_weights},
    norm::Norm,
    pass::{self, EXCHANGES, Pass, Passes, Store},
    projection::dropped,
    ready_blocks::ReadyBlocks,
    rotary::{self, Rotation},
    side::Side,
};

/// Rows up to which the head is read as it is, once for all of them.
const FEW_ROWS: usize = 4;

/// A decoder-only Transformer.
///
/// [`forward`](Self::forward) serves prefill, decoding and evaluation,
/// [`forward_training`](Self::forward_training) training; [`logits`](Self::logits) is apart from them
/// so that a generator asks for the last position only and a trainer for a few positions at a time.
#[derive(Module, Debug)]
pub struct Transformer {
    token_embedding: Embedding,
    /// Learned positions; a rotary model has none.
    position_embedding: Option<Param<Tensor<2>>>,
    blocks: Vec<Block>,
    final_norm: Norm,
    /// A tied model has none.
    untied_head: Option<Param<Tensor<2>>>,
    #[module(skip)]
    config: ModelConfig,
    #[module(skip)]
    head_panels: HeadPanels,
    #[module(skip)]
    ready_blocks: ReadyBlocks,
}

impl Transformer {
    /// Builds the network from its weights.
    ///
    /// # Errors
    ///
    /// If the geometry is impossible, a tensor is missing or has another shape, or one is left
    /// over.
    pub fn new(config: ModelConfig, weights: Weights, device: &Device) -> Result<Self, ModelError> {
        config.validate()?;
        let width = config.width;
        let head = [config.vocab_size, width];
        let mut loader = Loader { weights, device };
        let token_embedding = Embedding {
            weight: loader.take("token_embedding", head)?,
        };
        let position_embedding = match config.family {
            Family::Gpt2 => Some(loader.take("position_embedding", [config.context, width])?),
            Family::Llama { .. } => None,
        };
        let blocks = (0..config.layers)
            .map(|layer| Block::load(&config, &mut loader, &format!("blocks.{layer}")))
            .collect::<Result<_, _>>()?;
        let final_norm = Norm::load(&config, &mut loader, "final_norm")?;
        let untied_head = if config.tied_head {
            None
        } else {
            Some(loader.take("output_head", head)?)
        };
        loader.weights.finish()?;
        Ok(Self {
            token_embedding,
            position_embedding,
            blocks,
            final_norm,
            untied_head,
            config,
            head_panels: HeadPanels::default(),
            ready_blocks: ReadyBlocks::default(),
        })
    }

    /// The network of a model folder.
    ///
    /// # Errors
    ///
    /// Those of [`new`](Self::new).
    pub fn from_folder(folder: ModelFolder, device: &Device) -> Result<Self, ModelError> {
        let (config, weights) = folder.into_parts();
        Self::new(config, weights, device)
    }

    /// The values of all parameters, on the host.
    pub fn weights(&self) -> Weights {
        host_weights(self)
    }

    /// The geometry.
    pub fn config(&self) -> &ModelConfig {
        &self.config
    }

    /// The device that holds the parameters.
    pub fn device(&self) -> Device {
        self.token_embedding.weight.val().device()
    }

    /// Runs tokens through the blocks; with a cache, they stand behind those it holds, and their
    /// keys and values are added to it.
    ///
    /// # Shapes
    ///
    /// - ids: `[batch, length]`
    /// - output: hidden states `[batch, length, width]`, normalised for [`logits`](Self::logits)
    ///
    /// # Errors
    ///
    /// [`ModelError::TextTooLong`] if the tokens alone are more than the context,
    /// [`ModelError::ContextFull`] if a row would grow past the cache's capacity; the cache is then
    /// unchanged.
    ///
    /// # Panics
    ///
    /// If the cache holds another number of rows than `ids`.
    pub fn forward(
        &self,
        ids: Tensor<2, Int>,
        cache: Option<&mut KvCache>,
    ) -> Result<Tensor<3>, ModelError> {
        let [batch, length] = ids.dims();
        let positions = match &cache {
            Some(cache) => cache.positions(batch, length)?,
            None => self.fresh(length)?,
        };
        if !has_kernels(&ids.device()) {
            return Ok(self.composed(ids, &positions, cache, None));
        }
        let ids: Vec<usize> = ids
            .into_data()
            .iter::<i64>()
            .map(|id| id as usize)
            .collect();
        let starts = positions.of_rows(batch);
        let hidden = match cache {
            Some(cache) => {
                let hidden = cache.lend(|stores| self.run(&ids, &starts, stores));
                cache.advance(length);
                hidden
            }
            None => self.run(&ids, &starts, Vec::new()),
        };
        let shape = [batch, length, self.config.width];
        Ok(CpuTensor::tensor(hidden, shape))
    }

    /// The same for training: without a cache, by tensor operations, and with dropout, if there is
    /// any, of the embeddings and of what each sublayer adds to the residual stream.
    ///
    /// # Errors
    ///
    /// [`ModelError::TextTooLong`] if a row has more tokens than the context.
    pub fn forward_training(
        &self,
        ids: Tensor<2, Int>,
        dropout: Option<&Dropout>,
    ) -> Result<Tensor<3>, ModelError> {
        let [_, length] = ids.dims();
        let positions = self.fresh(length)?;
        Ok(self.composed(ids, &positions, None, dropout))
    }

    /// Where `length` tokens a row stand if none are held.
    fn fresh(&self, length: usize) -> Result<Positions, ModelError> {
        let context = self.config.context;
        match length > context {
            true => Err(ModelError::TextTooLong { length, context }),
            false => Ok(Positions::at(0)),
        }
    }

    /// By tensor operations.
    fn composed(
        &self,
        ids: Tensor<2, Int>,
        positions: &Positions,
        mut cache: Option<&mut KvCache>,
        dropout: Option<&Dropout>,
    ) -> Tensor<3> {
        let [_, length] = ids.dims();
        let mut hidden = self.token_embedding.forward(ids);
        if let Some(table) = &self.position_embedding {
            hidden = hidden + embed(table.val(), positions, length);
        }
        hidden = dropped(hidden, dropout);
        let rotation = self.rotation(positions, length);
        let places = cache
            .as_deref()
            .map(|cache| cache.places(positions, length));
        for (layer, block) in self.blocks.iter().enumerate() {
            let slot = cache
                .as_deref_mut()
                .zip(places.as_ref())
                .map(|(cache, places)| cache.slot(layer, positions, places));
            hidden = block.forward(hidden, rotation.as_ref(), slot, dropout);
        }
        if let Some(cache) = cache {
            cache.advance(length);
        }
        self.final_norm.forward(hidden)
    }

    /// By kernels, on a device that has them.
    ///
    /// # Shapes
    ///
    /// - ids: `[rows, length]`
    /// - starts: one a row
    /// - output: `[rows, length, width]`
    fn run(&self, ids: &[usize], starts: &[usize], stores: Vec<Store<'_>>) -> Vec<f32> {
        if ids.is_empty() {
            return Vec::new();
        }
        let ModelConfig {
            width, kv_heads, ..
        } = self.config;
        let rounds = self.blocks.len() * EXCHANGES;
        let norm = self.final_norm.numbers();
        match Passes::of(ids, starts, stores, kv_heads) {
            Passes::Sides(mut sides) => {
                let parts = self.ready_blocks.of(&self.blocks, &Side::TWO);
                let [first, second] = &mut *sides;
                self.embed_rows(first);
                second.stream.clone_from(&first.stream);
                second.rotation.clone_from(&first.rotation);
                let smallest = ids.len() * width * width;
                on_sides(&mut sides, rounds, smallest, |sides, exchange| {
                    pass::run(sides, &parts, exchange);
                });
                norm.of_rows(&sides[0].stream)
            }
            Passes::Parts(mut passes) => {
                let parts = self.ready_blocks.of(&self.blocks, &[Side::WHOLE]);
                let run = |pass: &mut Pass| {
                    self.embed_rows(pass);
                    pass::run(slice::from_mut(pass), &parts, &Exchange::new(rounds));
                    norm.of_rows(&pass.stream)
                };
                let done: Vec<Vec<f32>> = passes.par_iter_mut().map(run).collect();
                done.concat()
            }
        }
    }

    /// Fills the stream of a pass with its tokens and their positions.
    fn embed_rows(&self, pass: &mut Pass<'_>) {
        let ModelConfig { width, family, .. } = self.config;
        let length = pass.length();
        let embedding = CpuTensor::of(self.token_embedding.weight.val());
        let row = |id: &usize| &embedding.values()[id * width..(id + 1) * width];
        pass.stream = pass.ids.iter().flat_map(row).copied().collect();
        if let Some(table) = &self.position_embedding {
            let table = CpuTensor::of(table.val());
            let rows = pass.stream.chunks_exact_mut(length * width);
            for (rows, start) in rows.zip(pass.starts) {
                add_to_rows(rows, &table.values()[start * width..][..length * width]);
            }
        }
        if let Family::Llama { rope } = family {
            let head_dim = self.config.head_dim();
            pass.rotation = Some(rotary::tables(&rope, head_dim, pass.starts, length));
        }
    }

    fn rotation(&self, positions: &Positions, length: usize) -> Option<Rotation> {
        let head_dim = self.config.head_dim();
        match self.config.family {
            Family::Gpt2 => None,
            Family::Llama { rope } => Some(Rotation::new(
                &rope,
                head_dim,
                positions,
                length,
                &self.device(),
            )),
        }
    }

    /// Scores of every token as the next one.
    ///
    /// # Shapes
    ///
    /// - hidden: `[rows, width]`
    /// - output: `[rows, vocab_size]`
    pub fn logits(&self, hidden: Tensor<2>) -> Tensor<2> {
        let [rows, width] = hidden.dims();
        let vocab_size = self.config.vocab_size;
        let head = self.output_head();
        if !has_kernels(&hidden.device()) {
            return hidden.matmul(head.transpose());
        }
        let (hidden, head) = (CpuTensor::of(hidden), CpuTensor::of(head));
        if rows <= FEW_ROWS {
            let scores = tang_kernels::scores(hidden.values(), head.values(), width);
            return CpuTensor::tensor(scores, [rows, vocab_size]);
        }
        let panels = self.head_panels.of(head, width);
        let mut scores = vec![0.0; rows * vocab_size];
        let per_part = rows.div_ceil(rayon::current_num_threads());
        hidden
            .values()
            .par_chunks(per_part * width)
            .zip(scores.par_chunks_mut(per_part * vocab_size))
            .for_each(|(hidden, scores)| panels.multiply(hidden, scores));
        CpuTensor::tensor(scores, [rows, vocab_size])
    }

    /// The matrix of the output head, `[vocab_size, width]`; in a tied model the token embedding.
    pub fn output_head(&self) -> Tensor<2> {
        self.output_parameter().val()
    }

    /// The identity of the output head among the parameters.
    pub fn output_head_id(&self) -> ParamId {
        self.output_parameter().id
    }

    fn output_parameter(&self) -> &Param<Tensor<2>> {
        match &self.untied_head {
            Some(head) => head,
            None => &self.token_embedding.weight,
        }
    }
}

/// Rows of the position table, `[1 or batch, length, width]`.
fn embed(table: Tensor<2>, positions: &Positions, length: usize) -> Tensor<3> {
    if let Some(start) = positions.uniform() {
        return table.narrow(0, start, length).unsqueeze();
    }
    let starts = positions.starts();
    let ids: Vec<i32> = starts
        .iter()
        .flat_map(|start| (*start..start + length).map(|p| p as i32))
        .collect();
    let ids = TensorData::new(ids, [starts.len() * length]);
    let ids = Tensor::<1, Int>::from_data(ids, &table.device());
    let [_, width] = table.dims();
    table.select(0, ids).reshape([starts.len(), length, width])
}

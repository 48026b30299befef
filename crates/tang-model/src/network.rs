//! The whole network, from token ids to hidden states and logits.

mod attention;
mod block;
pub(crate) mod device_cache;
pub(crate) mod dropout;
mod feed_forward;
pub(crate) mod loader;
mod norm;
mod rotation;

use burn::{
    module::{Module, Param, ParamId},
    nn::Embedding,
    tensor::{Device, Int, Tensor, TensorData},
};
use tang_checkpoint::{Family, ModelConfig, ModelError, ModelFolder, Weights};

use self::{
    block::Block,
    device_cache::{DeviceCache, NewTokens},
    dropout::{Dropout, dropped},
    loader::{Loader, host_weights},
    norm::Norm,
    rotation::Rotation,
};

/// A decoder-only Transformer as Burn modules: for training, and for decoding on a GPU.
///
/// [`logits`](Self::logits) is not part of the forward pass, so that a decoder computes them for the last
/// position only and a trainer for a few positions at a time.
#[derive(Module, Debug)]
pub struct Transformer {
    token_embedding: Embedding,
    /// Learned positions; only GPT-2 has them.
    position_embedding: Option<Param<Tensor<2>>>,
    blocks: Vec<Block>,
    final_norm: Norm,
    /// The output head of an untied model.
    untied_head: Option<Param<Tensor<2>>>,
    #[module(skip)]
    config: ModelConfig,
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
        let token_embedding = Embedding { weight: loader.take("token_embedding", head)? };
        let position_embedding = match config.family {
            Family::Gpt2 => Some(loader.take("position_embedding", [config.context, width])?),
            Family::Llama { .. } => None,
        };
        let blocks = (0..config.layers)
            .map(|layer| Block::load(&config, &mut loader, &format!("blocks.{layer}")))
            .collect::<Result<_, _>>()?;
        let final_norm = Norm::load(&config, &mut loader, "final_norm")?;
        let untied_head =
            if config.tied_head { None } else { Some(loader.take("output_head", head)?) };
        loader.weights.finish()?;
        Ok(Self { token_embedding, position_embedding, blocks, final_norm, untied_head, config })
    }

    /// The network of a model folder.
    ///
    /// # Errors
    ///
    /// As for [`new`](Self::new): an impossible geometry, or tensors that do not fit it.
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

    /// Hidden states of all positions, without a cache; `dropout`, if given, applies to the
    /// embeddings and to the output of each sublayer.
    ///
    /// # Shapes
    ///
    /// - ids: `[batch, length]`
    /// - output: `[batch, length, width]`, normalised for [`logits`](Self::logits)
    ///
    /// # Panics
    ///
    /// If a row has more tokens than the context.
    pub fn forward(&self, ids: Tensor<2, Int>, dropout: Option<&Dropout>) -> Tensor<3> {
        self.run(ids, &[0], None, dropout)
    }

    /// Hidden states of new tokens, whose keys and values are added to the cache.
    ///
    /// # Shapes
    ///
    /// As in [`forward`](Self::forward).
    pub(crate) fn forward_cached(&self, ids: Tensor<2, Int>, cache: &mut DeviceCache) -> Tensor<3> {
        let [_, length] = ids.dims();
        let new = cache.make_room(length);
        let hidden = self.run(ids, &new.starts, Some((&mut *cache, &new)), None);
        cache.advance(length);
        hidden
    }

    /// `starts`: position of the first token of each row, or one for all.
    fn run(
        &self,
        ids: Tensor<2, Int>,
        starts: &[usize],
        mut cache: Option<(&mut DeviceCache, &NewTokens)>,
        dropout: Option<&Dropout>,
    ) -> Tensor<3> {
        let ([_, length], context) = (ids.dims(), self.config.context);
        assert!(length <= context, "{length} tokens in a context of {context}");
        let mut hidden = self.token_embedding.forward(ids);
        if let Some(table) = &self.position_embedding {
            hidden = hidden + embed(table.val(), starts, length);
        }
        hidden = dropped(hidden, dropout);
        let rotation = Rotation::new(&self.config, starts, length, &self.device());
        for (layer, block) in self.blocks.iter().enumerate() {
            let slot = cache.as_mut().map(|(cache, new)| cache.slot(layer, new));
            hidden = block.forward(hidden, rotation.as_ref(), slot, dropout);
        }
        self.final_norm.forward(hidden)
    }

    /// Logits of the next token after each row.
    ///
    /// # Shapes
    ///
    /// - hidden: `[rows, width]`
    /// - output: `[rows, vocab_size]`
    pub fn logits(&self, hidden: Tensor<2>) -> Tensor<2> {
        hidden.matmul(self.output_head().transpose())
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

/// Rows of the position table, `[1 or batch, length, width]`; padding may be beyond the last one.
fn embed(table: Tensor<2>, starts: &[usize], length: usize) -> Tensor<3> {
    if let [start] = starts {
        return table.narrow(0, *start, length).unsqueeze();
    }
    let [context, width] = table.dims();
    let ids: Vec<i32> = starts
        .iter()
        .flat_map(|start| *start..start + length)
        .map(|position| position.min(context - 1) as i32)
        .collect();
    let ids = TensorData::new(ids, [starts.len() * length]);
    let ids = Tensor::<1, Int>::from_data(ids, &table.device());
    table.select(0, ids).reshape([starts.len(), length, width])
}

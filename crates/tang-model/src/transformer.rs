//! The whole network, from token ids to hidden states and logits.

use burn::{
    module::{Module, Param},
    nn::{Embedding, LayerNorm},
    tensor::{Device, Int, Tensor, TensorData},
};

use crate::{KvCache, ModelConfig, ModelError, Weights, block::Block, kv_cache::Positions};

/// A decoder-only Transformer with learned positions and an output head tied to the token
/// embedding.
///
/// [`forward`](Self::forward) serves training, prefill and decoding; [`logits`](Self::logits) is
/// apart from it so that a generator asks for the last position only and a trainer for a few
/// positions at a time.
#[derive(Module, Debug)]
pub struct Transformer {
    token_embedding: Embedding,
    position_embedding: Param<Tensor<2>>,
    blocks: Vec<Block>,
    final_norm: LayerNorm,
    #[module(skip)]
    config: ModelConfig,
}

impl Transformer {
    /// Builds the network from its numbers.
    ///
    /// # Errors
    ///
    /// If the geometry is impossible, a tensor is missing or has another shape, or one is left
    /// over.
    pub fn new(
        config: ModelConfig,
        mut weights: Weights,
        device: &Device,
    ) -> Result<Self, ModelError> {
        config.validate()?;
        let token_embedding = Embedding {
            weight: weights.take(
                "transformer.wte.weight",
                [config.vocab_size, config.width],
                device,
            )?,
        };
        let position_embedding = weights.take(
            "transformer.wpe.weight",
            [config.context, config.width],
            device,
        )?;
        let blocks = (0..config.layers)
            .map(|layer| {
                Block::load(
                    &config,
                    &mut weights,
                    &format!("transformer.h.{layer}"),
                    device,
                )
            })
            .collect::<Result<_, _>>()?;
        let final_norm = weights.take_norm("transformer.ln_f", &config, device)?;
        weights.finish()?;
        Ok(Self {
            token_embedding,
            position_embedding,
            blocks,
            final_norm,
            config,
        })
    }

    /// The geometry.
    pub fn config(&self) -> &ModelConfig {
        &self.config
    }

    /// The device that holds the parameters.
    pub fn device(&self) -> Device {
        self.position_embedding.val().device()
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
    /// [`ModelError::ContextFull`] if a row would grow past the context or the cache's capacity;
    /// the cache is then unchanged.
    ///
    /// # Panics
    ///
    /// If the cache holds another number of rows than `ids`.
    pub fn forward(
        &self,
        ids: Tensor<2, Int>,
        mut cache: Option<&mut KvCache>,
    ) -> Result<Tensor<3>, ModelError> {
        let [batch, length] = ids.dims();
        let positions = match &cache {
            Some(cache) => cache.positions(batch, length)?,
            None if length > self.config.context => {
                return Err(ModelError::ContextFull {
                    held: 0,
                    added: length,
                    capacity: self.config.context,
                });
            }
            None => Positions::from_zero(),
        };
        let mut hidden = self.token_embedding.forward(ids) + self.embed(&positions, length);
        for (layer, block) in self.blocks.iter().enumerate() {
            let slot = cache
                .as_deref_mut()
                .map(|cache| cache.slot(layer, &positions));
            hidden = block.forward(hidden, slot);
        }
        if let Some(cache) = cache {
            cache.advance(length);
        }
        Ok(self.final_norm.forward(hidden))
    }

    /// Position embeddings, `[1 or batch, length, width]`.
    fn embed(&self, positions: &Positions, length: usize) -> Tensor<3> {
        let table = self.position_embedding.val();
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
        table
            .select(0, ids)
            .reshape([starts.len(), length, self.config.width])
    }

    /// Scores of every token as the next one.
    ///
    /// # Shapes
    ///
    /// - hidden: `[rows, width]`
    /// - output: `[rows, vocab_size]`
    pub fn logits(&self, hidden: Tensor<2>) -> Tensor<2> {
        hidden.matmul(self.output_head().transpose())
    }

    /// The matrix of the output head, `[vocab_size, width]`: the token embedding.
    pub fn output_head(&self) -> Tensor<2> {
        self.token_embedding.weight.val()
    }

    /// The identity of the output head among the parameters.
    pub fn output_head_id(&self) -> burn::module::ParamId {
        self.token_embedding.weight.id
    }
}

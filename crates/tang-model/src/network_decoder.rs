//! Decoding by the network on its device, such as a GPU.

use std::sync::Arc;

use burn::tensor::{Int, Tensor, TensorData};
use tang_checkpoint::{ModelConfig, Weights};
use tang_engine::{CacheBytes, Decoder, EngineError, Logits, Model, Threads, shared_tokens};
use tang_tokenizer::TokenId;

use crate::{FLOATS, Transformer, network::device_cache::DeviceCache};

/// A network whose decoders compute on its device.
#[derive(Debug, Clone)]
pub struct NetworkModel(pub Arc<Transformer>);

impl Model for NetworkModel {
    fn config(&self) -> &ModelConfig {
        self.0.config()
    }

    fn cached(&self, _: Threads) -> Box<dyn Decoder> {
        Box::new(NetworkDecoder::cached(&self.0))
    }

    fn cached_after(
        &self,
        prefix: &[TokenId],
        _: Threads,
    ) -> Result<Box<dyn Decoder>, EngineError> {
        let mut decoder = NetworkDecoder::cached(&self.0);
        decoder.prefill(&[prefix])?;
        decoder.prefix = decoder.cache.clone().map(|cache| (prefix.to_vec(), cache));
        decoder.forwarded = 0;
        Ok(Box::new(decoder))
    }

    fn uncached(&self, _: Threads) -> Box<dyn Decoder> {
        Box::new(NetworkDecoder::uncached(&self.0))
    }

    fn of_weights(
        &self,
        config: &ModelConfig,
        weights: &Weights,
    ) -> Result<Box<dyn Model>, EngineError> {
        let network = Transformer::new(*config, weights.clone(), &self.0.device())?;
        Ok(Box::new(Self(Arc::new(network))))
    }
}

/// Decodes with a cache of tensors on the device, or without one.
#[derive(Debug)]
pub struct NetworkDecoder {
    model: Arc<Transformer>,
    /// `None` if all tokens go through the model at each step.
    cache: Option<DeviceCache>,
    /// A prefix and the cache of its tokens.
    prefix: Option<(Vec<TokenId>, DeviceCache)>,
    rows: Vec<Vec<TokenId>>,
    /// Count of tokens that went through the model.
    forwarded: usize,
}

impl NetworkDecoder {
    /// A decoder without sequences that sends each token through the model once.
    pub fn cached(model: &Arc<Transformer>) -> Self {
        let cache = DeviceCache::new(model.config(), 0, &model.device());
        Self { cache: Some(cache), ..Self::uncached(model) }
    }

    /// A decoder without sequences that sends all tokens through the model at each step.
    pub fn uncached(model: &Arc<Transformer>) -> Self {
        Self { model: Arc::clone(model), cache: None, prefix: None, rows: Vec::new(), forwarded: 0 }
    }

    /// Adds tokens to each row and returns the hidden states of those that went through the model (with a
    /// cache the new ones, without one all), and their count per row.
    ///
    /// # Shapes
    ///
    /// - output: `[rows, longest, width]`
    fn forward(&mut self, new: &[&[TokenId]]) -> Result<(Tensor<3>, Vec<usize>), EngineError> {
        assert_eq!(new.len(), self.rows.len(), "new tokens of each sequence");
        let context = self.model.config().context;
        for (row, new) in self.rows.iter().zip(new) {
            if new.len() > context {
                return Err(EngineError::TextTooLong { length: new.len(), context });
            }
            if row.len() + new.len() > context {
                return Err(EngineError::ContextFull {
                    held: row.len(),
                    added: new.len(),
                    capacity: context,
                });
            }
        }
        for (row, new) in self.rows.iter_mut().zip(new) {
            row.extend_from_slice(new);
        }
        let all: Vec<&[TokenId]> = self.rows.iter().map(Vec::as_slice).collect();
        let lengths = |rows: &[&[TokenId]]| rows.iter().map(|row| row.len()).collect::<Vec<_>>();
        let (hidden, counts) = if let Some(cache) = &mut self.cache {
            let ids = padded(new, &self.model);
            let hidden = self.model.forward_cached(ids, cache);
            // No token attends to the padding, which is removed from the cache at once.
            cache.truncate(&lengths(&all));
            (hidden, lengths(new))
        } else {
            let hidden = self.model.forward(padded(&all, &self.model), None);
            (hidden, lengths(&all))
        };
        self.forwarded += counts.iter().sum::<usize>();
        Ok((hidden, counts))
    }

    /// Logits on the host.
    ///
    /// # Shapes
    ///
    /// - hidden: `[rows, width]`
    fn logits(&self, hidden: Tensor<2>) -> Result<Logits, EngineError> {
        let values = self.model.logits(hidden).into_data();
        let values: Vec<f32> = values.try_into_vec_as().expect(FLOATS);
        if values.iter().all(|value| value.is_finite()) {
            Ok(Logits::new(values, self.model.config().vocab_size))
        } else {
            Err(EngineError::Overflow)
        }
    }
}

/// Token ids of rows, padded to the longest: `[rows, longest]`. A token never attends to a later
/// one, so the padding changes nothing before it.
fn padded(rows: &[&[TokenId]], model: &Transformer) -> Tensor<2, Int> {
    let longest = rows.iter().map(|row| row.len()).max().unwrap_or(0);
    let mut ids = vec![0_i32; rows.len() * longest];
    for (padded, row) in ids.chunks_mut(longest.max(1)).zip(rows) {
        for (id, token) in padded.iter_mut().zip(*row) {
            *id = *token as i32;
        }
    }
    let data = TensorData::new(ids, [rows.len(), longest]);
    Tensor::from_data(data, &model.device())
}

impl Decoder for NetworkDecoder {
    fn context(&self) -> usize {
        self.model.config().context
    }

    /// The free memory of a GPU is not known.
    fn reserve(&mut self, _: usize, _: usize) -> Result<(), EngineError> {
        Ok(())
    }

    fn start(&mut self, rows: usize) {
        self.rows = vec![Vec::new(); rows];
        if let Some(cache) = &mut self.cache {
            *cache = DeviceCache::new(self.model.config(), rows, &self.model.device());
        }
    }

    fn prefill(&mut self, prompts: &[&[TokenId]]) -> Result<Logits, EngineError> {
        self.start(prompts.len());
        let Some((prefix, cache)) = &self.prefix else {
            return self.append(prompts);
        };
        let shared = prompts.iter().map(|prompt| shared_tokens(prompt, prefix));
        let shared = shared.min().unwrap_or(0);
        let mut cache = cache.clone();
        cache.truncate(&[shared]);
        cache.select(&vec![0; prompts.len()]);
        self.cache = Some(cache);
        self.rows = vec![prefix[..shared].to_vec(); prompts.len()];
        let rest: Vec<&[TokenId]> = prompts.iter().map(|prompt| &prompt[shared..]).collect();
        self.append(&rest)
    }

    fn lengths(&self) -> Vec<usize> {
        self.rows.iter().map(Vec::len).collect()
    }

    fn append(&mut self, rows: &[&[TokenId]]) -> Result<Logits, EngineError> {
        let (hidden, counts) = self.forward(rows)?;
        let [rows, longest, width] = hidden.dims();
        // Row r of the flattened states begins at r * longest.
        let last = counts.iter().enumerate();
        let last = last.map(|(row, count)| (row * longest + count - 1) as i32);
        let last = TensorData::new(last.collect::<Vec<_>>(), [rows]);
        let last = Tensor::<1, Int>::from_data(last, &hidden.device());
        self.logits(hidden.reshape([rows * longest, width]).select(0, last))
    }

    fn position_logits(&mut self, tokens: &[TokenId]) -> Result<Logits, EngineError> {
        let (hidden, _) = self.forward(&[tokens])?;
        let [_, length, width] = hidden.dims();
        let new = hidden.narrow(1, length - tokens.len(), tokens.len());
        self.logits(new.reshape([tokens.len(), width]))
    }

    fn select(&mut self, rows: &[usize]) {
        self.rows = rows.iter().map(|row| self.rows[*row].clone()).collect();
        if let Some(cache) = &mut self.cache {
            cache.select(rows);
        }
    }

    fn truncate(&mut self, lengths: &[usize]) {
        assert_eq!(lengths.len(), self.rows.len(), "one length per sequence");
        for (row, length) in self.rows.iter_mut().zip(lengths) {
            row.truncate(*length);
        }
        if let Some(cache) = &mut self.cache {
            cache.truncate(lengths);
        }
    }

    /// A GPU computes all sequences together.
    fn fork(&self) -> Option<Box<dyn Decoder>> {
        None
    }

    fn forwarded_tokens(&self) -> usize {
        self.forwarded
    }

    fn cache_bytes(&self) -> CacheBytes {
        self.cache.as_ref().map(DeviceCache::bytes).unwrap_or_default()
    }

    fn capacity_for(&self, tokens: usize) -> usize {
        self.cache.as_ref().map_or(0, |cache| cache.capacity_for(tokens))
    }

    /// A device has its own threads.
    fn threads(&self) -> Threads {
        Threads::ONE
    }

    fn set_threads(&mut self, _: Threads) {}
}

//! What a key/value cache costs and saves, on paper.
//!
//! n tokens are generated one by one, counted from the first. In causal attention, token i looks at
//! i keys: i pairs. With the cache, each token goes through the model once: n tokens and
//! 1 + 2 + ... + n = n(n + 1)/2 pairs. Without it, step t sends t tokens and t(t + 1)/2 pairs
//! through: n(n + 1)/2 tokens and n(n + 1)(n + 2)/6 pairs in all. So, exactly, the cache divides the
//! tokens by (n + 1)/2 and the pairs by (n + 2)/3.

use serde::Serialize;

use crate::{Bytes, KvGeometry, LabError, kv_geometry::product};

/// The cost of the cache of one geometry, at one length and around it. It displays as Markdown.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KvCost {
    /// The model.
    pub geometry: KvGeometry,
    /// Tokens of a sequence, n.
    pub length: u64,
    /// The textbook estimate of the weights, [`KvGeometry::weight_bytes`].
    pub weight_bytes: Bytes,
    /// Memory for weights and caches, if it was given.
    pub memory: Option<Bytes>,
    /// The cache of this geometry.
    pub cache: CacheCost,
    /// The same at n/8, n/4, n/2 and n; those below one token are left out.
    pub lengths: Vec<LengthCost>,
    /// The same with other numbers of key/value heads, most first.
    pub variants: Vec<CacheCost>,
}

/// The cost of the cache for one number of key/value heads.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CacheCost {
    /// MHA, GQA or MQA.
    pub sharing: &'static str,
    /// Key/value heads, g.
    pub kv_heads: u64,
    /// Query heads that share one, h/g.
    pub heads_per_kv_head: u64,
    /// [`KvGeometry::flop_per_byte`].
    pub flop_per_byte: f64,
    /// Bytes of keys and values a token.
    pub bytes_per_token: Bytes,
    /// Bytes of keys and values of one sequence.
    pub bytes: Bytes,
    /// Length at which one sequence weighs as much as the weights.
    pub crossover_tokens: u64,
    /// Sequences that fit into the memory beside the weights.
    pub sequences: Option<u64>,
}

/// What one length costs and saves.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LengthCost {
    /// Tokens of a sequence, n.
    pub tokens: u64,
    /// Bytes of keys and values of one sequence.
    pub bytes: Bytes,
    /// These bytes over those of the weights.
    pub share_of_weights: f64,
    /// Causal attention pairs without the cache over those with it, (n + 2)/3.
    pub pair_ratio: f64,
    /// Tokens through the model without the cache over those with it, (n + 1)/2.
    pub token_ratio: f64,
    /// Sequences that fit into the memory beside the weights.
    pub sequences: Option<u64>,
}

impl KvCost {
    /// The cost of sequences of `length` tokens each, in `memory` if it is given.
    ///
    /// # Errors
    ///
    /// Those of [`KvGeometry::validate`]; [`LabError::Zero`] if the length is 0;
    /// [`LabError::TooLarge`] if a figure is 2^64 or more.
    pub fn of(geometry: KvGeometry, length: u64, memory: Option<Bytes>) -> Result<Self, LabError> {
        geometry.validate()?;
        if length == 0 {
            return Err(LabError::Zero { what: "the length" });
        }
        let room = Room {
            weights: geometry.weight_bytes()?,
            memory,
        };
        let lengths = [8, 4, 2, 1]
            .map(|part| length / part)
            .into_iter()
            .filter(|tokens| *tokens > 0)
            .map(|tokens| LengthCost::of(&geometry, tokens, &room))
            .collect::<Result<_, _>>()?;
        let variants = geometry
            .variants()
            .iter()
            .map(|variant| CacheCost::of(variant, length, &room))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            geometry,
            length,
            weight_bytes: room.weights,
            memory,
            cache: CacheCost::of(&geometry, length, &room)?,
            lengths,
            variants,
        })
    }
}

/// Where the caches have to fit.
struct Room {
    weights: Bytes,
    memory: Option<Bytes>,
}

impl Room {
    /// How many caches of this size fit beside the weights; none if the weights alone do not.
    fn sequences(&self, cache: Bytes) -> Option<u64> {
        let left = self.memory?.0.saturating_sub(self.weights.0);
        Some(left / cache.0)
    }
}

fn cache_bytes(geometry: &KvGeometry, tokens: u64) -> Result<Bytes, LabError> {
    product("bytes of cache", &[geometry.bytes_per_token()?.0, tokens]).map(Bytes)
}

impl CacheCost {
    fn of(geometry: &KvGeometry, length: u64, room: &Room) -> Result<Self, LabError> {
        let bytes = cache_bytes(geometry, length)?;
        Ok(Self {
            sharing: geometry.sharing(),
            kv_heads: geometry.kv_heads,
            heads_per_kv_head: geometry.heads_per_kv_head(),
            flop_per_byte: geometry.flop_per_byte(),
            bytes_per_token: geometry.bytes_per_token()?,
            bytes,
            crossover_tokens: geometry.crossover_tokens()?,
            sequences: room.sequences(bytes),
        })
    }
}

impl LengthCost {
    fn of(geometry: &KvGeometry, tokens: u64, room: &Room) -> Result<Self, LabError> {
        let bytes = cache_bytes(geometry, tokens)?;
        Ok(Self {
            tokens,
            bytes,
            share_of_weights: bytes.0 as f64 / room.weights.0 as f64,
            pair_ratio: (tokens as f64 + 2.0) / 3.0,
            token_ratio: (tokens as f64 + 1.0) / 2.0,
            sequences: room.sequences(bytes),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::KvPreset;

    const MIB: u64 = 1 << 20;

    fn llama(kv_heads: u64) -> KvCost {
        let geometry = KvGeometry {
            kv_heads,
            ..KvPreset::Llama7b.geometry()
        };
        KvCost::of(geometry, 4096, None).unwrap()
    }

    #[test]
    fn the_cache_of_a_llama() {
        for (kv_heads, a_token, at_4096, crossover, mib, gib) in [
            (32, "512 KiB", "2 GiB", 24_576, "0.500", "2.00"),
            (8, "128 KiB", "512 MiB", 98_304, "0.125", "0.50"),
            (1, "16 KiB", "64 MiB", 786_432, "0.016", "0.06"),
        ] {
            let cost = llama(kv_heads);
            let CacheCost {
                bytes_per_token,
                bytes,
                crossover_tokens,
                ..
            } = cost.cache;
            assert_eq!(bytes_per_token.to_string(), a_token);
            assert_eq!(bytes.to_string(), at_4096);
            assert_eq!(crossover_tokens, crossover);
            assert_eq!(format!("{:.3}", bytes_per_token.0 as f64 / MIB as f64), mib);
            assert_eq!(format!("{:.2}", bytes.0 as f64 / 1024.0 / MIB as f64), gib);
            assert_eq!(cost.weight_bytes.0, 12_288 * MIB);
            assert!(cost.variants.contains(&cost.cache));
        }
        // Seen from any of them, the three stand side by side.
        assert_eq!(llama(32).variants, llama(1).variants);
        assert_eq!(llama(32).variants.len(), 3);
    }

    #[test]
    fn at_the_crossover_the_cache_weighs_what_the_weights_do() {
        for preset in KvPreset::ALL {
            let geometry = preset.geometry();
            let length = geometry.crossover_tokens().unwrap();
            let cost = KvCost::of(geometry, length, None).unwrap();
            assert_eq!(cost.cache.bytes, cost.weight_bytes, "{preset}");
            assert_eq!(cost.lengths[3].share_of_weights, 1.0, "{preset}");
        }
    }

    #[test]
    fn the_ratios_are_those_of_the_sums() {
        for n in [1, 2, 3, 7, 100, 4096_u64] {
            let cost = KvCost::of(KvPreset::Gpt2.geometry(), n, None).unwrap();
            let last = cost.lengths.last().unwrap();
            let with: u64 = (1..=n).sum();
            let without: u64 = (1..=n).map(|t| t * (t + 1) / 2).sum();
            assert_eq!(last.pair_ratio, without as f64 / with as f64, "{n}");
            assert_eq!(last.token_ratio, with as f64 / n as f64, "{n}");
        }
        let at_4096 = llama(32).lengths[3].clone();
        assert_eq!((at_4096.pair_ratio, at_4096.token_ratio), (1366.0, 2048.5));
    }

    #[test]
    fn lengths_below_a_token_are_left_out() {
        let tokens = |length| {
            let cost = KvCost::of(KvPreset::Gpt2.geometry(), length, None).unwrap();
            let lengths = cost.lengths.iter().map(|row| row.tokens);
            lengths.collect::<Vec<_>>()
        };
        assert_eq!(tokens(4096), [512, 1024, 2048, 4096]);
        assert_eq!(tokens(5), [1, 2, 5]);
        assert_eq!(tokens(1), [1]);
    }

    #[test]
    fn sequences_fit_beside_the_weights() {
        let geometry = KvPreset::Llama7b.geometry();
        for (memory, sequences, said) in [
            (
                24_u64 << 30,
                6,
                "| 6 | 12 GiB are left beside the weights |",
            ),
            ((14 << 30) - 1, 0, "| 0 | 2.00 GiB are left"),
            (12 << 30, 0, "| 0 | 0 B are left"),
            (
                8 << 30,
                0,
                "| 0 | the weights alone do not fit: they take 12 GiB |",
            ),
        ] {
            let cost = KvCost::of(geometry, 4096, Some(Bytes(memory))).unwrap();
            assert_eq!(cost.cache.sequences, Some(sequences));
            assert!(cost.to_string().contains(said), "{cost}");
        }
        let cost = KvCost::of(geometry, 4096, Some(Bytes(24 << 30))).unwrap();
        let fit = cost.variants.iter().map(|row| row.sequences.unwrap());
        assert_eq!(fit.collect::<Vec<_>>(), [6, 24, 192]);
        let fit = cost.lengths.iter().map(|row| row.sequences.unwrap());
        assert_eq!(fit.collect::<Vec<_>>(), [48, 24, 12, 6]);
    }

    #[test]
    fn impossible_costs_are_errors() {
        let geometry = KvPreset::Gpt2.geometry();
        let message = |geometry, length| {
            let error = KvCost::of(geometry, length, Some(Bytes(1))).unwrap_err();
            error.to_string()
        };
        assert_eq!(
            message(geometry, 0),
            "the length is 0: it must be 1 or more"
        );
        assert!(message(geometry, u64::MAX).contains("bytes of cache"));
        let huge = KvGeometry {
            layers: u64::MAX,
            ..geometry
        };
        assert!(message(huge, 1).contains("bytes of weights"));
        let none = KvGeometry {
            kv_heads: 0,
            ..geometry
        };
        assert!(message(none, 1).contains("key/value heads is 0"));
    }
}

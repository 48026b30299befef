//! The cost and the savings of a key/value cache, by formulas.
//!
//! n tokens are generated one by one, counted from the first. In causal attention, token i attends to
//! i keys: i pairs. With the cache, each token goes through the model once: n tokens and
//! 1 + 2 + ... + n = n(n + 1)/2 pairs. Without it, step t sends t tokens and t(t + 1)/2 pairs
//! through: n(n + 1)/2 tokens and n(n + 1)(n + 2)/6 pairs in all. So, exactly, the cache divides the
//! tokens by (n + 1)/2 and the pairs by (n + 2)/3.

pub(crate) mod geometry;
pub(crate) mod preset;

use std::fmt;

use indicatif::HumanCount;
use serde::Serialize;

use crate::{Bytes, KvGeometry, LabError, page::table};
use geometry::product;

/// The cost of the cache of one geometry, at one length and around it. It displays as Markdown.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KvCost {
    geometry: KvGeometry,
    /// Tokens of a sequence, n.
    length: u64,
    /// The textbook estimate of the weights, [`KvGeometry::weight_bytes`].
    weight_bytes: Bytes,
    /// Memory for weights and caches, if it was given.
    memory: Option<Bytes>,
    /// The cache of this geometry.
    cache: CacheCost,
    /// The same at n/8, n/4, n/2 and n; those below one token are left out.
    lengths: Vec<LengthCost>,
    /// The same with other numbers of key/value heads, most first.
    variants: Vec<CacheCost>,
}

/// The cost of the cache for one number of key/value heads.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct CacheCost {
    /// MHA, GQA or MQA.
    sharing: &'static str,
    /// Key/value heads, g.
    kv_heads: u64,
    /// Query heads that share one, h/g.
    heads_per_kv_head: u64,
    flop_per_byte: f64,
    /// Bytes of keys and values per token.
    bytes_per_token: Bytes,
    /// Bytes of keys and values of one sequence.
    bytes: Bytes,
    /// Length at which the cache of one sequence is as large as the weights.
    crossover_tokens: u64,
    /// Sequences that fit into the memory beside the weights.
    sequences: Option<u64>,
}

/// The cost and the savings at one length.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct LengthCost {
    tokens: u64,
    /// Bytes of keys and values of one sequence.
    bytes: Bytes,
    /// These bytes over those of the weights.
    share_of_weights: f64,
    /// Causal attention pairs without the cache over those with it, (n + 2)/3.
    pair_ratio: f64,
    /// Tokens through the model without the cache over those with it, (n + 1)/2.
    token_ratio: f64,
    /// Sequences that fit into the memory beside the weights.
    sequences: Option<u64>,
}

impl KvCost {
    /// The cost of sequences of `length` tokens each, in `memory` if it is given.
    ///
    /// # Errors
    ///
    /// [`LabError::Input`] if there can be no model of this geometry, the length is 0, or a figure is 2^64
    /// or more.
    pub fn of(geometry: KvGeometry, length: u64, memory: Option<Bytes>) -> Result<Self, LabError> {
        geometry.validate()?;
        if length == 0 {
            return Err(LabError::zero("the length"));
        }
        let weight_bytes = geometry.weight_bytes()?;
        // 0 if the weights alone do not fit.
        let sequences = |cache: Bytes| Some(memory?.0.saturating_sub(weight_bytes.0) / cache.0);
        let cache_bytes = |geometry: &KvGeometry, tokens| {
            product("bytes of cache", &[geometry.bytes_per_token()?.0, tokens]).map(Bytes)
        };
        let cost = |geometry: &KvGeometry| -> Result<CacheCost, LabError> {
            let bytes = cache_bytes(geometry, length)?;
            Ok(CacheCost {
                sharing: geometry.sharing(),
                kv_heads: geometry.kv_heads,
                heads_per_kv_head: geometry.heads_per_kv_head(),
                flop_per_byte: geometry.flop_per_byte(),
                bytes_per_token: geometry.bytes_per_token()?,
                bytes,
                crossover_tokens: geometry.crossover_tokens()?,
                sequences: sequences(bytes),
            })
        };
        let at = |tokens| -> Result<LengthCost, LabError> {
            let bytes = cache_bytes(&geometry, tokens)?;
            Ok(LengthCost {
                tokens,
                bytes,
                share_of_weights: bytes.0 as f64 / weight_bytes.0 as f64,
                pair_ratio: (tokens as f64 + 2.0) / 3.0,
                token_ratio: (tokens as f64 + 1.0) / 2.0,
                sequences: sequences(bytes),
            })
        };
        let lengths = [8, 4, 2, 1].map(|part| length / part).into_iter();
        Ok(Self {
            geometry,
            length,
            weight_bytes,
            memory,
            cache: cost(&geometry)?,
            lengths: lengths.filter(|tokens| *tokens > 0).map(at).collect::<Result<_, _>>()?,
            variants: geometry.variants().iter().map(cost).collect::<Result<_, _>>()?,
        })
    }

    fn summary_table(&self) -> String {
        let (own, weights) = (&self.cache, self.weight_bytes);
        let (per_token, bytes, flop) = (own.bytes_per_token, own.bytes, own.flop_per_byte);
        let (width, crossover) = (self.geometry.dtype.bytes(), HumanCount(own.crossover_tokens));
        let mut rows = vec![
            format!("cache per token | {per_token} | 2 x L x g x d x {width} bytes"),
            format!("cache of n tokens | {bytes} |"),
            format!("weights | {weights} | L x (4 x D x h x d + 8 x D^2) x {width} bytes"),
            format!(
                "n*, whose cache weighs as much as the weights | {crossover} tokens | D x (2 x h x d + 4 x D) / (g x d)"
            ),
            format!(
                "arithmetic intensity of attention in decoding | {flop} FLOP per byte of cache | 2 x (h/g) / \
                {width} bytes"
            ),
        ];
        if let (Some(memory), Some(sequences)) = (self.memory, self.cache.sequences) {
            let how = match memory.0.checked_sub(weights.0) {
                None => format!("the weights alone do not fit: they take {weights}"),
                Some(left) => format!("{} are left beside the weights", Bytes(left)),
            };
            let sequences = HumanCount(sequences);
            rows.push(format!("sequences of n tokens in {memory} | {sequences} | {how}"));
        }
        table(":quantity | value | :how", rows)
    }

    fn length_table(&self) -> String {
        let rows = self.lengths.iter().map(|row| {
            let (tokens, bytes) = (HumanCount(row.tokens), row.bytes);
            let percent = 100.0 * row.share_of_weights;
            let [pairs, through] = [row.pair_ratio, row.token_ratio].map(ratio);
            let fit = self.fitting(row.sequences);
            format!("{tokens} | {bytes} | {percent:.1}% | {pairs}x | {through}x{fit}")
        });
        let header = "tokens | cache | of the weights | attention pairs without the cache, (n + 2)/3 | tokens \
            through the model without, (n + 1)/2";
        table(&format!("{header}{}", self.memory_column()), rows)
    }

    fn variant_table(&self) -> String {
        let rows = self.variants.iter().map(|row| {
            let is_own = row.kv_heads == self.cache.kv_heads;
            let own = if is_own { ", as given" } else { "" };
            let [heads, group, crossover] =
                [row.kv_heads, row.heads_per_kv_head, row.crossover_tokens].map(HumanCount);
            let (sharing, flop, per_token) = (row.sharing, row.flop_per_byte, row.bytes_per_token);
            let (bytes, fit) = (row.bytes, self.fitting(row.sequences));
            format!(
                "{sharing}{own} | {heads} | {group} | {flop} | {per_token} | {bytes} | {crossover}{fit}"
            )
        });
        let (length, memory) = (HumanCount(self.length), self.memory_column());
        let header = format!(
            ":sharing | g | h/g | FLOP per byte | cache per token | cache of {length} tokens | n*{memory}"
        );
        table(&header, rows)
    }

    fn memory_column(&self) -> String {
        self.memory.map_or(String::new(), |memory| format!(" | sequences in {memory}"))
    }

    fn fitting(&self, sequences: Option<u64>) -> String {
        sequences.map_or(String::new(), |fit| format!(" | {}", HumanCount(fit)))
    }
}

impl fmt::Display for KvCost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "## What a key/value cache costs\n\n{}; n = {} tokens. Worked out, not \
            measured.\n\n{}\n\n{}\n\n{}\n\nThe weights are the textbook estimate: attention 4 D h d and \
            feed-forward 8 D^2 numbers per layer; embeddings, gating and GQA's smaller projections are left out. \
            n* is 2 L g d n = L (4 D h d + 8 D^2) solved for n: layers and bytes cancel. A number of the cache \
            meets h/g query heads, with a multiplication and an addition each: at 2 bytes, h/g FLOP per byte that \
            is read to decode one token. n tokens cost n(n + 1)/2 attention pairs with the cache and n(n + 1)(n + \
            2)/6 without; n and n(n + 1)/2 tokens go through the model.",
            self.geometry,
            HumanCount(self.length),
            self.summary_table(),
            self.length_table(),
            self.variant_table()
        )
    }
}

/// A ratio, with one decimal where it is not whole.
fn ratio(value: f64) -> String {
    let tenths = (value * 10.0).round() as u64;
    let whole = HumanCount(tenths / 10);
    match tenths % 10 {
        0 => whole.to_string(),
        tenths => format!("{whole}.{tenths}"),
    }
}

#[cfg(test)]
mod tests {
    use crate::KvPreset;

    use super::*;

    const MIB: u64 = 1 << 20;

    fn preset(name: &str) -> KvGeometry {
        name.parse::<KvPreset>().unwrap().geometry
    }

    fn llama(kv_heads: u64) -> KvCost {
        let geometry = KvGeometry { kv_heads, ..preset("llama-7b") };
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
            let CacheCost { bytes_per_token, bytes, crossover_tokens, .. } = cost.cache;
            assert_eq!(bytes_per_token.to_string(), a_token);
            assert_eq!(bytes.to_string(), at_4096);
            assert_eq!(crossover_tokens, crossover);
            assert_eq!(format!("{:.3}", bytes_per_token.0 as f64 / MIB as f64), mib);
            assert_eq!(format!("{:.2}", bytes.0 as f64 / 1024.0 / MIB as f64), gib);
            assert_eq!(cost.weight_bytes.0, 12_288 * MIB);
            assert!(cost.variants.contains(&cost.cache));
        }
        // Each of the three geometries has the same variants.
        assert_eq!(llama(32).variants, llama(1).variants);
        assert_eq!(llama(32).variants.len(), 3);
    }

    #[test]
    fn at_the_crossover_the_cache_weighs_what_the_weights_do() {
        for (preset, KvPreset { geometry, .. }) in KvPreset::all() {
            let length = geometry.crossover_tokens().unwrap();
            let cost = KvCost::of(geometry, length, None).unwrap();
            assert_eq!(cost.cache.bytes, cost.weight_bytes, "{preset}");
            assert_eq!(cost.lengths[3].share_of_weights, 1.0, "{preset}");
        }
    }

    #[test]
    fn the_ratios_are_those_of_the_sums() {
        for n in [1, 2, 3, 7, 100, 4096_u64] {
            let cost = KvCost::of(preset("gpt2"), n, None).unwrap();
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
            let cost = KvCost::of(preset("gpt2"), length, None).unwrap();
            let lengths = cost.lengths.iter().map(|row| row.tokens);
            lengths.collect::<Vec<_>>()
        };
        assert_eq!(tokens(4096), [512, 1024, 2048, 4096]);
        assert_eq!(tokens(5), [1, 2, 5]);
        assert_eq!(tokens(1), [1]);
    }

    #[test]
    fn sequences_fit_beside_the_weights() {
        let geometry = preset("llama-7b");
        for (memory, sequences, said) in [
            (24_u64 << 30, 6, "| 6 | 12 GiB are left beside the weights |"),
            ((14 << 30) - 1, 0, "| 0 | 2.00 GiB are left"),
            (12 << 30, 0, "| 0 | 0 B are left"),
            (8 << 30, 0, "| 0 | the weights alone do not fit: they take 12 GiB |"),
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
        let geometry = preset("gpt2");
        let message = |geometry, length| {
            let error = KvCost::of(geometry, length, Some(Bytes(1))).unwrap_err();
            error.to_string()
        };
        let zero = "the length is 0: it must be 1 or more";
        assert_eq!(message(geometry, 0), zero);
        assert!(message(geometry, u64::MAX).contains("bytes of cache"));
        let (mut huge, mut none) = (geometry, geometry);
        huge.layers = u64::MAX;
        assert!(message(huge, 1).contains("bytes of weights"));
        none.kv_heads = 0;
        assert!(message(none, 1).contains("key/value heads is 0"));
    }

    #[test]
    fn tables_have_as_many_cells_as_titles() {
        for memory in [None, Some(Bytes(24 << 30))] {
            let geometry = preset("llama-70b");
            let text = KvCost::of(geometry, 4096, memory).unwrap().to_string();
            for table in text.split("\n\n").filter(|part| part.starts_with('|')) {
                let mut counts = table.lines().map(|line| line.matches('|').count());
                let first = counts.next().unwrap();
                assert!(counts.all(|count| count == first), "{table}");
            }
            assert!(text.contains("| GQA, as given | 8 | 8 | 8 | 320 KiB | 1.25 GiB | 393,216 |"));
            assert!(text.contains("| 4,096 | 1.25 GiB | 1.0% | 1,366x | 2,048.5x |"));
            assert_eq!(text.contains("sequences in 24 GiB"), memory.is_some());
        }
    }

    #[test]
    fn ratios_have_a_decimal_where_they_need_one() {
        for (value, text) in
            [(1366.0, "1,366"), (2048.5, "2,048.5"), (171.0 + 1.0 / 3.0, "171.3"), (0.97, "1")]
        {
            assert_eq!(ratio(value), text);
        }
    }
}

//! The sizes of a model that decide the size of its key/value cache.

use std::fmt;

use indicatif::HumanCount;
use serde::Serialize;
use tang_checkpoint::ModelConfig;

use crate::{Bytes, Dtype, LabError};

/// The sizes of a decoder-only Transformer that its cache depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct KvGeometry {
    /// Number of blocks, L.
    pub layers: u64,
    /// Width of the residual stream, D.
    pub width: u64,
    /// Number of query heads, h.
    pub heads: u64,
    /// Number of key/value heads, g; divides the query heads.
    pub kv_heads: u64,
    /// Width of one head, d: often [the width over the heads](Self::shared_width), but many newer models
    /// have another.
    pub head_dim: u64,
    /// Format of the numbers of cache and weights.
    pub dtype: Dtype,
}

impl From<&ModelConfig> for KvGeometry {
    /// The geometry of a network of this project, whose numbers are 32-bit floats.
    fn from(config: &ModelConfig) -> Self {
        Self {
            layers: config.layers as u64,
            width: config.width as u64,
            heads: config.heads as u64,
            kv_heads: config.kv_heads as u64,
            head_dim: config.head_dim() as u64,
            dtype: Dtype::F32,
        }
    }
}

impl KvGeometry {
    /// The sizes by name.
    fn sizes(&self) -> [(&'static str, u64); 5] {
        [
            ("the number of layers", self.layers),
            ("the width", self.width),
            ("the number of query heads", self.heads),
            ("the number of key/value heads", self.kv_heads),
            ("the width of a head", self.head_dim),
        ]
    }

    /// Checks that there can be a model of this geometry.
    pub(crate) fn validate(&self) -> Result<(), LabError> {
        let sizes = self.sizes();
        if let Some((what, _)) = sizes.iter().find(|(_, size)| *size == 0) {
            return Err(LabError::zero(what));
        }
        quotient(sizes[2], ("key/value heads", self.kv_heads)).map(drop)
    }

    /// Width of one of the query heads that share the width of the residual stream, D/h.
    ///
    /// # Errors
    ///
    /// [`LabError::Input`] if the heads do not divide it.
    pub fn shared_width(width: u64, heads: u64) -> Result<u64, LabError> {
        quotient(("the width", width), ("query heads", heads))
    }

    /// Query heads that share one key/value head, h/g.
    pub(crate) fn heads_per_kv_head(&self) -> u64 {
        self.heads / self.kv_heads
    }

    /// Bytes of keys and values per token: 2 x layers x kv_heads x head_dim x bytes per number.
    ///
    /// # Errors
    ///
    /// [`LabError::Input`] if they are 2^64 or more.
    pub fn bytes_per_token(&self) -> Result<Bytes, LabError> {
        let factors = [2, self.layers, self.kv_heads, self.head_dim, self.dtype.bytes()];
        product("bytes of cache per token", &factors).map(Bytes)
    }

    /// Bytes of the weights as textbooks estimate them, L (4 D h d + 8 D^2) numbers: attention has four
    /// matrices of D x (h d) per layer, and the feed-forward network two of D x 4D (Kaplan et al.,
    /// *Scaling Laws for Neural Language Models*, 2020). Embeddings, gating, and the smaller key and
    /// value matrices of shared heads are left out. Where h d = D it is 12 L D^2.
    pub(crate) fn weight_bytes(&self) -> Result<Bytes, LabError> {
        let (layers, width, bytes) = (self.layers, self.width, self.dtype.bytes());
        let attention = [4, layers, width, self.heads, self.head_dim, bytes];
        let feed_forward = [8, layers, width, width, bytes];
        sum_of_products("bytes of weights", &[&attention, &feed_forward]).map(Bytes)
    }

    /// The least count of tokens whose cache is at least as large as the weights:
    /// n* = D (2 h d + 4 D) / (g d). Where h d = D it is 6 D h/g.
    ///
    /// It is 2 L g d n = L (4 D h d + 8 D^2) solved for n: the layers cancel, and so do the bytes, since
    /// cache and weights have the same format.
    pub(crate) fn crossover_tokens(&self) -> Result<u64, LabError> {
        Ok(self.weight_bytes()?.0.div_ceil(self.bytes_per_token()?.0))
    }

    /// The arithmetic intensity of attention in decoding, in FLOP per byte of cache that is read:
    /// 2 (h/g) / bytes per number, which at two bytes is h/g.
    ///
    /// Each number of the cache is read once and meets h/g query heads, with a multiplication and an
    /// addition each (Shazeer, *Fast Transformer Decoding: One Write-Head is All You Need*, 2019).
    pub(crate) fn flop_per_byte(&self) -> f64 {
        2.0 * self.heads_per_kv_head() as f64 / self.dtype.bytes() as f64
    }

    /// This geometry with other numbers of key/value heads, most first: one for each query head
    /// (MHA), one for four where that divides (GQA), its own, and a single one (MQA).
    pub(crate) fn variants(&self) -> Vec<Self> {
        let mut counts = vec![self.heads, self.kv_heads, 1];
        if self.heads.is_multiple_of(4) {
            counts.push(self.heads / 4);
        }
        counts.sort_unstable_by(|a, b| b.cmp(a));
        counts.dedup();
        counts.into_iter().map(|kv_heads| Self { kv_heads, ..*self }).collect()
    }

    /// The name of this sharing of key/value heads: multi-head, grouped-query (Ainslie et al.,
    /// *GQA*, 2023) or multi-query attention.
    pub(crate) fn sharing(&self) -> &'static str {
        match self.kv_heads {
            g if g == self.heads => "MHA",
            1 => "MQA",
            _ => "GQA",
        }
    }
}

impl fmt::Display for KvGeometry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [layers, width, heads, kv_heads, head_dim] =
            self.sizes().map(|(_, size)| HumanCount(size));
        let dtype = Dtype::ALL[self.dtype as usize].0;
        write!(
            f,
            "L = {layers} layers, D = {width} wide, h = {heads} query heads, g = {kv_heads} key/value heads, d = \
            {head_dim} wide each, {dtype}"
        )
    }
}

impl LabError {
    pub(crate) fn zero(what: &str) -> Self {
        Self::Input(format!("{what} is 0: it must be 1 or more"))
    }
}

/// The quotient of two numbers, of which the second must divide the first.
fn quotient((whole, number): (&str, u64), (part, divisor): (&str, u64)) -> Result<u64, LabError> {
    match number.checked_rem(divisor) {
        Some(0) => Ok(number / divisor),
        Some(_) => Err(LabError::Input(format!(
            "{whole}, {number}, is not divisible by {divisor} {part}: use a divisor of {number}"
        ))),
        None => Err(LabError::zero(part)),
    }
}

/// The product of whole numbers.
pub(crate) fn product(what: &str, factors: &[u64]) -> Result<u64, LabError> {
    sum_of_products(what, &[factors])
}

fn sum_of_products(what: &str, products: &[&[u64]]) -> Result<u64, LabError> {
    let product = |factors: &&[u64]| factors.iter().try_fold(1_u64, |a, b| a.checked_mul(*b));
    let sum = products.iter().try_fold(0_u64, |sum, factors| sum.checked_add(product(factors)?));
    sum.ok_or_else(|| {
        let about = |factors: &&[u64]| factors.iter().map(|factor| *factor as f64).product::<f64>();
        let number: f64 = products.iter().map(about).sum();
        LabError::Input(format!(
            "about {number:.1e} {what} are more than can be counted, {}: use smaller numbers",
            u64::MAX
        ))
    })
}

#[cfg(test)]
mod tests {

    use super::*;

    fn geometry([layers, width, heads, kv_heads, head_dim]: [u64; 5]) -> KvGeometry {
        KvGeometry { layers, width, heads, kv_heads, head_dim, dtype: Dtype::F16 }
    }

    #[test]
    fn impossible_geometries_name_their_numbers() {
        geometry([32, 4096, 32, 8, 128]).validate().unwrap();
        for (sizes, wanted) in [
            ([0, 4096, 32, 8, 128], "layers is 0"),
            ([32, 0, 32, 8, 128], "width is 0"),
            ([32, 4096, 0, 8, 128], "query heads is 0"),
            ([32, 4096, 32, 0, 128], "key/value heads is 0"),
            ([32, 4096, 32, 8, 0], "width of a head is 0"),
            ([32, 4096, 32, 5, 128], "query heads, 32, is not divisible by 5 key/value heads"),
            ([32, 4096, 32, 64, 128], "not divisible by 64"),
        ] {
            let error = geometry(sizes).validate().unwrap_err().to_string();
            assert!(error.contains(wanted), "{error}");
        }
        assert_eq!(KvGeometry::shared_width(4096, 32).unwrap(), 128);
        for (heads, wanted) in
            [(24, "the width, 4096, is not divisible by 24 query heads"), (0, "query heads is 0")]
        {
            let error = KvGeometry::shared_width(4096, heads).unwrap_err();
            assert!(error.to_string().contains(wanted), "{error}");
        }
    }

    #[test]
    fn heads_may_be_wider_together_than_the_stream() {
        let qwen3_4b = geometry([36, 2560, 32, 8, 128]);
        qwen3_4b.validate().unwrap();
        assert_eq!(qwen3_4b.bytes_per_token().unwrap(), Bytes(147_456));
        // 36 x (4 x 2,560 x 4,096 + 8 x 2,560^2) numbers of two bytes.
        assert_eq!(qwen3_4b.weight_bytes().unwrap(), Bytes(6_794_772_480));
        assert_eq!(qwen3_4b.crossover_tokens().unwrap(), 46_080);
    }

    #[test]
    fn numbers_that_cannot_be_counted_are_errors() {
        let huge = geometry([u64::MAX, u64::MAX, 1, 1, u64::MAX]);
        for error in [
            huge.bytes_per_token().unwrap_err(),
            huge.weight_bytes().unwrap_err(),
            huge.crossover_tokens().unwrap_err(),
        ] {
            assert!(error.to_string().contains("more than can be counted"));
        }
        let message = huge.weight_bytes().unwrap_err().to_string();
        assert!(message.contains("about 1.5e59 bytes of weights"), "{message}");
    }

    #[test]
    fn intensity_counts_the_query_heads_a_number_meets() {
        for (kv_heads, dtype, wanted) in [
            (32, Dtype::F16, 1.0),
            (8, Dtype::F16, 4.0),
            (1, Dtype::Bf16, 32.0),
            (8, Dtype::F32, 2.0),
            (8, Dtype::Int8, 8.0),
        ] {
            let mut geometry = geometry([32, 4096, 32, kv_heads, 128]);
            geometry.dtype = dtype;
            assert_eq!(geometry.flop_per_byte(), wanted, "{geometry}");
        }
    }

    #[test]
    fn variants_are_listed_once_each() {
        let counts = |heads, kv_heads| {
            let geometry = geometry([32, 4096, heads, kv_heads, 128]);
            let variants = geometry.variants();
            let row = |v: &KvGeometry| (v.kv_heads, v.sharing());
            variants.iter().map(row).collect::<Vec<_>>()
        };
        assert_eq!(counts(32, 32), [(32, "MHA"), (8, "GQA"), (1, "MQA")]);
        assert_eq!(counts(64, 8), [(64, "MHA"), (16, "GQA"), (8, "GQA"), (1, "MQA")]);
        assert_eq!(counts(4, 2), [(4, "MHA"), (2, "GQA"), (1, "MQA")]);
        assert_eq!(counts(1, 1), [(1, "MHA")]);
    }
}
